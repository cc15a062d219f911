// The memory of one emulated device: allocations with their bounds, and in checked mode the record of every
// word's accesses. Device pointers are host pointers, so that translated code accesses memory directly.
#pragma once

#include "tools/cuda-emulator/exec/AccessRecord.h"

#include <cstdint>
#include <map>
#include <string>

namespace nncc::cuemu {

enum class MemoryKind : uint8_t { Device, PinnedHost, RegisteredHost, Module };

struct Allocation {
  uint64_t base = 0;
  uint64_t sizeBytes = 0;
  MemoryKind kind = MemoryKind::Device;
  std::string name;      ///< for reports: "allocation 3" or a variable's name
  ShadowMemory shadow;   ///< empty outside checked mode

  bool contains(uint64_t address) const { return address - base < sizeBytes; }
};

class DeviceMemory {
public:
  DeviceMemory(uint64_t totalBytes, bool isChecked) : totalBytes(totalBytes), isChecked(isChecked) {}
  ~DeviceMemory();

  /// Address of new memory, or 0 when the device's memory is used up.
  uint64_t allocate(uint64_t sizeBytes, MemoryKind kind, const std::string &name = {});
  /// False if no allocation begins there.
  bool release(uint64_t address);
  /// Host memory that the program owns and the device may access.
  void adopt(void *host, uint64_t sizeBytes);

  /// The allocation that holds the address.
  Allocation *find(uint64_t address);
  /// The allocation that ends before the address or starts after it, whichever is nearer; for reports.
  const Allocation *nearest(uint64_t address) const;
  /// Whether the whole range lies in one allocation.
  bool covers(uint64_t address, uint64_t sizeBytes);
  void markInitialised(uint64_t address, uint64_t sizeBytes);

  uint64_t usedBytes() const { return used; }
  uint64_t sizeBytes() const { return totalBytes; }

private:
  uint64_t totalBytes;
  uint64_t used = 0;
  uint64_t serial = 0;
  bool isChecked;
  std::map<uint64_t, Allocation> allocations;
  Allocation *last = nullptr; ///< found by the last search
};

} // namespace nncc::cuemu
