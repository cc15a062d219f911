// Reading and writing of tuning files; see TuningFile.h.

#include "runtime/cuda/TuningFile.h"

#include "runtime/File.h"

#include <nlohmann/json.hpp>

#include <cmath>
#include <filesystem>

namespace nncc::rt::cuda {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char *kFormat = "nncc tuning";
constexpr int64_t kVersion = 1;

/// Reads values that may be anything; keeps the first problem and where it is.
class Reader {
public:
  explicit Reader(std::string path) : path(std::move(path)) {}

  Result<TuningFile> read(std::string_view text) {
    Json root;
    try {
      root = Json::parse(text);
    } catch (const Json::parse_error &error) {
      // "[json.exception.parse_error.101] parse error at line 3, column 5: ..."
      std::string what = error.what();
      size_t begin = what.find("parse error");
      return damaged(begin == std::string::npos ? what : what.substr(begin));
    }
    std::string format = toText(child(root, "format", "the file"), "format");
    if (problem.empty() && format != kFormat)
      fail("format", "expected \"" + std::string(kFormat) + "\", found \"" + format + "\"");
    int64_t version = toInteger(child(root, "version", "the file"), "version");
    if (problem.empty() && version != kVersion)
      return userError("the tuning file " + path + " has version " + std::to_string(version) +
                       ", this nncc reads version " + std::to_string(kVersion) +
                       "; tune again (nncc-run --tune)");
    TuningFile file;
    forEach(child(root, "devices", "the file"), "devices",
            [&](const Json &item, const std::string &where) {
              file.devices.push_back(toDevice(item, where));
            });
    if (!problem.empty())
      return damaged(problem);
    return file;
  }

private:
  Error damaged(const std::string &what) const {
    return userError("the tuning file " + path + " is damaged: " + what +
                     ". Restore it, or delete it and tune again (nncc-run --tune)");
  }
  void fail(const std::string &where, const std::string &what) {
    if (problem.empty())
      problem = where + ": " + what;
  }
  void failType(const std::string &where, const char *expected, const Json &found) {
    fail(where, std::string("expected ") + expected + ", found " + found.type_name());
  }

  const Json &child(const Json &parent, const char *key, const std::string &where) {
    if (parent.is_object() && parent.contains(key))
      return parent[key];
    fail(where, std::string("expected an object with the field \"") + key + "\"");
    return missing;
  }
  template <class Visit> void forEach(const Json &list, const std::string &where, Visit visit) {
    if (!list.is_array())
      return failType(where, "an array", list);
    for (size_t i = 0; i < list.size() && problem.empty(); ++i)
      visit(list[i], where + "[" + std::to_string(i) + "]");
  }
  template <class Visit>
  void forEachField(const Json &object, const std::string &where, Visit visit) {
    if (!object.is_object())
      return failType(where, "an object", object);
    for (auto item = object.begin(); item != object.end() && problem.empty(); ++item)
      visit(item.key(), item.value(), where + "." + item.key());
  }
  std::string toText(const Json &value, const std::string &where) {
    if (const std::string *text = value.get_ptr<const std::string *>())
      return *text;
    failType(where, "a string", value);
    return "";
  }
  std::string readText(const Json &parent, const char *key, const std::string &where) {
    return toText(child(parent, key, where), where + "." + key);
  }
  int64_t toInteger(const Json &value, const std::string &where) {
    if (value.is_number_integer() &&
        !(value.is_number_unsigned() && value.get<uint64_t>() > INT64_MAX))
      return value.get<int64_t>();
    failType(where, "a 64-bit integer", value);
    return 0;
  }

  TunedDevice toDevice(const Json &item, const std::string &where) {
    TunedDevice device;
    device.name = readText(item, "name", where);
    device.architecture = readText(item, "architecture", where);
    device.driver = readText(item, "driver", where);
    forEachField(child(item, "libraries", where), where + ".libraries",
                 [&](const std::string &key, const Json &value, const std::string &at) {
                   device.libraries[key] = toText(value, at);
                 });
    forEach(child(item, "kernels", where), where + ".kernels",
            [&](const Json &kernel, const std::string &at) {
              device.kernels.push_back(toKernel(kernel, at));
            });
    return device;
  }

