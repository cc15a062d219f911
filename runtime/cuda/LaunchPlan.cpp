// Launches for known dims; see LaunchPlan.h.

#include "runtime/cuda/LaunchPlan.h"

#include <algorithm>
#include <cstring>

namespace nncc::rt::cuda {

/// A concat's kernel has most; a launch takes 4096 bytes of arguments on any device.
static constexpr size_t kMostArguments = 512;

std::string describeKernel(const Kernel &kernel) {
  return (kernel.source.empty() ? "" : kernel.source + ": ") + "kernel '" + kernel.name + "'";
}

Result<KernelLaunch> KernelLaunch::make(const Program &program, const Kernel &kernel,
                                        const BoundEntry &bound, size_t step) {
  KernelLaunch launch;
  launch.kernel = &kernel;
  const CudaLaunch &cuda = *kernel.cuda; // verifyProgram: all kernels have one, or none
  if (cuda.wideIndex) {
    launch.wideDims = bound.dims;
  } else {
    launch.narrowDims.assign(bound.dims.begin(), bound.dims.end());
    for (const BufferRef &ref : bound.entry->steps[step].args) {
      int64_t elements =
          bound.memory.sizesBytes[ref.buffer] / sizeBytesOf(program.buffers[ref.buffer].dtype);
      if (elements > INT32_MAX)
        return userError(describeKernel(kernel) +
                         " was compiled for tensors of at most 2^31 - 1 elements; give the "
                         "model's dims an upper end (dim N = 1..100000) that says how large they "
                         "may be");
    }
  }
  const SizeExpr *extents[3] = {&cuda.gridX, &cuda.gridY, &cuda.gridZ};
  constexpr int64_t kMost[3] = {INT32_MAX, 65535, 65535};
  for (int axis = 0; axis < 3; ++axis) {
    int64_t blocks = extents[axis]->evaluate(bound.dims).getOr(INT64_MAX);
    if (blocks < 0 || blocks > kMost[axis])
      return userError(describeKernel(kernel) + " needs " + std::to_string(blocks) +
                       " blocks along an axis of its grid, more than the " +
                       std::to_string(kMost[axis]) + " that a device runs; use smaller tensors");
    launch.grid[axis] = static_cast<unsigned>(blocks);
  }
  return launch;
}

Result<void> KernelLaunch::launch(const Device &device, CUfunction function,
                                  std::span<const CUdeviceptr> pointers, CUstream stream) const {
  if (grid[0] == 0 || grid[1] == 0 || grid[2] == 0)
    return {};
  void *arguments[kMostArguments];
  size_t count = 0;
  if (pointers.size() + wideDims.size() + narrowDims.size() > kMostArguments)
    return internalError(describeKernel(*kernel) + " has too many arguments");
  for (const CUdeviceptr &pointer : pointers)
    arguments[count++] = const_cast<CUdeviceptr *>(&pointer);
  for (const int64_t &dim : wideDims)
    arguments[count++] = const_cast<int64_t *>(&dim);
  for (const int32_t &dim : narrowDims)
    arguments[count++] = const_cast<int32_t *>(&dim);
  if (CUresult code = device.driver().cuLaunchKernel(
          function, grid[0], grid[1], grid[2], static_cast<unsigned>(kernel->cuda->threadsPerBlock),
          1, 1, 0, stream, arguments, nullptr))
    return device.failure(code, "cuLaunchKernel",
                          describeKernel(*kernel) + ", or one before it, failed");
  return {};
}

Result<LaunchPlan> LaunchPlan::make(const Program &program, const BoundEntry &bound) {
  LaunchPlan plan;
  plan.program = &program;
  plan.bound = &bound;
  for (size_t step = 0; step < bound.entry->steps.size(); ++step) {
    const Kernel &kernel = program.kernels[bound.entry->steps[step].kernel];
    auto own = KernelLaunch::make(program, kernel, bound, step);
    if (!own)
      return own.error();
    plan.launches.emplace_back().own = std::move(*own);
    plan.reportsStatus |= kernel.cuda->hasStatus;
  }
  return plan;
}

void LaunchPlan::use(size_t step, std::unique_ptr<StepAlternative> alternative,
                     bool replacesParts) {
  workspaceBytes = std::max(workspaceBytes, alternative->workspaceBytes());
  launches[step].alternative = std::move(alternative);
  if (replacesParts)
    launches[step - 1].isReplaced = true; // verifyProgram: there is one
}

Result<void> LaunchPlan::launch(size_t step, const LaunchTarget &target) const {
  const Launch &launch = launches[step];
  if (launch.isReplaced)
    return {};
  return launch.alternative ? launchAlternative(*launch.alternative, step, target)
                            : launchKernel(step, target);
}

/// The addresses of the step's arguments, and how many there are.
Result<size_t> LaunchPlan::collectPointers(size_t index, const LaunchTarget &target,
                                           CUdeviceptr result,
                                           std::span<CUdeviceptr> pointers) const {
  const BoundStep &step = bound->steps[index];
  size_t argCount = bound->entry->steps[index].args.size();
  if (argCount + 1 + bound->dims.size() > pointers.size())
    return internalError(describeKernel(program->kernels[step.kernel]) + " has too many arguments");
  for (size_t i = 0; i < argCount; ++i) {
    const BoundArg &arg = bound->args[step.firstArg + i];
    pointers[i] = target.bases[arg.buffer] + static_cast<CUdeviceptr>(arg.offsetBytes);
  }
  if (result)
    pointers[argCount - 1] = result;
  return argCount;
}

Result<void> LaunchPlan::launchKernel(size_t index, const LaunchTarget &target,
                                      CUdeviceptr result) const {
  uint32_t kernel = bound->steps[index].kernel;
  CUdeviceptr pointers[kMostArguments];
  auto count = collectPointers(index, target, result, pointers);
  if (!count)
    return count.error();
  if (program->kernels[kernel].cuda->hasStatus)
    pointers[(*count)++] = target.status;
  return launches[index].own.launch(target.device, target.kernels.function(kernel),
                                    {pointers, *count}, target.stream);
}

Result<void> LaunchPlan::launchAlternative(const StepAlternative &alternative, size_t index,
                                           const LaunchTarget &target, CUdeviceptr result) const {
  CUdeviceptr pointers[kMostArguments];
  auto count = collectPointers(index, target, result, pointers);
  if (!count)
    return count.error();
  auto launched = alternative.launch({pointers, *count}, target.workspace, target.stream);
  if (launched)
    return {};
  Error error = launched.error();
  error.message =
      describeKernel(program->kernels[bound->steps[index].kernel]) + ": " + error.message;
  return error;
}

Result<StatusWord> StatusWord::create(std::shared_ptr<const Device> device, bool isNeeded) {
  StatusWord status;
  if (!isNeeded)
    return status;
  auto word = DeviceBlock::allocate(device, sizeof(int32_t), "the status word");
  if (!word)
    return word.error();
  auto copy = PinnedBlock::allocate(device, sizeof(int32_t));
  if (!copy)
    return copy.error();
  status.device = std::move(device);
  status.word = std::move(*word);
  status.copy = std::move(*copy);
  return status;
}

Result<void> StatusWord::clear(CUstream stream) const {
  if (!device)
    return {};
  if (CUresult code = device->driver().cuMemsetD32Async(word.address(), KernelOk, 1, stream))
    return device->failure(code, "cuMemsetD32Async", "cannot clear the status word");
  return {};
}

Result<void> StatusWord::fetch(CUstream stream) const {
  if (!device)
    return {};
  if (CUresult code = device->driver().cuMemcpyDtoHAsync_v2(copy.bytes(), word.address(),
                                                            sizeof(int32_t), stream))
    return device->failure(code, "cuMemcpyDtoHAsync", "cannot read the status word");
  return {};
}

Result<void> StatusWord::check() const {
  int32_t status = KernelOk;
  if (device)
    std::memcpy(&status, copy.bytes(), sizeof status);
  if (status == KernelOk)
    return {};
  if (status == KernelIndexOutOfRange)
    return userError("an index names an element outside the indexed dimension; check the values of "
                     "the integer inputs");
  return internalError("a kernel failed with status " + std::to_string(status));
}

} // namespace nncc::rt::cuda
