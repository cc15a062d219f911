// Groups the ops of an entry point into nn.kernel. Takes a function whose layouts are assigned and whose weights are packed; leaves
// kernels, views and parameter reads, nothing else. What may share a kernel with what is said in Passes.td; how the emitters read
// the result stands in ir/Kernel.h.

#include "passes/ParameterValues.h"
#include "passes/Passes.h"

#include "ir/Kernel.h"
#include "ir/View.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"

namespace nncc::passes {
#define GEN_PASS_DEF_FORMKERNELS
#include "passes/Passes.h.inc"
} // namespace nncc::passes

using namespace mlir;
using namespace nncc;
using namespace nncc::passes;

namespace {

RankedTensorType tensorTypeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

/// Ops that will be one kernel, in program order. Only the last one's results are read outside, and those of `outputs`.
struct Group {
  SmallVector<Operation *> ops;
  /// Besides the last one: elementwise, of the last one's type, returned by the function.
  llvm::SetVector<Operation *> outputs;
  /// The op that decides how the kernel runs; null for a chain of elementwise ops and movements, which computes each element of
  /// its result from the operands on demand.
  Operation *anchor = nullptr;
  Operation *pool = nullptr; ///< a pool behind a convolution
  bool isFilledByParts = false; ///< a concatenation that PlaceConcats will take apart

