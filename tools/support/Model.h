// A model opened by a command-line program: a model.so by dlopen, or model text compiled in memory
// by libnncc_jit.so, which is loaded only then. Either way what is left is the same nncc_api.
#pragma once

#include "nncc/nncc.h"
#include "runtime/HostTensor.h"
#include "support/Error.h"

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace nncc::tools {

struct ModelOptions {
  std::string device;  ///< "cpu", "cuda:1"; empty: the model's own choice
  std::string weights; ///< a safetensors file, or empty
  int threads = 0;     ///< 0: one per core
  uint64_t seed = 0;   ///< of initialised parameters, when text is compiled without weights
  bool infoOnly = false;
  bool training = false; ///< compile text with its train section
  std::string trainStatements; ///< of text: what its train section is or what changes in it, as nncc --train has it
  int64_t memoryBudgetBytes = 0; ///< of text: bytes for intermediates of a training step; 0: any
  int64_t batch = 0;             ///< of text: the batch for which that is planned; 0: the train section's
  std::string tuning;          ///< a tuning file, or empty
  bool tuningRequired = false;
  bool compilesTiles = false; ///< text, with tiles to choose from
  std::function<void(const std::string &)> log; ///< what loading tells; may be empty
  std::string text; ///< compiled instead of the file's contents, where not empty
};

/// A library that dlopen found; closed when the last user is gone.
using Library = std::shared_ptr<void>;

class Model {
public:
  /// A path that ends in .so is a compiled model, anything else is text to compile.
  static Result<Model> open(const std::string &path, const ModelOptions &options);

  const nncc_api &api() const { return *functions; }
  const nncc_model_info &info() const { return *functions->model_info(model.get()); }
  const nncc_model *get() const { return model.get(); }

private:
  Model() = default;
  Result<void> create(const ModelOptions &options);

  Library library;
  std::shared_ptr<void> compiled; ///< what libnncc_jit.so made; outlives the model
  const nncc_api *functions = nullptr;
  std::shared_ptr<nncc_model> model;
};

class Instance {
public:
  /// `trains`: one with parameters of its own, for the calls of training below.
  static Result<Instance> create(const Model &model, int threads, bool trains = false);

  Result<void> run(std::span<const DLTensor> inputs, std::span<const DLTensor> outputs);
  /// A run that adds what it measures to the tuning file.
  Result<void> tune(std::span<const DLTensor> inputs, std::span<const DLTensor> outputs,
                    const std::string &path);
  /// A run that allocates the outputs.
  Result<std::vector<std::shared_ptr<DLManagedTensorVersioned>>> run(std::span<const DLTensor> inputs);

  /// Loss and metrics of a batch, with and without an update of the parameters.
  Result<std::vector<double>> trainStep(std::span<const DLTensor> inputs);
  Result<std::vector<double>> evaluate(std::span<const DLTensor> inputs);
  /// Adds what the kernels of both take to the tuning file; changes no parameter.
  Result<void> tuneTraining(std::span<const DLTensor> inputs, const std::string &path);
  /// A parameter or state by name, to and from memory of the CPU.
  Result<void> getTensor(const std::string &name, rt::HostTensor &to);
  Result<void> setTensor(const std::string &name, const DLTensor &from);
  /// Makes a run fail at the first kernel that makes NaN or an infinity.
  Result<void> setFiniteCheck(bool on);

  Result<nncc_plan_info> plan(std::span<const int64_t> dims);
  Result<void> setProfiling(bool on);
  /// Of all steps of the last call, a run, since profiling was switched on.
  Result<std::vector<nncc_step_profile>> profile();
  /// The same of a training step.
  Result<std::vector<nncc_step_profile>> trainStepProfile();

private:
  Instance(const Model &model) : model(model) {}
  Result<void> check(nncc_status status) const;
  /// Takes inputs and outputs.
  using Entry = std::function<nncc_status(nncc_instance *, const DLTensor *, size_t, const DLTensor *, size_t)>;
  Result<std::vector<nncc_step_profile>> profileOf(size_t stepCount);
  Result<std::vector<double>> numbersOf(const Entry &entry, std::span<const DLTensor> inputs);

  Model model; // shares the model, which has to live as long as its instance
  std::shared_ptr<nncc_instance> instance;
};

} // namespace nncc::tools
