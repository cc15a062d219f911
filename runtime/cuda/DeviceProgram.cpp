// Runs a Program on a CUDA device; see DeviceProgram.h.

#include "runtime/cuda/DeviceProgram.h"

#include "runtime/KernelAbi.h"
#include "runtime/MemoryPlan.h"

#include <atomic>
#include <thread>

namespace nncc::rt::cuda {

DeviceProgram::DeviceProgram(DeviceProgram &&other) noexcept
    : program(other.program), driver(other.driver), device(other.device), context(std::exchange(other.context, nullptr)),
      status(other.status), kernels(std::move(other.kernels)), memory(std::move(other.memory)),
      memoryBytes(std::move(other.memoryBytes)) {}

DeviceProgram::~DeviceProgram() {
  if (!context)
    return;
  driver->cuCtxSetCurrent(context);
  for (CUdeviceptr address : memory)
    if (address)
      driver->cuMemFree_v2(address);
  if (status)
    driver->cuMemFree_v2(status);
  for (const Kernel &kernel : kernels)
    if (kernel.module)
      driver->cuModuleUnload(kernel.module);
  driver->cuDevicePrimaryCtxRelease_v2(device);
}

Result<DeviceProgram> DeviceProgram::create(const Program &program, const std::string &header,
                                            std::span<const KernelSource> sources, const DeviceOptions &options) {
  auto driver = Driver::get();
  if (!driver)
    return driver.error();
  DeviceProgram device(program, **driver);
  if (auto loaded = device.load(header, sources, options); !loaded)
    return loaded.error();
  return device;
}

Result<void> DeviceProgram::load(const std::string &header, std::span<const KernelSource> sources, const DeviceOptions &options) {
  int count = 0;
  if (auto done = driver->check(driver->cuDeviceGetCount(&count), "counting devices"); !done)
    return done;
  if (options.ordinal < 0 || options.ordinal >= count)
    return userError("there is no CUDA device " + std::to_string(options.ordinal) + "; the machine has " + std::to_string(count));
  if (auto done = driver->check(driver->cuDeviceGet(&device, options.ordinal), "opening the device"); !done)
    return done;
  if (auto done = driver->check(driver->cuDevicePrimaryCtxRetain(&context, device), "creating a context"); !done)
    return done;
  if (auto done = driver->check(driver->cuCtxSetCurrent(context), "choosing the context"); !done)
    return done;
  int major = 0, minor = 0;
  driver->cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
  driver->cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
  auto nvrtc = Nvrtc::get();
  if (!nvrtc)
    return nvrtc.error();
  // PTX runs on the device at hand and, translated by the driver, on any newer one; the stand-in driver knows nothing else.
  std::string architecture = "compute_" + std::to_string(major * 10 + minor);

  // Threads take the next kernel until there is none.
  std::vector<Result<std::string>> images(program.kernels.size(), Result<std::string>(std::string()));
  std::atomic<size_t> next = 0;
  auto compile = [&] {
    for (size_t i; (i = next++) < images.size();)
      images[i] = compileCached(**nvrtc, options.cache, header + sources[i].text, sources[i].symbol, architecture);
  };
  std::vector<std::thread> threads;
  size_t threadCount = std::min<size_t>(std::max(1u, std::thread::hardware_concurrency()), images.size());
  for (size_t i = 1; i < threadCount; ++i)
    threads.emplace_back(compile);
  compile();
  for (std::thread &thread : threads)
    thread.join();

  for (size_t i = 0; i < images.size(); ++i) {
    if (!images[i])
      return images[i].error();
    Kernel &kernel = kernels.emplace_back();
    const std::string &symbol = program.kernels[i].symbol;
    std::string log(4096, '\0');
    CUjit_option jitOptions[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log.data(), reinterpret_cast<void *>(log.size())};
    auto loaded = driver->check(driver->cuModuleLoadDataEx(&kernel.module, images[i]->c_str(), 2, jitOptions, values),
                                "loading the kernel '" + symbol + "'");
    if (!loaded)
      return environmentError(loaded.error().message + (log[0] ? std::string("\n") + log.c_str() : ""));
    if (auto done = driver->check(driver->cuModuleGetFunction(&kernel.function, kernel.module, symbol.c_str()),
                                  "finding the kernel '" + symbol + "'");
        !done)
      return done;
  }
  memory.assign(program.buffers.size(), 0);
  memoryBytes.assign(program.buffers.size(), 0);
  return driver->check(driver->cuMemAlloc_v2(&status, sizeof(int)), "allocating the status word");
}

Result<void> DeviceProgram::allocate(uint32_t buffer, int64_t sizeBytes) {
  if (memoryBytes[buffer] >= sizeBytes && memory[buffer])
    return {};
  if (memory[buffer])
    driver->cuMemFree_v2(std::exchange(memory[buffer], 0));
  memoryBytes[buffer] = 0;
  auto done = driver->check(driver->cuMemAlloc_v2(&memory[buffer], std::max<int64_t>(sizeBytes, 1)),
                            "allocating " + std::to_string(sizeBytes) + " bytes of device memory");
  if (done)
    memoryBytes[buffer] = sizeBytes;
  return done;
}

Result<void> DeviceProgram::setParameters(std::span<const std::byte *const> contents) {
  driver->cuCtxSetCurrent(context);
  for (uint32_t id = 0; id < program.buffers.size(); ++id) {
    const Buffer &buffer = program.buffers[id];
    if (buffer.kind != BufferKind::Parameter && buffer.kind != BufferKind::Constant)
      continue;
    int64_t sizeBytes = buffer.sizeBytes.evaluate({}).getOr(0);
    if (auto done = allocate(id, sizeBytes); !done)
      return done;
    if (buffer.kind == BufferKind::Parameter && contents[id])
      if (auto done = driver->check(driver->cuMemcpyHtoD_v2(memory[id], contents[id], sizeBytes),
                                    "copying the parameter '" + buffer.name + "'");
          !done)
        return done;
  }
  const EntryPoint *prepare = program.findEntryPoint("prepare");
  if (!prepare)
    return {};
  std::vector<int64_t> dims;
  for (const NamedDim &dim : program.dims)
    dims.push_back(dim.min);
  auto plan = planMemory(program, *prepare, dims);
  if (!plan)
    return plan.error();
  CUdeviceptr arena = 0;
  if (auto done = driver->check(driver->cuMemAlloc_v2(&arena, std::max<int64_t>(plan->arenaBytes, 1)), "allocating the arena"); !done)
    return done;
  auto ran = launch(*prepare, dims, arena, plan->arenaOffsetsBytes);
  driver->cuMemFree_v2(arena);
  return ran;
}

Result<void> DeviceProgram::launch(const EntryPoint &entry, std::span<const int64_t> dims, CUdeviceptr arena,
                                   std::span<const int64_t> arenaOffsets) {
  if (auto done = driver->check(driver->cuMemsetD32_v2(status, 0, 1), "clearing the status word"); !done)
    return done;
  for (const Step &step : entry.steps) {
    const rt::Kernel &kernel = program.kernels[step.kernel];
    const CudaLaunch &launch = *kernel.cuda;
    std::string where = (kernel.source.empty() ? "" : kernel.source + ": ") + "kernel '" + kernel.name + "'";
    std::vector<CUdeviceptr> pointers;
    for (const BufferRef &ref : step.args) {
      CUdeviceptr base = memory[ref.buffer];
      int64_t sizeBytes = program.buffers[ref.buffer].sizeBytes.evaluate(dims).getOr(INT64_MAX);
      if (program.buffers[ref.buffer].kind == BufferKind::Arena)
        base = arena + arenaOffsets[ref.buffer];
      // Kernels with 32-bit positions; see CudaLaunch.
      if (!launch.wideIndex && sizeBytes / sizeBytesOf(program.buffers[ref.buffer].dtype) > INT32_MAX)
        return userError(where + " was compiled for tensors of at most 2^31 - 1 elements; give the model's dims an upper end "
                                 "(dim N = 1..100000) that says how large they may be");
      pointers.push_back(base + ref.offsetBytes.evaluate(dims).getOr(0));
    }
    std::vector<void *> arguments;
    for (CUdeviceptr &pointer : pointers)
      arguments.push_back(&pointer);
    CUdeviceptr statusPointer = status;
    if (launch.hasStatus)
      arguments.push_back(&statusPointer);
    std::vector<int64_t> wide(dims.begin(), dims.end());
    std::vector<int32_t> narrow(dims.begin(), dims.end());
    for (size_t i = 0; i < dims.size(); ++i)
      arguments.push_back(launch.wideIndex ? static_cast<void *>(&wide[i]) : static_cast<void *>(&narrow[i]));
    int64_t grid[3] = {launch.gridX.evaluate(dims).getOr(0), launch.gridY.evaluate(dims).getOr(0),
                       launch.gridZ.evaluate(dims).getOr(0)};
    if (grid[0] == 0 || grid[1] == 0 || grid[2] == 0)
      continue; // an empty result
    constexpr int64_t kMost[3] = {INT32_MAX, 65535, 65535};
    for (int axis = 0; axis < 3; ++axis)
      if (grid[axis] < 0 || grid[axis] > kMost[axis])
        return userError(where + " needs " + std::to_string(grid[axis]) + " blocks along an axis of its grid, more than a device runs; use smaller tensors");
    if (auto done = driver->check(driver->cuLaunchKernel(kernels[step.kernel].function, grid[0], grid[1], grid[2],
                                                         launch.threadsPerBlock, 1, 1, 0, nullptr, arguments.data(), nullptr),
                                  where + ": launching");
        !done)
      return done;
  }
  if (auto done = driver->check(driver->cuCtxSynchronize(), "running '" + entry.name + "'"); !done)
    return done;
  int reported = KernelOk;
  if (auto done = driver->check(driver->cuMemcpyDtoH_v2(&reported, status, sizeof reported), "reading the status word"); !done)
    return done;
  if (reported == KernelIndexOutOfRange)
    return userError("an index names an element outside the indexed dimension; check the values of the integer inputs");
  return {};
}

Result<void> DeviceProgram::run(std::span<const int64_t> dims, std::span<const std::byte *const> inputs,
                                std::span<std::byte *const> outputs) {
  driver->cuCtxSetCurrent(context);
  const EntryPoint *infer = program.findEntryPoint("infer");
  if (!infer)
    return internalError("the program has no entry point 'infer'");
  auto plan = planMemory(program, *infer, dims);
  if (!plan)
    return plan.error();
  for (size_t i = 0; i < infer->inputs.size(); ++i) {
    uint32_t id = infer->inputs[i];
    if (auto done = allocate(id, plan->sizesBytes[id]); !done)
      return done;
    if (auto done = driver->check(driver->cuMemcpyHtoD_v2(memory[id], inputs[i], plan->sizesBytes[id]), "copying an input"); !done)
      return done;
  }
  for (uint32_t id : infer->outputs)
    if (auto done = allocate(id, plan->sizesBytes[id]); !done)
      return done;
  CUdeviceptr arena = 0;
  if (auto done = driver->check(driver->cuMemAlloc_v2(&arena, std::max<int64_t>(plan->arenaBytes, 1)), "allocating the arena"); !done)
    return done;
  auto ran = launch(*infer, dims, arena, plan->arenaOffsetsBytes);
  driver->cuMemFree_v2(arena);
  if (!ran)
    return ran;
  for (size_t i = 0; i < infer->outputs.size(); ++i) {
    uint32_t id = infer->outputs[i];
    if (auto done = driver->check(driver->cuMemcpyDtoH_v2(outputs[i], memory[id], plan->sizesBytes[id]), "copying an output"); !done)
      return done;
  }
  return {};
}

} // namespace nncc::rt::cuda
