// Lets the kernels before a concatenation write their results side by side, so that nothing is left to copy. Takes kernels in
// their final order; runs before PlanBuffers, which must know who shares a buffer.
//
// The concatenated tensor becomes a chain of versions: each kernel takes the tensor as the kernels before it left it, overwrites it
// in place, and adds its own slice (nn.insert). What reads a part reads a slice of the version that holds it. A concatenation that
// another one takes up, as in DenseNet, lies within the larger one.

#include "passes/Passes.h"

#include "ir/Kernel.h"
#include "ir/View.h"

namespace nncc::passes {
#define GEN_PASS_DEF_PLACECONCATS
#include "passes/Passes.h.inc"
} // namespace nncc::passes

using namespace mlir;
using namespace nncc;
using namespace nncc::passes;

namespace {

RankedTensorType tensorTypeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

/// The concatenation that is all that `op` does.
nn::ConcatOp concatOf(Operation *op) {
  auto kernel = dyn_cast_or_null<nn::KernelOp>(op);
  if (!kernel || !llvm::hasNItems(kernel.getBlock(), 2) || kernel.getInPlace())
    return {};
  auto concat = dyn_cast<nn::ConcatOp>(kernel.getBlock().front());
  bool isAll = concat && kernel.getNumResults() == 1 &&
               kernel.getTerminator()->getOperand(0) == concat.getResult() &&
               llvm::all_of(concat.getInputs(), [](Value input) { return isa<BlockArgument>(input); });
  return isAll ? concat : nn::ConcatOp();
}

/// The value outside that input `number` of `concat` stands for.
Value inputOf(nn::ConcatOp concat, unsigned number) {
  auto kernel = cast<nn::KernelOp>(concat->getParentOp());
  return kernel.getInputs()[cast<BlockArgument>(concat.getInputs()[number]).getArgNumber()];
}

/// The kernel that writes `value`, also where a reshape of its result, which nobody else reads, is what is concatenated, as are the
/// gradients of all parameters.
nn::KernelOp writerOf(Value value) {
  for (; auto reshape = value.getDefiningOp<nn::ReshapeOp>(); value = reshape.getX())
    if (!nn::isView(reshape) || !reshape.getX().hasOneUse())
      return {};
  return value.getDefiningOp<nn::KernelOp>();
}

class ConcatPlacer {
public:
  /// Handles every concatenation of `block`; later ones first, since they may take up earlier ones.
  void run(Block &block) {
    SmallVector<nn::KernelOp> kernels;
    for (nn::KernelOp kernel : block.getOps<nn::KernelOp>())
      if (concatOf(kernel))
        kernels.push_back(kernel);
    for (nn::KernelOp kernel : llvm::reverse(kernels))
      if (!erased.contains(kernel) && concatOf(kernel))
        place(kernel);
  }

private:
  /// A part of the concatenated tensor that one kernel writes.
  struct Part {
    Value value;
    int64_t offset;
    nn::KernelOp writer; ///< the kernel of `value`, or the concatenation before which it is copied
    bool isCopied;
  };
  /// What lies where: a part, or a concatenation within the larger one with all its parts.
  struct Range {
    Value value;
    int64_t offset;
    size_t beginPart, endPart;
  };

