// What the runtime declares of cuBLASLt and cuDNN, held against the libraries' own headers:
// numbers, sizes, and the parameters of each function, every one of the same kind and size.
// Skipped, and said so, where a header is not installed.
#include "runtime/cuda/CublasLtFunctions.h"
#include "runtime/cuda/CudnnFunctions.h"

#include <gtest/gtest.h>

#include <type_traits>

#if __has_include(<cublasLt.h>)
#include <cublasLt.h>
#define NNCC_HAS_CUBLASLT
#endif
#if __has_include(<cudnn.h>)
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#include <cudnn.h>
#define NNCC_HAS_CUDNN
#endif

namespace {

/// Passed in the same way: both pointers, or both numbers of one size.
template <class Ours, class Theirs>
constexpr bool kSame = std::is_pointer_v<Ours> == (std::is_pointer_v<Theirs>)&&sizeof(Ours) ==
                           sizeof(Theirs) &&
                       std::is_floating_point_v<Ours> == std::is_floating_point_v<Theirs>;

template <class Ours, class Theirs> struct Matches : std::false_type {};
template <class... Ours, class Result, class... Theirs>
struct Matches<int (*)(Ours...), Result (*)(Theirs...)> {
  static constexpr bool both() {
    if constexpr (sizeof...(Ours) == sizeof...(Theirs))
      return (kSame<Ours, Theirs> && ...);
    return false;
  }
  static constexpr bool value = both() && sizeof(Result) == sizeof(int);
};

} // namespace

#ifdef NNCC_HAS_CUBLASLT
namespace nncc::cuda::blaslt {
TEST(LibraryHeaders, CublasLtIsAsDeclared) {
  // cublasLtHandle_t is cublasLtContext*, a pointer as ours; descriptors too.
#define X(name, parameters)                                                                        \
  EXPECT_TRUE((Matches<int(*) parameters, decltype(&::name)>::value)) << #name;
  NNCC_CUBLASLT_FUNCTIONS(X)
#undef X
  EXPECT_EQ(sizeof(Algorithm), sizeof(cublasLtMatmulAlgo_t));
  EXPECT_EQ(sizeof(HeuristicResult), sizeof(cublasLtMatmulHeuristicResult_t));
  EXPECT_EQ(offsetof(HeuristicResult, workspaceBytes),
            offsetof(cublasLtMatmulHeuristicResult_t, workspaceSize));
  EXPECT_EQ(offsetof(HeuristicResult, state), offsetof(cublasLtMatmulHeuristicResult_t, state));
  EXPECT_EQ(int(R_32F), int(CUDA_R_32F));
  EXPECT_EQ(int(R_64F), int(CUDA_R_64F));
  EXPECT_EQ(int(R_16F), int(CUDA_R_16F));
  EXPECT_EQ(int(R_16BF), int(CUDA_R_16BF));
  EXPECT_EQ(int(COMPUTE_32F), int(CUBLAS_COMPUTE_32F));
  EXPECT_EQ(int(COMPUTE_64F), int(CUBLAS_COMPUTE_64F));
  EXPECT_EQ(int(COMPUTE_32F_FAST_TF32), int(CUBLAS_COMPUTE_32F_FAST_TF32));
  EXPECT_EQ(int(OP_N), int(CUBLAS_OP_N));
  EXPECT_EQ(int(OP_T), int(CUBLAS_OP_T));
  EXPECT_EQ(int(LAYOUT_BATCH_COUNT), int(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT));
  EXPECT_EQ(int(LAYOUT_STRIDED_BATCH_OFFSET), int(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET));
  EXPECT_EQ(int(DESC_TRANSA), int(CUBLASLT_MATMUL_DESC_TRANSA));
  EXPECT_EQ(int(DESC_TRANSB), int(CUBLASLT_MATMUL_DESC_TRANSB));
  EXPECT_EQ(int(DESC_EPILOGUE), int(CUBLASLT_MATMUL_DESC_EPILOGUE));
  EXPECT_EQ(int(DESC_BIAS_POINTER), int(CUBLASLT_MATMUL_DESC_BIAS_POINTER));
  EXPECT_EQ(int(EPILOGUE_DEFAULT), int(CUBLASLT_EPILOGUE_DEFAULT));
  EXPECT_EQ(int(EPILOGUE_RELU), int(CUBLASLT_EPILOGUE_RELU));
  EXPECT_EQ(int(EPILOGUE_BIAS), int(CUBLASLT_EPILOGUE_BIAS));
  EXPECT_EQ(EPILOGUE_RELU | EPILOGUE_BIAS, int(CUBLASLT_EPILOGUE_RELU_BIAS));
  EXPECT_EQ(int(EPILOGUE_GELU), int(CUBLASLT_EPILOGUE_GELU));
  EXPECT_EQ(EPILOGUE_GELU | EPILOGUE_BIAS, int(CUBLASLT_EPILOGUE_GELU_BIAS));
  EXPECT_EQ(int(PREF_MAX_WORKSPACE_BYTES), int(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES));
  EXPECT_EQ(int(PREF_REDUCTION_SCHEME_MASK), int(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK));
  EXPECT_EQ(int(PREF_MIN_ALIGNMENT_A_BYTES), int(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES));
  EXPECT_EQ(int(PREF_MIN_ALIGNMENT_A_BYTES) + 3, int(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES));
  EXPECT_EQ(int(REDUCTION_COMPUTE_TYPE), int(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE));
}
} // namespace nncc::cuda::blaslt
#else
TEST(LibraryHeaders, CublasLtIsAsDeclared) {
  GTEST_SKIP() << "cublasLt.h is not installed: the declarations are not checked";
}
#endif