  bool isOnDemand() const { return !anchor && !isFilledByParts; }
  Operation *last() const { return ops.back(); }
};

/// Constants that a kernel holds in its code: their value is known and one number says it.
bool isInlineConstant(Value value) { return nn::splatConstant(value).has_value(); }

/// Ops whose elements can be computed one by one, at any index, from elements of the operands.
bool isOnDemand(Operation *op) { return isa<nn::ElementwiseOpInterface, nn::MovementOpInterface>(op); }

/// `op` reads no element of its operands more than once, so a producer that is computed on demand runs as often as before.
bool readsElementsOnce(Operation *op) {
  return !isa<nn::ExpandOp, nn::GatherOp, nn::ResizeOp, nn::ResizeGradientOp, nn::MaxPoolGradientOp, nn::AvgPoolGradientOp>(op);
}

/// A product that reads its left operand down its columns has a kernel of another kind, without an epilogue.
bool isContraction(Operation *op) {
  auto matmul = dyn_cast_if_present<nn::MatmulOp>(op);
  return isa_and_present<nn::ConvOp>(op) || (matmul && !matmul.getTransposeLhs());
}

/// Anchors besides contractions whose kernels evaluate elementwise ops on a result before they store it, at any index.
bool takesEpilogue(Operation *anchor) {
  return isa_and_present<nn::MaxPoolOp, nn::AvgPoolOp, nn::ReductionOpInterface, nn::LayerNormOp, nn::RmsNormOp,
                         nn::GroupNormOp, nn::InstanceNormOp, nn::SoftmaxOp, nn::LogSoftmaxOp>(anchor);
}

/// The pool's windows share no element.
bool hasDisjointWindows(Operation *pool) {
  auto isDisjoint = [](auto op) {
    for (auto [kernel, stride, dilation] : llvm::zip(op.getKernel(), op.getStrides(), op.getDilations()))
      if (stride < (kernel - 1) * dilation + 1)
        return false;
    return true;
  };
  if (auto op = dyn_cast<nn::MaxPoolOp>(pool))
    return isDisjoint(op);
  auto op = dyn_cast<nn::AvgPoolOp>(pool);
  return op && isDisjoint(op);
}

/// Anchors that read each element of their first operand once, so that elementwise ops before them run as often as on their own.
/// Norms and softmax read it for the statistics and again for the result.
bool takesPrologue(Operation *anchor) {
  return isa<nn::ReductionOpInterface>(anchor) || hasDisjointWindows(anchor);
}

/// Ops that stay between kernels.
bool staysOutside(Operation *op) {
  return isa<nn::GetParameterOp, nn::ConstantOp, nn::KernelOp>(op) || nn::isView(op) ||
         op->hasTrait<OpTrait::IsTerminator>();
}

/// All reads of `op`'s result are operands of `reader`.
bool isReadOnlyBy(Operation *op, Operation *reader) {
  return op->getNumResults() == 1 && !op->use_empty() &&
         llvm::all_of(op->getUsers(), [&](Operation *user) { return user == reader; });
}

/// An emitter with `producer`'s result at hand can evaluate `op` on it: same shape and order. A contraction has a tile at hand
/// and indexes other operands in one of the three ways of accessOf, in the tile's memory order where they have its shape.
bool fitsEpilogue(Operation *op, Operation *producer, Operation *anchor) {
  RankedTensorType tile = tensorTypeOf(producer->getResult(0)), result = tensorTypeOf(op->getResult(0));
  if (nn::shapeOf(tile) != nn::shapeOf(result) || nn::orderOf(tile) != nn::orderOf(result))
    return false;
  if (!isContraction(anchor))
    return takesEpilogue(anchor);
  return llvm::all_of(op->getOperands(), [&](Value operand) {
    if (operand.getDefiningOp() == producer || isInlineConstant(operand))
      return true;
    RankedTensorType type = tensorTypeOf(operand);
    std::optional<nn::Access> access = nn::accessOf(type, tile, nn::channelDimOf(anchor));
    return access && (access != nn::Access::Full || nn::orderOf(type) == nn::orderOf(tile));
  });
}

/// A pool takes over the rows of a convolution while they are in the kernel's scratch memory. Its windows must not overlap, or
/// rows at the border of two tasks would be computed twice. A depthwise convolution keeps no rows in scratch memory.
bool fitsPoolTail(Operation *pool, nn::ConvOp conv) {
  return conv.spatialRank() == 2 && !nn::isDepthwise(conv) && hasDisjointWindows(pool);
}

/// "conv2d", "max_pool2d", "relu": the op's part of the kernel's name.
std::string namePart(Operation *op) {
  std::string name = op->getName().stripDialect().str();
  if (isa<nn::ConvOp, nn::MaxPoolOp, nn::AvgPoolOp>(op))
    name += std::to_string(tensorTypeOf(op->getResult(0)).getRank() - 2) + "d";
  bool hasBias = false;
  if (auto conv = dyn_cast<nn::ConvOp>(op))
    hasBias = static_cast<bool>(conv.getBias());
  if (auto matmul = dyn_cast<nn::MatmulOp>(op))
    hasBias = static_cast<bool>(matmul.getBias());
  return hasBias ? name + "_bias" : name;
}

class KernelFormer {
public:
  void run(Block &block) {
    for (auto constant : llvm::make_early_inc_range(block.getOps<nn::ConstantOp>()))
      if (!isHeldInCode(constant) && !constant->use_empty())
        storeConstant(constant);
    findSeenThrough(block);
    for (Operation &op : block)
      if (!staysOutside(&op) && !seenThrough.contains(&op))
        assign(&op);
    for (std::unique_ptr<Group> &group : llvm::reverse(groups))
      if (!group->ops.empty())
        takeSharedProducers(*group);
    for (std::unique_ptr<Group> &group : groups)
      if (!group->ops.empty())
        outline(*group);
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
      if (nn::isStridedMovement(&op) && op.use_empty())
        op.erase();
    copyReturnedValues(cast<func::ReturnOp>(block.getTerminator()));
  }

private:
  //===--------------------------------------------------------------------===//
  // Movements that nobody need carry out
  //===--------------------------------------------------------------------===//

  /// Later ones first: whether a reader sees through one movement is known when the movement before it is looked at.
  void findSeenThrough(Block &block) {
    for (Operation &op : llvm::reverse(block))
      if (nn::isStridedMovement(&op) && !nn::isView(&op) && !op.use_empty() && readersSeeThrough(&op, &op))
        seenThrough.insert(&op);
  }

  /// All that read `op`, a movement or a view behind `first`, can read the operand of `first` in its stead.
  bool readersSeeThrough(Operation *op, Operation *first) {
    return llvm::all_of(op->getUses(), [&](OpOperand &use) {
      Operation *user = use.getOwner();
      if (nn::isView(user) || seenThrough.contains(user))
        return readersSeeThrough(user, first);
      std::optional<nn::StridedView> view =
          nn::stridedViewOf(use.get(), [&](Operation *movement) { return !movement->isBeforeInBlock(first); });
      return view && nn::readsThroughStrides(use, *view);
    });
  }

