// See StepTimeline.h.

#include "passes/StepTimeline.h"

#include "passes/InPlace.h"

#include "ir/Cost.h"
#include "ir/View.h"
#include "runtime/Program.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace nncc;
using namespace nncc::passes;

/// Floating-point operations in the time in which a byte is moved, on CPUs and GPUs alike within a factor of two.
static constexpr double kFlopsPerByte = 8;
/// What starting a kernel costs, in bytes.
static constexpr double kStartBytes = 4096;

StepTimeline::StepTimeline(Block &block, const DimValues &dims) {
  llvm::DenseSet<mlir::Value> returned;
  for (mlir::Value result : block.getTerminator()->getOperands())
    returned.insert(nn::viewedValue(result));
  // Kernels that fill a tensor part by part write one value.
  SmallVector<nn::KernelOp> ops(block.getOps<nn::KernelOp>());
  for (nn::KernelOp op : llvm::reverse(ops))
    if (std::optional<uint64_t> before = op.getInPlace(); before && returned.contains(op.getResult(0)))
      returned.insert(nn::viewedValue(op.getInputs()[*before]));

  for (nn::KernelOp op : ops) {
    Kernel &kernel = kernels.emplace_back();
    kernel.op = op;
    unsigned index = kernels.size() - 1;
    llvm::SmallSetVector<unsigned, 4> inputs, overwritable;
    for (auto [operand, input] : llvm::enumerate(op.getInputs()))
      if (std::optional<unsigned> number = numberOf(input)) {
        bool isNew = inputs.insert(*number);
        if (isNew && mayOverwrite(op, operand))
          overwritable.insert(*number);
        else if (!isNew)
          overwritable.remove(*number); // read under two operands
      }
    kernel.inputs.assign(inputs.begin(), inputs.end());
    for (unsigned input : kernel.inputs)
      values[input].readers.push_back(index);
    if (std::optional<uint64_t> before = op.getInPlace()) {
      if (std::optional<unsigned> number = numberOf(op.getInputs()[*before])) {
        numbers[op.getResult(0)] = *number;
        values[*number].canRecompute = false;
      }
      continue;
    }
    double cost = kStartBytes + double(dims.evaluate(nn::trafficBytesOf(op)).value_or(0)) +
                  double(dims.evaluate(nn::flopsOf(op)).value_or(0)) / kFlopsPerByte;
    for (mlir::Value result : op.getResults()) {
      if (returned.contains(result))
        continue;
      Value &value = values.emplace_back();
      value.value = result;
      value.bytes = dims.bytesOf(result.getType());
      value.kernel = index;
      value.canRecompute = op.getNumResults() == 1;
      value.cost = cost;
      numbers[result] = values.size() - 1;
      kernel.results.push_back(values.size() - 1);
    }
    if (!kernel.results.empty())
      kernel.overwritable.assign(overwritable.begin(), overwritable.end());
  }

  for (Value &value : values) {
    // What is first read late is kept as it is: to compute it there would be another order of the step.
    for (size_t i = 0; i + 1 < value.readers.size(); ++i)
      if (value.readers[i + 1] - value.readers[i] > value.gapEnd - value.gapBegin) {
        value.gapBegin = value.readers[i];
        value.gapEnd = value.readers[i + 1];
      }
    value.canRecompute &= value.gapEnd > value.gapBegin + 1;
  }
}

std::optional<unsigned> StepTimeline::numberOf(mlir::Value value) const {
  auto found = numbers.find(nn::viewedValue(value));
  return found == numbers.end() ? std::nullopt : std::optional(found->second);
}

