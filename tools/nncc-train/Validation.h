// Loss and metrics over a whole data set, and which classes are taken for which.
#pragma once

#include "tools/nncc-train/Batches.h"
#include "tools/nncc-train/TrainedModel.h"

namespace nncc::tools {

/// The mean over samples of what each batch has as its mean.
class MeanResults {
public:
  explicit MeanResults(size_t count) : sums(count) {}

  void add(std::span<const double> results, int64_t samples);
  void clear();
  int64_t sampleCount() const { return samples; }
  std::vector<double> means() const;

  /// Exactly, to go on with later; nothing for a text that is none.
  std::string toText() const;
  static std::optional<MeanResults> parse(const std::string &text, size_t count);

private:
  std::vector<double> sums;
  int64_t samples = 0;
};

/// confusion[actual][predicted]: samples.
using ConfusionMatrix = std::vector<std::vector<int64_t>>;

struct Validation {
  std::vector<double> results; ///< as train_outputs names them
  ConfusionMatrix confusion;   ///< empty where not asked for
};

/// `withConfusion`: a user error where the model's first output is not [N, classes] beside one integer target [N].
Result<Validation> validate(TrainedModel &model, const Batches &batches, bool withConfusion);

/// A table with the recall of each class; `classNames` may be empty.
std::string renderConfusion(const ConfusionMatrix &confusion, std::span<const std::string> classNames);

} // namespace nncc::tools
