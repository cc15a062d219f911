// Bits: logic, shifts, bit fields, counting, byte permutation, three-input logic.
#include "tools/cuda-emulator/translate/FunctionTranslator.h"

using namespace llvm;

namespace nncc::cuemu {

void FunctionTranslator::addBitHandlers(Table &table) {
  table["and"] = table["or"] = table["xor"] = table["not"] = table["cnot"] = &FunctionTranslator::logic;
  table["shl"] = table["shr"] = &FunctionTranslator::shift;
  table["shf"] = &FunctionTranslator::funnelShift;
  table["bfe"] = table["bfi"] = &FunctionTranslator::bitField;
  table["popc"] = table["clz"] = table["brev"] = &FunctionTranslator::bitCount;
  table["bfind"] = &FunctionTranslator::bitFind;
  table["prmt"] = &FunctionTranslator::permute;
  table["lop3"] = &FunctionTranslator::logic3;
  table["bmsk"] = &FunctionTranslator::bitMask;
  table["szext"] = &FunctionTranslator::signExtend;
}

void FunctionTranslator::logic(Modifiers &m) {
  Type type = m.takeType();
  const std::string &op = m.opcode();
  bool isUnary = op == "not" || op == "cnot";
  expectOperands(isUnary ? 2 : 3);
  auto readAny = [&](const Operand &each) {
    return type == Type::Pred ? readPredicate(each) : read(each, type);
  };
  Value *a = readAny(operand(1)), *result = nullptr;
  if (op == "not")
    result = builder.CreateNot(a);
  else if (op == "cnot")
    result = builder.CreateZExt(builder.CreateICmpEQ(a, constant(type, 0)), a->getType());
  else if (op == "and")
    result = builder.CreateAnd(a, readAny(operand(2)));
  else if (op == "or")
    result = builder.CreateOr(a, readAny(operand(2)));
  else
    result = builder.CreateXor(a, readAny(operand(2)));
  write(operand(0), type, result);
}

// Shift counts are unsigned 32-bit and clamped at the width, so a shift by 32 or more gives 0 or the sign.
void FunctionTranslator::shift(Modifiers &m) {
  Type type = m.takeType();
  expectOperands(3);
  auto bits = static_cast<uint64_t>(ptx::bitWidth(type));
  bool isLeft = m.opcode() == "shl";
  bool isArithmetic = !isLeft && ptx::isSigned(type);
  Value *value = read(operand(1), type), *count = read(operand(2), Type::U32);
  Value *isTooLarge = builder.CreateICmpUGE(count, builder.getInt32(static_cast<uint32_t>(bits)));
  Value *limit = builder.getInt32(isArithmetic ? static_cast<uint32_t>(bits) - 1 : 0);
  Value *safe = builder.CreateZExtOrTrunc(builder.CreateSelect(isTooLarge, limit, count), value->getType());
  if (isArithmetic) {
    write(operand(0), type, builder.CreateAShr(value, safe));
    return;
  }
  Value *shifted = isLeft ? builder.CreateShl(value, safe) : builder.CreateLShr(value, safe);
  write(operand(0), type, builder.CreateSelect(isTooLarge, constant(type, 0), shifted));
}

// shf.l and shf.r: the concatenation b:a shifted; .clamp limits the count to 32, .wrap takes it modulo 32.
void FunctionTranslator::funnelShift(Modifiers &m) {
  bool isLeft = m.require("l or r", {"l", "r"}) == "l";
  bool clamps = m.require("clamp or wrap", {"clamp", "wrap"}) == "clamp";
  m.takeType();
  expectOperands(4);
  llvm::Type *wide = builder.getInt64Ty();
  Value *low = builder.CreateZExt(read(operand(1), Type::U32), wide);
  Value *high = builder.CreateZExt(read(operand(2), Type::U32), wide);
  Value *count = read(operand(3), Type::U32);
  count = clamps ? builder.CreateBinaryIntrinsic(Intrinsic::umin, count, builder.getInt32(32))
                 : builder.CreateAnd(count, 31);
  count = builder.CreateZExt(count, wide);
  Value *both = builder.CreateOr(builder.CreateShl(high, 32), low);
  Value *result = isLeft ? builder.CreateLShr(builder.CreateShl(both, count), 32) : builder.CreateLShr(both, count);
  write(operand(0), Type::B32, builder.CreateTrunc(result, builder.getInt32Ty()));
}

// bfe and bfi. Position and length are the low 8 bits of their operands and may reach beyond the value.
void FunctionTranslator::bitField(Modifiers &m) {
  Type type = m.takeType();
  bool isInsert = m.opcode() == "bfi";
  expectOperands(isInsert ? 5 : 4);
  int bits = ptx::bitWidth(type);
  auto bits32 = static_cast<uint32_t>(bits);
  auto byte = [&](const Operand &each) { return builder.CreateAnd(read(each, Type::U32), 255); };
  Value *position = byte(operand(isInsert ? 3 : 2)), *length = byte(operand(isInsert ? 4 : 3));
  auto shiftBy = [&](Value *value, Value *count, bool isLeft) -> Value * {
    Value *isTooLarge = builder.CreateICmpUGE(count, builder.getInt32(bits32));
    Value *safe = builder.CreateZExtOrTrunc(builder.CreateSelect(isTooLarge, builder.getInt32(0), count), intType(bits));
    Value *shifted = isLeft ? builder.CreateShl(value, safe) : builder.CreateLShr(value, safe);
    return builder.CreateSelect(isTooLarge, constant(type, 0), shifted);
  };
  // length ones from bit 0.
  Value *ones = builder.CreateNot(shiftBy(constant(type, -1), length, true));
  if (isInsert) {
    Value *mask = shiftBy(ones, position, true);
    Value *field = builder.CreateAnd(shiftBy(read(operand(1), type), position, true), mask);
    write(operand(0), type, builder.CreateOr(builder.CreateAnd(read(operand(2), type), builder.CreateNot(mask)), field));
    return;
  }
  Value *value = read(operand(1), type);
  Value *field = builder.CreateAnd(shiftBy(value, position, false), ones);
  if (ptx::isSigned(type)) {
    // Filled with the field's top bit, or the value's own if the field reaches beyond it.
    Value *end = builder.CreateAdd(position, length);
    Value *top = builder.CreateBinaryIntrinsic(Intrinsic::umin, builder.CreateSub(end, builder.getInt32(1)),
                                               builder.getInt32(bits32 - 1));
    Value *sign = builder.CreateTrunc(shiftBy(value, top, false), builder.getInt1Ty());
    // Above the field's last bit that the value has: min(length, bits - position) bits are the value's.
    Value *available = builder.CreateBinaryIntrinsic(Intrinsic::usub_sat, builder.getInt32(bits32), position);
    Value *kept = builder.CreateBinaryIntrinsic(Intrinsic::umin, length, available);
    Value *fill = shiftBy(constant(type, -1), kept, true);
    Value *extended = builder.CreateSelect(sign, builder.CreateOr(field, fill), field);
    field = builder.CreateSelect(builder.CreateICmpEQ(length, builder.getInt32(0)), constant(type, 0), extended);
  }
  write(operand(0), type, field);
}

void FunctionTranslator::bitCount(Modifiers &m) {
  Type type = m.takeType();
  expectOperands(2);
  Value *value = read(operand(1), type);
  if (m.opcode() == "brev") {
    write(operand(0), type, builder.CreateUnaryIntrinsic(Intrinsic::bitreverse, value));
    return;
  }
  Value *count = m.opcode() == "popc" ? builder.CreateUnaryIntrinsic(Intrinsic::ctpop, value)
                                      : builder.CreateBinaryIntrinsic(Intrinsic::ctlz, value, builder.getFalse());
  write(operand(0), Type::U32, builder.CreateZExtOrTrunc(count, builder.getInt32Ty()));
}

// Position of the most significant bit that is not the sign, or its distance from the top (.shiftamt);
// 0xffffffff if there is none.
void FunctionTranslator::bitFind(Modifiers &m) {
  bool isShift = m.take("shiftamt");
  Type type = m.takeType();
  expectOperands(2);
  Value *value = read(operand(1), type);
  if (ptx::isSigned(type))
    value = builder.CreateSelect(builder.CreateICmpSLT(value, constant(type, 0)), builder.CreateNot(value), value);
  Value *leading = builder.CreateZExtOrTrunc(
      builder.CreateBinaryIntrinsic(Intrinsic::ctlz, value, builder.getFalse()), builder.getInt32Ty());
  Value *found = isShift ? leading
                         : builder.CreateSub(builder.getInt32(static_cast<uint32_t>(ptx::bitWidth(type)) - 1), leading);
  Value *isNone = builder.CreateICmpEQ(value, constant(type, 0));
  write(operand(0), Type::U32, builder.CreateSelect(isNone, builder.getInt32(~0u), found));
}

// Picks four bytes of b:a; each selector nibble names a byte, its top bit replicates the byte's sign.
void FunctionTranslator::permute(Modifiers &m) {
  std::string mode = m.takeOneOf({"f4e", "b4e", "rc8", "ecl", "ecr", "rc16"});
  m.takeType();
  expectOperands(4);
  llvm::Type *wide = builder.getInt64Ty();
  Value *both = builder.CreateOr(builder.CreateShl(builder.CreateZExt(read(operand(2), Type::U32), wide), 32),
                                 builder.CreateZExt(read(operand(1), Type::U32), wide));
  Value *selector = read(operand(3), Type::U32), *result = builder.getInt32(0);
  Value *low = builder.CreateAnd(selector, 3);
  for (uint32_t i = 0; i < 4; i++) {
    Value *index = nullptr;
    Value *nibble = builder.CreateAnd(builder.CreateLShr(selector, 4 * i), 15);
    auto fixed = [&](uint32_t value) { return builder.getInt32(value); };
    if (mode.empty())
      index = builder.CreateAnd(nibble, 7);
    else if (mode == "f4e")
      index = builder.CreateAdd(low, fixed(i));
    else if (mode == "b4e")
      index = builder.CreateAnd(builder.CreateSub(low, fixed(i)), 7);
    else if (mode == "rc8")
      index = low;
    else if (mode == "ecl")
      index = builder.CreateBinaryIntrinsic(Intrinsic::umax, low, fixed(i));
    else if (mode == "ecr")
      index = builder.CreateBinaryIntrinsic(Intrinsic::umin, low, fixed(i));
    else
      index = builder.CreateAdd(builder.CreateShl(builder.CreateAnd(low, 1), 1), fixed(i & 1));
    Value *shift = builder.CreateZExt(builder.CreateShl(index, 3), wide);
    Value *byte = builder.CreateTrunc(builder.CreateLShr(both, shift), builder.getInt8Ty());
    if (mode.empty()) {
      Value *replicates = builder.CreateICmpNE(builder.CreateAnd(nibble, 8), fixed(0));
      byte = builder.CreateSelect(replicates, builder.CreateAShr(byte, 7), byte);
    }
    result = builder.CreateOr(result, builder.CreateShl(builder.CreateZExt(byte, builder.getInt32Ty()), 8 * i));
  }
  write(operand(0), Type::B32, result);
}

// The table's bit 4a + 2b + c says what the result is for input bits a, b, c.
void FunctionTranslator::logic3(Modifiers &m) {
  std::string boolean = m.takeOneOf({"or", "and"});
  m.takeType();
  expectOperands(5, 6);
  const Operand &tableOperand = operand(4);
  if (tableOperand.kind != Operand::Kind::Integer || tableOperand.integer < 0 || tableOperand.integer > 255)
    fail("lop3 needs a constant table from 0 to 255");
  Value *inputs[3];
  for (size_t i = 0; i < 3; i++)
    inputs[i] = read(operand(i + 1), Type::B32);
  Value *result = builder.getInt32(0);
  for (int row = 0; row < 8; row++) {
    if (!((tableOperand.integer >> row) & 1))
      continue;
    Value *term = builder.getInt32(~0u);
    for (int i = 0; i < 3; i++)
      term = builder.CreateAnd(term, (row >> (2 - i)) & 1 ? inputs[i] : builder.CreateNot(inputs[i]));
    result = builder.CreateOr(result, term);
  }
  const Operand *destination = &operand(0);
  if (!boolean.empty()) {
    if (destination->kind != Operand::Kind::Pair || current->operands.size() != 6)
      fail("lop3.BoolOp needs d|p as its result and a predicate at the end");
    Value *isSet = builder.CreateICmpNE(result, builder.getInt32(0));
    writePredicate(destination->elements[1], combine(boolean, isSet, readPredicate(operand(5))));
    destination = &destination->elements[0];
  }
  write(*destination, Type::B32, result);
}

void FunctionTranslator::bitMask(Modifiers &m) {
  bool clamps = m.require("clamp or wrap", {"clamp", "wrap"}) == "clamp";
  m.takeType();
  expectOperands(3);
  Value *begin = read(operand(1), Type::U32), *length = read(operand(2), Type::U32);
  if (!clamps) {
    begin = builder.CreateAnd(begin, 31);
    length = builder.CreateAnd(length, 31);
  } else {
    begin = builder.CreateBinaryIntrinsic(Intrinsic::umin, begin, builder.getInt32(32));
    length = builder.CreateBinaryIntrinsic(Intrinsic::umin, length, builder.getInt32(32));
  }
  llvm::Type *wide = builder.getInt64Ty();
  Value *ones = builder.CreateSub(builder.CreateShl(builder.getInt64(1), builder.CreateZExt(length, wide)), builder.getInt64(1));
  write(operand(0), Type::B32,
        builder.CreateTrunc(builder.CreateShl(ones, builder.CreateZExt(begin, wide)), builder.getInt32Ty()));
}

void FunctionTranslator::signExtend(Modifiers &m) {
  bool clamps = m.require("clamp or wrap", {"clamp", "wrap"}) == "clamp";
  Type type = m.takeType();
  expectOperands(3);
  Value *value = read(operand(1), type), *length = read(operand(2), Type::U32);
  length = clamps ? builder.CreateBinaryIntrinsic(Intrinsic::umin, length, builder.getInt32(32))
                  : builder.CreateAnd(length, 31);
  llvm::Type *wide = builder.getInt64Ty();
  Value *shift = builder.CreateZExt(builder.CreateSub(builder.getInt32(32), length), wide);
  // In the upper half of 64 bits, so that a length of 0 shifts everything out.
  Value *top = builder.CreateShl(builder.CreateShl(builder.CreateZExt(value, wide), 32), shift);
  Value *extended = ptx::isSigned(type) ? builder.CreateAShr(top, shift) : builder.CreateLShr(top, shift);
  write(operand(0), type, builder.CreateTrunc(builder.CreateLShr(extended, 32), builder.getInt32Ty()));
}

} // namespace nncc::cuemu
