// .npy from any bytes: no crash, and the data fits the shape.
#include "runtime/data/Npy.h"

#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  nncc::Result<nncc::rt::HostTensor> tensor =
      nncc::data::parseNpy({reinterpret_cast<const std::byte *>(data), size}, "fuzz");
  if (!tensor)
    return 0;
  int64_t sizeBytes = nncc::sizeBytesOf(tensor->dtype);
  for (int64_t extent : tensor->shape)
    sizeBytes *= extent;
  if (sizeBytes != static_cast<int64_t>(tensor->data.size()))
    std::abort();
  return 0;
}
