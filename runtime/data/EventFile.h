// Curves of a training for TensorBoard: an event file of scalars, which TensorBoard shows while it
// grows. Each start of a training writes a file of its own into the folder.
#pragma once

#include "support/Error.h"

#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace nncc::data {

struct Scalar {
  std::string_view tag; ///< "train/loss"
  float value = 0;
};

/// CRC-32C (Castagnoli) of the bytes, as iSCSI has it.
uint32_t crc32c(std::string_view bytes);

/// The bytes of one record: a length and a protobuf message, each with its masked checksum.
std::string encodeRecord(std::string_view message);
std::string encodeVersionEvent(double wallTimeSeconds);
std::string encodeScalarEvent(double wallTimeSeconds, int64_t step,
                              std::span<const Scalar> scalars);

class EventFile {
public:
  /// Makes the folder if need be, and a file in it that none has the name of.
  static Result<EventFile> create(const std::string &folder);

  EventFile(EventFile &&other) noexcept;
  EventFile &operator=(EventFile &&) = delete;
  ~EventFile();

  const std::string &path() const { return filePath; }

  /// Appended in one write, so that a reader never sees half of it unless the disk is full.
  Result<void> add(int64_t step, std::span<const Scalar> scalars);

private:
  EventFile() = default;
  Result<void> append(const std::string &bytes);

  std::string filePath;
  int descriptor = -1;
};

} // namespace nncc::data
