// CIFAR-10 and CIFAR-100 in their binary form: records of one or two labels and 3 x 32 x 32 bytes
// (planes of red, green and blue). The files are mapped, not copied.
#include "runtime/File.h"
#include "runtime/data/ArraySource.h"
#include "runtime/data/Formats.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>

using namespace nncc;
using namespace nncc::data;

namespace {

constexpr int64_t kImageBytes = 3 * 32 * 32;

struct Variant {
  const char *title;
  int64_t labelBytes; ///< before each image
  int64_t classCount; ///< of the first label
  const char *classFile;
  bool (*isTrain)(std::string_view name);
  bool (*isTest)(std::string_view name);
  const char *trainNames; ///< for messages
  const char *testNames;

  int64_t recordBytes() const { return labelBytes + kImageBytes; }
};

constexpr Variant kCifar10 = {
    "CIFAR-10",
    1,
    10,
    "batches.meta.txt",
    [](std::string_view name) { return name.starts_with("data_batch_") && name.ends_with(".bin"); },
    [](std::string_view name) { return name == "test_batch.bin"; },
    "data_batch_*.bin",
    "test_batch.bin"};

constexpr Variant kCifar100 = {"CIFAR-100",
                               2,
                               20,
                               "fine_label_names.txt",
                               [](std::string_view name) { return name == "train.bin"; },
                               [](std::string_view name) { return name == "test.bin"; },
                               "train.bin",
                               "test.bin"};

/// By the names of a folder's files; of a file, by its size and the label that it begins with.
template <const Variant &variant> bool recognises(const Probe &probe, Split) {
  for (const std::string &name : probe.names)
    if (variant.isTrain(name) || variant.isTest(name))
      return true;
  return !probe.isFolder && probe.path.ends_with(".bin") && probe.sizeBytes > 0 &&
         probe.sizeBytes % variant.recordBytes() == 0 && !probe.head.empty() &&
         static_cast<unsigned char>(probe.head[0]) < variant.classCount;
}

/// One class name a line; none when there is no such file.
std::vector<std::string> readClassNames(const std::filesystem::path &path) {
  std::vector<std::string> names;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.empty() && line.back() == '\r')
      line.pop_back();
    if (!line.empty())
      names.push_back(line);
  }
  return names;
}

Result<std::vector<std::string>> findFiles(const Variant &variant, const DataSpec &spec,
                                           Split split) {
  std::error_code code;
  if (spec.paths.size() > 1 || !std::filesystem::is_directory(spec.paths[0], code))
    return spec.paths;
  Result<Probe> folder = probe(spec.paths[0]);
  if (!folder)
    return folder.error();
  std::vector<std::string> files;
  for (const std::string &name : folder->names)
    if (split == Split::Train ? variant.isTrain(name) : variant.isTest(name))
      files.push_back((std::filesystem::path(folder->path) / name).string());
  if (files.empty())
    return userError(
        fmt::format("'{}': expected {} for {}, found {}; name the files as {}:A,B", folder->path,
                    split == Split::Train ? variant.trainNames : variant.testNames, nameOf(split),
                    listNames(folder->names), variant.labelBytes == 1 ? "cifar10" : "cifar100"));
  return files;
}

Result<std::unique_ptr<DataSource>> openVariant(const Variant &variant, const DataSpec &spec,
                                                Split split) {
  Result<std::vector<std::string>> files = findFiles(variant, spec, split);
  if (!files)
    return files.error();
  std::vector<ArrayPart> parts;
  std::vector<std::shared_ptr<const void>> memory;
  for (const std::string &path : *files) {
    Result<rt::MappedFile> opened = rt::MappedFile::open(path);
    if (!opened)
      return opened.error();
    auto file = std::make_shared<rt::MappedFile>(std::move(*opened));
    int64_t sizeBytes = static_cast<int64_t>(file->bytes().size());
    if (sizeBytes % variant.recordBytes() != 0)
      return userError(fmt::format("'{}' cannot be read as {}: expected records of {} bytes, found "
                                   "{} bytes, {} more than {} records; fetch it again",
                                   path, variant.title, variant.recordBytes(), sizeBytes,
                                   sizeBytes % variant.recordBytes(),
                                   sizeBytes / variant.recordBytes()));
    if (sizeBytes == 0)
      continue; // whether any sample is left is asked at the end
    const std::byte *first = file->bytes().data();
    ArrayPart part{sizeBytes / variant.recordBytes(), {}};
    part.columns.push_back({path, first + variant.labelBytes, variant.recordBytes()});
    // The finest label is the last.
    for (int64_t i = variant.labelBytes; i-- > 0;)
      part.columns.push_back({path, first + i, variant.recordBytes()});
    parts.push_back(std::move(part));
    memory.push_back(file);
  }
  std::vector<ArrayField> fields = {{{"image", DType::U8, {3, 32, 32}}, DType::U8},
                                    {{"label", DType::I64, {}}, DType::U8}};
  if (variant.labelBytes == 2)
    fields.push_back({{"coarse_label", DType::I64, {}}, DType::U8});
  std::filesystem::path folder = std::filesystem::path((*files)[0]).parent_path();
  return makeArraySource(fmt::format("{} data '{}'", variant.title, listNames(*files)),
                         std::move(fields), std::move(parts), std::move(memory),
                         readClassNames(folder / variant.classFile));
}

} // namespace

const Format data::kCifar10Format = {
    "cifar10",
    "binary files of CIFAR-10, or the folder with data_batch_*.bin and test_batch.bin",
    "cifar10:FOLDER, cifar10:data_batch_1.bin",
    {},
    recognises<kCifar10>,
    [](const DataSpec &spec, Split split) { return openVariant(kCifar10, spec, split); }};

const Format data::kCifar100Format = {
    "cifar100",
    "binary files of CIFAR-100, or the folder with train.bin and test.bin",
    "cifar100:FOLDER, cifar100:train.bin",
    {},
    recognises<kCifar100>,
    [](const DataSpec &spec, Split split) { return openVariant(kCifar100, spec, split); }};
