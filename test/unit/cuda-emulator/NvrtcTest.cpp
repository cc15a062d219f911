// Kernels as a compiler of CUDA C++ writes them: NVRTC makes their PTX where it is installed, for several
// architectures, since its code for each differs.
#include "test/unit/cuda-emulator/Emulator.h"

#include <cmath>
#include <dlfcn.h>

namespace nncc::cuemu::test {
namespace {

/// The few functions of NVRTC that a test needs.
class Nvrtc {
public:
  Nvrtc() {
    for (const char *name : {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so", "/usr/local/cuda/lib64/libnvrtc.so"})
      if ((library = dlopen(name, RTLD_NOW)))
        break;
  }
  explicit operator bool() const { return library != nullptr; }

  std::string compile(const std::string &source, const char *architecture) {
    void *program = nullptr;
    auto create = get<int(void **, const char *, const char *, int, const char *const *, const char *const *)>("nvrtcCreateProgram");
    auto compileProgram = get<int(void *, int, const char *const *)>("nvrtcCompileProgram");
    auto ptxSize = get<int(void *, size_t *)>("nvrtcGetPTXSize"), logSize = get<int(void *, size_t *)>("nvrtcGetProgramLogSize");
    auto getPtx = get<int(void *, char *)>("nvrtcGetPTX"), getLog = get<int(void *, char *)>("nvrtcGetProgramLog");
    EXPECT_EQ(create(&program, source.c_str(), "test.cu", 0, nullptr, nullptr), 0);
    std::string architectureOption = std::string("-arch=compute_") + architecture;
    const char *options[] = {architectureOption.c_str(), "-lineinfo", "-std=c++17"};
    size_t size = 0;
    if (compileProgram(program, 3, options) != 0) {
      logSize(program, &size);
      std::string log(size, '\0');
      getLog(program, log.data());
      ADD_FAILURE() << log;
      return {};
    }
    ptxSize(program, &size);
    std::string ptx(size, '\0');
    getPtx(program, ptx.data());
    get<int(void **)>("nvrtcDestroyProgram")(&program);
    return ptx;
  }

private:
  template <typename F> F *get(const char *name) { return reinterpret_cast<F *>(dlsym(library, name)); }
  void *library = nullptr;
};

class NvrtcKernel : public EmulatorTest, public ::testing::WithParamInterface<const char *> {
protected:
  void SetUp() override {
    if (!nvrtc)
      GTEST_SKIP() << "NVRTC is not installed; these tests compile CUDA C++ with it";
    // The newest architecture of the list runs all of them.
    setenv("CUDA_EMULATOR_CAPABILITY", "9.0", 1);
    EmulatorTest::SetUp();
  }
  void TearDown() override {
    if (nvrtc)
      EmulatorTest::TearDown();
  }
  CUmodule build(const std::string &source) { return load(nvrtc.compile(source, GetParam())); }

  Nvrtc nvrtc;
};

TEST_P(NvrtcKernel, tiledMatrixProduct) {
  CUmodule module = build(R"(
extern "C" __global__ void __launch_bounds__(256) gemm(const float *__restrict__ A, const float *__restrict__ B, float *__restrict__ C, int M, int N, int K) {
  __shared__ float as[2][16][64], bs[2][16][64];
  int t = threadIdx.x, tx = t % 16, ty = t / 16, m0 = blockIdx.y * 64, n0 = blockIdx.x * 64;
  float sums[4][4] = {};
  auto fetch = [&](int stage, int k0) {
    for (int i = t; i < 16 * 64; i += 256) {
      int k = i / 64, x = i % 64;
      as[stage][k][x] = m0 + x < M && k0 + k < K ? A[(m0 + x) * K + k0 + k] : 0.0f;
      bs[stage][k][x] = n0 + x < N && k0 + k < K ? B[(k0 + k) * N + n0 + x] : 0.0f;
    }
  };
  fetch(0, 0);
  __syncthreads();
  for (int k0 = 0, stage = 0; k0 < K; k0 += 16, stage ^= 1) {
    if (k0 + 16 < K)
      fetch(stage ^ 1, k0 + 16);
    for (int k = 0; k < 16; k++)
      for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++)
          sums[i][j] += as[stage][k][ty * 4 + i] * bs[stage][k][tx * 4 + j];
    __syncthreads();
  }
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < 4; j++)
      if (m0 + ty * 4 + i < M && n0 + tx * 4 + j < N)
        C[(m0 + ty * 4 + i) * N + n0 + tx * 4 + j] = sums[i][j];
})");
  int m = 70, n = 90, k = 37;
  std::vector<float> a(static_cast<size_t>(m * k)), b(static_cast<size_t>(k * n));
  for (size_t i = 0; i < a.size(); i++)
    a[i] = static_cast<float>(i * 7 % 13) - 6;
  for (size_t i = 0; i < b.size(); i++)
    b[i] = static_cast<float>(i * 5 % 11) - 5;
  Buffer<float> da(a), db(b), dc(static_cast<size_t>(m * n));
  void *parameters[] = {&da.address, &db.address, &dc.address, &m, &n, &k};
  ASSERT_EQ(cuLaunchKernel(function(module, "gemm"), 2, 2, 1, 256, 1, 1, 0, nullptr, parameters, nullptr), CUDA_SUCCESS);
  ASSERT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  std::vector<float> c = dc.read();
  for (int i = 0; i < m; i++)
    for (int j = 0; j < n; j++) {
      float expected = 0;
      for (int l = 0; l < k; l++)
        expected += a[static_cast<size_t>(i * k + l)] * b[static_cast<size_t>(l * n + j)];
      ASSERT_EQ(c[static_cast<size_t>(i * n + j)], expected) << i << " " << j;
    }
}

TEST_P(NvrtcKernel, softmaxWithShufflesAndDynamicSharedMemory) {
  CUmodule module = build(R"(
__device__ float reduce(float value, bool isMax, float *scratch) {
  for (int offset = 16; offset > 0; offset /= 2) {
    float other = __shfl_xor_sync(~0u, value, offset);
    value = isMax ? fmaxf(value, other) : value + other;
  }
  __syncthreads();
  if (threadIdx.x % 32 == 0) scratch[threadIdx.x / 32] = value;
  __syncthreads();
  value = scratch[0];
  for (unsigned warp = 1; warp < blockDim.x / 32; warp++)
    value = isMax ? fmaxf(value, scratch[warp]) : value + scratch[warp];
  return value;
}
extern "C" __global__ void softmax(const float *x, float *y, int n) {
  extern __shared__ float row[];
  __shared__ float scratch[32];
  float top = -3.4e38f;
  for (int i = threadIdx.x; i < n; i += blockDim.x) top = fmaxf(top, row[i] = x[blockIdx.x * n + i]);
  top = reduce(top, true, scratch);
  float sum = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) sum += row[i] = expf(row[i] - top);
  sum = reduce(sum, false, scratch);
  for (int i = threadIdx.x; i < n; i += blockDim.x) y[blockIdx.x * n + i] = row[i] / sum;
})");
  int n = 300;
  std::vector<float> x(3 * 300);
  for (size_t i = 0; i < x.size(); i++)
    x[i] = std::sin(static_cast<float>(i)) * 5;
  Buffer<float> dx(x), dy(x.size());
  ASSERT_EQ(run(function(module, "softmax"), {3, 128, 1200}, dx.address, dy.address, n), CUDA_SUCCESS);
  std::vector<float> y = dy.read();
  for (size_t row = 0; row < 3; row++) {
    double top = -1e30, sum = 0;
    for (size_t i = 0; i < 300; i++)
      top = std::max(top, static_cast<double>(x[row * 300 + i]));
    for (size_t i = 0; i < 300; i++)
      sum += std::exp(x[row * 300 + i] - top);
    for (size_t i = 0; i < 300; i++)
      ASSERT_NEAR(y[row * 300 + i], std::exp(x[row * 300 + i] - top) / sum, 1e-7);
  }
}

TEST_P(NvrtcKernel, mathFunctionsLocalArraysAndCalls) {
  CUmodule module = build(R"(
__device__ __noinline__ float polynomial(const float *c, int n, float x) {
  float sum = 0;
  for (int i = n - 1; i >= 0; i--) sum = sum * x + c[i];
  return sum;
}
extern "C" __global__ void functions(const float *x, float *y, int n, int shift) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float c[8];
  for (int k = 0; k < 8; k++) c[(k + shift) % 8] = 1.0f / (k + 1);
  float v = x[i];
  y[i] = polynomial(c, 8, v) + tanhf(v) + erff(v) + sinf(40000.0f * v) + powf(fabsf(v) + 0.5f, 1.5f) + log1pf(fabsf(v)) + rsqrtf(1 + v * v);
})");
  size_t n = 100;
  std::vector<float> x(n);
  for (size_t i = 0; i < n; i++)
    x[i] = static_cast<float>(i) / 50 - 1;
  Buffer<float> dx(x), dy(n);
  ASSERT_EQ(run(function(module, "functions"), {4, 32}, dx.address, dy.address, 100, 3), CUDA_SUCCESS);
  std::vector<float> y = dy.read();
  for (size_t i = 0; i < n; i++) {
    double v = x[i], sum = 0;
    for (int k = 7; k >= 0; k--)
      sum = sum * v + 1.0 / ((k + 5) % 8 + 1);
    double expected = sum + std::tanh(v) + std::erf(v) + std::sin(40000.0f * x[i]) + std::pow(std::fabs(v) + 0.5, 1.5) +
                      std::log1p(std::fabs(v)) + 1 / std::sqrt(1 + v * v);
    EXPECT_NEAR(y[i], expected, 2e-6 * std::max(1.0, std::fabs(expected))) << v;
  }
}

INSTANTIATE_TEST_SUITE_P(CudaEmulator, NvrtcKernel, ::testing::Values("75", "80", "90"),
                         [](const auto &info) { return std::string("sm_") + info.param; });

} // namespace
} // namespace nncc::cuemu::test
