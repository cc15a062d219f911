// Whole small kernels: memory, control flow, barriers, shuffles, calls, faults. Expected values are computed
// here by plain loops.
#include "test/unit/cuda-emulator/Emulator.h"

#include <numeric>

namespace nncc::cuemu::test {
namespace {

const char *vectorAdd = R"(
.visible .entry add(.param .u64 x, .param .u64 y, .param .u64 z, .param .u32 n) {
  .reg .pred %p<2>; .reg .b32 %r<6>; .reg .f32 %f<4>; .reg .b64 %rd<8>;
  ld.param.u64 %rd1, [x]; ld.param.u64 %rd2, [y]; ld.param.u64 %rd3, [z]; ld.param.u32 %r1, [n];
  mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x;
  mad.lo.s32 %r5, %r2, %r3, %r4;
  setp.ge.s32 %p1, %r5, %r1;
  @%p1 bra done;
  mul.wide.s32 %rd4, %r5, 4;
  add.s64 %rd5, %rd1, %rd4; add.s64 %rd6, %rd2, %rd4; add.s64 %rd7, %rd3, %rd4;
  ld.global.f32 %f1, [%rd5]; ld.global.nc.f32 %f2, [%rd6];
  add.f32 %f3, %f1, %f2;
  st.global.f32 [%rd7], %f3;
done:
  ret;
})";

// Sums 256 values per block: a warp by shuffles, the warps' sums through shared memory.
const char *reduction = R"(
.visible .entry sum(.param .u64 x, .param .u64 result) {
  .reg .pred %p<4>; .reg .b32 %r<20>; .reg .f32 %f<12>; .reg .b64 %rd<8>;
  .shared .align 4 .b8 partial[32];
  ld.param.u64 %rd1, [x]; ld.param.u64 %rd2, [result];
  mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; shl.b32 %r3, %r2, 8; add.s32 %r4, %r3, %r1;
  mul.wide.u32 %rd3, %r4, 4; add.s64 %rd4, %rd1, %rd3; ld.global.f32 %f1, [%rd4];
  mov.b32 %r5, %f1;
  shfl.sync.bfly.b32 %r6, %r5, 16, 31, -1; mov.b32 %f2, %r6; add.f32 %f1, %f1, %f2; mov.b32 %r5, %f1;
  shfl.sync.bfly.b32 %r6, %r5, 8, 31, -1; mov.b32 %f2, %r6; add.f32 %f1, %f1, %f2; mov.b32 %r5, %f1;
  shfl.sync.bfly.b32 %r6, %r5, 4, 31, -1; mov.b32 %f2, %r6; add.f32 %f1, %f1, %f2; mov.b32 %r5, %f1;
  shfl.sync.bfly.b32 %r6, %r5, 2, 31, -1; mov.b32 %f2, %r6; add.f32 %f1, %f1, %f2; mov.b32 %r5, %f1;
  shfl.sync.bfly.b32 %r6|%p1, %r5, 1, 31, -1; mov.b32 %f2, %r6; add.f32 %f1, %f1, %f2;
  and.b32 %r7, %r1, 31; setp.ne.s32 %p2, %r7, 0;
  shr.u32 %r8, %r1, 5; shl.b32 %r9, %r8, 2; mov.u32 %r10, partial; add.s32 %r11, %r10, %r9;
  @!%p2 st.shared.f32 [%r11], %f1;
  bar.sync 0;
  setp.ne.s32 %p3, %r1, 0; @%p3 bra end;
  mov.f32 %f3, 0f00000000; mov.u32 %r12, 0;
next:
  shl.b32 %r13, %r12, 2; add.s32 %r14, %r10, %r13; ld.shared.f32 %f4, [%r14]; add.f32 %f3, %f3, %f4;
  add.s32 %r12, %r12, 1; setp.lt.s32 %p3, %r12, 8; @%p3 bra next;
  red.global.add.f32 [%rd2], %f3;
end:
  ret;
})";

