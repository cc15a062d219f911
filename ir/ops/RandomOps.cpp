// Random numbers as a scalar formula.

#include "ir/NN.h"
#include "ir/ops/InferenceHelpers.h"
#include "ir/ops/ScalarFormula.h"

#include <array>

using namespace mlir;
using namespace nncc;
using namespace nncc::nn;

LogicalResult RandomUniformOp::inferReturnTypes(MLIRContext *context, std::optional<Location> loc, ValueRange operands,
                                                DictionaryAttr, OpaqueProperties, RegionRange,
                                                SmallVectorImpl<Type> &types) {
  Shape shape = shapeOf(operands[0].getType());
  for (Value operand : operands.drop_front()) {
    FailureOr<Shape> both = broadcastShapes(shape, shapeOf(operand.getType()));
    if (failed(both))
      return emitOptionalError(loc, "random_uniform_c1: shapes of ", describe(operands[0].getType()), " and ",
                               describe(operand.getType()), " do not broadcast");
    shape = *both;
  }
  return appendType(loc, shape, Float32Type::get(context), types);
}

Value RandomUniformOp::buildScalar(OpBuilder &builder, Location loc, ValueRange operands) {
  auto like = [&](Type element) -> Type {
    auto vector = dyn_cast<VectorType>(operands[0].getType());
    return vector ? Type(vector.clone(element)) : element;
  };
  Type word = like(builder.getI32Type()), wide = like(builder.getI64Type());
  ScalarFormula formula(builder, loc);
  auto number = [&](Type type, uint64_t value) {
    return formula.constant(type, APInt(getElementTypeOrSelf(type).getIntOrFloatBitWidth(), value));
  };
  auto low = [&](Value value) -> Value { return arith::TruncIOp::create(builder, loc, word, value); };
  auto high = [&](Value value) { return low(arith::ShRUIOp::create(builder, loc, value, number(wide, 32))); };
  auto product = [&](uint32_t factor, Value value) -> Value {
    Value extended = arith::ExtUIOp::create(builder, loc, wide, value);
    return arith::MulIOp::create(builder, loc, extended, number(wide, factor));
  };
  auto exclusiveOr = [&](Value a, Value b, Value c) -> Value {
    return arith::XOrIOp::create(builder, loc, arith::XOrIOp::create(builder, loc, a, b), c);
  };
  // Rounds and constants as in support/Philox.h.
  std::array<Value, 4> counter = {low(operands[0]), high(operands[0]), low(operands[2]),
                                  number(word, static_cast<uint32_t>(getStream()))};
  std::array<Value, 2> key = {low(operands[1]), high(operands[1])};
  constexpr int kRounds = 10;
  for (int round = 0; round < kRounds; ++round) {
    Value product0 = product(0xD2511F53, counter[0]), product1 = product(0xCD9E8D57, counter[2]);
    counter = {exclusiveOr(high(product1), counter[1], key[0]), low(product1),
               exclusiveOr(high(product0), counter[3], key[1]), low(product0)};
    key[0] = arith::AddIOp::create(builder, loc, key[0], number(word, 0x9E3779B9));
    key[1] = arith::AddIOp::create(builder, loc, key[1], number(word, 0xBB67AE85));
  }
  // The 24 bits that an f32 holds.
  Value bits = arith::ShRUIOp::create(builder, loc, counter[0], number(word, 8));
  Type real = like(builder.getF32Type());
  Value whole = arith::SIToFPOp::create(builder, loc, real, bits);
  return formula.mul(whole, formula.constant(real, 0x1p-24));
}
