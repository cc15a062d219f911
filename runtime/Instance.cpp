// A run: bind (from the cache when the dims are known), place the buffers, walk the steps, hand out
// what is not written in place.
#include "runtime/Instance.h"

#include <algorithm>
#include <cstring>

namespace nncc::rt {
namespace {

/// Bindings that are kept; a server usually sees a few batch sizes.
constexpr size_t kMaxBindings = 8;

Result<void> checkData(const char *role, const std::string &name, const TensorView &tensor,
                       int64_t sizeBytes) {
  auto fail = [&](const std::string &what) {
    return userError(std::string(role) + " \"" + name + "\": " + what);
  };
  if (sizeBytes > 0 && !tensor.data)
    return fail("its data pointer is null");
  if (reinterpret_cast<uintptr_t>(tensor.data) %
          static_cast<uintptr_t>(sizeBytesOf(tensor.dtype)) !=
      0)
    return fail("its data is not aligned to the " + std::to_string(sizeBytesOf(tensor.dtype)) +
                " bytes of an element; copy it to aligned memory");
  return {};
}

bool overlap(const void *a, int64_t aBytes, const void *b, int64_t bBytes) {
  auto begin = [](const void *data) { return reinterpret_cast<uintptr_t>(data); };
  return aBytes > 0 && bBytes > 0 && begin(a) < begin(b) + static_cast<uintptr_t>(bBytes) &&
         begin(b) < begin(a) + static_cast<uintptr_t>(aBytes);
}

/// Kernels read inputs after they have begun to write outputs.
Result<void> checkOverlap(const Program &program, const BoundEntry &bound,
                          std::span<const TensorView> inputs, std::span<const TensorView> outputs) {
  const std::vector<int64_t> &sizes = bound.memory.sizesBytes;
  for (size_t i = 0; i < outputs.size(); ++i) {
    uint32_t id = bound.entry->outputs[i];
    auto fail = [&](const char *role, uint32_t other) {
      return userError("output \"" + program.buffers[id].name + "\" shares memory with " + role +
                       " \"" + program.buffers[other].name + "\"; give it memory of its own");
    };
    for (size_t j = 0; j < inputs.size(); ++j)
      if (uint32_t other = bound.entry->inputs[j];
          overlap(outputs[i].data, sizes[id], inputs[j].data, sizes[other]))
        return fail("input", other);
    for (size_t j = 0; j < i; ++j)
      if (uint32_t other = bound.entry->outputs[j];
          overlap(outputs[i].data, sizes[id], outputs[j].data, sizes[other]))
        return fail("output", other);
  }
  return {};
}

} // namespace

Result<std::unique_ptr<Instance>> Instance::create(std::shared_ptr<const LoadedProgram> model,
                                                   const ThreadOptions &threads,
                                                   const Allocator &allocator) {
  if (!model->hasWeights())
    return userError("model '" + model->program().modelName +
                     "' was loaded for information only and cannot run");
  Result<std::unique_ptr<TaskPool>> pool = makePool(threads);
  if (!pool)
    return pool.error();
  std::unique_ptr<Instance> instance(new Instance);
  instance->program = std::move(model);
  instance->memoryAllocator = allocator;
  instance->pool = std::move(*pool);
  std::span<std::byte *const> weights = instance->program->weights().data();
  instance->fixedBases.assign(weights.begin(), weights.end());
  instance->bases = instance->fixedBases;
  instance->times.resize(instance->program->program().entryPoints.size());
  if (Result<void> allocated = instance->allocateState(); !allocated)
    return allocated.error();
  return instance;
}

Result<void> Instance::allocateState() {
  const Program &p = program->program();
  for (size_t id = 0; id < p.buffers.size(); ++id) {
    if (p.buffers[id].kind != BufferKind::State)
      continue;
    int64_t sizeBytes = p.buffers[id].sizeBytes.terms[0].value; // verifyProgram: a constant
    Result<MemoryBlock> block =
        MemoryBlock::allocate(static_cast<size_t>(sizeBytes), memoryAllocator);
    if (!block)
      return block.error();
    if (sizeBytes > 0)
      std::memset(block->bytes(), 0, static_cast<size_t>(sizeBytes));
    fixedBases[id] = block->bytes();
    stateBlocks.push_back(std::move(*block));
  }
  return {};
}

size_t Instance::indexOf(const EntryPoint &entry) const {
  return static_cast<size_t>(&entry - program->program().entryPoints.data());
}

Result<const BoundEntry *> Instance::bindInputs(const EntryPoint &entry,
                                                std::span<const TensorView> inputs) {
  Result<std::vector<int64_t>> dims = bindDims(program->program(), entry, inputs);
  if (!dims)
    return dims.error();
  return bind(entry, *dims);
}

Result<const BoundEntry *> Instance::bind(const EntryPoint &entry, std::span<const int64_t> dims) {
  auto found =
      std::find_if(bindings.begin(), bindings.end(), [&](const std::unique_ptr<BoundEntry> &bound) {
        return bound->entry == &entry &&
               std::equal(dims.begin(), dims.end(), bound->dims.begin(), bound->dims.end());
      });
  if (found != bindings.end()) {
    std::rotate(bindings.begin(), found, found + 1);
    return bindings.front().get();
  }
  const Program &p = program->program();
  if (dims.size() != p.dims.size())
    return userError("model '" + p.modelName + "' has " + std::to_string(p.dims.size()) +
                     " named dims, found " + std::to_string(dims.size()) + " values");
  for (size_t i = 0; i < dims.size(); ++i)
    if (dims[i] < p.dims[i].min || dims[i] > p.dims[i].max)
      return userError("dim " + p.dims[i].name + " must be in the range " +
                       std::to_string(p.dims[i].min) + ".." + std::to_string(p.dims[i].max) +
                       ", found " + std::to_string(dims[i]));
  Result<BoundEntry> bound = bindEntry(p, entry, program->kernels(), dims);
  if (!bound)
    return bound.error();
  if (bindings.size() == kMaxBindings)
    bindings.pop_back();
  bindings.insert(bindings.begin(), std::make_unique<BoundEntry>(std::move(*bound)));
  return bindings.front().get();
}

Result<std::byte *> Instance::findWorkspace(const BoundEntry &bound, std::span<std::byte> given) {
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

Result<void> Instance::run(const EntryPoint &entry, std::span<const TensorView> inputs,
                           std::span<const TensorView> outputs, std::span<std::byte> workspace) {
  Result<const BoundEntry *> binding = bindInputs(entry, inputs);
  if (!binding)
    return binding.error();
  const BoundEntry &bound = **binding;
  const Program &p = program->program();
  if (Result<void> checked = checkOutputs(p, bound, outputs); !checked)
    return checked;
  Result<std::byte *> memory = findWorkspace(bound, workspace);
  if (!memory)
    return memory.error();

  bases = fixedBases;
  for (size_t id = 0; id < bases.size(); ++id)
    if (bound.memory.arenaOffsetsBytes[id] >= 0)
      bases[id] = *memory + bound.memory.arenaOffsetsBytes[id];
  for (size_t i = 0; i < inputs.size(); ++i) {
    uint32_t id = entry.inputs[i];
    if (Result<void> checked =
            checkData("input", p.buffers[id].name, inputs[i], bound.memory.sizesBytes[id]);
        !checked)
      return checked;
    bases[id] = static_cast<std::byte *>(inputs[i].data);
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    uint32_t id = entry.outputs[i];
    if (Result<void> checked =
            checkData("output", p.buffers[id].name, outputs[i], bound.memory.sizesBytes[id]);
        !checked)
      return checked;
    if (p.buffers[id].kind == BufferKind::Output && !bases[id])
      bases[id] = static_cast<std::byte *>(outputs[i].data);
  }
  if (Result<void> checked = checkOverlap(p, bound, inputs, outputs); !checked)
    return checked;

  argPointers.resize(bound.args.size());
  std::span<StepTimes> stepTimes;
  if (isProfiling) {
    times[indexOf(entry)].resize(entry.steps.size());
    stepTimes = times[indexOf(entry)];
  }
  Result<void> ran =
      execute({p, bound, *pool, bases, *memory + bound.memory.arenaBytes, argPointers, stepTimes});
  pool->rest();
  if (!ran)
    return ran;
  // A result that is an input, a constant or returned twice has its place elsewhere.
  for (size_t i = 0; i < outputs.size(); ++i)
    if (uint32_t id = entry.outputs[i];
        bases[id] != outputs[i].data && bound.memory.sizesBytes[id] > 0)
      std::memcpy(outputs[i].data, bases[id], static_cast<size_t>(bound.memory.sizesBytes[id]));
  return {};
}

void Instance::setProfiling(bool isOn) {
  isProfiling = isOn;
  if (isOn)
    for (std::vector<StepTimes> &entryTimes : times)
      entryTimes.clear();
}

std::span<const StepTimes> Instance::timesOf(const EntryPoint &entry) const {
  return times[indexOf(entry)];
}

} // namespace nncc::rt