#ifdef NNCC_HAS_CUDNN
namespace nncc::cuda::dnn {
TEST(LibraryHeaders, CudnnIsAsDeclared) {
#define X(name, parameters)                                                                        \
  EXPECT_TRUE((Matches<int(*) parameters, decltype(&::name)>::value)) << #name;
  NNCC_CUDNN_FUNCTIONS(X)
#undef X
  EXPECT_EQ(int(DATA_FLOAT), int(CUDNN_DATA_FLOAT));
  EXPECT_EQ(int(DATA_DOUBLE), int(CUDNN_DATA_DOUBLE));
  EXPECT_EQ(int(DATA_HALF), int(CUDNN_DATA_HALF));
  EXPECT_EQ(int(DATA_BFLOAT16), int(CUDNN_DATA_BFLOAT16));
  EXPECT_EQ(int(FORMAT_NHWC), int(CUDNN_TENSOR_NHWC));
  EXPECT_EQ(int(MODE_CROSS_CORRELATION), int(CUDNN_CROSS_CORRELATION));
  EXPECT_EQ(int(MATH_DEFAULT), int(CUDNN_DEFAULT_MATH));
  EXPECT_EQ(int(MATH_TENSOR_OP), int(CUDNN_TENSOR_OP_MATH));
  EXPECT_EQ(int(MATH_FMA), int(CUDNN_FMA_MATH));
  EXPECT_EQ(int(ACTIVATION_RELU), int(CUDNN_ACTIVATION_RELU));
  EXPECT_EQ(int(ACTIVATION_IDENTITY), int(CUDNN_ACTIVATION_IDENTITY));
  EXPECT_EQ(int(PROPAGATE_NAN), int(CUDNN_PROPAGATE_NAN));
  EXPECT_EQ(int(ALGO_IMPLICIT_PRECOMP_GEMM), int(CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM));
  EXPECT_EQ(int(ALGO_COUNT), int(CUDNN_CONVOLUTION_FWD_ALGO_COUNT));
  EXPECT_EQ(int(DATA_ALGO_0), int(CUDNN_CONVOLUTION_BWD_DATA_ALGO_0));
  EXPECT_EQ(int(DATA_ALGO_COUNT), int(CUDNN_CONVOLUTION_BWD_DATA_ALGO_COUNT));
  EXPECT_EQ(int(FILTER_ALGO_0), int(CUDNN_CONVOLUTION_BWD_FILTER_ALGO_0));
  EXPECT_EQ(int(FILTER_ALGO_3), int(CUDNN_CONVOLUTION_BWD_FILTER_ALGO_3));
  EXPECT_EQ(int(FILTER_ALGO_COUNT), int(CUDNN_CONVOLUTION_BWD_FILTER_ALGO_COUNT));
}
} // namespace nncc::cuda::dnn
#else
TEST(LibraryHeaders, CudnnIsAsDeclared) {
  GTEST_SKIP() << "cudnn.h is not installed: the declarations are not checked";
}
#endif
