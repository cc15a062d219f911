// Files as the runtime and the tools use them: read by mapping, written under a temporary name that
// becomes the real one when everything is on disk, so that a reader never sees half a file. Errors
// name the path and the system's reason; they are user errors, since the user chose the path, but
// for a lack of memory or descriptors and damaged disks.
#pragma once

#include "support/Error.h"

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace nncc::rt {

/// A whole file, mapped read-only. The file may be replaced by rename while it is mapped, but not
/// shortened.
class MappedFile {
public:
  static Result<MappedFile> open(const std::string &path);

  MappedFile() = default;
  MappedFile(MappedFile &&other) noexcept { swap(other); }
  MappedFile &operator=(MappedFile &&other) noexcept {
    MappedFile moved(std::move(other));
    swap(moved);
    return *this;
  }
  ~MappedFile();

  std::span<const std::byte> bytes() const { return {data, size}; }

private:
  void swap(MappedFile &other) {
    std::swap(data, other.data);
    std::swap(size, other.size);
  }

  const std::byte *data = nullptr;
  size_t size = 0;
};

/// Where an output really goes.
struct OutputPath {
  std::string path;      ///< links resolved, so that renaming replaces the file and not the link
  bool isStream = false; ///< a device, pipe or socket: it is written to and never replaced
};

/// An error for a folder.
Result<OutputPath> resolveOutput(const std::string &path);

/// A file in the making. Without commit() the destructor removes it and leaves what was there
/// before. A stream (/dev/stdout, a pipe) is written at once.
class AtomicFile {
public:
  static Result<AtomicFile> create(const std::string &path);

  AtomicFile(AtomicFile &&other) noexcept
      : givenPath(std::move(other.givenPath)), finalPath(std::move(other.finalPath)),
        temporaryPath(std::move(other.temporaryPath)),
        descriptor(std::exchange(other.descriptor, -1)) {}
  AtomicFile &operator=(AtomicFile &&) = delete;
  ~AtomicFile();

  Result<void> write(const void *data, size_t sizeBytes);
  Result<void> write(std::string_view text) { return write(text.data(), text.size()); }

  /// Waits until what was written is on disk.
  Result<void> sync();

  /// Where the file lies until commit(); empty for a stream.
  const std::string &temporary() const { return temporaryPath; }

  /// sync(), then gives the file its name.
  Result<void> commit();

private:
  AtomicFile() = default;
  Error failure(const char *action) const;

  std::string givenPath; ///< for messages
  std::string finalPath;
  std::string temporaryPath; ///< empty for a stream
  int descriptor = -1;
};

/// Waits until the names in the folder of `path` are on disk: a rename survives a power failure only
/// then. Nothing on file systems that do not know this.
Result<void> syncFolderOf(const std::string &path);

/// Removes what writers of `path` that were killed left beside it; those that still run keep theirs.
void removeStaleTemporaries(const std::string &path);

/// Creates or replaces a file with these bytes.
Result<void> writeFileAtomically(const std::string &path, std::string_view contents);

} // namespace nncc::rt