  /// The movements between the memory that a kernel reads and `value`, in order.
  SmallVector<Operation *> movementsBefore(Value value) {
    SmallVector<Operation *> chain;
    size_t length = 0;
    for (Operation *op = value.getDefiningOp(); op && (nn::isView(op) || seenThrough.contains(op));
         op = op->getOperand(0).getDefiningOp()) {
      chain.push_back(op);
      // Views before the first movement are views still.
      if (seenThrough.contains(op))
        length = chain.size();
    }
    chain.resize(length);
    std::reverse(chain.begin(), chain.end());
    return chain;
  }

  //===--------------------------------------------------------------------===//
  // Which ops go together
  //===--------------------------------------------------------------------===//

  void assign(Operation *op) {
    if (isa<nn::ElementwiseOpInterface>(op))
      if (Group *group = epilogueTarget(op))
        return append(*group, op);
    if (isa<nn::MaxPoolOp, nn::AvgPoolOp>(op))
      if (Group *group = poolTarget(op)) {
        append(*group, op);
        group->pool = op;
        return;
      }
    if (Group *group = placementTarget(op))
      return append(*group, op);
    Group &group = newGroup();
    if (isFilledByParts(op)) {
      group.isFilledByParts = true;
    } else if (isOnDemand(op)) {
      for (Value operand : op->getOperands())
        if (Group *producer = onDemandProducer(operand, op); producer && producer != &group)
          absorb(group, *producer);
    } else {
      group.anchor = op;
      if (takesPrologue(op))
        if (Group *producer = prologueOf(op))
          absorb(group, *producer);
    }
    append(group, op);
  }

  /// A concatenation of results that are in memory anyway: their kernels will write them side by side (PlaceConcats), which a
  /// concatenation that is computed on demand would have to copy.
  bool isFilledByParts(Operation *op) {
    auto concat = dyn_cast<nn::ConcatOp>(op);
    return concat && llvm::any_of(concat.getInputs(), [&](Value input) {
      Group *group = groupOf.lookup(input.getDefiningOp());
      return group && (!group->isOnDemand() || !isReadOnlyBy(group->last(), op));
    });
  }

  /// The kernel whose result `op` finishes: a contraction rather than another, and of two, as in the sum of two convolutions, the
  /// later one, since the other is in memory by then.
  Group *epilogueTarget(Operation *op) {
    Group *target = nullptr;
    for (Value operand : op->getOperands()) {
      Group *group = groupOf.lookup(operand.getDefiningOp());
      if (!group || !group->anchor || nn::isStridedMovement(group->last()) || !isReadOnlyBy(group->last(), op) ||
          !fitsEpilogue(op, group->last(), group->anchor))
        continue;
      bool isLater = target && target->last()->isBeforeInBlock(group->last());
      if (!target || isContraction(group->anchor) > isContraction(target->anchor) ||
          (isLater && isContraction(group->anchor) == isContraction(target->anchor)))
        target = group;
    }
    return target;
  }

  /// The kernel that can store its result where `movement` would put it.
  Group *placementTarget(Operation *movement) {
    if (!nn::isStridedMovement(movement))
      return nullptr;
    Group *group = groupOf.lookup(movement->getOperand(0).getDefiningOp());
    if (!group || !isa_and_present<nn::AttentionOp, nn::MatmulOp>(group->anchor) ||
        nn::isStridedMovement(group->last()) || !isReadOnlyBy(group->last(), movement))
      return nullptr;
    std::optional<nn::StridedView> view = nn::storedViewBehind(movement);
    bool fits = view && nn::writesThroughStrides(group->anchor, tensorTypeOf(movement->getOperand(0)), *view);
    return fits ? group : nullptr;
  }

  /// The convolution whose rows `pool` takes over.
  Group *poolTarget(Operation *pool) {
    Group *group = groupOf.lookup(pool->getOperand(0).getDefiningOp());
    auto conv = group ? dyn_cast_if_present<nn::ConvOp>(group->anchor) : nn::ConvOp();
    bool fits = conv && !group->pool && isReadOnlyBy(group->last(), pool) && fitsPoolTail(pool, conv);
    return fits ? group : nullptr;
  }

