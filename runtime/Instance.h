// One stream of runs over a shared LoadedProgram, on that program's device: bindings of recent
// dims, checks of the caller's tensors, times. CpuInstance and cuda/CudaInstance add memory and
// execution. An instance serves one call at a time; several instances run at the same time.
#pragma once

#include "nncc/nncc.h"
#include "runtime/Binding.h"
#include "runtime/Execution.h"
#include "runtime/LoadedProgram.h"

namespace nncc::rt {

class Instance {
public:
  virtual ~Instance();

  /// The binding for these inputs (checked) or these dims (their range is checked). Valid until the
  /// next call.
  Result<const BoundEntry *> bindInputs(const EntryPoint &entry,
                                        std::span<const TensorView> inputs);
  Result<const BoundEntry *> bind(const EntryPoint &entry, std::span<const int64_t> dims);

  /// Workspace that a run of this binding needs, in the memory of the instance's device.
  virtual int64_t workspaceBytes(const BoundEntry &bound) const = 0;
  virtual int lanes() const = 0;

  struct RunArguments {
    std::span<const TensorView> inputs, outputs;
    std::span<std::byte> workspace; ///< the caller's; empty: the instance keeps its own
    void *stream = nullptr;         ///< CUDA: the caller's stream, whose work the run waits for
  };
  virtual Result<void> run(const EntryPoint &entry, const RunArguments &arguments) = 0;
  /// A run that measures what libraries offer for its kernels and writes the choices to the tuning
  /// file `path`. A user error where there is nothing to choose.
  virtual Result<void> tune(const EntryPoint &, const RunArguments &,
                            const std::string & /*path*/) {
    return userError("only a model on a CUDA device can be tuned; use --device=cuda");
  }

  /// An uninitialised tensor in memory that this instance can write to.
  virtual Result<DLManagedTensorVersioned *> allocateOutput(DType type,
                                                            std::span<const int64_t> shape,
                                                            int64_t sizeBytes,
                                                            MemoryPlace place) = 0;

  /// Switching on clears the times.
  void setProfiling(bool isOn);
  /// Per step of the entry point; empty before its first profiled run.
  std::span<const StepTimes> timesOf(const EntryPoint &entry) const;

  /// The binding of the last run or plan; nullptr before the first.
  const BoundEntry *lastBinding() const {
    return bindings.empty() ? nullptr : &bindings.front()->bound;
  }
  const LoadedProgram &model() const { return *loadedProgram; }

protected:
  /// What an instance keeps for one entry point at certain dims.
  struct Binding {
    explicit Binding(BoundEntry bound) : bound(std::move(bound)) {}
    virtual ~Binding() = default;
    BoundEntry bound;
  };

  explicit Instance(std::shared_ptr<const LoadedProgram> program);

  virtual Result<std::unique_ptr<Binding>> makeBinding(const EntryPoint &entry,
                                                       std::span<const int64_t> dims) = 0;
  /// A binding is about to be dropped.
  virtual void forget(const Binding &) {}

  /// Number, types, shapes, alignment and overlap of the caller's tensors.
  Result<void> checkTensors(const BoundEntry &bound, std::span<const TensorView> inputs,
                            std::span<const TensorView> outputs) const;
  /// Where the times of a profiled run belong; empty when profiling is off.
  std::span<StepTimes> timesToFill(const EntryPoint &entry);
  Binding &currentBinding() { return *bindings.front(); }
  const Program &program() const { return loadedProgram->program(); }

private:
  size_t indexOf(const EntryPoint &entry) const;

  std::shared_ptr<const LoadedProgram> loadedProgram;
  std::vector<std::unique_ptr<Binding>> bindings; ///< most recently used first
  bool isProfiling = false;
  std::vector<std::vector<StepTimes>> times; ///< per entry point
};

} // namespace nncc::rt
