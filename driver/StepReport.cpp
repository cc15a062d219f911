// Tables of a training step's memory; see StepReport.h.

#include "driver/StepReport.h"

#include "passes/Passes.h"
#include "runtime/MemoryPlan.h"
#include "tools/support/TextTable.h"
#include "tools/support/Units.h"

#include <fmt/format.h>

#include <algorithm>

using namespace nncc;
using namespace nncc::driver;
using namespace nncc::tools;

namespace {

using Phase = StepNote::Phase;
using enum TextTable::Align;

std::string_view nameOf(Phase phase) {
  return phase == Phase::Forward ? "forward" : phase == Phase::Backward ? "backward" : "update";
}

class StepReport {
public:
  StepReport(const rt::Program &program, const rt::EntryPoint &step, const StepNotes &notes, const rt::MemoryPlan &plan,
             std::vector<int64_t> dims)
      : program(program), step(step), plan(plan), dims(std::move(dims)), notes(notes) {
    matchNotes();
    findLives();
  }

  std::string render() const { return summary() + "\n" + curve() + "\n" + peak(); }

private:
  /// Buffers of the arena that are alive together, from the first step that names them to the last.
  struct Life {
    uint32_t buffer;
    size_t first, last;
  };

  /// A kernel of the passes is a step, or two where code generation made two of it.
  void matchNotes() {
    size_t next = 0;
    for (const rt::Step &taken : step.steps) {
      const std::string &name = program.kernels[taken.kernel].name;
      bool isSecond = !noteOf.empty() && (next == notes.kernels.size() || notes.kernels[next].kernel != name);
      noteOf.push_back(isSecond ? noteOf.back() : next < notes.kernels.size() ? &notes.kernels[next] : nullptr);
      next += !isSecond;
    }
  }

  void findLives() {
    std::vector<size_t> index(program.buffers.size(), SIZE_MAX);
    for (size_t at = 0; at < step.steps.size(); ++at)
      for (const rt::BufferRef &ref : step.steps[at].args) {
        if (program.buffers[ref.buffer].kind != rt::BufferKind::Arena)
          continue;
        if (index[ref.buffer] == SIZE_MAX) {
          index[ref.buffer] = lives.size();
          lives.push_back({ref.buffer, at, at});
        }
        lives[index[ref.buffer]].last = at;
      }
    liveBytes.assign(step.steps.size(), 0);
    for (const Life &life : lives)
      for (size_t at = life.first; at <= life.last; ++at)
        liveBytes[at] += plan.sizesBytes[life.buffer];
    peakStep = size_t(std::max_element(liveBytes.begin(), liveBytes.end()) - liveBytes.begin());
  }

  Phase phaseOf(size_t at) const { return noteOf[at] ? noteOf[at]->phase : Phase::Forward; }
  std::string_view phaseNameOf(size_t at) const {
    return noteOf[at] && noteOf[at]->isRecomputed ? "again" : nameOf(phaseOf(at));
  }
  double flopsOf(size_t at) const { return double(step.steps[at].flops.evaluate(dims).getOr(0)); }

  std::string summary() const {
    std::string at;
    for (size_t i = 0; i < dims.size(); ++i)
      at += fmt::format("{}{} = {}", i ? ", " : "", program.dims[i].name, dims[i]);
    std::string text = fmt::format("training step{}{}\n", at.empty() ? "" : " at ", at);
    auto line = [&](std::string_view name, int64_t bytes, const std::string &note) {
      text += fmt::format("  {:<14}{:>10}  {}\n", name, formatBytes(double(bytes)), note);
    };
    line("arena", plan.arenaBytes,
         fmt::format("{} bytes, {:.1f}% above the lower bound", plan.arenaBytes,
                     plan.lowerBoundBytes ? 100 * (double(plan.arenaBytes) / double(plan.lowerBoundBytes) - 1) : 0.0));
    line("lower bound", plan.lowerBoundBytes,
         fmt::format("largest set of intermediates alive at one step, #{}", step.steps.empty() ? 0 : peakStep + 1));
    line("sum", plan.sumBytes, "all intermediates without sharing");
    int64_t kept = 0;
    size_t backward = 0;
    while (backward < step.steps.size() && phaseOf(backward) == Phase::Forward)
      ++backward;
    for (const Life &life : lives)
      if (life.first < backward && life.last >= backward)
        kept += plan.sizesBytes[life.buffer];
    line("kept", kept, "of the forward pass for the backward pass");
    double repeated = 0, all = 0;
    size_t count = 0;
    for (size_t i = 0; i < step.steps.size(); ++i) {
      all += flopsOf(i);
      if (noteOf[i] && noteOf[i]->isRecomputed) {
        repeated += flopsOf(i);
        ++count;
      }
    }
    if (count)
      line("saved", notes.unlimitedBytes - plan.arenaBytes,
           fmt::format("by {} kernels that run again, {:.1f}% more FLOPs", count, 100 * repeated / std::max(all - repeated, 1.0)));
    return text;
  }

