// The part of the CUDA driver's binary interface that the project uses: types, numbers and one list of
// functions under the names that libcuda.so.1 exports. The runtime builds its table of loaded symbols
// from the list, tools/cuda-emulator defines every function in it, so the two cannot drift apart; a unit
// test holds all of it against cuda.h where a CUDA toolkit is installed. Written from the public
// documentation of the driver API, so that neither side needs the toolkit's headers.
// Names are those of the documentation. They stand in a namespace so that a file may include both.
#pragma once

#include <cstddef>
#include <cstdint>

namespace nncc::cuda {

// Handles. A device pointer is an integer, as in the driver.
using CUdevice = int;
using CUdeviceptr = unsigned long long;
using CUcontext = struct CUctx_st *;
using CUmodule = struct CUmod_st *;
using CUfunction = struct CUfunc_st *;
using CUstream = struct CUstream_st *;
using CUevent = struct CUevent_st *;
using CUgraph = struct CUgraph_st *;
using CUgraphNode = struct CUgraphNode_st *;
using CUgraphExec = struct CUgraphExec_st *;
using CUkernel = struct CUkern_st *;
using CUhostFn = void (*)(void *userData);

struct CUuuid {
  char bytes[16];
};

/// Streams that are not created: 0 is the legacy default stream as well.
inline CUstream legacyStream() { return reinterpret_cast<CUstream>(uintptr_t{1}); }
inline CUstream perThreadStream() { return reinterpret_cast<CUstream>(uintptr_t{2}); }

// Every result that the driver or the emulator can return: name, number, text of cuGetErrorString.
#define NNCC_CUDA_RESULTS(X)                                                                       \
  X(CUDA_SUCCESS, 0, "no error")                                                                   \
  X(CUDA_ERROR_INVALID_VALUE, 1, "invalid argument")                                               \
  X(CUDA_ERROR_OUT_OF_MEMORY, 2, "out of memory")                                                  \
  X(CUDA_ERROR_NOT_INITIALIZED, 3, "initialization error")                                         \
  X(CUDA_ERROR_DEINITIALIZED, 4, "driver shutting down")                                           \
  X(CUDA_ERROR_STUB_LIBRARY, 34, "the library is a stub and not a driver")                         \
  X(CUDA_ERROR_DEVICE_UNAVAILABLE, 46, "device is busy or unavailable")                            \
  X(CUDA_ERROR_NO_DEVICE, 100, "no CUDA-capable device is detected")                               \
  X(CUDA_ERROR_INVALID_DEVICE, 101, "invalid device ordinal")                                      \
  X(CUDA_ERROR_INVALID_IMAGE, 200, "device kernel image is invalid")                               \
  X(CUDA_ERROR_INVALID_CONTEXT, 201, "invalid device context")                                     \
  X(CUDA_ERROR_NO_BINARY_FOR_GPU, 209, "no kernel image is available for the device")              \
  X(CUDA_ERROR_ECC_UNCORRECTABLE, 214, "uncorrectable ECC error")                                  \
  X(CUDA_ERROR_INVALID_PTX, 218, "PTX assembly failed")                                            \
  X(CUDA_ERROR_JIT_COMPILER_NOT_FOUND, 221, "PTX JIT compiler library not found")                  \
  X(CUDA_ERROR_UNSUPPORTED_PTX_VERSION, 222, "PTX of an unsupported version")                      \
  X(CUDA_ERROR_INVALID_SOURCE, 300, "invalid kernel source")                                       \
  X(CUDA_ERROR_FILE_NOT_FOUND, 301, "file not found")                                              \
  X(CUDA_ERROR_OPERATING_SYSTEM, 304, "operating system call failed")                              \
  X(CUDA_ERROR_INVALID_HANDLE, 400, "invalid resource handle")                                     \
  X(CUDA_ERROR_ILLEGAL_STATE, 401, "resource is in an illegal state")                              \
  X(CUDA_ERROR_NOT_FOUND, 500, "named symbol not found")                                           \
  X(CUDA_ERROR_NOT_READY, 600, "device not ready")                                                 \
  X(CUDA_ERROR_ILLEGAL_ADDRESS, 700, "illegal memory access")                                      \
  X(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, 701, "too many resources requested for launch")            \
  X(CUDA_ERROR_LAUNCH_TIMEOUT, 702, "the launch timed out and was terminated")                     \
  X(CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE, 708, "the primary context is already active")               \
  X(CUDA_ERROR_CONTEXT_IS_DESTROYED, 709, "context is destroyed")                                  \
  X(CUDA_ERROR_ASSERT, 710, "device-side assert triggered")                                        \
  X(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, 712, "host memory is already registered")           \
  X(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, 713, "host memory is not registered")                   \
  X(CUDA_ERROR_HARDWARE_STACK_ERROR, 714, "hardware stack error")                                  \
  X(CUDA_ERROR_ILLEGAL_INSTRUCTION, 715, "illegal instruction")                                    \
  X(CUDA_ERROR_MISALIGNED_ADDRESS, 716, "misaligned address")                                      \
  X(CUDA_ERROR_INVALID_ADDRESS_SPACE, 717, "operation on the wrong address space")                 \
  X(CUDA_ERROR_INVALID_PC, 718, "invalid program counter")                                         \
  X(CUDA_ERROR_LAUNCH_FAILED, 719, "launch failure")                                               \
  X(CUDA_ERROR_NOT_PERMITTED, 800, "operation not permitted")                                      \
  X(CUDA_ERROR_NOT_SUPPORTED, 801, "operation not supported")                                      \
  X(CUDA_ERROR_SYSTEM_NOT_READY, 802, "system not yet initialized")                                \
  X(CUDA_ERROR_SYSTEM_DRIVER_MISMATCH, 803, "display driver and CUDA driver do not match")         \
  X(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, 900, "not permitted while a stream is capturing")       \
  X(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, 901, "the capture failed because of an earlier error")  \
  X(CUDA_ERROR_STREAM_CAPTURE_MERGE, 902, "would merge two independent captures")                  \
  X(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, 903, "the capture was not begun in this stream")          \
  X(CUDA_ERROR_STREAM_CAPTURE_UNJOINED, 904, "the capture holds a fork that was not joined")       \
  X(CUDA_ERROR_STREAM_CAPTURE_ISOLATION, 905, "a dependency would cross the capture's border")     \
  X(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, 906, "disallowed dependency on the legacy stream")         \
  X(CUDA_ERROR_CAPTURED_EVENT, 907, "not permitted on an event last recorded in a capture")        \
  X(CUDA_ERROR_TIMEOUT, 909, "wait operation timed out")                                           \
  X(CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE, 910, "the graph update violated its constraints")        \
  X(CUDA_ERROR_UNKNOWN, 999, "unknown error")

enum CUresult : int {
#define X(name, number, text) name = number,
  NNCC_CUDA_RESULTS(X)
#undef X
};

// Device attributes that can be asked for: name without CU_DEVICE_ATTRIBUTE_, number.
#define NNCC_CUDA_DEVICE_ATTRIBUTES(X)                                                             \
  X(MAX_THREADS_PER_BLOCK, 1)                                                                      \
  X(MAX_BLOCK_DIM_X, 2)                                                                            \
  X(MAX_BLOCK_DIM_Y, 3)                                                                            \
  X(MAX_BLOCK_DIM_Z, 4)                                                                            \
  X(MAX_GRID_DIM_X, 5)                                                                             \
  X(MAX_GRID_DIM_Y, 6)                                                                             \
  X(MAX_GRID_DIM_Z, 7)                                                                             \
  X(MAX_SHARED_MEMORY_PER_BLOCK, 8)                                                                \
  X(TOTAL_CONSTANT_MEMORY, 9)                                                                      \
  X(WARP_SIZE, 10)                                                                                 \
  X(MAX_PITCH, 11)                                                                                 \
  X(MAX_REGISTERS_PER_BLOCK, 12)                                                                   \
  X(CLOCK_RATE, 13)                                                                                \
  X(TEXTURE_ALIGNMENT, 14)                                                                         \
  X(MULTIPROCESSOR_COUNT, 16)                                                                      \
  X(KERNEL_EXEC_TIMEOUT, 17)                                                                       \
  X(INTEGRATED, 18)                                                                                \
  X(CAN_MAP_HOST_MEMORY, 19)                                                                       \
  X(COMPUTE_MODE, 20)                                                                              \
  X(CONCURRENT_KERNELS, 31)                                                                        \
  X(ECC_ENABLED, 32)                                                                               \
  X(PCI_BUS_ID, 33)                                                                                \
  X(PCI_DEVICE_ID, 34)                                                                             \
  X(MEMORY_CLOCK_RATE, 36)                                                                         \
  X(GLOBAL_MEMORY_BUS_WIDTH, 37)                                                                   \
  X(L2_CACHE_SIZE, 38)                                                                             \
  X(MAX_THREADS_PER_MULTIPROCESSOR, 39)                                                            \
  X(ASYNC_ENGINE_COUNT, 40)                                                                        \
  X(UNIFIED_ADDRESSING, 41)                                                                        \
  X(PCI_DOMAIN_ID, 50)                                                                             \
  X(COMPUTE_CAPABILITY_MAJOR, 75)                                                                  \
  X(COMPUTE_CAPABILITY_MINOR, 76)                                                                  \
  X(STREAM_PRIORITIES_SUPPORTED, 78)                                                               \
  X(MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, 81)                                                      \
  X(MAX_REGISTERS_PER_MULTIPROCESSOR, 82)                                                          \
  X(MANAGED_MEMORY, 83)                                                                            \
  X(CONCURRENT_MANAGED_ACCESS, 89)                                                                 \
  X(COOPERATIVE_LAUNCH, 95)                                                                        \
  X(MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 97)                                                         \
  X(HOST_REGISTER_SUPPORTED, 99)                                                                   \
  X(MAX_BLOCKS_PER_MULTIPROCESSOR, 106)                                                            \
  X(RESERVED_SHARED_MEMORY_PER_BLOCK, 111)                                                         \
  X(MEMORY_POOLS_SUPPORTED, 115)                                                                   \
  X(CLUSTER_LAUNCH, 120)

enum CUdevice_attribute : int {
#define X(name, number) CU_DEVICE_ATTRIBUTE_##name = number,
  NNCC_CUDA_DEVICE_ATTRIBUTES(X)
#undef X
};

enum CUfunction_attribute : int {
  CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 0,
  CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES = 1, ///< static shared memory
  CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES = 2,
  CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES = 3,
  CU_FUNC_ATTRIBUTE_NUM_REGS = 4,
  CU_FUNC_ATTRIBUTE_PTX_VERSION = 5,
  CU_FUNC_ATTRIBUTE_BINARY_VERSION = 6,
  CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8,
  CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT = 9,
};

enum CUjit_option : int {
  CU_JIT_MAX_REGISTERS = 0,
  CU_JIT_WALL_TIME = 2,
  CU_JIT_INFO_LOG_BUFFER = 3,
  CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES = 4,
  CU_JIT_ERROR_LOG_BUFFER = 5,
  CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES = 6,
  CU_JIT_OPTIMIZATION_LEVEL = 7,
  CU_JIT_GENERATE_DEBUG_INFO = 11,
  CU_JIT_LOG_VERBOSE = 12,
  CU_JIT_GENERATE_LINE_INFO = 13,
};

enum CUpointer_attribute : int {
  CU_POINTER_ATTRIBUTE_CONTEXT = 1,
  CU_POINTER_ATTRIBUTE_MEMORY_TYPE = 2,
  CU_POINTER_ATTRIBUTE_DEVICE_POINTER = 3,
  CU_POINTER_ATTRIBUTE_HOST_POINTER = 4,
  CU_POINTER_ATTRIBUTE_IS_MANAGED = 8,
  CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL = 9,
  CU_POINTER_ATTRIBUTE_RANGE_START_ADDR = 11,
  CU_POINTER_ATTRIBUTE_RANGE_SIZE = 12,
  CU_POINTER_ATTRIBUTE_MAPPED = 13,
};

enum CUmemorytype : int {
  CU_MEMORYTYPE_HOST = 1,
  CU_MEMORYTYPE_DEVICE = 2,
  CU_MEMORYTYPE_ARRAY = 3,
  CU_MEMORYTYPE_UNIFIED = 4,
};

enum CUctx_flags : unsigned {
  CU_CTX_SCHED_AUTO = 0,
  CU_CTX_SCHED_SPIN = 1,
  CU_CTX_SCHED_YIELD = 2,
  CU_CTX_SCHED_BLOCKING_SYNC = 4,
};

enum CUstream_flags : unsigned {
  CU_STREAM_DEFAULT = 0,
  CU_STREAM_NON_BLOCKING = 1,
};

enum CUevent_flags : unsigned {
  CU_EVENT_DEFAULT = 0,
  CU_EVENT_BLOCKING_SYNC = 1,
  CU_EVENT_DISABLE_TIMING = 2,
  CU_EVENT_INTERPROCESS = 4,
};

enum CUstreamCaptureMode : int {
  CU_STREAM_CAPTURE_MODE_GLOBAL = 0,
  CU_STREAM_CAPTURE_MODE_THREAD_LOCAL = 1,
  CU_STREAM_CAPTURE_MODE_RELAXED = 2,
};

enum CUstreamCaptureStatus : int {
  CU_STREAM_CAPTURE_STATUS_NONE = 0,
  CU_STREAM_CAPTURE_STATUS_ACTIVE = 1,
  CU_STREAM_CAPTURE_STATUS_INVALIDATED = 2,
};

enum CUgraphNodeType : int {
  CU_GRAPH_NODE_TYPE_KERNEL = 0,
  CU_GRAPH_NODE_TYPE_MEMCPY = 1,
  CU_GRAPH_NODE_TYPE_MEMSET = 2,
  CU_GRAPH_NODE_TYPE_HOST = 3,
  CU_GRAPH_NODE_TYPE_EMPTY = 5,
  CU_GRAPH_NODE_TYPE_MEM_ALLOC = 10,
  CU_GRAPH_NODE_TYPE_MEM_FREE = 11,
};

enum CUgraphExecUpdateResult : int {
  CU_GRAPH_EXEC_UPDATE_SUCCESS = 0,
  CU_GRAPH_EXEC_UPDATE_ERROR = 1,
  CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED = 2,
  CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED = 3,
};

enum CUdriverProcAddressQueryResult : int {
  CU_GET_PROC_ADDRESS_SUCCESS = 0,
  CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND = 1,
  CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT = 2,
};

// Entries of the `extra` argument of a launch.
inline void *launchParamEnd() { return nullptr; }
inline void *launchParamBufferPointer() { return reinterpret_cast<void *>(uintptr_t{1}); }
inline void *launchParamBufferSize() { return reinterpret_cast<void *>(uintptr_t{2}); }

struct CUDA_KERNEL_NODE_PARAMS_v2 {
  CUfunction func;
  unsigned gridDimX;
  unsigned gridDimY;
  unsigned gridDimZ;
  unsigned blockDimX;
  unsigned blockDimY;
  unsigned blockDimZ;
  unsigned sharedMemBytes;
  void **kernelParams;
  void **extra;
  CUkernel kern;
  CUcontext ctx;
};

struct CUgraphExecUpdateResultInfo {
  CUgraphExecUpdateResult result;
  CUgraphNode errorNode;
  CUgraphNode errorFromNode;
};

} // namespace nncc::cuda

#include "support/CudaDriverFunctions.h"
