// The kernels of a run as one CUDA graph, which launches with one call instead of one per kernel. A
// graph holds for certain addresses; the few that were used last are kept. Capturing takes longer
// than launching, so only what is asked for a second time is captured.
#pragma once

#include "runtime/cuda/DeviceMemory.h"

#include <functional>
#include <span>

namespace nncc::rt::cuda {

class RunGraphs {
public:
  RunGraphs() = default;
  explicit RunGraphs(std::shared_ptr<const Device> device) : device(std::move(device)) {}
  RunGraphs(RunGraphs &&) = default;
  RunGraphs &operator=(RunGraphs &&other) noexcept;
  ~RunGraphs() { clear(); }

  /// What `launch` puts on the stream depends on nothing but the owner (a binding) and the
  /// addresses. Runs it: by itself the first time, from then on as a graph.
  Result<void> run(const void *owner, std::span<const CUdeviceptr> addresses, CUstream stream,
                   const std::function<Result<void>()> &launch);

  /// Drops the graphs of an owner that goes away.
  void forget(const void *owner);
  void clear();

private:
  struct Entry {
    const void *owner;
    std::vector<CUdeviceptr> addresses;
    CUgraphExec graph = nullptr; ///< nullptr: seen once
  };
  Result<CUgraphExec> capture(CUstream stream, const std::function<Result<void>()> &launch) const;
  void destroy(Entry &entry) const;

  std::shared_ptr<const Device> device;
  std::vector<Entry> entries; ///< most recently used first
};

} // namespace nncc::rt::cuda
