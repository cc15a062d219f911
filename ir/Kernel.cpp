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
                   function_ref<Value(Value)> read, function_ref<Value(Value)> widen) const {
  llvm::DenseMap<Value, Value> values;
  values[root] = rootValue;
  for (Value value : external)
    values[value] = read(value);
  Value last = rootValue;
  for (Operation *op : ops) {
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(widen ? widen(values.lookup(operand)) : values.lookup(operand));
    last = cast<ElementwiseOpInterface>(op).buildScalar(builder, loc, operands);
    values[op->getResult(0)] = last;
  }
  return last;
}

bool nn::isAnchor(Operation *op) {
  return !isa<ElementwiseOpInterface, MovementOpInterface, ConstantOp, InsertOp, YieldOp>(op);
}

Operation *nn::anchorOf(KernelOp kernel) {
  Operation *movement = nullptr, *last = nullptr;
  for (Operation &op : kernel.getBlock()) {
    if (isAnchor(&op))
      return &op;
    if (isa<MovementOpInterface>(op) && !movement)
      movement = &op;
    if (isa<ElementwiseOpInterface>(op))
      last = &op;
  }
  return movement ? movement : last;
}

/// The ops from the yielded value back to the stored one.
static SmallVector<Operation *> placementOf(KernelOp kernel, unsigned index) {
  Operation *anchor = anchorOf(kernel);
  bool hasAnchor = anchor && isAnchor(anchor);
  SmallVector<Operation *> ops;
  Operation *op = kernel.getTerminator()->getOperand(index).getDefiningOp();
  while (op && (isa<InsertOp>(op) || (hasAnchor && isStridedMovement(op)))) {
    ops.push_back(op);
    op = op->getOperand(0).getDefiningOp();
  }
  return ops;
}

Value nn::storedValue(KernelOp kernel, unsigned index) {
  SmallVector<Operation *> ops = placementOf(kernel, index);
  return ops.empty() ? kernel.getTerminator()->getOperand(index) : ops.back()->getOperand(0);
}

/// The view of the op's result becomes that of its operand.
static bool followBack(Operation *op, StridedView &view) {
  if (auto insert = dyn_cast<InsertOp>(op)) {
    view.offset = view.offset + view.strides[insert.getAxis()] * insert.getOffset();
    return true;
  }
  if (auto transpose = dyn_cast<TransposeOp>(op)) {
    SmallVector<Dim> strides(view.strides.size());
    for (auto [dim, from] : llvm::enumerate(transpose.getPermutation()))
      strides[from] = view.strides[dim];
    view.strides = strides;
    return true;
  }
  if (auto reshape = dyn_cast<ReshapeOp>(op)) {
    auto strides = reshapeStrides(view.strides, shapeOf(reshape.getType()), shapeOf(reshape.getX().getType()),
                                  op->getContext());
    if (strides)
      view.strides = *strides;
    return strides.has_value();
  }
  return isa<ReorderOp>(op);
}

static StridedView wholeOf(RankedTensorType type) {
  return {{}, constantDim(type.getContext(), 0), isPacked(type) ? SmallVector<Dim>() : stridesOf(type)};
}

/// The view of what the kernel yields becomes that of what it stores.
static StridedView storedWithin(KernelOp kernel, unsigned index, StridedView view) {
  for (Operation *op : placementOf(kernel, index)) {
    [[maybe_unused]] bool isFollowed = followBack(op, view);
    assert(isFollowed && "a kernel ends with a movement that strides cannot say");
  }
  return view;
}

StridedView nn::storedView(KernelOp kernel, unsigned index) {
  return storedWithin(kernel, index, wholeOf(cast<RankedTensorType>(kernel.getResult(index).getType())));
}

StridedView nn::storedViewWithin(KernelOp kernel, RankedTensorType whole, int64_t axis, int64_t offset) {
  StridedView view = wholeOf(whole);
  view.offset = view.strides[axis] * offset;
  return storedWithin(kernel, 0, view);
}

std::optional<StridedView> nn::storedViewBehind(Operation *movement) {
  auto type = cast<RankedTensorType>(movement->getResult(0).getType());
  if (!isStridedMovement(movement) || isPacked(type))
    return std::nullopt;
  StridedView view = wholeOf(type);
  return followBack(movement, view) ? std::optional(view) : std::nullopt;
}

/// The elements that are side by side in a tensor of `type` are so in `view`.
static bool hasUnitStride(RankedTensorType type, const StridedView &view) {
  SmallVector<int64_t> order = orderOf(type);
  for (int64_t dim : llvm::reverse(order))
    if (type.getDimSize(dim) != 1)
      return constantOf(view.strides[dim]) == 1;
  return true;
}

