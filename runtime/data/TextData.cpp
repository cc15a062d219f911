// Text for models of language, byte by byte: each sample is a piece of the file, and as its target the same piece one byte further on,
// so that at every place the model has to say what comes next. The file is mapped, not copied.
#include "runtime/File.h"
#include "runtime/data/ArraySource.h"
#include "runtime/data/Formats.h"

#include <fmt/format.h>

#include <charconv>

using namespace nncc;
using namespace nncc::data;

namespace {

constexpr int64_t kDefaultLength = 64;
constexpr int64_t kMaxLength = 1 << 24;

bool recognises(const Probe &probe, Split) { return !probe.isFolder && probe.path.ends_with(".txt"); }

/// A whole number from 1 on.
Result<int64_t> readCount(const DataSpec &spec, const char *name, int64_t fallback) {
  std::optional<std::string> text = spec.option(name);
  if (!text)
    return fallback;
  int64_t value = 0;
  auto [end, code] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (code != std::errc() || end != text->data() + text->size() || value < 1 || value > kMaxLength)
    return userError(fmt::format("{}: expected {}=N with N from 1 to {}, found '{}'", spec.text, name, kMaxLength, *text));
  return value;
}

Result<std::unique_ptr<DataSource>> openText(const DataSpec &spec, Split) {
  Result<int64_t> length = readCount(spec, "length", kDefaultLength);
  if (!length)
    return length.error();
  Result<int64_t> stride = readCount(spec, "stride", *length);
  if (!stride)
    return stride.error();
  std::vector<ArrayPart> parts;
  std::vector<std::shared_ptr<const void>> memory;
  std::string names;
  for (const std::string &path : spec.paths) {
    Result<rt::MappedFile> opened = rt::MappedFile::open(path);
    if (!opened)
      return opened.error();
    auto file = std::make_shared<rt::MappedFile>(std::move(*opened));
    int64_t sizeBytes = static_cast<int64_t>(file->bytes().size());
    if (sizeBytes <= *length)
      return userError(fmt::format("'{}' has {} bytes, and a sample of length={} takes {}; give more text, or a smaller length", path,
                                   sizeBytes, *length, *length + 1));
    const std::byte *first = file->bytes().data();
    parts.push_back({(sizeBytes - 1 - *length) / *stride + 1, {{path, first, *stride}, {path, first + 1, *stride}}});
    memory.push_back(std::move(file));
    names += (names.empty() ? "'" : ", '") + path + "'";
  }
  std::vector<ArrayField> fields = {{{"tokens", DType::I64, {*length}}, DType::U8}, {{"following", DType::I64, {*length}}, DType::U8}};
  return makeArraySource("text " + names, std::move(fields), std::move(parts), std::move(memory));
}

} // namespace

const Format data::kTextFormat = {
    "text", "bytes of a text, to say after each which one is next", "text:book.txt?length=64", {"length", "stride"}, recognises, openText};
