// The list of formats, the syntax of data specs, and the choice between formats; see OpenData.h.
#include "runtime/data/OpenData.h"
#include "runtime/data/Formats.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>

using namespace nncc;
using namespace nncc::data;

/// Asked in this order.
static const Format *const kFormats[] = {
    &kMnistFormat, &kCifar10Format,     &kCifar100Format, &kNpyFormat,
    &kNpzFormat,   &kSafetensorsFormat, &kCsvFormat,      &kImageFolderFormat,
    &kTextFormat,
};
static constexpr const char *kRangeOption = "range";

std::string_view data::nameOf(Split split) { return split == Split::Train ? "training" : "test"; }

bool data::namesSplit(std::string_view name, Split split) {
  std::string lower(name);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  auto has = [&](std::string_view word) { return lower.find(word) != std::string::npos; };
  bool isTest = has("test") || has("t10k") || has("val");
  return split == Split::Test ? isTest : has("train") && !isTest;
}

std::string data::listNames(const std::vector<std::string> &names) {
  constexpr size_t kMaxListed = 8;
  std::string text;
  for (size_t i = 0; i < names.size() && i < kMaxListed; ++i)
    text += (i ? ", " : "") + names[i];
  if (names.size() > kMaxListed)
    text += fmt::format(" and {} more", names.size() - kMaxListed);
  return names.empty() ? "nothing" : text;
}

std::optional<std::string> DataSpec::option(const std::string &name) const {
  auto found = options.find(name);
  return found == options.end() ? std::nullopt : std::optional(found->second);
}

Result<Probe> data::probe(const std::string &path) {
  constexpr unsigned kHeadBytes = 512;
  namespace fs = std::filesystem;
  Probe probe;
  probe.path = path;
  std::error_code code;
  fs::file_status status = fs::status(path, code);
  if (!fs::exists(status))
    return userError("cannot open '" + path +
                     "': " + (code ? code.message() : std::string("No such file or directory")));
  probe.isFolder = fs::is_directory(status);
  if (!probe.isFolder) {
    if (!fs::is_regular_file(status))
      return userError("'" + path +
                       "': expected a file or a folder, found a device, pipe or socket");
    probe.sizeBytes = static_cast<int64_t>(fs::file_size(path, code));
    errno = 0;
    gzFile file = gzopen(path.c_str(), "rb");
    if (!file)
      return userError("cannot open '" + path + "': " + std::strerror(errno ? errno : ENOMEM));
    probe.head.resize(kHeadBytes);
    int got = gzread(file, probe.head.data(), kHeadBytes);
    gzclose(file);
    probe.head.resize(static_cast<size_t>(std::max(got, 0)));
    return probe;
  }
  for (fs::directory_iterator entry(path, code), end; !code && entry != end;
       entry.increment(code)) {
    std::error_code ignored;
    probe.names.push_back(entry->path().filename().string() +
                          (entry->is_directory(ignored) ? "/" : ""));
  }
  if (code)
    return userError("cannot read the folder '" + path + "': " + code.message());
  std::sort(probe.names.begin(), probe.names.end());
  return probe;
}

std::string data::describeFormats() {
  std::string text;
  for (const Format *format : kFormats)
    text += fmt::format("  {:<12}{}: {}\n", format->name, format->description, format->example);
  return text;
}

namespace {

/// Some samples of another source.
class RangeSource : public DataSource {
public:
  RangeSource(std::unique_ptr<DataSource> whole, int64_t begin, int64_t end)
      : DataSource(fmt::format("{}, samples {} to {}", whole->origin(), begin, end - 1),
                   end - begin, whole->fields(), whole->classNames()),
        whole(std::move(whole)), begin(begin) {}

