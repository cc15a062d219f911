// Which ops only rename memory; see View.h.

#include "ir/View.h"

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

bool nn::isView(Operation *op) {
  if (op->getNumOperands() != 1 || op->getNumResults() != 1)
    return false;
  auto from = cast<RankedTensorType>(op->getOperand(0).getType());
  auto to = cast<RankedTensorType>(op->getResult(0).getType());
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case<ReorderOp>([&](auto) { return sameMemory(from, to); })
      .Case<ReshapeOp>([&](auto) { return isRowMajorInMemory(from) && isRowMajorInMemory(to); })
      .Case<TransposeOp>([&](TransposeOp transpose) { return movesNothing(transpose); })
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
