// A run on a CUDA device: bind, place the caller's tensors, then, all on one stream, copy inputs,
// launch, copy outputs; wait. See CudaInstance.h.

#include "runtime/cuda/CudaInstance.h"

#include "runtime/DLPackBridge.h"
#include "runtime/cuda/StepTiles.h"
#include "runtime/cuda/TuneModel.h"

#include <cstdlib>
#include <cstring>

namespace nncc::rt::cuda {

/// What kernels expect of the tensors of a call, as of all other buffers (KernelTarget::emit).
static constexpr uint64_t kKernelAlignmentBytes = 16;

static std::string_view environment(const char *name) {
  const char *value = std::getenv(name);
  return value ? value : "";
}

CudaInstance::CudaInstance(std::shared_ptr<const CudaProgram> program, bool trains)
    : Instance(program, trains), device(program->device()),
      fixedBases(program->weights().begin(), program->weights().end()), graphs(device),
      timer(device) {
  waitsForEachStep = environment("NNCC_CUDA_SYNC") == "1";
  usesGraphs = !waitsForEachStep && environment("NNCC_CUDA_GRAPHS") != "0";
}

CudaInstance::~CudaInstance() = default;

Result<std::unique_ptr<Instance>> CudaInstance::create(std::shared_ptr<const CudaProgram> program,
                                                       const Allocator &allocator, bool trains) {
  std::unique_ptr<CudaInstance> instance(new CudaInstance(std::move(program), trains));
  instance->memoryAllocator = allocator;
  auto stream = Stream::create(instance->device);
  if (!stream)
    return stream.error();
  instance->stream = std::move(*stream);
  instance->libraries = StepLibraries(
      instance->program(),
      {instance->device, instance->cudaProgram().filterStore(), instance->stream.get()},
      instance->fixedBases, /*weightsStay=*/!trains);
  bool hasStatus = false;
  for (const Kernel &kernel : instance->program().kernels)
    hasStatus |= kernel.cuda->hasStatus;
  auto status = StatusWord::create(instance->device, hasStatus);
  if (!status)
    return status.error();
  instance->status = std::move(*status);
  if (auto allocated = instance->allocateState(); !allocated)
    return allocated.error();
  return std::unique_ptr<Instance>(std::move(instance));
}

Result<std::unique_ptr<Instance::Binding>>
CudaInstance::makeBinding(const EntryPoint &entry, std::span<const int64_t> dims) {
  auto bound = bindEntry(program(), entry, {}, dims);
  if (!bound)
    return bound.error();
  auto binding = std::make_unique<CudaBinding>(std::move(*bound));
  auto plan = LaunchPlan::make(program(), binding->bound);
  if (!plan)
    return plan.error();
  binding->plan = std::move(*plan);
  StepTiles tiles(program(), *device, cudaProgram().kernels());
  if (auto chosen = tiles.choose(cudaProgram().choices(), binding->bound, binding->plan); !chosen)
    return chosen.error();
  if (auto chosen = libraries.choose(cudaProgram().choices(), binding->bound, binding->plan);
      !chosen)
    return chosen.error();
  if (int64_t neededBytes = binding->plan.alternativesWorkspaceBytes();
      libraryMemory.sizeBytes() < neededBytes) {
    graphs.clear(); // they hold its address
    libraryMemory = DeviceBlock();
    auto block = DeviceBlock::allocate(device, neededBytes, "a library's workspace");
    if (!block)
      return block.error();
    libraryMemory = std::move(*block);
  }
  return std::unique_ptr<Binding>(std::move(binding));
}

void CudaInstance::forget(const Binding &binding) { graphs.forget(&binding); }

Result<void> CudaInstance::checkPlaces(const char *role, std::span<const TensorView> tensors,
                                       const std::vector<uint32_t> &ids) const {
  for (size_t i = 0; i < tensors.size(); ++i)
    if (tensors[i].place.kind == MemoryPlace::Cuda && tensors[i].place.ordinal != device->ordinal())
      return userError(std::string(role) + " \"" + program().buffers[ids[i]].name +
                       "\": expected a tensor in CPU memory or on CUDA device " +
                       std::to_string(device->ordinal()) + ", found one on CUDA device " +
                       std::to_string(tensors[i].place.ordinal));
  return {};
}

Result<CUdeviceptr> CudaInstance::findWorkspace(const BoundEntry &bound,
                                                std::span<std::byte> given) {
  int64_t neededBytes = bound.memory.arenaBytes;
  if (!given.empty()) {
    auto address = reinterpret_cast<CUdeviceptr>(given.data());
    if (static_cast<int64_t>(given.size()) < neededBytes)
      return userError("the workspace has " + std::to_string(given.size()) +
                       " bytes, this run needs " + std::to_string(neededBytes));
    if (address % kBufferAlignmentBytes != 0)
      return userError("the workspace must be aligned to " + std::to_string(kBufferAlignmentBytes) +
                       " bytes");
    unsigned type = 0; // stays so for memory that the driver does not know
    driver().cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address);
    if (type != CU_MEMORYTYPE_DEVICE)
      return userError("the workspace must be in the memory of CUDA device " +
                       std::to_string(device->ordinal()));
    return address;
  }
  if (arena.sizeBytes() < neededBytes) {
    graphs.clear();        // they hold its address
    arena = DeviceBlock(); // first give back, so that both are never held
    auto block = DeviceBlock::allocate(device, neededBytes, "the arena");
    if (!block)
      return block.error();
    arena = std::move(*block);
  }
  return arena.address();
}

