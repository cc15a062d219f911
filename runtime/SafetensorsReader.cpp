// Reading of safetensors, by a streaming walk over the JSON header: it needs no tree of the header
// in memory and sees names that occur twice, which a tree would hide.
#include "runtime/Safetensors.h"

#include "support/CheckedSize.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace nncc::rt {
namespace {

struct FormatDType {
  std::string_view name;
  int64_t sizeBytes;
  std::optional<DType> dtype;
};

constexpr FormatDType kDTypes[] = {
    {"F32", 4, DType::F32}, {"F16", 2, DType::F16}, {"BF16", 2, DType::BF16},
    {"F64", 8, DType::F64}, {"I8", 1, DType::I8},   {"U8", 1, DType::U8},
    {"I32", 4, DType::I32}, {"I64", 8, DType::I64}, {"BOOL", 1, DType::Bool},
    {"I16", 2, {}},         {"U16", 2, {}},         {"U32", 4, {}},
    {"U64", 8, {}},         {"F8_E4M3", 1, {}},     {"F8_E5M2", 1, {}},
    {"F8_E8M0", 1, {}},     {"C64", 8, {}},
};

const FormatDType *findDType(std::string_view name) {
  for (const FormatDType &type : kDTypes)
    if (type.name == name)
      return &type;
  return nullptr;
}

struct HeaderEntry {
  std::string name;
  std::string dtypeName;
  std::vector<int64_t> shape;
  std::vector<int64_t> offsets;
  bool hasDType = false, hasShape = false, hasOffsets = false;
};

// Receives the header's JSON piece by piece. Depth 1 is the header object, depth 2 a tensor (or the
// metadata), and an array in a tensor is its shape or its byte range.
class HeaderHandler : public nlohmann::json_sax<nlohmann::json> {
public:
  std::vector<HeaderEntry> entries;
  std::map<std::string, std::string> metadata;
  std::string problem;

  bool null() override { return fail("null has no place in it"); }
  bool boolean(bool) override { return fail("a boolean has no place in it"); }
  bool number_float(number_float_t, const string_t &) override {
    return fail("expected an integer, found a fraction or a number beyond 64 bits");
  }
  bool binary(binary_t &) override { return fail("binary data has no place in it"); }

  bool number_integer(number_integer_t value) override {
    return fail("expected a number >= 0, found " + std::to_string(value));
  }

  bool number_unsigned(number_unsigned_t value) override {
    if (!list)
      return fail("a number has no place here");
    if (value > INT64_MAX)
      return fail("the number " + std::to_string(value) + " does not fit in 63 bits");
    list->push_back(static_cast<int64_t>(value));
    return true;
  }

  bool string(string_t &value) override {
    if (depth == 2 && inMetadata) {
      metadata[field] = std::move(value);
      return true;
    }
    if (depth != 2 || field != "dtype" || list)
      return fail("a string has no place here");
    entries.back().dtypeName = std::move(value);
    return true;
  }

  bool start_object(size_t) override {
    if (depth >= 2 || list || (depth == 1 && !haveKey))
      return fail("an object has no place here");
    ++depth;
    return true;
  }

  bool end_object() override {
    if (--depth == 1)
      inMetadata = false;
    return true;
  }

  bool key(string_t &value) override {
    if (depth == 1) {
      haveKey = true;
      inMetadata = value == "__metadata__";
      if (inMetadata) {
        tensorName = "__metadata__";
        return !std::exchange(seenMetadata, true) || fail("it occurs twice");
      }
      tensorName = value;
      entries.emplace_back().name = std::move(value);
      return true;
    }
    field = std::move(value);
    if (inMetadata)
      return true;
    if (field != "dtype" && field != "shape" && field != "data_offsets")
      return fail("unknown field \"" + field + "\"; expected dtype, shape and data_offsets");
    HeaderEntry &entry = entries.back();
    bool &isGiven = field == "dtype"   ? entry.hasDType
                    : field == "shape" ? entry.hasShape
                                       : entry.hasOffsets;
    return !std::exchange(isGiven, true) || fail("the field \"" + field + "\" occurs twice");
  }

  bool start_array(size_t) override {
    if (depth != 2 || list || inMetadata || field == "dtype")
      return fail("an array has no place here");
    HeaderEntry &entry = entries.back();
    list = field == "shape" ? &entry.shape : &entry.offsets;
    return true;
  }

  bool end_array() override {
    list = nullptr;
    return true;
  }

  bool parse_error(size_t position, const std::string &,
                   const nlohmann::detail::exception &) override {
    problem = "the header is not valid JSON at byte " + std::to_string(position);
    return false;
  }

private:
  bool fail(const std::string &what) {
    problem = (tensorName.empty() ? "the header: " : "entry '" + tensorName + "': ") + what;
    return false;
  }

