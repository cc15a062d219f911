// See DeviceMemory.h.
#include "tools/cuda-emulator/exec/DeviceMemory.h"

#include <sys/mman.h>
#include <unistd.h>

namespace nncc::cuemu {
namespace {

// Alignment that the driver promises for allocations.
constexpr uint64_t allocationAlignment = 256;

// Every allocation is a mapping of its own whose end falls on an unmapped page, as near as the alignment
// lets it, so that a wild access ends in a fault and not in another allocation.
struct Mapping {
  uint64_t begin, lengthBytes;
};

uint64_t pageBytes() {
  static const auto size = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  return size;
}

Mapping mappingOf(const Allocation &allocation) {
  uint64_t page = pageBytes();
  uint64_t begin = allocation.base / page * page;
  uint64_t end = (allocation.base + allocation.sizeBytes + page - 1) / page * page;
  return {begin - page, end - begin + 2 * page};
}

} // namespace

DeviceMemory::~DeviceMemory() {
  for (auto &[base, allocation] : allocations)
    if (allocation.kind != MemoryKind::RegisteredHost) {
      Mapping mapping = mappingOf(allocation);
      munmap(reinterpret_cast<void *>(mapping.begin), mapping.lengthBytes);
    }
}

uint64_t DeviceMemory::allocate(uint64_t sizeBytes, MemoryKind kind, const std::string &name) {
  bool isOnDevice = kind == MemoryKind::Device || kind == MemoryKind::Module;
  if (sizeBytes == 0 || sizeBytes > (uint64_t{1} << 46) || (isOnDevice && sizeBytes > totalBytes - used))
    return 0;
  uint64_t page = pageBytes();
  uint64_t rounded = (sizeBytes + allocationAlignment - 1) / allocationAlignment * allocationAlignment;
  uint64_t pages = (rounded + page - 1) / page * page;
  void *memory = mmap(nullptr, pages + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED)
    return 0;
  uint64_t begin = reinterpret_cast<uint64_t>(memory) + page;
  if (mprotect(reinterpret_cast<void *>(begin), pages, PROT_READ | PROT_WRITE) != 0) {
    munmap(memory, pages + 2 * page);
    return 0;
  }
  Allocation allocation;
  allocation.base = begin + pages - rounded;
  allocation.sizeBytes = sizeBytes;
  allocation.kind = kind;
  allocation.name = name.empty() ? "allocation " + std::to_string(++serial) : name;
  if (isChecked) {
    allocation.shadow = ShadowMemory(sizeBytes);
    if (!allocation.shadow) {
      munmap(memory, pages + 2 * page);
      return 0;
    }
  }
  if (isOnDevice)
    used += sizeBytes;
  uint64_t base = allocation.base;
  allocations.emplace(base, std::move(allocation));
  last = nullptr;
  return base;
}

bool DeviceMemory::release(uint64_t address) {
  auto entry = allocations.find(address);
  if (entry == allocations.end())
    return false;
  const Allocation &allocation = entry->second;
  if (allocation.kind != MemoryKind::RegisteredHost) {
    Mapping mapping = mappingOf(allocation);
    munmap(reinterpret_cast<void *>(mapping.begin), mapping.lengthBytes);
  }
  if (allocation.kind == MemoryKind::Device || allocation.kind == MemoryKind::Module)
    used -= allocation.sizeBytes;
  allocations.erase(entry);
  last = nullptr;
  return true;
}

void DeviceMemory::adopt(void *host, uint64_t sizeBytes) {
  Allocation allocation;
  allocation.base = reinterpret_cast<uint64_t>(host);
  allocation.sizeBytes = sizeBytes;
  allocation.kind = MemoryKind::RegisteredHost;
  allocation.name = "registered host memory";
  if (isChecked) {
    allocation.shadow = ShadowMemory(sizeBytes);
    allocation.shadow.markInitialised(0, sizeBytes);
  }
  allocations.emplace(allocation.base, std::move(allocation));
  last = nullptr;
}

Allocation *DeviceMemory::find(uint64_t address) {
  if (last && last->contains(address))
    return last;
  auto next = allocations.upper_bound(address);
  if (next == allocations.begin())
    return nullptr;
  Allocation &candidate = std::prev(next)->second;
  if (!candidate.contains(address))
    return nullptr;
  last = &candidate;
  return last;
}

const Allocation *DeviceMemory::nearest(uint64_t address) const {
  auto next = allocations.upper_bound(address);
  const Allocation *after = next == allocations.end() ? nullptr : &next->second;
  const Allocation *before = next == allocations.begin() ? nullptr : &std::prev(next)->second;
  if (!before || !after)
    return before ? before : after;
  return address - (before->base + before->sizeBytes) <= after->base - address ? before : after;
}

bool DeviceMemory::covers(uint64_t address, uint64_t sizeBytes) {
  Allocation *allocation = find(address);
  return allocation && sizeBytes <= allocation->sizeBytes - (address - allocation->base);
}

void DeviceMemory::markInitialised(uint64_t address, uint64_t sizeBytes) {
  Allocation *allocation = find(address);
  if (allocation && allocation->shadow)
    allocation->shadow.markInitialised(address - allocation->base, sizeBytes);
}

} // namespace nncc::cuemu
