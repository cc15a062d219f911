// Calls of libraries in Program JSON: a part of a kernel's entry, with names of its own for what is computed.
#pragma once

#include "runtime/JsonReader.h"

namespace nncc::rt {

Json writeLibraryCall(const LibraryCall &call, const std::vector<std::string> &dimNames);
/// Whether operands exist is for verifyProgram.
LibraryCall readLibraryCall(JsonReader &reader, const JsonReader::Node &node);

} // namespace nncc::rt
