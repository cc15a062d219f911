// Stacks and the switch between them, without the operating system: a switch saves the registers that a
// called function must preserve and loads those of another stack. Some 20 ns; a block of a kernel does one
// per thread at each barrier.
#pragma once

#include <cstddef>
#include <cstdint>

namespace nncc::cuemu {

/// Many stacks of one size in one mapping, each with an unmapped page below it.
class StackSlab {
public:
  StackSlab() = default;
  ~StackSlab();
  StackSlab(const StackSlab &) = delete;
  StackSlab &operator=(const StackSlab &) = delete;

  /// Makes room for that many stacks of at least that size; existing contents are lost if it grows.
  void reserve(size_t count, size_t stackBytes);
  uint8_t *top(size_t index) const { return base + (index + 1) * stride; }
  uint8_t *bottom(size_t index) const { return top(index) - sizeBytes; }
  size_t stackBytes() const { return sizeBytes; }
  bool contains(const void *address) const {
    auto *byte = static_cast<const uint8_t *>(address);
    return byte >= base && byte < base + capacity * stride;
  }

private:
  uint8_t *base = nullptr;
  size_t capacity = 0, stride = 0, sizeBytes = 0;
};

/// A stack pointer on which `entry()` starts at the first switch to it. `entry` must not return.
void *prepareStack(uint8_t *top, void (*entry)());

/// Saves the current stack pointer in `from` and goes on where `to` was saved.
extern "C" void emuSwitchStack(void **from, void *to);

} // namespace nncc::cuemu
