// Data sets in safetensors files: every tensor is a field. The file is mapped.
#include "runtime/File.h"
#include "runtime/Safetensors.h"
#include "runtime/data/NamedArrays.h"

#include <fmt/format.h>

using namespace nncc;
using namespace nncc::data;

/// By the length of the header, which comes first, and the header's first character.
static bool recognises(const Probe &probe, Split) {
  return probe.head.size() > 8 && probe.head[8] == '{' && probe.head[5] == 0 &&
         probe.head[6] == 0 && probe.head[7] == 0;
}

static Result<std::unique_ptr<DataSource>> open(const DataSpec &spec, Split split) {
  if (spec.paths.size() != 1)
    return userError(spec.text + ": expected one safetensors file");
  const std::string &path = spec.paths[0];
  Result<rt::MappedFile> opened = rt::MappedFile::open(path);
  if (!opened)
    return opened.error();
  auto file = std::make_shared<rt::MappedFile>(std::move(*opened));
  Result<rt::Safetensors> tensors = rt::Safetensors::parse(file->bytes(), path);
  if (!tensors)
    return tensors.error();
  std::vector<std::string> names;
  for (const rt::SafetensorsEntry &entry : tensors->entries())
    if (!entry.name.starts_with(rt::kSafetensorsPaddingPrefix))
      names.push_back(entry.name);
  std::vector<NamedArray> arrays;
  for (const std::string &name : namesOfSplit(names, split)) {
    const rt::SafetensorsEntry &entry = *tensors->find(name);
    if (!entry.dtype)
      return userError(fmt::format("'{}' in '{}' has elements of type {}, which nncc does not "
                                   "compute with; convert it",
                                   name, path, entry.dtypeName));
    arrays.push_back({name, path, *entry.dtype, entry.shape, entry.data});
  }
  if (arrays.empty())
    return userError(fmt::format("'{}': expected tensors for {}, as x_{}, found {}", path,
                                 nameOf(split), split == Split::Train ? "train" : "test",
                                 listNames(names)));
  return makeNamedArraySource("data '" + path + "'", std::move(arrays), {file});
}

const Format data::kSafetensorsFormat = {
    "safetensors",
    "a safetensors file, every tensor a field: the first extent counts samples",
    "safetensors:digits.safetensors",
    {},
    recognises,
    open};
