// .npy: a magic number, a version, the length of the header, the header (a Python dictionary
// literal with exactly three keys), then the elements.
#include "runtime/data/Npy.h"

#include "runtime/File.h"
#include "runtime/Pack.h"
#include "support/CheckedSize.h"

#include <charconv>
#include <cstring>
#include <string_view>

namespace nncc::data {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr size_t kHeaderAlignmentBytes = 64;

struct NpyDType {
  std::string_view descr;
  DType dtype;
};

/// NumPy has no bfloat16; `<V2`, two bytes of no meaning, is how it saves the bfloat16 arrays of
/// ml_dtypes, as JAX and TensorFlow use them.
constexpr NpyDType kDTypes[] = {{"<f4", DType::F32}, {"<f8", DType::F64},  {"<f2", DType::F16},
                                {"|i1", DType::I8},  {"|u1", DType::U8},   {"<i4", DType::I32},
                                {"<i8", DType::I64}, {"|b1", DType::Bool}, {"<V2", DType::BF16}};

struct Header {
  std::string descr;
  bool isFortranOrder = false;
  std::vector<int64_t> shape;
};

// Reads the dictionary literal: strings in either quote, True and False, a tuple of integers.
class HeaderParser {
public:
  explicit HeaderParser(std::string_view text) : text(text) {}

  bool parse(Header &header) {
    bool hasDescr = false, hasOrder = false, hasShape = false;
    if (!consume('{'))
      return false;
    while (!consume('}')) {
      std::string key;
      if (!parseString(key) || !consume(':'))
        return false;
      bool ok = false;
      if (key == "descr")
        ok = hasDescr = parseString(header.descr);
      else if (key == "fortran_order")
        ok = hasOrder = parseBool(header.isFortranOrder);
      else if (key == "shape")
        ok = hasShape = parseShape(header.shape);
      if (!ok || (!consume(',') && peek() != '}'))
        return false;
    }
    return hasDescr && hasOrder && hasShape;
  }

private:
  char peek() {
    while (!text.empty() && (text[0] == ' ' || text[0] == '\n' || text[0] == '\t'))
      text.remove_prefix(1);
    return text.empty() ? '\0' : text[0];
  }

  bool consume(char c) {
    if (peek() != c || text.empty())
      return false;
    text.remove_prefix(1);
    return true;
  }

  bool parseString(std::string &value) {
    char quote = peek();
    if (quote != '\'' && quote != '"')
      return false;
    size_t end = text.find(quote, 1);
    if (end == std::string_view::npos)
      return false;
    value = text.substr(1, end - 1);
    text.remove_prefix(end + 1);
    return true;
  }

  bool parseBool(bool &value) {
    peek();
    value = text.starts_with("True");
    if (!value && !text.starts_with("False"))
      return false;
    text.remove_prefix(value ? 4 : 5);
    return true;
  }

  bool parseShape(std::vector<int64_t> &shape) {
    if (!consume('('))
      return false;
    while (!consume(')')) {
      int64_t extent = -1;
      peek();
      auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), extent);
      if (error != std::errc() || extent < 0)
        return false;
      text.remove_prefix(static_cast<size_t>(end - text.data()));
      shape.push_back(extent);
      if (!consume(',') && peek() != ')')
        return false;
    }
    return true;
  }

  std::string_view text;
};

std::optional<DType> dtypeOf(std::string_view descr) {
  for (const NpyDType &type : kDTypes)
    // The order of bytes means nothing for one byte, nor for bytes without a meaning.
    if (type.descr == descr ||
        ((type.descr[0] == '|' || type.dtype == DType::BF16) && descr.size() == 3 &&
         descr[0] != '>' && descr.substr(1) == type.descr.substr(1)))
      return type.dtype;
  return std::nullopt;
}

} // namespace

