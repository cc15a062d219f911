// Data sets in one file (.npy, .npz, safetensors, CIFAR) from any bytes: no crash, and every sample
// can be read.
#include "OpenedData.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const FuzzedFile file("data");
  file.write(data, size);
  for (const char *format : {"npy:", "npz:", "safetensors:", "cifar10:", "cifar100:"})
    readAll(format + file.path());
  return 0;
}
