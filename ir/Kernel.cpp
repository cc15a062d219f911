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

PackLoopsAttr nn::panelsOf(ConvOp conv, int64_t columns) {
  ArrayRef<int64_t> shape = conv.weightType().getShape();
  int64_t groups = conv.getGroups();
  int64_t groupOutputs = shape[0] / groups;
  SmallVector<int64_t> loops = {0, groups, groupOutputs};
  loops.append({0, (groupOutputs + columns - 1) / columns, columns});
  for (size_t dim = 2; dim < shape.size(); ++dim)
    loops.append({static_cast<int64_t>(dim), shape[dim], 1});
  loops.append({1, shape[1], 1});
  loops.append({0, columns, 1});
  return PackLoopsAttr::get(conv.getContext(), loops);
}

PackLoopsAttr nn::panelsOf(MatmulOp matmul, int64_t columns) {
  auto type = cast<RankedTensorType>(matmul.getRhs().getType());
  int64_t rank = type.getRank();
  int64_t k = matmul.getTransposeRhs() ? rank - 1 : rank - 2, n = 2 * rank - 3 - k;
  SmallVector<int64_t> loops;
  for (int64_t dim = 0; dim < rank - 2; ++dim)
    loops.append({dim, type.getDimSize(dim), 1});
  loops.append({n, (type.getDimSize(n) + columns - 1) / columns, columns});
  loops.append({k, type.getDimSize(k), 1});
  loops.append({n, columns, 1});
  return PackLoopsAttr::get(matmul.getContext(), loops);
}

bool nn::isDepthwise(ConvOp conv) {
  ArrayRef<int64_t> shape = conv.weightType().getShape();
  int64_t groups = conv.getGroups();
  return groups > 1 && shape[0] == groups && shape[1] == 1;
}

PackLoopsAttr nn::depthwiseTaps(ConvOp conv, int64_t lanes) {
  ArrayRef<int64_t> shape = conv.weightType().getShape();
  SmallVector<int64_t> loops;
  for (size_t dim = 2; dim < shape.size(); ++dim)
    loops.append({static_cast<int64_t>(dim), shape[dim], 1});
  loops.append({0, (shape[0] + lanes - 1) / lanes * lanes, 1});
  return PackLoopsAttr::get(conv.getContext(), loops);
}

int64_t nn::panelColumns(int64_t outputs, int64_t columns, int64_t lanes) {
  auto ceilDiv = [](int64_t a, int64_t b) { return (a + b - 1) / b; };
  int64_t panels = std::max<int64_t>(ceilDiv(outputs, columns), 1);
  return std::max<int64_t>(ceilDiv(ceilDiv(outputs, panels), lanes), 1) * lanes;
}

bool nn::readsRowMajor(ConvOp conv) {
  int64_t channels = conv.inputType().getDimSize(1);
  return conv.getGroups() == 1 && conv.spatialRank() <= 2 && !ShapedType::isDynamic(channels) &&
         channels < kGatheredInputChannels;
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
