// Indented C++ text, line by line; long lines are broken where a person would.
#pragma once

#include "llvm/ADT/Twine.h"

#include <string>

namespace nncc::codegen::cuda {

class SourceWriter {
public:
  void line(const llvm::Twine &text);
  void blank() { text_ += '\n'; }
  /// "text {", and what follows is one level deeper up to close().
  void open(const llvm::Twine &text) {
    line(text + " {");
    ++depth;
  }
  /// Closes a level; `behind` follows the brace.
  void close(const llvm::Twine &behind = "") {
    --depth;
    line("}" + behind);
  }
  /// One level deeper, behind a line that opened it.
  void reopen() { ++depth; }
  /// A line at the margin: preprocessor, labels.
  void margin(const llvm::Twine &text) { text_ += (text + "\n").str(); }

  /// Lines that were written elsewhere, as they are.
  void append(const std::string &lines) { text_ += lines; }
  unsigned level() const { return depth; }
  void setLevel(unsigned level) { depth = level; }

  const std::string &text() const { return text_; }
  std::string take() { return std::move(text_); }

private:
  std::string text_;
  unsigned depth = 0;
};

} // namespace nncc::codegen::cuda
