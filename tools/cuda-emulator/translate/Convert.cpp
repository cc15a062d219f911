// cvt between every pair of types, with PTX's rounding, saturation and clamping.
#include "tools/cuda-emulator/translate/FunctionTranslator.h"

using namespace llvm;

namespace nncc::cuemu {

void FunctionTranslator::convert(Modifiers &m) {
  if (m.take("pack")) {
    convertPack(m);
    return;
  }
  std::optional<Rounding> toIntegral;
  std::string integral = m.takeOneOf({"rni", "rzi", "rmi", "rpi"});
  if (!integral.empty())
    toIntegral = integral == "rni"   ? Rounding::NearestEven
                 : integral == "rzi" ? Rounding::Zero
                 : integral == "rmi" ? Rounding::MinusInfinity
                                     : Rounding::PlusInfinity;
  bool away = m.take("rna");
  FloatModes modes = takeFloatModes(m);
  bool satFinite = m.take("satfinite");
  if (m.take("tf32")) {
    m.takeType();
    expectOperands(2);
    Value *value = read(operand(1), Type::F32);
    if (modes.relu) {
      Value *isNegative = builder.CreateFCmpOLT(value, ConstantFP::get(value->getType(), 0.0));
      value = builder.CreateSelect(isNegative, ConstantFP::get(value->getType(), 0.0), value);
    }
    Rounding rounding = away ? Rounding::NearestAway : modes.rounding;
    write(operand(0), Type::B32,
          call("emuFloatToTf32", builder.getInt32Ty(),
               {value, builder.getInt32(static_cast<uint32_t>(rounding))}));
    return;
  }
  Type to = m.takeType(), from = m.takeType();
  if (satFinite)
    m.fail(".satfinite is not supported for type ." + std::string(ptx::typeName(to)));
  if (to == Type::F16x2 || to == Type::BF16x2) {
    if (from != Type::F32)
      m.unsupportedType(from);
    convertToPair(m, to, modes.rounding, modes.relu);
    return;
  }
  expectOperands(2);
  Value *value = convertValue(read(operand(1), from), to, from, toIntegral, modes.rounding, modes.flush, modes.saturate);
  if (modes.relu) {
    if (!is16Bit(to))
      m.fail(".relu is not allowed here");
    // Negative becomes 0, NaN stays.
    Value *isNegative = builder.CreateFCmpOLT(halfToFloat(to, value), ConstantFP::get(builder.getFloatTy(), 0.0));
    value = builder.CreateSelect(isNegative, builder.getInt16(0), value);
  }
  write(operand(0), to, value);
}

// cvt.f16x2.f32 d, a, b: a becomes the upper half.
void FunctionTranslator::convertToPair(Modifiers &m, Type to, Rounding rounding, bool relu) {
  expectOperands(3);
  Value *packed = builder.getInt32(0);
  for (size_t i = 0; i < 2; i++) {
    Value *value = read(operand(2 - i), Type::F32);
    if (relu) {
      Value *zero = ConstantFP::get(value->getType(), 0.0);
      value = builder.CreateSelect(builder.CreateFCmpOLT(value, zero), zero, value);
    }
    Value *half = builder.CreateZExt(floatToHalf(to, value, rounding), builder.getInt32Ty());
    packed = builder.CreateOr(packed, builder.CreateShl(half, 16 * i));
  }
  write(operand(0), to, packed);
}

// cvt.pack.sat.type.s32{.b32} d, a, b{, c}: two saturated values below the bits of c.
void FunctionTranslator::convertPack(Modifiers &m) {
  m.require("sat", {"sat"});
  std::string narrow = m.require("a narrow type", {"u16", "s16", "u8", "s8", "u4", "s4", "u2", "s2"});
  m.require("s32", {"s32"});
  bool hasThird = m.take("b32");
  expectOperands(hasThird ? 4 : 3);
  int bits = std::stoi(narrow.substr(1));
  bool isSignedType = narrow[0] == 's';
  int64_t low = isSignedType ? -(int64_t{1} << (bits - 1)) : 0;
  int64_t high = isSignedType ? (int64_t{1} << (bits - 1)) - 1 : (int64_t{1} << bits) - 1;
  auto clamp = [&](const Operand &each) {
    Value *value = read(each, Type::S32);
    value = builder.CreateBinaryIntrinsic(Intrinsic::smax, value, constant(Type::S32, low));
    value = builder.CreateBinaryIntrinsic(Intrinsic::smin, value, constant(Type::S32, high));
    return builder.CreateAnd(value, (uint64_t{1} << bits) - 1);
  };
  Value *packed = builder.CreateOr(builder.CreateShl(clamp(operand(1)), static_cast<uint64_t>(bits)), clamp(operand(2)));
  if (hasThird)
    packed = builder.CreateOr(builder.CreateShl(read(operand(3), Type::B32), static_cast<uint64_t>(2 * bits)), packed);
  write(operand(0), Type::B32, packed);
}

Value *FunctionTranslator::convertValue(Value *value, Type to, Type from, std::optional<Rounding> toIntegral,
                                        Rounding rounding, bool flush, bool isSaturating) {
  int toBitCount = ptx::bitWidth(to);
  llvm::Type *floatType = builder.getFloatTy(), *doubleType = builder.getDoubleTy();
  Value *mode = builder.getInt32(static_cast<uint32_t>(rounding));

  if (!ptx::isFloat(from) && !ptx::isFloat(to)) {
    if (!isSaturating)
      return ptx::isSigned(from) ? builder.CreateSExtOrTrunc(value, intType(toBitCount))
                                 : builder.CreateZExtOrTrunc(value, intType(toBitCount));
    // Clamped in 128 bits, which hold every value of both types.
    IntegerType *wide = intType(128);
    value = ptx::isSigned(from) ? builder.CreateSExt(value, wide) : builder.CreateZExt(value, wide);
    auto bits = static_cast<unsigned>(toBitCount);
    APInt low = ptx::isSigned(to) ? APInt::getSignedMinValue(bits).sext(128) : APInt(128, 0);
    APInt high = ptx::isSigned(to) ? APInt::getSignedMaxValue(bits).zext(128) : APInt::getMaxValue(bits).zext(128);
    value = builder.CreateBinaryIntrinsic(Intrinsic::smax, value, ConstantInt::get(wide, low));
    value = builder.CreateBinaryIntrinsic(Intrinsic::smin, value, ConstantInt::get(wide, high));
    return builder.CreateTrunc(value, intType(toBitCount));
  }

  if (!ptx::isFloat(from)) {
    // Integer to float. 16-bit formats go through double, which holds every 32-bit integer.
    bool isSignedType = ptx::isSigned(from);
    Value *wide = isSignedType ? builder.CreateSExt(value, builder.getInt64Ty()) : builder.CreateZExt(value, builder.getInt64Ty());
    Value *result = nullptr;
    if (to == Type::F32 || to == Type::F64) {
      llvm::Type *type = to == Type::F32 ? floatType : doubleType;
      if (rounding == Rounding::NearestEven)
        result = isSignedType ? builder.CreateSIToFP(value, type) : builder.CreateUIToFP(value, type);
      else
        result = call(to == Type::F32 ? "emuIntToFloat32" : "emuIntToFloat64", type,
                      {wide, builder.getInt32(isSignedType), mode});
      return isSaturating ? saturate(result) : result;
    }
    Value *real = isSignedType ? builder.CreateSIToFP(wide, doubleType) : builder.CreateUIToFP(wide, doubleType);
    return call(to == Type::F16 ? "emuDoubleToHalf" : "emuDoubleToBFloat", builder.getInt16Ty(), {real, mode});
  }

  if (is16Bit(from))
    value = halfToFloat(from, value);
  else if (flush)
    value = flushSubnormal(value);

  if (!ptx::isFloat(to)) {
    // Out of range clamps; NaN gives 0, but the top bit alone for 64-bit results and from f64.
    if (!toIntegral)
      fail("a conversion from float to integer needs .rni, .rzi, .rmi or .rpi");
    Value *whole = roundToInteger(value, *toIntegral);
    llvm::Type *resultType = intType(toBitCount);
    Value *result = builder.CreateIntrinsic(ptx::isSigned(to) ? Intrinsic::fptosi_sat : Intrinsic::fptoui_sat,
                                            {resultType, whole->getType()}, {whole});
    if (from == Type::F64 || toBitCount == 64) {
      Value *ofNaN = ConstantInt::get(resultType, APInt::getSignedMinValue(static_cast<unsigned>(toBitCount)));
      result = builder.CreateSelect(builder.CreateFCmpUNO(value, value), ofNaN, result);
    }
    return result;
  }

  if (toIntegral)
    value = roundToInteger(value, *toIntegral);
  Value *result = value;
  if (to == Type::F64) {
    result = builder.CreateFPCast(value, doubleType);
  } else if (to == Type::F32) {
    if (value->getType()->isDoubleTy())
      result = rounding == Rounding::NearestEven ? builder.CreateFPTrunc(value, floatType)
                                                 : call("emuDoubleToFloat", floatType, {value, mode});
    if (flush)
      result = flushSubnormal(result);
  } else if (value->getType()->isDoubleTy()) {
    if (isSaturating)
      value = saturate(value);
    return call(to == Type::F16 ? "emuDoubleToHalf" : "emuDoubleToBFloat", builder.getInt16Ty(), {value, mode});
  } else {
    if (isSaturating)
      value = saturate(value);
    return floatToHalf(to, value, rounding);
  }
  return isSaturating ? saturate(result) : result;
}

} // namespace nncc::cuemu
