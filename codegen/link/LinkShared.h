// The last step to a model.so: objects, the runtime archive and the system's libraries become one
// shared object, by lld inside this process.
#pragma once

#include "support/Error.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace nncc::codegen {

/// An object file in memory. The name stands in error messages of the linker.
struct LinkObject {
  std::string name;
  std::string_view bytes;
};

struct LinkOptions {
  std::vector<LinkObject> objects;
  std::vector<std::string> archives; ///< paths, see findRuntimeArchives
  std::string output;                ///< appears complete or not at all
};

/// The one symbol that a model.so exports.
inline constexpr std::string_view kModelEntrySymbol = "nncc_model_get_api";

Result<void> linkShared(const LinkOptions &options);

/// The runtime that every model.so carries, and its exported entry: libnncc_model_entry.a and
/// libnncc_rt.a, and libnncc_rt_cuda.a for a model with CUDA code, relative to the folder of the
/// program or library at `self`, in the build tree and when installed.
Result<std::vector<std::string>> findRuntimeArchives(const std::string &self, bool withCuda);

} // namespace nncc::codegen
