// Loading on a CUDA device: kernels, weights, "prepare"; see CudaProgram.h.

#include "runtime/cuda/CudaProgram.h"

#include "runtime/ProgramJson.h"
#include "runtime/Weights.h"
#include "runtime/cuda/CudaInstance.h"

namespace nncc::rt::cuda {

std::string CudaProgram::codeName() const {
  return itsDevice ? "sm_" + std::to_string(itsDevice->capability()) : "any device";
}

Result<std::shared_ptr<const CudaProgram>>
CudaProgram::load(const ModelDescriptor &descriptor, int ordinal, const LoadOptions &options) {
  std::shared_ptr<CudaProgram> result(new CudaProgram);
  const ModelCuda &model = *descriptor.cuda;
  auto program = readProgramJson({model.programJson, model.programJsonBytes});
  if (!program)
    return program.error();
  result->loaded = std::move(*program);
  result->withoutWeights = options.skipWeights;
  if (options.skipWeights) // to answer questions takes no device
    return std::shared_ptr<const CudaProgram>(result);

  auto device = Device::open(ordinal);
  if (!device)
    return device.error();
  result->itsDevice = std::move(*device);
  result->model = &model;
  if (auto checked = checkKernels(result->loaded, model); !checked)
    return checked.error();
  auto choices = KernelChoices::load(result->itsDevice, result->loaded, model, options);
  if (!choices)
    return choices.error();
  result->kernelChoices = std::move(*choices);
  auto table = KernelTable::load(result->itsDevice, result->loaded, model,
                                 result->kernelChoices.kernelsOfRuns(result->loaded),
                                 options.threads.threads, options.log);
  if (!table)
    return table.error();
  result->table = std::move(*table);
  result->filters = std::make_shared<FilterStore>(result->itsDevice);
  if (auto done = result->loadWeights(descriptor, options); !done)
    return done.error();
  return std::shared_ptr<const CudaProgram>(result);
}

Result<DeviceBlock> placeBuffers(std::shared_ptr<const Device> device, const Program &program,
                                 const std::set<uint32_t> &buffers, const std::string &role,
                                 std::vector<CUdeviceptr> &bases) {
  CheckedSize total = 0;
  std::vector<int64_t> offsets;
  for (uint32_t id : buffers) {
    offsets.push_back(total.getOr(0));
    CheckedSize sizeBytes =
        program.buffers[id].sizeBytes.terms[0].value; // verifyProgram: a constant
    total += roundUp(sizeBytes, kDeviceAlignmentBytes);
  }
  if (!total.valid())
    return userError("model '" + program.modelName + "': " + role + " do not fit in 63 bits");
  auto block = DeviceBlock::allocate(std::move(device), total.getOr(0), role);
  size_t next = 0;
  if (block)
    for (uint32_t id : buffers)
      bases[id] = block->address() + static_cast<CUdeviceptr>(offsets[next++]);
  return block;
}

Result<void> CudaProgram::loadWeights(const ModelDescriptor &descriptor,
                                      const LoadOptions &options) {
  WeightsSource source = findWeights(descriptor, options.weightsPath, options.embeddedName);
  auto found = Weights::find(loaded, source, options.allocator);
  if (!found)
    return found.error();
  auto scope = itsDevice->enter();
  if (!scope)
    return scope.error();

  std::set<uint32_t> kept = weightsOfRuns(loaded), temporary;
  addresses.assign(loaded.buffers.size(), 0);
  auto block = placeBuffers(itsDevice, loaded, kept, "the weights", addresses);
  if (!block)
    return block.error();
  memory = std::move(*block);
  // What only "prepare" reads or makes goes when it has run.
  std::vector<CUdeviceptr> bases = addresses;
  DeviceBlock temporaryMemory;
  if (found->needsPrepare()) {
    for (uint32_t id : weightsNamedBy(loaded, *loaded.findEntryPoint("prepare")))
      if (!kept.count(id))
        temporary.insert(id);
    auto more = placeBuffers(itsDevice, loaded, temporary, "the weights as they are loaded", bases);
    if (!more)
      return more.error();
    temporaryMemory = std::move(*more);
  }
  // All on one stream, which orders copies and kernels.
  auto stream = Stream::create(itsDevice);
  if (!stream)
    return stream.error();
  Result<void> done;
  for (uint32_t id = 0; done && id < found->data().size(); ++id)
    if (const std::byte *bytes = found->data()[id])
      done = copyWeight(loaded.buffers[id], bytes, bases[id], stream->get());
  if (done && found->needsPrepare())
    done = prepare(bases, stream->get());
  // Also after a failure: what was begun reads and writes memory that goes now.
  CUresult code = itsDevice->driver().cuStreamSynchronize(stream->get());
  if (done && code)
    return itsDevice->failure(code, "cuStreamSynchronize", "the weights cannot be loaded");
  return done;
}

Result<void> CudaProgram::copyWeight(const Buffer &buffer, const std::byte *bytes, CUdeviceptr to,
                                     CUstream stream) const {
  int64_t sizeBytes = buffer.sizeBytes.terms[0].value; // verifyProgram: a constant
  if (sizeBytes == 0)
    return {};
  if (CUresult code = itsDevice->driver().cuMemcpyHtoDAsync_v2(
          to, bytes, static_cast<size_t>(sizeBytes), stream))
    return itsDevice->failure(code, "cuMemcpyHtoDAsync",
                              "cannot copy the weight '" + buffer.name + "'");
  return {};
}

Result<void> CudaProgram::prepare(std::span<const CUdeviceptr> weightBases, CUstream stream) const {
  const EntryPoint &entry = *loaded.findEntryPoint("prepare");
  std::vector<int64_t> noDims(loaded.dims.size(), 0);
  auto bound = bindEntry(loaded, entry, {}, noDims);
  if (!bound)
    return bound.error();
  auto plan = LaunchPlan::make(loaded, *bound);
  if (!plan)
    return plan.error();
  auto arena =
      DeviceBlock::allocate(itsDevice, bound->memory.arenaBytes, "the arena of \"prepare\"");
  if (!arena)
    return arena.error();
  auto status = StatusWord::create(itsDevice, plan->hasStatus());
  if (!status)
    return status.error();
  if (auto cleared = status->clear(stream); !cleared)
    return cleared;
  std::vector<CUdeviceptr> bases(weightBases.begin(), weightBases.end());
  for (size_t id = 0; id < bases.size(); ++id)
    if (int64_t offset = bound->memory.arenaOffsetsBytes[id]; offset >= 0)
      bases[id] = arena->address() + static_cast<CUdeviceptr>(offset);
  for (size_t step = 0; step < entry.steps.size(); ++step)
    if (auto launched =
            plan->launch(step, {*itsDevice, table, bases, status->address(), 0, stream});
        !launched)
      return launched;
  if (auto fetched = status->fetch(stream); !fetched)
    return fetched;
  if (CUresult code = itsDevice->driver().cuStreamSynchronize(stream))
    return itsDevice->failure(code, "cuStreamSynchronize", "a kernel of \"prepare\" failed");
  return status->check();
}

Result<std::unique_ptr<Instance>> CudaProgram::createInstance(const ThreadOptions &threads,
                                                              const Allocator &allocator,
                                                              bool trains) const {
  if (auto checked = checkRunnable(trains); !checked)
    return checked.error();
  return CudaInstance::create(std::static_pointer_cast<const CudaProgram>(shared_from_this()),
                              allocator, trains);
}

static Result<std::shared_ptr<const LoadedProgram>>
loadBackend(const ModelDescriptor &descriptor, int ordinal, const LoadOptions &options) {
  auto program = CudaProgram::load(descriptor, ordinal, options);
  if (!program)
    return program.error();
  return std::shared_ptr<const LoadedProgram>(std::move(*program));
}

} // namespace nncc::rt::cuda

const nncc::rt::DeviceBackend nncc_cuda_backend = {nncc::rt::cuda::loadBackend};
