// Capture and replay; see RunGraphs.h.

#include "runtime/cuda/RunGraphs.h"

#include <algorithm>

namespace nncc::rt::cuda {

/// Graphs that are kept; a server usually sees a few batch sizes and reuses its buffers.
static constexpr size_t kMostGraphs = 8;

RunGraphs &RunGraphs::operator=(RunGraphs &&other) noexcept {
  clear();
  device = std::move(other.device);
  entries = std::move(other.entries);
  return *this;
}

void RunGraphs::destroy(Entry &entry) const {
  if (!entry.graph)
    return;
  if (auto scope = device->enter())
    device->driver().cuGraphExecDestroy(entry.graph);
  entry.graph = nullptr;
}

void RunGraphs::clear() {
  for (Entry &entry : entries)
    destroy(entry);
  entries.clear();
}

void RunGraphs::forget(const void *owner) {
  std::erase_if(entries, [&](Entry &entry) {
    if (entry.owner == owner)
      destroy(entry);
    return entry.owner == owner;
  });
}

Result<CUgraphExec> RunGraphs::capture(CUstream stream,
                                       const std::function<Result<void>()> &launch) const {
  const Driver &cuda = device->driver();
  // Other threads may allocate and free meanwhile.
  if (CUresult code = cuda.cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL))
    return device->failure(code, "cuStreamBeginCapture", "cannot capture the run");
  Result<void> launched = launch();
  CUgraph graph = nullptr;
  CUresult ended = cuda.cuStreamEndCapture(stream, &graph);
  CUgraphExec executable = nullptr;
  CUresult made = CUDA_SUCCESS;
  if (launched && !ended)
    made = cuda.cuGraphInstantiateWithFlags(&executable, graph, /*flags=*/0);
  if (graph)
    cuda.cuGraphDestroy(graph);
  if (!launched)
    return launched.error();
  if (ended)
    return device->failure(ended, "cuStreamEndCapture", "cannot capture the run");
  if (made)
    return device->failure(made, "cuGraphInstantiate", "cannot make a graph of the run");
  return executable;
}

Result<void> RunGraphs::run(const void *owner, std::span<const CUdeviceptr> addresses,
                            CUstream stream, const std::function<Result<void>()> &launch) {
  auto found = std::find_if(entries.begin(), entries.end(), [&](const Entry &entry) {
    return entry.owner == owner && std::equal(addresses.begin(), addresses.end(),
                                              entry.addresses.begin(), entry.addresses.end());
  });
  if (found == entries.end()) {
    if (entries.size() == kMostGraphs) {
      destroy(entries.back());
      entries.pop_back();
    }
    entries.insert(entries.begin(), {owner, {addresses.begin(), addresses.end()}});
    return launch();
  }
  std::rotate(entries.begin(), found, found + 1);
  Entry &entry = entries.front();
  if (!entry.graph) {
    auto captured = capture(stream, launch);
    if (!captured)
      return captured.error();
    entry.graph = *captured;
  }
  if (CUresult code = device->driver().cuGraphLaunch(entry.graph, stream))
    return device->failure(code, "cuGraphLaunch", "cannot launch the run");
  return {};
}

} // namespace nncc::rt::cuda
