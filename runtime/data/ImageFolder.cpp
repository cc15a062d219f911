// Images in a folder per class: ROOT/CLASS/*.png, .jpg, .jpeg. Classes are numbered in the order of
// their names. An image is decoded, and resized if that is asked for, each time it is read, by the
// thread that reads it: a data set may be larger than memory.
#include "runtime/data/Formats.h"
#include "runtime/data/Image.h"
#include "runtime/data/Resize.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <filesystem>

using namespace nncc;
using namespace nncc::data;

namespace fs = std::filesystem;

namespace {

struct ImageFile {
  std::string path;
  int64_t label;
};

struct Size {
  int64_t height, width;
};

class ImageFolderSource : public DataSource {
public:
  ImageFolderSource(const std::string &root, std::vector<ImageFile> files,
                    std::vector<std::string> classNames, int channels, Size size,
                    std::optional<ImageFit> fit)
      : DataSource(
            "images '" + root + "'", static_cast<int64_t>(files.size()),
            {{"image", DType::U8, {channels, size.height, size.width}}, {"label", DType::I64, {}}},
            std::move(classNames)),
        files(std::move(files)), channels(channels), size(size), fit(fit) {}

  Result<void> read(int64_t sample, std::span<const std::span<std::byte>> values) const override {
    const ImageFile &file = files[static_cast<size_t>(sample)];
    if (!values[1].empty())
      std::memcpy(values[1].data(), &file.label, sizeof file.label);
    if (values[0].empty())
      return {};
    Result<rt::HostTensor> image = readImage(file.path, {channels, DType::U8});
    if (!image)
      return image.error();
    if (image->shape[1] == size.height && image->shape[2] == size.width) {
      std::memcpy(values[0].data(), image->data.data(), values[0].size());
      return {};
    }
    if (!fit)
      return userError(
          fmt::format("'{}' has {} x {} pixels (width x height), but the first image of "
                      "the data has {} x {}; say size=HEIGHTxWIDTH to resize all",
                      file.path, image->shape[2], image->shape[1], size.width, size.height));
    resizePlanes({reinterpret_cast<const uint8_t *>(image->data.data()), image->data.size()},
                 channels, image->shape[1], image->shape[2],
                 {reinterpret_cast<uint8_t *>(values[0].data()), values[0].size()}, size.height,
                 size.width, *fit);
    return {};
  }

