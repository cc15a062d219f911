// What the parser leaves of a PTX text: a plain tree of declarations and instructions, each with the
// line that it stands on, names as they are written. It knows PTX's grammar and no instruction, so that
// what an instruction means stands in translate/ alone.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace nncc::cuemu::ptx {

/// A fault in a PTX text. Thrown by the lexer, the parser and the translation; caught in driver/.
class PtxError : public std::runtime_error {
public:
  PtxError(int line, const std::string &message) : std::runtime_error(message), line(line) {}
  int line; ///< 1-based
};

/// A position in the CUDA source, from a .loc directive.
struct SourceLocation {
  int file = 0; ///< index of the .file directive, 0 if there is none
  int line = 0;
};

enum class Type : uint8_t {
  None, B8, B16, B32, B64, B128, U8, U16, U32, U64, S8, S16, S32, S64, F16, F16x2, BF16, BF16x2,
  F32, F64, Pred,
};

/// The type of that name without its dot, or None.
Type parseType(const std::string &name);
int bitWidth(Type type);
bool isSigned(Type type);
bool isFloat(Type type);
const char *typeName(Type type);

enum class Space : uint8_t { Generic, Global, Shared, Local, Const, Param };

struct Operand {
  enum class Kind : uint8_t {
    Integer,   ///< integer
    Float32,   ///< integer holds the bits of 0f...
    Float64,   ///< integer holds the bits of 0d... or of a decimal literal
    Name,      ///< register, special register, variable, function or label `name`, plus offset
    Address,   ///< [name + integer], or [integer] with an empty name
    Vector,    ///< {elements}
    Pair,      ///< elements[0] | elements[1]: data and predicate results
    Sink,      ///< _
    List,      ///< (elements) of a call
  };
  Kind kind = Kind::Integer;
  bool negated = false;         ///< !p
  int64_t integer = 0;          ///< value, bits or offset
  std::string name;
  std::vector<Operand> elements;
};

struct Guard {
  std::string predicate;
  bool negated = false;
};

struct Instruction {
  int line = 0;
  SourceLocation source;
  std::optional<Guard> guard;
  std::string opcode;                 ///< up to the first dot
  std::vector<std::string> modifiers; ///< the rest, without dots
  std::vector<Operand> operands;

  std::string fullName() const;
};

struct Variable {
  int line = 0;
  Space space = Space::Global;
  Type type = Type::None;
  std::string name;
  int vectorSize = 1;
  int64_t alignBytes = 0;        ///< 0: that of the element
  int64_t elementCount = 1;      ///< of an array; 0 for one of unknown size
  bool isArray = false;
  bool isExternal = false;
  /// Initial values by element, and names whose address stands in an element.
  struct Initial {
    int64_t bits = 0;
    std::string symbol;
    bool genericAddress = false;
  };
  std::vector<Initial> initial;

  int64_t sizeBytes() const;
};

struct RegisterDeclaration {
  Type type = Type::None;
  std::string name; ///< with %, for a range without the number
  int count = -1;   ///< -1: one register of exactly that name
};

struct Statement {
  enum class Kind : uint8_t { Instruction, Label, Registers, Variable, BlockBegin, BlockEnd, BranchTargets };
  Kind kind = Kind::Instruction;
  int line = 0;
  Instruction instruction;
  std::string label;                  ///< of Label and BranchTargets
  std::vector<std::string> targets;   ///< of BranchTargets
  RegisterDeclaration registers;
  Variable variable;
};

struct Function {
  int line = 0;
  std::string name;
  bool isEntry = false;
  bool isDeclaration = false;
  std::vector<Variable> results;
  std::vector<Variable> parameters;
  std::vector<Statement> body;
  int maxThreads[3] = {0, 0, 0};      ///< .maxntid, 0 if not given
  int requiredThreads[3] = {0, 0, 0}; ///< .reqntid
  int maxRegisters = 0;
};

struct Module {
  int versionMajor = 0, versionMinor = 0;
  std::string target;  ///< sm_80
  int addressSize = 64;
  std::vector<std::string> files; ///< by .file index
  std::vector<Variable> variables;
  std::vector<Function> functions;
};

} // namespace nncc::cuemu::ptx
