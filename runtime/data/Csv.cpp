// Reading of CSV in one pass over the text; see Csv.h.
#include "runtime/data/Csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

using namespace nncc;
using namespace nncc::data;

namespace {

template <typename T> std::optional<T> parseNumber(std::string_view text) {
  if (text.starts_with('+'))
    text.remove_prefix(1);
  T value{};
  auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || end != text.data() + text.size())
    return std::nullopt;
  return value;
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t'))
    text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t'))
    text.remove_suffix(1);
  return text;
}

std::string quoted(std::string_view cell) {
  constexpr size_t kMaxShown = 40;
  return "'" + std::string(cell.substr(0, kMaxShown)) + (cell.size() > kMaxShown ? "...'" : "'");
}

class Parser {
public:
  Parser(std::string_view text, const CsvOptions &options, const std::string &origin)
      : rest(text), options(options), origin(origin) {}

  Result<CsvTable> parse() {
    constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
    if (rest.starts_with(kByteOrderMark))
      rest.remove_prefix(kByteOrderMark.size());
    separator = options.separator ? *options.separator : guessSeparator();
    std::vector<std::string> cells;
    for (bool isFirst = true; !rest.empty();) {
      int64_t firstLine = line;
      if (std::string problem = readRow(cells); !problem.empty())
        return fail(firstLine, problem);
      if (cells.size() == 1 && cells[0].empty())
        continue; // an empty line
      bool isHeader = false;
      if (isFirst) {
        isHeader = options.hasHeader ? *options.hasHeader : looksLikeHeader(cells);
        if (std::string problem = setColumns(cells, isHeader); !problem.empty())
          return fail(firstLine, problem);
        isFirst = false;
      }
      if (!isHeader)
        if (std::string problem = addRow(cells, firstLine); !problem.empty())
          return fail(firstLine, problem);
    }
    if (table.rowCount == 0)
      return userError("'" + origin + "': expected at least one line of values, found none");
    if (std::string problem = setLabels(); !problem.empty())
      return userError("'" + origin + "': " + problem);
    return std::move(table);
  }

private:
  Error fail(int64_t atLine, const std::string &problem) const {
    return userError(fmt::format("'{}', line {}: {}", origin, atLine, problem));
  }

  char guessSeparator() const {
    std::string_view first = rest.substr(0, rest.find('\n'));
    for (char candidate : {',', ';', '\t'})
      if (first.find(candidate) != std::string_view::npos)
        return candidate;
    return ',';
  }

  /// One row, which quotes may stretch over several lines. Returns a problem, or nothing.
  std::string readRow(std::vector<std::string> &cells) {
    cells.assign(1, "");
    bool inQuotes = false, wasQuoted = false;
    auto finish = [&] {
      if (!wasQuoted)
        cells.back() = trim(cells.back());
      wasQuoted = false;
    };
    for (size_t i = 0; i < rest.size(); ++i) {
      char c = rest[i];
      if (inQuotes) {
        line += c == '\n';
        if (c != '"')
          cells.back() += c;
        else if (i + 1 < rest.size() && rest[i + 1] == '"')
          cells.back() += rest[++i];
        else
          inQuotes = false;
      } else if (c == '"' && trim(cells.back()).empty() && !wasQuoted) {
        cells.back().clear();
        inQuotes = wasQuoted = true;
      } else if (c == separator) {
        finish();
        cells.emplace_back();
      } else if (c == '\n' || (c == '\r' && (i + 1 == rest.size() || rest[i + 1] == '\n'))) {
        finish();
        rest.remove_prefix(std::min(i + (c == '\r' ? 2 : 1), rest.size()));
        ++line;
        return "";
      } else if (wasQuoted && c != ' ' && c != '\t') {
        return fmt::format("column {}: text behind the closing quote", cells.size());
      } else if (!wasQuoted) {
        cells.back() += c;
      }
    }
    finish();
    rest = {};
    return inQuotes ? fmt::format("column {}: the closing quote is missing", cells.size()) : "";
  }

  static bool looksLikeHeader(const std::vector<std::string> &cells) {
    return std::none_of(cells.begin(), cells.end(), [](const std::string &cell) {
      return parseNumber<double>(cell).has_value();
    });
  }

