// Inputs from the command line; see InputSpec.h.

#include "tools/nncc-run/InputSpec.h"
#include "runtime/DLPackBridge.h"
#include "runtime/data/Npy.h"
#include "runtime/data/Image.h"
#include "runtime/SizeExpr.h"
#include "runtime/Tensor.h"
#include "support/BFloat16.h"

#include <fmt/format.h>

#include <charconv>
#include <cstring>
#include <random>

using namespace nncc;
using namespace nncc::tools;

namespace {

struct Spec {
  std::string name;
  std::string value;
};

Result<Spec> splitSpec(const std::string &text, const char *flag, const char *syntax) {
  size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size())
    return userError(fmt::format("{} {}: expected {}", flag, text, syntax));
  return Spec{text.substr(0, equals), text.substr(equals + 1)};
}

template <typename T> bool parseNumber(std::string_view text, T &value) {
  auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  return code == std::errc() && end == text.data() + text.size();
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (size_t begin = 0;;) {
    size_t end = text.find(separator, begin);
    parts.push_back(text.substr(begin, end - begin));
    if (end == std::string_view::npos)
      return parts;
    begin = end + 1;
  }
}

std::vector<std::string> dimNames(const nncc_model_info &info) {
  std::vector<std::string> names;
  for (size_t i = 0; i < info.dim_count; ++i)
    names.push_back(info.dims[i].name);
  return names;
}

template <typename T> void append(std::vector<std::byte> &data, T value) {
  auto *bytes = reinterpret_cast<const std::byte *>(&value);
  data.insert(data.end(), bytes, bytes + sizeof value);
}

void appendValue(std::vector<std::byte> &data, DType dtype, double value) {
  switch (dtype) {
  case DType::F32:
    return append(data, static_cast<float>(value));
  case DType::F16:
    return append(data, static_cast<_Float16>(value));
  case DType::BF16:
    return append(data, toBFloat16(static_cast<float>(value)));
  case DType::F64:
    return append(data, value);
  case DType::I8:
    return append(data, static_cast<int8_t>(value));
  case DType::U8:
    return append(data, static_cast<uint8_t>(value));
  case DType::I32:
    return append(data, static_cast<int32_t>(value));
  case DType::I64:
    return append(data, static_cast<int64_t>(value));
  case DType::Bool:
    return append(data, static_cast<uint8_t>(value != 0));
  }
}

bool isFloat(DType dtype) { return dtype <= DType::F64; }

/// Integers are taken as such: a double does not hold all of 64 bits, and a value out of range has
/// no defined conversion.
bool appendInteger(std::vector<std::byte> &data, DType dtype, std::string_view word) {
  auto appendAs = [&]<typename T>(T) {
    T value;
    if (!parseNumber(word, value))
      return false;
    append(data, value);
    return true;
  };
  switch (dtype) {
  case DType::I8:
    return appendAs(int8_t());
  case DType::I32:
    return appendAs(int32_t());
  case DType::I64:
    return appendAs(int64_t());
  case DType::Bool:
    return (word == "0" || word == "1") && appendAs(uint8_t());
  default:
    return appendAs(uint8_t());
  }
}

/// "2x2xf32=1,2,3,4" behind the name; "f32=5" is a scalar.
Result<rt::HostTensor> parseLiteral(const std::string &name, const std::string &text) {
  auto bad = [&](const std::string &what) {
    return userError(fmt::format("--input {}={}: {}; expected {}", name, text, what, kInputSyntax));
  };
  size_t equals = text.find('=');
  if (equals == std::string::npos)
    return bad("no '=' between type and values");
  std::vector<std::string_view> type = split(std::string_view(text).substr(0, equals), 'x');
  std::optional<DType> dtype = dtypeNamed(type.back());
  if (!dtype)
    return bad(fmt::format("unknown element type '{}'", type.back()));
  rt::HostTensor tensor;
  tensor.dtype = *dtype;
  CheckedSize count = 1;
  for (size_t i = 0; i + 1 < type.size(); ++i) {
    int64_t extent;
    if (!parseNumber(type[i], extent) || extent < 0)
      return bad(fmt::format("'{}' is not an extent", type[i]));
    tensor.shape.push_back(extent);
    count *= extent;
  }
  std::vector<std::string_view> values;
  if (equals + 1 < text.size())
    values = split(std::string_view(text).substr(equals + 1), ',');
  if (!count.valid() || count.getOr(0) != static_cast<int64_t>(values.size()))
    return bad(fmt::format("{} values for a shape of {}", values.size(), count.getOr(-1)));
  for (std::string_view word : values) {
    double value;
    bool isRead = isFloat(*dtype) ? parseNumber(word, value)
                                  : appendInteger(tensor.data, *dtype, word);
    if (!isRead)
      return bad(fmt::format("'{}' is not a value of type {}", word, nameOf(*dtype)));
    if (isFloat(*dtype))
      appendValue(tensor.data, *dtype, value);
  }
  return tensor;
}

