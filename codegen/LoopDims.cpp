// Loops from layouts; see LoopDims.h.

#include "codegen/LoopDims.h"

using namespace mlir;
using namespace nncc;
using namespace nncc::codegen;

bool codegen::collectLeaves(Value value, Value anchor, SmallVectorImpl<RankedTensorType> &leaves) {
  llvm::SmallDenseSet<Value> seen;
  SmallVector<Value> worklist = {value};
  while (!worklist.empty()) {
    Value next = worklist.pop_back_val();
    if (next == anchor || !seen.insert(next).second)
      continue;
    Operation *op = next.getDefiningOp();
    if (isa_and_present<nn::ElementwiseOpInterface, nn::ReorderOp>(op))
      worklist.append(op->operand_begin(), op->operand_end());
    else if (!op || isa<nn::ConstantOp>(op))
      leaves.push_back(cast<RankedTensorType>(next.getType()));
    else
      return false;
  }
  return true;
}

bool codegen::canFlatten(ArrayRef<RankedTensorType> leaves, RankedTensorType space, int64_t outer,
                         int64_t inner) {
  return llvm::all_of(leaves, [&](RankedTensorType leaf) {
    if (nn::isPacked(leaf))
      return false;
    int64_t lead = space.getRank() - leaf.getRank();
    nn::Shape shape = nn::shapeOf(leaf);
    auto isMissing = [&](int64_t dim) { return dim < lead || nn::constantOf(shape[dim - lead]) == 1; };
    if (isMissing(outer) && isMissing(inner))
      return true;
    if (isMissing(outer) || isMissing(inner))
      return false;
    // Dimensions of extent 1 may stand between the two.
    SmallVector<int64_t> order = nn::orderOf(leaf);
    auto place = llvm::find(order, outer - lead) + 1;
    while (place != order.end() && *place != inner - lead && nn::constantOf(shape[*place]) == 1)
      ++place;
    return place != order.end() && *place == inner - lead;
  });
}

SmallVector<LoopDim> codegen::loopsOver(RankedTensorType type,
                                        function_ref<bool(int64_t, int64_t)> mayJoin) {
  nn::Shape shape = nn::shapeOf(type);
  SmallVector<LoopDim> loops;
  for (int64_t dim : nn::orderOf(type)) {
    if (nn::constantOf(shape[dim]) == 1)
      continue;
    nn::Dim extent = shape[dim];
    if (!loops.empty() && mayJoin(loops.back().dim, dim)) {
      // Strides are those of the inner dimension.
      extent = nn::product({loops.back().extent, extent}, type.getContext());
      loops.pop_back();
    }
    loops.push_back({extent, static_cast<unsigned>(dim)});
  }
  return loops;
}

bool codegen::movesLanes(Operation *op, int laneDim) {
  auto movement = dyn_cast<nn::MovementOpInterface>(op);
  // Numbers that come from the index alone differ from lane to lane.
  if (!movement || op->getNumOperands() == 0)
    return false;
  return llvm::all_of(llvm::seq<unsigned>(0, op->getNumOperands()), [&](unsigned operand) {
    return movement.laneSource(operand, laneDim).kind != nn::LaneSource::Kind::Scattered;
  });
}

int codegen::operandLane(Operation *op, unsigned operand, int laneDim) {
  if (laneDim < 0)
    return -1;
  nn::LaneSource source = cast<nn::MovementOpInterface>(op).laneSource(operand, laneDim);
  return source.kind == nn::LaneSource::Kind::Along ? static_cast<int>(source.dim) : -1;
}

bool codegen::isInnermost(RankedTensorType type, int dim) {
  nn::Shape shape = nn::shapeOf(type);
  SmallVector<int64_t> order = nn::orderOf(type);
  for (int64_t position : llvm::reverse(order)) {
    if (position == dim)
      return true;
    if (nn::constantOf(shape[position]) != 1)
      return false;
  }
  return false;
}

bool codegen::readsContiguously(Value value, int laneDim, function_ref<std::optional<bool>(Value, int)> known) {
  if (nn::splatConstant(value))
    return true;
  if (std::optional<bool> answer = known ? known(value, laneDim) : std::nullopt)
    return *answer;
  auto type = cast<RankedTensorType>(value.getType());
  Operation *op = value.getDefiningOp();
  if (!op || isa<nn::ConstantOp>(op))
    return !nn::isPacked(type) && (laneDim < 0 || isInnermost(type, laneDim));
  if (isa<nn::ElementwiseOpInterface>(op))
    return llvm::all_of(op->getOperands(), [&](Value operand) {
      auto operandType = cast<RankedTensorType>(operand.getType());
      int lane = laneDim - static_cast<int>(type.getRank() - operandType.getRank());
      if (lane < 0 || operandType.getDimSize(lane) == 1)
        lane = -1;
      return readsContiguously(operand, lane, known);
    });
  if (laneDim < 0)
    return true;
  return movesLanes(op, laneDim) && llvm::all_of(llvm::enumerate(op->getOperands()), [&](auto item) {
           return readsContiguously(item.value(), operandLane(op, item.index(), laneDim), known);
         });
}