  /// A group that is computed on demand, that only `reader` reads, and each element of it once.
  Group *onDemandProducer(Value operand, Operation *reader) {
    Group *group = groupOf.lookup(operand.getDefiningOp());
    if (!group || !group->isOnDemand() || !isReadOnlyBy(group->last(), reader))
      return nullptr;
    if (isa<nn::MovementOpInterface>(reader))
      return readsElementsOnce(reader) ? group : nullptr;
    return nn::shapeOf(operand.getType()) == nn::shapeOf(reader->getResult(0).getType()) ? group : nullptr;
  }

  /// Elementwise ops that only `anchor` reads, as its first operand.
  Group *prologueOf(Operation *anchor) {
    Group *group = groupOf.lookup(anchor->getOperand(0).getDefiningOp());
    bool isElementwise = group && group->isOnDemand() &&
                         llvm::all_of(group->ops, [](Operation *op) { return isa<nn::ElementwiseOpInterface>(op); });
    return isElementwise && isReadOnlyBy(group->last(), anchor) ? group : nullptr;
  }

  static bool isElementwise(const Group &group) {
    return group.isOnDemand() && llvm::all_of(group.ops, [](Operation *op) { return isa<nn::ElementwiseOpInterface>(op); });
  }

  /// A chain of elementwise ops takes in the chains before it whose results several of its ops read, and nobody else: an element is
  /// computed once, where all of them have it at hand. One that the function returns as well becomes another result of the kernel,
  /// as the moments of an optimizer do.
  void takeSharedProducers(Group &group) {
    if (!isElementwise(group))
      return;
    auto type = group.last()->getResult(0).getType();
    for (bool changed = true; changed;) {
      changed = false;
      for (Operation *op : SmallVector<Operation *>(group.ops))
        for (Value operand : op->getOperands()) {
          Group *producer = groupOf.lookup(operand.getDefiningOp());
          if (!producer || producer == &group || !isElementwise(*producer) ||
              nn::shapeOf(operand.getType()) != nn::shapeOf(type) || !isReadIn(group, *producer, type))
            continue;
          for (Operation *output : producer->outputs)
            group.outputs.insert(output);
          if (llvm::any_of(producer->last()->getUsers(), isReturn))
            group.outputs.insert(producer->last());
          absorb(group, *producer);
          changed = true;
        }
    }
  }

  static bool isReturn(Operation *op) { return isa<func::ReturnOp>(op); }

  /// All reads of `producer`'s results are in `group`, or are the function's return when they have the type of the group's result.
  bool isReadIn(const Group &group, const Group &producer, Type type) {
    SmallVector<Operation *> results(producer.outputs.begin(), producer.outputs.end());
    results.push_back(producer.last());
    return llvm::all_of(results, [&](Operation *result) {
      return llvm::all_of(result->getUsers(), [&](Operation *user) {
        return groupOf.lookup(user) == &group || groupOf.lookup(user) == &producer ||
               (isReturn(user) && result->getResult(0).getType() == type);
      });
    });
  }

  Group &newGroup() { return *groups.emplace_back(std::make_unique<Group>()); }

  void append(Group &group, Operation *op) {
    group.ops.push_back(op);
    groupOf[op] = &group;
  }

