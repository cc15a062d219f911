// Checkpoints; see Checkpoint.h. At every moment of a save the name of the last checkpoint stands
// for a whole file: the new one is written and synced under another name, the old one gets a second
// name (a hard link) as the previous one, and a rename puts the new one in its place.
#include "runtime/data/Checkpoint.h"

#include "runtime/Tensor.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <sys/statvfs.h>
#include <unistd.h>

using namespace nncc;
using namespace nncc::data;

namespace {

constexpr const char *kStateKey = "nncc.training";
constexpr const char *kChecksumKey = "nncc.xxh3";
constexpr const char *kRandomGenerator = "philox4x32-10";

struct ReleaseHash {
  void operator()(XXH3_state_t *state) const { XXH3_freeState(state); }
};

/// Over the data of all tensors, in their order in the file.
class Checksum {
public:
  Checksum() : state(XXH3_createState()) { XXH3_64bits_reset(state.get()); }
  void add(std::span<const std::byte> bytes) {
    XXH3_64bits_update(state.get(), bytes.data(), bytes.size());
  }
  std::string text() const { return fmt::format("{:016x}", XXH3_64bits_digest(state.get())); }

private:
  std::unique_ptr<XXH3_state_t, ReleaseHash> state;
};

std::string toText(const TrainingState &state) {
  nlohmann::ordered_json json = {{"model", state.model},
                                 {"identity", state.identity},
                                 {"epoch", state.position.epoch},
                                 {"batch", state.position.batch},
                                 {"step", state.step},
                                 {"seed", state.seed},
                                 {"rng", kRandomGenerator}};
  if (state.best)
    json["best"] = *state.best;
  json["more"] = state.more;
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

/// What is wrong with the text, or nothing.
std::string parseState(const std::string &text, TrainingState &state) {
  nlohmann::json json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object())
    return "it is not a JSON object";
  std::string problem;
  auto member = [&](const char *name, bool (nlohmann::json::*hasType)() const noexcept) {
    auto found = json.find(name);
    bool isThere = found != json.end() && ((*found).*hasType)();
    if (!isThere && problem.empty())
      problem = fmt::format("'{}' is missing or of another type", name);
    return isThere ? &*found : nullptr;
  };
  auto readText = [&](const char *name, std::string &value) {
    if (auto *found = member(name, &nlohmann::json::is_string))
      value = found->get<std::string>();
  };
  auto readCount = [&](const char *name, auto &value) {
    if (auto *found = member(name, &nlohmann::json::is_number_unsigned))
      found->get_to(value);
  };
  std::string generator;
  readText("model", state.model);
  readText("identity", state.identity);
  readCount("epoch", state.position.epoch);
  readCount("batch", state.position.batch);
  readCount("step", state.step);
  readCount("seed", state.seed);
  readText("rng", generator);
  if (json.contains("best")) {
    auto *best = member("best", &nlohmann::json::is_number);
    state.best = best ? std::optional(best->get<double>()) : std::nullopt;
  }
  if (auto *more = member("more", &nlohmann::json::is_object))
    for (const auto &[name, value] : more->items())
      if (value.is_string())
        state.more[name] = value.get<std::string>();
  if (problem.empty() && generator != kRandomGenerator)
    problem =
        fmt::format("expected the random generator {}, found {}", kRandomGenerator, generator);
  return problem;
}

std::string describeState(const TrainingState &state) {
  return fmt::format("epoch {}, batch {}, step {}", state.position.epoch, state.position.batch,
                     state.step);
}

/// Gives the file at `from` the second name `to`, in place of what has that name. False where the
/// file system knows no second names.
bool linkOver(const std::string &from, const std::string &to) {
  std::string temporary = to + fmt::format(".{}-link.tmp", ::getpid());
  ::unlink(temporary.c_str());
  // A name that is a symbolic link stands for the file behind it.
  if (::linkat(AT_FDCWD, from.c_str(), AT_FDCWD, temporary.c_str(), AT_SYMLINK_FOLLOW) != 0)
    return false;
  bool isDone = ::rename(temporary.c_str(), to.c_str()) == 0;
  // A rename between two names of one file does nothing, and leaves both.
  ::unlink(temporary.c_str());
  return isDone;
}

Result<rt::AtomicFile> writeTemporary(const std::string &path,
                                      std::span<const rt::SafetensorsSource> tensors,
                                      const std::map<std::string, std::string> &metadata) {
  Result<rt::AtomicFile> file = rt::AtomicFile::create(path);
  if (!file)
    return file.error();
  Result<void> written =
      rt::writeSafetensors(*file, tensors, metadata, rt::SafetensorsAlignment::Start);
  if (written)
    written = file->sync();
  if (!written)
    return written.error();
  return file;
}

Result<void> save(const CheckpointFiles &files, std::span<const rt::SafetensorsSource> tensors,
                  const std::map<std::string, std::string> &metadata, bool isBest) {
  Result<rt::AtomicFile> file = writeTemporary(files.last, tensors, metadata);
  if (!file)
    return file.error();
  // First the best: a training that goes on from the last one knows its value, and would not save
  // it again.
  if (isBest && !linkOver(file->temporary(), files.best)) {
    Result<rt::AtomicFile> best = writeTemporary(files.best, tensors, metadata);
    if (!best)
      return best.error();
    if (Result<void> committed = best->commit(); !committed)
      return committed;
  }
  // Without second names the last checkpoint has none for the moment between two renames, and the
  // previous one is what is left of an interruption.
  if (::access(files.last.c_str(), F_OK) == 0 && !linkOver(files.last, files.previous))
    ::rename(files.last.c_str(), files.previous.c_str());
  if (Result<void> committed = file->commit(); !committed)
    return committed;
  return rt::syncFolderOf(files.last);
}

/// Appended to what went wrong with a save.
std::string adviceAfter(const CheckpointFiles &files, int64_t neededBytes) {
  std::string text = fmt::format("; the checkpoint needs {} bytes", neededBytes);
  std::string folder = std::filesystem::path(files.last).parent_path().string();
  struct statvfs space;
  if (::statvfs(folder.empty() ? "." : folder.c_str(), &space) == 0)
    text += fmt::format(", {} are free there", uint64_t(space.f_bavail) * space.f_frsize);
  for (const std::string &file : {files.last, files.previous})
    if (Result<Checkpoint> left = Checkpoint::open(file))
      return text +
             fmt::format("; '{}' from before is whole ({})", file, describeState(left->state()));
  return text;
}

std::string typeOf(const rt::SafetensorsEntry &entry) {
  return rt::describeType(entry.dtype ? nncc::nameOf(*entry.dtype) : entry.dtypeName, entry.shape);
}

} // namespace

