// ldmatrix and mma.sync. The test fills whole matrices, distributes them over the lanes by the figures of the PTX
// manual (element (row, column) of each fragment register written out as in the manual's pseudo-code), and compares
// with a plain triple loop. Values are small integers, so that every sum is exact.
#include "test/unit/cuda-emulator/Emulator.h"

#include <array>
#include <cstring>

namespace nncc::cuemu::test {
namespace {

/// Bits of a small integer in a format.
uint32_t encode(const std::string &type, int value) {
  float number = static_cast<float>(value);
  uint32_t bits;
  std::memcpy(&bits, &number, 4);
  if (type == "bf16")
    return bits >> 16;
  if (type == "tf32" || type == "f32")
    return bits;
  if (type == "f16") {
    if (value == 0)
      return 0;
    uint32_t sign = bits >> 16 & 0x8000, exponent = (bits >> 23 & 0xff) - 112, mantissa = bits >> 13 & 0x3ff;
    return sign | exponent << 10 | mantissa;
  }
  return static_cast<uint32_t>(value) & 0xff; // s8, u8
}

struct Position {
  int row, column;
};

// The manual's formulas, for element i of a lane's A, B and C fragments.
Position ofA(const std::string &type, int k, int lane, int i) {
  int group = lane >> 2, thread = lane % 4;
  if (type == "tf32") // m16n8k4: a0..a1, m16n8k8: a0..a3
    return {i % 2 == 0 ? group : group + 8, i < 2 ? thread : thread + 4};
  if (type == "f16" || type == "bf16") {
    if (k == 8)
      return {i < 2 ? group : group + 8, thread * 2 + (i & 1)};
    return {(i < 2 || (i >= 4 && i < 6)) ? group : group + 8, i < 4 ? thread * 2 + (i & 1) : thread * 2 + (i & 1) + 8};
  }
  if (k == 16)
    return {i < 4 ? group : group + 8, thread * 4 + (i & 3)};
  return {(i < 4 || (i >= 8 && i < 12)) ? group : group + 8, i < 8 ? thread * 4 + (i & 3) : thread * 4 + (i & 3) + 16};
}

Position ofB(const std::string &type, int lane, int i) {
  int group = lane >> 2, thread = lane % 4;
  if (type == "tf32")
    return {i == 0 ? thread : thread + 4, group};
  if (type == "f16" || type == "bf16")
    return {i < 2 ? thread * 2 + (i & 1) : thread * 2 + (i & 1) + 8, group};
  return {i < 4 ? thread * 4 + (i & 3) : thread * 4 + (i & 3) + 16, group};
}

Position ofC(int lane, int i) { return {i < 2 ? lane >> 2 : (lane >> 2) + 8, (lane % 4) * 2 + (i & 1)}; }

struct MmaShape {
  const char *instruction;
  const char *a, *b, *c;
  int k;
};

void PrintTo(const MmaShape &shape, std::ostream *stream) { *stream << shape.instruction; }

class Multiply : public EmulatorTest, public ::testing::WithParamInterface<MmaShape> {
protected:
  /// Runs the instruction with two registers of an operand exchanged (0, 0: none), and says which results are not those of the triple
  /// loop.
  void run(std::array<int, 2> exchangedA, std::array<int, 2> exchangedB, std::vector<std::string> &wrong);
};

int bitsOf(const std::string &type) { return type == "tf32" || type == "f32" || type == "s32" ? 32 : type == "f16" || type == "bf16" ? 16 : 8; }

void Multiply::run(std::array<int, 2> exchangedA, std::array<int, 2> exchangedB, std::vector<std::string> &wrong) {
  const MmaShape &shape = GetParam();
  std::string a = shape.a, b = shape.b, c = shape.c;
  int k = shape.k, perA = 32 / bitsOf(a), perC = 32 / bitsOf(c);
  int countA = 16 * k / 32 / perA, countB = 8 * k / 32 / perA, countC = 4 / perC;
  auto valueA = [&](int row, int column) { return a[0] == 'u' ? (row * 3 + column) % 200 : (row * 3 + column * 5) % 7 - 3; };
  auto valueB = [&](int row, int column) { return b[0] == 'u' ? (row + column * 11) % 190 : (row * 2 + column * 7) % 5 - 2; };
  auto valueC = [](int row, int column) { return row - 2 * column; };

  std::vector<uint32_t> registers;
  for (int lane = 0; lane < 32; lane++) {
    std::vector<uint32_t> words(static_cast<size_t>(countA + countB + countC), 0);
    for (int i = 0; i < countA * perA; i++) {
      Position at = ofA(a, k, lane, i);
      words[static_cast<size_t>(i / perA)] |= encode(a, valueA(at.row, at.column)) << i % perA * bitsOf(a);
    }
    for (int i = 0; i < countB * perA; i++) {
      Position at = ofB(b, lane, i);
      words[static_cast<size_t>(countA + i / perA)] |= encode(b, valueB(at.row, at.column)) << i % perA * bitsOf(b);
    }
    for (int i = 0; i < 4; i++) {
      Position at = ofC(lane, i);
      uint32_t bits = c == "s32" ? static_cast<uint32_t>(valueC(at.row, at.column)) : encode(c, valueC(at.row, at.column));
      words[static_cast<size_t>(countA + countB + i / perC)] |= bits << i % perC * bitsOf(c);
    }
    registers.insert(registers.end(), words.begin(), words.end());
  }
  size_t perLane = static_cast<size_t>(countA + countB + countC);
  std::string text = ptxModule(".visible .entry k(.param .u64 x, .param .u64 y) { .reg .b32 %r<24>; .reg .b32 %q<5>; .reg .b64 %d<8>;\n"
                               "ld.param.u64 %d1, [x]; ld.param.u64 %d2, [y]; mov.u32 %r20, %laneid; mul.wide.u32 %d3, %r20, " +
                               std::to_string(4 * perLane) + "; add.u64 %d4, %d1, %d3; mul.wide.u32 %d5, %r20, 16; add.u64 %d6, %d2, %d5;\n");
  for (size_t i = 0; i < perLane; i++)
    text += "ld.global.b32 %r" + std::to_string(i) + ", [%d4+" + std::to_string(4 * i) + "]; ";
  auto list = [](const char *prefix, int begin, int count, std::array<int, 2> exchanged = {}) {
    std::string result = "{";
    for (int i = 0; i < count; i++) {
      int number = i == exchanged[0] ? exchanged[1] : i == exchanged[1] ? exchanged[0] : i;
      result += (i ? ", " : "") + std::string(prefix) + std::to_string(begin + number);
    }
    return result + "}";
  };
  text += std::string("\n") + shape.instruction + " " + list("%q", 0, countC) + ", " + list("%r", 0, countA, exchangedA) + ", " +
          list("%r", countA, countB, exchangedB) + ", " + list("%r", countA + countB, countC) + ";\n";
  for (int i = 0; i < countC; i++)
    text += "st.global.b32 [%d6+" + std::to_string(4 * i) + "], %q" + std::to_string(i) + "; ";
  text += "ret; }";
  Buffer<uint32_t> x(registers), y(std::vector<uint32_t>(128, 0));
  ASSERT_EQ(EmulatorTest::run(function(load(text), "k"), {1, 32}, x.address, y.address), CUDA_SUCCESS);
  std::vector<uint32_t> result = y.read();
  for (int lane = 0; lane < 32; lane++)
    for (int i = 0; i < 4; i++) {
      Position at = ofC(lane, i);
      int expected = valueC(at.row, at.column);
      for (int j = 0; j < k; j++)
        expected += valueA(at.row, j) * valueB(j, at.column);
      uint32_t word = result[static_cast<size_t>(lane * 4 + i / perC)];
      uint32_t bits = perC == 2 ? word >> 16 * (i % 2) & 0xffff : word;
      if (bits != (c == "s32" ? static_cast<uint32_t>(expected) : encode(c, expected)))
        wrong.push_back("lane " + std::to_string(lane) + ", register " + std::to_string(i));
    }
}

TEST_P(Multiply, followsTheManualsLayout) {
  std::vector<std::string> wrong;
  run({}, {}, wrong);
  EXPECT_EQ(wrong, std::vector<std::string>());
}

/// The commonest slip in a kernel with inline assembly: nothing but the values can show it.
TEST_P(Multiply, showsAWrongOrderOfOperands) {
  std::vector<std::string> wrong;
  run({0, 1}, {}, wrong);
  EXPECT_FALSE(wrong.empty()) << "rows of the left operand";
  const MmaShape &shape = GetParam();
  if (8 * shape.k * bitsOf(shape.b) / 32 / 32 < 2)
    return; // the right operand is one register
  wrong.clear();
  run({}, {0, 1}, wrong);
  EXPECT_FALSE(wrong.empty()) << "halves of the depth of the right operand";
}

INSTANTIATE_TEST_SUITE_P(
    CudaEmulator, Multiply,
    ::testing::Values(MmaShape{"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "f16", "f16", "f32", 16},
                      MmaShape{"mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32", "f16", "f16", "f32", 8},
                      MmaShape{"mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16", "f16", "f16", "f16", 16},
                      MmaShape{"mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", "bf16", "bf16", "f32", 16},
                      MmaShape{"mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32", "bf16", "bf16", "f32", 8},
                      MmaShape{"mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", "tf32", "tf32", "f32", 8},
                      MmaShape{"mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32", "tf32", "tf32", "f32", 4},
                      MmaShape{"mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32", "s8", "s8", "s32", 32},
                      MmaShape{"mma.sync.aligned.m16n8k16.row.col.s32.u8.s8.s32", "u8", "s8", "s32", 16},
                      MmaShape{"mma.sync.aligned.m16n8k32.row.col.satfinite.s32.u8.u8.s32", "u8", "u8", "s32", 32}),
    [](const auto &info) { return std::string(info.param.a) + info.param.b + info.param.c + "k" + std::to_string(info.param.k); });

using LoadMatrix = EmulatorTest;

TEST_F(LoadMatrix, distributesRowsAndTransposes) {
  // Four 8x8 matrices of 16-bit numbers: matrix m, row r, column c holds 100 m + 10 r + c.
  std::vector<uint16_t> elements(256);
  for (size_t m = 0; m < 4; m++)
    for (size_t r = 0; r < 8; r++)
      for (size_t c = 0; c < 8; c++)
        elements[m * 64 + r * 8 + c] = static_cast<uint16_t>(100 * m + 10 * r + c);
  for (bool isTransposed : {false, true}) {
    std::string text = ptxModule(R"(.visible .entry k(.param .u64 x, .param .u64 y) { .reg .b32 %r<16>; .reg .b64 %d<8>;
.shared .align 16 .b8 s[512];
ld.param.u64 %d1, [x]; ld.param.u64 %d2, [y]; mov.u32 %r0, %tid.x; mul.wide.u32 %d3, %r0, 16; add.u64 %d4, %d1, %d3; add.u64 %d5, %d2, %d3;
ld.global.v4.b32 {%r1, %r2, %r3, %r4}, [%d4]; mov.u32 %r5, s; shl.b32 %r6, %r0, 4; add.u32 %r7, %r5, %r6;
st.shared.v4.b32 [%r7], {%r1, %r2, %r3, %r4}; bar.sync 0;
ldmatrix.sync.aligned.m8n8.x4)" + std::string(isTransposed ? ".trans" : "") + R"(.shared.b16 {%r8, %r9, %r10, %r11}, [%r7];
st.global.v4.b32 [%d5], {%r8, %r9, %r10, %r11}; ret; })");
    Buffer<uint16_t> x(elements), y(256);
    ASSERT_EQ(run(function(load(text), "k"), {1, 32}, x.address, y.address), CUDA_SUCCESS);
    std::vector<uint16_t> result = y.read();
    for (size_t lane = 0; lane < 32; lane++)
      for (size_t m = 0; m < 4; m++)
        for (size_t i = 0; i < 2; i++) {
          size_t row = lane / 4, column = lane % 4 * 2 + i;
          if (isTransposed)
            std::swap(row, column);
          EXPECT_EQ(result[lane * 8 + m * 2 + i], elements[m * 64 + row * 8 + column]) << lane << " " << m << " " << i;
        }
  }
}

} // namespace
} // namespace nncc::cuemu::test