/// The dimensions [first, end) of `type`, from the outermost to the innermost in memory, are in `view` one run of equally distant
/// elements.
static bool isOneRun(RankedTensorType type, const StridedView &view, unsigned first, unsigned end) {
  Shape shape = shapeOf(type), extents;
  SmallVector<Dim> strides;
  SmallVector<int64_t> order = orderOf(type);
  for (int64_t dim : ArrayRef<int64_t>(order).slice(first, end - first)) {
    extents.push_back(shape[dim]);
    strides.push_back(view.strides[dim]);
  }
  Dim all = product(extents, type.getContext());
  return reshapeStrides(strides, extents, {all}, type.getContext()).has_value();
}

bool nn::readsThroughStrides(OpOperand &operand, const StridedView &view) {
  Operation *op = operand.getOwner();
  unsigned number = operand.getOperandNumber();
  auto type = cast<RankedTensorType>(operand.get().getType());
  // Every element is addressed by itself.
  if (isa<AttentionOp>(op))
    return number < 3;
  if (auto matmul = dyn_cast<MatmulOp>(op))
    return (number == 1 && !matmul.getTransposeLhs()) || (number < 2 && hasUnitStride(type, view));
  if (auto conv = dyn_cast<ConvOp>(op)) {
    bool isChannelsLast = orderOf(type) == ArrayRef<int64_t>(channelsLastOrder(type.getRank()));
    return number == 0 && !isDepthwise(conv) && isChannelsLast && constantOf(view.strides[1]) == 1 &&
           isOneRun(type, view, 1, type.getRank() - 1);
  }
  // Before or behind an anchor whose kernel addresses every element by itself.
  if (auto kernel = dyn_cast<KernelOp>(op->getParentOp()); kernel && isa<ElementwiseOpInterface>(op))
    return !isa<ConvOp, MatmulOp, ConvTransposeOp, RecurrenceOp>(anchorOf(kernel));
  return number == 0 && hasUnitStride(type, view) &&
         isa<LayerNormOp, RmsNormOp, GroupNormOp, InstanceNormOp, SoftmaxOp, LogSoftmaxOp, ReductionOpInterface, MaxPoolOp,
             AvgPoolOp, AdaptiveMaxPoolOp, AdaptiveAvgPoolOp>(op);
}

bool nn::writesThroughStrides(Operation *anchor, RankedTensorType type, const StridedView &view) {
  // Tiles of rows at equal distances: those of one matrix, or, with one packed weight for the whole batch, all.
  if (auto matmul = dyn_cast<MatmulOp>(anchor))
    return hasUnitStride(type, view) && (!isPacked(cast<RankedTensorType>(matmul.getRhs().getType())) ||
                                         isOneRun(type, view, 0, type.getRank() - 1));
  if (auto conv = dyn_cast<ConvOp>(anchor))
    return !isDepthwise(conv) && constantOf(view.strides[1]) == 1 && isOneRun(type, view, 0, type.getRank() - 1);
  return !isa<ConvTransposeOp, RecurrenceOp, RnnOp, LstmOp, GruOp, RecurrenceGradientOp, LinearScanOp, GatherGradientOp>(anchor);
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

static bool isMultiplied(Type element, bool halves) {
  return element.isF32() || element.isF64() || (halves && (element.isF16() || element.isBF16()));
}

bool nn::multipliesTransposed(MatmulOp matmul, bool halves) {
  auto lhs = cast<RankedTensorType>(matmul.getLhs().getType()), rhs = cast<RankedTensorType>(matmul.getRhs().getType());
  auto result = cast<RankedTensorType>(matmul.getResult().getType());
  int64_t rank = result.getRank();
  auto batchOf = [&](RankedTensorType type) { return Shape(ArrayRef<Dim>(shapeOf(type)).drop_back(2)); };
  Type element = lhs.getElementType();
  return matmul.getTransposeLhs() && !matmul.getTransposeRhs() && !matmul.getBias() && isMultiplied(element, halves) &&
         lhs.getRank() == rank && rhs.getRank() == rank && batchOf(lhs) == batchOf(result) && batchOf(rhs) == batchOf(result) &&
         !result.isDynamicDim(rank - 2) && !result.isDynamicDim(rank - 1);
}

bool nn::multipliesTransposed(ConvWeightGradientOp gradient, bool halves) {
  return isMultiplied(cast<RankedTensorType>(gradient.getResult().getType()).getElementType(), halves);
}

FailureOr<AnchoredBody> nn::readAnchoredBody(KernelOp kernel) {
  auto yield = cast<YieldOp>(kernel.getTerminator());
  if (yield.getNumOperands() != 1)
    return failure();
  AnchoredBody body;
  body.anchor = anchorOf(kernel);
  if (!body.anchor)
    return failure();
  body.result = storedValue(kernel, 0);
  for (Operation &op : kernel.getBlock().without_terminator()) {
    if (&op == body.anchor || isa<ElementwiseOpInterface, ConstantOp, InsertOp>(op) || isStridedMovement(&op))
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