  std::string setColumns(const std::vector<std::string> &cells, bool isHeader) {
    columnCount = cells.size();
    std::string wanted = options.label.value_or("");
    if (wanted == "none") {
      labelColumn = columnCount;
    } else if (!options.label) {
      constexpr std::string_view kUsualNames[] = {"label", "class", "target"};
      for (size_t i = 0; i < cells.size() && isHeader && !labelColumn; ++i)
        if (std::find(std::begin(kUsualNames), std::end(kUsualNames), cells[i]) !=
            std::end(kUsualNames))
          labelColumn = i;
      if (!labelColumn)
        return fmt::format("which of the {} columns is the label? Say label=NAME, label=NUMBER "
                           "(from 0) or label=none{}",
                           columnCount, isHeader ? "; the names are " + listCells(cells) : "");
    } else {
      auto named = std::find(cells.begin(), cells.end(), wanted);
      std::optional<size_t> number = parseNumber<size_t>(wanted);
      if (isHeader && named != cells.end())
        labelColumn = static_cast<size_t>(named - cells.begin());
      else if (number && *number < columnCount)
        labelColumn = *number;
      else
        return fmt::format("there is no column '{}' for the label; it has {} columns{}", wanted,
                           columnCount, isHeader ? ": " + listCells(cells) : "");
    }
    table.hasLabel = *labelColumn < columnCount;
    if (columnCount - table.hasLabel == 0)
      return "expected a label and at least one other column, found one column";
    table.labelName = table.hasLabel && isHeader ? cells[*labelColumn] : "label";
    for (size_t i = 0; i < cells.size() && isHeader; ++i)
      if (i != *labelColumn)
        table.featureNames.push_back(cells[i]);
    return "";
  }

  static std::string listCells(const std::vector<std::string> &cells) {
    constexpr size_t kMaxListed = 12;
    std::string text;
    for (size_t i = 0; i < std::min(cells.size(), kMaxListed); ++i)
      text += (i ? ", " : "") + cells[i];
    return cells.size() > kMaxListed ? text + ", ..." : text;
  }

  std::string addRow(const std::vector<std::string> &cells, int64_t firstLine) {
    if (cells.size() != columnCount)
      return fmt::format("expected {} columns as in the first line, found {}", columnCount,
                         cells.size());
    for (size_t i = 0; i < columnCount; ++i) {
      if (i == *labelColumn) {
        if (cells[i].empty())
          return fmt::format("column {}: the label is empty", i + 1);
        labelTexts.push_back(cells[i]);
        continue;
      }
      std::optional<float> value = parseNumber<float>(cells[i]);
      if (!value || !std::isfinite(*value))
        return fmt::format("column {}{}: expected a finite number, found {}; replace it or leave "
                           "the line out",
                           i + 1,
                           i == 0 && table.rowCount == 0 ? " (header=yes if it is a name)" : "",
                           quoted(cells[i]));
      table.features.push_back(*value);
    }
    table.lineNumbers.push_back(firstLine);
    ++table.rowCount;
    return "";
  }

  /// Whole numbers if all are, else fractions if all are numbers, else words. Returns a problem, or
  /// nothing.
  std::string setLabels() {
    if (!table.hasLabel)
      return "";
    for (const std::string &text : labelTexts)
      if (std::optional<int64_t> value = parseNumber<int64_t>(text))
        table.labels.push_back(*value);
    if (table.labels.size() == labelTexts.size())
      return "";
    table.labels.clear();
    size_t numbers = 0, firstWord = 0;
    for (size_t i = 0; i < labelTexts.size(); ++i) {
      std::optional<float> value = parseNumber<float>(labelTexts[i]);
      if (value && std::isfinite(*value)) {
        table.targets.push_back(*value);
        ++numbers;
      } else {
        firstWord = i;
      }
    }
    if (numbers == labelTexts.size())
      return "";
    table.targets.clear();
    if (numbers > 0)
      return fmt::format("the labels are neither all numbers nor all words: {} is in line {}",
                         quoted(labelTexts[firstWord]), table.lineNumbers[firstWord]);
    table.classNames = labelTexts;
    std::sort(table.classNames.begin(), table.classNames.end());
    table.classNames.erase(std::unique(table.classNames.begin(), table.classNames.end()),
                           table.classNames.end());
    for (const std::string &text : labelTexts)
      table.labels.push_back(
          std::lower_bound(table.classNames.begin(), table.classNames.end(), text) -
          table.classNames.begin());
    return "";
  }

  std::string_view rest;
  const CsvOptions &options;
  const std::string &origin;
  char separator = ',';
  int64_t line = 1;
  size_t columnCount = 0;
  std::optional<size_t> labelColumn; ///< columnCount when there is none
  std::vector<std::string> labelTexts;
  CsvTable table;
};

} // namespace

Result<CsvTable> data::parseCsv(std::string_view text, const CsvOptions &options,
                                const std::string &origin) {
  return Parser(text, options, origin).parse();
}
