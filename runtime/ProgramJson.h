// A Program as JSON text: how it travels in model.so, and what a person reads to see what was
// compiled. Size expressions are text ("N*3136"); defaults are left out.
#pragma once

#include "runtime/Program.h"

namespace nncc::rt {

/// The version of the format that this code writes; it reads no other.
inline constexpr int kProgramJsonVersion = 1;

std::string_view nameOf(BufferKind kind);

std::string writeProgramJson(const Program &program);

/// Reads and verifies. Errors name the place in the document, what was expected and what was found.
Result<Program> readProgramJson(std::string_view text);

} // namespace nncc::rt
