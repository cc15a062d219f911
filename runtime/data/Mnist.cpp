// MNIST and its kin (Fashion-MNIST, KMNIST, EMNIST): a pair of IDX files, images and labels, plain
// or compressed by gzip. A folder may hold several pairs; their names tell training from test data.
#include "runtime/Tensor.h"
#include "runtime/data/ArraySource.h"
#include "runtime/data/Formats.h"
#include "runtime/data/Idx.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

using namespace nncc;
using namespace nncc::data;

namespace {

/// The two names differ in these words.
constexpr std::string_view kImageWords[] = {"images-idx3-ubyte", "images.idx3-ubyte"};
constexpr std::string_view kLabelWords[] = {"labels-idx1-ubyte", "labels.idx1-ubyte"};
constexpr std::string_view kCompressed = ".gz";

struct Pair {
  std::string stem; ///< "train" for train-images-idx3-ubyte.gz
  std::string images;
  std::string labels;
};

/// The labels that belong to a file of images, if its name is one of such: first of the same kind,
/// compressed or not, then of the other.
std::vector<std::string> labelNamesFor(const std::string &images) {
  std::vector<std::string> names;
  for (size_t i = 0; i < std::size(kImageWords); ++i) {
    size_t at = images.rfind(kImageWords[i]);
    if (at == std::string::npos)
      continue;
    std::string labels = images;
    labels.replace(at, kImageWords[i].size(), kLabelWords[i]);
    names.push_back(labels);
    names.push_back(labels.ends_with(kCompressed)
                        ? labels.substr(0, labels.size() - kCompressed.size())
                        : labels + std::string(kCompressed));
  }
  return names;
}

std::string stemOf(const std::string &images) {
  for (std::string_view word : kImageWords)
    if (size_t at = images.rfind(word); at != std::string::npos)
      return images.substr(0, at > 0 ? at - 1 : 0);
  return images;
}

std::vector<Pair> pairsIn(const std::vector<std::string> &names) {
  std::vector<Pair> pairs;
  for (const std::string &name : names) // sorted: the plain file stands before the compressed one
    for (const std::string &labels : labelNamesFor(name)) {
      bool isKnown = std::any_of(pairs.begin(), pairs.end(),
                                 [&](const Pair &pair) { return pair.stem == stemOf(name); });
      if (!isKnown && std::binary_search(names.begin(), names.end(), labels))
        pairs.push_back({stemOf(name), name, labels});
    }
  return pairs;
}

std::string join(const std::string &folder, const std::string &name) {
  return (std::filesystem::path(folder) / name).string();
}

Result<Pair> choosePair(const Probe &folder, Split split) {
  std::vector<Pair> pairs = pairsIn(folder.names), fitting, unnamed;
  std::vector<std::string> stems;
  for (const Pair &pair : pairs) {
    stems.push_back(pair.stem);
    if (namesSplit(pair.stem, split))
      fitting.push_back(pair);
    else if (!namesSplit(pair.stem, split == Split::Train ? Split::Test : Split::Train))
      unnamed.push_back(pair);
  }
  if (fitting.empty())
    fitting = unnamed;
  if (fitting.size() != 1)
    return userError(fmt::format(
        "'{}': expected one pair of IDX files for {}, {}-images-idx3-ubyte and "
        "{}-labels-idx1-ubyte (or .gz), found {} of {}; name one as mnist:{}/NAME",
        folder.path, nameOf(split), split == Split::Train ? "train" : "t10k",
        split == Split::Train ? "train" : "t10k", fitting.empty() ? "none" : "several",
        pairs.empty() ? "no pair at all" : "the pairs " + listNames(stems), folder.path));
  return Pair{fitting[0].stem, join(folder.path, fitting[0].images),
              join(folder.path, fitting[0].labels)};
}

Result<Pair> findPair(const DataSpec &spec, Split split) {
  if (spec.paths.size() == 2)
    return Pair{"", spec.paths[0], spec.paths[1]};
  if (spec.paths.size() != 1)
    return userError(spec.text + ": expected one path or two, IMAGES,LABELS");
  std::filesystem::path path = spec.paths[0];
  std::error_code code;
  if (std::filesystem::is_directory(path, code)) {
    Result<Probe> folder = probe(spec.paths[0]);
    if (!folder)
      return folder.error();
    return choosePair(*folder, split);
  }
  if (std::filesystem::exists(path, code)) {
    for (const std::string &labels : labelNamesFor(spec.paths[0]))
      if (std::filesystem::exists(labels, code))
        return Pair{"", spec.paths[0], labels};
    return userError(fmt::format("'{}': no file of labels is beside it by the name that belongs to "
                                 "it; give both as mnist:IMAGES,LABELS",
                                 spec.paths[0]));
  }
  // The part of the names that both files share.
  std::string folderPath = path.has_parent_path() ? path.parent_path().string() : ".";
  Result<Probe> folder = probe(folderPath);
  if (!folder)
    return userError("cannot open '" + spec.paths[0] + "': no such file or folder");
  std::vector<std::string> stems;
  for (const Pair &pair : pairsIn(folder->names)) {
    if (pair.stem == path.filename().string())
      return Pair{pair.stem, join(folderPath, pair.images), join(folderPath, pair.labels)};
    stems.push_back(pair.stem);
  }
  return userError(fmt::format("'{}': no such file or folder, nor pair of IDX files; '{}' has the "
                               "pairs {}",
                               spec.paths[0], folderPath, listNames(stems)));
}

bool recognises(const Probe &probe, Split) {
  if (probe.isFolder)
    return !pairsIn(probe.names).empty();
  return probe.head.size() >= 4 && probe.head[0] == 0 && probe.head[1] == 0 &&
         probe.head[2] >= 0x08 && probe.head[2] <= 0x0E && probe.head[3] >= 1 && probe.head[3] <= 4;
}

Result<std::unique_ptr<DataSource>> open(const DataSpec &spec, Split split) {
  Result<Pair> pair = findPair(spec, split);
  if (!pair)
    return pair.error();
  Result<rt::HostTensor> imagesRead = readIdx(pair->images);
  if (!imagesRead)
    return imagesRead.error();
  Result<rt::HostTensor> labelsRead = readIdx(pair->labels);
  if (!labelsRead)
    return labelsRead.error();
  auto images = std::make_shared<rt::HostTensor>(std::move(*imagesRead));
  auto labels = std::make_shared<rt::HostTensor>(std::move(*labelsRead));
  auto typeOf = [](const rt::HostTensor &tensor) {
    return rt::describeType(nncc::nameOf(tensor.dtype), tensor.shape);
  };
  if (images->dtype != DType::U8 || images->shape.size() < 3 || images->shape.size() > 4)
    return userError(fmt::format("'{}': expected images, u8[N, height, width], found {}; is it the "
                                 "file of the images?",
                                 pair->images, typeOf(*images)));
  bool isLabelType = labels->dtype == DType::U8 || labels->dtype == DType::I32;
  if (!isLabelType || labels->shape.size() != 1)
    return userError(fmt::format("'{}': expected labels, u8[N] or i32[N], found {}; is it the file "
                                 "of the labels?",
                                 pair->labels, typeOf(*labels)));
  int64_t count = images->shape[0];
  if (count != labels->shape[0])
    return userError(fmt::format("'{}' has {} images, but '{}' has {} labels; take files that "
                                 "belong together",
                                 pair->images, count, pair->labels, labels->shape[0]));
  std::vector<int64_t> shape(images->shape.begin() + 1, images->shape.end());
  if (shape.size() == 2)
    shape.insert(shape.begin(), 1);
  std::vector<ArrayField> fields = {{{"image", DType::U8, shape}, DType::U8},
                                    {{"label", DType::I64, {}}, labels->dtype}};
  ArrayPart part{count,
                 {{pair->images, images->data.data(), sizeBytesOf(fields[0].field)},
                  {pair->labels, labels->data.data(), nncc::sizeBytesOf(labels->dtype)}}};
  return makeArraySource("MNIST data '" + pair->images + "'", std::move(fields), {std::move(part)},
                         {images, labels});
}

} // namespace

const Format data::kMnistFormat = {"mnist",
                                   "a pair of IDX files, plain or .gz, or a folder with such pairs",
                                   "mnist:FOLDER, mnist:IMAGES,LABELS, mnist:FOLDER/t10k",
                                   {},
                                   recognises,
                                   open};
