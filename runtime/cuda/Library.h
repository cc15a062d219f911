// A shared library that is there or not: opened when it is first needed, never linked. What depends on it reports by Result that it
// is missing, where it was looked for and what to do.
#pragma once

#include "support/Error.h"

#include <string>
#include <utility>
#include <vector>

namespace nncc::rt::cuda {

/// Where to look for a library.
struct LibrarySearch {
  std::string title;               ///< "NVRTC, the CUDA run-time compiler"
  const char *variable;            ///< environment variable that names the file; then nothing else is tried
  std::vector<std::string> names;  ///< tried in order; those without a slash along the system's search path
  std::string advice;              ///< what to do when it is missing
};

class Library {
public:
  /// The library stays open until the process ends: its functions may be called by threads that outlive us.
  static Result<Library> open(const LibrarySearch &search);

  /// An environment error that names the function and the file when it has none of that name.
  template <typename Function> Result<void> find(const char *name, Function *&function) const {
    void *address = lookUp(name);
    if (!address)
      return environmentError(title + ": " + path + " has no function " + name + "; it is too old or not the library it is named after");
    function = reinterpret_cast<Function *>(address);
    return {};
  }

  const std::string &file() const { return path; }

private:
  Library(void *handle, std::string title, std::string path)
      : handle(handle), title(std::move(title)), path(std::move(path)) {}
  void *lookUp(const char *name) const;

  void *handle;
  std::string title, path;
};

/// An object of a library, given back at the end of its life.
template <class Object> struct LibraryObject {
  Object object = nullptr;
  int (*destroy)(Object) = nullptr;

  LibraryObject() = default;
  LibraryObject(LibraryObject &&other) noexcept : object(std::exchange(other.object, nullptr)), destroy(other.destroy) {}
  LibraryObject &operator=(LibraryObject &&other) noexcept {
    std::swap(object, other.object);
    std::swap(destroy, other.destroy);
    return *this;
  }
  ~LibraryObject() {
    if (object)
      destroy(object);
  }
};

} // namespace nncc::rt::cuda