std::vector<CudaInstance::Transfer>
CudaInstance::listTransfers(const BoundEntry &bound, std::span<const TensorView> tensors,
                            const std::vector<uint32_t> &ids) const {
  std::vector<Transfer> transfers;
  for (size_t i = 0; i < tensors.size(); ++i)
    transfers.push_back({&tensors[i], ids[i], bound.memory.sizesBytes[ids[i]]});
  return transfers;
}

/// Gives every tensor of the call a place on the device: its own where kernels can use it, else one
/// in the staging block, and on the host one in the pinned block unless it is pinned itself.
Result<void> CudaInstance::placeTensors(const RunArguments &arguments) {
  const BoundEntry &bound = currentBinding().bound;
  inputs = listTransfers(bound, arguments.inputs, bound.entry->inputs);
  outputs = listTransfers(bound, arguments.outputs, bound.entry->outputs);
  int64_t deviceBytes = 0, hostBytes = 0;
  auto addTo = [](int64_t &total, int64_t sizeBytes) {
    int64_t offset = total;
    total = (CheckedSize(total) + roundUp(CheckedSize(sizeBytes), kDeviceAlignmentBytes))
                .getOr(INT64_MAX);
    return offset;
  };
  auto place = [&](Transfer &transfer) {
    MemoryPlace::Kind kind = transfer.tensor->place.kind;
    auto address = reinterpret_cast<CUdeviceptr>(transfer.tensor->data);
    if (kind == MemoryPlace::Cuda && address % kKernelAlignmentBytes == 0)
      bases[transfer.buffer] = address;
    else
      transfer.deviceOffset = addTo(deviceBytes, transfer.sizeBytes);
  };
  auto stage = [&](Transfer &transfer) {
    if (transfer.tensor->place.kind == MemoryPlace::Host)
      transfer.hostOffset = addTo(hostBytes, transfer.sizeBytes);
  };
  for (Transfer &transfer : inputs) {
    place(transfer);
    stage(transfer);
  }
  std::set<uint32_t> placed;
  for (Transfer &transfer : outputs) {
    // A result that is an input, a constant or returned twice has its place elsewhere.
    if (program().buffers[transfer.buffer].kind == BufferKind::Output &&
        placed.insert(transfer.buffer).second)
      place(transfer);
    stage(transfer);
  }
  if (staging.sizeBytes() < deviceBytes) {
    graphs.clear(); // they hold its address
    staging = DeviceBlock();
    auto block = DeviceBlock::allocate(device, deviceBytes, "inputs and outputs");
    if (!block)
      return block.error();
    staging = std::move(*block);
  }
  if (pinned.sizeBytes() < hostBytes) {
    pinned = PinnedBlock();
    auto block = PinnedBlock::allocate(device, hostBytes);
    if (!block)
      return block.error();
    pinned = std::move(*block);
  }
  for (const std::vector<Transfer> *transfers : {&inputs, &outputs})
    for (const Transfer &transfer : *transfers)
      if (transfer.deviceOffset >= 0)
        bases[transfer.buffer] =
            staging.address() + static_cast<CUdeviceptr>(transfer.deviceOffset);
  return {};
}

/// The stream goes on when what the caller's stream has now is done.
Result<void> CudaInstance::waitForCaller(CUstream theirs) {
  if (!theirs)
    return {};
  CUevent event = nullptr;
  const char *call = "cuEventCreate";
  CUresult code = driver().cuEventCreate(&event, CU_EVENT_DISABLE_TIMING);
  if (code)
    return device->failure(code, call, "cannot wait for the caller's stream");
  code = driver().cuEventRecord(event, theirs);
  call = "cuEventRecord";
  if (!code) {
    code = driver().cuStreamWaitEvent(stream.get(), event, 0);
    call = "cuStreamWaitEvent";
  }
  driver().cuEventDestroy_v2(event); // the driver keeps it as long as a stream waits
  if (code)
    return device->failure(code, call, "cannot wait for the caller's stream");
  return {};
}

