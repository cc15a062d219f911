// mov with its packing forms, cvta, isspacep.
#include "tools/cuda-emulator/translate/FunctionTranslator.h"

#include <cstddef>

using namespace llvm;

namespace nncc::cuemu {

void FunctionTranslator::addMoveHandlers(Table &table) {
  table["mov"] = &FunctionTranslator::move;
  table["cvta"] = &FunctionTranslator::convertAddress;
  table["isspacep"] = &FunctionTranslator::isSpace;
  table["setp"] = &FunctionTranslator::setPredicate;
  table["set"] = &FunctionTranslator::set;
  table["selp"] = &FunctionTranslator::select;
  table["slct"] = &FunctionTranslator::selectBySign;
  table["cvt"] = &FunctionTranslator::convert;
}

void FunctionTranslator::move(Modifiers &m) {
  Type type = m.takeType();
  expectOperands(2);
  const Operand &to = operand(0), &from = operand(1);
  if (type == Type::Pred) {
    writePredicate(to, readPredicate(from));
    return;
  }
  int bits = ptx::bitWidth(type);
  auto partType = [&](size_t count) {
    int partBits = bits / static_cast<int>(count);
    for (Type part : {Type::B8, Type::B16, Type::B32, Type::B64})
      if (ptx::bitWidth(part) == partBits)
        return part;
    fail("'" + current->fullName() + "' cannot be split into " + std::to_string(count) + " parts");
  };
  if (from.kind == Operand::Kind::Vector) {
    Type part = partType(from.elements.size());
    Value *packed = constant(type, 0);
    for (size_t i = 0; i < from.elements.size(); i++) {
      Value *element = builder.CreateZExt(read(from.elements[i], part), intType(bits));
      packed = builder.CreateOr(packed, builder.CreateShl(element, static_cast<uint64_t>(ptx::bitWidth(part)) * i));
    }
    write(to, type, toBits(packed, llvmType(type)));
    return;
  }
  if (to.kind == Operand::Kind::Vector) {
    Type part = partType(to.elements.size());
    Value *packed = toInt(read(from, type));
    for (size_t i = 0; i < to.elements.size(); i++) {
      Value *shifted = builder.CreateLShr(packed, static_cast<uint64_t>(ptx::bitWidth(part)) * i);
      write(to.elements[i], part, builder.CreateTrunc(shifted, llvmType(part)));
    }
    return;
  }
  write(to, type, read(from, type));
}

// Generic addresses are the host's. Only shared addresses differ: they are offsets in the block's window.
void FunctionTranslator::convertAddress(Modifiers &m) {
  bool toSpace = m.take("to");
  std::string space = m.require("a state space", {"global", "shared", "shared::cta", "local", "const", "param"});
  Type type = m.takeType();
  expectOperands(2);
  if (space.rfind("shared", 0) != 0) {
    write(operand(0), type, read(operand(1), type));
    return;
  }
  Value *base = builder.CreatePtrToInt(contextField(offsetof(ThreadContext, shared), builder.getPtrTy()), builder.getInt64Ty());
  Value *address = builder.CreateZExt(read(operand(1), type), builder.getInt64Ty());
  Value *result = toSpace ? builder.CreateSub(address, base) : builder.CreateAdd(address, base);
  write(operand(0), type, builder.CreateTrunc(result, intType(ptx::bitWidth(type))));
}

void FunctionTranslator::isSpace(Modifiers &m) {
  std::string space = m.require("a state space", {"global", "shared", "shared::cta", "local", "const"});
  expectOperands(2);
  Value *address = builder.CreateIntToPtr(read(operand(1), Type::U64), builder.getPtrTy());
  uint32_t flag = space == "local" ? AccessLocal : space.rfind("shared", 0) == 0 ? AccessShared : AccessGlobal;
  Value *isInside = call("emuIsSpace", builder.getInt32Ty(), {context(), address, builder.getInt32(flag)});
  writePredicate(operand(0), builder.CreateICmpNE(isInside, builder.getInt32(0)));
}

} // namespace nncc::cuemu
