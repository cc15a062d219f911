// Rendering of diagnostics: message, source line, caret.
#include "frontend/nn/Diagnostic.h"

#include <fmt/format.h>

#include <algorithm>

namespace nncc::frontend {

Diagnostic &Diagnostics::error(SourceRange at, std::string message) {
  ++errorCount;
  return list.emplace_back(Diagnostic{Severity::Error, at, std::move(message), {}});
}

Diagnostic &Diagnostics::warning(SourceRange at, std::string message) {
  return list.emplace_back(Diagnostic{Severity::Warning, at, std::move(message), {}});
}

std::string Diagnostics::render(bool color) const {
  std::string out;
  for (const Diagnostic &diagnostic : list)
    out += frontend::render(diagnostic, color);
  return out;
}

namespace {

/// Widest piece of a source line that is shown; longer lines (generated text) are cut around the
/// caret.
constexpr size_t maxSnippetColumns = 120;
constexpr size_t columnsBeforeCaret = 60;

struct Style {
  std::string_view label, color;
};

Style styleOf(Severity severity) {
  switch (severity) {
  case Severity::Error:
    return {"error", "\x1b[1;31m"};
  case Severity::Warning:
    return {"warning", "\x1b[1;35m"};
  case Severity::Note:
    return {"note", "\x1b[1;36m"};
  }
  return {};
}

/// The byte offset of the code point numbered `index`.
size_t byteOfCodePoint(std::string_view text, size_t index) {
  size_t i = 0;
  for (; i < text.size(); ++i)
    if ((static_cast<unsigned char>(text[i]) & 0xC0) != 0x80 && index-- == 0)
      break;
  return i;
}

/// The source line and, below it, a caret under the first character and tildes under the rest of
/// the range.
void renderSnippet(std::string &out, SourceRange range, bool color) {
  LineColumn start = range.start();
  std::string_view line = range.file->line(start.line);
  size_t columns = countCodePoints(line);
  size_t caret = std::min<size_t>(start.column - 1, columns);
  size_t marked = 1;
  if (range.end > range.begin) {
    std::string_view covered = range.text();
    covered = covered.substr(0, covered.find_first_of("\r\n"));
    marked = std::max<size_t>(1, countCodePoints(covered));
  }

  std::string_view before, after;
  if (columns > maxSnippetColumns) {
    size_t first = caret > columnsBeforeCaret ? caret - columnsBeforeCaret : 0;
    size_t last = std::min(columns, first + maxSnippetColumns);
    size_t firstByte = byteOfCodePoint(line, first);
    line = line.substr(firstByte, byteOfCodePoint(line, last) - firstByte);
    caret -= first;
    before = first > 0 ? "..." : "";
    after = last < columns ? "..." : "";
    columns = last - first;
  }
  marked = std::max<size_t>(1, std::min(marked, columns - std::min(columns, caret)));

  // Bytes that a terminal would act upon or cannot show never reach it: they are shown as '?'.
  std::string shown(line);
  bool invalid = findInvalidUtf8(line) != std::string_view::npos;
  for (char &c : shown)
    if ((static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7f ||
        (invalid && static_cast<unsigned char>(c) >= 0x80))
      c = '?';
  out += fmt::format("  {}{}{}\n", before, shown, after);
  // Tabs are repeated, so that the caret stands under its character at any tab width.
  std::string pad(before.size(), ' ');
  std::string_view lead = line.substr(0, byteOfCodePoint(line, caret));
  for (char c : lead)
    if ((static_cast<unsigned char>(c) & 0xC0) != 0x80)
      pad += c == '\t' ? '\t' : ' ';
  out += fmt::format("  {}{}^{}{}\n", pad, color ? "\x1b[1;32m" : "", std::string(marked - 1, '~'),
                     color ? "\x1b[0m" : "");
}

} // namespace

std::string render(const Diagnostic &diagnostic, bool color) {
  std::string out;
  if (diagnostic.range.valid()) {
    LineColumn at = diagnostic.range.start();
    out += fmt::format("{}:{}:{}: ", diagnostic.range.file->path(), at.line, at.column);
  }
  Style style = styleOf(diagnostic.severity);
  if (color)
    out += fmt::format("{}{}:\x1b[0m {}\n", style.color, style.label, diagnostic.message);
  else
    out += fmt::format("{}: {}\n", style.label, diagnostic.message);
  if (diagnostic.range.valid())
    renderSnippet(out, diagnostic.range, color);
  for (const Diagnostic &note : diagnostic.notes)
    out += render(note, color);
  return out;
}

} // namespace nncc::frontend