Result<NpyArray> viewNpy(std::span<const std::byte> bytes, const std::string &origin) {
  auto fail = [&](const std::string &what) {
    return userError("'" + origin + "' cannot be read as .npy: " + what);
  };
  std::string_view text(reinterpret_cast<const char *>(bytes.data()), bytes.size());
  if (!text.starts_with(kMagic) || text.size() < kMagic.size() + 4)
    return fail("it does not begin as an .npy file does");
  int major = text[kMagic.size()];
  if (major < 1 || major > 3)
    return fail("expected version 1, 2 or 3, found " + std::to_string(major));
  size_t lengthBytes = major == 1 ? 2 : 4;
  size_t headerStart = kMagic.size() + 2 + lengthBytes;
  if (text.size() < headerStart)
    return fail("it ends inside its header");
  size_t headerBytes = 0;
  for (size_t i = lengthBytes; i-- > 0;)
    headerBytes = headerBytes << 8 | static_cast<unsigned char>(text[kMagic.size() + 2 + i]);
  if (headerBytes > text.size() - headerStart)
    return fail("it ends inside its header");

  Header header;
  if (!HeaderParser(text.substr(headerStart, headerBytes)).parse(header))
    return fail("its header does not name descr, fortran_order and shape as NumPy writes them");
  std::optional<DType> dtype = dtypeOf(header.descr);
  if (!dtype)
    return fail("expected elements of type f2, f4, f8, i1, i4, i8, u1, b1 or V2 (bf16) in "
                "little-endian order, found '" +
                header.descr + "'; convert the array before saving it");
  CheckedSize needed = sizeBytesOf(*dtype);
  for (int64_t extent : header.shape)
    needed *= extent;
  std::span<const std::byte> data = bytes.subspan(headerStart + headerBytes);
  if (!needed.valid() || needed.getOr(0) > static_cast<int64_t>(data.size()))
    return fail("its shape needs " +
                (needed.valid() ? std::to_string(needed.getOr(0)) : std::string("more than 2^63")) +
                " bytes of data, found " + std::to_string(data.size()));

  return NpyArray{*dtype, std::move(header.shape), header.isFortranOrder,
                  data.first(static_cast<size_t>(needed.getOr(0)))};
}

Result<rt::HostTensor> parseNpy(std::span<const std::byte> bytes, const std::string &origin) {
  Result<NpyArray> array = viewNpy(bytes, origin);
  if (!array)
    return array.error();
  rt::HostTensor tensor{array->dtype, array->shape, {}};
  if (!array->isFortranOrder || array->data.empty()) {
    tensor.data.assign(array->data.begin(), array->data.end());
    return tensor;
  }
  // In Fortran order the first dim is the innermost loop.
  std::vector<rt::PackLoop> loops;
  for (size_t d = array->shape.size(); d-- > 0;)
    loops.push_back({static_cast<uint32_t>(d), array->shape[d], 1});
  std::vector<std::byte> aligned(array->data.begin(), array->data.end());
  tensor.data.resize(aligned.size());
  rt::unpackTensor(array->shape, loops, sizeBytesOf(array->dtype), aligned.data(),
                   tensor.data.data());
  return tensor;
}

Result<rt::HostTensor> readNpy(const std::string &path) {
  Result<rt::MappedFile> file = rt::MappedFile::open(path);
  if (!file)
    return file.error();
  return parseNpy(file->bytes(), path);
}

Result<void> writeNpy(const std::string &path, DType dtype, std::span<const int64_t> shape,
                      const void *data) {
  std::string_view descr;
  for (const NpyDType &type : kDTypes)
    if (type.dtype == dtype)
      descr = type.descr;
  std::string header = "{'descr': '" + std::string(descr) + "', 'fortran_order': False, 'shape': (";
  CheckedSize sizeBytes = sizeBytesOf(dtype);
  for (int64_t extent : shape) {
    header += std::to_string(extent) + ", ";
    sizeBytes *= extent;
  }
  if (shape.size() > 1)
    header.resize(header.size() - 2); // only a tuple of one keeps its comma
  else if (shape.size() == 1)
    header.pop_back();
  header += "), }";
  size_t unpadded = kMagic.size() + 4 + header.size() + 1;
  header.append((kHeaderAlignmentBytes - unpadded % kHeaderAlignmentBytes) % kHeaderAlignmentBytes,
                ' ');
  header += '\n';
  if (!sizeBytes.valid() || header.size() > UINT16_MAX)
    return userError("cannot write '" + path + "': the shape is too large");

  std::string start(kMagic);
  start += {1, 0, static_cast<char>(header.size() & 0xFF), static_cast<char>(header.size() >> 8)};
  Result<rt::AtomicFile> file = rt::AtomicFile::create(path);
  if (!file)
    return file.error();
  Result<void> written = file->write(start + header);
  if (written)
    written = file->write(data, static_cast<size_t>(sizeBytes.getOr(0)));
  if (!written)
    return written;
  return file->commit();
}

} // namespace nncc::data
