// MappedFile and AtomicFile on POSIX calls.
#include "runtime/File.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace nncc::rt {
namespace {

Error systemError(const std::string &action, const std::string &path, int code) {
  std::string message = "cannot " + action + " '" + path + "': " + std::strerror(code);
  if (code == ENOSPC || code == EDQUOT)
    message += "; free some space or choose another place";
  return environmentError(std::move(message));
}

} // namespace

Result<MappedFile> MappedFile::open(const std::string &path) {
  int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0)
    return systemError("open", path, errno);
  struct stat info;
  int code = ::fstat(descriptor, &info) == 0 ? 0 : errno;
  if (code == 0 && !S_ISREG(info.st_mode))
    code = S_ISDIR(info.st_mode) ? EISDIR : EINVAL;
  MappedFile file;
  if (code == 0 && info.st_size > 0) {
    file.size = static_cast<size_t>(info.st_size);
    void *address = ::mmap(nullptr, file.size, PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (address == MAP_FAILED) {
      code = errno;
      file.size = 0;
    } else {
      file.data = static_cast<const std::byte *>(address);
      ::madvise(address, file.size, MADV_WILLNEED); // begin reading ahead; without it all still works
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

Result<AtomicFile> AtomicFile::create(const std::string &path) {
  struct stat info;
  if (::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode))
    return systemError("write", path, EISDIR);
  AtomicFile file;
  file.finalPath = path;
  file.temporaryPath =
      path + ".XXXXXX"; // next to the target, since rename does not cross file systems
  file.descriptor = ::mkostemp(file.temporaryPath.data(), O_CLOEXEC);
  if (file.descriptor < 0)
    return systemError("write", path, errno);
  // mkostemp makes a private file; the result gets the permissions that a newly created file would
  // get.
  mode_t mask = ::umask(0);
  ::umask(mask);
  ::fchmod(file.descriptor, 0666 & ~mask);
  return file;
}

AtomicFile::~AtomicFile() {
  if (descriptor < 0)
    return;
  ::close(descriptor);
  ::unlink(temporaryPath.c_str());
}

Error AtomicFile::failure(const char *action) const {
  return systemError(action, finalPath, errno);
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

Result<void> AtomicFile::commit() {
  // Some file systems report that there is no space only here.
  if (::fsync(descriptor) != 0 && errno != EINVAL && errno != EROFS)
    return failure("write");
  if (::rename(temporaryPath.c_str(), finalPath.c_str()) != 0)
    return failure("write");
  ::close(std::exchange(descriptor, -1));
  return {};
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
