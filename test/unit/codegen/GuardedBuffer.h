// Memory for kernel tests that ends at a page which traps, so that a kernel that reads or writes past the end of a tensor
// crashes instead of passing.
#pragma once

#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <span>
#include <vector>

#include <sys/mman.h>
#include <unistd.h>

namespace nncc::codegen::test {

/// `size` elements of T between two trapping pages, filled with 0xff bytes: NaN for floating point.
template <typename T> class Buffer {
public:
  explicit Buffer(size_t size) : size(size) {
    size_t page = sysconf(_SC_PAGESIZE);
    mappedBytes = (size * sizeof(T) + page - 1) / page * page + 2 * page;
    mapped = static_cast<uint8_t *>(mmap(nullptr, mappedBytes, PROT_READ | PROT_WRITE,
                                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mprotect(mapped, page, PROT_NONE);
    mprotect(mapped + mappedBytes - page, page, PROT_NONE);
    first = reinterpret_cast<T *>(mapped + mappedBytes - page - size * sizeof(T));
    poison();
  }
  Buffer(std::initializer_list<T> values) : Buffer(values.size()) {
    std::copy(values.begin(), values.end(), first);
  }
  explicit Buffer(const std::vector<T> &values) : Buffer(values.size()) {
    std::copy(values.begin(), values.end(), first);
  }
  ~Buffer() { munmap(mapped, mappedBytes); }
  Buffer(const Buffer &) = delete;
  Buffer &operator=(const Buffer &) = delete;

  void poison() { std::memset(first, 0xff, size * sizeof(T)); }
  T *data() { return first; }
  T *begin() { return first; }
  T *end() { return first + size; }
  T &operator[](size_t i) { return first[i]; }
  operator void *() { return first; }
  std::vector<T> values() const { return std::vector<T>(first, first + size); }

  const size_t size;

private:
  uint8_t *mapped;
  size_t mappedBytes;
  T *first;
};

} // namespace nncc::codegen::test
