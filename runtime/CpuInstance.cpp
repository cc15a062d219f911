// A run on the CPU: bind, place the buffers, walk the steps, hand out what is not written in place.
#include "runtime/CpuInstance.h"

#include "runtime/DLPackBridge.h"

#include <algorithm>
#include <cstring>

namespace nncc::rt {

CpuInstance::CpuInstance(std::shared_ptr<const CpuProgram> program, bool trains)
    : Instance(program, trains), kernels(program->kernels()) {}

Result<std::unique_ptr<Instance>> CpuInstance::create(std::shared_ptr<const CpuProgram> program,
                                                      const ThreadOptions &threads,
                                                      const Allocator &allocator, bool trains) {
  Result<std::unique_ptr<TaskPool>> pool = makePool(threads);
  if (!pool)
    return pool.error();
  std::span<std::byte *const> weights = program->weights().data();
  std::unique_ptr<CpuInstance> instance(new CpuInstance(std::move(program), trains));
  instance->memoryAllocator = allocator;
  instance->pool = std::move(*pool);
  instance->fixedBases.assign(weights.begin(), weights.end());
  if (Result<void> allocated = instance->allocateState(); !allocated)
    return allocated.error();
  return std::unique_ptr<Instance>(std::move(instance));
}

/// verifyProgram: the size of what is kept from run to run is a constant.
static size_t sizeOf(const Buffer &buffer) { return static_cast<size_t>(buffer.sizeBytes.terms[0].value); }

Result<void> CpuInstance::allocate(uint32_t id) {
  Result<MemoryBlock> block = MemoryBlock::allocate(sizeOf(program().buffers[id]), memoryAllocator);
  if (!block)
    return block.error();
  fixedBases[id] = block->bytes();
  stateBlocks.push_back(std::move(*block));
  return {};
}

/// States with their first values, and, to train, a copy of each parameter: in its state, where it has one.
Result<void> CpuInstance::allocateState() {
  const Program &p = program();
  std::vector<std::byte *> shared = fixedBases;
  for (uint32_t id : keptBuffers()) {
    if (Result<void> allocated = allocate(id); !allocated)
      return allocated;
    if (p.buffers[id].kind != BufferKind::State)
      continue;
    std::vector<std::byte> contents = initialContents(p.buffers[id]);
    std::copy(contents.begin(), contents.end(), fixedBases[id]);
  }
  for (const NamedTensor &tensor : tensors()) {
    if (!tensor.isParameter)
      continue;
    fixedBases[tensor.parameter] = fixedBases[tensor.buffer] + tensor.offsetBytes;
    std::copy_n(shared[tensor.parameter], tensor.sizeBytes, fixedBases[tensor.parameter]);
  }
  constantsAreStale = trains();
  return {};
}

Result<void> CpuInstance::readBuffer(uint32_t id, int64_t offsetBytes, std::span<std::byte> to) {
  std::copy_n(fixedBases[id] + offsetBytes, to.size(), to.data());
  return {};
}

Result<void> CpuInstance::writeBuffer(uint32_t id, int64_t offsetBytes, std::span<const std::byte> from) {
  std::copy_n(from.data(), from.size(), fixedBases[id] + offsetBytes);
  return {};
}

/// With memory for constants from the first time on: who only trains needs none.
Result<void> CpuInstance::prepare() {
  const EntryPoint *entry = program().findEntryPoint("prepare");
  constantsAreStale = false;
  if (!entry)
    return {};
  for (uint32_t id = 0; id < program().buffers.size() && !hasOwnConstants; ++id)
    if (program().buffers[id].kind == BufferKind::Constant)
      if (Result<void> allocated = allocate(id); !allocated)
        return allocated;
  hasOwnConstants = true;
  std::vector<int64_t> noDims(program().dims.size(), 0);
  Result<BoundEntry> bound = bindEntry(program(), *entry, kernels, noDims);
  if (!bound)
    return bound.error();
  Result<std::byte *> memory = findWorkspace(*bound, {});
  if (!memory)
    return memory.error();
  std::vector<std::byte *> places = fixedBases;
  for (size_t id = 0; id < places.size(); ++id)
    if (bound->memory.arenaOffsetsBytes[id] >= 0)
      places[id] = *memory + bound->memory.arenaOffsetsBytes[id];
  argPointers.resize(bound->args.size());
  Result<void> ran = execute({program(), *bound, *pool, places, *memory + bound->memory.arenaBytes, argPointers, {}, nullptr});
  pool->rest();
  return ran;
}

Result<std::unique_ptr<Instance::Binding>> CpuInstance::makeBinding(const EntryPoint &entry,
                                                                    std::span<const int64_t> dims) {
  Result<BoundEntry> bound = bindEntry(program(), entry, kernels, dims);
  if (!bound)
    return bound.error();
  return std::make_unique<Binding>(std::move(*bound));
}

Result<std::byte *> CpuInstance::findWorkspace(const BoundEntry &bound,
                                               std::span<std::byte> given) {
  size_t neededBytes = static_cast<size_t>(workspaceBytes(bound));
  if (!given.empty()) {
    if (given.size() < neededBytes)
      return userError("the workspace has " + std::to_string(given.size()) +
                       " bytes, this run needs " + std::to_string(neededBytes));
    if (reinterpret_cast<uintptr_t>(given.data()) % kBufferAlignmentBytes != 0)
      return userError("the workspace must be aligned to " + std::to_string(kBufferAlignmentBytes) +
                       " bytes");
    return given.data();
  }
  if (ownWorkspace.sizeBytes() < neededBytes) {
    ownWorkspace = MemoryBlock(); // first give back, so that both are never held
    Result<MemoryBlock> block = MemoryBlock::allocate(neededBytes, memoryAllocator);
    if (!block)
      return block.error();
    ownWorkspace = std::move(*block);
  }
  return ownWorkspace.bytes();
}

/// "input \"image\": expected a tensor in CPU memory"
static Result<void> checkPlaces(const Program &program, const char *role,
                                std::span<const TensorView> tensors,
                                const std::vector<uint32_t> &ids) {
  for (size_t i = 0; i < tensors.size(); ++i)
    if (tensors[i].place.kind == MemoryPlace::Cuda)
      return userError(std::string(role) + " \"" + program.buffers[ids[i]].name +
                       "\": expected a tensor in CPU memory, found one on CUDA device " +
                       std::to_string(tensors[i].place.ordinal) +
                       "; the model runs on the device \"cpu\"");
  return {};
}

Result<void> CpuInstance::run(const EntryPoint &entry, const RunArguments &arguments) {
  Result<const BoundEntry *> binding = bindInputs(entry, arguments.inputs);
  if (!binding)
    return binding.error();
  const BoundEntry &bound = **binding;
  const Program &p = program();
  std::span<const TensorView> inputs = arguments.inputs, outputs = arguments.outputs;
  if (Result<void> checked = checkTensors(bound, inputs, outputs); !checked)
    return checked;
  if (Result<void> checked = checkPlaces(p, "input", inputs, entry.inputs); !checked)
    return checked;
  if (Result<void> checked = checkPlaces(p, "output", outputs, entry.outputs); !checked)
    return checked;
  if (Result<void> checked = checkRanges(bound, inputs); !checked)
    return checked;
  if (constantsAreStale && readsConstants(entry))
    if (Result<void> prepared = prepare(); !prepared)
      return prepared;
  Result<std::byte *> memory = findWorkspace(bound, arguments.workspace);
  if (!memory)
    return memory.error();

  bases = fixedBases;
  for (size_t id = 0; id < bases.size(); ++id)
    if (bound.memory.arenaOffsetsBytes[id] >= 0)
      bases[id] = *memory + bound.memory.arenaOffsetsBytes[id];
  for (size_t i = 0; i < inputs.size(); ++i)
    bases[entry.inputs[i]] = static_cast<std::byte *>(inputs[i].data);
  for (size_t i = 0; i < outputs.size(); ++i)
    if (uint32_t id = entry.outputs[i]; p.buffers[id].kind == BufferKind::Output && !bases[id])
      bases[id] = static_cast<std::byte *>(outputs[i].data);

  argPointers.resize(bound.args.size());
  // What an earlier run left there would hide that it is made again.
  if (checksFinite)
    std::fill_n(*memory, bound.memory.arenaBytes, std::byte(0));
  FiniteCheck check(p, bound, [&](uint32_t id, int64_t offsetBytes, std::span<std::byte> to) -> Result<void> {
    std::copy_n(bases[id] + offsetBytes, to.size(), to.data());
    return {};
  });
  Result<void> ran = execute({p, bound, *pool, bases, *memory + bound.memory.arenaBytes, argPointers, timesToFill(entry),
                              checksFinite ? &check : nullptr});
  pool->rest();
  noteRun(entry);
  if (!ran)
    return ran;
  // A result that is an input, a constant or returned twice has its place elsewhere.
  for (size_t i = 0; i < outputs.size(); ++i)
    if (uint32_t id = entry.outputs[i];
        bases[id] != outputs[i].data && bound.memory.sizesBytes[id] > 0)
      std::memcpy(outputs[i].data, bases[id], static_cast<size_t>(bound.memory.sizesBytes[id]));
  return {};
}

Result<DLManagedTensorVersioned *> CpuInstance::allocateOutput(DType type,
                                                               std::span<const int64_t> shape,
                                                               int64_t sizeBytes,
                                                               MemoryPlace place) {
  if (place.kind != MemoryPlace::Host)
    return userError("the model runs on the device \"cpu\" and allocates outputs in CPU memory "
                     "only");
  return allocateTensor(type, shape, sizeBytes, memoryAllocator);
}

} // namespace nncc::rt
