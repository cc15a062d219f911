// What the harnesses of data sets share: a file in memory, and reading of all that a data set
// holds.
#pragma once

#include "runtime/data/OpenData.h"

#include <cstdlib>
#include <fcntl.h>
#include <string>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

/// A file that lies in memory, under a path.
class FuzzedFile {
public:
  explicit FuzzedFile(const char *name) : descriptor(::memfd_create(name, 0)) {
    if (descriptor < 0)
      std::abort();
  }

  std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor); }

  void write(const uint8_t *data, size_t size) const {
    if (::ftruncate(descriptor, 0) != 0 ||
        ::pwrite(descriptor, data, size, 0) != static_cast<ssize_t>(size))
      std::abort();
  }

private:
  int descriptor;
};

/// Opens the data set, if it is one, and reads every field of the first and the last samples.
inline void readAll(const std::string &spec) {
  auto source = nncc::data::openData(spec, nncc::data::Split::Train);
  if (!source)
    return;
  if ((*source)->sampleCount() < 1 || (*source)->fields().empty())
    std::abort();
  std::vector<std::vector<std::byte>> values;
  std::vector<std::span<std::byte>> spans;
  for (const nncc::data::Field &field : (*source)->fields())
    values.emplace_back(static_cast<size_t>(nncc::data::sizeBytesOf(field)));
  for (std::vector<std::byte> &value : values)
    spans.push_back(value);
  constexpr int64_t kMaxRead = 16;
  for (int64_t sample = 0, count = (*source)->sampleCount(); sample < count; ++sample) {
    if (sample == kMaxRead && count > 2 * kMaxRead)
      sample = count - kMaxRead;
    if (!(*source)->read(sample, spans) || (*source)->locate(sample, 0).empty())
      std::abort();
  }
}
