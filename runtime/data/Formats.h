// What a format gives to openData: how its files are recognised and opened. One file per format
// defines one of these; OpenData.cpp lists them.
#pragma once

#include "runtime/data/OpenData.h"

#include <map>
#include <optional>

namespace nncc::data {

/// What the user asked for, taken apart.
struct DataSpec {
  std::string text;               ///< all of it, for messages
  std::vector<std::string> paths; ///< at least one
  std::map<std::string, std::string> options;

  /// The option's value; nothing when it is not given.
  std::optional<std::string> option(const std::string &name) const;
};

/// What can be seen of a path without reading it as any format.
struct Probe {
  std::string path;
  bool isFolder = false;
  int64_t sizeBytes = 0;
  std::string head;               ///< the first bytes of a file, inflated if gzip compressed it
  std::vector<std::string> names; ///< of a folder's entries, sorted; folders end in '/'
};

/// An environment or user error when the path cannot be looked at.
Result<Probe> probe(const std::string &path);

struct Format {
  const char *name;
  const char *description; ///< for people
  const char *example;
  std::vector<const char *> options; ///< besides those that all formats take
  bool (*recognises)(const Probe &probe, Split split);
  Result<std::unique_ptr<DataSource>> (*open)(const DataSpec &spec, Split split);
};

extern const Format kMnistFormat;
extern const Format kCifar10Format;
extern const Format kCifar100Format;
extern const Format kNpyFormat;
extern const Format kNpzFormat;
extern const Format kSafetensorsFormat;
extern const Format kCsvFormat;
extern const Format kImageFolderFormat;
extern const Format kTextFormat;

/// Whether a name says that it belongs to a split; both false: it says nothing.
bool namesSplit(std::string_view name, Split split);

/// "a, b, c"; "nothing" for an empty list. Long lists end in how many more there are.
std::string listNames(const std::vector<std::string> &names);

} // namespace nncc::data
