// How expressions are laid out, shared by the printer's two files: PrinterExpr.cpp implements this,
// Printer.cpp prints statements and declarations with it.
#pragma once

#include "frontend/nn/Printer.h"

namespace nncc::frontend {

inline constexpr size_t indentWidth = 2;

/// Where an expression goes: the indentation of its line, the columns used before it on that line,
/// those needed behind it.
struct Placement {
  size_t indent = 0;
  size_t before = 0;
  size_t after = 0;
};

/// The expression, on one line where it fits and nothing asks for more; `precedence` is that of
/// what surrounds it.
std::string layout(const Expr &expr, Placement place, int precedence = 0);

/// `open item, item close` likewise. `layoutItem(item, placement)` gives one item;
/// `mustBreak(item)` says that it holds comments or a list that its author broke.
template <typename T, typename LayoutItem, typename MustBreak>
std::string layoutItems(const ItemList<T> &list, char open, char close, Placement place,
                        LayoutItem layoutItem, MustBreak mustBreak);

/// The expression holds a comment, or a list with a trailing comma.
bool mustBreakLine(const Expr &expr);

std::string layoutType(const TypeExpr &type);
void appendComments(std::string &out, const std::vector<CommentLine> &lines, size_t indent,
                    bool atStart);

/// The width of the last line of `text`, which began at column `before`.
size_t lastLineWidth(const std::string &text, size_t before);

template <typename T, typename LayoutItem, typename MustBreak>
std::string layoutItems(const ItemList<T> &list, char open, char close, Placement place,
                        LayoutItem layoutItem, MustBreak mustBreak) {
  bool broken = !list.dangling.empty() || (list.trailingComma && !list.entries.empty());
  for (const auto &entry : list.entries)
    broken |= !entry.trivia.leading.empty() || !entry.trivia.trailing.empty();
  bool oneItem = list.entries.size() == 1 && !broken;
  for (const auto &entry : list.entries)
    broken |= mustBreak(entry.value);

  if (!broken) {
    std::string flat(1, open);
    for (const auto &entry : list.entries) {
      // Nothing may force a break in here, so the width given does not matter as long as it is
      // endless.
      if (&entry != &list.entries.front())
        flat += ", ";
      flat += layoutItem(entry.value, Placement{place.indent, 0, 0}, /*flat=*/true);
    }
    flat += close;
    if (list.entries.empty() || place.before + flat.size() + place.after <= printWidth)
      return flat;
  }
  // A call around one bracketed thing opens and closes with it: relu(conv2d(\n ... \n)).
  if (oneItem) {
    std::string item = layoutItem(
        list.entries[0].value, Placement{place.indent, place.before + 1, place.after + 1}, false);
    if (item.find('\n') != std::string::npos)
      return open + item + close;
  }
  std::string out(1, open);
  out += '\n';
  size_t indent = place.indent + indentWidth;
  bool first = true;
  for (const auto &entry : list.entries) {
    appendComments(out, entry.trivia.leading, indent, first);
    if (entry.trivia.blankBefore && !(first && entry.trivia.leading.empty()))
      out += '\n';
    out += std::string(indent, ' ') + layoutItem(entry.value, Placement{indent, indent, 1}, false) +
           ',';
    if (!entry.trivia.trailing.empty())
      out += "  " + entry.trivia.trailing;
    out += '\n';
    first = false;
  }
  appendComments(out, list.dangling, indent, first);
  return out + std::string(place.indent, ' ') + close;
}

} // namespace nncc::frontend
