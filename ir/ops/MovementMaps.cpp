// The index map of each movement op: from the indices of a result element to the operand element
// that stands there.

#include "ir/NN.h"
#include "ir/StridedView.h"
#include "ir/ops/IndexMath.h"
#include "ir/ops/ScalarFormula.h"

using namespace mlir;
using namespace nncc;
using namespace nncc::nn;

static LaneSource sameDim(unsigned dim) { return LaneSource::along(dim); }

//===----------------------------------------------------------------------===//
// nn.reorder, nn.transpose, nn.expand
//===----------------------------------------------------------------------===//

Value ReorderOp::buildElement(MovementAccess &access) { return access.load(0, access.indices); }
LaneSource ReorderOp::laneSource(unsigned, unsigned resultDim) { return sameDim(resultDim); }

Value TransposeOp::buildElement(MovementAccess &access) {
  SmallVector<Value> indices(access.indices.size());
  for (auto [resultDim, dim] : llvm::enumerate(getPermutation()))
    indices[dim] = access.indices[resultDim];
  return access.load(0, indices);
}

LaneSource TransposeOp::laneSource(unsigned, unsigned resultDim) {
  return LaneSource::along(getPermutation()[resultDim]);
}

Value ExpandOp::buildElement(MovementAccess &access) {
  auto x = cast<RankedTensorType>(getX().getType());
  IndexMath math(access);
  SmallVector<Value> indices(access.indices.take_back(x.getRank()));
  for (auto [dim, index] : llvm::enumerate(indices))
    if (constantOf(dimOf(x, dim)) == 1)
      index = math.constant(0);
  return access.load(0, indices);
}

LaneSource ExpandOp::laneSource(unsigned, unsigned resultDim) {
  auto x = cast<RankedTensorType>(getX().getType());
  unsigned lead = cast<RankedTensorType>(getType()).getRank() - x.getRank();
  if (resultDim < lead || constantOf(dimOf(x, resultDim - lead)) == 1)
    return LaneSource::same();
  return LaneSource::along(resultDim - lead);
}

//===----------------------------------------------------------------------===//
// nn.reshape
//===----------------------------------------------------------------------===//

Value ReshapeOp::buildElement(MovementAccess &access) {
  IndexMath math(access);
  Shape from = shapeOf(getX().getType()), to = shapeOf(getType());
  SmallVector<Value> indices(from.size());
  for (const ReshapeGroup &group : reshapeGroups(from, to, getContext())) {
    if (group.isOneDim()) {
      indices[group.fromBegin] = access.indices[group.toBegin];
      continue;
    }
    Value linear;
    for (unsigned dim = group.toBegin; dim < group.toEnd; ++dim) {
      Value index = access.indices[dim];
      linear = linear ? math.add(math.mul(linear, access.extent(to[dim])), index) : index;
    }
    if (!linear)
      linear = math.constant(0);
    for (unsigned dim = group.fromEnd; dim-- > group.fromBegin + 1;) {
      Value extent = access.extent(from[dim]);
      indices[dim] = math.mod(linear, extent);
      linear = math.div(linear, extent);
    }
    if (group.fromEnd > group.fromBegin)
      indices[group.fromBegin] = linear;
  }
  return access.load(0, indices);
}

LaneSource ReshapeOp::laneSource(unsigned, unsigned resultDim) {
  Shape from = shapeOf(getX().getType()), to = shapeOf(getType());
  for (const ReshapeGroup &group : reshapeGroups(from, to, getContext()))
    if (group.isOneDim() && group.toBegin == resultDim)
      return LaneSource::along(group.fromBegin);
  return LaneSource::scattered();
}

//===----------------------------------------------------------------------===//
// nn.slice
//===----------------------------------------------------------------------===//

Value SliceOp::buildElement(MovementAccess &access) {
  IndexMath math(access);
  Shape shape = shapeOf(getX().getType());
  SmallVector<Value> indices;
  for (auto [dim, index] : llvm::enumerate(access.indices)) {
    int64_t start = getStarts()[dim];
    Value position = math.mul(index, getSteps()[dim]);
    if (start >= 0)
      position = math.add(position, start);
    else
      position = math.add(math.add(access.extent(shape[dim]), start), position);
    // Inference has checked static extents.
    if (!constantOf(shape[dim]) && getSizes()[dim] != -1)
      position = math.clamp(position, access.extent(shape[dim]));
    indices.push_back(position);
  }
  return access.load(0, indices);
}

LaneSource SliceOp::laneSource(unsigned, unsigned resultDim) {
  auto x = cast<RankedTensorType>(getX().getType());
  bool mayClamp = x.isDynamicDim(resultDim) && getSizes()[resultDim] != -1;
  return getSteps()[resultDim] == 1 && !mayClamp ? sameDim(resultDim) : LaneSource::scattered();
}

//===----------------------------------------------------------------------===//
// nn.concat
//===----------------------------------------------------------------------===//

/// The element of operand `number` or a later one; `begins[i]` is where operand i starts along the
/// axis.
static Value buildConcatElement(MovementAccess &access, IndexMath &math, unsigned number,
                                ArrayRef<Value> begins, int64_t axis) {
  auto loadHere = [&] {
    SmallVector<Value> indices(access.indices);
    indices[axis] = math.sub(indices[axis], begins[number]);
    return access.load(number, indices);
  };
  if (number + 1 == begins.size())
    return loadHere();
  OpBuilder &builder = access.builder;
  Value isHere = math.less(access.indices[axis], begins[number + 1]);
  auto branch = [&](auto element) {
    return [&, element](OpBuilder &, Location) {
      scf::YieldOp::create(builder, access.loc, element());
    };
  };
  auto later = [&] { return buildConcatElement(access, math, number + 1, begins, axis); };
  return scf::IfOp::create(builder, access.loc, isHere, branch(loadHere), branch(later))
      .getResult(0);
}

