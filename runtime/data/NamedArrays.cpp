// Named arrays as a data set; see NamedArrays.h.
#include "runtime/data/NamedArrays.h"

#include "runtime/Tensor.h"

#include <fmt/format.h>

#include <algorithm>

using namespace nncc;
using namespace nncc::data;

/// Whole words alone: "evaluation_values" says no split.
static constexpr std::pair<std::string_view, Split> kSplitWords[] = {
    {"train", Split::Train}, {"training", Split::Train}, {"test", Split::Test},
    {"val", Split::Test},    {"valid", Split::Test},     {"validation", Split::Test}};

namespace {
struct SplitName {
  std::string name;
  std::optional<Split> split;
};
} // namespace

/// Takes a word that says a split off the start or the end.
static SplitName takeSplit(const std::string &name) {
  for (auto [word, split] : kSplitWords)
    for (char separator : {'_', '-', '.', '/'}) {
      std::string start = std::string(word) + separator, end = separator + std::string(word);
      if (name.starts_with(start) && name.size() > start.size())
        return {name.substr(start.size()), split};
      if (name.ends_with(end) && name.size() > end.size())
        return {name.substr(0, name.size() - end.size()), split};
    }
  return {name, std::nullopt};
}

std::string data::nameWithoutSplit(const std::string &name) { return takeSplit(name).name; }

std::vector<std::string> data::namesOfSplit(const std::vector<std::string> &names, Split split) {
  std::vector<std::string> fitting, unnamed;
  for (const std::string &name : names) {
    std::optional<Split> said = takeSplit(name).split;
    if (said == split)
      fitting.push_back(name);
    else if (!said)
      unnamed.push_back(name);
  }
  return fitting.empty() ? unnamed : fitting;
}

Result<std::unique_ptr<DataSource>>
data::makeNamedArraySource(std::string origin, std::vector<NamedArray> arrays,
                           std::vector<std::shared_ptr<const void>> memory) {
  if (arrays.empty())
    return userError(origin + ": expected at least one array, found none");
  std::vector<ArrayField> fields;
  ArrayPart part;
  const NamedArray &first = arrays[0];
  auto typeOf = [](const NamedArray &array) {
    return rt::describeType(nncc::nameOf(array.dtype), array.shape);
  };
  for (const NamedArray &array : arrays) {
    std::string name = nameWithoutSplit(array.name);
    if (array.shape.empty())
      return userError(
          fmt::format("'{}' in '{}': expected an array whose first extent is the number "
                      "of samples, found {}; leave it out",
                      array.name, array.file, typeOf(array)));
    if (array.shape[0] != first.shape[0])
      return userError(
          fmt::format("'{}' in '{}' has {} samples ({}), but '{}' in '{}' has {} ({}); "
                      "take arrays that belong together",
                      array.name, array.file, array.shape[0], typeOf(array), first.name, first.file,
                      first.shape[0], typeOf(first)));
    for (const ArrayField &field : fields)
      if (field.field.name == name)
        return userError(
            fmt::format("{}: two arrays would be the field '{}'; rename one", origin, name));
    Field field{name, array.dtype, {array.shape.begin() + 1, array.shape.end()}};
    int64_t stride =
        array.shape[0] == 0 ? 0 : static_cast<int64_t>(array.data.size()) / array.shape[0];
    fields.push_back({field, array.dtype});
    part.columns.push_back({array.file, array.data.data(), stride});
  }
  part.sampleCount = first.shape[0];
  return makeArraySource(std::move(origin), std::move(fields), {std::move(part)},
                         std::move(memory));
}
