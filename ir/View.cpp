// Which ops only rename memory; see View.h.

#include "ir/View.h"

#include "ir/StridedView.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace nncc;
using namespace nncc::nn;

/// Logical dimensions from the outermost to the innermost in memory, without those of extent 1.
static SmallVector<int64_t> movingOrder(RankedTensorType type) {
  SmallVector<int64_t> order = orderOf(type);
  llvm::erase_if(order, [&](int64_t dim) { return type.getDimSize(dim) == 1; });
  return order;
}

bool nn::sameMemory(RankedTensorType a, RankedTensorType b) {
  if (isPacked(a) || isPacked(b))
    return a == b;
  return movingOrder(a) == movingOrder(b);
}

bool nn::isRowMajorInMemory(RankedTensorType type) {
  return !isPacked(type) && llvm::is_sorted(movingOrder(type));
}

/// The permutation of the logical dimensions and the two memory orders cancel.
static bool movesNothing(TransposeOp transpose) {
  auto from = cast<RankedTensorType>(transpose.getX().getType());
  auto to = cast<RankedTensorType>(transpose.getResult().getType());
  if (isPacked(from) || isPacked(to))
    return false;
  SmallVector<int64_t> inOperand = movingOrder(to);
  for (int64_t &dim : inOperand)
    dim = transpose.getPermutation()[dim];
  return inOperand == movingOrder(from);
}

/// The slice alone, whatever its operand is.
static std::optional<StridedView> placeOf(SliceOp slice) {
  return stridedViewOf(slice.getResult(), [&](Operation *op) { return op == slice; });
}

/// The elements that are taken lie side by side, in the order in which the result has them.
static bool isContiguous(SliceOp slice) {
  std::optional<StridedView> view = placeOf(slice);
  auto type = cast<RankedTensorType>(slice.getResult().getType());
  if (!view || isPacked(type))
    return false;
  SmallVector<Dim> strides = stridesOf(type);
  return llvm::all_of(llvm::seq<int64_t>(0, type.getRank()), [&](int64_t dim) {
    return type.getDimSize(dim) == 1 || view->strides[dim] == strides[dim];
  });
}

bool nn::isView(Operation *op) {
  if (op->getNumOperands() != 1 || op->getNumResults() != 1)
    return false;
  auto from = cast<RankedTensorType>(op->getOperand(0).getType());
  auto to = cast<RankedTensorType>(op->getResult(0).getType());
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case<ReorderOp>([&](auto) { return sameMemory(from, to); })
      .Case<ReshapeOp>([&](auto) { return isRowMajorInMemory(from) && isRowMajorInMemory(to); })
      .Case<TransposeOp>([&](TransposeOp transpose) { return movesNothing(transpose); })
      .Case<SliceOp>([&](SliceOp slice) { return isContiguous(slice); })
      .Default(false);
}

Value nn::viewedValue(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isView(op))
      break;
    value = op->getOperand(0);
  }
  return value;
}

Value nn::wholeViewedValue(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isView(op) || isa<SliceOp>(op))
      break;
    value = op->getOperand(0);
  }
  return value;
}

Dim nn::viewOffset(Value value) {
  Dim offset = constantDim(value.getContext(), 0);
  while (Operation *op = value.getDefiningOp()) {
    if (!isView(op))
      break;
    if (auto slice = dyn_cast<SliceOp>(op))
      offset = offset + placeOf(slice)->offset;
    value = op->getOperand(0);
  }
  return offset;
}
