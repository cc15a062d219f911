// Data sets in .npy files (one per field, or a folder of them) and in .npz archives. Files are
// mapped; an array in Fortran order is turned once, an archive is inflated once.
#include "runtime/File.h"
#include "runtime/data/NamedArrays.h"
#include "runtime/data/Npy.h"

#include <fmt/format.h>
#include <zip.h>

#include <algorithm>
#include <filesystem>

using namespace nncc;
using namespace nncc::data;

namespace {

constexpr std::string_view kNpy = ".npy", kNpz = ".npz";

/// Adds the array in `bytes`, which `memory` keeps.
Result<void> addArray(const std::string &name, const std::string &file,
                      std::span<const std::byte> bytes, std::vector<NamedArray> &arrays,
                      std::vector<std::shared_ptr<const void>> &memory) {
  Result<NpyArray> array = viewNpy(bytes, file);
  if (!array)
    return array.error();
  if (!array->isFortranOrder) {
    arrays.push_back({name, file, array->dtype, array->shape, array->data});
    return {};
  }
  Result<rt::HostTensor> turned = parseNpy(bytes, file);
  if (!turned)
    return turned.error();
  auto tensor = std::make_shared<rt::HostTensor>(std::move(*turned));
  arrays.push_back({name, file, tensor->dtype, tensor->shape, tensor->data});
  memory.push_back(tensor);
  return {};
}

/// A path with or without the name of its field before it.
struct NamedPath {
  std::string name, path;
};

NamedPath parsePath(const std::string &text) {
  std::error_code code;
  size_t equals = text.find('=');
  if (equals != std::string::npos && equals > 0 && !std::filesystem::exists(text, code))
    return {text.substr(0, equals), text.substr(equals + 1)};
  return {std::filesystem::path(text).stem().string(), text};
}

Result<std::vector<NamedPath>> findNpyFiles(const DataSpec &spec, Split split) {
  std::error_code code;
  std::vector<NamedPath> paths;
  for (const std::string &text : spec.paths)
    paths.push_back(parsePath(text));
  if (paths.size() > 1 || !std::filesystem::is_directory(paths[0].path, code))
    return paths;
  Result<Probe> folder = probe(paths[0].path);
  if (!folder)
    return folder.error();
  paths.clear();
  std::vector<std::string> stems;
  for (const std::string &name : folder->names)
    if (name.ends_with(kNpy))
      stems.push_back(name.substr(0, name.size() - kNpy.size()));
  for (const std::string &stem : namesOfSplit(stems, split))
    paths.push_back(
        {stem, (std::filesystem::path(folder->path) / (stem + std::string(kNpy))).string()});
  if (paths.empty())
    return userError(fmt::format(
        "'{}': expected .npy files for {}, as x_{}.npy, found {}", folder->path, nameOf(split),
        split == Split::Train ? "train" : "test", listNames(folder->names)));
  return paths;
}

Result<std::unique_ptr<DataSource>> openNpy(const DataSpec &spec, Split split) {
  Result<std::vector<NamedPath>> paths = findNpyFiles(spec, split);
  if (!paths)
    return paths.error();
  std::vector<NamedArray> arrays;
  std::vector<std::shared_ptr<const void>> memory;
  std::vector<std::string> names;
  for (const NamedPath &path : *paths) {
    Result<rt::MappedFile> opened = rt::MappedFile::open(path.path);
    if (!opened)
      return opened.error();
    auto file = std::make_shared<rt::MappedFile>(std::move(*opened));
    memory.push_back(file);
    names.push_back(path.path);
    if (Result<void> added = addArray(path.name, path.path, file->bytes(), arrays, memory); !added)
      return added.error();
  }
  return makeNamedArraySource("data '" + listNames(names) + "'", std::move(arrays),
                              std::move(memory));
}

bool recognisesNpy(const Probe &probe, Split) {
  return probe.head.starts_with("\x93NUMPY") ||
         std::any_of(probe.names.begin(), probe.names.end(),
                     [](const std::string &name) { return name.ends_with(kNpy); });
}

struct CloseArchive {
  void operator()(zip_t *archive) const { zip_discard(archive); }
};
struct CloseEntry {
  void operator()(zip_file_t *entry) const { zip_fclose(entry); }
};

/// An .npz archive in memory that stays.
class Archive {
public:
  static Result<Archive> open(std::span<const std::byte> bytes, const std::string &path) {
    Archive archive;
    archive.path = path;
    zip_error_t error;
    zip_error_init(&error);
    zip_source_t *source = zip_source_buffer_create(bytes.data(), bytes.size(), 0, &error);
    if (source)
      archive.handle.reset(zip_open_from_source(source, ZIP_RDONLY, &error));
    std::string reason = zip_error_strerror(&error);
    zip_error_fini(&error);
    if (!archive.handle) {
      if (source)
        zip_source_free(source);
      return archive.failure(reason);
    }
    return archive;
  }

