// The driver's calls: devices, contexts, memory, limits, errors on purpose.
#include "test/unit/cuda-emulator/Emulator.h"

#include <dlfcn.h>

namespace nncc::cuemu::test {
namespace {

using Driver = EmulatorTest;

TEST_F(Driver, describesItsDevice) {
  int count = 0, major = 0, minor = 0, warp = 0, version = 0;
  EXPECT_EQ(cuDeviceGetCount(&count), CUDA_SUCCESS);
  EXPECT_EQ(count, 1);
  EXPECT_EQ(cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuDeviceGetAttribute(&warp, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 0), CUDA_SUCCESS);
  EXPECT_EQ(10 * major + minor, 80);
  EXPECT_EQ(warp, 32);
  EXPECT_EQ(cuDriverGetVersion(&version), CUDA_SUCCESS);
  EXPECT_EQ(version, 13000);
  CUdevice device = 0;
  EXPECT_EQ(cuDeviceGet(&device, 1), CUDA_ERROR_INVALID_DEVICE);
  char name[8];
  EXPECT_EQ(cuDeviceGetName(name, sizeof(name), 0), CUDA_SUCCESS);
  EXPECT_STREQ(name, "CUDA em"); // cut to the buffer
  EXPECT_EQ(cuDeviceGetAttribute(&warp, static_cast<CUdevice_attribute>(9999), 0), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Driver, namesErrors) {
  const char *text = nullptr;
  EXPECT_EQ(cuGetErrorName(CUDA_ERROR_ILLEGAL_ADDRESS, &text), CUDA_SUCCESS);
  EXPECT_STREQ(text, "CUDA_ERROR_ILLEGAL_ADDRESS");
  EXPECT_EQ(cuGetErrorString(CUDA_ERROR_OUT_OF_MEMORY, &text), CUDA_SUCCESS);
  EXPECT_STREQ(text, "out of memory");
  EXPECT_EQ(cuGetErrorName(static_cast<CUresult>(12345), &text), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Driver, looksUpFunctionsByName) {
  void *address = nullptr;
  CUdriverProcAddressQueryResult status;
  EXPECT_EQ(cuGetProcAddress_v2("cuMemAlloc", &address, 13000, 0, &status), CUDA_SUCCESS);
  EXPECT_EQ(address, reinterpret_cast<void *>(&cuMemAlloc_v2));
  EXPECT_EQ(cuGetProcAddress_v2("cuTexRefCreate", &address, 13000, 0, &status), CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
}

TEST_F(Driver, keepsAStackOfContextsPerThread) {
  CUcontext second = nullptr, current = nullptr;
  EXPECT_EQ(cuCtxCreate_v2(&second, 0, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxGetCurrent(&current), CUDA_SUCCESS);
  EXPECT_EQ(current, second);
  EXPECT_EQ(cuCtxDestroy_v2(second), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxGetCurrent(&current), CUDA_SUCCESS);
  EXPECT_EQ(current, context);
  EXPECT_EQ(cuCtxPopCurrent_v2(&current), CUDA_SUCCESS);
  CUdeviceptr memory = 0;
  EXPECT_EQ(cuMemAlloc_v2(&memory, 16), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(cuCtxPushCurrent_v2(second), CUDA_ERROR_INVALID_CONTEXT); // destroyed
  EXPECT_EQ(cuCtxPushCurrent_v2(context), CUDA_SUCCESS);
}

TEST_F(Driver, accountsForMemory) {
  size_t free = 0, total = 0, after = 0;
  ASSERT_EQ(cuMemGetInfo_v2(&free, &total), CUDA_SUCCESS);
  EXPECT_EQ(total, size_t{8} << 30);
  CUdeviceptr memory = 0, base = 0;
  EXPECT_EQ(cuMemAlloc_v2(&memory, total + 1), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(cuMemAlloc_v2(&memory, 0), CUDA_ERROR_INVALID_VALUE);
  ASSERT_EQ(cuMemAlloc_v2(&memory, 1000), CUDA_SUCCESS);
  EXPECT_EQ(memory % 256, 0u);
  ASSERT_EQ(cuMemGetInfo_v2(&after, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(free - after, 1000u);
  size_t bytes = 0;
  EXPECT_EQ(cuMemGetAddressRange_v2(&base, &bytes, memory + 999), CUDA_SUCCESS);
  EXPECT_EQ(base, memory);
  EXPECT_EQ(bytes, 1000u);
  EXPECT_EQ(cuMemGetAddressRange_v2(&base, &bytes, memory + 1000), CUDA_ERROR_NOT_FOUND);
  unsigned type = 0;
  EXPECT_EQ(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, memory), CUDA_SUCCESS);
  EXPECT_EQ(type, CU_MEMORYTYPE_DEVICE);
  EXPECT_EQ(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, reinterpret_cast<CUdeviceptr>(&type)),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemFree_v2(memory + 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemFree_v2(memory), CUDA_SUCCESS);
  EXPECT_EQ(cuMemFree_v2(memory), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Driver, copiesAndFills) {
  Buffer<uint32_t> a(8), b(8);
  EXPECT_EQ(cuMemsetD32_v2(a.address, 0x01020304, 8), CUDA_SUCCESS);
  EXPECT_EQ(cuMemsetD8_v2(a.address + 4, 0xff, 4), CUDA_SUCCESS);
  EXPECT_EQ(cuMemcpyDtoD_v2(b.address, a.address, 16), CUDA_SUCCESS);
  std::vector<uint32_t> host(2);
  EXPECT_EQ(cuMemcpyDtoH_v2(host.data(), b.address, 8), CUDA_SUCCESS);
  EXPECT_EQ(host, (std::vector<uint32_t>{0x01020304, 0xffffffff}));
  EXPECT_EQ(cuMemcpyHtoD_v2(b.address + 28, host.data(), 8), CUDA_ERROR_INVALID_VALUE); // four bytes too many
  EXPECT_EQ(cuMemsetD32_v2(a.address + 2, 0, 1), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Driver, knowsHostMemory) {
  void *pinned = nullptr;
  ASSERT_EQ(cuMemAllocHost_v2(&pinned, 64), CUDA_SUCCESS);
  unsigned type = 0;
  EXPECT_EQ(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, reinterpret_cast<CUdeviceptr>(pinned)), CUDA_SUCCESS);
  EXPECT_EQ(type, CU_MEMORYTYPE_HOST);
  EXPECT_EQ(cuMemFreeHost(pinned), CUDA_SUCCESS);
  std::vector<char> own(4096);
  EXPECT_EQ(cuMemHostRegister_v2(own.data(), own.size(), 0), CUDA_SUCCESS);
  EXPECT_EQ(cuMemHostRegister_v2(own.data(), own.size(), 0), CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
  EXPECT_EQ(cuMemHostUnregister(own.data()), CUDA_SUCCESS);
  EXPECT_EQ(cuMemHostUnregister(own.data()), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
}

TEST_F(Driver, refusesLaunchesBeyondTheLimits) {
  CUmodule module = load(ptxModule(".extern .shared .align 16 .b8 dyn[];\n.visible .entry plain() { ret; }\n"
                                   ".visible .entry bounded() .maxntid 64, 1, 1 { .shared .b8 s[1024]; .reg .b32 %r<2>; mov.u32 %r1, s; ret; }\n"
                                   ".visible .entry exact() .reqntid 32, 2, 1 { ret; }\n"));
  CUfunction plain = function(module, "plain"), bounded = function(module, "bounded"), exact = function(module, "exact");
  EXPECT_EQ(launch(plain, {1, 1024}), CUDA_SUCCESS);
  EXPECT_EQ(launch(plain, {1, 1025}), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(launch(plain, {0, 32}), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuLaunchKernel(plain, 1, 65536, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(launch(bounded, {1, 65}), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(launch(exact, {1, 64}), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuLaunchKernel(exact, 1, 1, 1, 32, 2, 1, 0, nullptr, nullptr, nullptr), CUDA_SUCCESS);
  // Dynamic shared memory over 48 KiB, with the static part, has to be asked for.
  EXPECT_EQ(launch(plain, {1, 32, 48 << 10}), CUDA_SUCCESS);
  EXPECT_EQ(launch(plain, {1, 32, (48 << 10) + 4}), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuFuncSetAttribute(plain, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 163 << 10), CUDA_SUCCESS);
  EXPECT_EQ(launch(plain, {1, 32, 163 << 10}), CUDA_SUCCESS);
  EXPECT_EQ(cuFuncSetAttribute(plain, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 164 << 10), CUDA_ERROR_INVALID_VALUE);
  int value = 0;
  EXPECT_EQ(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, bounded), CUDA_SUCCESS);
  EXPECT_EQ(value, 1024);
  EXPECT_EQ(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, bounded), CUDA_SUCCESS);
  EXPECT_EQ(value, 64);
  // 164 KiB per multiprocessor hold two blocks of 80 KiB + 1 KiB reserved.
  EXPECT_EQ(cuOccupancyMaxActiveBlocksPerMultiprocessor(&value, plain, 128, 80 << 10), CUDA_SUCCESS);
  EXPECT_EQ(value, 2);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
}

TEST_F(Driver, unloadedFunctionsAndModulesAreInvalidHandles) {
  CUmodule module = load(ptxModule(".visible .entry k() { ret; }"));
  CUfunction kernel = function(module, "k"), none = nullptr;
  EXPECT_EQ(cuModuleGetFunction(&none, module, "absent"), CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(cuModuleUnload(module), CUDA_SUCCESS);
  EXPECT_EQ(launch(kernel, {1, 1}), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuModuleUnload(module), CUDA_ERROR_INVALID_HANDLE);
}

// Each function of the interface, made to fail.
TEST_F(Driver, everyCallCanBeToldToFail) {
  setenv("CUDA_EMULATOR_FAIL", "cuMemAlloc_v2:2:2,cuCtxSynchronize:*:719", 1);
  CUdeviceptr memory = 0;
  EXPECT_EQ(cuMemAlloc_v2(&memory, 16), CUDA_SUCCESS);
  EXPECT_EQ(cuMemAlloc_v2(&memory, 16), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(cuMemAlloc_v2(&memory, 16), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_ERROR_LAUNCH_FAILED);
  for (const char *name : {
#define X(name, parameters, arguments) #name,
           NNCC_CUDA_FUNCTIONS(X)
#undef X
       }) {
    void *address = dlsym(RTLD_DEFAULT, name);
    ASSERT_NE(address, nullptr) << name;
    setenv("CUDA_EMULATOR_FAIL", (std::string(name) + ":*:46").c_str(), 1);
    // All parameters are numbers and pointers, which a failing call does not look at.
    auto call = reinterpret_cast<CUresult (*)(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,
                                              uint64_t, uint64_t, uint64_t)>(address);
    EXPECT_EQ(call(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0), CUDA_ERROR_DEVICE_UNAVAILABLE) << name;
    unsetenv("CUDA_EMULATOR_FAIL");
  }
}

} // namespace
} // namespace nncc::cuemu::test
