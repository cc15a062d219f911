// Floating-point arithmetic of f32 and f64, and of the 16-bit formats, which are computed in f32 and
// rounded once more: f32 has more than twice their precision plus two bits, so that for add, sub, mul,
// div and sqrt the second rounding changes nothing. fma has helpers of its own.
#include "tools/cuda-emulator/translate/FunctionTranslator.h"

using namespace llvm;

namespace nncc::cuemu {

void FunctionTranslator::addFloatHandlers(Table &table) {
  table["fma"] = &FunctionTranslator::fma;
  table["rcp"] = &FunctionTranslator::reciprocal;
  table["sqrt"] = table["rsqrt"] = &FunctionTranslator::squareRoot;
  table["sin"] = table["cos"] = table["lg2"] = table["ex2"] = table["tanh"] = &FunctionTranslator::approximation;
  table["copysign"] = &FunctionTranslator::copySign;
  table["testp"] = &FunctionTranslator::testProperty;
}

FunctionTranslator::FloatModes FunctionTranslator::takeFloatModes(Modifiers &m) {
  FloatModes modes;
  std::string rounding = m.takeOneOf({"rn", "rz", "rm", "rp"});
  if (rounding == "rz")
    modes.rounding = Rounding::Zero;
  else if (rounding == "rm")
    modes.rounding = Rounding::MinusInfinity;
  else if (rounding == "rp")
    modes.rounding = Rounding::PlusInfinity;
  modes.flush = m.take("ftz");
  modes.saturate = m.take("sat");
  modes.relu = m.take("relu");
  return modes;
}

// Subnormal values become zeros of their sign.
Value *FunctionTranslator::flushSubnormal(Value *value) {
  if (!value->getType()->isFloatTy())
    return value;
  Value *bits = toInt(value);
  Value *isSubnormal = builder.CreateICmpEQ(builder.CreateAnd(bits, 0x7f800000), builder.getInt32(0));
  Value *flushed = builder.CreateSelect(isSubnormal, builder.CreateAnd(bits, 0x80000000), bits);
  return toBits(flushed, value->getType());
}

// Clamps to [0, 1]; NaN becomes 0.
Value *FunctionTranslator::saturate(Value *value) {
  Value *zero = ConstantFP::get(value->getType(), 0.0), *one = ConstantFP::get(value->getType(), 1.0);
  Value *isPositive = builder.CreateFCmpOGT(value, zero);
  Value *isLarge = builder.CreateFCmpOGT(value, one);
  return builder.CreateSelect(isPositive, builder.CreateSelect(isLarge, one, value), zero);
}

Value *FunctionTranslator::floatOperation(FloatOp op, Rounding rounding, Value *a, Value *b, Value *c) {
  if (rounding == Rounding::NearestEven) {
    switch (op) {
    case FloatOp::Add:
      return builder.CreateFAdd(a, b);
    case FloatOp::Subtract:
      return builder.CreateFSub(a, b);
    case FloatOp::Multiply:
      return builder.CreateFMul(a, b);
    case FloatOp::Divide:
      return builder.CreateFDiv(a, b);
    case FloatOp::SquareRoot:
      return builder.CreateUnaryIntrinsic(Intrinsic::sqrt, a);
    case FloatOp::Fma:
      return builder.CreateIntrinsic(Intrinsic::fma, {a->getType()}, {a, b, c});
    }
  }
  Value *zero = Constant::getNullValue(a->getType());
  return call(a->getType()->isFloatTy() ? "emuRound32" : "emuRound64", a->getType(),
              {builder.getInt32(static_cast<uint32_t>(op)), builder.getInt32(static_cast<uint32_t>(rounding)), a,
               b ? b : zero, c ? c : zero});
}

void FunctionTranslator::floatArithmetic(Modifiers &m, Type type, FloatOp op) {
  FloatModes modes = takeFloatModes(m);
  m.takeType();
  expectOperands(3);
  Value *a = read(operand(1), type), *b = read(operand(2), type);
  auto compute = [&](ArrayRef<Value *> in) {
    Value *x = in[0], *y = in[1];
    if (modes.flush) {
      x = flushSubnormal(x);
      y = flushSubnormal(y);
    }
    Value *result = floatOperation(op, modes.rounding, x, y, nullptr);
    if (modes.flush)
      result = flushSubnormal(result);
    return modes.saturate ? saturate(result) : result;
  };
  if (!is16Bit(type)) {
    write(operand(0), type, compute({a, b}));
    return;
  }
  if (modes.rounding != Rounding::NearestEven)
    fail("16-bit arithmetic rounds to nearest only");
  if (modes.flush)
    m.fail(".ftz of 16-bit arithmetic is not supported");
  write(operand(0), type, mapHalves(type, {a, b}, compute));
}

void FunctionTranslator::fma(Modifiers &m) {
  FloatModes modes = takeFloatModes(m);
  Type type = m.takeType();
  expectOperands(4);
  Value *in[3];
  for (size_t i = 0; i < 3; i++)
    in[i] = read(operand(i + 1), type);
  if (is16Bit(type)) {
    if (modes.flush)
      m.fail(".ftz of 16-bit arithmetic is not supported");
    bool isBFloat = type == Type::BF16 || type == Type::BF16x2;
    Value *result = mapHalfBits(type, in, [&](ArrayRef<Value *> x) -> Value * {
      Value *bits = call(isBFloat ? "emuFmaBFloat" : "emuFmaHalf", builder.getInt16Ty(), x);
      if (!modes.relu && !modes.saturate)
        return bits;
      Type lane = isBFloat ? Type::BF16 : Type::F16;
      Value *value = halfToFloat(lane, bits);
      if (modes.saturate)
        return floatToHalf(lane, saturate(value));
      // Negative becomes 0, NaN stays.
      Value *isNegative = builder.CreateFCmpOLT(value, ConstantFP::get(value->getType(), 0.0));
      return builder.CreateSelect(isNegative, builder.getInt16(0), bits);
    });
    write(operand(0), type, result);
    return;
  }
  if (type != Type::F32 && type != Type::F64)
    m.unsupportedType(type);
  if (modes.flush)
    for (Value *&value : in)
      value = flushSubnormal(value);
  Value *result = floatOperation(FloatOp::Fma, modes.rounding, in[0], in[1], in[2]);
  if (modes.flush)
    result = flushSubnormal(result);
  write(operand(0), type, modes.saturate ? saturate(result) : result);
}

void FunctionTranslator::divFloat(Modifiers &m, Type type) {
  if (m.opcode() != "div" || (type != Type::F32 && type != Type::F64))
    m.unsupportedType(type);
  // .approx and .full allow an error of 2 ulp; the exact quotient is within it.
  m.takeOneOf({"approx", "full"});
  floatArithmetic(m, type, FloatOp::Divide);
}

// min and max ignore a single NaN operand, .NaN gives NaN; -0 is less than +0.
void FunctionTranslator::floatMinMax(Modifiers &m, Type type, bool isMax) {
  bool flush = m.take("ftz"), propagatesNaN = m.take("NaN"), xorsSign = m.take("xorsign");
  if (xorsSign && !m.take("abs"))
    fail("expected .abs after .xorsign");
  m.takeType();
  expectOperands(3);
  auto compute = [&](ArrayRef<Value *> in) -> Value * {
    Value *a = flush ? flushSubnormal(in[0]) : in[0], *b = flush ? flushSubnormal(in[1]) : in[1];
    Value *sign = nullptr;
    if (xorsSign) {
      Value *ones = builder.CreateXor(toInt(a), toInt(b));
      sign = toBits(ones, a->getType());
      a = builder.CreateUnaryIntrinsic(Intrinsic::fabs, a);
      b = builder.CreateUnaryIntrinsic(Intrinsic::fabs, b);
    }
    Intrinsic::ID id = propagatesNaN ? (isMax ? Intrinsic::maximum : Intrinsic::minimum)
                                     : (isMax ? Intrinsic::maximumnum : Intrinsic::minimumnum);
    Value *result = builder.CreateBinaryIntrinsic(id, a, b);
    return sign ? builder.CreateBinaryIntrinsic(Intrinsic::copysign, result, sign) : result;
  };
  Value *a = read(operand(1), type), *b = read(operand(2), type);
  write(operand(0), type, is16Bit(type) ? mapHalves(type, {a, b}, compute) : compute({a, b}));
}

void FunctionTranslator::floatAbsNeg(Modifiers &m, Type type, bool isNeg) {
  bool flush = m.take("ftz");
  m.takeType();
  expectOperands(2);
  Value *value = read(operand(1), type);
  if (is16Bit(type)) {
    // Sign bits alone, so that every NaN and subnormal stays as it is.
    Value *result = mapHalfBits(type, {value}, [&](ArrayRef<Value *> in) {
      return isNeg ? builder.CreateXor(in[0], 0x8000) : builder.CreateAnd(in[0], 0x7fff);
    });
    write(operand(0), type, result);
    return;
  }
  if (flush)
    value = flushSubnormal(value);
  write(operand(0), type, isNeg ? builder.CreateFNeg(value) : builder.CreateUnaryIntrinsic(Intrinsic::fabs, value));
}

void FunctionTranslator::reciprocal(Modifiers &m) {
  m.take("approx");
  FloatModes modes = takeFloatModes(m);
  Type type = m.takeType();
  expectOperands(2);
  if (type != Type::F32 && type != Type::F64)
    m.unsupportedType(type);
  Value *value = read(operand(1), type);
  if (modes.flush)
    value = flushSubnormal(value);
  Value *result = floatOperation(FloatOp::Divide, modes.rounding, ConstantFP::get(value->getType(), 1.0), value, nullptr);
  write(operand(0), type, modes.flush ? flushSubnormal(result) : result);
}

void FunctionTranslator::squareRoot(Modifiers &m) {
  m.take("approx");
  FloatModes modes = takeFloatModes(m);
  Type type = m.takeType();
  expectOperands(2);
  if (type != Type::F32 && type != Type::F64)
    m.unsupportedType(type);
  Value *value = read(operand(1), type);
  if (modes.flush)
    value = flushSubnormal(value);
  Value *result = nullptr;
  if (m.opcode() == "sqrt") {
    result = floatOperation(FloatOp::SquareRoot, modes.rounding, value, nullptr, nullptr);
  } else {
    // In double, so that the square root's rounding does not add to the quotient's.
    Value *wide = type == Type::F32 ? builder.CreateFPExt(value, builder.getDoubleTy()) : value;
    Value *root = builder.CreateUnaryIntrinsic(Intrinsic::sqrt, wide);
    result = builder.CreateFDiv(ConstantFP::get(builder.getDoubleTy(), 1.0), root);
    result = builder.CreateFPCast(result, llvmType(type));
  }
  write(operand(0), type, modes.flush ? flushSubnormal(result) : result);
}

// sin, cos, lg2, ex2, tanh: a device approximates; here they are as good as the host's libm.
void FunctionTranslator::approximation(Modifiers &m) {
  if (!m.take("approx"))
    fail("'" + current->fullName() + "' needs .approx");
  bool flush = m.take("ftz");
  Type type = m.takeType();
  expectOperands(2);
  const std::string &op = m.opcode();
  Intrinsic::ID id = op == "sin"   ? Intrinsic::sin
                     : op == "cos" ? Intrinsic::cos
                     : op == "lg2" ? Intrinsic::log2
                     : op == "ex2" ? Intrinsic::exp2
                                   : Intrinsic::tanh;
  bool allowsHalf = op == "ex2" || op == "tanh";
  if (type != Type::F32 && !(allowsHalf && is16Bit(type)))
    m.unsupportedType(type);
  auto compute = [&](ArrayRef<Value *> in) {
    Value *value = builder.CreateUnaryIntrinsic(id, flush ? flushSubnormal(in[0]) : in[0]);
    return flush ? flushSubnormal(value) : value;
  };
  Value *value = read(operand(1), type);
  write(operand(0), type, is16Bit(type) ? mapHalves(type, {value}, compute) : compute({value}));
}

void FunctionTranslator::copySign(Modifiers &m) {
  Type type = m.takeType();
  expectOperands(3);
  write(operand(0), type,
        builder.CreateBinaryIntrinsic(Intrinsic::copysign, read(operand(2), type), read(operand(1), type)));
}

void FunctionTranslator::testProperty(Modifiers &m) {
  std::string property =
      m.require("a property", {"finite", "infinite", "number", "notanumber", "normal", "subnormal"});
  Type type = m.takeType();
  expectOperands(2);
  FPClassTest test = property == "finite"       ? fcFinite
                     : property == "infinite"   ? fcInf
                     : property == "number"     ? ~fcNan & fcAllFlags
                     : property == "notanumber" ? fcNan
                     : property == "normal"     ? fcNormal
                                                : fcSubnormal;
  writePredicate(operand(0), builder.createIsFPClass(read(operand(1), type), test));
}

} // namespace nncc::cuemu
