// The functions of the CUDA driver that the project calls and tools/cuda-emulator defines: for each the
// exported name, the parameters as they are declared and as they are passed on. A user defines
// X(name, parameters, arguments) where nncc::cuda's types are visible. Included by CudaDriver.h, apart
// from it because of its length.
#pragma once

// Initialisation, errors, devices, contexts.
#define NNCC_CUDA_DEVICE_FUNCTIONS(X)                                                              \
  X(cuInit, (unsigned flags), (flags))                                                             \
  X(cuDriverGetVersion, (int *version), (version))                                                 \
  X(cuGetErrorName, (CUresult error, const char **text), (error, text))                            \
  X(cuGetErrorString, (CUresult error, const char **text), (error, text))                          \
  X(cuGetProcAddress_v2,                                                                           \
    (const char *symbol, void **function, int version, uint64_t flags,                             \
     CUdriverProcAddressQueryResult *status),                                                      \
    (symbol, function, version, flags, status))                                                    \
  X(cuGetExportTable, (const void **table, const CUuuid *id), (table, id))                          \
  X(cuDeviceGet, (CUdevice * device, int ordinal), (device, ordinal))                              \
  X(cuDeviceGetCount, (int *count), (count))                                                       \
  X(cuDeviceGetName, (char *name, int length, CUdevice device), (name, length, device))            \
  X(cuDeviceGetUuid_v2, (CUuuid * uuid, CUdevice device), (uuid, device))                          \
  X(cuDeviceTotalMem_v2, (size_t * bytes, CUdevice device), (bytes, device))                       \
  X(cuDeviceGetAttribute, (int *value, CUdevice_attribute attribute, CUdevice device),             \
    (value, attribute, device))                                                                    \
  X(cuDevicePrimaryCtxRetain, (CUcontext * context, CUdevice device), (context, device))           \
  X(cuDevicePrimaryCtxRelease_v2, (CUdevice device), (device))                                     \
  X(cuDevicePrimaryCtxReset_v2, (CUdevice device), (device))                                       \
  X(cuDevicePrimaryCtxSetFlags_v2, (CUdevice device, unsigned flags), (device, flags))             \
  X(cuDevicePrimaryCtxGetState, (CUdevice device, unsigned *flags, int *active),                   \
    (device, flags, active))                                                                       \
  X(cuCtxCreate_v2, (CUcontext * context, unsigned flags, CUdevice device),                        \
    (context, flags, device))                                                                      \
  X(cuCtxDestroy_v2, (CUcontext context), (context))                                               \
  X(cuCtxSetCurrent, (CUcontext context), (context))                                               \
  X(cuCtxGetCurrent, (CUcontext * context), (context))                                             \
  X(cuCtxPushCurrent_v2, (CUcontext context), (context))                                           \
  X(cuCtxPopCurrent_v2, (CUcontext * context), (context))                                          \
  X(cuCtxGetDevice, (CUdevice * device), (device))                                                 \
  X(cuCtxGetApiVersion, (CUcontext context, unsigned *version), (context, version))                \
  X(cuCtxGetStreamPriorityRange, (int *least, int *greatest), (least, greatest))                   \
  X(cuCtxSynchronize, (), ())

