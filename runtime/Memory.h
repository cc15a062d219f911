// Memory of the runtime's own: one block, aligned for any buffer, from the caller's allocator when
// there is one.
#pragma once

#include "support/Error.h"

#include <cstddef>
#include <cstdlib>
#include <string>
#include <utility>

namespace nncc::rt {

/// Where large blocks come from. Both functions or neither.
struct Allocator {
  void *(*allocate)(void *context, size_t sizeBytes, size_t alignmentBytes) = nullptr;
  void (*release)(void *context, void *block, size_t sizeBytes) = nullptr;
  void *context = nullptr;
};

class MemoryBlock {
public:
  static constexpr size_t kAlignmentBytes = 64;

  MemoryBlock() = default;

  /// An environment error when there is not so much memory. The contents are undefined.
  static Result<MemoryBlock> allocate(size_t sizeBytes, const Allocator &allocator) {
    MemoryBlock block;
    if (sizeBytes == 0)
      return block;
    // aligned_alloc asks for a multiple of the alignment.
    size_t roundedBytes = (sizeBytes + kAlignmentBytes - 1) / kAlignmentBytes * kAlignmentBytes;
    block.allocator = allocator;
    block.size = roundedBytes;
    if (roundedBytes >= sizeBytes)
      block.data = allocator.allocate
                       ? allocator.allocate(allocator.context, roundedBytes, kAlignmentBytes)
                       : std::aligned_alloc(kAlignmentBytes, roundedBytes);
    if (!block.data)
      return environmentError("out of memory: cannot allocate " + std::to_string(sizeBytes) +
                              " bytes");
    return block;
  }

  MemoryBlock(MemoryBlock &&other) noexcept { swap(other); }
  MemoryBlock &operator=(MemoryBlock &&other) noexcept {
    MemoryBlock moved(std::move(other));
    swap(moved);
    return *this;
  }
  ~MemoryBlock() {
    if (data && allocator.release)
      allocator.release(allocator.context, data, size);
    else
      std::free(data);
  }

  std::byte *bytes() const { return static_cast<std::byte *>(data); }
  size_t sizeBytes() const { return size; }

private:
  void swap(MemoryBlock &other) {
    std::swap(allocator, other.allocator);
    std::swap(data, other.data);
    std::swap(size, other.size);
  }

  Allocator allocator;
  void *data = nullptr;
  size_t size = 0;
};

} // namespace nncc::rt