StepTimeline::Plan StepTimeline::plan(const Choice &recomputed) const {
  Plan plan;
  plan.recomputedBefore.resize(values.size());
  // The later ones first: what is computed again needs its own operands, which may have to be computed again before.
  for (size_t number = values.size(); number-- > 0;) {
    if (!recomputed[number])
      continue;
    unsigned &before = plan.recomputedBefore[number];
    before = before ? std::min(before, values[number].gapEnd) : values[number].gapEnd;
    plan.cost += values[number].cost;
    for (unsigned input : kernels[values[number].kernel].inputs)
      if (recomputed[input] && before > values[input].gapBegin && (!plan.recomputedBefore[input] || before < plan.recomputedBefore[input]))
        plan.recomputedBefore[input] = before;
  }
  std::vector<SmallVector<unsigned, 1>> repeats(kernels.size());
  for (size_t number = 0; number < values.size(); ++number)
    if (recomputed[number])
      repeats[plan.recomputedBefore[number]].push_back(number);

  constexpr uint32_t kUnused = UINT32_MAX;
  struct Life {
    uint32_t first = kUnused, last = 0;
    Life *placedIn = nullptr; ///< the life of the operand that this one overwrites
  };
  // Of the values as they are computed first, and of those that are computed again.
  std::vector<Life> first(values.size()), second(values.size());
  auto lifeAt = [&](unsigned number, unsigned kernel) -> Life & {
    return recomputed[number] && kernel >= plan.recomputedBefore[number] ? second[number] : first[number];
  };
  struct Overwrite {
    uint32_t step;
    Life *operand, *result;
  };
  std::vector<Overwrite> overwrites;
  uint32_t step = 0;
  auto run = [&](unsigned index, unsigned at, bool isRepeated) {
    auto use = [&](Life &life) {
      life.first = std::min(life.first, step);
      life.last = std::max(life.last, step);
    };
    const Kernel &kernel = kernels[index];
    for (unsigned input : kernel.inputs)
      use(lifeAt(input, at));
    for (unsigned result : kernel.results)
      use(isRepeated ? second[result] : first[result]);
    for (unsigned input : kernel.overwritable)
      overwrites.push_back({step, &lifeAt(input, at), isRepeated ? &second[kernel.results[0]] : &first[kernel.results[0]]});
    ++step;
  };
  for (unsigned index = 0; index < kernels.size(); ++index) {
    for (unsigned number : repeats[index])
      run(values[number].kernel, index, true);
    run(index, index, false);
  }
  for (const Overwrite &overwrite : overwrites) {
    if (overwrite.operand->last != overwrite.step || overwrite.result->placedIn)
      continue;
    Life *root = overwrite.operand;
    while (root->placedIn)
      root = root->placedIn;
    overwrite.result->placedIn = root;
  }

  for (std::vector<Life> *lives : {&first, &second})
    for (Life &life : *lives)
      if (life.placedIn) {
        Life *root = life.placedIn;
        while (root->placedIn)
          root = root->placedIn;
        root->last = std::max(root->last, life.last);
      }
  plan.liveBytes.assign(step + 1, 0);
  constexpr int64_t kAlign = rt::kBufferAlignmentBytes;
  for (size_t number = 0; number < values.size(); ++number)
    for (const Life &life : {first[number], second[number]}) {
      if (life.first == kUnused || life.placedIn)
        continue;
      plan.items.push_back({values[number].bytes, life.first, life.last, kAlign});
      int64_t rounded = (values[number].bytes + kAlign - 1) / kAlign * kAlign;
      plan.liveBytes[life.first] += rounded;
      plan.liveBytes[life.last + 1] -= rounded;
    }
  for (size_t i = 1; i < plan.liveBytes.size(); ++i)
    plan.liveBytes[i] += plan.liveBytes[i - 1];
  plan.liveBytes.pop_back();
  for (int64_t bytes : plan.liveBytes)
    plan.peakBytes = std::max(plan.peakBytes, bytes);
  return plan;
}

int64_t StepTimeline::arenaBytes(const Plan &plan) const {
  std::optional<rt::ArenaPlan> arena = rt::planArena(plan.items);
  return arena ? arena->arenaBytes : INT64_MAX;
}
