// A pair of IDX files from any bytes, plain or compressed: no crash, and every sample can be read.
#include "OpenedData.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  // The first byte says where the images end and the labels begin.
  if (size == 0)
    return 0;
  size_t images = (size - 1) * data[0] / 255;
  static const FuzzedFile imageFile("images"), labelFile("labels");
  imageFile.write(data + 1, images);
  labelFile.write(data + 1 + images, size - 1 - images);
  readAll("mnist:" + imageFile.path() + "," + labelFile.path());
  return 0;
}