Value ConcatOp::buildElement(MovementAccess &access) {
  IndexMath math(access);
  SmallVector<Value> begins = {math.constant(0)};
  for (Value input : getInputs().drop_back())
    begins.push_back(math.add(
        begins.back(), access.extent(dimOf(cast<RankedTensorType>(input.getType()), getAxis()))));
  return buildConcatElement(access, math, 0, begins, getAxis());
}

LaneSource ConcatOp::laneSource(unsigned, unsigned resultDim) {
  return resultDim == getAxis() ? LaneSource::scattered() : sameDim(resultDim);
}

//===----------------------------------------------------------------------===//
// nn.pad
//===----------------------------------------------------------------------===//

Value PadOp::buildElement(MovementAccess &access) {
  IndexMath math(access);
  Shape shape = shapeOf(getX().getType());
  SmallVector<Value> indices;
  Value isOutside;
  for (auto [dim, index] : llvm::enumerate(access.indices)) {
    int64_t begin = getBegin()[dim], end = getEnd()[dim];
    if (begin == 0 && end == 0) {
      indices.push_back(index);
      continue;
    }
    Value extent = access.extent(shape[dim]), last = math.add(extent, -1);
    Value position = math.add(index, -begin);
    Value isBefore = math.less(position, math.constant(0)), isAfter = math.less(last, position);
    switch (getMode()) {
    case PadMode::Constant: {
      Value isHere = math.either(isBefore, isAfter);
      isOutside = isOutside ? math.either(isOutside, isHere) : isHere;
      break;
    }
    case PadMode::Reflect:
      position = math.select(isBefore, math.sub(math.constant(0), position), position);
      position = math.select(isAfter, math.sub(math.mul(last, 2), position), position);
      break;
    case PadMode::Circular:
      position = math.select(isBefore, math.add(position, extent), position);
      position = math.select(isAfter, math.sub(position, extent), position);
      break;
    case PadMode::Replicate:
      break;
    }
    // For the modes that compute a position the clamp matters where a dynamic extent is shorter
    // than its border.
    indices.push_back(math.clamp(position, extent));
  }
  Value element = access.load(0, indices);
  if (!isOutside)
    return element;
  ScalarFormula formula(access.builder, access.loc, signednessOf(getX().getType()));
  Value border = formula.constant(element, getValue().convertToDouble());
  return math.select(isOutside, border, element);
}

LaneSource PadOp::laneSource(unsigned, unsigned resultDim) {
  bool isPadded = getBegin()[resultDim] != 0 || getEnd()[resultDim] != 0;
  return isPadded ? LaneSource::scattered() : sameDim(resultDim);
}

//===----------------------------------------------------------------------===//
// nn.gather
//===----------------------------------------------------------------------===//

Value GatherOp::buildElement(MovementAccess &access) {
  IndexMath math(access);
  auto x = cast<RankedTensorType>(getX().getType());
  unsigned axis = getAxis(), indexRank = cast<RankedTensorType>(getIndices().getType()).getRank();
  Value chosen = access.load(1, access.indices.slice(axis, indexRank));
  if (access.indexType.isIndex())
    chosen = arith::IndexCastOp::create(access.builder, access.loc, access.indexType, chosen);
  else
    chosen = ScalarFormula(access.builder, access.loc).cast(chosen, access.indexType);
  Value extent = access.extent(dimOf(x, axis)), zero = math.constant(0);
  chosen = math.select(math.less(chosen, zero), math.add(chosen, extent), chosen);
  access.reportOutOfRange(
      math.either(math.less(chosen, zero), math.less(math.add(extent, -1), chosen)));
  SmallVector<Value> indices(access.indices.take_front(axis));
  indices.push_back(math.clamp(chosen, extent));
  llvm::append_range(indices, access.indices.drop_front(axis + indexRank));
  return access.load(0, indices);
}

LaneSource GatherOp::laneSource(unsigned operand, unsigned resultDim) {
  unsigned axis = getAxis(), indexRank = cast<RankedTensorType>(getIndices().getType()).getRank();
  bool isIndexDim = resultDim >= axis && resultDim < axis + indexRank;
  if (operand == 1)
    return isIndexDim ? LaneSource::along(resultDim - axis) : LaneSource::same();
  if (isIndexDim)
    return LaneSource::scattered();
  return LaneSource::along(resultDim < axis ? resultDim : resultDim - indexRank + 1);
}

//===----------------------------------------------------------------------===//
// nn.iota
//===----------------------------------------------------------------------===//

Value IotaOp::buildElement(MovementAccess &access) {
  IndexMath math(access);
  Value number = math.constant(0);
  for (auto [index, extent] : llvm::zip(access.indices, shapeOf(getType())))
    number = math.add(math.mul(number, access.extent(extent)), index);
  Type element = getElementTypeOrSelf(getType());
  if (access.indexType.isIndex())
    return arith::IndexCastOp::create(access.builder, access.loc, element, number);
  return ScalarFormula(access.builder, access.loc).cast(number, element);
}

/// There is no operand.
LaneSource IotaOp::laneSource(unsigned, unsigned) { return LaneSource::scattered(); }
