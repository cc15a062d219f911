// Makes the memory of a training step fit what --memory-budget allows: values that wait for the backward pass are dropped and their
// kernels run again before it reads them. Takes the kernels of @train_step in their final order; leaves more of them, and the same
// results bit for bit, since what runs again is the same kernel on the same operands. Runs behind all that moves or fuses kernels, so
// that it counts what will be, and before states and buffers are placed, which must see all readers.
//
// The search is greedy: of the values whose dropping lowers the memory above the aim, the one that lowers it most for its cost, and then
// anew, with the aim coming down in small steps. Where this finds nothing more, all values go but those between segments of the step,
// for every number of segments, which takes of a chain of n equal layers about the root of n at a time (Chen et al., "Training deep
// nets with sublinear memory cost", 2016); the search goes on from there. What turns out not to be needed is put back.

#include "passes/Passes.h"
#include "passes/StepTimeline.h"

#include "ir/View.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/Support/FormatVariadic.h"

namespace nncc::passes {
#define GEN_PASS_DEF_FITMEMORYBUDGET
#include "passes/Passes.h.inc"
} // namespace nncc::passes

using namespace mlir;
using namespace nncc;
using namespace nncc::passes;

namespace {

using Choice = StepTimeline::Choice;
using Plan = StepTimeline::Plan;

class BudgetSearch {
public:
  BudgetSearch(const StepTimeline &timeline, int64_t budgetBytes) : timeline(timeline), budgetBytes(budgetBytes) {}

  /// The values to compute again, if any choice that was found fits; `leastBytes` is then or else the smallest arena seen.
  std::optional<Choice> run();

  int64_t leastBytes = INT64_MAX;

private:
  bool fits(const Choice &choice);
  /// Drops values until the live bytes are at most `aimBytes`; false where no single one helps any more.
  bool lowerTo(Choice &choice, int64_t aimBytes) const;
  std::optional<Choice> searchFrom(Choice choice);
  std::vector<Choice> segmentations() const;
  void putBack(Choice &choice);

  const StepTimeline &timeline;
  int64_t budgetBytes;
};

} // namespace

/// Byte steps above `aimBytes`.
static double excessOf(const Plan &plan, int64_t aimBytes) {
  double excess = 0;
  for (int64_t bytes : plan.liveBytes)
    excess += double(std::max<int64_t>(bytes - aimBytes, 0));
  return excess;
}

bool BudgetSearch::fits(const Choice &choice) {
  int64_t bytes = timeline.arenaBytes(timeline.plan(choice));
  leastBytes = std::min(leastBytes, bytes);
  return bytes <= budgetBytes;
}

bool BudgetSearch::lowerTo(Choice &choice, int64_t aimBytes) const {
  Plan now = timeline.plan(choice);
  ArrayRef<StepTimeline::Value> values = timeline.getValues();
  while (now.peakBytes > aimBytes) {
    double excess = excessOf(now, aimBytes), bestGain = 0;
    size_t best = values.size();
    for (size_t number = 0; number < values.size(); ++number) {
      // What is too small to matter need not be tried.
      if (!values[number].canRecompute || choice[number] || values[number].bytes * 1000 < now.peakBytes)
        continue;
      choice[number] = true;
      Plan with = timeline.plan(choice);
      choice[number] = false;
      double gain = (excess - excessOf(with, aimBytes)) / (with.cost - now.cost);
      if (gain > bestGain) {
        bestGain = gain;
        best = number;
      }
    }
    if (best == values.size())
      return false;
    choice[best] = true;
    now = timeline.plan(choice);
  }
  return true;
}

/// Lowers the aim step by step, so that the top of the curve is worked on and not what lies below it. The steps do not depend on the
/// budget: what is said to be enough for one that is too small is found again.
std::optional<Choice> BudgetSearch::searchFrom(Choice choice) {
  constexpr double kStep = 0.93;
  int64_t aimBytes = timeline.plan(choice).peakBytes;
  for (;;) {
    if (fits(choice))
      return choice;
    aimBytes = int64_t(double(aimBytes) * kStep);
    if (!lowerTo(choice, aimBytes)) {
      if (fits(choice))
        return choice;
      return std::nullopt;
    }
  }
}

std::vector<Choice> BudgetSearch::segmentations() const {
  ArrayRef<StepTimeline::Value> values = timeline.getValues();
  int64_t keptBytes = 0;
  size_t count = 0;
  Plan plain = timeline.plan(Choice(values.size(), false));
  auto isLarge = [&](size_t number) { return values[number].canRecompute && values[number].bytes * 1000 >= plain.peakBytes; };
  for (size_t number = 0; number < values.size(); ++number)
    if (isLarge(number)) {
      keptBytes += values[number].bytes;
      ++count;
    }
  std::vector<Choice> all;
  for (size_t segments = 1; segments <= std::min<size_t>(count, 64); ++segments) {
    Choice choice(values.size(), false);
    int64_t bytes = 0;
    size_t segment = 0;
    for (size_t number = 0; number < values.size(); ++number) {
      if (!isLarge(number))
        continue;
      bytes += values[number].bytes;
      // The last value of a segment stays.
      bool isBoundary = bytes * int64_t(segments) >= keptBytes * int64_t(segment + 1);
      segment += isBoundary;
      choice[number] = !isBoundary;
    }
    all.push_back(std::move(choice));
  }
  return all;
}