  std::string locate(int64_t sample, size_t) const override {
    return "'" + files[static_cast<size_t>(sample)].path + "'";
  }

private:
  std::vector<ImageFile> files;
  int channels;
  Size size;
  std::optional<ImageFit> fit;
};

bool isFolderName(const std::string &name) { return name.ends_with('/') && name[0] != '.'; }

/// ROOT itself, or its folder of the split ("train", "test" or "val") where it has such.
Result<std::string> findRoot(const std::string &path, Split split) {
  Result<Probe> root = probe(path);
  if (!root)
    return root.error();
  if (!root->isFolder)
    return userError("'" + path + "': expected a folder with a folder of images for each class");
  std::vector<std::string> fitting, others;
  constexpr std::string_view kTrain[] = {"train/", "training/"};
  constexpr std::string_view kTest[] = {"test/", "val/", "valid/", "validation/", "testing/"};
  auto isOneOf = [](const auto &list, const std::string &name) {
    return std::find(std::begin(list), std::end(list), name) != std::end(list);
  };
  for (const std::string &name : root->names) {
    bool isTrain = isOneOf(kTrain, name), isTest = isOneOf(kTest, name);
    if (isTrain || isTest)
      (isTrain == (split == Split::Train) ? fitting : others).push_back(name);
  }
  if (fitting.empty() && others.empty())
    return path;
  if (fitting.size() != 1)
    return userError(
        fmt::format("'{}': expected one folder for {}, found {}; name the folder itself", path,
                    nameOf(split), fitting.empty() ? listNames(others) : listNames(fitting)));
  return (fs::path(path) / fitting[0]).parent_path().string();
}

bool holdsClasses(const Probe &root) {
  for (const std::string &name : root.names) {
    if (!isFolderName(name))
      continue;
    Result<Probe> folder = probe((fs::path(root.path) / name).string());
    if (folder && std::any_of(folder->names.begin(), folder->names.end(), isImagePath))
      return true;
  }
  return false;
}

bool recognises(const Probe &probed, Split split) {
  if (!probed.isFolder)
    return false;
  Result<std::string> root = findRoot(probed.path, split);
  // A folder of the other split alone is one of images too, and the error is that of opening it.
  Result<std::string> other =
      findRoot(probed.path, split == Split::Train ? Split::Test : Split::Train);
  if (!root && !other)
    return false;
  Result<Probe> folder = probe(root ? *root : *other);
  return folder && holdsClasses(*folder);
}

std::optional<Size> parseSize(const std::string &text) {
  constexpr int64_t kMaxExtent = 1 << 15;
  auto parse = [](std::string_view word) {
    int64_t value = 0;
    auto [end, code] = std::from_chars(word.data(), word.data() + word.size(), value);
    bool isRead = code == std::errc() && end == word.data() + word.size();
    return isRead && value >= 1 && value <= kMaxExtent ? value : -1;
  };
  size_t times = text.find('x');
  int64_t height = parse(std::string_view(text).substr(0, times));
  int64_t width =
      times == std::string::npos ? height : parse(std::string_view(text).substr(times + 1));
  return height < 0 || width < 0 ? std::nullopt : std::optional(Size{height, width});
}

Result<std::unique_ptr<DataSource>> open(const DataSpec &spec, Split split) {
  if (spec.paths.size() != 1)
    return userError(spec.text + ": expected one folder");
  Result<std::string> root = findRoot(spec.paths[0], split);
  if (!root)
    return root.error();
  std::string channelText = spec.option("channels").value_or("3");
  if (channelText != "1" && channelText != "3")
    return userError(spec.text + ": expected channels=1 (grey) or channels=3 (red, green, blue)");
  std::string fitText = spec.option("fit").value_or("crop");
  if (fitText != "crop" && fitText != "stretch")
    return userError(spec.text + ": expected fit=crop or fit=stretch");

  Result<Probe> folder = probe(*root);
  if (!folder)
    return folder.error();
  std::vector<ImageFile> files;
  std::vector<std::string> classNames, unknown;
  for (const std::string &name : folder->names) {
    if (!isFolderName(name))
      continue;
    Result<Probe> classFolder = probe((fs::path(*root) / name).string());
    if (!classFolder)
      return classFolder.error();
    int64_t label = static_cast<int64_t>(classNames.size());
    size_t before = files.size();
    for (const std::string &file : classFolder->names) {
      std::string path = (fs::path(*root) / name / file).string();
      if (isImagePath(file))
        files.push_back({path, label});
      else if (file[0] != '.')
        unknown.push_back("'" + path + "'");
    }
    if (files.size() == before)
      return userError(
          fmt::format("'{}': expected images of a class, .png, .jpg or .jpeg, found {}",
                      classFolder->path, listNames(classFolder->names)));
    classNames.push_back(name.substr(0, name.size() - 1));
  }
  if (files.empty())
    return userError(fmt::format("'{}': expected a folder with images for each class, found {}",
                                 *root, listNames(folder->names)));
  if (!unknown.empty())
    return userError(fmt::format("{} {} not .png, .jpg or .jpeg; convert or remove {}",
                                 listNames(unknown), unknown.size() == 1 ? "is" : "are",
                                 unknown.size() == 1 ? "it" : "them"));

  int channels = channelText == "1" ? 1 : 3;
  std::optional<ImageFit> fit;
  Size size;
  if (auto sizeText = spec.option("size")) {
    std::optional<Size> given = parseSize(*sizeText);
    if (!given)
      return userError(fmt::format("{}: expected size=PIXELS or size=HEIGHTxWIDTH, found size={}",
                                   spec.text, *sizeText));
    size = *given;
    fit = fitText == "crop" ? ImageFit::Crop : ImageFit::Stretch;
  } else {
    Result<rt::HostTensor> first = readImage(files[0].path, {channels, DType::U8});
    if (!first)
      return first.error();
    size = {first->shape[1], first->shape[2]};
  }
  return std::unique_ptr<DataSource>(std::make_unique<ImageFolderSource>(
      *root, std::move(files), std::move(classNames), channels, size, fit));
}

} // namespace

const Format data::kImageFolderFormat = {
    "images",
    "a folder with a folder of .png, .jpg or .jpeg files for each class",
    "images:FOLDER, images:FOLDER?size=224, images:FOLDER?size=32x48&fit=stretch&channels=1",
    {"size", "fit", "channels"},
    recognises,
    open};
