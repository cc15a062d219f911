// The model that is trained and its tensors as a whole: what goes into a checkpoint and comes out of one.
#pragma once

#include "runtime/data/Checkpoint.h"
#include "tools/support/Model.h"

namespace nncc::tools {

/// Copies of all parameters and states in memory of the host.
struct Snapshot {
  std::vector<std::string> names;
  std::vector<rt::HostTensor> tensors;
  size_t parameterCount = 0; ///< they come first

  /// The first `count`, which borrow from this.
  std::vector<rt::SafetensorsSource> sources(size_t count) const;
};

class TrainedModel {
public:
  /// A user error for a model that was not compiled for training.
  static Result<TrainedModel> open(const std::string &path, const ModelOptions &options);

  const nncc_model_info &info() const { return model.info(); }
  Instance &instance() { return runs; }

  Result<Snapshot> snapshot();
  Result<void> restore(const Snapshot &snapshot);
  /// Sets all tensors from a checkpoint, which has to be one of this model: else the error lists every difference, and nothing has
  /// changed.
  Result<void> restore(const data::Checkpoint &checkpoint);

  /// Sets a state that holds one number, if there is one of this name: that depends on optimizer and schedule.
  Result<void> setNumber(const std::string &name, double value);

  /// A state that counts something; nothing where there is none of this name.
  Result<std::optional<int64_t>> counter(const std::string &name);

  /// Inputs, targets and results as text: what makes a checkpoint this model's besides its tensors.
  std::string identity() const;
  std::vector<data::ExpectedTensor> tensors() const;

private:
  TrainedModel(Model model, Instance runs) : model(std::move(model)), runs(std::move(runs)) {}

  Model model;
  Instance runs;
};

} // namespace nncc::tools
