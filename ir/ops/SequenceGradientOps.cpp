// Result types and checks of the ops that the gradients of recurrent layers are made of, and the index map of nn.shift.

#include "ir/NN.h"
#include "ir/ops/IndexMath.h"
#include "ir/ops/InferenceHelpers.h"
#include "ir/ops/ScalarFormula.h"

using namespace mlir;
using namespace nncc;
using namespace nncc::nn;

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

static Shape withoutDim(Shape shape, int64_t dim) {
  shape.erase(shape.begin() + dim);
  return shape;
}

//===----------------------------------------------------------------------===//
// nn.shift
//===----------------------------------------------------------------------===//

LogicalResult ShiftOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, ValueRange operands,
                                        DictionaryAttr attributes, OpaqueProperties properties, RegionRange regions,
                                        SmallVectorImpl<Type> &types) {
  Adaptor op(operands, attributes, properties, regions);
  RankedTensorType x = typeOf(op.getX());
  int64_t axis = op.getAxis();
  if (axis < 0 || axis >= x.getRank())
    return emitOptionalError(loc, "shift_c1: axis ", axis, " is not a dimension of ", describe(x));
  if (Value first = op.getFirst())
    if (typeOf(first).getElementType() != x.getElementType() || shapeOf(first.getType()) != withoutDim(shapeOf(x), axis))
      return emitOptionalError(loc, "shift_c2: first must have the type of ", describe(x), " without dimension ", axis,
                               ", found ", describe(first.getType()));
  return appendType(loc, shapeOf(x), x.getElementType(), types);
}

Value ShiftOp::buildElement(MovementAccess &access) {
  IndexMath math(access);
  unsigned axis = getAxis();
  Value time = access.indices[axis], last = math.add(access.extent(dimOf(typeOf(getX()), axis)), -1), zero = math.constant(0);
  SmallVector<Value> indices(access.indices);
  indices[axis] = getReverse() ? math.min(math.add(time, 1), last) : math.max(math.add(time, -1), zero);
  Value before = access.load(0, indices), first;
  if (getFirst()) {
    indices.assign(access.indices.begin(), access.indices.end());
    indices.erase(indices.begin() + axis);
    first = access.load(1, indices);
  } else {
    first = ScalarFormula(access.builder, access.loc).constant(before, 0.0);
  }
  Value isFirst = math.isEqual(time, getReverse() ? last : zero);
  return math.select(isFirst, math.splatLike(first, before), before);
}

LaneSource ShiftOp::laneSource(unsigned operand, unsigned resultDim) {
  unsigned axis = getAxis();
  if (operand == 0)
    return resultDim == axis ? LaneSource::scattered() : LaneSource::along(resultDim);
  if (resultDim == axis)
    return LaneSource::same();
  return LaneSource::along(resultDim < axis ? resultDim : resultDim - 1);
}

//===----------------------------------------------------------------------===//
// nn.linear_scan
//===----------------------------------------------------------------------===//

LogicalResult LinearScanOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, ValueRange operands,
                                             DictionaryAttr attributes, OpaqueProperties properties, RegionRange regions,
                                             SmallVectorImpl<Type> &types) {
  Adaptor op(operands, attributes, properties, regions);
  RankedTensorType a = typeOf(op.getA()), b = typeOf(op.getB());
  int64_t axis = op.getAxis();
  if (shapeOf(a) != shapeOf(b) || axis < 0 || axis >= b.getRank())
    return emitOptionalError(loc, "linear_scan_c1: a and b must have one shape with a dimension ", axis, ", found ",
                             describe(a), " and ", describe(b));
  for (Value operand : operands)
    if (typeOf(operand).getElementType() != b.getElementType())
      return emitOptionalError(loc, "linear_scan_c3: operands must have the element type ", b.getElementType(), ", found ",
                               describe(operand.getType()));
  if (Value first = op.getFirst())
    if (shapeOf(first.getType()) != withoutDim(shapeOf(b), axis))
      return emitOptionalError(loc, "linear_scan_c2: first must have the shape of ", describe(b), " without dimension ", axis,
                               ", found ", describe(first.getType()));
  return appendType(loc, shapeOf(b), b.getElementType(), types);
}

LinearScanOp::Extents LinearScanOp::extents() {
  Shape shape = shapeOf(getResult().getType());
  ArrayRef<Dim> dims = shape;
  return {product(dims.take_front(getAxis()), getContext()), dims[getAxis()],
          product(dims.drop_front(getAxis() + 1), getContext())};
}

//===----------------------------------------------------------------------===//
// nn.recurrence_gradient
//===----------------------------------------------------------------------===//

int64_t RecurrenceGradientOp::factorCountOf(RecurrentCell cell) {
  switch (cell) {
  case RecurrentCell::RnnTanh:
  case RecurrentCell::RnnRelu:
    return 1;
  case RecurrentCell::Lstm:
    return 6;
  case RecurrentCell::Gru:
  case RecurrentCell::GruResetBefore:
    return 5;
  }
  llvm_unreachable("every cell has factors");
}

LogicalResult RecurrenceGradientOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, ValueRange operands,
                                                     DictionaryAttr attributes, OpaqueProperties properties,
                                                     RegionRange regions, SmallVectorImpl<Type> &types) {
  Adaptor op(operands, attributes, properties, regions);
  RankedTensorType weight = typeOf(op.getWHh());
  RecurrentCell cell = op.getCell();
  int64_t gates = RecurrenceOp::gateCountOf(cell), factorCount = factorCountOf(cell);
  bool isWeight = weight.getRank() == 2 && weight.hasStaticShape() && weight.getDimSize(0) == gates * weight.getDimSize(1);
  ValueRange factors = op.getFactors();
  Shape sequence;
  if (!factors.empty())
    sequence = shapeOf(factors[0].getType());
  bool areFactors = static_cast<int64_t>(factors.size()) == factorCount && sequence.size() == 3 && isWeight &&
                    sequence[2] == dimOf(weight, 1) &&
                    llvm::all_of(factors, [&](Value factor) { return shapeOf(factor.getType()) == sequence; });
  if (!areFactors)
    return emitOptionalError(loc, "recurrence_gradient_c1: ", stringifyRecurrentCell(cell), " needs w_hh [", gates,
                             " * H, H] and ", factorCount, " factors [N, T, H], found ", describe(weight), " and ",
                             factors.size(), factors.empty() ? "" : ", the first one ",
                             factors.empty() ? "" : describe(factors[0].getType()));
  Type element = weight.getElementType();
  for (Value operand : operands)
    if (typeOf(operand).getElementType() != element)
      return emitOptionalError(loc, "recurrence_gradient_c3: operands must have the element type ", element, ", found ",
                               describe(operand.getType()));
  Shape state = {sequence[0], sequence[2]};
  auto hasShape = [](Value value, const Shape &shape) { return !value || shapeOf(value.getType()) == shape; };
  bool isLstm = cell == RecurrentCell::Lstm;
  if (!hasShape(op.getY(), sequence) || !hasShape(op.getH(), state) || !hasShape(op.getC(), state) || (op.getC() && !isLstm))
    return emitOptionalError(loc, "recurrence_gradient_c2: y must be [N, T, H], h and, for an LSTM, c [N, H], with factors ",
                             describe(factors[0].getType()));
  if (failed(appendType(loc, {sequence[0], sequence[1], dimOf(weight, 0)}, element, types)) ||
      failed(appendType(loc, state, element, types)))
    return failure();
  return isLstm ? appendType(loc, state, element, types) : success();
}
