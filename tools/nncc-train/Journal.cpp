// Entries of a training's curves; see Journal.h.

#include "tools/nncc-train/Journal.h"

#include <fmt/format.h>

using namespace nncc;
using namespace nncc::tools;

Result<Journal> Journal::open(const TrainOptions &options, std::vector<std::string> names, std::optional<int64_t> fromStep) {
  Journal journal;
  journal.names = std::move(names);
  journal.isQuiet = options.quiet;
  journal.bar = std::make_unique<ProgressBar>(options.quiet ? nullptr : stderr);
  if (!options.eventFolder.empty()) {
    auto created = data::EventFile::create(options.eventFolder);
    if (!created)
      return created.error();
    journal.events.emplace(std::move(*created));
  }
  if (!options.csv.empty()) {
    std::vector<std::string> columns;
    for (const char *prefix : {"train_", "val_"})
      for (const std::string &name : journal.names)
        columns.push_back(prefix + name);
    auto opened = data::CsvLog::open(options.csv, columns, fromStep);
    if (!opened)
      return opened.error();
    journal.table.emplace(std::move(*opened));
  }
  return journal;
}

void Journal::say(const std::string &line) {
  bar->clear();
  if (!isQuiet)
    fmt::print("{}\n", line);
  std::fflush(stdout);
}

Result<void> Journal::add(int64_t step, bool isValidation, std::span<const double> results) {
  if (events) {
    std::vector<std::string> tags;
    std::vector<data::Scalar> scalars;
    for (const std::string &name : names)
      tags.push_back((isValidation ? "val/" : "train/") + name);
    for (size_t i = 0; i < results.size(); ++i)
      scalars.push_back({tags[i], static_cast<float>(results[i])});
    if (auto added = events->add(step, scalars); !added)
      return added;
  }
  if (table) {
    std::vector<std::optional<double>> cells(2 * names.size());
    for (size_t i = 0; i < results.size(); ++i)
      cells[i + (isValidation ? names.size() : 0)] = results[i];
    if (auto added = table->add(step, cells); !added)
      return added;
  }
  return {};
}

Result<void> Journal::addTraining(int64_t step, std::span<const double> results) { return add(step, false, results); }
Result<void> Journal::addValidation(int64_t step, std::span<const double> results) { return add(step, true, results); }

std::string Journal::describe(std::span<const double> results) const {
  std::string text;
  for (size_t i = 0; i < results.size(); ++i)
    text += fmt::format("{}{} {:.4f}", i ? "  " : "", names[i], results[i]);
  return text;
}