  /// Of its arrays, without ".npy".
  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (zip_int64_t i = 0; i < zip_get_num_entries(handle.get(), 0); ++i)
      if (const char *name = zip_get_name(handle.get(), static_cast<zip_uint64_t>(i), 0))
        if (std::string_view(name).ends_with(kNpy))
          names.emplace_back(name, std::string_view(name).size() - kNpy.size());
    return names;
  }

  Result<std::vector<std::byte>> read(const std::string &name) const {
    // Read in pieces, so that an archive cannot make us allocate what it only promises.
    constexpr size_t kPieceBytes = 1 << 24;
    std::string entryName = name + std::string(kNpy);
    std::unique_ptr<zip_file_t, CloseEntry> entry(zip_fopen(handle.get(), entryName.c_str(), 0));
    if (!entry)
      return failure(entryName + ": " + zip_strerror(handle.get()));
    std::vector<std::byte> bytes;
    for (;;) {
      size_t have = bytes.size();
      bytes.resize(have + kPieceBytes);
      zip_int64_t got = zip_fread(entry.get(), bytes.data() + have, kPieceBytes);
      if (got < 0)
        return failure(entryName + ": " + zip_file_strerror(entry.get()));
      bytes.resize(have + static_cast<size_t>(got));
      if (got == 0)
        return bytes;
    }
  }

private:
  Archive() = default;

  Error failure(const std::string &what) const {
    return userError("'" + path + "' cannot be read as .npz: " + what + "; fetch or save it again");
  }

  std::string path;
  std::unique_ptr<zip_t, CloseArchive> handle;
};

Result<std::unique_ptr<DataSource>> openNpz(const DataSpec &spec, Split split) {
  if (spec.paths.size() != 1)
    return userError(spec.text + ": expected one .npz file");
  const std::string &path = spec.paths[0];
  Result<rt::MappedFile> file = rt::MappedFile::open(path);
  if (!file)
    return file.error();
  Result<Archive> archive = Archive::open(file->bytes(), path);
  if (!archive)
    return archive.error();
  std::vector<std::string> names = archive->names(), wanted = namesOfSplit(names, split);
  if (wanted.empty())
    return userError(fmt::format("'{}': expected arrays for {}, as x_{}, found {}", path,
                                 nameOf(split), split == Split::Train ? "train" : "test",
                                 listNames(names)));
  std::vector<NamedArray> arrays;
  std::vector<std::shared_ptr<const void>> memory;
  for (const std::string &name : wanted) {
    Result<std::vector<std::byte>> read = archive->read(name);
    if (!read)
      return read.error();
    auto bytes = std::make_shared<std::vector<std::byte>>(std::move(*read));
    memory.push_back(bytes);
    if (Result<void> added = addArray(name, path, *bytes, arrays, memory); !added)
      return Error{added.error().kind, name + ".npy in " + added.error().message};
  }
  return makeNamedArraySource("data '" + path + "'", std::move(arrays), std::move(memory));
}

bool recognisesNpz(const Probe &probe, Split) {
  return probe.head.starts_with("PK") && probe.path.ends_with(kNpz);
}

} // namespace

const Format data::kNpyFormat = {
    "npy",
    ".npy files, one per field: the first extent counts samples; or a folder with them",
    "npy:image=x.npy,label=y.npy, npy:FOLDER",
    {},
    recognisesNpy,
    openNpy};

const Format data::kNpzFormat = {
    "npz", "an .npz archive, every array a field", "npz:mnist.npz", {}, recognisesNpz, openNpz};
