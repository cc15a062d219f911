// A syntax tree as an S-expression without positions, comments and spelling: what a text means, for
// comparing two texts. Written for the tests, apart from the printer, so that a mistake in one does
// not hide in the other.
#pragma once

#include "frontend/nn/Ast.h"
#include "frontend/nn/Parser.h"

#include <string>
#include <vector>

namespace nncc::frontend {

std::string dump(const File &file);
std::string dump(const Expr &expr);

/// All comments of a text in their order, as the lexer finds them.
std::vector<std::string> commentsOf(const std::string &text);

/// The result of parsing a text: its tree's dump, or the diagnostics.
struct Parsed {
  SourceManager sources;
  Diagnostics diagnostics;
  std::optional<File> file;
};
std::unique_ptr<Parsed> parseText(const std::string &text);

/// Every *.nn file under examples/, and the ```nn examples of docs/language.md, as (name, text).
std::vector<std::pair<std::string, std::string>> exampleTexts();

} // namespace nncc::frontend
