// A training from its start, or from a checkpoint, to its end: epochs of steps, validation, checkpoints, and what is said meanwhile.
#pragma once

#include "tools/nncc-train/Batches.h"
#include "tools/nncc-train/Journal.h"
#include "tools/nncc-train/SkippedUpdates.h"
#include "tools/nncc-train/TrainedModel.h"
#include "tools/nncc-train/Validation.h"

#include <atomic>

namespace nncc::tools {

enum class TrainEnd : uint8_t { Done, Interrupted };

class TrainLoop {
public:
  /// `isInterrupted` is set from outside to make run() save and return after the current step.
  TrainLoop(TrainOptions options, const std::atomic<bool> &isInterrupted) : options(std::move(options)), isInterrupted(isInterrupted) {}

  Result<TrainEnd> run();

private:
  using Clock = std::chrono::steady_clock;

  Result<void> open();
  Result<void> resume();
  Result<void> setStates();
  Result<TrainEnd> tune();
  Result<TrainEnd> runEpochs();
  Result<std::vector<double>> step(const data::Batch &batch);
  Result<void> endEpoch();
  Result<void> log(std::span<const double> results, int64_t samples);
  Result<void> noteSafe();
  Result<void> save(bool isBest);
  Result<void> exportParameters();
  /// What is wrong with the step just made, or nothing.
  std::string problemOf(std::span<const double> results, bool isHarmless) const;
  /// The error of this problem with what made the first number that is none: a kernel.
  Error findNonFinite(const std::string &problem);
  Result<bool> noteBest(std::span<const double> results);
  std::map<std::string, std::string> settings() const;

  TrainOptions options;
  const std::atomic<bool> &isInterrupted;
  std::optional<TrainedModel> model;
  std::optional<Batches> training, validation;
  std::optional<Journal> journal;
  std::vector<std::string> names; ///< of the results
  int64_t batchSize = 0, epochs = 0, batchesPerEpoch = 0;
  uint64_t seed = 0;

  data::BatchPosition position; ///< of the next batch
  int64_t steps = 0;            ///< updates done
  std::optional<double> best;
  size_t bestResult = 0; ///< which of the results chooses the best checkpoint
  bool isHigherBetter = false;
  MeanResults ofEpoch{0}, ofEntry{0}; ///< without those of skipped updates that are no numbers
  SkippedUpdates skippedUpdates;
  Clock::time_point epochStarted;
  int64_t epochSamples = 0; ///< in this run of the program

  Snapshot safe; ///< the last known to be good, and where it stands
  data::BatchPosition safePosition;
  int64_t safeSteps = 0;
};

} // namespace nncc::tools
