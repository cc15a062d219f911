// The 16-bit formats f16 and bf16 and their packed pairs, which stand in registers as i16 and i32.
#include "tools/cuda-emulator/translate/FunctionTranslator.h"

using namespace llvm;

namespace nncc::cuemu {

bool FunctionTranslator::is16Bit(Type type) const {
  return type == Type::F16 || type == Type::F16x2 || type == Type::BF16 || type == Type::BF16x2;
}

Value *FunctionTranslator::halfToFloat(Type type, Value *bits) {
  if (type == Type::BF16 || type == Type::BF16x2)
    return toBits(builder.CreateShl(builder.CreateZExt(bits, builder.getInt32Ty()), 16), builder.getFloatTy());
  return builder.CreateFPExt(toBits(bits, builder.getHalfTy()), builder.getFloatTy());
}

Value *FunctionTranslator::floatToHalf(Type type, Value *value, Rounding rounding) {
  bool isBFloat = type == Type::BF16 || type == Type::BF16x2;
  if (rounding != Rounding::NearestEven) {
    Value *wide = builder.CreateFPExt(value, builder.getDoubleTy());
    return call(isBFloat ? "emuDoubleToBFloat" : "emuDoubleToHalf", builder.getInt16Ty(),
                {wide, builder.getInt32(static_cast<uint32_t>(rounding))});
  }
  if (!isBFloat) {
    Value *half = toInt(builder.CreateFPTrunc(value, builder.getHalfTy()));
    return builder.CreateSelect(builder.CreateFCmpUNO(value, value), builder.getInt16(0x7fff), half);
  }
  // Adding just under half of the last kept place, plus that place's parity, rounds ties to even.
  Value *bits = toInt(value);
  Value *parity = builder.CreateAnd(builder.CreateLShr(bits, 16), 1);
  Value *rounded = builder.CreateAdd(builder.CreateAdd(bits, builder.getInt32(0x7fff)), parity);
  Value *top = builder.CreateTrunc(builder.CreateLShr(rounded, 16), builder.getInt16Ty());
  return builder.CreateSelect(builder.CreateFCmpUNO(value, value), builder.getInt16(0x7fff), top);
}

Value *FunctionTranslator::mapHalfBits(Type type, ArrayRef<Value *> operands,
                                       function_ref<Value *(ArrayRef<Value *>)> f) {
  if (type == Type::F16 || type == Type::BF16)
    return f(operands);
  Value *packed = builder.getInt32(0);
  for (uint64_t lane = 0; lane < 2; lane++) {
    Values lanes;
    for (Value *operand : operands)
      lanes.push_back(builder.CreateTrunc(builder.CreateLShr(operand, 16 * lane), builder.getInt16Ty()));
    Value *result = builder.CreateZExt(f(lanes), builder.getInt32Ty());
    packed = builder.CreateOr(packed, builder.CreateShl(result, 16 * lane));
  }
  return packed;
}

Value *FunctionTranslator::mapHalves(Type type, ArrayRef<Value *> operands,
                                     function_ref<Value *(ArrayRef<Value *>)> f) {
  return mapHalfBits(type, operands, [&](ArrayRef<Value *> bits) {
    Values values;
    for (Value *each : bits)
      values.push_back(halfToFloat(type, each));
    return floatToHalf(type, f(values));
  });
}

Value *FunctionTranslator::roundToInteger(Value *value, Rounding rounding) {
  switch (rounding) {
  case Rounding::NearestEven:
    return builder.CreateUnaryIntrinsic(Intrinsic::roundeven, value);
  case Rounding::Zero:
    return builder.CreateUnaryIntrinsic(Intrinsic::trunc, value);
  case Rounding::MinusInfinity:
    return builder.CreateUnaryIntrinsic(Intrinsic::floor, value);
  case Rounding::PlusInfinity:
    return builder.CreateUnaryIntrinsic(Intrinsic::ceil, value);
  case Rounding::NearestAway:
    return builder.CreateUnaryIntrinsic(Intrinsic::round, value);
  }
  return value;
}

} // namespace nncc::cuemu
