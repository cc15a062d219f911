// TensorBoard's event files; see EventFile.h. A file is a list of TFRecords, each an Event message
// (tensorflow/core/util/event.proto): wall_time = 1, step = 2, file_version = 3, summary = 5; a
// Summary is a list of values = 1, each with tag = 1 and simple_value = 2.
#include "runtime/data/EventFile.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <unistd.h>

using namespace nncc;
using namespace nncc::data;

namespace {

constexpr std::array<uint32_t, 256> makeCrcTable() {
  constexpr uint32_t kPolynomial = 0x82F63B78; // Castagnoli's, bits reversed
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit)
      value = value >> 1 ^ (value & 1 ? kPolynomial : 0);
    table[i] = value;
  }
  return table;
}

template <typename T> void appendLittle(std::string &bytes, T value) {
  for (size_t i = 0; i < sizeof value; ++i)
    bytes += static_cast<char>(value >> 8 * i);
}

/// Checksums of data that holds checksums are poor; the format's mask avoids that.
void appendMaskedCrc(std::string &bytes, std::string_view data) {
  uint32_t crc = crc32c(data);
  appendLittle<uint32_t>(bytes, (crc >> 15 | crc << 17) + 0xA282EAD8);
}

enum WireType : uint8_t { Varint = 0, Fixed64 = 1, Bytes = 2, Fixed32 = 5 };

void appendVarint(std::string &message, uint64_t value) {
  for (; value >= 0x80; value >>= 7)
    message += static_cast<char>(value | 0x80);
  message += static_cast<char>(value);
}
void appendTag(std::string &message, int field, WireType type) {
  appendVarint(message, static_cast<uint64_t>(field << 3 | type));
}
void appendBytes(std::string &message, int field, std::string_view bytes) {
  appendTag(message, field, Bytes);
  appendVarint(message, bytes.size());
  message += bytes;
}
void appendDouble(std::string &message, int field, double value) {
  appendTag(message, field, Fixed64);
  appendLittle(message, std::bit_cast<uint64_t>(value));
}

double secondsNow() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

Error fileError(const char *action, const std::string &path, int code) {
  std::string message = fmt::format("cannot {} '{}': {}", action, path, std::strerror(code));
  if (code == ENOSPC || code == EDQUOT)
    message += "; free some space or log elsewhere";
  return userError(message);
}

} // namespace

uint32_t data::crc32c(std::string_view bytes) {
  static constexpr std::array<uint32_t, 256> kTable = makeCrcTable();
  uint32_t crc = ~0u;
  for (unsigned char byte : bytes)
    crc = kTable[(crc ^ byte) & 0xFF] ^ crc >> 8;
  return ~crc;
}

std::string data::encodeRecord(std::string_view message) {
  std::string record;
  appendLittle<uint64_t>(record, message.size());
  appendMaskedCrc(record, record);
  record += message;
  appendMaskedCrc(record, message);
  return record;
}

std::string data::encodeVersionEvent(double wallTimeSeconds) {
  std::string event;
  appendDouble(event, 1, wallTimeSeconds);
  appendBytes(event, 3, "brain.Event:2");
  return event;
}

std::string data::encodeScalarEvent(double wallTimeSeconds, int64_t step,
                                    std::span<const Scalar> scalars) {
  std::string summary;
  for (const Scalar &scalar : scalars) {
    std::string value;
    appendBytes(value, 1, scalar.tag);
    appendTag(value, 2, Fixed32);
    appendLittle(value, std::bit_cast<uint32_t>(scalar.value));
    appendBytes(summary, 1, value);
  }
  std::string event;
  appendDouble(event, 1, wallTimeSeconds);
  if (step != 0) { // zero is what a field that is left out means
    appendTag(event, 2, Varint);
    appendVarint(event, static_cast<uint64_t>(step));
  }
  appendBytes(event, 5, summary);
  return event;
}

Result<EventFile> EventFile::create(const std::string &folder) {
  std::error_code code;
  std::filesystem::create_directories(folder, code);
  if (code)
    return userError(fmt::format("cannot make the folder '{}': {}", folder, code.message()));
  char host[256] = "host";
  ::gethostname(host, sizeof host - 1);
  double now = secondsNow();
  EventFile file;
  constexpr int kMaxAttempts = 1000;
  for (int i = 0; i < kMaxAttempts && file.descriptor < 0; ++i) {
    // TensorBoard knows event files by the word in the middle and sorts them by the time.
    file.filePath = (std::filesystem::path(folder) /
                     fmt::format("events.out.tfevents.{:010}.{}.{}.{}", static_cast<int64_t>(now),
                                 host, ::getpid(), i))
                        .string();
    file.descriptor =
        ::open(file.filePath.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
    if (file.descriptor < 0 && errno != EEXIST)
      break;
  }
  if (file.descriptor < 0)
    return fileError("write", file.filePath, errno);
  if (Result<void> begun = file.append(encodeRecord(encodeVersionEvent(now))); !begun)
    return begun.error();
  return file;
}

EventFile::EventFile(EventFile &&other) noexcept
    : filePath(std::move(other.filePath)), descriptor(std::exchange(other.descriptor, -1)) {}

EventFile::~EventFile() {
  if (descriptor >= 0)
    ::close(descriptor);
}

Result<void> EventFile::add(int64_t step, std::span<const Scalar> scalars) {
  return append(encodeRecord(encodeScalarEvent(secondsNow(), step, scalars)));
}

Result<void> EventFile::append(const std::string &bytes) {
  for (size_t done = 0; done < bytes.size();) {
    ssize_t written = ::write(descriptor, bytes.data() + done, bytes.size() - done);
    if (written < 0 && errno == EINTR)
      continue;
    if (written < 0)
      return fileError("write", filePath, errno);
    done += static_cast<size_t>(written);
  }
  return {};
}
