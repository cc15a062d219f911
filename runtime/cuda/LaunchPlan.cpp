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

Result<LaunchPlan> LaunchPlan::make(const Program &program, const BoundEntry &bound) {
  LaunchPlan plan;
  plan.program = &program;
  plan.bound = &bound;
  for (const Step &step : bound.entry->steps) {
    const Kernel &kernel = program.kernels[step.kernel];
    const CudaLaunch &cuda = *kernel.cuda; // verifyProgram: all kernels have one, or none
    Launch &launch = plan.launches.emplace_back();
    plan.reportsStatus |= cuda.hasStatus;
    if (cuda.wideIndex) {
      launch.wideDims = bound.dims;
    } else {
      launch.narrowDims.assign(bound.dims.begin(), bound.dims.end());
      for (const BufferRef &ref : step.args) {
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
  }
  return plan;
}

void LaunchPlan::use(size_t step, std::unique_ptr<LibraryKernel> library, bool replacesParts) {
  workspaceBytes = std::max(workspaceBytes, library->workspaceBytes());
  launches[step].library = std::move(library);
  if (replacesParts)
    launches[step - 1].isReplaced = true; // verifyProgram: there is one
}

Result<void> LaunchPlan::launch(size_t step, const LaunchTarget &target) const {
  const Launch &launch = launches[step];
  if (launch.isReplaced)
    return {};
  return launch.library ? launchLibrary(*launch.library, step, target) : launchKernel(step, target);
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
  const Launch &launch = launches[index];
  if (launch.grid[0] == 0 || launch.grid[1] == 0 || launch.grid[2] == 0)
    return {};
  uint32_t number = bound->steps[index].kernel;
  const Kernel &kernel = program->kernels[number];
  CUdeviceptr pointers[kMostArguments];
  void *arguments[kMostArguments];
  auto argCount = collectPointers(index, target, result, pointers);
  if (!argCount)
    return argCount.error();
  size_t count = 0;
  for (size_t i = 0; i < *argCount; ++i)
    arguments[count++] = &pointers[i];
  CUdeviceptr status = target.status;
  if (kernel.cuda->hasStatus)
    arguments[count++] = &status;
  for (const int64_t &dim : launch.wideDims)
    arguments[count++] = const_cast<int64_t *>(&dim);
  for (const int32_t &dim : launch.narrowDims)
    arguments[count++] = const_cast<int32_t *>(&dim);
  if (CUresult code = target.device.driver().cuLaunchKernel(
          target.kernels.function(number), launch.grid[0], launch.grid[1], launch.grid[2],
          static_cast<unsigned>(kernel.cuda->threadsPerBlock), 1, 1, 0, target.stream, arguments,
          nullptr))
    return target.device.failure(code, "cuLaunchKernel",
                                 describeKernel(kernel) + ", or one before it, failed");
  return {};
}

Result<void> LaunchPlan::launchLibrary(const LibraryKernel &library, size_t index,
                                       const LaunchTarget &target, CUdeviceptr result) const {
  CUdeviceptr pointers[kMostArguments];
  auto argCount = collectPointers(index, target, result, pointers);
  if (!argCount)
    return argCount.error();
  auto launched = library.launch({pointers, *argCount}, target.workspace, target.stream);
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
