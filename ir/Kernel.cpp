// How the body of an nn.kernel is read; see Kernel.h.

#include "ir/Kernel.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace nncc;
using namespace nncc::nn;

std::optional<Access> nn::accessOf(RankedTensorType operand, RankedTensorType result,
                                   unsigned channelDim) {
  Shape shape = shapeOf(operand), full = shapeOf(result);
  if (shape == full)
    return Access::Full;
  if (shape.size() > full.size())
    return std::nullopt;
  size_t lead = full.size() - shape.size();
  bool isScalar = true, isPerChannel = true;
  for (auto [index, dim] : llvm::enumerate(shape)) {
    bool isOne = constantOf(dim) == 1;
    isScalar &= isOne;
    isPerChannel &= index + lead == channelDim ? dim == full[channelDim] : isOne;
  }
  if (isScalar)
    return Access::Scalar;
  if (isPerChannel && lead <= channelDim)
    return Access::PerChannel;
  return std::nullopt;
}

unsigned nn::channelDimOf(Operation *anchor) {
  if (isa<MatmulOp>(anchor))
    return cast<RankedTensorType>(anchor->getResult(0).getType()).getRank() - 1;
  return 1;
}

std::optional<Attribute> nn::splatConstant(Value value) {
  auto constant = value.getDefiningOp<ConstantOp>();
  if (!constant)
    return std::nullopt;
  auto elements = dyn_cast<DenseElementsAttr>(constant.getValue());
  if (!elements || !elements.isSplat())
    return std::nullopt;
  return elements.getSplatValue<Attribute>();
}

Chain::Chain(Value root, Value result) : root(root), result(result) {
  llvm::SetVector<Value> reads;
  if (result == root)
    return;
  // Program order within the block is a topological order.
  llvm::DenseSet<Operation *> needed;
  SmallVector<Value> worklist = {result};
  while (!worklist.empty()) {
    Value value = worklist.pop_back_val();
    Operation *op = value == root ? nullptr : value.getDefiningOp();
    if (!op || !isa<ElementwiseOpInterface>(op)) {
      if (value != root)
        reads.insert(value);
      continue;
    }
    if (needed.insert(op).second)
      worklist.append(op->operand_begin(), op->operand_end());
  }
  Block *block = result.getDefiningOp()->getBlock();
  for (Operation &op : *block)
    if (needed.contains(&op))
      ops.push_back(&op);
  // Stable order of reads: by first use.
  llvm::SetVector<Value> ordered;
  for (Operation *op : ops)
    for (Value operand : op->getOperands())
      if (reads.contains(operand))
        ordered.insert(operand);
  external.assign(ordered.begin(), ordered.end());
}

Value Chain::apply(OpBuilder &builder, Location loc, Value rootValue,
                   function_ref<Value(Value)> read) const {
  llvm::DenseMap<Value, Value> values;
  values[root] = rootValue;
  for (Value value : external)
    values[value] = read(value);
  Value last = rootValue;
  for (Operation *op : ops) {
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(values.lookup(operand));
    last = cast<ElementwiseOpInterface>(op).buildScalar(builder, loc, operands);
    values[op->getResult(0)] = last;
  }
  return last;
}

Operation *nn::anchorOf(KernelOp kernel) {
  Operation *last = nullptr;
  for (Operation &op : kernel.getBlock().without_terminator()) {
    if (isa<ConstantOp>(op))
      continue;
    last = &op;
    if (!isa<ElementwiseOpInterface>(op))
      return &op;
  }
  return last;
}

FailureOr<AnchoredBody> nn::readAnchoredBody(KernelOp kernel) {
  auto yield = cast<YieldOp>(kernel.getTerminator());
  if (yield.getNumOperands() != 1)
    return failure();
  AnchoredBody body;
  body.anchor = anchorOf(kernel);
  if (!body.anchor)
    return failure();
  body.result = yield.getOperand(0);
  for (Operation &op : kernel.getBlock().without_terminator()) {
    if (&op == body.anchor || isa<ElementwiseOpInterface, ConstantOp>(op))
      continue;
    if (!isa<MaxPoolOp, AvgPoolOp>(op) || body.pool)
      return failure();
    body.pool = &op;
  }
  Value anchorResult = body.anchor->getResult(0);
  if (body.pool) {
    body.epilogue = Chain(anchorResult, body.pool->getOperand(0));
    body.afterPool = Chain(body.pool->getResult(0), body.result);
  } else {
    body.epilogue = Chain(anchorResult, body.result);
  }
  return body;
}
