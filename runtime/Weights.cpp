// Matching of a weights file against a program, and the run of "prepare" when constants have to be
// made from parameters.
#include "runtime/Weights.h"

#include "runtime/Safetensors.h"

#include <algorithm>
#include <cstring>
#include <dlfcn.h>

namespace nncc::rt {
namespace {

/// At most this many superfluous names are listed; they are a hint for a misspelt name only.
constexpr size_t kMaxListedExtras = 8;

/// A relative weights file lies next to the shared object that holds the descriptor. A descriptor
/// on the heap (JIT) belongs to no shared object; then the path is taken as it is.
std::string resolveWeightsFile(const ModelDescriptor &descriptor) {
  std::string file = descriptor.weightsFile ? descriptor.weightsFile : "";
  Dl_info info;
  if (file.empty() || file[0] == '/' || !dladdr(&descriptor, &info) || !info.dli_fname)
    return file;
  std::string object = info.dli_fname;
  size_t slash = object.rfind('/');
  return slash == std::string::npos ? file : object.substr(0, slash + 1) + file;
}

} // namespace

WeightsSource findWeights(const ModelDescriptor &descriptor, const std::string &path,
                          const std::string &embeddedName) {
  WeightsSource source;
  source.path = path;
  source.embeddedName = embeddedName;
  if (path.empty() && descriptor.weights)
    source.embedded = {static_cast<const std::byte *>(descriptor.weights), descriptor.weightsBytes};
  else if (path.empty())
    source.path = resolveWeightsFile(descriptor);
  return source;
}

std::string describe(const WeightsSource &source) {
  return source.path.empty() ? "embedded" : "from '" + source.path + "'";
}

std::set<uint32_t> weightsNamedBy(const Program &program, const EntryPoint &entry) {
  std::set<uint32_t> ids;
  auto add = [&](uint32_t id) {
    BufferKind kind = program.buffers[id].kind;
    if (kind == BufferKind::Parameter || kind == BufferKind::Constant)
      ids.insert(id);
  };
  for (const Step &step : entry.steps)
    for (const BufferRef &ref : step.args)
      add(ref.buffer);
  std::for_each(entry.outputs.begin(), entry.outputs.end(), add);
  return ids;
}

std::set<uint32_t> weightsOfRuns(const Program &program) {
  std::set<uint32_t> ids;
  // Who trains starts from all parameters as they are.
  if (program.findEntryPoint("train_step"))
    for (uint32_t id = 0; id < program.buffers.size(); ++id)
      if (program.buffers[id].kind == BufferKind::Parameter)
        ids.insert(id);
  for (const EntryPoint &entry : program.entryPoints)
    if (entry.name != "prepare")
      ids.merge(weightsNamedBy(program, entry));
  return ids;
}

class WeightsLoader {
public:
  WeightsLoader(const Program &program, const Allocator &allocator)
      : program(program), allocator(allocator), prepare(program.findEntryPoint("prepare")),
        needed(weightsOfRuns(program)) {}

  Result<Weights> find(const WeightsSource &source) {
    weights.addresses.assign(program.buffers.size(), nullptr);
    if (needed.empty())
      return std::move(weights);

    if (Result<void> opened = open(source); !opened)
      return opened.error();
    bool hasConstants = std::all_of(needed.begin(), needed.end(), [&](uint32_t id) {
      return program.buffers[id].kind != BufferKind::Constant ||
             image.find(program.buffers[id].name);
    });
    std::set<uint32_t> read = needed;
    if (!hasConstants && prepare) {
      std::erase_if(read,
                    [&](uint32_t id) { return program.buffers[id].kind == BufferKind::Constant; });
      for (uint32_t id : weightsNamedBy(program, *prepare))
        if (program.buffers[id].kind == BufferKind::Parameter)
          read.insert(id);
    } else if (Result<void> checked = checkBuildId(); !checked) {
      return checked.error();
    }
    if (Result<void> taken = takeFromImage(read); !taken)
      return taken.error();
    weights.isUnprepared = !hasConstants && prepare;
    return std::move(weights);
  }

  /// Runs "prepare" on the CPU for what find() left.
  Result<Weights> runPrepare(Weights found, std::span<const CpuKernel> kernels, TaskPool &pool) {
    weights = std::move(found);
    if (Result<void> ran = runPrepare(kernels, pool); !ran)
      return ran.error();
    weights.isUnprepared = false;
    weights.prepared = true;
    return std::move(weights);
  }

private:
  Result<void> open(const WeightsSource &source) {
    std::span<const std::byte> bytes = source.embedded;
    origin = source.embeddedName;
    if (!source.path.empty()) {
      Result<MappedFile> mapped = MappedFile::open(source.path);
      if (!mapped)
        return mapped.error();
      weights.file = std::move(*mapped);
      bytes = weights.file.bytes();
      origin = source.path;
    } else if (bytes.empty()) {
      return userError("model '" + program.modelName +
                       "' was compiled without weights; name a safetensors file with its weights");
    }
    Result<Safetensors> parsed = Safetensors::parse(bytes, origin);
    if (!parsed)
      return parsed.error();
    image = std::move(*parsed);
    return {};
  }

  Result<void> checkBuildId() const {
    auto found = image.metadata().find(kWeightsBuildIdKey);
    if (found == image.metadata().end() || found->second == program.buildId)
      return {};
    return userError("the weights in '" + origin +
                     "' were prepared for another build of the model (" + found->second +
                     ", expected " + program.buildId +
                     "); use the file written together with this model, or the original weights");
  }

  /// verifyProgram: the size of a weight is a constant.
  static int64_t sizeOf(const Buffer &buffer) { return buffer.sizeBytes.terms[0].value; }

