// Lifetimes from the steps of an entry point. A buffer lives from the first step that names it to
// the last; since views and in-place results name the same buffer, nothing else has to be known.
#include "runtime/MemoryPlan.h"

#include "runtime/ArenaPlanner.h"

#include <algorithm>

namespace nncc::rt {
namespace {

std::string describeDims(const Program &program, std::span<const int64_t> dims) {
  std::string text;
  for (size_t i = 0; i < program.dims.size(); ++i)
    text += (i ? ", " : "") + program.dims[i].name + " = " + std::to_string(dims[i]);
  return text.empty() ? "a model without named dims" : text;
}

Error overflow(const Program &program, std::span<const int64_t> dims, const std::string &what) {
  return userError("model '" + program.modelName + "': " + what + " does not fit in 63 bits for " +
                   describeDims(program, dims) + "; use smaller values for the named dims");
}

std::string describe(const Buffer &buffer, size_t id) {
  return buffer.name.empty() ? "intermediate buffer " + std::to_string(id)
                             : "'" + buffer.name + "'";
}

} // namespace

Result<MemoryPlan> planMemory(const Program &program, const EntryPoint &entry,
                              std::span<const int64_t> dims) {
  constexpr uint32_t kUnused = UINT32_MAX;
  size_t bufferCount = program.buffers.size();
  MemoryPlan plan;
  plan.sizesBytes.resize(bufferCount, 0);
  plan.arenaOffsetsBytes.assign(bufferCount, -1);
  std::vector<uint32_t> firstUse(bufferCount, kUnused), lastUse(bufferCount, 0);

  auto use = [&](uint32_t id, size_t step) {
    firstUse[id] = std::min(firstUse[id], static_cast<uint32_t>(step));
    lastUse[id] = std::max(lastUse[id], static_cast<uint32_t>(step));
  };
  size_t stepCount = entry.steps.size();
  for (uint32_t id : entry.inputs)
    use(id, 0);
  for (uint32_t id : entry.outputs)
    use(id, stepCount ? stepCount - 1 : 0);
  for (size_t step = 0; step < stepCount; ++step)
    for (const BufferRef &ref : entry.steps[step].args)
      use(ref.buffer, step);

  // Buffers of other entry points may have no sensible size here: "prepare" knows no dims.
  for (size_t id = 0; id < bufferCount; ++id) {
    if (firstUse[id] == kUnused)
      continue;
    std::optional<int64_t> size = program.buffers[id].sizeBytes.evaluate(dims).get();
    if (!size || *size < 0)
      return overflow(program, dims, "the size of " + describe(program.buffers[id], id));
    plan.sizesBytes[id] = *size;
  }
  for (size_t step = 0; step < stepCount; ++step)
    for (const BufferRef &ref : entry.steps[step].args) {
      std::optional<int64_t> offset = ref.offsetBytes.evaluate(dims).get();
      if (!offset || *offset < 0 || *offset > plan.sizesBytes[ref.buffer])
        return internalError("entry point '" + entry.name + "' step " + std::to_string(step) +
                             ": an argument lies outside " +
                             describe(program.buffers[ref.buffer], ref.buffer) + " for " +
                             describeDims(program, dims));
    }

  std::vector<ArenaItem> items;
  std::vector<uint32_t> itemBuffers;
  for (uint32_t id = 0; id < bufferCount; ++id) {
    if (program.buffers[id].kind != BufferKind::Arena || firstUse[id] == kUnused)
      continue;
    items.push_back({plan.sizesBytes[id], firstUse[id], lastUse[id], kBufferAlignmentBytes});
    itemBuffers.push_back(id);
  }
  std::optional<ArenaPlan> arena = planArena(items);
  if (!arena)
    return overflow(program, dims, "the memory for intermediates");
  for (size_t i = 0; i < items.size(); ++i)
    plan.arenaOffsetsBytes[itemBuffers[i]] = arena->offsetsBytes[i];
  plan.arenaBytes = arena->arenaBytes;
  plan.sumBytes = arena->sumBytes;
  plan.lowerBoundBytes = arena->lowerBoundBytes;
  return plan;
}

} // namespace nncc::rt
