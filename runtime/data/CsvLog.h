// The log of a training as a table: one line per entry, the first column its step.
#pragma once

#include "support/Error.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace nncc::data {

class CsvLog {
public:
  /// `columns` are those behind "step". A new log replaces what is there; one that goes on at
  /// `fromStep` keeps the lines of steps before it, whose columns have to be the same.
  static Result<CsvLog> open(const std::string &path, const std::vector<std::string> &columns,
                             std::optional<int64_t> fromStep = std::nullopt);

  CsvLog(CsvLog &&other) noexcept;
  CsvLog &operator=(CsvLog &&) = delete;
  ~CsvLog();

  /// Appends a line; an empty value leaves its cell empty. Written at once.
  Result<void> add(int64_t step, std::span<const std::optional<double>> values);

private:
  CsvLog() = default;

  std::string filePath;
  size_t columnCount = 0;
  int descriptor = -1;
};

} // namespace nncc::data
