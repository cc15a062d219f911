// Reads the counters of the compiled step; see SkippedUpdates.h.

#include "tools/nncc-train/SkippedUpdates.h"

#include <fmt/format.h>

using namespace nncc;
using namespace nncc::tools;

namespace {

constexpr const char *kSkipped = "train.skipped", *kUpdates = "train.step";

} // namespace

Result<void> SkippedUpdates::begin(TrainedModel &model) {
  auto count = model.counter(kSkipped);
  if (!count)
    return count.error();
  isCounted = count->has_value();
  skipped = skippedBefore = summarised = count->value_or(0);
  auto made = model.counter(kUpdates);
  if (!made)
    return made.error();
  updates = made->value_or(0);
  return {};
}

Result<bool> SkippedUpdates::note(TrainedModel &model) {
  if (!isCounted)
    return false;
  auto count = model.counter(kSkipped), made = model.counter(kUpdates);
  if (!count || !made)
    return count ? made.error() : count.error();
  bool isMade = **made != updates;
  updates = **made;
  skipped = **count;
  if (isMade)
    skippedBefore = skipped;
  return !isMade;
}

std::string SkippedUpdates::takeSummary() {
  int64_t count = skipped - summarised;
  summarised = skipped;
  return count ? fmt::format("{} update{} skipped", count, count == 1 ? "" : "s") : "";
}
