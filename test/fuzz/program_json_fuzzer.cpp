// Program JSON from any bytes: no crash, and what was read is written and read back the same.
#include "runtime/ProgramJson.h"

#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  using namespace nncc::rt;
  nncc::Result<Program> program = readProgramJson({reinterpret_cast<const char *>(data), size});
  if (!program)
    return 0;
  std::string text = writeProgramJson(*program);
  nncc::Result<Program> again = readProgramJson(text);
  if (!again || writeProgramJson(*again) != text)
    std::abort();
  return 0;
}
