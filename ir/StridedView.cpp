// Offsets and strides through movements; see StridedView.h.

#include "ir/StridedView.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace nncc;
using namespace nncc::nn;

static RankedTensorType tensorTypeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

/// a == b for every value of the named dims.
static bool areEqual(Dim a, Dim b) {
  if (a == b)
    return true;
  Dim ratio = quotient(a, b, a.getContext());
  return ratio && constantOf(ratio) == 1;
}

SmallVector<Dim> nn::stridesOf(RankedTensorType type) {
  Shape shape = shapeOf(type);
  SmallVector<Dim> strides(shape.size());
  Dim stride = constantDim(type.getContext(), 1);
  SmallVector<int64_t> order = orderOf(type);
  for (int64_t dim : llvm::reverse(order)) {
    strides[dim] = stride;
    stride = stride * shape[dim];
  }
  return strides;
}

SmallVector<ReshapeGroup> nn::reshapeGroups(ArrayRef<Dim> from, ArrayRef<Dim> to, MLIRContext *context) {
  SmallVector<ReshapeGroup> groups;
  unsigned fromBegin = 0, toBegin = 0;
  while (fromBegin < from.size() || toBegin < to.size()) {
    ReshapeGroup best = {fromBegin, static_cast<unsigned>(from.size()), toBegin,
                         static_cast<unsigned>(to.size())};
    unsigned bestLength = UINT_MAX;
    for (unsigned fromEnd = fromBegin; fromEnd <= from.size(); ++fromEnd)
      for (unsigned toEnd = toBegin; toEnd <= to.size(); ++toEnd) {
        unsigned length = fromEnd - fromBegin + toEnd - toBegin;
        if (length == 0 || length >= bestLength)
          continue;
        Dim ratio = quotient(from.slice(fromBegin, fromEnd - fromBegin), to.slice(toBegin, toEnd - toBegin), context);
        if (ratio && constantOf(ratio) == 1) {
          best = {fromBegin, fromEnd, toBegin, toEnd};
          bestLength = length;
        }
      }
    groups.push_back(best);
    fromBegin = best.fromEnd;
    toBegin = best.toEnd;
  }
  return groups;
}

std::optional<SmallVector<Dim>> nn::reshapeStrides(ArrayRef<Dim> strides, ArrayRef<Dim> from, ArrayRef<Dim> to,
                                                   MLIRContext *context) {
  SmallVector<Dim> result(to.size());
  for (const ReshapeGroup &group : reshapeGroups(from, to, context)) {
    // The run's elements must be equally far apart. Dimensions of extent 1 move nothing.
    Dim inner;
    Dim next; ///< stride at which the next outer dimension continues the run
    for (unsigned dim = group.fromEnd; dim-- > group.fromBegin;) {
      if (constantOf(from[dim]) == 1)
        continue;
      if (inner && !areEqual(strides[dim], next))
        return std::nullopt;
      if (!inner)
        inner = strides[dim];
      next = strides[dim] * from[dim];
    }
    Dim stride = inner ? inner : constantDim(context, 1);
    for (unsigned dim = group.toEnd; dim-- > group.toBegin;) {
      result[dim] = stride;
      stride = stride * to[dim];
    }
  }
  return result;
}

bool nn::isStridedMovement(Operation *op) { return isa_and_present<SliceOp, TransposeOp, ReshapeOp, ReorderOp>(op); }

/// `view` of the operand becomes the view of the result.
static bool followSlice(SliceOp slice, StridedView &view) {
  RankedTensorType type = tensorTypeOf(slice.getX());
  for (auto [dim, stride] : llvm::enumerate(view.strides)) {
    int64_t start = slice.getStarts()[dim], step = slice.getSteps()[dim];
    Dim extent = dimOf(type, dim);
    // What is taken from a dynamic dimension may be clamped.
    if (!constantOf(extent) && slice.getSizes()[dim] != -1)
      return false;
    view.offset = view.offset + (start < 0 ? extent + start : constantDim(extent.getContext(), start)) * stride;
    stride = stride * step;
  }
  return true;
}

static bool follow(Operation *op, StridedView &view) {
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case<SliceOp>([&](SliceOp slice) { return followSlice(slice, view); })
      .Case<TransposeOp>([&](TransposeOp transpose) {
        SmallVector<Dim> strides;
        for (int64_t dim : transpose.getPermutation())
          strides.push_back(view.strides[dim]);
        view.strides = strides;
        return true;
      })
      .Case<ReshapeOp>([&](ReshapeOp reshape) {
        auto strides = reshapeStrides(view.strides, shapeOf(reshape.getX().getType()), shapeOf(reshape.getType()),
                                      op->getContext());
        if (strides)
          view.strides = *strides;
        return strides.has_value();
      })
      .Case<ReorderOp>([&](ReorderOp reorder) { return !isPacked(tensorTypeOf(reorder.getResult())); })
      .Default(false);
}

std::optional<StridedView> nn::stridedViewOf(Value tensor, function_ref<bool(Operation *)> seesThrough) {
  SmallVector<Operation *> chain;
  while (isStridedMovement(tensor.getDefiningOp()) && seesThrough(tensor.getDefiningOp())) {
    chain.push_back(tensor.getDefiningOp());
    tensor = chain.back()->getOperand(0);
  }
  RankedTensorType type = tensorTypeOf(tensor);
  if (isPacked(type))
    return std::nullopt;
  StridedView view = {tensor, constantDim(type.getContext(), 0), stridesOf(type)};
  for (Operation *op : llvm::reverse(chain))
    if (!follow(op, view))
      return std::nullopt;
  return view;
}

std::optional<StridedView> nn::stridedViewOf(Value tensor) {
  return stridedViewOf(tensor, [](Operation *) { return true; });
}
