// Writes events for event_file.py: event_writer FOLDER makes an event file there with four steps
// and prints its path; event_writer alone prints the bytes of two events at known times.
#include "runtime/data/EventFile.h"

#include <cmath>
#include <cstdio>
#include <vector>

using namespace nncc;
using namespace nncc::data;

int main(int argc, char **argv) {
  if (argc == 1) {
    const std::vector<Scalar> scalars = {{"train/loss", 0.625f}, {"größe", -INFINITY}};
    std::string bytes = encodeRecord(encodeVersionEvent(1700000000.25)) +
                        encodeRecord(encodeScalarEvent(1700000001.5, 123456789012, scalars));
    return std::fwrite(bytes.data(), 1, bytes.size(), stdout) == bytes.size() ? 0 : 1;
  }
  Result<EventFile> file = EventFile::create(argv[1]);
  if (!file)
    return 1;
  for (int64_t step = 0; step < 4; ++step) {
    const std::vector<Scalar> scalars = {{"loss", 1.0f / static_cast<float>(step + 1)},
                                         {std::string_view("accuracy"), 0.25f}};
    if (!file->add(step * 100, scalars))
      return 1;
  }
  std::puts(file->path().c_str());
  return 0;
}
