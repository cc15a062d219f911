// See Fiber.h. The switch is written for x86-64 and AArch64, the two hosts of the project.
#include "tools/cuda-emulator/exec/Fiber.h"

#include <new>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__x86_64__)
// Callee-saved: rbx, rbp, r12 to r15. Rounding and exception modes are not switched: no one changes them
// across a switch.
asm(R"(
  .text
  .globl emuSwitchStack
  .hidden emuSwitchStack
  .type emuSwitchStack,@function
emuSwitchStack:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
  .size emuSwitchStack,.-emuSwitchStack
)");
#elif defined(__aarch64__)
// Callee-saved: x19 to x30 and the low halves of v8 to v15.
asm(R"(
  .text
  .globl emuSwitchStack
  .hidden emuSwitchStack
  .type emuSwitchStack,%function
emuSwitchStack:
  sub sp, sp, #160
  stp x19, x20, [sp, #0]
  stp x21, x22, [sp, #16]
  stp x23, x24, [sp, #32]
  stp x25, x26, [sp, #48]
  stp x27, x28, [sp, #64]
  stp x29, x30, [sp, #80]
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  mov x9, sp
  str x9, [x0]
  mov sp, x1
  ldp x19, x20, [sp, #0]
  ldp x21, x22, [sp, #16]
  ldp x23, x24, [sp, #32]
  ldp x25, x26, [sp, #48]
  ldp x27, x28, [sp, #64]
  ldp x29, x30, [sp, #80]
  ldp d8, d9, [sp, #96]
  ldp d10, d11, [sp, #112]
  ldp d12, d13, [sp, #128]
  ldp d14, d15, [sp, #144]
  add sp, sp, #160
  ret
  .size emuSwitchStack,.-emuSwitchStack
)");
#else
#error "no stack switch for this processor"
#endif

namespace nncc::cuemu {

StackSlab::~StackSlab() {
  if (base)
    munmap(base, capacity * stride);
}

void StackSlab::reserve(size_t count, size_t stackBytes) {
  if (count <= capacity && stackBytes <= sizeBytes)
    return;
  if (base)
    munmap(base, capacity * stride);
  auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  sizeBytes = (stackBytes + page - 1) / page * page;
  stride = sizeBytes + page;
  capacity = count;
  void *memory = mmap(nullptr, capacity * stride, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    base = nullptr;
    capacity = sizeBytes = 0;
    throw std::bad_alloc();
  }
  base = static_cast<uint8_t *>(memory);
  for (size_t i = 0; i < capacity; i++)
    mprotect(base + i * stride, page, PROT_NONE);
}

void *prepareStack(uint8_t *top, void (*entry)()) {
  auto **slot = reinterpret_cast<void **>(top);
#if defined(__x86_64__)
  *--slot = nullptr; // where a return address of `entry` would be; keeps the alignment of a call
  *--slot = reinterpret_cast<void *>(entry);
  for (int i = 0; i < 6; i++)
    *--slot = nullptr;
#elif defined(__aarch64__)
  slot -= 20;
  for (int i = 0; i < 20; i++)
    slot[i] = nullptr;
  slot[11] = reinterpret_cast<void *>(entry); // x30
#endif
  return slot;
}

} // namespace nncc::cuemu
