// How far a training is, on one line that is written over and over: only on a terminal, never into
// a file or a pipe.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>

namespace nncc::tools {

struct Progress {
  int64_t epoch = 0, epochs = 0;  ///< `epoch` counts from 0
  int64_t batch = 0, batches = 0; ///< done, of the epoch
  std::optional<double> loss;
  double samplesPerSecond = 0;
  double secondsLeft = -1; ///< below 0: not known
};

/// "epoch 2/10 [=====>    ] 120/938  loss 0.1234  5,432 samples/s  0:12 left". What does not fit in
/// `columns` is left out, from the end; the bar takes the room that is left.
std::string renderProgress(const Progress &progress, int columns);

class ProgressBar {
public:
  /// `stream`: where it is shown, if that is a terminal; null: nowhere.
  explicit ProgressBar(std::FILE *stream = stderr);
  ~ProgressBar() { clear(); }

  bool isShown() const { return isTerminal; }

  /// Rate and time left are those of the progress since begin(); drawn a few times a second.
  void begin(int64_t epochs, int64_t batchesPerEpoch, int64_t epoch, int64_t batch);
  void update(int64_t epoch, int64_t batchesDone, int64_t samples, std::optional<double> loss);

  /// Removes the line, for other output; the next update draws it again.
  void clear();

private:
  using Clock = std::chrono::steady_clock;

  std::FILE *stream;
  bool isTerminal;
  bool isDrawn = false;
  Progress progress;
  int64_t firstBatch = 0; ///< of the training, where this run began
  int64_t samplesDone = 0;
  Clock::time_point started, drawn;
};

} // namespace nncc::tools