  int depth = 0;
  bool haveKey = false;
  bool inMetadata = false;
  bool seenMetadata = false;
  std::string tensorName;
  std::string field;
  std::vector<int64_t> *list = nullptr;
};

std::string describeRange(const HeaderEntry &entry) {
  return "bytes " + std::to_string(entry.offsets[0]) + " to " + std::to_string(entry.offsets[1]);
}

/// What is wrong with one entry taken by itself; empty when nothing is.
std::string checkEntry(const HeaderEntry &entry, int64_t dataBytes) {
  const FormatDType *dtype = findDType(entry.dtypeName);
  if (entry.dtypeName.empty() || !entry.hasShape || entry.offsets.size() != 2)
    return "expected the fields dtype, shape and data_offsets [begin, end]";
  if (!dtype)
    return "unknown dtype \"" + entry.dtypeName + "\"";
  CheckedSize expected = dtype->sizeBytes;
  for (int64_t extent : entry.shape)
    expected *= extent;
  if (!expected.valid())
    return "the product of its shape does not fit in 63 bits";
  if (entry.offsets[0] > entry.offsets[1] || entry.offsets[1] > dataBytes)
    return describeRange(entry) + " lie outside the data, which has " + std::to_string(dataBytes) +
           " bytes; the file may be truncated";
  if (entry.offsets[1] - entry.offsets[0] != expected.getOr(-1))
    return "dtype and shape need " + std::to_string(expected.getOr(-1)) + " bytes, but " +
           describeRange(entry) + " are given";
  return "";
}

} // namespace

Result<Safetensors> Safetensors::parse(std::span<const std::byte> bytes,
                                       const std::string &origin) {
  auto fail = [&](const std::string &what) {
    return userError("'" + origin + "' is not a valid safetensors file: " + what);
  };
  if (bytes.size() < 8)
    return fail("expected at least 8 bytes, found " + std::to_string(bytes.size()));
  uint64_t headerBytes = 0;
  for (int i = 7; i >= 0; --i)
    headerBytes = headerBytes << 8 | std::to_integer<uint64_t>(bytes[static_cast<size_t>(i)]);
  if (headerBytes > kMaxHeaderBytes)
    return fail("its header would have " + std::to_string(headerBytes) + " bytes; the limit is " +
                std::to_string(kMaxHeaderBytes));
  if (headerBytes > bytes.size() - 8)
    return fail("its header would have " + std::to_string(headerBytes) + " bytes, but only " +
                std::to_string(bytes.size() - 8) + " follow; the file may be truncated");

  const char *text = reinterpret_cast<const char *>(bytes.data()) + 8;
  HeaderHandler header;
  if (headerBytes == 0 || text[0] != '{')
    return fail("its header is not a JSON object");
  if (!nlohmann::json::sax_parse(text, text + headerBytes, &header) || !header.problem.empty())
    return fail(header.problem);

  std::span<const std::byte> data = bytes.subspan(8 + headerBytes);
  for (const HeaderEntry &entry : header.entries)
    if (std::string problem = checkEntry(entry, static_cast<int64_t>(data.size()));
        !problem.empty())
      return fail("tensor '" + entry.name + "': " + problem);

  std::sort(header.entries.begin(), header.entries.end(),
            [](const HeaderEntry &a, const HeaderEntry &b) {
              return a.offsets != b.offsets ? a.offsets < b.offsets : a.name < b.name;
            });
  int64_t end = 0;
  Safetensors file;
  for (HeaderEntry &entry : header.entries) {
    if (!file.indexByName.emplace(entry.name, file.tensors.size()).second)
      return fail("tensor '" + entry.name + "' occurs twice");
    if (entry.offsets[0] != end)
      return fail("tensor '" + entry.name + "': " + describeRange(entry) +
                  (entry.offsets[0] < end ? " overlap the tensor before it"
                                          : " leave a hole after the tensor before it") +
                  ", which ends at " + std::to_string(end));
    end = entry.offsets[1];
    file.tensors.push_back(
        {std::move(entry.name), entry.dtypeName, findDType(entry.dtypeName)->dtype,
         std::move(entry.shape),
         data.subspan(static_cast<size_t>(entry.offsets[0]),
                      static_cast<size_t>(entry.offsets[1] - entry.offsets[0]))});
  }
  if (end != static_cast<int64_t>(data.size()))
    return fail("its tensors end at byte " + std::to_string(end) + " of the data, which has " +
                std::to_string(data.size()) + " bytes");
  file.metadataEntries = std::move(header.metadata);
  return file;
}

const SafetensorsEntry *Safetensors::find(std::string_view name) const {
  auto found = indexByName.find(name);
  return found == indexByName.end() ? nullptr : &tensors[found->second];
}

} // namespace nncc::rt
