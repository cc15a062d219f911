// Integer arithmetic: add, sub, mul, mad, div, rem, min, max, abs, neg, sad, dp4a and the carry forms.
// add, sub, mul, min, max, abs, neg and div of floats share the opcodes and go on in Float.cpp.
#include "tools/cuda-emulator/translate/FunctionTranslator.h"

using namespace llvm;

namespace nncc::cuemu {

void FunctionTranslator::addIntegerHandlers(Table &table) {
  table["add"] = table["sub"] = &FunctionTranslator::addSub;
  table["addc"] = table["subc"] = table["madc"] = &FunctionTranslator::addSubCarry;
  table["mul"] = table["mad"] = &FunctionTranslator::mulMad;
  table["mul24"] = table["mad24"] = &FunctionTranslator::mulMad24;
  table["div"] = table["rem"] = &FunctionTranslator::divRem;
  table["min"] = table["max"] = &FunctionTranslator::minMax;
  table["abs"] = table["neg"] = &FunctionTranslator::absNeg;
  table["sad"] = &FunctionTranslator::sad;
  table["dp4a"] = table["dp2a"] = &FunctionTranslator::dotProduct;
}

void FunctionTranslator::addSub(Modifiers &m) {
  bool isSub = m.opcode() == "sub";
  Type type = m.peekType();
  if (ptx::isFloat(type)) {
    floatArithmetic(m, type, isSub ? FloatOp::Subtract : FloatOp::Add);
    return;
  }
  if (m.take("cc")) {
    addSubCarry(m);
    return;
  }
  bool isSaturating = m.take("sat");
  integerAddSub(m, m.takeType(), isSub);
  if (!isSaturating)
    return;
  // Only .s32 saturates, by the instruction's definition.
  Value *a = read(operand(1), Type::S32), *b = read(operand(2), Type::S32);
  write(operand(0), Type::S32,
        builder.CreateBinaryIntrinsic(isSub ? Intrinsic::ssub_sat : Intrinsic::sadd_sat, a, b));
}

void FunctionTranslator::integerAddSub(Modifiers &m, Type type, bool isSub) {
  expectOperands(3);
  // .u16x2 and .s16x2 are not types of their own here; peekType has refused them.
  Value *a = read(operand(1), type), *b = read(operand(2), type);
  write(operand(0), type, isSub ? builder.CreateSub(a, b) : builder.CreateAdd(a, b));
}

// add.cc, addc, sub.cc, subc, mad.lo.cc, madc: extended-precision arithmetic over the carry flag.
void FunctionTranslator::addSubCarry(Modifiers &m) {
  if (!carry) {
    IRBuilder<>::InsertPointGuard guard(builder);
    builder.SetInsertPoint(entryBlock);
    carry = builder.CreateAlloca(builder.getInt1Ty());
    builder.CreateStore(builder.getFalse(), carry);
  }
  const std::string &opcode = m.opcode();
  bool readsCarry = opcode.back() == 'c';
  bool writesCarry = !readsCarry || m.take("cc");
  bool isMad = opcode.rfind("mad", 0) == 0, isSub = opcode.rfind("sub", 0) == 0;
  bool isHigh = isMad && m.require("lo or hi", {"lo", "hi"}) == "hi";
  Type type = m.takeType();
  int bits = ptx::bitWidth(type);
  expectOperands(isMad ? 4 : 3);
  Value *a = read(operand(1), type), *b = read(operand(2), type);
  if (isMad) {
    bool isSignedType = ptx::isSigned(type);
    auto extend = [&](Value *value) {
      return isSignedType ? builder.CreateSExt(value, intType(2 * bits)) : builder.CreateZExt(value, intType(2 * bits));
    };
    Value *product = builder.CreateMul(extend(a), extend(b));
    a = builder.CreateTrunc(isHigh ? builder.CreateLShr(product, static_cast<uint64_t>(bits)) : product, intType(bits));
    b = read(operand(3), type);
  }
  // One bit more than the operands: the top bit is the carry or the borrow.
  IntegerType *wide = intType(bits + 1);
  Value *left = builder.CreateZExt(a, wide), *right = builder.CreateZExt(b, wide);
  Value *result = isSub ? builder.CreateSub(left, right) : builder.CreateAdd(left, right);
  if (readsCarry) {
    Value *in = builder.CreateZExt(builder.CreateLoad(builder.getInt1Ty(), carry), wide);
    result = isSub ? builder.CreateSub(result, in) : builder.CreateAdd(result, in);
  }
  if (writesCarry)
    builder.CreateStore(
        builder.CreateTrunc(builder.CreateLShr(result, static_cast<uint64_t>(bits)), builder.getInt1Ty()), carry);
  write(operand(0), type, builder.CreateTrunc(result, intType(bits)));
}

void FunctionTranslator::mulMad(Modifiers &m) {
  bool isMad = m.opcode() == "mad";
  Type type = m.peekType();
  if (ptx::isFloat(type)) {
    if (isMad)
      fma(m);
    else
      floatArithmetic(m, type, FloatOp::Multiply);
    return;
  }
  if (m.take("cc")) {
    addSubCarry(m);
    return;
  }
  std::string part = m.require("lo, hi or wide", {"lo", "hi", "wide"});
  bool isSaturating = m.take("sat"); // mad.hi.sat.s32
  m.takeType();
  expectOperands(isMad ? 4 : 3);
  int bits = ptx::bitWidth(type);
  bool isSignedType = ptx::isSigned(type);
  Value *a = read(operand(1), type), *b = read(operand(2), type), *product = nullptr;
  Type resultType = type;
  if (part == "lo") {
    product = builder.CreateMul(a, b);
  } else {
    IntegerType *wide = intType(2 * bits);
    product = isSignedType ? builder.CreateMul(builder.CreateSExt(a, wide), builder.CreateSExt(b, wide))
                           : builder.CreateMul(builder.CreateZExt(a, wide), builder.CreateZExt(b, wide));
    if (part == "hi") {
      product = builder.CreateTrunc(builder.CreateLShr(product, static_cast<uint64_t>(bits)), intType(bits));
    } else {
      if (bits > 32)
        fail(".wide needs operands of 16 or 32 bits");
      resultType = bits == 16 ? (isSignedType ? Type::S32 : Type::U32)
                              : (isSignedType ? Type::S64 : Type::U64);
    }
  }
  if (isMad) {
    Value *addend = read(operand(3), resultType);
    product = isSaturating ? builder.CreateBinaryIntrinsic(Intrinsic::sadd_sat, product, addend)
                           : builder.CreateAdd(product, addend);
  }
  write(operand(0), resultType, product);
}

void FunctionTranslator::mulMad24(Modifiers &m) {
  bool isHigh = m.require("lo or hi", {"lo", "hi"}) == "hi";
  Type type = m.takeType();
  bool isMad = m.opcode() == "mad24";
  expectOperands(isMad ? 4 : 3);
  auto low24 = [&](const Operand &each) {
    Value *shifted = builder.CreateShl(read(each, type), 8);
    Value *value = ptx::isSigned(type) ? builder.CreateAShr(shifted, 8) : builder.CreateLShr(shifted, 8);
    return ptx::isSigned(type) ? builder.CreateSExt(value, builder.getInt64Ty())
                               : builder.CreateZExt(value, builder.getInt64Ty());
  };
  Value *product = builder.CreateMul(low24(operand(1)), low24(operand(2)));
  Value *result = builder.CreateTrunc(isHigh ? builder.CreateLShr(product, 16) : product, builder.getInt32Ty());
  write(operand(0), type, isMad ? builder.CreateAdd(result, read(operand(3), type)) : result);
}

// Division by zero is unspecified in PTX but does not trap, nor does INT_MIN / -1.
void FunctionTranslator::divRem(Modifiers &m) {
  Type type = m.peekType();
  if (ptx::isFloat(type)) {
    divFloat(m, type);
    return;
  }
  m.takeType();
  expectOperands(3);
  bool isRem = m.opcode() == "rem";
  Value *a = read(operand(1), type), *b = read(operand(2), type);
  Value *zero = constant(type, 0), *one = constant(type, 1), *ones = constant(type, -1);
  Value *isZero = builder.CreateICmpEQ(b, zero);
  if (!ptx::isSigned(type)) {
    Value *divisor = builder.CreateSelect(isZero, one, b);
    Value *result = isRem ? builder.CreateURem(a, divisor) : builder.CreateUDiv(a, divisor);
    write(operand(0), type, builder.CreateSelect(isZero, isRem ? a : ones, result));
    return;
  }
  Value *isMinusOne = builder.CreateICmpEQ(b, ones);
  Value *divisor = builder.CreateSelect(builder.CreateOr(isZero, isMinusOne), one, b);
  Value *result = isRem ? builder.CreateSRem(a, divisor) : builder.CreateSDiv(a, divisor);
  result = builder.CreateSelect(isMinusOne, isRem ? zero : builder.CreateNeg(a), result);
  write(operand(0), type, builder.CreateSelect(isZero, isRem ? a : ones, result));
}

void FunctionTranslator::minMax(Modifiers &m) {
  bool isMax = m.opcode() == "max";
  Type type = m.peekType();
  if (ptx::isFloat(type)) {
    floatMinMax(m, type, isMax);
    return;
  }
  bool clampsAtZero = m.take("relu");
  m.takeType();
  expectOperands(3);
  Intrinsic::ID id = ptx::isSigned(type) ? (isMax ? Intrinsic::smax : Intrinsic::smin)
                                         : (isMax ? Intrinsic::umax : Intrinsic::umin);
  Value *result = builder.CreateBinaryIntrinsic(id, read(operand(1), type), read(operand(2), type));
  if (clampsAtZero)
    result = builder.CreateBinaryIntrinsic(Intrinsic::smax, result, constant(type, 0));
  write(operand(0), type, result);
}

void FunctionTranslator::absNeg(Modifiers &m) {
  bool isNeg = m.opcode() == "neg";
  Type type = m.peekType();
  if (ptx::isFloat(type)) {
    floatAbsNeg(m, type, isNeg);
    return;
  }
  m.takeType();
  expectOperands(2);
  Value *value = read(operand(1), type);
  write(operand(0), type,
        isNeg ? builder.CreateNeg(value)
              : builder.CreateBinaryIntrinsic(Intrinsic::abs, value, builder.getFalse()));
}

void FunctionTranslator::sad(Modifiers &m) {
  Type type = m.takeType();
  expectOperands(4);
  bool isSignedType = ptx::isSigned(type);
  Value *a = read(operand(1), type), *b = read(operand(2), type);
  Value *larger = builder.CreateBinaryIntrinsic(isSignedType ? Intrinsic::smax : Intrinsic::umax, a, b);
  Value *smaller = builder.CreateBinaryIntrinsic(isSignedType ? Intrinsic::smin : Intrinsic::umin, a, b);
  write(operand(0), type, builder.CreateAdd(builder.CreateSub(larger, smaller), read(operand(3), type)));
}

// dp4a: four products of bytes; dp2a.lo/.hi: two products of 16-bit values with the low or high bytes.
void FunctionTranslator::dotProduct(Modifiers &m) {
  bool isFour = m.opcode() == "dp4a";
  bool isHigh = !isFour && m.require("lo or hi", {"lo", "hi"}) == "hi";
  bool isSignedA = ptx::isSigned(m.takeType()), isSignedB = ptx::isSigned(m.takeType());
  expectOperands(4);
  Value *a = read(operand(1), Type::U32), *b = read(operand(2), Type::U32), *sum = read(operand(3), Type::U32);
  auto part = [&](Value *word, int begin, int bits, bool isSignedPart) {
    Value *value = builder.CreateTrunc(builder.CreateLShr(word, static_cast<uint64_t>(begin)), intType(bits));
    return isSignedPart ? builder.CreateSExt(value, builder.getInt32Ty())
                        : builder.CreateZExt(value, builder.getInt32Ty());
  };
  for (int i = 0; i < (isFour ? 4 : 2); i++) {
    Value *left = isFour ? part(a, 8 * i, 8, isSignedA) : part(a, 16 * i, 16, isSignedA);
    Value *right = part(b, 8 * i + (isHigh ? 16 : 0), 8, isSignedB);
    sum = builder.CreateAdd(sum, builder.CreateMul(left, right));
  }
  write(operand(0), Type::U32, sum);
}

} // namespace nncc::cuemu
