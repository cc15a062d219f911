// The parser of the .nn language: one file's text to its syntax tree, by recursive descent with
// bounded recursion. It stops at the first error with one diagnostic; a tree that it returns is
// complete, and every expression in it is at most `maxNesting` nodes high. What a name means, and
// whether shapes fit, is the elaborator's business.
#pragma once

#include "frontend/nn/Ast.h"
#include "frontend/nn/Diagnostic.h"

#include <optional>

namespace nncc::frontend {

/// Bound on nested brackets, operators and statements: far above what people write, far below what
/// the stack holds.
inline constexpr uint32_t maxNesting = 256;

std::optional<File> parse(const SourceFile &source, Diagnostics &diagnostics);

/// Text that is what stands between the braces of a train section, as `nncc --train` takes it; `;`
/// ends a statement too.
std::optional<TrainDecl> parseTrain(const SourceFile &source, Diagnostics &diagnostics);

} // namespace nncc::frontend