// Dynamic shared memory, a device function that is called, local memory with a computed index.
const char *reversal = R"(
.extern .shared .align 16 .b8 buffer[];
.func (.param .b32 r) square(.param .b32 v) {
  .reg .b32 %r<3>;
  .local .align 8 .b8 depot[8];
  .reg .b64 %rd<3>;
  mov.u64 %rd1, depot; cvta.local.u64 %rd2, %rd1;
  ld.param.b32 %r1, [v]; st.u32 [%rd2+4], %r1; ld.local.u32 %r2, [%rd1+4];
  mul.lo.s32 %r2, %r2, %r1; st.param.b32 [r+0], %r2; ret;
}
.visible .entry reverse(.param .u64 x) {
  .reg .b32 %r<10>; .reg .b64 %rd<6>;
  ld.param.u64 %rd1, [x]; cvta.to.global.u64 %rd1, %rd1;
  mov.u32 %r1, %tid.x; mov.u32 %r2, %ntid.x; mul.wide.u32 %rd2, %r1, 4; add.s64 %rd3, %rd1, %rd2;
  ld.global.u32 %r3, [%rd3];
  { .param .b32 p0; st.param.b32 [p0+0], %r3; .param .b32 ret0;
    call.uni (ret0), square, (p0); ld.param.b32 %r3, [ret0+0]; }
  mov.u32 %r4, buffer; shl.b32 %r5, %r1, 2; add.s32 %r6, %r4, %r5; st.shared.u32 [%r6], %r3;
  barrier.sync 0;
  sub.s32 %r7, %r2, %r1; sub.s32 %r7, %r7, 1; shl.b32 %r7, %r7, 2; add.s32 %r7, %r4, %r7;
  cvt.u64.u32 %rd4, %r7; cvta.shared.u64 %rd5, %rd4; ld.u32 %r8, [%rd5];
  st.global.u32 [%rd3], %r8;
  ret;
})";

using Execution = EmulatorTest;

TEST_F(Execution, addsVectorsOverSeveralBlocksWithATail) {
  size_t n = 1000;
  std::vector<float> x(n), y(n);
  for (size_t i = 0; i < n; i++) {
    x[i] = 0.5f * static_cast<float>(i);
    y[i] = 3.0f - static_cast<float>(i);
  }
  Buffer<float> dx(x), dy(y), dz(n);
  CUfunction kernel = function(load(ptxModule(vectorAdd)), "add");
  ASSERT_EQ(run(kernel, {8, 128}, dx.address, dy.address, dz.address, static_cast<unsigned>(n)), CUDA_SUCCESS);
  std::vector<float> z = dz.read();
  for (size_t i = 0; i < n; i++)
    EXPECT_EQ(z[i], x[i] + y[i]) << i;
}

TEST_F(Execution, takesParametersFromABuffer) {
  std::vector<float> ones(4, 1.0f);
  Buffer<float> x(ones), z(4);
  struct {
    CUdeviceptr x, y, z;
    unsigned n;
  } block = {x.address, x.address, z.address, 4};
  size_t bytes = sizeof(block);
  void *extra[] = {launchParamBufferPointer(), &block, launchParamBufferSize(), &bytes, launchParamEnd()};
  CUfunction kernel = function(load(ptxModule(vectorAdd)), "add");
  ASSERT_EQ(cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, nullptr, nullptr, extra), CUDA_SUCCESS);
  EXPECT_EQ(z.read(), std::vector<float>(4, 2.0f));
}

TEST_F(Execution, reducesByShufflesSharedMemoryAndAtomics) {
  std::vector<float> x(256 * 5);
  std::iota(x.begin(), x.end(), 1.0f);
  Buffer<float> dx(x), result(std::vector<float>(1, 0.0f));
  CUfunction kernel = function(load(ptxModule(reduction)), "sum");
  ASSERT_EQ(run(kernel, {5, 256}, dx.address, result.address), CUDA_SUCCESS);
  EXPECT_EQ(result.read()[0], 1280.0f * 1281.0f / 2); // exact in f32: all partial sums are below 2^24
}

