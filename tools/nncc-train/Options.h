// What the command line of nncc-train asks for.
#pragma once

#include "tools/support/Model.h"

#include <map>
#include <optional>

namespace nncc::tools {

struct TrainOptions {
  std::string model;
  ModelOptions loading;

  std::string data, validation; ///< as data::openData takes them; no validation where empty
  std::string normalization, augmentation;
  std::map<std::string, std::string> fieldOf; ///< of an input of the model, where the names differ
  std::optional<int64_t> batch, epochs;       ///< else what the train section says
  std::optional<uint64_t> seed;
  std::optional<double> learningRate;
  bool shuffle = true, dropLast = false;
  int dataThreads = 1;
  std::optional<int64_t> maxSteps; ///< of the whole training
  std::string tune;                ///< a tuning file to write instead of training

  std::string checkpoint; ///< empty: none is kept
  bool overwrite = false;
  bool resume = false;
  std::string resumeFrom; ///< a checkpoint by name; empty: the last one
  std::optional<int64_t> saveEvery; ///< steps; epochs always end with a checkpoint
  std::string exportPath;

  std::string eventFolder, csv;
  int64_t logEvery = 0; ///< steps; 0: each epoch
  std::string bestMetric; ///< "" : accuracy, or the loss
  bool confusion = false, quiet = false;
};

} // namespace nncc::tools
