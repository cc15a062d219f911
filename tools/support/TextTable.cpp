// Tables for the terminal; see TextTable.h.

#include "tools/support/TextTable.h"

#include <algorithm>

using namespace nncc::tools;

static bool startsCharacter(char byte) { return (byte & 0xC0) != 0x80; }

size_t nncc::tools::displayWidth(std::string_view text) {
  return std::count_if(text.begin(), text.end(), startsCharacter);
}

/// The first `width` characters, the last of them an ellipsis when some are left out.
static std::string shorten(const std::string &text, size_t width) {
  if (displayWidth(text) <= width)
    return text;
  size_t characters = 0, end = 0;
  while (end < text.size() && (characters += startsCharacter(text[end])) < width)
    ++end;
  return text.substr(0, end) + "…";
}

std::string TextTable::render(size_t indent) const {
  constexpr std::string_view kGap = "  ";
  std::vector<size_t> widths;
  for (const Column &column : columns)
    widths.push_back(displayWidth(column.title));
  for (const Row &row : rows)
    for (size_t i = 0; i < row.cells.size(); ++i)
      widths[i] = std::max(widths[i], std::min(displayWidth(row.cells[i]), columns[i].maxWidth));

  std::string out;
  auto addLine = [&](auto cellText) {
    std::string line(indent, ' ');
    for (size_t i = 0; i < columns.size(); ++i) {
      std::string cell = shorten(cellText(i), std::max(widths[i], size_t(1)));
      std::string padding(widths[i] - std::min(widths[i], displayWidth(cell)), ' ');
      line += (i ? kGap : "");
      line += columns[i].align == Align::Right ? padding + cell : cell + padding;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + '\n';
  };
  size_t total = kGap.size() * (columns.size() - 1);
  for (size_t width : widths)
    total += width;
  std::string rule(indent, ' ');
  for (size_t i = 0; i < total; ++i)
    rule += "─";
  rule += '\n';

  addLine([&](size_t i) { return columns[i].title; });
  out += rule;
  for (const Row &row : rows) {
    if (row.isRule)
      out += rule;
    else
      addLine([&](size_t i) { return i < row.cells.size() ? row.cells[i] : std::string(); });
  }
  return out;
}