Result<void> CudaInstance::copyIn() {
  for (const Transfer &transfer : inputs) {
    if (transfer.deviceOffset < 0 || transfer.sizeBytes == 0)
      continue;
    auto size = static_cast<size_t>(transfer.sizeBytes);
    CUdeviceptr to = bases[transfer.buffer];
    const void *from = transfer.tensor->data;
    const std::string &name = program().buffers[transfer.buffer].name;
    if (transfer.tensor->place.kind == MemoryPlace::Cuda) {
      if (CUresult code = driver().cuMemcpyDtoDAsync_v2(to, reinterpret_cast<CUdeviceptr>(from),
                                                        size, stream.get()))
        return device->failure(code, "cuMemcpyDtoDAsync", "cannot copy the input '" + name + "'");
      continue;
    }
    if (transfer.hostOffset >= 0)
      from = std::memcpy(pinned.bytes() + transfer.hostOffset, from, size);
    if (CUresult code = driver().cuMemcpyHtoDAsync_v2(to, from, size, stream.get()))
      return device->failure(code, "cuMemcpyHtoDAsync", "cannot copy the input '" + name + "'");
  }
  return {};
}

Result<void> CudaInstance::launchSteps(const CudaBinding &binding, StepTimer *timed) {
  if (auto cleared = status.clear(stream.get()); !cleared)
    return cleared;
  size_t stepCount = binding.bound.steps.size();
  if (timed)
    if (auto begun = timed->begin(stepCount, stream.get()); !begun)
      return begun;
  FiniteCheck check(program(), binding.bound, [&](uint32_t id, int64_t offsetBytes, std::span<std::byte> to) -> Result<void> {
    auto from = bases[id] + static_cast<CUdeviceptr>(offsetBytes);
    CUresult code = driver().cuMemcpyDtoHAsync_v2(to.data(), from, to.size(), stream.get());
    if (code == CUDA_SUCCESS)
      code = driver().cuStreamSynchronize(stream.get());
    return code == CUDA_SUCCESS ? Result<void>() : device->failure(code, "cuMemcpyDtoHAsync", "cannot copy what a kernel left");
  });
  for (size_t step = 0; step < stepCount; ++step) {
    if (checksFinite)
      if (auto noted = check.before(step); !noted)
        return noted;
    if (auto launched = binding.plan.launch(step, target()); !launched)
      return launched;
    if (timed)
      if (auto ended = timed->end(step, stream.get()); !ended)
        return ended;
    if (checksFinite)
      if (auto checked = check.after(step); !checked)
        return checked;
    if (!waitsForEachStep)
      continue;
    if (CUresult code = driver().cuStreamSynchronize(stream.get()))
      return device->failure(code, "cuStreamSynchronize",
                             describeKernel(program().kernels[binding.bound.steps[step].kernel]) +
                                 " failed");
  }
  return {};
}

Result<void> CudaInstance::launchAll(const CudaBinding &binding, std::span<StepTimes> times) {
  if (!times.empty())
    return launchSteps(binding, &timer);
  if (!usesGraphs || checksFinite)
    return launchSteps(binding, nullptr);
  std::vector<CUdeviceptr> addresses;
  for (const std::vector<Transfer> *transfers : {&inputs, &outputs})
    for (const Transfer &transfer : *transfers)
      addresses.push_back(bases[transfer.buffer]);
  for (size_t id = 0; id < bases.size(); ++id)
    if (binding.bound.memory.arenaOffsetsBytes[id] == 0) {
      addresses.push_back(bases[id]); // the beginning of the arena
      break;
    }
  return graphs.run(&binding, addresses, stream.get(),
                    [&] { return launchSteps(binding, nullptr); });
}

Result<void> CudaInstance::copyOut() {
  for (const Transfer &transfer : outputs) {
    CUdeviceptr from = bases[transfer.buffer];
    auto size = static_cast<size_t>(transfer.sizeBytes);
    void *to = transfer.tensor->data;
    const std::string &name = program().buffers[transfer.buffer].name;
    if (size == 0)
      continue;
    if (transfer.tensor->place.kind == MemoryPlace::Cuda) {
      auto target = reinterpret_cast<CUdeviceptr>(to);
      if (target == from)
        continue;
      if (CUresult code = driver().cuMemcpyDtoDAsync_v2(target, from, size, stream.get()))
        return device->failure(code, "cuMemcpyDtoDAsync", "cannot copy the output '" + name + "'");
      continue;
    }
    if (transfer.hostOffset >= 0)
      to = pinned.bytes() + transfer.hostOffset;
    if (CUresult code = driver().cuMemcpyDtoHAsync_v2(to, from, size, stream.get()))
      return device->failure(code, "cuMemcpyDtoHAsync", "cannot copy the output '" + name + "'");
  }
  return status.fetch(stream.get());
}