  void place(nn::KernelOp root) {
    whole = tensorTypeOf(root.getResult(0));
    axis = concatOf(root).getAxis();
    parts.clear();
    ranges.clear();
    tree = {root};
    if (nn::isPacked(whole) || whole.isDynamicDim(axis))
      return;
    collect(root, 0);
    if (llvm::all_of(parts, [](const Part &part) { return part.isCopied; }))
      return;

    // Writers in program order, each completing what the one before left.
    SmallVector<size_t> order = llvm::to_vector(llvm::seq<size_t>(0, parts.size()));
    llvm::stable_sort(order, [&](size_t a, size_t b) {
      return parts[a].writer != parts[b].writer && parts[a].writer->isBeforeInBlock(parts[b].writer);
    });
    SmallVector<size_t> position(parts.size());
    for (auto [place, part] : llvm::enumerate(order))
      position[part] = place;
    SmallVector<Value> versions;
    for (size_t part : order)
      versions.push_back(write(parts[part], versions.empty() ? Value() : versions.back()));
    for (const Range &range : ranges) {
      size_t last = 0;
      for (size_t part = range.beginPart; part < range.endPart; ++part)
        last = std::max(last, position[part]);
      redirectReaders(range, versions[last]);
    }
    root.getResult(0).replaceAllUsesWith(versions.back());
    for (nn::KernelOp concat : tree) {
      erased.insert(concat);
      concat.erase();
    }
    for (const Part &part : parts) {
      if (part.isCopied)
        continue;
      for (Operation *op = part.value.getDefiningOp(); op;) {
        Operation *before = op->getNumOperands() ? op->getOperand(0).getDefiningOp() : nullptr;
        op->erase();
        op = before;
      }
    }
  }

  /// Lists the parts of a concatenation that begins at `offset` of the root.
  void collect(nn::KernelOp kernel, int64_t offset) {
    nn::ConcatOp concat = concatOf(kernel);
    for (unsigned number = 0; number < concat.getInputs().size(); ++number) {
      Value value = inputOf(concat, number);
      size_t begin = parts.size();
      nn::ConcatOp inner = concatOf(value.getDefiningOp());
      bool isWithin = inner && inner.getAxis() == static_cast<uint64_t>(axis) && readersTakeSlice(value, kernel, offset);
      if (isWithin) {
        auto innerKernel = cast<nn::KernelOp>(value.getDefiningOp());
        tree.push_back(innerKernel);
        collect(innerKernel, offset);
      } else {
        bool isWritten = !inner && canWrite(value, kernel, offset);
        parts.push_back({value, offset, isWritten ? writerOf(value) : kernel, !isWritten});
        isWithin = isWritten;
      }
      if (isWithin)
        ranges.push_back({value, offset, begin, parts.size()});
      offset += tensorTypeOf(value).getDimSize(axis);
    }
  }

  /// The kernel of `value` can store it as the slice at `offset`, and all others that read it can read it there.
  bool canWrite(Value value, nn::KernelOp concat, int64_t offset) {
    nn::KernelOp kernel = writerOf(value);
    if (!kernel || kernel.getInPlace() || kernel.getNumResults() != 1)
      return false;
    nn::StridedView stored;
    if (kernel.getResult(0) == value) {
      stored = nn::storedViewWithin(kernel, whole, axis, offset);
    } else {
      // As a vector in a vector, its elements lie as they would without, but for where they begin.
      if (whole.getRank() != 1 || !value.hasOneUse())
        return false;
      stored = nn::storedView(kernel, 0);
      stored.offset = stored.offset + offset;
    }
    Operation *anchor = nn::anchorOf(kernel);
    if (anchor && nn::isAnchor(anchor) && !nn::writesThroughStrides(anchor, tensorTypeOf(nn::storedValue(kernel, 0)), stored))
      return false;
    return readersTakeSlice(value, concat, offset);
  }

  /// `concat` reads `value` once, and every other reader is a kernel that can read it as a slice.
  bool readersTakeSlice(Value value, nn::KernelOp concat, int64_t offset) {
    RankedTensorType type = tensorTypeOf(value);
    if (nn::orderOf(type) != nn::orderOf(whole))
      return false;
    unsigned reads = 0;
    for (OpOperand &use : value.getUses()) {
      if (use.getOwner() == concat) {
        BlockArgument argument = concat.getBlock().getArgument(use.getOperandNumber());
        reads += std::distance(argument.use_begin(), argument.use_end());
        continue;
      }
      auto reader = dyn_cast<nn::KernelOp>(use.getOwner());
      if (!reader || !readsSlice(reader, reader.getBlock().getArgument(use.getOperandNumber())))
        return false;
    }
    return reads == 1;
  }

