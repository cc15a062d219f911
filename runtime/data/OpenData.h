// From what the user names to a data set: the format is recognised by content, or said in the text.
//
//     PATH                          a file or folder of any known format
//     FORMAT:PATH[,PATH...]         of this format
//     ...?OPTION=VALUE&OPTION=...   with options of the format; all take range=BEGIN:END
//
// docs/data.md describes the formats.
#pragma once

#include "runtime/data/DataSource.h"

namespace nncc::data {

/// Which part of a data set is meant, where a folder or a file holds several.
enum class Split : uint8_t { Train, Test };

std::string_view nameOf(Split split);

Result<std::unique_ptr<DataSource>> openData(const std::string &spec, Split split);

/// The known formats and their options, one to a line, for --help and messages.
std::string describeFormats();

} // namespace nncc::data
