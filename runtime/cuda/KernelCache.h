// Compiled kernels on disk, so that a model's second start need not compile. An entry is found by the source, the architecture and
// the compiler's version, is written under a temporary name and renamed, and carries a checksum: processes may share the folder, and
// a damaged entry is the same as none.
#pragma once

#include "runtime/cuda/Nvrtc.h"

#include <optional>
#include <string>
#include <string_view>

namespace nncc::rt::cuda {

class KernelCache {
public:
  /// `folder` is made when the first entry is stored.
  explicit KernelCache(std::string folder) : folder(std::move(folder)) {}
  /// NNCC_CACHE_DIR, else nncc/ in XDG_CACHE_HOME or ~/.cache; nothing when the environment names no place.
  static std::optional<KernelCache> ofUser();

  static std::string keyOf(std::string_view source, std::string_view architecture, std::string_view compiler);

  std::optional<std::string> find(const std::string &key) const;
  /// Fails where the folder cannot be written; the kernel is as good without.
  Result<void> store(const std::string &key, std::string_view image) const;

  std::string pathOf(const std::string &key) const { return folder + "/" + key + ".kernel"; }

private:
  std::string folder;
};

struct CachedImage {
  std::string image;
  bool isFromCache = false;
  std::string warning; ///< why it could not be stored, if so
};

/// The image of a kernel from the cache (may be null), or compiled and stored.
Result<CachedImage> compileCached(const Nvrtc &nvrtc, const KernelCache *cache,
                                  const std::string &source, const std::string &name,
                                  const std::string &architecture);

} // namespace nncc::rt::cuda