Result<void> CudaInstance::run(const EntryPoint &entry, const RunArguments &arguments) {
  std::span<StepTimes> times;
  auto ran = runWith(entry, arguments, [&](const CudaBinding &binding) {
    times = timesToFill(entry);
    return launchAll(binding, times);
  });
  return !ran || times.empty() ? ran : timer.addTo(times);
}

Result<void> CudaInstance::tune(const EntryPoint &entry, const RunArguments &arguments,
                                const std::string &path) {
  return keepingState([&] {
    return runWith(entry, arguments, [&](const CudaBinding &binding) {
      return tuneModel(cudaProgram(), binding.bound, binding.plan, target(), libraries, path);
    });
  });
}

Result<void> CudaInstance::runWith(const EntryPoint &entry, const RunArguments &arguments,
                                   const std::function<Result<void>(const CudaBinding &)> &launch) {
  auto scope = device->enter();
  if (!scope)
    return scope.error();
  auto bound = bindInputs(entry, arguments.inputs);
  if (!bound)
    return bound.error();
  if (auto checked = checkTensors(**bound, arguments.inputs, arguments.outputs); !checked)
    return checked;
  if (auto checked = checkPlaces("input", arguments.inputs, entry.inputs); !checked)
    return checked;
  if (auto checked = checkPlaces("output", arguments.outputs, entry.outputs); !checked)
    return checked;
  if (auto checked = checkRanges(**bound, arguments.inputs); !checked)
    return checked;
  if (constantsAreStale && readsConstants(entry))
    if (auto prepared = prepareConstants(); !prepared)
      return prepared;
  auto workspace = findWorkspace(**bound, arguments.workspace);
  if (!workspace)
    return workspace.error();
  // What an earlier run left there would hide that it is made again.
  if (checksFinite && (*bound)->memory.arenaBytes > 0)
    if (CUresult code = driver().cuMemsetD8Async(*workspace, 0, static_cast<size_t>((*bound)->memory.arenaBytes), stream.get()))
      return device->failure(code, "cuMemsetD8Async", "cannot clear the workspace");
  bases = fixedBases;
  for (size_t id = 0; id < bases.size(); ++id)
    if (int64_t offset = (*bound)->memory.arenaOffsetsBytes[id]; offset >= 0)
      bases[id] = *workspace + static_cast<CUdeviceptr>(offset);
  if (auto placed = placeTensors(arguments); !placed)
    return placed;

  const auto &binding = static_cast<const CudaBinding &>(currentBinding());
  Result<void> ran = waitForCaller(static_cast<CUstream>(arguments.stream));
  if (ran)
    ran = copyIn();
  if (ran)
    ran = launch(binding);
  if (ran)
    ran = copyOut();
  // Also after a failure: what was begun reads the caller's memory.
  CUresult code = driver().cuStreamSynchronize(stream.get());
  noteRun(entry);
  if (!ran)
    return ran;
  if (code)
    return device->failure(code, "cuStreamSynchronize", "a kernel of the run failed");
  if (auto checked = status.check(); !checked)
    return checked;
  for (const Transfer &transfer : outputs)
    if (transfer.hostOffset >= 0 && transfer.sizeBytes > 0)
      std::memcpy(transfer.tensor->data, pinned.bytes() + transfer.hostOffset,
                  static_cast<size_t>(transfer.sizeBytes));
  return {};
}

Result<DLManagedTensorVersioned *> CudaInstance::allocateOutput(DType type,
                                                                std::span<const int64_t> shape,
                                                                int64_t sizeBytes,
                                                                MemoryPlace place) {
  if (place.kind != MemoryPlace::Cuda)
    return allocateTensor(type, shape, sizeBytes, memoryAllocator);
  auto block = DeviceBlock::allocate(device, sizeBytes, "an output");
  if (!block)
    return block.error();
  auto owner = std::make_shared<DeviceBlock>(std::move(*block));
  void *data = reinterpret_cast<void *>(owner->address());
  return makeTensor(type, shape, data, {kDLCUDA, device->ordinal()}, std::move(owner));
}

} // namespace nncc::rt::cuda
