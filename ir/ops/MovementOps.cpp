// Result types, verifiers and folders of the movement ops. Their index maps stand in
// MovementMaps.cpp.

#include "ir/NN.h"
#include "ir/ops/InferenceHelpers.h"

#include "llvm/ADT/SmallBitVector.h"

using namespace mlir;
using namespace nncc;
using namespace nncc::nn;

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

//===----------------------------------------------------------------------===//
// nn.reshape and nn.expand
//===----------------------------------------------------------------------===//

LogicalResult ReshapeOp::verify() {
  RankedTensorType from = typeOf(getX()), to = typeOf(getResult());
  if (from.getElementType() != to.getElementType())
    return emitOpError("reshape_c1: operand and result must have one element type, found ")
           << describe(from) << " and " << describe(to);
  Dim ratio = quotient(shapeOf(from), shapeOf(to), getContext());
  if (!ratio || constantOf(ratio) != 1)
    return emitOpError(
               "reshape_c2: operand and result must have the same number of elements, found ")
           << describe(from) << " and " << describe(to);
  return success();
}

OpFoldResult ReshapeOp::fold(FoldAdaptor adaptor) {
  if (getX().getType() == getType())
    return getX();
  if (auto elements = dyn_cast_if_present<DenseElementsAttr>(adaptor.getX()))
    if (isRowMajor(typeOf(getX())) && isRowMajor(typeOf(getResult())))
      return elements.reshape(typeOf(getResult()));
  auto producer = getX().getDefiningOp<ReshapeOp>();
  if (!producer)
    return {};
  if (producer.getX().getType() == getType())
    return producer.getX();
  getXMutable().assign(producer.getX());
  return getResult();
}

LogicalResult ExpandOp::verify() {
  RankedTensorType from = typeOf(getX()), to = typeOf(getResult());
  if (from.getElementType() != to.getElementType())
    return emitOpError("expand_c1: operand and result must have one element type, found ")
           << describe(from) << " and " << describe(to);
  FailureOr<Shape> both = broadcastShapes(shapeOf(from), shapeOf(to));
  if (failed(both) || *both != shapeOf(to))
    return emitOpError("expand_c2: ")
           << describe(from) << " does not broadcast to " << describe(to);
  return success();
}

OpFoldResult ExpandOp::fold(FoldAdaptor) {
  if (getX().getType() == getType())
    return getX();
  return {};
}

//===----------------------------------------------------------------------===//
// nn.transpose
//===----------------------------------------------------------------------===//

LogicalResult TransposeOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc,
                                            ValueRange operands, DictionaryAttr attributes,
                                            OpaqueProperties properties, RegionRange regions,
                                            SmallVectorImpl<Type> &types) {
  Adaptor op(operands, attributes, properties, regions);
  RankedTensorType x = typeOf(op.getX());
  Shape from = shapeOf(x), to;
  llvm::SmallBitVector seen(from.size());
  for (int64_t dim : op.getPermutation()) {
    if (dim < 0 || dim >= x.getRank() || seen[dim])
      break;
    seen.set(dim);
    to.push_back(from[dim]);
  }
  if (to.size() != from.size() || op.getPermutation().size() != from.size())
    return emitOptionalError(loc, "transpose_c1: permutation must hold each dimension of ",
                             describe(x), " once");
  return appendType(loc, to, x.getElementType(), types);
}

OpFoldResult TransposeOp::fold(FoldAdaptor) {
  auto isIdentity = [](ArrayRef<int64_t> permutation) {
    return llvm::equal(permutation, llvm::seq<int64_t>(0, permutation.size()));
  };
  if (isIdentity(getPermutation()) && getX().getType() == getType())
    return getX();
  auto producer = getX().getDefiningOp<TransposeOp>();
  if (!producer)
    return {};
  SmallVector<int64_t> composed;
  for (int64_t dim : getPermutation())
    composed.push_back(producer.getPermutation()[dim]);
  if (isIdentity(composed) && producer.getX().getType() == getType())
    return producer.getX();
  getXMutable().assign(producer.getX());
  setPermutation(composed);
  return getResult();
}

//===----------------------------------------------------------------------===//
// nn.slice
//===----------------------------------------------------------------------===//

