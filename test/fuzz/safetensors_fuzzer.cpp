// Safetensors from any bytes: no crash, and every tensor lies inside the file.
#include "runtime/Safetensors.h"

#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::span<const std::byte> bytes(reinterpret_cast<const std::byte *>(data), size);
  nncc::Result<nncc::rt::Safetensors> file = nncc::rt::Safetensors::parse(bytes, "fuzz");
  if (!file)
    return 0;
  for (const nncc::rt::SafetensorsEntry &entry : file->entries())
    if (entry.data.data() < bytes.data() ||
        entry.data.data() + entry.data.size() > bytes.data() + bytes.size())
      std::abort();
  return 0;
}
