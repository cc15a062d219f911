// The safetensors format: an 8-byte length, a JSON header that names each tensor's dtype, shape and
// byte range, then the data. The reader takes any bytes, hostile ones included, and leaves tensors
// that point into them without a copy. The format's rules are checked in full: the byte ranges
// cover the data without hole or overlap, and each fits its dtype and shape.
#pragma once

#include "support/DType.h"
#include "support/Error.h"

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace nncc::rt {

class AtomicFile;

struct SafetensorsEntry {
  std::string name;
  std::string dtypeName; ///< as the file spells it: "F32"
  std::optional<DType>
      dtype; ///< nothing for a valid dtype that nncc does not compute with (F8_E4M3, U16, ...)
  std::vector<int64_t> shape;
  std::span<const std::byte> data;
};

class Safetensors {
public:
  /// A larger header is refused, as the format's reference implementation does.
  static constexpr uint64_t kMaxHeaderBytes = 100'000'000;

  /// `origin` (a path) stands in error messages. The bytes must outlive the result.
  static Result<Safetensors> parse(std::span<const std::byte> bytes, const std::string &origin);

  const std::vector<SafetensorsEntry> &entries() const {
    return tensors;
  } ///< in the order of their data
  const SafetensorsEntry *find(std::string_view name) const;
  const std::map<std::string, std::string> &metadata() const { return metadataEntries; }

private:
  std::vector<SafetensorsEntry> tensors;
  std::map<std::string, size_t, std::less<>> indexByName;
  std::map<std::string, std::string> metadataEntries;
};

struct SafetensorsSource {
  std::string name;
  DType dtype = DType::F32;
  std::vector<int64_t> shape;
  std::span<const std::byte> data;
};

enum class SafetensorsAlignment {
  /// Only the data as a whole starts on 64 bytes; tensors follow each other. For files that others
  /// read.
  Start,
  /// Every tensor starts on 64 bytes. The format allows no holes, so entries named kPaddingPrefix +
  /// number fill them.
  EachTensor,
};
inline constexpr std::string_view kSafetensorsPaddingPrefix = "nncc.padding.";

/// The whole file in memory. A user error when a name occurs twice or the data does not fit dtype
/// and shape.
Result<std::string> serializeSafetensors(std::span<const SafetensorsSource> tensors,
                                         const std::map<std::string, std::string> &metadata,
                                         SafetensorsAlignment alignment);

/// The bytes of the whole file. The errors of serializeSafetensors().
Result<int64_t> safetensorsSizeBytes(std::span<const SafetensorsSource> tensors,
                                     const std::map<std::string, std::string> &metadata,
                                     SafetensorsAlignment alignment);

/// Into a file in the making, without commit().
Result<void> writeSafetensors(AtomicFile &file, std::span<const SafetensorsSource> tensors,
                              const std::map<std::string, std::string> &metadata,
                              SafetensorsAlignment alignment);

/// The same into a file, which appears complete or not at all.
Result<void> writeSafetensors(const std::string &path, std::span<const SafetensorsSource> tensors,
                              const std::map<std::string, std::string> &metadata,
                              SafetensorsAlignment alignment);

} // namespace nncc::rt