  bool readsSlice(nn::KernelOp reader, BlockArgument argument) {
    Operation *anchor = nn::anchorOf(reader);
    // Computed on demand, from wherever an element lies.
    if (!anchor || !nn::isAnchor(anchor))
      return true;
    nn::StridedView view = {argument, nn::constantDim(whole.getContext(), 0), nn::stridesOf(whole)};
    return llvm::all_of(argument.getUses(), [&](OpOperand &use) { return nn::readsThroughStrides(use, view); });
  }

  /// The version of the whole with `part` in it.
  Value write(const Part &part, Value before) {
    OpBuilder builder(part.writer);
    StringRef name = "copy";
    SmallVector<Value> inputs;
    nn::KernelOp original;
    if (part.isCopied) {
      inputs.push_back(part.value);
    } else {
      original = part.writer;
      name = original.getKernelName();
      inputs.assign(original.getInputs().begin(), original.getInputs().end());
    }
    if (before)
      inputs.push_back(before);
    Location loc = part.isCopied ? part.value.getLoc() : original.getLoc();
    auto kernel = nn::KernelOp::create(builder, loc, TypeRange(whole), builder.getStringAttr(name), inputs,
                                       before ? builder.getI64IntegerAttr(inputs.size() - 1) : IntegerAttr());
    Block *body;
    if (original) {
      kernel.getBody().takeBody(original.getBody());
      body = &kernel.getBlock();
      // What is left of the old kernel reads nothing; it goes once its own readers are redirected.
      original->setOperands({});
    } else {
      body = &kernel.getBody().emplaceBlock();
      BlockArgument argument = body->addArgument(part.value.getType(), loc);
      builder.setInsertionPointToEnd(body);
      nn::YieldOp::create(builder, loc, ValueRange(argument));
    }
    Value dest = before ? Value(body->addArgument(whole, loc)) : Value();
    Operation *yield = body->getTerminator();
    builder.setInsertionPoint(yield);
    Value result = yield->getOperand(0);
    if (result.getType() != part.value.getType())
      result = nn::ReshapeOp::create(builder, loc, part.value.getType(), result);
    Value inserted = nn::InsertOp::create(builder, loc, whole, result, dest,
                                          builder.getI64IntegerAttr(axis), builder.getI64IntegerAttr(part.offset));
    yield->setOperand(0, inserted);
    return kernel.getResult(0);
  }

  /// The kernels that read `range` as a tensor of its own read a slice of `version`.
  void redirectReaders(const Range &range, Value version) {
    RankedTensorType type = tensorTypeOf(range.value);
    int64_t rank = type.getRank();
    SmallVector<int64_t> starts(rank, 0), sizes(rank, -1), steps(rank, 1);
    starts[axis] = range.offset;
    sizes[axis] = type.getDimSize(axis);
    for (OpOperand &use : llvm::make_early_inc_range(range.value.getUses())) {
      auto reader = cast<nn::KernelOp>(use.getOwner());
      if (llvm::is_contained(tree, reader))
        continue;
      BlockArgument argument = reader.getBlock().getArgument(use.getOperandNumber());
      use.set(version);
      argument.setType(whole);
      OpBuilder builder = OpBuilder::atBlockBegin(&reader.getBlock());
      auto slice = nn::SliceOp::create(builder, reader.getLoc(), type, argument, starts, sizes, steps);
      argument.replaceAllUsesExcept(slice.getResult(), slice);
    }
  }

  RankedTensorType whole;
  int64_t axis = 0;
  SmallVector<Part> parts;
  SmallVector<Range> ranges;
  SmallVector<nn::KernelOp> tree; ///< the concatenations that become one
  llvm::DenseSet<Operation *> erased;
};

struct PlaceConcatsPass : passes::impl::PlaceConcatsBase<PlaceConcatsPass> {
  void runOnOperation() override {
    if (!getOperation().isExternal())
      ConcatPlacer().run(getOperation().getBody().front());
  }
};

} // namespace