  TunedKernel toKernel(const Json &item, const std::string &where) {
    TunedKernel kernel;
    kernel.name = readText(item, "kernel", where);
    kernel.identity = readText(item, "identity", where);
    forEachField(child(item, "dims", where), where + ".dims",
                 [&](const std::string &key, const Json &value, const std::string &at) {
                   kernel.dims[key] = toInteger(value, at);
                 });
    kernel.use = readText(item, "use", where);
    bool isLibrary = kernel.use == "cublasLt" || kernel.use == "cudnn";
    if (isLibrary || (item.is_object() && item.contains("algorithm")))
      kernel.algorithm = readText(item, "algorithm", where);
    if (!isLibrary && kernel.use != "nncc")
      fail(where + ".use",
           "expected \"nncc\", \"cublasLt\" or \"cudnn\", found \"" + kernel.use + "\"");
    forEachField(child(item, "microseconds", where), where + ".microseconds",
                 [&](const std::string &key, const Json &value, const std::string &at) {
                   if (!value.is_number())
                     return failType(at, "a number", value);
                   kernel.microseconds[key] = value.get<double>();
                 });
    if (item.is_object() && item.contains("notes"))
      forEach(item["notes"], where + ".notes", [&](const Json &note, const std::string &at) {
        kernel.notes.push_back(toText(note, at));
      });
    return kernel;
  }

  std::string path, problem;
  const Json missing;
};

/// One line for each kernel.
Json toJson(const TunedKernel &kernel) {
  constexpr double kDigits = 1000;
  Json item = {{"kernel", kernel.name},
               {"identity", kernel.identity},
               {"dims", Json::object()},
               {"use", kernel.use}};
  for (const auto &[name, value] : kernel.dims)
    item["dims"][name] = value;
  if (!kernel.algorithm.empty())
    item["algorithm"] = kernel.algorithm;
  item["microseconds"] = Json::object();
  for (const auto &[name, value] : kernel.microseconds)
    item["microseconds"][name] = std::round(value * kDigits) / kDigits;
  if (!kernel.notes.empty())
    item["notes"] = kernel.notes;
  return item;
}

std::string dump(const Json &json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

} // namespace

Result<TuningFile> TuningFile::read(std::string_view text, const std::string &path) {
  return Reader(path).read(text);
}

Result<std::optional<TuningFile>> TuningFile::load(const std::string &path) {
  std::error_code code;
  if (!std::filesystem::exists(path, code))
    return std::optional<TuningFile>();
  auto mapped = MappedFile::open(path);
  if (!mapped)
    return mapped.error();
  std::span<const std::byte> bytes = mapped->bytes();
  auto file = read({reinterpret_cast<const char *>(bytes.data()), bytes.size()}, path);
  if (!file)
    return file.error();
  return std::optional<TuningFile>(std::move(*file));
}

std::string TuningFile::write() const {
  std::string text = "{\"format\": " + dump(kFormat) +
                     ", \"version\": " + std::to_string(kVersion) + ", \"devices\": [";
  const char *separator = "\n";
  for (const TunedDevice &device : devices) {
    text += separator + std::string(" {\"name\": ") + dump(device.name) +
            ", \"architecture\": " + dump(device.architecture) +
            ", \"driver\": " + dump(device.driver) +
            ",\n  \"libraries\": " + dump(Json(device.libraries)) + ",\n  \"kernels\": [";
    const char *next = "\n";
    for (const TunedKernel &kernel : device.kernels) {
      text += next + std::string("   ") + dump(toJson(kernel));
      next = ",\n";
    }
    text += "]}";
    separator = ",\n";
  }
  return text + "]}\n";
}

const TunedDevice *TuningFile::find(std::string_view name, std::string_view architecture) const {
  for (const TunedDevice &device : devices)
    if (device.name == name && device.architecture == architecture)
      return &device;
  return nullptr;
}

} // namespace nncc::rt::cuda
