// What a train section may name besides losses and metrics (ops/LossOps.cpp): settings, and the
// optimizers, schedules and gradient clippings with their signatures. One table for the check of the section, for suggestions
// and for docs/language.md.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace nncc::frontend {

struct TrainFunction {
  std::string_view family; // "optimizer", "schedule", "clip", "loss_scale"
  std::string_view name;
  /// As OpEntry::signature.
  std::string_view signature;
  std::string_view summary;
};

struct TrainSetting {
  std::string_view name;
  /// The family of function that it takes, or "" for a plain value of the kind `kind`; with both it takes either.
  std::string_view family;
  std::string_view kind;
  std::string_view summary;
};

const std::vector<TrainFunction> &trainFunctions();
const std::vector<TrainSetting> &trainSettings();

/// Null where there is none.
const TrainFunction *findTrainFunction(std::string_view family, std::string_view name);
const TrainSetting *findTrainSetting(std::string_view name);

/// Both tables as Markdown.
std::string trainTableMarkdown();

} // namespace nncc::frontend