TEST_F(Execution, callsFunctionsAndReadsSharedMemoryThroughGenericAddresses) {
  std::vector<uint32_t> x(64);
  std::iota(x.begin(), x.end(), 0u);
  Buffer<uint32_t> dx(x);
  CUfunction kernel = function(load(ptxModule(reversal)), "reverse");
  ASSERT_EQ(run(kernel, {1, 64, 256}, dx.address), CUDA_SUCCESS);
  std::vector<uint32_t> result = dx.read();
  for (uint32_t i = 0; i < 64; i++)
    EXPECT_EQ(result[i], (63 - i) * (63 - i)) << i;
}

TEST_F(Execution, modulesHaveVariables) {
  CUmodule module = load(ptxModule(R"(
.visible .const .align 4 .f32 table[3] = {0f3F800000, 0f40000000, 0f40400000};
.visible .global .align 8 .u64 where = table;
.visible .global .align 4 .u32 counter;
.visible .entry count(.param .u64 out) {
  .reg .b32 %r<3>; .reg .f32 %f<2>; .reg .b64 %rd<4>;
  mov.u64 %rd1, counter; atom.global.add.u32 %r1, [%rd1], 2;
  ld.global.u64 %rd2, [where]; ld.const.f32 %f1, [table+8];
  ld.param.u64 %rd3, [out]; st.relaxed.gpu.global.f32 [%rd3], %f1; ret;
})"));
  Buffer<float> out(1);
  ASSERT_EQ(run(function(module, "count"), {3, 1}, out.address), CUDA_SUCCESS);
  EXPECT_EQ(out.read()[0], 3.0f);
  CUdeviceptr counter = 0;
  size_t bytes = 0;
  ASSERT_EQ(cuModuleGetGlobal_v2(&counter, &bytes, module, "counter"), CUDA_SUCCESS);
  EXPECT_EQ(bytes, 4u);
  uint32_t value = 0;
  ASSERT_EQ(cuMemcpyDtoH_v2(&value, counter, 4), CUDA_SUCCESS);
  EXPECT_EQ(value, 6u);
  CUdeviceptr table = 0, where = 0, pointer = 0;
  ASSERT_EQ(cuModuleGetGlobal_v2(&table, nullptr, module, "table"), CUDA_SUCCESS);
  ASSERT_EQ(cuModuleGetGlobal_v2(&where, nullptr, module, "where"), CUDA_SUCCESS);
  ASSERT_EQ(cuMemcpyDtoH_v2(&pointer, where, 8), CUDA_SUCCESS);
  EXPECT_EQ(pointer, table);
}

TEST_F(Execution, wildAddressIsAnIllegalAddressAndSticks) {
  CUfunction kernel = function(load(ptxModule(R"(
.visible .entry wild(.param .u64 p) {
  .reg .b64 %rd<2>; ld.param.u64 %rd1, [p]; st.global.u64 [%rd1], %rd1; ret;
})")), "wild");
  EXPECT_EQ(launch(kernel, {1, 32}, CUdeviceptr{8}), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
  CUdeviceptr memory = 0;
  EXPECT_EQ(cuMemAlloc_v2(&memory, 16), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(launch(kernel, {1, 1}, CUdeviceptr{8}), CUDA_ERROR_ILLEGAL_ADDRESS);
  // Resetting the device is the way out.
  ASSERT_EQ(cuDevicePrimaryCtxReset_v2(0), CUDA_SUCCESS);
  ASSERT_EQ(cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuCtxSetCurrent(context), CUDA_SUCCESS);
  EXPECT_EQ(cuMemAlloc_v2(&memory, 16), CUDA_SUCCESS);
}

TEST_F(Execution, trapAndHangAreLaunchFailures) {
  CUmodule module = load(ptxModule(R"(
.visible .entry stop() { trap; }
.visible .entry hang() {
  .reg .pred %p; .reg .b32 %r<3>;
  mov.u32 %r1, %tid.x; setp.eq.u32 %p, %r1, 0;
  @%p bar.sync 1, 64;
  bar.sync 0; ret;
})"));
  EXPECT_EQ(run(function(module, "stop"), {1, 1}), CUDA_ERROR_LAUNCH_FAILED);
  cuDevicePrimaryCtxReset_v2(0);
  SetUp();
  module = load(ptxModule(".visible .entry hang() { .reg .pred %p; .reg .b32 %r<3>; mov.u32 %r1, %tid.x; "
                          "setp.eq.u32 %p, %r1, 0; @%p bar.sync 1, 64; bar.sync 0; ret; }"));
  EXPECT_EQ(run(function(module, "hang"), {1, 64}), CUDA_ERROR_LAUNCH_FAILED);
}

TEST_F(Execution, namedBarriersJoinPartsOfABlock) {
  // Warp 0 produces for warp 1 through barrier 1 without waiting itself.
  CUfunction kernel = function(load(ptxModule(R"(
.visible .entry pass(.param .u64 out) {
  .reg .pred %p; .reg .b32 %r<6>; .reg .b64 %rd<4>;
  .shared .align 4 .u32 box[32];
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, %tid.x; and.b32 %r2, %r1, 31; shl.b32 %r3, %r2, 2; mov.u32 %r4, box; add.u32 %r4, %r4, %r3;
  setp.ge.u32 %p, %r1, 32; @%p bra consume;
  mul.lo.u32 %r5, %r2, 3; st.shared.u32 [%r4], %r5; barrier.arrive 1, 64; ret;
consume:
  barrier.sync 1, 64; ld.shared.u32 %r5, [%r4];
  mul.wide.u32 %rd2, %r2, 4; add.u64 %rd3, %rd1, %rd2; st.global.u32 [%rd3], %r5; ret;
})")), "pass");
  Buffer<uint32_t> out(32);
  ASSERT_EQ(run(kernel, {1, 64}, out.address), CUDA_SUCCESS);
  std::vector<uint32_t> values = out.read();
  for (uint32_t i = 0; i < 32; i++)
    EXPECT_EQ(values[i], 3 * i);
}

TEST_F(Execution, unknownTextIsRefusedWithItsLine) {
  std::string head = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k() {\n.reg .b32 %r<4>;\n";
  EXPECT_EQ(loadError(head + "frobnicate.b32 %r1, %r2;\nret;\n}"), "ptx:6: error: unknown instruction 'frobnicate.b32'");
  EXPECT_EQ(loadError(head + "add.fast.s32 %r1, %r2, %r3;\nret;\n}"),
            "ptx:6: error: unknown modifier '.fast' in 'add.fast.s32'");
  EXPECT_EQ(loadError(head + "add.s32 %r1, %r9, %r3;\nret;\n}"), "ptx:6: error: unknown register '%r9'");
  EXPECT_EQ(loadError(head + "bra nowhere;\n}"), "ptx:6: error: label 'nowhere' is not defined in this function");
  EXPECT_EQ(loadError(head + "mov.b32 %r1, %r2\n}"), "ptx:7: error: expected ';', found '}'");
  EXPECT_EQ(loadError(head + ".surprise 4;\n}"), "ptx:6: error: unknown directive '.surprise'");
  EXPECT_EQ(loadError("hello"), "ptx:1: error: expected a directive, found 'hello'");
  EXPECT_EQ(loadError("\x7f" "ELF", CUDA_ERROR_NO_BINARY_FOR_GPU),
            "the emulator executes PTX only, not machine code of a GPU");
  EXPECT_EQ(loadError(".version 8.0\n.target sm_90\n.address_size 64\n", CUDA_ERROR_NO_BINARY_FOR_GPU),
            "PTX for sm_90 does not run on the emulated device; set CUDA_EMULATOR_CAPABILITY");
}

} // namespace
} // namespace nncc::cuemu::test
