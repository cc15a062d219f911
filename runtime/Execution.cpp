// Nothing here allocates unless a step fails: a run costs its kernels, one pointer addition per
// argument and, for parallel steps, a fork and join.
#include "runtime/Execution.h"

#include <chrono>

namespace nncc::rt {
namespace {

int64_t nowNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

struct StepCall {
  const BoundStep &step;
  void *const *args;
  const int64_t *dims;
  std::byte *scratch;
  int64_t scratchBytesPerLane;

  static int32_t run(void *context, int64_t beginTask, int64_t endTask, int lane) {
    const StepCall &call = *static_cast<const StepCall *>(context);
    std::byte *scratch = call.scratch ? call.scratch + call.scratchBytesPerLane * lane : nullptr;
    return call.step.function(call.args, call.dims, beginTask, endTask, scratch);
  }
};

Error kernelError(const Program &program, const BoundStep &step, int32_t status) {
  const Kernel &kernel = program.kernels[step.kernel];
  std::string where =
      (kernel.source.empty() ? "" : kernel.source + ": ") + "kernel '" + kernel.name + "': ";
  if (status == KernelIndexOutOfRange)
    return userError(
        where + "an index names an element outside the indexed dimension; check the values of the "
                "integer inputs");
  return internalError(where + "failed with status " + std::to_string(status));
}

} // namespace

Result<void> execute(const Execution &execution) {
  const BoundEntry &bound = execution.bound;
  for (size_t i = 0; i < bound.args.size(); ++i)
    execution.argPointers[i] = execution.bases[bound.args[i].buffer] + bound.args[i].offsetBytes;

  bool isTimed = !execution.times.empty();
  int64_t runStartNs = isTimed ? nowNs() : 0;
  int64_t stepStartNs = runStartNs;
  for (size_t i = 0; i < bound.steps.size(); ++i) {
    const BoundStep &step = bound.steps[i];
    StepCall call{step, execution.argPointers.data() + step.firstArg, bound.dims.data(),
                  bound.scratchBytesPerLane ? execution.scratch : nullptr,
                  bound.scratchBytesPerLane};
    if (execution.finiteCheck)
      if (Result<void> noted = execution.finiteCheck->before(i); !noted)
        return noted;
    int32_t status = KernelOk;
    if (step.isParallel)
      status = execution.pool.run(step.taskCount, &StepCall::run, &call);
    else if (step.taskCount > 0)
      status = StepCall::run(&call, 0, step.taskCount, 0);
    if (status != KernelOk)
      return kernelError(execution.program, step, status);
    if (execution.finiteCheck)
      if (Result<void> checked = execution.finiteCheck->after(i); !checked)
        return checked;
    if (!isTimed)
      continue;
    int64_t endNs = nowNs();
    StepTimes &times = execution.times[i];
    times.lastStartNs = stepStartNs - runStartNs;
    times.lastNs = endNs - stepStartNs;
    times.totalNs += times.lastNs;
    times.minNs = std::min(times.minNs, times.lastNs);
    ++times.calls;
    stepStartNs = endNs;
  }
  return {};
}

} // namespace nncc::rt
