// Opens shared libraries; see Library.h.

#include "runtime/cuda/Library.h"

#include <cstdlib>
#include <dlfcn.h>

namespace nncc::rt::cuda {

Result<Library> Library::open(const LibrarySearch &search) {
  std::vector<std::string> names = search.names;
  const char *chosen = std::getenv(search.variable);
  if (chosen && *chosen)
    names = {chosen};
  std::string tried;
  for (const std::string &name : names) {
    if (void *handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL))
      return Library(handle, search.title, name);
    const char *reason = dlerror();
    tried += "\n  " + name + ": " + (reason ? reason : "unknown reason");
  }
  return environmentError(search.title + " cannot be loaded. Tried:" + tried + "\n" + search.advice + ", or set " +
                          search.variable + " to the library's path");
}

void *Library::lookUp(const char *name) const { return dlsym(handle, name); }

} // namespace nncc::rt::cuda
