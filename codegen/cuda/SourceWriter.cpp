// Breaks lines; see SourceWriter.h.

#include "codegen/cuda/SourceWriter.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"

#include <algorithm>
#include <optional>
#include <tuple>

using namespace nncc::codegen::cuda;
using llvm::StringRef;

namespace {

constexpr size_t kWidth = 120, kContinuation = 4;

/// A place where a line may be broken: the outermost parentheses and the loosest operator first, then the last that fits.
struct Break {
  unsigned nesting, binding;
  size_t at; ///< where the next line begins
  bool operator<(const Break &other) const {
    return std::tie(nesting, binding, other.at) < std::tie(other.nesting, other.binding, at);
  }
};

} // namespace

static std::optional<Break> bestBreak(StringRef text, size_t width) {
  // What stands before a break at a blank ("," ";") or behind it (the others), loosest first.
  static constexpr StringRef kBefore[] = {";", ","};
  static constexpr StringRef kBehind[] = {"? ", ": ", "|| ", "&& ", "+ "};
  std::optional<Break> best;
  unsigned nesting = 0;
  for (size_t i = 0; i < std::min(text.size(), width); ++i) {
    // A comparison has blanks around it; template arguments follow a name at once.
    bool isApart = i > 0 && text[i - 1] == ' ';
    if (StringRef("([{").contains(text[i]) || (text[i] == '<' && !isApart))
      ++nesting;
    else if ((StringRef(")]}").contains(text[i]) || (text[i] == '>' && !isApart)) && nesting > 0)
      --nesting;
    if (text[i] != ' ' || i == 0)
      continue;
    auto consider = [&](unsigned binding) {
      Break here{nesting, binding, i + 1};
      if (!best || here < *best)
        best = here;
    };
    for (auto [binding, separator] : llvm::enumerate(kBefore))
      if (text.take_front(i).ends_with(separator))
        consider(binding);
    for (auto [binding, separator] : llvm::enumerate(kBehind))
      if (text.substr(i + 1).starts_with(separator))
        consider(std::size(kBefore) + binding);
  }
  return best;
}

void SourceWriter::line(const llvm::Twine &text) {
  std::string whole = text.str();
  StringRef rest = whole;
  size_t continuation = 2 * depth + rest.take_while([](char c) { return c == ' '; }).size() + kContinuation;
  for (size_t indent = 2 * depth;; indent = continuation) {
    text_.append(indent, ' ');
    bool mayBreak = indent + rest.size() > kWidth && !rest.contains("//") && !rest.contains('"') && !rest.starts_with("#");
    std::optional<Break> place = mayBreak ? bestBreak(rest, kWidth - indent) : std::nullopt;
    if (!place)
      break;
    text_ += rest.take_front(place->at).rtrim();
    text_ += '\n';
    rest = rest.substr(place->at).ltrim();
  }
  text_ += rest;
  text_ += '\n';
}
