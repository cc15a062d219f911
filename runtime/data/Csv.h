// Tables of numbers as text: one sample a line, one column the label. Fields in quotes as RFC 4180
// has them.
#pragma once

#include "support/Error.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nncc::data {

struct CsvOptions {
  /// The label's column: its name, its number from 0, or "none".
  std::optional<std::string> label;
  std::optional<bool> hasHeader; ///< else: whether no cell of the first line is a number
  std::optional<char> separator; ///< else the one of ',', ';' and tab that the first line has
};

struct CsvTable {
  std::vector<std::string> featureNames; ///< empty without a header
  std::string labelName;
  int64_t rowCount = 0;
  std::vector<float> features;      ///< row-major
  std::vector<int64_t> lineNumbers; ///< of each row

  bool hasLabel = false;
  /// One of the two: integers, also of words, which are numbered in the order of their names; or
  /// fractions, when the labels are numbers that are not whole.
  std::vector<int64_t> labels;
  std::vector<float> targets;
  std::vector<std::string> classNames; ///< of words
};

/// `origin` stands in error messages, with line and column.
Result<CsvTable> parseCsv(std::string_view text, const CsvOptions &options,
                          const std::string &origin);

} // namespace nncc::data
