// From data sets to the batches of a training: which field goes to which input of the compiled step, labels that fit, and which sample
// of the set an error is about.
#pragma once

#include "runtime/data/BatchLoader.h"
#include "tools/nncc-train/Options.h"

namespace nncc::tools {

/// One data set with its loaders' options. The same for training and validation but for what is random.
class Batches {
public:
  /// Opens the set, binds its fields and checks all labels. User errors.
  static Result<Batches> open(const std::string &spec, bool isTraining, const nncc_model_info &info, const TrainOptions &options,
                              int64_t batchSize, uint64_t seed);

  /// Batches from `start` to the beginning of epoch `endEpoch`.
  Result<std::unique_ptr<data::BatchLoader>> load(data::BatchPosition start, int64_t endEpoch) const;

  const data::DataSource &source() const { return *dataSource; }
  int64_t sampleCount() const { return dataSource->sampleCount(); }

private:
  std::shared_ptr<const data::DataSource> dataSource;
  std::vector<data::Field> inputs;
  data::BatchLoaderOptions options;
};

/// The samples that the model takes at a time: what was asked for, or what its train section says. A user error outside the bounds of
/// the model's leading dim.
Result<int64_t> chooseBatchSize(const nncc_model_info &info, std::optional<int64_t> wanted);

/// Borrows the tensors of a batch.
std::vector<DLTensor> describe(const data::Batch &batch);

} // namespace nncc::tools
