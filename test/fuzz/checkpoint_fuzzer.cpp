// Checkpoints from any bytes: no crash, and the differences from another model can be told.
#include "OpenedData.h"
#include "runtime/data/Checkpoint.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const FuzzedFile file("checkpoint");
  file.write(data, size);
  nncc::Result<nncc::data::Checkpoint> checkpoint = nncc::data::Checkpoint::open(file.path());
  if (!checkpoint)
    return 0;
  const std::vector<nncc::data::ExpectedTensor> expected = {{"weight", nncc::DType::F32, {2, 3}}};
  if (checkpoint->check("", "no such architecture", expected))
    std::abort();
  return 0;
}