  void absorb(Group &into, Group &from) {
    for (Operation *op : from.ops)
      append(into, op);
    from.ops.clear();
    llvm::sort(into.ops, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  }

  //===--------------------------------------------------------------------===//
  // Making kernels
  //===--------------------------------------------------------------------===//

  /// Replaces the ops by a kernel where the last one stands: every operand is defined by then, and nothing but the last op's
  /// results is read later.
  void outline(Group &group) {
    llvm::SetVector<Operation *> members(group.ops.begin(), group.ops.end());
    llvm::SetVector<Value> inputs, constants;
    llvm::SetVector<Operation *> movements;
    for (Operation *op : group.ops)
      for (Value operand : op->getOperands()) {
        if (members.contains(operand.getDefiningOp()))
          continue;
        if (isInlineConstant(operand)) {
          constants.insert(operand);
          continue;
        }
        SmallVector<Operation *> chain = movementsBefore(operand);
        movements.insert(chain.begin(), chain.end());
        inputs.insert(chain.empty() ? operand : chain.front()->getOperand(0));
      }

    Operation *last = group.last();
    Operation *named = group.anchor ? group.anchor : last;
    SmallVector<std::string> parts = llvm::map_to_vector(group.ops, namePart);
    OpBuilder builder(last);
    SmallVector<Value> outputs = llvm::map_to_vector(group.outputs, [](Operation *op) { return Value(op->getResult(0)); });
    llvm::append_range(outputs, last->getResults());
    SmallVector<Type> types = llvm::map_to_vector(outputs, [](Value value) { return value.getType(); });
    nn::KernelOp kernel = createKernel(builder, named->getLoc(), llvm::join(parts, "_"), inputs.getArrayRef(), types);
    IRMapping mapping;
    mapping.map(inputs.getArrayRef(), kernel.getBlock().getArguments());
    builder.setInsertionPointToStart(&kernel.getBlock());
    for (Value constant : constants)
      builder.clone(*constant.getDefiningOp(), mapping);
    // A movement may serve several operands: it was met behind what it reads only in the chain of the first.
    SmallVector<Operation *> ordered = movements.takeVector();
    llvm::sort(ordered, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
    for (Operation *op : ordered)
      builder.clone(*op, mapping);
    for (Operation *op : group.ops)
      builder.clone(*op, mapping);
    SmallVector<Value> results = llvm::map_to_vector(outputs, [&](Value result) { return mapping.lookup(result); });
    nn::YieldOp::create(builder, last->getLoc(), results);

    for (auto [output, result] : llvm::zip(outputs, kernel.getResults()))
      output.replaceAllUsesWith(result);
    for (Operation *op : llvm::reverse(group.ops))
      op->erase();
  }

  nn::KernelOp createKernel(OpBuilder &builder, Location loc, StringRef name, ArrayRef<Value> inputs,
                            TypeRange results) {
    auto kernel = nn::KernelOp::create(builder, loc, results, builder.getStringAttr(name), inputs,
                                       /*in_place=*/IntegerAttr());
    Block &body = kernel.getBody().emplaceBlock();
    for (Value input : inputs)
      body.addArgument(input.getType(), input.getLoc());
    return kernel;
  }

  /// A kernel that writes the constant into a buffer, for readers that want it in memory.
  void storeConstant(nn::ConstantOp constant) {
    OpBuilder builder(constant);
    nn::KernelOp kernel = createKernel(builder, constant.getLoc(), "constant", {}, constant.getType());
    constant.getResult().replaceAllUsesWith(kernel.getResult(0));
    builder.setInsertionPointToEnd(&kernel.getBlock());
    Operation *own = builder.clone(*constant);
    nn::YieldOp::create(builder, constant.getLoc(), own->getResults());
    constant.erase();
  }

  /// An output must be written by a kernel: what is an input, a parameter or another output as well is copied.
  void copyReturnedValues(func::ReturnOp returned) {
    llvm::SmallPtrSet<Value, 4> written;
    for (OpOperand &operand : returned->getOpOperands()) {
      Value source = nn::wholeViewedValue(operand.get());
      if (source.getDefiningOp<nn::KernelOp>() && written.insert(source).second)
        continue;
      OpBuilder builder(returned);
      nn::KernelOp kernel = createKernel(builder, returned.getLoc(), "copy", operand.get(),
                                         operand.get().getType());
      builder.setInsertionPointToStart(&kernel.getBlock());
      nn::YieldOp::create(builder, returned.getLoc(), ValueRange(kernel.getBlock().getArguments()));
      operand.set(kernel.getResult(0));
    }
  }

  llvm::DenseSet<Operation *> seenThrough;
  std::vector<std::unique_ptr<Group>> groups;
  llvm::DenseMap<Operation *, Group *> groupOf;
};

struct FormKernelsPass : passes::impl::FormKernelsBase<FormKernelsPass> {
  void runOnOperation() override {
    if (!getOperation().isExternal())
      KernelFormer().run(getOperation().getBody().front());
  }
};

} // namespace