/// An image for an input of shape [N, C, H, W] or [C, H, W]. Extents that are dims take those of the
/// image; the others have to be its own: how an image is scaled or cut decides on the result, so
/// that is not done here.
Result<rt::HostTensor> readImageInput(const nncc_tensor_info &input, const std::string &path) {
  auto bad = [&](const std::string &what) {
    return userError(
        fmt::format("--input {}=@{}: input '{}' is {}; {}", input.name, path, input.name,
                    input.type_text, what));
  };
  std::optional<DType> dtype = rt::fromDLDataType(input.dtype);
  bool hasBatch = input.rank == 4;
  if ((input.rank != 3 && !hasBatch) || (dtype != DType::F32 && dtype != DType::U8))
    return bad("an image needs one of type f32 or u8 and shape [N, C, H, W] or [C, H, W]; give it "
               "as an .npy file");
  const nncc_extent *chw = input.shape + hasBatch;
  if (chw[0].value != 1 && chw[0].value != 3)
    return bad("an image has 1 channel (grey) or 3 (red, green, blue); give it as an .npy file");
  auto image = data::readImage(path, {static_cast<int>(chw[0].value), *dtype});
  if (!image)
    return image.error();
  for (int d : {1, 2})
    if (chw[d].value >= 0 && chw[d].value != image->shape[d])
      return bad(fmt::format("the image has {} x {} pixels (width x height), expected {} x {}; "
                             "scale or cut it first, as the model was trained",
                             image->shape[2], image->shape[1], chw[2].text, chw[1].text));
  if (hasBatch)
    image->shape.insert(image->shape.begin(), 1);
  return image;
}

/// Floats from a normal distribution, integers 0 or 1: small enough to index any table.
rt::HostTensor makeRandom(DType dtype, std::vector<int64_t> shape, uint64_t seed) {
  rt::HostTensor tensor{dtype, std::move(shape), {}};
  int64_t count = 1;
  for (int64_t extent : tensor.shape)
    count *= extent;
  tensor.data.reserve(count * sizeBytesOf(dtype));
  std::mt19937_64 engine(seed);
  std::normal_distribution<double> normal;
  std::uniform_int_distribution<int> digits(0, 1);
  for (int64_t i = 0; i < count; ++i)
    appendValue(tensor.data, dtype, isFloat(dtype) ? normal(engine) : digits(engine));
  return tensor;
}

/// Sets what the extents say about dims: an extent that is a dim's name gives its value.
void inferDims(const nncc_model_info &info, const nncc_tensor_info &input,
               std::span<const int64_t> shape, std::vector<int64_t> &dims) {
  for (size_t d = 0; d < shape.size() && d < static_cast<size_t>(input.rank); ++d)
    for (size_t i = 0; i < info.dim_count; ++i)
      if (std::string_view(input.shape[d].text) == info.dims[i].name && dims[i] < 0)
        dims[i] = shape[d];
}

std::string listInputs(const nncc_model_info &info) {
  std::string text;
  for (size_t i = 0; i < info.input_count; ++i)
    text += fmt::format("\n  {}: {}", info.inputs[i].name, info.inputs[i].type_text);
  return text;
}

/// Before anything is made of that size.
Result<void> checkRange(const nncc_dim_info &dim, int64_t value, const std::string &flag) {
  if (value >= dim.min && value <= dim.max)
    return {};
  return userError(dim.max == INT64_MAX
                       ? fmt::format("{}: {} must be at least {}", flag, dim.name, dim.min)
                       : fmt::format("{}: {} must be in the range {}..{}", flag, dim.name, dim.min,
                                     dim.max));
}

/// What --dim and --batch say; -1 for the others.
Result<std::vector<int64_t>> requestedDims(const nncc_model_info &info,
                                           const InputRequest &request) {
  std::vector<int64_t> dims(info.dim_count, -1);
  for (const std::string &text : request.dims) {
    auto spec = splitSpec(text, "--dim", "NAME=NUMBER");
    if (!spec)
      return spec.error();
    size_t index = 0;
    while (index < info.dim_count && spec->name != info.dims[index].name)
      ++index;
    int64_t value;
    if (index == info.dim_count) {
      std::string known;
      for (size_t i = 0; i < info.dim_count; ++i)
        known += (i ? ", " : "") + std::string(info.dims[i].name);
      return userError(fmt::format("--dim {}: the model has no dim '{}'; {}", text, spec->name,
                                   known.empty() ? "all its sizes are fixed" : "it has " + known));
    }
    if (!parseNumber(spec->value, value) || value < 1)
      return userError(fmt::format("--dim {}: '{}' is not a positive number", text, spec->value));
    dims[index] = value;
    if (auto checked = checkRange(info.dims[index], value, "--dim " + text); !checked)
      return checked.error();
  }
  if (request.batch > 0) {
    bool found = false;
    for (size_t i = 0; i < info.dim_count && info.input_count && info.inputs[0].rank; ++i)
      if (std::string_view(info.inputs[0].shape[0].text) == info.dims[i].name) {
        if (auto checked = checkRange(info.dims[i], request.batch,
                                      fmt::format("--batch {}", request.batch));
            !checked)
          return checked.error();
        dims[i] = request.batch;
        found = true;
      }
    if (!found)
      return userError("--batch: the first extent of the model's first input is fixed" +
                       listInputs(info));
  }
  return dims;
}

} // namespace

