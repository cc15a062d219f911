// Scalar computations as C++ text. Emitters build them as arith, math and scf ops (an op's formula stands in ir/ and is shared with
// every other backend); this prints them the way a person would write them: one expression where a value is used once, a variable
// where it is used again, precedence instead of parentheses everywhere.
//
// Ops are made in a scratch block and printed on demand. A variable lives in the block of C++ in which it was first needed, so
// open() and close() must frame every `{ }` of the source.
#pragma once

#include "codegen/SizeBuilder.h"
#include "codegen/cuda/SourceWriter.h"

#include "mlir/IR/Block.h"
#include "llvm/ADT/StringSet.h"

#include <memory>

namespace nncc::codegen::cuda {

/// "float", "int", "long long", "float16": how a value of this type is spelt. bool for i1, the kernel's index type for index.
std::string cppType(mlir::Type element, bool wideIndex);
/// The parameter that carries a named dim. Names of dims may be anything that the language allows, so those that could be a word of
/// C++ or of this code are marked.
std::string dimParameter(llvm::StringRef name);
/// How an element lies in memory: i1 takes an unsigned char.
std::string storageType(mlir::Type element, bool wideIndex);

class ScalarCode : public SizeBuilder {
public:
  /// With `wideIndex` positions are 64 bits wide.
  ScalarCode(mlir::Location loc, bool wideIndex);
  ~ScalarCode();

  SourceWriter source;
  const bool wideIndex;
  std::string indexType() const { return wideIndex ? "long long" : "int"; }

  //===--------------------------------------------------------------------===//
  // Values
  //===--------------------------------------------------------------------===//

  /// A value that C++ knows under a name, or any expression that needs no parentheses: "N", "acc[i][j]".
  mlir::Value atom(mlir::Type type, const llvm::Twine &text);
  mlir::Value index(const llvm::Twine &text) { return atom(sizeType, text); }
  mlir::Value dim(nn::Dim dim);
  /// The element of `tensor` (its element type) at `offset` from `pointer`, in the type in which one computes with it.
  mlir::Value load(mlir::Type element, llvm::StringRef pointer, mlir::Value offset);
  mlir::Value constant(mlir::Type type, double value);

  //===--------------------------------------------------------------------===//
  // Text
  //===--------------------------------------------------------------------===//

  /// The expression; statements that it needs are written before it. `tight` puts it in parentheses unless it is an atom.
  std::string print(mlir::Value value, bool tight = false);
  /// `const int name = value;` From here on the value is called by this name; one that is an atom already keeps its own.
  std::string declare(mlir::Value value, llvm::StringRef name);

  /// The value gets a variable of this name where it is needed first, if it is.
  void suggest(mlir::Value value, llvm::StringRef name) { suggestions[value] = name.str(); }

  void open(const llvm::Twine &text);
  void close(const llvm::Twine &behind = "");
  /// A number for the innermost open block, and whether the block with a number is still open.
  unsigned currentBlock() const { return blockNumbers.back(); }
  bool isOpen(unsigned block) const { return llvm::is_contained(blockNumbers, block); }
  /// What `write` writes, kept apart: it stands in a block of its own.
  std::string capture(llvm::function_ref<void()> write);
  void line(const llvm::Twine &text) { source.line(text); }
  void blank() { source.blank(); }

  /// Names that the emitter writes itself, of loops as a rule: no variable is given one of them.
  void reserve(llvm::ArrayRef<llvm::StringRef> hints);
  /// A name that no other variable has: the hint, or with a number behind it.
  std::string freshName(llvm::StringRef hint);
  /// As freshName(), until the innermost open block ends.
  std::string nameInBlock(llvm::StringRef hint);
  /// Opens a loop over a variable of this name, or with a number behind it; `head` is "for (...)" around it. Gives the name.
  std::string openLoop(llvm::StringRef hint, llvm::function_ref<std::string(const std::string &)> head);
  /// Local memory that the code may take: on some architectures CUDA's sine, cosine and tangent keep the digits of a large angle's
  /// remainder in an array there.
  int64_t stackBytes = 0;
  /// Writes `if (condition) <statement>;`.
  void statementIf(mlir::Value condition, const llvm::Twine &statement);

protected:
  /// Ops are being made for one arm of a branch.
  bool isInBranch() const { return getInsertionBlock() != scratch.get(); }

private:
  /// C++'s, a higher number binds tighter.
  enum Precedence { Ternary = 1, Or, And, BitOr, BitXor, BitAnd, Equality, Relation, Shift, Sum, Product, Unary, Atom };
  struct Expression {
    std::string text;
    int precedence;
  };
  // Of the ops in the scratch block that stand for text: what is written, or the pointer whose element is read.
  static constexpr llvm::StringLiteral kAtomAttr = "text", kPointerAttr = "pointer";
  const Expression &expressionOf(mlir::Value value);
  static bool isPlain(const Expression &expression);
  mlir::Value foldedOr(mlir::Value value);
  Expression compute(mlir::Value value);
  Expression computeIf(mlir::Operation *op, unsigned result);
  std::string operand(mlir::Value value, int precedence);
  Expression binary(mlir::Operation *op, llvm::StringRef symbol, int precedence);
  Expression call(llvm::StringRef function, mlir::ValueRange arguments);
  Expression callWithAngle(llvm::StringRef function, mlir::ValueRange arguments);
  Expression cast(mlir::Value from, mlir::Type to, llvm::StringRef first = "");
  void remember(mlir::Value value, Expression expression);

  std::unique_ptr<mlir::Block> scratch;
  llvm::DenseMap<mlir::Value, Expression> known;
  llvm::DenseMap<mlir::Value, std::string> suggestions;
  void beginBlock();
  void endBlock();
  struct Scope {
    llvm::SmallVector<mlir::Value> values; ///< that became known in this block
    llvm::SmallVector<std::string> names;  ///< of its variables; blocks behind it may use them again
  };
  llvm::SmallVector<Scope> scopes; ///< the open blocks
  llvm::SmallVector<unsigned> blockNumbers;
  unsigned blockCount = 0;
  llvm::StringSet<> names;
};

} // namespace nncc::codegen::cuda
