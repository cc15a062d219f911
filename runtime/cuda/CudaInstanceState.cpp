// What a CudaInstance keeps from run to run: states, and, to train, parameters of its own and the constants that are made from them;
// see CudaInstance.h.

#include "runtime/cuda/CudaInstance.h"

namespace nncc::rt::cuda {

Result<void> CudaInstance::allocateState() {
  std::vector<CUdeviceptr> shared = fixedBases;
  std::vector<uint32_t> kept = keptBuffers();
  auto block = placeBuffers(device, program(), {kept.begin(), kept.end()}, "the model's state", fixedBases);
  if (!block)
    return block.error();
  state = std::move(*block);
  constantsAreStale = trains();
  if (state.sizeBytes() == 0)
    return {};
  auto scope = device->enter();
  if (!scope)
    return scope.error();
  Result<void> done = initialiseState(shared);
  // Also after a failure: what was begun reads memory of this function.
  CUresult code = driver().cuStreamSynchronize(stream.get());
  if (done && code)
    return device->failure(code, "cuStreamSynchronize", "cannot initialise the model's state");
  return done;
}

/// States with their first values, and, to train, a copy of each parameter: in its state, where it has one.
Result<void> CudaInstance::initialiseState(std::span<const CUdeviceptr> shared) {
  if (CUresult code = driver().cuMemsetD8Async(state.address(), 0, static_cast<size_t>(state.sizeBytes()), stream.get()))
    return device->failure(code, "cuMemsetD8Async", "cannot clear the model's state");
  for (uint32_t id : keptBuffers()) {
    const Buffer &buffer = program().buffers[id];
    if (buffer.kind != BufferKind::State || buffer.initialValue == 0)
      continue;
    if (Result<void> written = writeBuffer(id, 0, initialContents(buffer)); !written)
      return written;
  }
  for (const NamedTensor &tensor : tensors()) {
    if (!tensor.isParameter)
      continue;
    CUdeviceptr to = fixedBases[tensor.buffer] + static_cast<CUdeviceptr>(tensor.offsetBytes);
    fixedBases[tensor.parameter] = to;
    if (tensor.sizeBytes == 0)
      continue;
    if (CUresult code = driver().cuMemcpyDtoDAsync_v2(to, shared[tensor.parameter], static_cast<size_t>(tensor.sizeBytes),
                                                      stream.get()))
      return device->failure(code, "cuMemcpyDtoDAsync", "cannot copy the weight '" + tensor.name + "'");
  }
  return {};
}

Result<void> CudaInstance::readBuffer(uint32_t id, int64_t offsetBytes, std::span<std::byte> to) {
  auto scope = device->enter();
  if (!scope)
    return scope.error();
  if (to.empty())
    return {};
  if (CUresult code = driver().cuMemcpyDtoHAsync_v2(to.data(), fixedBases[id] + static_cast<CUdeviceptr>(offsetBytes), to.size(),
                                                    stream.get()))
    return device->failure(code, "cuMemcpyDtoHAsync", "cannot read '" + program().buffers[id].name + "'");
  if (CUresult code = driver().cuStreamSynchronize(stream.get()))
    return device->failure(code, "cuStreamSynchronize", "cannot read '" + program().buffers[id].name + "'");
  return {};
}

Result<void> CudaInstance::writeBuffer(uint32_t id, int64_t offsetBytes, std::span<const std::byte> from) {
  auto scope = device->enter();
  if (!scope)
    return scope.error();
  if (from.empty())
    return {};
  if (CUresult code = driver().cuMemcpyHtoDAsync_v2(fixedBases[id] + static_cast<CUdeviceptr>(offsetBytes), from.data(),
                                                    from.size(), stream.get()))
    return device->failure(code, "cuMemcpyHtoDAsync", "cannot write '" + program().buffers[id].name + "'");
  if (CUresult code = driver().cuStreamSynchronize(stream.get()))
    return device->failure(code, "cuStreamSynchronize", "cannot write '" + program().buffers[id].name + "'");
  return {};
}

/// With memory for constants from the first time on: who only trains needs none.
Result<void> CudaInstance::prepareConstants() {
  constantsAreStale = false;
  if (!program().findEntryPoint("prepare"))
    return {};
  if (constants.sizeBytes() == 0) {
    std::set<uint32_t> ids;
    for (uint32_t id = 0; id < program().buffers.size(); ++id)
      if (program().buffers[id].kind == BufferKind::Constant)
        ids.insert(id);
    auto block = placeBuffers(device, program(), ids, "the weights", fixedBases);
    if (!block)
      return block.error();
    constants = std::move(*block);
    graphs.clear(); // they hold the addresses of the shared ones
  }
  return cudaProgram().prepare(fixedBases, stream.get());
}

Result<void> CudaInstance::keepingState(const std::function<Result<void>()> &call) {
  if (state.sizeBytes() == 0)
    return call();
  auto scope = device->enter();
  if (!scope)
    return scope.error();
  auto before = DeviceBlock::allocate(device, state.sizeBytes(), "a copy of the model's state");
  if (!before)
    return before.error();
  auto copy = [&](CUdeviceptr to, CUdeviceptr from) -> Result<void> {
    constexpr const char *kAttempt = "cannot keep the model's state";
    if (CUresult code = driver().cuMemcpyDtoDAsync_v2(
            to, from, static_cast<size_t>(state.sizeBytes()), stream.get()))
      return device->failure(code, "cuMemcpyDtoDAsync", kAttempt);
    if (CUresult code = driver().cuStreamSynchronize(stream.get()))
      return device->failure(code, "cuStreamSynchronize", kAttempt);
    return {};
  };
  if (auto kept = copy(before->address(), state.address()); !kept)
    return kept;
  Result<void> done = call();
  Result<void> restored = copy(state.address(), before->address());
  return done ? restored : done;
}

} // namespace nncc::rt::cuda