CheckpointFiles::CheckpointFiles(const std::string &path) : last(path) {
  std::filesystem::path name = path;
  std::string extension = name.extension().string();
  std::string stem = path.substr(0, path.size() - extension.size());
  previous = stem + ".previous" + extension;
  best = stem + ".best" + extension;
}

Result<Checkpoint> Checkpoint::open(const std::string &path) {
  Checkpoint checkpoint;
  checkpoint.filePath = path;
  Result<rt::MappedFile> file = rt::MappedFile::open(path);
  if (!file)
    return file.error();
  checkpoint.file = std::move(*file);
  Result<rt::Safetensors> contents = rt::Safetensors::parse(checkpoint.file.bytes(), path);
  if (!contents)
    return contents.error();
  checkpoint.contents = std::move(*contents);
  const std::map<std::string, std::string> &metadata = checkpoint.contents.metadata();
  auto state = metadata.find(kStateKey), checksum = metadata.find(kChecksumKey);
  if (state == metadata.end() || checksum == metadata.end())
    return userError(fmt::format("'{}' is not a checkpoint: expected {} and {} in its metadata; "
                                 "weights alone can start a training, but not continue one",
                                 path, kStateKey, kChecksumKey));
  if (std::string problem = parseState(state->second, checkpoint.trainingState); !problem.empty())
    return userError(fmt::format("'{}' is damaged: the state of the training in its metadata ({}): "
                                 "{}",
                                 path, kStateKey, problem));
  Checksum found;
  for (const rt::SafetensorsEntry &entry : checkpoint.contents.entries())
    found.add(entry.data);
  if (found.text() != checksum->second)
    return userError(fmt::format("'{}' is damaged: its tensors have the checksum {}, expected {}",
                                 path, found.text(), checksum->second));
  return checkpoint;
}

Result<void> Checkpoint::check(const std::string &model, const std::string &identity,
                               std::span<const ExpectedTensor> expected) const {
  std::string differences;
  auto add = [&](const std::string &line) { differences += "\n  " + line; };
  if (trainingState.model != model)
    add(fmt::format("it is of the model '{}', expected '{}'", trainingState.model, model));
  if (trainingState.identity != identity)
    add(fmt::format("its architecture is {}, expected {}", trainingState.identity, identity));
  std::map<std::string_view, const ExpectedTensor *> byName;
  for (const ExpectedTensor &tensor : expected) {
    byName[tensor.name] = &tensor;
    std::string wanted = rt::describeType(nncc::nameOf(tensor.dtype), tensor.shape);
    const rt::SafetensorsEntry *entry = contents.find(tensor.name);
    if (!entry)
      add(fmt::format("'{}' is missing, expected {}", tensor.name, wanted));
    else if (entry->shape != tensor.shape || entry->dtype != tensor.dtype)
      add(fmt::format("'{}' is {}, expected {}", tensor.name, typeOf(*entry), wanted));
  }
  for (const rt::SafetensorsEntry &entry : contents.entries())
    if (!byName.contains(entry.name))
      add(fmt::format("'{}', {}, is not expected", entry.name, typeOf(entry)));
  if (differences.empty())
    return {};
  return userError(fmt::format("'{}' does not fit the model:{}\nTake the model that it was saved "
                               "from, or start a new training",
                               filePath, differences));
}

Result<Checkpoint> data::openLastCheckpoint(const std::string &path) {
  Result<Checkpoint> last = Checkpoint::open(path);
  if (last)
    return last;
  std::string previousPath = CheckpointFiles(path).previous;
  Result<Checkpoint> previous = Checkpoint::open(previousPath);
  if (!previous)
    return last;
  return Error{last.error().kind,
               fmt::format("{}\nThe checkpoint before it is whole ({}): continue from '{}'",
                           last.error().message, describeState(previous->state()), previousPath)};
}

Result<void> data::saveCheckpoint(const std::string &path,
                                  std::span<const rt::SafetensorsSource> tensors,
                                  const TrainingState &state, bool isBest) {
  CheckpointFiles files(path);
  for (const std::string &file : {files.last, files.previous, files.best})
    rt::removeStaleTemporaries(file);
  Checksum checksum;
  for (const rt::SafetensorsSource &tensor : tensors)
    checksum.add(tensor.data);
  std::map<std::string, std::string> metadata = {{kStateKey, toText(state)},
                                                 {kChecksumKey, checksum.text()}};
  Result<int64_t> neededBytes =
      rt::safetensorsSizeBytes(tensors, metadata, rt::SafetensorsAlignment::Start);
  if (!neededBytes)
    return neededBytes.error();
  Result<void> saved = save(files, tensors, metadata, isBest);
  if (!saved)
    return Error{saved.error().kind, saved.error().message + adviceAfter(files, *neededBytes)};
  return {};
}
