// Tables for the terminal: columns as wide as their contents, numbers to the right, a rule under
// the header and above the totals.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace nncc::tools {

class TextTable {
public:
  enum class Align : bool { Left, Right };
  struct Column {
    std::string title;
    Align align = Align::Right;
    size_t maxWidth = 60; ///< longer cells lose their end
  };

  explicit TextTable(std::vector<Column> columns) : columns(std::move(columns)) {}

  /// One cell per column; missing ones are empty.
  void addRow(std::vector<std::string> cells) { rows.push_back({std::move(cells), false}); }
  /// A rule between the rows before and the rows after.
  void addRule() { rows.push_back({{}, true}); }

  /// `indent` spaces before every line.
  std::string render(size_t indent = 0) const;

private:
  struct Row {
    std::vector<std::string> cells;
    bool isRule = false;
  };
  std::vector<Column> columns;
  std::vector<Row> rows;
};

/// Characters of UTF-8 text, as a terminal counts them (no wide characters).
size_t displayWidth(std::string_view text);

} // namespace nncc::tools
