// The modifiers of one instruction while they are being understood: each is taken by the code that knows
// it, and finish() refuses the instruction if one is left. So an unknown modifier is never ignored.
#pragma once

#include "tools/cuda-emulator/ptx/Ast.h"

#include <initializer_list>

namespace nncc::cuemu {

class Modifiers {
public:
  explicit Modifiers(const ptx::Instruction &instruction)
      : instruction(instruction), isTaken(instruction.modifiers.size()) {}

  const std::string &opcode() const { return instruction.opcode; }

  bool take(std::string_view name) {
    for (size_t i = 0; i < isTaken.size(); i++)
      if (!isTaken[i] && instruction.modifiers[i] == name) {
        isTaken[i] = true;
        return true;
      }
    return false;
  }

  /// The first modifier left that is one of `names`, or an empty string.
  std::string takeOneOf(std::initializer_list<std::string_view> names) {
    for (size_t i = 0; i < isTaken.size(); i++)
      if (!isTaken[i])
        for (std::string_view name : names)
          if (instruction.modifiers[i] == name) {
            isTaken[i] = true;
            return instruction.modifiers[i];
          }
    return {};
  }

  std::string require(const char *what, std::initializer_list<std::string_view> names) {
    std::string name = takeOneOf(names);
    if (name.empty())
      fail(std::string("expected ") + what + " in '" + instruction.fullName() + "'");
    return name;
  }

  /// The first type left.
  ptx::Type takeType() {
    for (size_t i = 0; i < isTaken.size(); i++)
      if (!isTaken[i] && ptx::parseType(instruction.modifiers[i]) != ptx::Type::None) {
        isTaken[i] = true;
        return ptx::parseType(instruction.modifiers[i]);
      }
    fail("expected a type in '" + instruction.fullName() + "'");
  }

  /// The type that takeType would give, without taking it; None if there is none.
  ptx::Type peekType() const {
    for (size_t i = 0; i < isTaken.size(); i++)
      if (!isTaken[i] && ptx::parseType(instruction.modifiers[i]) != ptx::Type::None)
        return ptx::parseType(instruction.modifiers[i]);
    return ptx::Type::None;
  }

  /// For instructions that have no effect here, whatever their modifiers.
  void takeAll() { isTaken.assign(isTaken.size(), true); }

  void finish() const {
    for (size_t i = 0; i < isTaken.size(); i++)
      if (!isTaken[i])
        fail("unknown modifier '." + instruction.modifiers[i] + "' in '" + instruction.fullName() + "'");
  }

  [[noreturn]] void unsupportedType(ptx::Type type) const {
    fail(std::string("type .") + ptx::typeName(type) + " is not supported in '" +
         instruction.fullName() + "'");
  }

  [[noreturn]] void fail(const std::string &message) const {
    throw ptx::PtxError(instruction.line, message);
  }

private:
  const ptx::Instruction &instruction;
  std::vector<bool> isTaken;
};

} // namespace nncc::cuemu