LogicalResult SliceOp::inferReturnTypes(MLIRContext *context, std::optional<Location> loc,
                                        ValueRange operands, DictionaryAttr attributes,
                                        OpaqueProperties properties, RegionRange regions,
                                        SmallVectorImpl<Type> &types) {
  Adaptor op(operands, attributes, properties, regions);
  RankedTensorType x = typeOf(op.getX());
  size_t rank = x.getRank();
  ArrayRef<int64_t> starts = op.getStarts(), sizes = op.getSizes(), steps = op.getSteps();
  if (starts.size() != rank || sizes.size() != rank || steps.size() != rank)
    return emitOptionalError(
        loc, "slice_c1: starts, sizes and steps need one entry per dimension of ", describe(x),
        ", found ", starts.size(), ", ", sizes.size(), " and ", steps.size());
  Shape shape;
  for (size_t dim = 0; dim < rank; ++dim) {
    int64_t start = starts[dim], size = sizes[dim], step = steps[dim];
    if (step == 0 || size < -1)
      return emitOptionalError(
          loc, "slice_c2: dimension ", dim,
          " needs a step other than 0 and a size of 0 or more, or -1, found step ", step,
          " and size ", size);
    if (size == -1) {
      if (!(start == 0 && step == 1) && !(start == -1 && step == -1))
        return emitOptionalError(
            loc, "slice_c3: size -1 of dimension ", dim,
            " goes with start 0 and step 1, or start -1 and step -1, found start ", start,
            " and step ", step);
      shape.push_back(dimOf(x, dim));
      continue;
    }
    shape.push_back(constantDim(context, size));
    std::optional<int64_t> extent = constantOf(dimOf(x, dim));
    if (!extent || size == 0)
      continue;
    CheckedSize first = start < 0 ? CheckedSize(start) + *extent : CheckedSize(start);
    CheckedSize last = first + (CheckedSize(size) - 1) * step;
    auto isInside = [&](CheckedSize index) {
      return index.valid() && *index.get() >= 0 && *index.get() < *extent;
    };
    if (!isInside(first) || !isInside(last))
      return emitOptionalError(loc, "slice_c4: ", size, " elements from ", start, " in steps of ",
                               step, " do not lie within dimension ", dim, " of ", describe(x));
  }
  return appendType(loc, shape, x.getElementType(), types);
}

OpFoldResult SliceOp::fold(FoldAdaptor) {
  RankedTensorType x = typeOf(getX());
  for (int64_t dim = 0; dim < x.getRank(); ++dim) {
    bool isWhole = getSizes()[dim] == -1 || getSizes()[dim] == x.getDimSize(dim);
    if (!isWhole || getStarts()[dim] != 0 || getSteps()[dim] != 1)
      return {};
  }
  return x == getType() ? OpFoldResult(getX()) : OpFoldResult();
}

//===----------------------------------------------------------------------===//
// nn.concat and nn.pad
//===----------------------------------------------------------------------===//

LogicalResult ConcatOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc,
                                         ValueRange operands, DictionaryAttr attributes,
                                         OpaqueProperties properties, RegionRange regions,
                                         SmallVectorImpl<Type> &types) {
  Adaptor op(operands, attributes, properties, regions);
  if (operands.empty())
    return emitOptionalError(loc, "concat_c1: at least one operand is needed");
  RankedTensorType first = typeOf(operands[0]);
  Shape shape = shapeOf(first);
  int64_t axis = op.getAxis();
  if (axis < 0 || axis >= first.getRank())
    return emitOptionalError(loc, "concat_c2: axis ", axis, " is not a dimension of ",
                             describe(first));
  for (Value operand : operands.drop_front()) {
    RankedTensorType type = typeOf(operand);
    if (type.getElementType() != first.getElementType() || type.getRank() != first.getRank())
      return emitOptionalError(loc,
                               "concat_c1: operands must have one element type and rank, found ",
                               describe(first), " and ", describe(type));
    for (int64_t dim = 0; dim < first.getRank(); ++dim) {
      Dim extent = dimOf(type, dim);
      if (dim != axis) {
        if (extent != shape[dim])
          return emitOptionalError(loc, "concat_c3: dimensions other than ", axis,
                                   " must be equal, found ", describe(first), " and ",
                                   describe(type));
        continue;
      }
      std::optional<int64_t> a = constantOf(shape[dim]), b = constantOf(extent);
      if (a && b && !(CheckedSize(*a) + *b).valid())
        shape[dim] = {};
      else if (shape[dim])
        shape[dim] = shape[dim] + extent;
    }
  }
  return appendType(loc, shape, first.getElementType(), types);
}