  /// What is wrong with the entry for a buffer; empty when it fits.
  std::string misfit(const Buffer &buffer) const {
    std::vector<std::string> noNames;
    std::string expected = describeType(buffer, noNames);
    const SafetensorsEntry *entry = image.find(buffer.name);
    if (!entry)
      return "\n  missing: '" + buffer.name + "' " + expected;
    // The packed form of a constant is the compiler's affair: any shape with the right number of
    // bytes will do.
    bool fits =
        entry->dtype == buffer.dtype && static_cast<int64_t>(entry->data.size()) == sizeOf(buffer);
    if (buffer.kind == BufferKind::Parameter) {
      fits &= entry->shape.size() == buffer.shape.size();
      for (size_t d = 0; fits && d < entry->shape.size(); ++d)
        fits = buffer.shape[d] == SizeExpr(entry->shape[d]);
    }
    if (fits)
      return "";
    std::string dtypeName = entry->dtype ? std::string(nameOf(*entry->dtype)) : entry->dtypeName;
    return "\n  does not fit: '" + buffer.name + "' expected " + expected + ", found " +
           describeType(dtypeName, entry->shape);
  }

  std::string listExtras(const std::set<uint32_t> &ids) const {
    std::set<std::string_view> names;
    for (uint32_t id : ids)
      names.insert(program.buffers[id].name);
    std::string text;
    size_t count = 0;
    for (const SafetensorsEntry &entry : image.entries())
      if (!names.count(entry.name) && !entry.name.starts_with(kSafetensorsPaddingPrefix) &&
          ++count <= kMaxListedExtras)
        text += (count > 1 ? ", '" : "\n  in the file, but not in the model: '") + entry.name + "'";
    return count > kMaxListedExtras
               ? text + " and " + std::to_string(count - kMaxListedExtras) + " more"
               : text;
  }

  Result<void> takeFromImage(const std::set<uint32_t> &ids) {
    std::string problems;
    for (uint32_t id : ids)
      problems += misfit(program.buffers[id]);
    if (!problems.empty())
      return userError("the weights in '" + origin + "' do not fit model '" + program.modelName +
                       "':" + problems + listExtras(ids));
    for (uint32_t id : ids) {
      const Buffer &buffer = program.buffers[id];
      std::span<const std::byte> data = image.find(buffer.name)->data;
      int64_t alignment =
          buffer.kind == BufferKind::Constant ? kBufferAlignmentBytes : sizeBytesOf(buffer.dtype);
      if (reinterpret_cast<uintptr_t>(data.data()) % static_cast<uintptr_t>(alignment) == 0) {
        weights.addresses[id] = const_cast<std::byte *>(data.data()); // kernels only read it
        continue;
      }
      Result<std::byte *> copy = allocate(data.size());
      if (!copy)
        return copy.error();
      std::memcpy(*copy, data.data(), data.size());
      weights.addresses[id] = *copy;
    }
    return {};
  }

  Result<std::byte *> allocate(size_t sizeBytes) {
    Result<MemoryBlock> block = MemoryBlock::allocate(sizeBytes, allocator);
    if (!block)
      return block.error();
    std::byte *bytes = block->bytes();
    weights.blocks.push_back(std::move(*block));
    return bytes;
  }

  Result<void> runPrepare(std::span<const CpuKernel> kernels, TaskPool &pool) {
    std::vector<int64_t> noDims(program.dims.size(), 0);
    Result<BoundEntry> bound = bindEntry(program, *prepare, kernels, noDims);
    if (!bound)
      return bound.error();
    for (uint32_t id : weightsNamedBy(program, *prepare)) {
      if (program.buffers[id].kind != BufferKind::Constant)
        continue;
      Result<std::byte *> memory = allocate(static_cast<size_t>(bound->memory.sizesBytes[id]));
      if (!memory)
        return memory.error();
      weights.addresses[id] = *memory;
    }
    for (uint32_t id : needed)
      if (!weights.addresses[id] && sizeOf(program.buffers[id]) > 0)
        return internalError("'prepare' of model '" + program.modelName + "' does not make '" +
                             program.buffers[id].name + "'");
    Result<MemoryBlock> workspace =
        MemoryBlock::allocate(static_cast<size_t>(bound->workspaceBytes(pool.lanes())), allocator);
    if (!workspace)
      return workspace.error();
    std::vector<std::byte *> bases = weights.addresses;
    for (size_t id = 0; id < bases.size(); ++id)
      if (bound->memory.arenaOffsetsBytes[id] >= 0)
        bases[id] = workspace->bytes() + bound->memory.arenaOffsetsBytes[id];
    std::vector<void *> argPointers(bound->args.size());
    Result<void> ran = execute({program,
                                *bound,
                                pool,
                                bases,
                                workspace->bytes() + bound->memory.arenaBytes,
                                argPointers,
                                {}});
    pool.rest();
    return ran;
  }

  const Program &program;
  const Allocator &allocator;
  const EntryPoint *prepare;
  std::set<uint32_t> needed; ///< weights that the other entry points read
  Safetensors image;
  std::string origin;
  Weights weights;
};

Result<Weights> Weights::find(const Program &program, const WeightsSource &source,
                              const Allocator &allocator) {
  return WeightsLoader(program, allocator).find(source);
}

Result<Weights> Weights::load(const Program &program, std::span<const CpuKernel> kernels,
                              const WeightsSource &source, TaskPool &pool,
                              const Allocator &allocator) {
  Result<Weights> found = find(program, source, allocator);
  if (!found || !found->needsPrepare())
    return found;
  return WeightsLoader(program, allocator).runPrepare(std::move(*found), kernels, pool);
}

} // namespace nncc::rt
