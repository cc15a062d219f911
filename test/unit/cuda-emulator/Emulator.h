// What the tests of the stand-in CUDA driver share: the driver's functions, which are linked and not loaded,
// a context, buffers, modules from PTX texts, launches.
#pragma once

#include "support/CudaDriver.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace nncc::cuda {
extern "C" {
#define X(name, parameters, arguments) CUresult name parameters;
NNCC_CUDA_FUNCTIONS(X)
#undef X
}
} // namespace nncc::cuda

namespace nncc::cuemu::test {

using namespace nncc::cuda;

/// A text that stands behind the directives that every module needs.
inline std::string ptxModule(const std::string &text) {
  return ".version 8.0\n.target sm_80\n.address_size 64\n" + text;
}

/// Device memory with the contents of a vector.
template <typename T> class Buffer {
public:
  explicit Buffer(size_t count) : count(count) { EXPECT_EQ(cuMemAlloc_v2(&address, bytes()), CUDA_SUCCESS); }
  Buffer(const std::vector<T> &values) : Buffer(values.size()) {
    EXPECT_EQ(cuMemcpyHtoD_v2(address, values.data(), bytes()), CUDA_SUCCESS);
  }
  ~Buffer() { cuMemFree_v2(address); }
  Buffer(const Buffer &) = delete;
  Buffer &operator=(const Buffer &) = delete;

  std::vector<T> read() const {
    std::vector<T> values(count);
    EXPECT_EQ(cuMemcpyDtoH_v2(values.data(), address, bytes()), CUDA_SUCCESS);
    return values;
  }
  size_t bytes() const { return count * sizeof(T); }

  CUdeviceptr address = 0;

private:
  size_t count;
};

struct Shape {
  unsigned grid = 1, block = 1, dynamicSharedBytes = 0;
};

class EmulatorTest : public ::testing::Test {
protected:
  void SetUp() override {
    ASSERT_EQ(cuInit(0), CUDA_SUCCESS);
    ASSERT_EQ(cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
    ASSERT_EQ(cuCtxSetCurrent(context), CUDA_SUCCESS);
  }
  void TearDown() override {
    cuCtxSetCurrent(nullptr);
    cuDevicePrimaryCtxReset_v2(0); // also forgets a kernel's fault
  }

  /// The log of a load that is expected to fail.
  std::string loadError(const std::string &text, CUresult expected = CUDA_ERROR_INVALID_PTX) {
    char log[2048] = "";
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log, reinterpret_cast<void *>(sizeof(log))};
    CUmodule module = nullptr;
    EXPECT_EQ(cuModuleLoadDataEx(&module, text.c_str(), 2, options, values), expected) << text;
    return log;
  }

  CUmodule load(const std::string &text) {
    char log[2048] = "";
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log, reinterpret_cast<void *>(sizeof(log))};
    CUmodule module = nullptr;
    EXPECT_EQ(cuModuleLoadDataEx(&module, text.c_str(), 2, options, values), CUDA_SUCCESS) << log;
    return module;
  }

  CUfunction function(CUmodule module, const char *name) {
    CUfunction result = nullptr;
    EXPECT_EQ(cuModuleGetFunction(&result, module, name), CUDA_SUCCESS) << name;
    return result;
  }

  template <typename... Arguments> CUresult launch(CUfunction kernel, Shape shape, Arguments... arguments) {
    void *parameters[] = {&arguments..., nullptr};
    return cuLaunchKernel(kernel, shape.grid, 1, 1, shape.block, 1, 1, shape.dynamicSharedBytes, nullptr, parameters,
                          nullptr);
  }

  /// Launches and waits: the kernel's own result.
  template <typename... Arguments> CUresult run(CUfunction kernel, Shape shape, Arguments... arguments) {
    EXPECT_EQ(launch(kernel, shape, arguments...), CUDA_SUCCESS);
    return cuCtxSynchronize();
  }

  CUcontext context = nullptr;
};

} // namespace nncc::cuemu::test
