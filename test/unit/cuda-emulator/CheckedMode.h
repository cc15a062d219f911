// The frame of the checked-mode tests: kernels over one block of input and one of output, of 64 words each,
// whose bodies are given with the registers that they need already loaded.
#pragma once

#include "test/unit/cuda-emulator/Emulator.h"

#include <fstream>
#include <numeric>

namespace nncc::cuemu::test {

/// The file that the emulator writes its reports to in this program.
const std::string &reportPath();

/// A kernel `k` around `body`. It starts on line 4. Registers: %d0 input, %d1 output, %d3 and %d4 the thread's
/// words of them, %r0 the thread, %r1 the block, %r2 four times the thread, %r3 the input word.
inline std::string kernel(const std::string &body, const std::string &before = "") {
  return ptxModule(before + R"(.visible .entry k(.param .u64 p0, .param .u64 p1) { .reg .pred %p<8>; .reg .b16 %h<8>; .reg .b32 %r<40>; .reg .f32 %f<16>; .reg .b64 %d<24>; ld.param.u64 %d0, [p0]; ld.param.u64 %d1, [p1]; mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x; mul.wide.u32 %d2, %r0, 4; add.u64 %d3, %d0, %d2; add.u64 %d4, %d1, %d2; shl.b32 %r2, %r0, 2; ld.global.u32 %r3, [%d3];
)" + body + "\nret;\n}\n");
}

/// A static shared array of 64 words named `s`, and %r10 the thread's word in it.
inline std::string withShared(const std::string &body) {
  return ".shared .align 16 .b8 s[256]; mov.u32 %r9, s; add.u32 %r10, %r9, %r2;\n" + body;
}

class CheckedTest : public EmulatorTest {
protected:
  void SetUp() override {
    EmulatorTest::SetUp();
    std::ofstream(reportPath()).close();
  }

  CUresult runKernel(const std::string &text, Shape shape = {1, 64}) {
    std::vector<uint32_t> words(64);
    std::iota(words.begin(), words.end(), 0u);
    Buffer<uint32_t> input(words), output(64);
    return run(function(load(text), "k"), shape, input.address, output.address);
  }

  std::string report() {
    std::ifstream file(reportPath());
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }
};

} // namespace nncc::cuemu::test