  Result<void> read(int64_t sample, std::span<const std::span<std::byte>> values) const override {
    return whole->read(begin + sample, values);
  }
  std::string locate(int64_t sample, size_t field) const override {
    return whole->locate(begin + sample, field);
  }

private:
  std::unique_ptr<DataSource> whole;
  int64_t begin;
};

bool exists(const std::string &path) {
  std::error_code code;
  return std::filesystem::exists(path, code);
}

const Format *findFormat(std::string_view name) {
  for (const Format *format : kFormats)
    if (format->name == name)
      return format;
  return nullptr;
}

/// "a=1&b=2"; nothing when the text is not such a list.
std::optional<std::map<std::string, std::string>> parseOptions(std::string_view text) {
  std::map<std::string, std::string> options;
  for (bool more = true; more;) {
    size_t end = text.find('&'), equals = text.find('=');
    more = end != std::string_view::npos;
    if (equals == std::string_view::npos || equals == 0 || (more && equals > end))
      return std::nullopt;
    std::string_view item = text.substr(0, end);
    options[std::string(item.substr(0, equals))] = item.substr(equals + 1);
    text.remove_prefix(more ? end + 1 : text.size());
  }
  return options;
}

/// Takes the options off the text's end. A path that exists as it is written has none.
Result<std::map<std::string, std::string>> takeOptions(std::string &text, const std::string &spec) {
  size_t question = text.rfind('?');
  if (question == std::string::npos || exists(text))
    return std::map<std::string, std::string>();
  auto options = parseOptions(std::string_view(text).substr(question + 1));
  if (!options)
    return userError(fmt::format("{}: expected OPTION=VALUE&OPTION=VALUE behind '?', found '{}'",
                                 spec, text.substr(question + 1)));
  text.resize(question);
  return *options;
}

std::vector<std::string> splitPaths(const std::string &text) {
  if (exists(text))
    return {text};
  std::vector<std::string> paths;
  for (size_t begin = 0;;) {
    size_t end = text.find(',', begin);
    paths.push_back(text.substr(begin, end - begin));
    if (end == std::string::npos)
      return paths;
    begin = end + 1;
  }
}

Result<const Format *> recognise(const DataSpec &spec, Split split) {
  Result<Probe> probed = probe(spec.paths[0]);
  if (!probed)
    return probed.error();
  if (!probed->isFolder && probed->sizeBytes == 0)
    return userError("'" + spec.paths[0] + "' is empty; expected a data set");
  std::vector<std::string> fitting;
  const Format *found = nullptr;
  for (const Format *format : kFormats)
    if (format->recognises(*probed, split)) {
      fitting.push_back(format->name);
      found = found ? found : format;
    }
  if (fitting.size() > 1)
    return userError(fmt::format("'{}' could be of the formats {}; say which, as in {}:{}",
                                 spec.paths[0], listNames(fitting), fitting[0], spec.paths[0]));
  if (!found)
    return userError(fmt::format("'{}' is a data set of no known format{}; name the format, as in "
                                 "{}:{}, or convert it to one of\n{}",
                                 spec.paths[0],
                                 probed->isFolder ? ": it holds " + listNames(probed->names)
                                                  : std::string(" by its first bytes and its name"),
                                 kFormats[0]->name, spec.paths[0], describeFormats()));
  return found;
}

/// "BEGIN:END", either of which may be missing.
Result<std::unique_ptr<DataSource>> applyRange(std::unique_ptr<DataSource> source,
                                               const std::string &range) {
  int64_t count = source->sampleCount(), begin = 0, end = count;
  size_t colon = range.find(':');
  auto parse = [](std::string_view text, int64_t &value) {
    if (text.empty())
      return true;
    auto [stop, code] = std::from_chars(text.data(), text.data() + text.size(), value);
    return code == std::errc() && stop == text.data() + text.size();
  };
  if (colon == std::string::npos || !parse(std::string_view(range).substr(0, colon), begin) ||
      !parse(std::string_view(range).substr(colon + 1), end) || begin < 0 || begin >= end ||
      end > count)
    return userError(fmt::format("{}: expected range=BEGIN:END with 0 <= BEGIN < END <= {}, the "
                                 "number of samples, found range={}",
                                 source->origin(), count, range));
  return std::unique_ptr<DataSource>(std::make_unique<RangeSource>(std::move(source), begin, end));
}

} // namespace

Result<std::unique_ptr<DataSource>> data::openData(const std::string &text, Split split) {
  DataSpec spec;
  spec.text = text;
  std::string rest = text;
  const Format *format = nullptr;
  if (size_t colon = text.find(':'); colon != std::string::npos && !exists(text)) {
    format = findFormat(text.substr(0, colon));
    if (format)
      rest = text.substr(colon + 1);
  }
  auto options = takeOptions(rest, text);
  if (!options)
    return options.error();
  spec.options = std::move(*options);
  spec.paths = splitPaths(rest);
  if (std::find(spec.paths.begin(), spec.paths.end(), "") != spec.paths.end())
    return userError(fmt::format("'{}': expected a path, as in\n{}", text, describeFormats()));
  if (!format) {
    Result<const Format *> recognised = recognise(spec, split);
    if (!recognised)
      return recognised.error();
    format = *recognised;
  }
  for (const auto &[name, value] : spec.options) {
    std::vector<std::string> known(format->options.begin(), format->options.end());
    known.push_back(kRangeOption);
    if (std::find(known.begin(), known.end(), name) == known.end())
      return userError(fmt::format("{}: {} has no option '{}'; it has {}", text, format->name, name,
                                   listNames(known)));
  }
  Result<std::unique_ptr<DataSource>> source = format->open(spec, split);
  if (!source)
    return source;
  if (auto range = spec.option(kRangeOption))
    return applyRange(std::move(*source), *range);
  return source;
}
