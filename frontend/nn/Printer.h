// The canonical formatter of the .nn language: a syntax tree back to text, behind `nncc --emit=nn`.
// It keeps comments, the author's empty lines (at most one in a row) and a trailing comma's wish
// for one item a line; everything else - indentation, spaces, parentheses, where long calls break -
// follows from the tree, so that parse-print-parse is a fixpoint.
#pragma once

#include "frontend/nn/Ast.h"

#include <string>

namespace nncc::frontend {

/// Lines are broken, where a bracket allows it, to stay within this many columns.
inline constexpr size_t printWidth = 100;

std::string print(const File &file);

/// An expression on one line, for messages. Comments inside it are left out.
std::string printFlat(const Expr &expr);

/// A parameter path as written after `as`.
std::string printPath(const Path &path);

} // namespace nncc::frontend
