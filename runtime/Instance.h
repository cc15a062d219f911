// One stream of runs over a shared LoadedProgram, on that program's device: bindings of recent
// dims, checks of the caller's tensors, times. CpuInstance and cuda/CudaInstance add memory and
// execution. An instance serves one call at a time; several instances run at the same time.
#pragma once

#include "nncc/nncc.h"
#include "runtime/Binding.h"
#include "runtime/Execution.h"
#include "runtime/LoadedProgram.h"
#include "runtime/TrainableMemory.h"

#include <map>

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
  /// file `path`. Parameters and states are what they were. A user error where there is nothing to
  /// choose.
  virtual Result<void> tune(const EntryPoint &, const RunArguments &,
                            const std::string & /*path*/) {
    return userError("only a model on a CUDA device can be tuned; use --device=cuda");
  }

  /// Whether this instance has parameters and states of its own, which "train_step" changes and "infer" and "evaluate" read.
  bool trains() const { return trainable.has_value(); }
  /// What can be read and written by name; none when it does not train.
  std::span<const NamedTensor> tensors() const;
  /// Between the instance and memory of the host, of the tensor's type and shape. User errors for a name that does not exist and
  /// for a tensor that does not fit.
  Result<void> getTensor(std::string_view name, const TensorView &to);
  Result<void> setTensor(std::string_view name, const TensorView &from);
  /// All parameters and states as a safetensors file, which appears complete or not at all, and back. Loading changes nothing
  /// when any tensor is missing or does not fit; the error lists all of them.
  Result<void> saveState(const std::string &path, const std::map<std::string, std::string> &metadata);
  Result<void> loadState(const std::string &path);

  /// An uninitialised tensor in memory that this instance can write to.
  virtual Result<DLManagedTensorVersioned *> allocateOutput(DType type,
                                                            std::span<const int64_t> shape,
                                                            int64_t sizeBytes,
                                                            MemoryPlace place) = 0;

  /// From then on a run ends with an error at the first kernel that makes NaN or an infinity; it is slow.
  void setFiniteCheck(bool isOn) { checksFinite = isOn; }

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

  Instance(std::shared_ptr<const LoadedProgram> program, bool trains);

  /// Between memory of the host and a buffer that this instance owns.
  virtual Result<void> readBuffer(uint32_t id, int64_t offsetBytes, std::span<std::byte> to) = 0;
  virtual Result<void> writeBuffer(uint32_t id, int64_t offsetBytes, std::span<const std::byte> from) = 0;
  /// Integer inputs in host memory lie in the ranges that the program gives: names the first element that does not.
  Result<void> checkRanges(const BoundEntry &bound, std::span<const TensorView> inputs) const;

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

  /// What needs memory from the first run to the last: states, and, to train, parameters that lie in none.
  std::vector<uint32_t> keptBuffers() const;
  /// A run of `entry` reads what "prepare" makes.
  bool readsConstants(const EntryPoint &entry) const { return entry.name == "infer"; }
  /// After a run, successful or not.
  void noteRun(const EntryPoint &entry) { constantsAreStale |= trains() && entry.name == "train_step"; }

  std::optional<TrainableMemory> trainable;
  /// "prepare" has to run before "infer": a parameter has changed.
  bool constantsAreStale = false;
  bool checksFinite = false;

private:
  size_t indexOf(const EntryPoint &entry) const;
  Result<const NamedTensor *> findTensor(std::string_view name, const TensorView &tensor) const;

  std::shared_ptr<const LoadedProgram> loadedProgram;
  std::vector<std::unique_ptr<Binding>> bindings; ///< most recently used first
  bool isProfiling = false;
  std::vector<std::vector<StepTimes>> times; ///< per entry point
};

} // namespace nncc::rt
