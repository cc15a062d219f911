// Compiled kernels on disk; see KernelCache.h.

#include "runtime/cuda/KernelCache.h"

#include "runtime/File.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>

namespace nncc::rt::cuda {

namespace {

/// What an entry begins with; the image follows.
struct Header {
  char magic[8] = {'n', 'n', 'c', 'c', 'k', 'e', 'r', '1'};
  uint64_t sizeBytes = 0;
  uint64_t checksum = 0;
};

uint64_t checksumOf(std::string_view bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

} // namespace

std::optional<KernelCache> KernelCache::ofUser() {
  auto variable = [](const char *name) { return std::string(std::getenv(name) ? std::getenv(name) : ""); };
  if (std::string folder = variable("NNCC_CACHE_DIR"); !folder.empty())
    return KernelCache(folder);
  if (std::string folder = variable("XDG_CACHE_HOME"); !folder.empty())
    return KernelCache(folder + "/nncc");
  if (std::string home = variable("HOME"); !home.empty())
    return KernelCache(home + "/.cache/nncc");
  return std::nullopt;
}

std::string KernelCache::keyOf(std::string_view source, std::string_view architecture, std::string_view compiler) {
  // Lengths between the parts: no two different triples give the same text.
  std::string text = std::to_string(architecture.size()) + ":" + std::string(architecture) +
                     std::to_string(compiler.size()) + ":" + std::string(compiler) + std::string(source);
  XXH128_hash_t hash = XXH3_128bits(text.data(), text.size());
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string key;
  for (uint64_t half : {hash.high64, hash.low64})
    for (int shift = 60; shift >= 0; shift -= 4)
      key += kDigits[half >> shift & 15];
  return key;
}

std::optional<std::string> KernelCache::find(const std::string &key) const {
  auto file = MappedFile::open(pathOf(key));
  if (!file)
    return std::nullopt;
  std::span<const std::byte> bytes = file->bytes();
  Header header, expected;
  if (bytes.size() < sizeof header)
    return std::nullopt;
  std::memcpy(&header, bytes.data(), sizeof header);
  std::string_view image(reinterpret_cast<const char *>(bytes.data()) + sizeof header, bytes.size() - sizeof header);
  if (std::memcmp(header.magic, expected.magic, sizeof header.magic) != 0 || header.sizeBytes != image.size() ||
      header.checksum != checksumOf(image))
    return std::nullopt;
  return std::string(image);
}

Result<void> KernelCache::store(const std::string &key, std::string_view image) const {
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed)
    return environmentError("the kernel cache " + folder + " cannot be made: " + failed.message());
  Header header;
  header.sizeBytes = image.size();
  header.checksum = checksumOf(image);
  std::string entry(reinterpret_cast<const char *>(&header), sizeof header);
  entry += image;
  return writeFileAtomically(pathOf(key), entry);
}

Result<CachedImage> compileCached(const Nvrtc &nvrtc, const KernelCache *cache,
                                  const std::string &source, const std::string &name,
                                  const std::string &architecture) {
  CachedImage result;
  std::string key;
  if (cache) {
    key = KernelCache::keyOf(source, architecture, nvrtc.describe());
    if (std::optional<std::string> image = cache->find(key)) {
      result.image = std::move(*image);
      result.isFromCache = true;
      return result;
    }
  }
  auto compiled = nvrtc.compile(source, name, architecture);
  if (!compiled)
    return compiled.error();
  result.image = std::move(compiled->image);
  if (cache)
    if (auto stored = cache->store(key, result.image); !stored)
      result.warning = stored.error().message;
  return result;
}

} // namespace nncc::rt::cuda
