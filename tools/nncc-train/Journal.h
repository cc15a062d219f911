// Where the curves of a training go: the terminal, an event file for TensorBoard, a CSV table.
#pragma once

#include "runtime/data/CsvLog.h"
#include "runtime/data/EventFile.h"
#include "tools/nncc-train/Options.h"
#include "tools/support/ProgressBar.h"

namespace nncc::tools {

class Journal {
public:
  /// `names`: of the results, the loss first. `fromStep`: where a resumed training goes on; lines behind it are dropped.
  static Result<Journal> open(const TrainOptions &options, std::vector<std::string> names, std::optional<int64_t> fromStep);

  ProgressBar &progress() { return *bar; }
  /// A line for people.
  void say(const std::string &line);

  /// Means since the last entry, at update `step`.
  Result<void> addTraining(int64_t step, std::span<const double> results);
  Result<void> addValidation(int64_t step, std::span<const double> results);

  /// "loss 0.2345  accuracy 0.9312"
  std::string describe(std::span<const double> results) const;

private:
  Journal() = default;
  Result<void> add(int64_t step, bool isValidation, std::span<const double> results);

  std::vector<std::string> names;
  bool isQuiet = false;
  std::optional<data::EventFile> events;
  std::optional<data::CsvLog> table;
  std::unique_ptr<ProgressBar> bar;
};

} // namespace nncc::tools
