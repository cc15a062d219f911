// Elementwise ops: result types by broadcasting, and the scalar formula of each op.

#include "ir/NN.h"
#include "ir/ops/InferenceHelpers.h"

using namespace mlir;
using namespace nncc;
using namespace nncc::nn;

//===----------------------------------------------------------------------===//
// Helpers for formulas: constants and selections on scalars or vectors
//===----------------------------------------------------------------------===//

namespace {

/// A floating-point constant of `like`'s type, splat for vectors.
Value floatLike(OpBuilder &builder, Location loc, Value like, double value) {
  Type type = like.getType();
  auto element = cast<FloatType>(getElementTypeOrSelf(type));
  TypedAttr attr = builder.getFloatAttr(element, value);
  if (auto vector = dyn_cast<VectorType>(type))
    attr = SplatElementsAttr::get(vector, attr);
  return arith::ConstantOp::create(builder, loc, attr);
}

bool isFloat(Value value) { return isa<FloatType>(getElementTypeOrSelf(value.getType())); }

} // namespace

//===----------------------------------------------------------------------===//
// nn.relu
//===----------------------------------------------------------------------===//

LogicalResult ReluOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, ValueRange operands,
                                       DictionaryAttr, OpaqueProperties, RegionRange,
                                       SmallVectorImpl<Type> &types) {
  return inferSameType(loc, operands, types);
}

Value ReluOp::buildScalar(OpBuilder &builder, Location loc, ValueRange operands) {
  Value x = operands[0];
  Value zero = floatLike(builder, loc, x, 0.0);
  // "x < 0 ? 0 : x" keeps NaN, and is one max instruction.
  Value isNegative = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OLT, x, zero);
  return arith::SelectOp::create(builder, loc, isNegative, zero, x);
}

//===----------------------------------------------------------------------===//
// nn.add
//===----------------------------------------------------------------------===//

LogicalResult AddOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, ValueRange operands,
                                      DictionaryAttr, OpaqueProperties, RegionRange,
                                      SmallVectorImpl<Type> &types) {
  return inferBroadcastType(loc, operands, types);
}

Value AddOp::buildScalar(OpBuilder &builder, Location loc, ValueRange operands) {
  if (isFloat(operands[0]))
    return arith::AddFOp::create(builder, loc, operands[0], operands[1]);
  return arith::AddIOp::create(builder, loc, operands[0], operands[1]);
}
