// support/CudaDriver.h against the toolkit's cuda.h, where that is installed: every number, the layout of
// every struct, and for every function the count, size and kind of its parameters.
#include "support/CudaDriver.h"

#include <gtest/gtest.h>

#if __has_include(<cuda.h>)
#include <cuda.h>

#include <type_traits>

// A macro for the newest version, which would rename the older one in our list.
#undef cuEventElapsedTime
#endif

namespace nncc::cuda {
// The type of each function under its name. (Both headers' declarations in one file would be two functions
// of one name with C linkage.)
namespace signature {
#define X(name, parameters, arguments) using name = CUresult(*) parameters;
NNCC_CUDA_FUNCTIONS(X)
#undef X
} // namespace signature
} // namespace nncc::cuda

namespace nncc::cuemu::test {
namespace {

#if __has_include(<cuda.h>)

// Types of the two headers differ in name; what a call passes is its size and kind.
template <typename Ours, typename Theirs>
constexpr bool samePassing = sizeof(Ours) == sizeof(Theirs) &&
                             std::is_pointer_v<Ours> == std::is_pointer_v<Theirs> &&
                             std::is_floating_point_v<Ours> == std::is_floating_point_v<Theirs>;

template <typename Ours, typename Theirs> struct SameSignature : std::false_type {};
template <typename... Ours, typename... Theirs>
struct SameSignature<cuda::CUresult (*)(Ours...), ::CUresult (*)(Theirs...)> {
  static constexpr bool test() {
    if constexpr (sizeof...(Ours) != sizeof...(Theirs))
      return false;
    else
      return (samePassing<Ours, Theirs> && ...);
  }
  static constexpr bool value = test();
};

// cuda.h declares the newest version only; the older one has the same parameters.
constexpr auto cuEventElapsedTime = &::cuEventElapsedTime_v2;
// No longer declared by cuda.h of version 13: context, flags, device.
constexpr ::CUresult (*cuCtxCreate_v2)(::CUcontext *, unsigned, ::CUdevice) = nullptr;

#define X(name, parameters, arguments)                                                                                 \
  static_assert(SameSignature<cuda::signature::name, std::decay_t<decltype(name)>>::value, #name);
NNCC_CUDA_FUNCTIONS(X)
#undef X

#define X(name, number, text) static_assert(int{::name} == number, #name);
NNCC_CUDA_RESULTS(X)
#undef X
#define X(name, number) static_assert(int{::CU_DEVICE_ATTRIBUTE_##name} == number, #name);
NNCC_CUDA_DEVICE_ATTRIBUTES(X)
#undef X

#define SAME(name) static_assert(static_cast<long long>(cuda::name) == static_cast<long long>(::name), #name)
SAME(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
SAME(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
SAME(CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES);
SAME(CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
SAME(CU_FUNC_ATTRIBUTE_NUM_REGS);
SAME(CU_FUNC_ATTRIBUTE_PTX_VERSION);
SAME(CU_FUNC_ATTRIBUTE_BINARY_VERSION);
SAME(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
SAME(CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT);
SAME(CU_JIT_MAX_REGISTERS);
SAME(CU_JIT_WALL_TIME);
SAME(CU_JIT_INFO_LOG_BUFFER);
SAME(CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES);
SAME(CU_JIT_ERROR_LOG_BUFFER);
SAME(CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES);
SAME(CU_JIT_OPTIMIZATION_LEVEL);
SAME(CU_JIT_GENERATE_DEBUG_INFO);
SAME(CU_JIT_LOG_VERBOSE);
SAME(CU_JIT_GENERATE_LINE_INFO);
SAME(CU_POINTER_ATTRIBUTE_CONTEXT);
SAME(CU_POINTER_ATTRIBUTE_MEMORY_TYPE);
SAME(CU_POINTER_ATTRIBUTE_DEVICE_POINTER);
SAME(CU_POINTER_ATTRIBUTE_HOST_POINTER);
SAME(CU_POINTER_ATTRIBUTE_IS_MANAGED);
SAME(CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL);
SAME(CU_POINTER_ATTRIBUTE_RANGE_START_ADDR);
SAME(CU_POINTER_ATTRIBUTE_RANGE_SIZE);
SAME(CU_POINTER_ATTRIBUTE_MAPPED);
SAME(CU_MEMORYTYPE_HOST);
SAME(CU_MEMORYTYPE_DEVICE);
SAME(CU_CTX_SCHED_SPIN);
SAME(CU_CTX_SCHED_YIELD);
SAME(CU_CTX_SCHED_BLOCKING_SYNC);
SAME(CU_STREAM_NON_BLOCKING);
SAME(CU_EVENT_BLOCKING_SYNC);
SAME(CU_EVENT_DISABLE_TIMING);
SAME(CU_EVENT_INTERPROCESS);
SAME(CU_STREAM_CAPTURE_MODE_GLOBAL);
SAME(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
SAME(CU_STREAM_CAPTURE_MODE_RELAXED);
SAME(CU_STREAM_CAPTURE_STATUS_NONE);
SAME(CU_STREAM_CAPTURE_STATUS_ACTIVE);
SAME(CU_STREAM_CAPTURE_STATUS_INVALIDATED);
SAME(CU_GRAPH_NODE_TYPE_KERNEL);
SAME(CU_GRAPH_NODE_TYPE_MEMCPY);
SAME(CU_GRAPH_NODE_TYPE_MEMSET);
SAME(CU_GRAPH_NODE_TYPE_HOST);
SAME(CU_GRAPH_NODE_TYPE_EMPTY);
SAME(CU_GRAPH_NODE_TYPE_MEM_ALLOC);
SAME(CU_GRAPH_NODE_TYPE_MEM_FREE);
SAME(CU_GRAPH_EXEC_UPDATE_SUCCESS);
SAME(CU_GRAPH_EXEC_UPDATE_ERROR);
SAME(CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
SAME(CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED);
SAME(CU_GET_PROC_ADDRESS_SUCCESS);
SAME(CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
SAME(CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
#undef SAME

#define SAME_FIELD(type, field) static_assert(offsetof(cuda::type, field) == offsetof(::type, field), #type "::" #field)
static_assert(sizeof(cuda::CUDA_KERNEL_NODE_PARAMS_v2) == sizeof(::CUDA_KERNEL_NODE_PARAMS_v2));
SAME_FIELD(CUDA_KERNEL_NODE_PARAMS_v2, func);
SAME_FIELD(CUDA_KERNEL_NODE_PARAMS_v2, gridDimX);
SAME_FIELD(CUDA_KERNEL_NODE_PARAMS_v2, blockDimZ);
SAME_FIELD(CUDA_KERNEL_NODE_PARAMS_v2, sharedMemBytes);
SAME_FIELD(CUDA_KERNEL_NODE_PARAMS_v2, kernelParams);
SAME_FIELD(CUDA_KERNEL_NODE_PARAMS_v2, extra);
SAME_FIELD(CUDA_KERNEL_NODE_PARAMS_v2, kern);
SAME_FIELD(CUDA_KERNEL_NODE_PARAMS_v2, ctx);
static_assert(sizeof(cuda::CUgraphExecUpdateResultInfo) == sizeof(::CUgraphExecUpdateResultInfo));
SAME_FIELD(CUgraphExecUpdateResultInfo, errorNode);
SAME_FIELD(CUgraphExecUpdateResultInfo, errorFromNode);
static_assert(sizeof(cuda::CUuuid) == sizeof(::CUuuid));
static_assert(sizeof(cuda::CUdeviceptr) == sizeof(::CUdeviceptr));

TEST(DriverAbi, agreesWithTheToolkit) {
  EXPECT_EQ(cuda::launchParamBufferPointer(), CU_LAUNCH_PARAM_BUFFER_POINTER);
  EXPECT_EQ(cuda::launchParamBufferSize(), CU_LAUNCH_PARAM_BUFFER_SIZE);
  EXPECT_EQ(cuda::launchParamEnd(), CU_LAUNCH_PARAM_END);
  EXPECT_EQ(static_cast<void *>(cuda::legacyStream()), static_cast<void *>(CU_STREAM_LEGACY));
  EXPECT_EQ(static_cast<void *>(cuda::perThreadStream()), static_cast<void *>(CU_STREAM_PER_THREAD));
}

#else

TEST(DriverAbi, agreesWithTheToolkit) { GTEST_SKIP() << "no cuda.h on this machine to compare with"; }

#endif

} // namespace
} // namespace nncc::cuemu::test