// Modules, functions, launches.
#define NNCC_CUDA_KERNEL_FUNCTIONS(X)                                                              \
  X(cuModuleLoadData, (CUmodule * module, const void *image), (module, image))                     \
  X(cuModuleLoadDataEx,                                                                            \
    (CUmodule * module, const void *image, unsigned optionCount, CUjit_option *options,            \
     void **values),                                                                               \
    (module, image, optionCount, options, values))                                                 \
  X(cuModuleUnload, (CUmodule module), (module))                                                   \
  X(cuModuleGetFunction, (CUfunction * function, CUmodule module, const char *name),               \
    (function, module, name))                                                                      \
  X(cuModuleGetGlobal_v2,                                                                          \
    (CUdeviceptr * address, size_t * bytes, CUmodule module, const char *name),                    \
    (address, bytes, module, name))                                                                \
  X(cuFuncGetAttribute, (int *value, CUfunction_attribute attribute, CUfunction function),         \
    (value, attribute, function))                                                                  \
  X(cuFuncSetAttribute, (CUfunction function, CUfunction_attribute attribute, int value),          \
    (function, attribute, value))                                                                  \
  X(cuOccupancyMaxActiveBlocksPerMultiprocessor,                                                   \
    (int *blocks, CUfunction function, int blockSize, size_t dynamicSharedBytes),                  \
    (blocks, function, blockSize, dynamicSharedBytes))                                             \
  X(cuLaunchKernel,                                                                                \
    (CUfunction function, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX,         \
     unsigned blockY, unsigned blockZ, unsigned dynamicSharedBytes, CUstream stream,               \
     void **parameters, void **extra),                                                             \
    (function, gridX, gridY, gridZ, blockX, blockY, blockZ, dynamicSharedBytes, stream,            \
     parameters, extra))                                                                           \
  X(cuLaunchHostFunc, (CUstream stream, CUhostFn function, void *userData),                        \
    (stream, function, userData))

// Memory.
#define NNCC_CUDA_MEMORY_FUNCTIONS(X)                                                              \
  X(cuMemAlloc_v2, (CUdeviceptr * address, size_t bytes), (address, bytes))                        \
  X(cuMemFree_v2, (CUdeviceptr address), (address))                                                \
  X(cuMemAllocAsync, (CUdeviceptr * address, size_t bytes, CUstream stream),                       \
    (address, bytes, stream))                                                                      \
  X(cuMemFreeAsync, (CUdeviceptr address, CUstream stream), (address, stream))                     \
  X(cuMemAllocHost_v2, (void **host, size_t bytes), (host, bytes))                                 \
  X(cuMemHostAlloc, (void **host, size_t bytes, unsigned flags), (host, bytes, flags))             \
  X(cuMemFreeHost, (void *host), (host))                                                           \
  X(cuMemHostRegister_v2, (void *host, size_t bytes, unsigned flags), (host, bytes, flags))        \
  X(cuMemHostUnregister, (void *host), (host))                                                     \
  X(cuMemHostGetDevicePointer_v2, (CUdeviceptr * address, void *host, unsigned flags),             \
    (address, host, flags))                                                                        \
  X(cuMemGetInfo_v2, (size_t * free, size_t * total), (free, total))                               \
  X(cuMemGetAddressRange_v2, (CUdeviceptr * base, size_t * bytes, CUdeviceptr address),            \
    (base, bytes, address))                                                                        \
  X(cuPointerGetAttribute, (void *data, CUpointer_attribute attribute, CUdeviceptr address),       \
    (data, attribute, address))                                                                    \
  X(cuPointerGetAttributes,                                                                        \
    (unsigned count, CUpointer_attribute *attributes, void **data, CUdeviceptr address),           \
    (count, attributes, data, address))                                                            \
  X(cuMemcpy, (CUdeviceptr to, CUdeviceptr from, size_t bytes), (to, from, bytes))                 \
  X(cuMemcpyAsync, (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream),              \
    (to, from, bytes, stream))                                                                     \
  X(cuMemcpyHtoD_v2, (CUdeviceptr to, const void *from, size_t bytes), (to, from, bytes))          \
  X(cuMemcpyDtoH_v2, (void *to, CUdeviceptr from, size_t bytes), (to, from, bytes))                \
  X(cuMemcpyDtoD_v2, (CUdeviceptr to, CUdeviceptr from, size_t bytes), (to, from, bytes))          \
  X(cuMemcpyHtoDAsync_v2, (CUdeviceptr to, const void *from, size_t bytes, CUstream stream),       \
    (to, from, bytes, stream))                                                                     \
  X(cuMemcpyDtoHAsync_v2, (void *to, CUdeviceptr from, size_t bytes, CUstream stream),             \
    (to, from, bytes, stream))                                                                     \
  X(cuMemcpyDtoDAsync_v2, (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream),       \
    (to, from, bytes, stream))                                                                     \
  X(cuMemsetD8_v2, (CUdeviceptr to, unsigned char value, size_t count), (to, value, count))        \
  X(cuMemsetD32_v2, (CUdeviceptr to, unsigned value, size_t count), (to, value, count))            \
  X(cuMemsetD8Async, (CUdeviceptr to, unsigned char value, size_t count, CUstream stream),         \
    (to, value, count, stream))                                                                    \
  X(cuMemsetD32Async, (CUdeviceptr to, unsigned value, size_t count, CUstream stream),             \
    (to, value, count, stream))