  /// Stretches of the step with the most bytes alive in each.
  std::string curve() const {
    constexpr size_t kMostRows = 40, kBarWidth = 40;
    size_t stretch = std::max<size_t>((step.steps.size() + kMostRows - 1) / kMostRows, 1);
    TextTable table({{"#"}, {"phase", Left}, {"alive"}, {"", Left}});
    for (size_t first = 0; first < step.steps.size();) {
      size_t end = first + 1;
      while (end < step.steps.size() && end - first < stretch && phaseNameOf(end) == phaseNameOf(first))
        ++end;
      int64_t most = *std::max_element(liveBytes.begin() + long(first), liveBytes.begin() + long(end));
      auto width = size_t(double(kBarWidth) * double(most) / double(std::max<int64_t>(liveBytes[peakStep], 1)) + 0.5);
      std::string bar;
      for (size_t i = 0; i < width; ++i)
        bar += "█";
      bool isPeak = first <= peakStep && peakStep < end;
      table.addRow({end - first == 1 ? std::to_string(end) : fmt::format("{}–{}", first + 1, end), std::string(phaseNameOf(first)),
                    formatBytes(double(most)), bar + (isPeak ? " peak" : "")});
      first = end;
    }
    return table.render(2);
  }

  /// The largest intermediates that are alive at the peak.
  std::string peak() const {
    constexpr size_t kMostRows = 12;
    std::vector<const Life *> alive;
    for (const Life &life : lives)
      if (life.first <= peakStep && life.last >= peakStep)
        alive.push_back(&life);
    std::stable_sort(alive.begin(), alive.end(),
                     [&](const Life *a, const Life *b) { return plan.sizesBytes[a->buffer] > plan.sizesBytes[b->buffer]; });
    TextTable table({{"at the peak"}, {"made by", Left, 44}, {"source", Left, 32}, {"alive", Left}});
    int64_t rest = 0;
    for (size_t i = 0; i < alive.size(); ++i) {
      const Life &life = *alive[i];
      if (i >= kMostRows) {
        rest += plan.sizesBytes[life.buffer];
        continue;
      }
      const StepNote *note = noteOf[life.first];
      std::string source = note ? note->source.substr(note->source.rfind('/') + 1) : "";
      table.addRow({formatBytes(double(plan.sizesBytes[life.buffer])), program.kernels[step.steps[life.first].kernel].name, source,
                    fmt::format("#{}–{}{}", life.first + 1, life.last + 1, note && note->isRecomputed ? ", computed again" : "")});
    }
    if (rest)
      table.addRow({formatBytes(double(rest)), fmt::format("{} others", alive.size() - kMostRows), "", ""});
    return table.render(2);
  }

  const rt::Program &program;
  const rt::EntryPoint &step;
  const rt::MemoryPlan &plan;
  std::vector<int64_t> dims;
  const StepNotes &notes;
  std::vector<const StepNote *> noteOf; ///< per step
  std::vector<Life> lives;
  std::vector<int64_t> liveBytes; ///< per step
  size_t peakStep = 0;
};

} // namespace

Result<std::string> driver::reportTrainStep(const rt::Program &program, const StepNotes &notes) {
  const rt::EntryPoint *step = program.findEntryPoint(passes::kTrainStepFunction.str());
  if (!step || step->steps.empty())
    return internalError("the program has no training step");
  std::vector<int64_t> dims = trainingDims(program);
  auto plan = rt::planMemory(program, *step, dims);
  if (!plan)
    return plan.error();
  return StepReport(program, *step, notes, *plan, dims).render();
}
