// MappedFile and AtomicFile on POSIX calls.
#include "runtime/File.h"

#include <atomic>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <memory>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace nncc::rt {
namespace {

/// Which files are read and written is the user's choice, so what is wrong with them is a user
/// error; only what no other path would mend is the environment's.
bool isEnvironmentFailure(int code) {
  return code == ENOMEM || code == EMFILE || code == ENFILE || code == EIO;
}

Error pathError(const std::string &action, const std::string &path, const std::string &reason) {
  return userError("cannot " + action + " '" + path + "': " + reason);
}

Error systemError(const std::string &action, const std::string &path, int code) {
  std::string reason = std::strerror(code);
  if (code == ENOSPC || code == EDQUOT)
    reason += "; free some space or choose another place";
  else if (code == EFBIG)
    reason += "; raise the limit on the size of files (ulimit -f) or choose another place";
  Error error = pathError(action, path, reason);
  if (isEnvironmentFailure(code))
    error.kind = ErrorKind::Environment;
  return error;
}

/// A file next to `path` that did not exist before, since rename does not cross file systems. It
/// gets the permissions of any new file, which mkostemp would not give. -1: see errno.
int createBeside(const std::string &path, std::string &temporaryPath) {
  static std::atomic<unsigned> counter{0};
  constexpr int kMaxAttempts = 100; // left over from processes of the same number
  for (int i = 0; i < kMaxAttempts; ++i) {
    temporaryPath =
        path + "." + std::to_string(::getpid()) + "-" + std::to_string(counter++) + ".tmp";
    int descriptor = ::open(temporaryPath.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor >= 0 || errno != EEXIST)
      return descriptor;
  }
  return -1;
}

} // namespace

Result<MappedFile> MappedFile::open(const std::string &path) {
  int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK); // never waits
  if (descriptor < 0)
    return systemError("open", path, errno);
  struct stat info;
  int code = ::fstat(descriptor, &info) == 0 ? 0 : errno;
  if (code == 0 && S_ISDIR(info.st_mode))
    code = EISDIR;
  if (code == 0 && !S_ISREG(info.st_mode)) {
    ::close(descriptor);
    return pathError("read", path, "expected a regular file, found a device, pipe or socket");
  }
  MappedFile file;
  if (code == 0 && info.st_size > 0) {
    file.size = static_cast<size_t>(info.st_size);
    void *address = ::mmap(nullptr, file.size, PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (address == MAP_FAILED) {
      code = errno;
      file.size = 0;
    } else {
      file.data = static_cast<const std::byte *>(address);
      ::madvise(address, file.size,
                MADV_WILLNEED); // begin reading ahead; without it all still works
    }
  }
  ::close(descriptor);
  if (code != 0)
    return systemError("read", path, code);
  return file;
}

MappedFile::~MappedFile() {
  if (data)
    ::munmap(const_cast<std::byte *>(data), size);
}

Result<OutputPath> resolveOutput(const std::string &path) {
  struct stat info;
  if (::stat(path.c_str(), &info) != 0)
    return OutputPath{path, false}; // what is wrong with its folder shows when it is created
  if (S_ISDIR(info.st_mode))
    return systemError("write", path, EISDIR);
  if (!S_ISREG(info.st_mode))
    return OutputPath{path, true};
  // A link stays, and leads to the new contents.
  std::unique_ptr<char, decltype(&std::free)> real(::realpath(path.c_str(), nullptr), &std::free);
  return OutputPath{real ? real.get() : path, false};
}

Result<AtomicFile> AtomicFile::create(const std::string &path) {
  Result<OutputPath> output = resolveOutput(path);
  if (!output)
    return output.error();
  AtomicFile file;
  file.givenPath = path;
  file.finalPath = std::move(output->path);
  file.descriptor = output->isStream ? ::open(file.finalPath.c_str(), O_WRONLY | O_CLOEXEC)
                                     : createBeside(file.finalPath, file.temporaryPath);
  if (file.descriptor < 0) {
    int code = errno;
    file.temporaryPath.clear();
    return systemError("write", path, code);
  }
  return file;
}

AtomicFile::~AtomicFile() {
  if (descriptor < 0)
    return;
  ::close(descriptor);
  if (!temporaryPath.empty())
    ::unlink(temporaryPath.c_str());
}

Error AtomicFile::failure(const char *action) const {
  return systemError(action, givenPath, errno);
}

Result<void> AtomicFile::write(const void *data, size_t sizeBytes) {
  const char *bytes = static_cast<const char *>(data);
  while (sizeBytes > 0) {
    ssize_t written = ::write(descriptor, bytes, sizeBytes);
    if (written < 0 && errno == EINTR)
      continue;
    if (written < 0)
      return failure("write");
    bytes += written;
    sizeBytes -= static_cast<size_t>(written);
  }
  return {};
}

Result<void> AtomicFile::sync() {
  // Some file systems report that there is no space only here.
  if (::fsync(descriptor) != 0 && errno != EINVAL && errno != EROFS)
    return failure("write");
  return {};
}

Result<void> AtomicFile::commit() {
  if (Result<void> synced = sync(); !synced)
    return synced;
  if (!temporaryPath.empty() && ::rename(temporaryPath.c_str(), finalPath.c_str()) != 0)
    return failure("write");
  ::close(std::exchange(descriptor, -1));
  return {};
}

Result<void> syncFolderOf(const std::string &path) {
  std::string folder = std::filesystem::path(path).parent_path().string();
  if (folder.empty())
    folder = ".";
  int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0)
    return systemError("open", folder, errno);
  int code = ::fsync(descriptor) == 0 ? 0 : errno;
  ::close(descriptor);
  if (code != 0 && code != EINVAL && code != EROFS)
    return systemError("write", folder, code);
  return {};
}

void removeStaleTemporaries(const std::string &path) {
  namespace fs = std::filesystem;
  fs::path folder = fs::path(path).parent_path();
  std::string start = fs::path(path).filename().string() + ".";
  std::error_code code;
  std::vector<fs::path> stale;
  for (fs::directory_iterator entry(folder.empty() ? "." : folder, code), end;
       !code && entry != end; entry.increment(code)) {
    // As createBeside() spells them: NAME.PROCESS-NUMBER.tmp.
    std::string name = entry->path().filename().string();
    if (!name.starts_with(start) || !name.ends_with(".tmp"))
      continue;
    std::string_view rest = std::string_view(name).substr(start.size());
    pid_t process = 0;
    auto [stop, failed] = std::from_chars(rest.data(), rest.data() + rest.size(), process);
    if (failed == std::errc() && process > 0 && *stop == '-' && ::kill(process, 0) != 0 &&
        errno == ESRCH)
      stale.push_back(entry->path());
  }
  for (const fs::path &file : stale)
    fs::remove(file, code);
}

Result<void> writeFileAtomically(const std::string &path, std::string_view contents) {
  Result<AtomicFile> file = AtomicFile::create(path);
  if (!file)
    return file.error();
  if (Result<void> written = file->write(contents); !written)
    return written;
  return file->commit();
}

} // namespace nncc::rt