// Streams, events, graphs.
#define NNCC_CUDA_STREAM_FUNCTIONS(X)                                                              \
  X(cuStreamCreate, (CUstream * stream, unsigned flags), (stream, flags))                          \
  X(cuStreamCreateWithPriority, (CUstream * stream, unsigned flags, int priority),                 \
    (stream, flags, priority))                                                                     \
  X(cuStreamDestroy_v2, (CUstream stream), (stream))                                               \
  X(cuStreamSynchronize, (CUstream stream), (stream))                                              \
  X(cuStreamQuery, (CUstream stream), (stream))                                                    \
  X(cuStreamWaitEvent, (CUstream stream, CUevent event, unsigned flags), (stream, event, flags))   \
  X(cuStreamBeginCapture_v2, (CUstream stream, CUstreamCaptureMode mode), (stream, mode))          \
  X(cuStreamEndCapture, (CUstream stream, CUgraph * graph), (stream, graph))                       \
  X(cuStreamIsCapturing, (CUstream stream, CUstreamCaptureStatus * status), (stream, status))      \
  X(cuEventCreate, (CUevent * event, unsigned flags), (event, flags))                              \
  X(cuEventRecord, (CUevent event, CUstream stream), (event, stream))                              \
  X(cuEventSynchronize, (CUevent event), (event))                                                  \
  X(cuEventQuery, (CUevent event), (event))                                                        \
  X(cuEventElapsedTime, (float *milliseconds, CUevent start, CUevent end),                         \
    (milliseconds, start, end))                                                                    \
  X(cuEventElapsedTime_v2, (float *milliseconds, CUevent start, CUevent end),                      \
    (milliseconds, start, end))                                                                    \
  X(cuEventDestroy_v2, (CUevent event), (event))                                                   \
  X(cuGraphInstantiateWithFlags, (CUgraphExec * exec, CUgraph graph, unsigned long long flags),    \
    (exec, graph, flags))                                                                          \
  X(cuGraphLaunch, (CUgraphExec exec, CUstream stream), (exec, stream))                            \
  X(cuGraphUpload, (CUgraphExec exec, CUstream stream), (exec, stream))                            \
  X(cuGraphExecDestroy, (CUgraphExec exec), (exec))                                                \
  X(cuGraphDestroy, (CUgraph graph), (graph))                                                      \
  X(cuGraphGetNodes, (CUgraph graph, CUgraphNode * nodes, size_t * count),                         \
    (graph, nodes, count))                                                                         \
  X(cuGraphNodeGetType, (CUgraphNode node, CUgraphNodeType * type), (node, type))                  \
  X(cuGraphKernelNodeGetParams_v2, (CUgraphNode node, CUDA_KERNEL_NODE_PARAMS_v2 * params),        \
    (node, params))                                                                                \
  X(cuGraphExecKernelNodeSetParams_v2,                                                             \
    (CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v2 *params),                \
    (exec, node, params))                                                                          \
  X(cuGraphExecUpdate_v2,                                                                          \
    (CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResultInfo * info), (exec, graph, info))

#define NNCC_CUDA_FUNCTIONS(X)                                                                     \
  NNCC_CUDA_DEVICE_FUNCTIONS(X)                                                                    \
  NNCC_CUDA_KERNEL_FUNCTIONS(X)                                                                    \
  NNCC_CUDA_MEMORY_FUNCTIONS(X)                                                                    \
  NNCC_CUDA_STREAM_FUNCTIONS(X)
