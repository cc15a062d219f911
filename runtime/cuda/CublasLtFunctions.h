// The part of cuBLASLt's interface that the runtime uses (NVIDIA, "cuBLAS", chapter "Using the
// cuBLASLt API"), declared here so that building nncc takes none of CUDA's headers: types, numbers,
// and the functions as a list. A user defines X(name, parameters).
// test/unit/runtime/cuda/LibraryHeadersTest.cpp holds all of it against the library's own header,
// where there is one.
#pragma once

#include "support/CudaDriver.h"

#include <cstddef>
#include <cstdint>

namespace nncc::cuda::blaslt {

using Status = int; ///< 0: done
using Handle = struct OpaqueHandle *;
using Description = struct OpaqueDescription *;
using Layout = struct OpaqueLayout *;
using Preference = struct OpaquePreference *;

struct Algorithm {
  uint64_t data[8];
};
struct HeuristicResult {
  Algorithm algorithm;
  size_t workspaceBytes;
  Status state;
  float wavesCount;
  int reserved[4];
};

enum DataType { R_32F = 0, R_64F = 1, R_16F = 2, R_16BF = 14 };
enum ComputeType { COMPUTE_32F = 68, COMPUTE_64F = 70, COMPUTE_32F_FAST_TF32 = 77 };
enum Operation : int32_t { OP_N = 0, OP_T = 1 };
enum LayoutAttribute { LAYOUT_BATCH_COUNT = 5, LAYOUT_STRIDED_BATCH_OFFSET = 6 };
enum DescriptionAttribute {
  DESC_TRANSA = 3,
  DESC_TRANSB = 4,
  DESC_EPILOGUE = 7,
  DESC_BIAS_POINTER = 8
};
enum Epilogue : uint32_t {
  EPILOGUE_DEFAULT = 1,
  EPILOGUE_RELU = 2,
  EPILOGUE_BIAS = 4,
  EPILOGUE_GELU = 32
};
enum PreferenceAttribute {
  PREF_MAX_WORKSPACE_BYTES = 1,
  PREF_REDUCTION_SCHEME_MASK = 3,
  PREF_MIN_ALIGNMENT_A_BYTES = 5, ///< then B, C, D
};
enum ReductionScheme : uint32_t { REDUCTION_COMPUTE_TYPE = 2 };

// The last argument of some: cublasStatus_t is an int.
#define NNCC_CUBLASLT_FUNCTIONS(X)                                                                 \
  X(cublasLtCreate, (Handle *))                                                                    \
  X(cublasLtDestroy, (Handle))                                                                     \
  X(cublasLtMatmulDescCreate, (Description *, ComputeType, DataType))                              \
  X(cublasLtMatmulDescDestroy, (Description))                                                      \
  X(cublasLtMatmulDescSetAttribute, (Description, DescriptionAttribute, const void *, size_t))     \
  X(cublasLtMatrixLayoutCreate, (Layout *, DataType, uint64_t, uint64_t, int64_t))                 \
  X(cublasLtMatrixLayoutDestroy, (Layout))                                                         \
  X(cublasLtMatrixLayoutSetAttribute, (Layout, LayoutAttribute, const void *, size_t))             \
  X(cublasLtMatmulPreferenceCreate, (Preference *))                                                \
  X(cublasLtMatmulPreferenceDestroy, (Preference))                                                 \
  X(cublasLtMatmulPreferenceSetAttribute, (Preference, PreferenceAttribute, const void *, size_t)) \
  X(cublasLtMatmulAlgoGetHeuristic, (Handle, Description, Layout, Layout, Layout, Layout,          \
                                     Preference, int, HeuristicResult *, int *))                   \
  X(cublasLtMatmulAlgoCheck,                                                                       \
    (Handle, Description, Layout, Layout, Layout, Layout, const Algorithm *, HeuristicResult *))   \
  X(cublasLtMatmul,                                                                                \
    (Handle, Description, const void *, const void *, Layout, const void *, Layout, const void *,  \
     const void *, Layout, void *, Layout, const Algorithm *, void *, size_t, CUstream))

} // namespace nncc::cuda::blaslt