OpFoldResult ConcatOp::fold(FoldAdaptor) {
  if (getInputs().size() == 1 && getInputs()[0].getType() == getType())
    return getInputs()[0];
  return {};
}

LogicalResult PadOp::inferReturnTypes(MLIRContext *context, std::optional<Location> loc,
                                      ValueRange operands, DictionaryAttr attributes,
                                      OpaqueProperties properties, RegionRange regions,
                                      SmallVectorImpl<Type> &types) {
  Adaptor op(operands, attributes, properties, regions);
  RankedTensorType x = typeOf(op.getX());
  size_t rank = x.getRank();
  auto isNegative = [](int64_t value) { return value < 0; };
  if (op.getBegin().size() != rank || op.getEnd().size() != rank ||
      llvm::any_of(op.getBegin(), isNegative) || llvm::any_of(op.getEnd(), isNegative))
    return emitOptionalError(loc, "pad_c1: begin and end need one entry per dimension of ",
                             describe(x), ", none negative");
  Shape shape;
  for (size_t dim = 0; dim < rank; ++dim) {
    int64_t begin = op.getBegin()[dim], end = op.getEnd()[dim], widest = std::max(begin, end);
    // The least extent that can fill the border.
    int64_t needed = op.getMode() == PadMode::Reflect    ? widest + (widest > 0)
                     : op.getMode() == PadMode::Circular ? widest
                                                         : (widest > 0);
    std::optional<int64_t> extent = constantOf(dimOf(x, dim));
    if (extent && *extent < needed)
      return emitOptionalError(loc, "pad_c2: dimension ", dim, " of ", describe(x),
                               " is too short for a ", stringifyPadMode(op.getMode()),
                               " border of ", begin, " and ", end);
    CheckedSize border = CheckedSize(begin) + end;
    if (extent)
      border = border + *extent;
    if (!border.valid())
      shape.push_back({});
    else
      shape.push_back(extent ? constantDim(context, *border.get()) : dimOf(x, dim) + *border.get());
  }
  return appendType(loc, shape, x.getElementType(), types);
}

OpFoldResult PadOp::fold(FoldAdaptor) {
  // An unpadded tensor has the operand's type, and only that.
  auto isZero = [](int64_t value) { return value == 0; };
  if (llvm::all_of(getBegin(), isZero) && llvm::all_of(getEnd(), isZero) &&
      getX().getType() == getType())
    return getX();
  return {};
}

//===----------------------------------------------------------------------===//
// nn.gather and nn.resize
//===----------------------------------------------------------------------===//

LogicalResult GatherOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc,
                                         ValueRange operands, DictionaryAttr attributes,
                                         OpaqueProperties properties, RegionRange regions,
                                         SmallVectorImpl<Type> &types) {
  Adaptor op(operands, attributes, properties, regions);
  RankedTensorType x = typeOf(op.getX());
  int64_t axis = op.getAxis();
  if (axis < 0 || axis >= x.getRank())
    return emitOptionalError(loc, "gather_c1: axis ", axis, " is not a dimension of ", describe(x));
  Shape from = shapeOf(x), indices = shapeOf(op.getIndices().getType());
  Shape shape(from.begin(), from.begin() + axis);
  shape.append(indices);
  shape.append(from.begin() + axis + 1, from.end());
  return appendType(loc, shape, x.getElementType(), types);
}

LogicalResult ResizeOp::verify() {
  RankedTensorType from = typeOf(getX()), to = typeOf(getResult());
  if (from.getRank() < 3 || from.getRank() > 5 || to.getRank() != from.getRank() ||
      from.getElementType() != to.getElementType() || dimOf(from, 0) != dimOf(to, 0) ||
      dimOf(from, 1) != dimOf(to, 1))
    return emitOpError("resize_c1: x must have rank 3, 4 or 5, and the result the same rank, "
                       "element type, N and C, found ")
           << describe(from) << " and " << describe(to);
  if (getMode() == ResizeMode::Linear && !isa<FloatType>(from.getElementType()))
    return emitOpError("resize_c2: linear interpolation needs a floating-point tensor, found ")
           << describe(from);
  for (RankedTensorType type : {from, to})
    if (llvm::is_contained(type.getShape().drop_front(2), 0))
      return emitOpError("resize_c3: no spatial extent may be zero, found ") << describe(type);
  return success();
}
