// The run-time libraries of this machine; see SystemLibraries.h.

#include "codegen/link/SystemLibraries.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <link.h>

using namespace nncc;

namespace {

#if defined(__aarch64__)
constexpr llvm::StringRef kLoader = "ld-linux-aarch64.so.1";
constexpr llvm::StringRef kFolders[] = {"/lib/aarch64-linux-gnu", "/usr/lib/aarch64-linux-gnu",
                                        "/lib64", "/usr/lib64", "/usr/lib"};
#else
constexpr llvm::StringRef kLoader = "ld-linux-x86-64.so.2";
constexpr llvm::StringRef kFolders[] = {"/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu",
                                        "/lib64", "/usr/lib64", "/usr/lib"};
#endif

/// The loader is among them since it defines a few symbols itself (__tls_get_addr).
constexpr llvm::StringRef kLibraries[] = {"libstdc++.so.6", "libm.so.6", "libgcc_s.so.1",
                                          "libc.so.6", kLoader};

std::vector<std::string> loadedLibraries() {
  std::vector<std::string> paths;
  dl_iterate_phdr(
      [](dl_phdr_info *info, size_t, void *context) {
        static_cast<std::vector<std::string> *>(context)->push_back(info->dlpi_name);
        return 0;
      },
      &paths);
  return paths;
}

} // namespace

Result<std::vector<std::string>> codegen::findSystemLibraries() {
  std::vector<std::string> loaded = loadedLibraries();
  std::vector<std::string> found;
  for (llvm::StringRef name : kLibraries) {
    std::string path;
    for (const std::string &candidate : loaded)
      if (llvm::sys::path::filename(candidate) == name && llvm::sys::fs::exists(candidate))
        path = candidate;
    for (llvm::StringRef folder : kFolders)
      if (std::string candidate = (folder + "/" + name).str();
          path.empty() && llvm::sys::fs::exists(candidate))
        path = candidate;
    if (path.empty()) {
      std::string message = "cannot find the system library " + name.str() +
                            ", which a model is linked against; looked among the libraries of this "
                            "process and in";
      for (llvm::StringRef folder : kFolders)
        message += " " + folder.str();
      return environmentError(message + ". Install the C++ run-time library (Debian: libstdc++6)");
    }
    found.push_back(path);
  }
  return found;
}
