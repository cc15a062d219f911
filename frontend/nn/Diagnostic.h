// Diagnostics of the .nn frontend: errors, warnings and notes with their place in the text,
// collected in order and rendered as
//
//     lenet.nn:7:20: error: block 'ConvPool' has no parameter 'filter'; did you mean 'filters'?
//       x = ConvPool(x, filter = 32) as block2
//                       ^~~~~~
//
// Nothing here prints or exits: the tools decide where the text goes and which exit status follows.
#pragma once

#include "frontend/nn/Source.h"

#include <string>
#include <string_view>
#include <vector>

namespace nncc::frontend {

enum class Severity : uint8_t { Error, Warning, Note };

struct Diagnostic {
  Severity severity = Severity::Error;
  SourceRange range;
  std::string message;
  std::vector<Diagnostic> notes;

  Diagnostic &note(SourceRange at, std::string text) {
    notes.push_back({Severity::Note, at, std::move(text), {}});
    return *this;
  }
};

class Diagnostics {
public:
  Diagnostic &error(SourceRange at, std::string message);
  Diagnostic &warning(SourceRange at, std::string message);

  bool hasErrors() const { return errorCount != 0; }
  const std::vector<Diagnostic> &all() const { return list; }

  /// Everything collected, as text for a terminal; `color` adds ANSI colours.
  std::string render(bool color = false) const;

private:
  std::vector<Diagnostic> list;
  size_t errorCount = 0;
};

/// One diagnostic with its notes, source lines and carets.
std::string render(const Diagnostic &diagnostic, bool color = false);

} // namespace nncc::frontend
