// Evaluation batch by batch; see Validation.h.

#include "tools/nncc-train/Validation.h"

#include "runtime/DLPackBridge.h"
#include "tools/support/TextTable.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>

using namespace nncc;
using namespace nncc::tools;

void MeanResults::add(std::span<const double> results, int64_t count) {
  for (size_t i = 0; i < sums.size(); ++i)
    sums[i] += results[i] * static_cast<double>(count);
  samples += count;
}

void MeanResults::clear() {
  std::fill(sums.begin(), sums.end(), 0.0);
  samples = 0;
}

std::vector<double> MeanResults::means() const {
  std::vector<double> means = sums;
  for (double &mean : means)
    mean /= static_cast<double>(std::max<int64_t>(samples, 1));
  return means;
}

std::string MeanResults::toText() const { return fmt::format("{} {:a}", samples, fmt::join(sums, " ")); }

std::optional<MeanResults> MeanResults::parse(const std::string &text, size_t count) {
  MeanResults result(count);
  const char *at = text.c_str();
  char *end = nullptr;
  result.samples = std::strtoll(at, &end, 10);
  for (double &sum : result.sums) {
    if (end == at)
      return std::nullopt;
    at = end;
    sum = std::strtod(at, &end);
  }
  return end == at || *end ? std::nullopt : std::optional(result);
}

namespace {

/// Counts a batch of predictions.
class ConfusionCounter {
public:
  static Result<ConfusionCounter> create(const nncc_model_info &info) {
    ConfusionCounter counter;
    bool isFound = info.output_count > 0 && info.outputs[0].rank == 2 && info.outputs[0].shape[1].value > 0 &&
                   info.outputs[0].dtype.code == kDLFloat && info.outputs[0].dtype.bits == 32;
    size_t targets = 0;
    for (size_t i = info.input_count; isFound && i < info.train_input_count; ++i)
      if (info.train_inputs[i].rank == 1 && info.train_inputs[i].dtype.code == kDLInt && info.train_inputs[i].dtype.bits == 64) {
        counter.target = i;
        ++targets;
      }
    if (!isFound || targets != 1)
      return userError("--confusion: the model needs f32[N, classes] as its first output and one target i64[N]");
    counter.inputCount = info.input_count;
    counter.classes = info.outputs[0].shape[1].value;
    return counter;
  }

  Result<void> add(TrainedModel &model, std::span<const DLTensor> tensors, ConfusionMatrix &confusion) const {
    confusion.resize(static_cast<size_t>(classes), std::vector<int64_t>(static_cast<size_t>(classes)));
    auto outputs = model.instance().run(tensors.first(inputCount));
    if (!outputs)
      return outputs.error();
    const DLTensor &scores = (*outputs)[0]->dl_tensor;
    auto *score = reinterpret_cast<const float *>(static_cast<const char *>(scores.data) + scores.byte_offset);
    auto *actual = static_cast<const int64_t *>(tensors[target].data);
    for (int64_t sample = 0; sample < scores.shape[0]; ++sample, score += classes)
      if (actual[sample] >= 0 && actual[sample] < classes)
        ++confusion[static_cast<size_t>(actual[sample])][static_cast<size_t>(std::max_element(score, score + classes) - score)];
    return {};
  }

private:
  size_t inputCount = 0, target = 0;
  int64_t classes = 0;
};

} // namespace

Result<Validation> tools::validate(TrainedModel &model, const Batches &batches, bool withConfusion) {
  std::optional<ConfusionCounter> counter;
  if (withConfusion) {
    auto created = ConfusionCounter::create(model.info());
    if (!created)
      return created.error();
    counter = *created;
  }
  auto loader = batches.load({}, 1);
  if (!loader)
    return loader.error();
  MeanResults means(model.info().train_output_count);
  Validation validation;
  for (;;) {
    auto batch = (*loader)->next();
    if (!batch)
      return batch.error();
    if (!*batch)
      break;
    std::vector<DLTensor> tensors = describe(**batch);
    auto results = model.instance().evaluate(tensors);
    if (!results)
      return results.error();
    means.add(*results, (*batch)->sampleCount());
    if (counter)
      if (auto counted = counter->add(model, tensors, validation.confusion); !counted)
        return counted.error();
  }
  validation.results = means.means();
  return validation;
}

std::string tools::renderConfusion(const ConfusionMatrix &confusion, std::span<const std::string> classNames) {
  auto nameOf = [&](size_t index) { return index < classNames.size() ? classNames[index] : std::to_string(index); };
  std::vector<TextTable::Column> columns = {{"actual", TextTable::Align::Left}};
  for (size_t i = 0; i < confusion.size(); ++i)
    columns.push_back({nameOf(i)});
  columns.push_back({"recall"});
  TextTable table(columns);
  for (size_t actual = 0; actual < confusion.size(); ++actual) {
    int64_t all = 0;
    std::vector<std::string> row = {nameOf(actual)};
    for (int64_t count : confusion[actual]) {
      all += count;
      row.push_back(std::to_string(count));
    }
    row.push_back(all ? fmt::format("{:.1f}%", 100.0 * static_cast<double>(confusion[actual][actual]) / static_cast<double>(all)) : "");
    table.addRow(row);
  }
  return table.render();
}
