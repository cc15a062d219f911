// Updates that a training in f16 leaves out, since a gradient did not fit under the loss scale of the moment. A few are as it should be;
// many in a row are not.
#pragma once

#include "tools/nncc-train/TrainedModel.h"

namespace nncc::tools {

class SkippedUpdates {
public:
  /// In a row, behind which no smaller scale will help: halving takes the default scale down to 2^-84.
  static constexpr int64_t kMost = 100;

  /// Begins to count with the model's state as it is. A model that leaves out no updates costs nothing further.
  Result<void> begin(TrainedModel &model);
  /// Looks at the step that was just made. True where a gradient of it that is not finite harms nothing: its update was left out, or will
  /// be, where it is one of several that make one.
  Result<bool> note(TrainedModel &model);

  int64_t inARow() const { return skipped - skippedBefore; }
  /// "2 updates skipped", of those since the last call; empty for none.
  std::string takeSummary();

private:
  bool isCounted = false;
  int64_t skipped = 0, updates = 0;
  int64_t skippedBefore = 0; ///< the last update that was made
  int64_t summarised = 0;
};

} // namespace nncc::tools