/// What the budget holds without; the dearest first.
void BudgetSearch::putBack(Choice &choice) {
  SmallVector<size_t> chosen;
  for (size_t number = 0; number < choice.size(); ++number)
    if (choice[number])
      chosen.push_back(number);
  llvm::stable_sort(chosen, [&](size_t a, size_t b) { return timeline.getValues()[a].cost > timeline.getValues()[b].cost; });
  for (size_t number : chosen) {
    choice[number] = false;
    Plan without = timeline.plan(choice);
    if (without.peakBytes > budgetBytes || !fits(choice))
      choice[number] = true;
  }
}

std::optional<Choice> BudgetSearch::run() {
  Choice none(timeline.getValues().size(), false);
  std::optional<Choice> found = searchFrom(none);
  if (!found) {
    // The one that costs least of those that fit; else the search goes on from the one that takes least memory.
    Choice smallest = none;
    int64_t smallestBytes = INT64_MAX;
    double leastCost = std::numeric_limits<double>::infinity();
    for (Choice &choice : segmentations()) {
      Plan plan = timeline.plan(choice);
      if (plan.peakBytes < smallestBytes) {
        smallestBytes = plan.peakBytes;
        smallest = choice;
      }
      if (plan.cost < leastCost && plan.peakBytes <= budgetBytes && fits(choice)) {
        leastCost = plan.cost;
        found = std::move(choice);
      }
    }
    if (!found)
      found = searchFrom(smallest);
  }
  if (found)
    putBack(*found);
  return found;
}

namespace {

/// "12.3 MiB (12897485 bytes)"
std::string format(int64_t bytes) {
  bool isSmall = bytes < 1 << 20;
  return llvm::formatv("{0:f1} {1} ({2} bytes)", double(bytes) / (isSmall ? 1 << 10 : 1 << 20), isSmall ? "KiB" : "MiB", bytes);
}

struct FitMemoryBudgetPass : passes::impl::FitMemoryBudgetBase<FitMemoryBudgetPass> {
  using FitMemoryBudgetBase::FitMemoryBudgetBase;

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (function.isExternal() || function.getName() != kTrainStepFunction || budget <= 0)
      return;
    Block &block = function.getBody().front();
    DimValues dims(function);
    StepTimeline timeline(block, dims);
    BudgetSearch search(timeline, budget);
    std::optional<Choice> choice = search.run();
    if (!choice) {
      function.emitError() << "a training step of " << dims.describe() << " needs at least " << format(search.leastBytes)
                           << " for intermediates, however much is computed again; the memory budget is " << format(budget)
                           << ": allow more, or train with a smaller batch (accumulate = 2 with half the batch makes one update of both halves)";
      return signalPassFailure();
    }
    Choice none(choice->size(), false);
    function->setAttr(kUnlimitedBytesAttr, Builder(&getContext()).getI64IntegerAttr(timeline.arenaBytes(timeline.plan(none))));
    recompute(timeline, *choice);
  }

private:
  void recompute(const StepTimeline &timeline, const Choice &choice) {
    Plan plan = timeline.plan(choice);
    ArrayRef<StepTimeline::Value> values = timeline.getValues();
    DenseMap<Value, Value> again; // results -> the same computed again
    for (size_t number = 0; number < values.size(); ++number) {
      if (!choice[number])
        continue;
      nn::KernelOp kernel = timeline.kernelAt(values[number].kernel), before = timeline.kernelAt(plan.recomputedBefore[number]);
      OpBuilder builder(before);
      auto copy = cast<nn::KernelOp>(builder.clone(*kernel));
      copy->setAttr(kRecomputedAttr, builder.getUnitAttr());
      // Its own operands may have been computed again, before.
      for (OpOperand &operand : copy->getOpOperands())
        redirect(operand, again);
      again[kernel.getResult(0)] = copy.getResult(0);
      for (OpOperand *use : lateUses(kernel.getResult(0), before))
        redirect(*use, again);
      ++recomputedKernels;
    }
  }

  /// Reads of `value`, through views too, by kernels from `first` on.
  static SmallVector<OpOperand *> lateUses(Value value, Operation *first) {
    SmallVector<OpOperand *> uses;
    SmallVector<Value> worklist = {value};
    while (!worklist.empty())
      for (OpOperand &use : worklist.pop_back_val().getUses()) {
        Operation *user = use.getOwner();
        if (nn::isView(user))
          worklist.push_back(user->getResult(0));
        else if (!user->isBeforeInBlock(first))
          uses.push_back(&use);
      }
    return uses;
  }

  /// Lets `use` read what was computed again instead, through the same views.
  static void redirect(OpOperand &use, const DenseMap<Value, Value> &again) {
    SmallVector<Operation *> views;
    Value value = use.get();
    while (Operation *op = value.getDefiningOp()) {
      if (!nn::isView(op))
        break;
      views.push_back(op);
      value = op->getOperand(0);
    }
    auto found = again.find(value);
    if (found == again.end() || use.getOwner()->isBeforeInBlock(found->second.getDefiningOp()))
      return;
    OpBuilder builder(use.getOwner());
    Value source = found->second;
    for (Operation *view : llvm::reverse(views)) {
      IRMapping mapping;
      mapping.map(view->getOperand(0), source);
      source = builder.clone(*view, mapping)->getResult(0);
    }
    use.set(source);
  }
};

} // namespace
