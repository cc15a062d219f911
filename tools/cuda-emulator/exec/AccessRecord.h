// What checked mode remembers about each 4-byte word of memory: which bytes have been written, who wrote
// and read it last, and when. "When" is a phase, a number that grows with every block that begins and
// every barrier that completes, and a tick, which grows with every bar.warp.sync of the thread's warp.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <utility>

namespace nncc::cuemu {

struct AccessRecord {
  uint32_t writePhase = 0; ///< 0: not written by a kernel
  uint32_t writeSite = 0;
  uint32_t readPhase = 0;
  uint32_t readSite = 0;
  uint32_t readLanes = 0; ///< lanes of the last reader's warp that read in this phase
  uint16_t writeThread = 0, writeTick = 0;
  uint16_t readThread = 0, readTick = 0;
  uint8_t writeBytes = 0; ///< which bytes of the word the last write touched
  uint8_t readBytes = 0;
  uint8_t flags = 0;
};

enum RecordFlag : uint8_t {
  RecordStrongWrite = 1,  ///< the last write was atomic or volatile
  RecordStrongRead = 2,   ///< all remembered reads were
  RecordCopyPending = 4,  ///< cp.async has not delivered the word
  RecordManyWarps = 8,    ///< read by several warps in this phase
  RecordManyBlocks = 16,  ///< read by several blocks in this launch
};

/// The records of a range of memory, zero at first. Pages that no kernel touches are never made.
class ShadowMemory {
public:
  ShadowMemory() = default;
  explicit ShadowMemory(uint64_t sizeBytes)
      : records(static_cast<AccessRecord *>(std::calloc(sizeBytes / 4 + 2, sizeof(AccessRecord)))),
        bytes(static_cast<uint8_t *>(std::calloc(sizeBytes / 4 + 2, 1))) {}
  ShadowMemory(ShadowMemory &&other) noexcept : records(other.records), bytes(other.bytes) {
    other.records = nullptr;
    other.bytes = nullptr;
  }
  ShadowMemory &operator=(ShadowMemory &&other) noexcept {
    std::swap(records, other.records);
    std::swap(bytes, other.bytes);
    return *this;
  }
  ~ShadowMemory() {
    std::free(records);
    std::free(bytes);
  }

  explicit operator bool() const { return records && bytes; }
  AccessRecord &record(uint64_t word) { return records[word]; }
  /// Bit i: byte i of the word has a value.
  uint8_t &initialised(uint64_t word) { return bytes[word]; }
  void markInitialised(uint64_t offsetBytes, uint64_t sizeBytes) {
    for (uint64_t at = offsetBytes; at < offsetBytes + sizeBytes;) {
      uint64_t begin = at % 4, end = std::min<uint64_t>(4, begin + offsetBytes + sizeBytes - at);
      bytes[at / 4] |= static_cast<uint8_t>((1u << end) - (1u << begin));
      at += end - begin;
    }
  }

private:
  AccessRecord *records = nullptr;
  uint8_t *bytes = nullptr;
};

} // namespace nncc::cuemu
