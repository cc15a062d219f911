// What instances of all devices do alike: bind (from the cache when the dims are known), check the
// caller's tensors, keep times.
#include "runtime/Instance.h"

#include <algorithm>

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

Instance::Instance(std::shared_ptr<const LoadedProgram> program, bool trains)
    : loadedProgram(std::move(program)) {
  if (trains)
    trainable.emplace(loadedProgram->program());
  times.resize(loadedProgram->program().entryPoints.size());
}

Instance::~Instance() = default;

size_t Instance::indexOf(const EntryPoint &entry) const {
  return static_cast<size_t>(&entry - program().entryPoints.data());
}

Result<const BoundEntry *> Instance::bindInputs(const EntryPoint &entry,
                                                std::span<const TensorView> inputs) {
  Result<std::vector<int64_t>> dims = bindDims(program(), entry, inputs);
  if (!dims)
    return dims.error();
  return bind(entry, *dims);
}

Result<const BoundEntry *> Instance::bind(const EntryPoint &entry, std::span<const int64_t> dims) {
  auto found =
      std::find_if(bindings.begin(), bindings.end(), [&](const std::unique_ptr<Binding> &binding) {
        const BoundEntry &bound = binding->bound;
        return bound.entry == &entry &&
               std::equal(dims.begin(), dims.end(), bound.dims.begin(), bound.dims.end());
      });
  if (found != bindings.end()) {
    std::rotate(bindings.begin(), found, found + 1);
    return &bindings.front()->bound;
  }
  const Program &p = program();
  if (dims.size() != p.dims.size())
    return userError("model '" + p.modelName + "' has " + std::to_string(p.dims.size()) +
                     " named dims, found " + std::to_string(dims.size()) + " values");
  for (size_t i = 0; i < dims.size(); ++i)
    if (dims[i] < p.dims[i].min || dims[i] > p.dims[i].max)
      return userError("dim " + p.dims[i].name + " must be in the range " +
                       std::to_string(p.dims[i].min) + ".." + std::to_string(p.dims[i].max) +
                       ", found " + std::to_string(dims[i]));
  Result<std::unique_ptr<Binding>> made = makeBinding(entry, dims);
  if (!made)
    return made.error();
  if (bindings.size() == kMaxBindings) {
    forget(*bindings.back());
    bindings.pop_back();
  }
  bindings.insert(bindings.begin(), std::move(*made));
  return &bindings.front()->bound;
}

Result<void> Instance::checkTensors(const BoundEntry &bound, std::span<const TensorView> inputs,
                                    std::span<const TensorView> outputs) const {
  const Program &p = program();
  if (Result<void> checked = checkOutputs(p, bound, outputs); !checked)
    return checked;
  auto check = [&](const char *role, std::span<const TensorView> tensors,
                   const std::vector<uint32_t> &ids) -> Result<void> {
    for (size_t i = 0; i < tensors.size(); ++i)
      if (Result<void> checked =
              checkData(role, p.buffers[ids[i]].name, tensors[i], bound.memory.sizesBytes[ids[i]]);
          !checked)
        return checked;
    return {};
  };
  if (Result<void> checked = check("input", inputs, bound.entry->inputs); !checked)
    return checked;
  if (Result<void> checked = check("output", outputs, bound.entry->outputs); !checked)
    return checked;
  return checkOverlap(p, bound, inputs, outputs);
}

void Instance::setProfiling(bool isOn) {
  isProfiling = isOn;
  if (isOn)
    for (std::vector<StepTimes> &entryTimes : times)
      entryTimes.clear();
}

std::span<StepTimes> Instance::timesToFill(const EntryPoint &entry) {
  if (!isProfiling)
    return {};
  times[indexOf(entry)].resize(entry.steps.size());
  return times[indexOf(entry)];
}

std::span<const StepTimes> Instance::timesOf(const EntryPoint &entry) const {
  return times[indexOf(entry)];
}

} // namespace nncc::rt