DLTensor tools::describe(rt::HostTensor &tensor) {
  DLTensor described{};
  described.data = tensor.data.data();
  described.device = {kDLCPU, 0};
  described.ndim = static_cast<int32_t>(tensor.shape.size());
  described.dtype = rt::toDLDataType(tensor.dtype);
  described.shape = tensor.shape.data();
  return described;
}

std::vector<int64_t> tools::dimsOf(const nncc_model_info &info,
                                   std::span<const rt::HostTensor> inputs) {
  std::vector<int64_t> dims(info.dim_count, -1);
  for (size_t i = 0; i < inputs.size(); ++i)
    inferDims(info, info.inputs[i], inputs[i].shape, dims);
  for (size_t i = 0; i < info.dim_count; ++i)
    dims[i] = dims[i] < 0 ? info.dims[i].min : dims[i];
  return dims;
}

std::optional<std::vector<int64_t>> tools::shapeFor(const nncc_model_info &info,
                                                    const nncc_tensor_info &tensor,
                                                    std::span<const int64_t> dims) {
  std::vector<std::string> names = dimNames(info);
  std::vector<int64_t> shape;
  CheckedSize count = sizeBytesOf(DType::F64);
  for (int32_t d = 0; d < tensor.rank; ++d) {
    std::optional<rt::SizeExpr> extent = rt::SizeExpr::parse(tensor.shape[d].text, names);
    std::optional<int64_t> value = extent ? extent->evaluate(dims).get() : std::nullopt;
    if (!value || *value < 0)
      return std::nullopt;
    shape.push_back(*value);
    count *= *value;
  }
  return count.valid() ? std::optional(shape) : std::nullopt;
}

Result<std::vector<rt::HostTensor>> tools::makeInputs(const nncc_model_info &info,
                                                      const InputRequest &request) {
  auto dims = requestedDims(info, request);
  if (!dims)
    return dims.error();

  std::map<std::string, std::string> values;
  for (const std::string &text : request.inputs) {
    auto spec = splitSpec(text, "--input", kInputSyntax);
    if (!spec)
      return spec.error();
    bool known = false;
    for (size_t i = 0; i < info.input_count; ++i)
      known |= spec->name == info.inputs[i].name;
    if (!known)
      return userError(fmt::format("--input {}: the model has no input '{}'; it has{}", text,
                                   spec->name, listInputs(info)));
    if (!values.emplace(spec->name, spec->value).second)
      return userError(fmt::format("--input {}: '{}' is given twice", text, spec->name));
  }

  // What is read from files and the command line has shapes of its own, which decide on dims that
  // were not given.
  std::vector<rt::HostTensor> tensors(info.input_count);
  std::vector<std::optional<uint64_t>> seeds(info.input_count);
  std::string missing;
  for (size_t i = 0; i < info.input_count; ++i) {
    const nncc_tensor_info &input = info.inputs[i];
    auto found = values.find(input.name);
    if (found == values.end()) {
      seeds[i] = i;
      if (!request.randomWhenMissing)
        missing += fmt::format("\n  {}: {}", input.name, input.type_text);
      continue;
    }
    const std::string &value = found->second;
    if (value == "random" || value.starts_with("random:")) {
      uint64_t seed = i;
      if (value.size() > 6 && !parseNumber(std::string_view(value).substr(7), seed))
        return userError(fmt::format("--input {}={}: the seed is not a number", input.name, value));
      seeds[i] = seed;
      continue;
    }
    bool isFile = value[0] == '@';
    auto tensor = isFile && data::isImagePath(value) ? readImageInput(input, value.substr(1))
                  : isFile                     ? data::readNpy(value.substr(1))
                                               : parseLiteral(input.name, value);
    if (!tensor)
      return tensor.error();
    inferDims(info, input, tensor->shape, *dims);
    tensors[i] = std::move(*tensor);
  }
  if (!missing.empty())
    return userError(fmt::format("no value for{}\ngive --input {}", missing, kInputSyntax));

  for (size_t i = 0; i < info.dim_count; ++i)
    (*dims)[i] = (*dims)[i] < 0 ? info.dims[i].min : (*dims)[i];
  for (size_t i = 0; i < info.input_count; ++i) {
    if (!seeds[i])
      continue;
    const nncc_tensor_info &input = info.inputs[i];
    std::optional<DType> dtype = rt::fromDLDataType(input.dtype);
    auto shape = shapeFor(info, input, *dims);
    if (!dtype || !shape)
      return userError(
          fmt::format("input '{}' ({}) is too large for these dims", input.name, input.type_text));
    tensors[i] = makeRandom(*dtype, *shape, *seeds[i]);
  }
  return tensors;
}
