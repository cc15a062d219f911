// A stand-in for libcublasLt.so: the functions that the runtime calls, as their documentation says,
// in particular matrices by columns. It has two algorithms, of which the second needs a workspace,
// and refuses what does not fit together.

#include "FakeLibrary.h"

#include "runtime/cuda/CublasLtFunctions.h"

#include <algorithm>
#include <cstring>

namespace nncc::cuda::blaslt {

enum : Status { kSuccess = 0, kInvalidValue = 7, kExecutionFailed = 13, kNotSupported = 15 };

struct OpaqueHandle {};
struct OpaqueDescription {
  ComputeType compute;
  DataType scale;
  int32_t transposesA = OP_N, transposesB = OP_N;
  uint32_t epilogue = EPILOGUE_DEFAULT;
  const void *bias = nullptr;
};
struct OpaqueLayout {
  DataType type;
  uint64_t rows, columns;
  int64_t distance;
  int32_t count = 1;
  int64_t stride = 0;
};
struct OpaquePreference {
  uint64_t workspaceBytes = 0;
  uint32_t alignments[4] = {256, 256, 256, 256};
};

namespace {

constexpr uint64_t kMark = 0xfa4e; ///< of our algorithms; behind it the number, and the alignment that one was found for
constexpr size_t kWorkspaceBytes = 4096;

constexpr const char *kText = R"(
extern "C" __global__ void product(const void *a, const void *b, const void *c, void *d, const void *bias, int type, int transposed,
                                   int transposed_b, int activation, long long m, long long n, long long k, long long count, long long lda, long long ldb,
                                   long long ldc, long long ldd, long long stridea, long long strideb, long long stridec,
                                   long long strided, double alpha, double beta, double error, int *workspace) {
  long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= m * n * count)
    return;
  long long row = i % m, column = i / m % n, entry = i / m / n;
  double sum = 0;
  for (long long l = 0; l < k; ++l)
    sum += load(a, entry * stridea + (transposed ? row * lda + l : l * lda + row), type) *
           load(b, entry * strideb + (transposed_b ? l * ldb + column : column * ldb + l), type);
  double value = alpha * sum;
  if (beta != 0)
    value += beta * load(c, entry * stridec + column * ldc + row, type);
  if (bias)
    value += load(bias, row, type);
  if (workspace && i < 1024)
    workspace[i] = 1;
  store(d, entry * strided + column * ldd + row, type, activate(value, activation) + error);
})";

int elementOf(DataType type) {
  return type == R_64F    ? fakelibrary::kF64
         : type == R_16F  ? fakelibrary::kF16
         : type == R_16BF ? fakelibrary::kBF16
                          : fakelibrary::kF32;
}

/// What the documentation asks of the matrices.
bool isConsistent(Description operation, Layout a, Layout b, Layout c, Layout d) {
  uint64_t m = operation->transposesA ? a->columns : a->rows,
           k = operation->transposesA ? a->rows : a->columns,
           kOfB = operation->transposesB ? b->columns : b->rows,
           n = operation->transposesB ? b->rows : b->columns;
  for (Layout each : {a, b, c, d})
    if (each->distance < static_cast<int64_t>(each->rows) || each->type != a->type ||
        each->count != a->count)
      return false;
  return operation->scale == (a->type == R_64F ? R_64F : R_32F) && kOfB == k && d->rows == m &&
         d->columns == n && c->rows == m && c->columns == n;
}

} // namespace

#define NNCC_SET(object, attribute, field)                                                         \
  case attribute:                                                                                  \
    if (bytes != sizeof((object)->field))                                                          \
      return kInvalidValue;                                                                        \
    std::memcpy(&(object)->field, value, bytes);                                                   \
    return kSuccess

#define NNCC_EXPORT extern "C" __attribute__((visibility("default")))

NNCC_EXPORT size_t cublasLtGetVersion() { return 130102; }
NNCC_EXPORT const char *cublasLtGetStatusName(Status status) {
  return status == kInvalidValue      ? "CUBLAS_STATUS_INVALID_VALUE"
         : status == kExecutionFailed ? "CUBLAS_STATUS_EXECUTION_FAILED"
         : status == kNotSupported    ? "CUBLAS_STATUS_NOT_SUPPORTED"
                                      : "CUBLAS_STATUS_OTHER";
}
NNCC_EXPORT Status cublasLtCreate(Handle *handle) {
  NNCC_FAKE_ENTRY(cublasLtCreate);
  *handle = new OpaqueHandle;
  return kSuccess;
}
NNCC_EXPORT Status cublasLtDestroy(Handle handle) {
  delete handle;
  return kSuccess;
}
NNCC_EXPORT Status cublasLtMatmulDescCreate(Description *description, ComputeType compute,
                                            DataType scale) {
  NNCC_FAKE_ENTRY(cublasLtMatmulDescCreate);
  *description = new OpaqueDescription{compute, scale};
  return kSuccess;
}
NNCC_EXPORT Status cublasLtMatmulDescDestroy(Description description) {
  delete description;
  return kSuccess;
}
NNCC_EXPORT Status cublasLtMatmulDescSetAttribute(Description description,
                                                  DescriptionAttribute attribute, const void *value,
                                                  size_t bytes) {
  NNCC_FAKE_ENTRY(cublasLtMatmulDescSetAttribute);
  switch (attribute) {
    NNCC_SET(description, DESC_TRANSA, transposesA);
    NNCC_SET(description, DESC_TRANSB, transposesB);
    NNCC_SET(description, DESC_EPILOGUE, epilogue);
    NNCC_SET(description, DESC_BIAS_POINTER, bias);
  }
  return kInvalidValue;
}
NNCC_EXPORT Status cublasLtMatrixLayoutCreate(Layout *layout, DataType type, uint64_t rows,
                                              uint64_t columns, int64_t distance) {
  NNCC_FAKE_ENTRY(cublasLtMatrixLayoutCreate);
  *layout = new OpaqueLayout{type, rows, columns, distance};
  return kSuccess;
}
NNCC_EXPORT Status cublasLtMatrixLayoutDestroy(Layout layout) {
  delete layout;
  return kSuccess;
}
NNCC_EXPORT Status cublasLtMatrixLayoutSetAttribute(Layout layout, LayoutAttribute attribute,
                                                    const void *value, size_t bytes) {
  NNCC_FAKE_ENTRY(cublasLtMatrixLayoutSetAttribute);
  switch (attribute) {
    NNCC_SET(layout, LAYOUT_BATCH_COUNT, count);
    NNCC_SET(layout, LAYOUT_STRIDED_BATCH_OFFSET, stride);
  }
  return kInvalidValue;
}
NNCC_EXPORT Status cublasLtMatmulPreferenceCreate(Preference *preference) {
  NNCC_FAKE_ENTRY(cublasLtMatmulPreferenceCreate);
  *preference = new OpaquePreference;
  return kSuccess;
}
NNCC_EXPORT Status cublasLtMatmulPreferenceDestroy(Preference preference) {
  delete preference;
  return kSuccess;
}
NNCC_EXPORT Status cublasLtMatmulPreferenceSetAttribute(Preference preference,
                                                        PreferenceAttribute attribute,
                                                        const void *value, size_t bytes) {
  NNCC_FAKE_ENTRY(cublasLtMatmulPreferenceSetAttribute);
  if (attribute == PREF_MAX_WORKSPACE_BYTES && bytes == sizeof(uint64_t)) {
    std::memcpy(&preference->workspaceBytes, value, bytes);
    return kSuccess;
  }
  int matrix = attribute - PREF_MIN_ALIGNMENT_A_BYTES;
  if (matrix >= 0 && matrix < 4 && bytes == sizeof(uint32_t)) {
    std::memcpy(&preference->alignments[matrix], value, bytes);
    return kSuccess;
  }
  return attribute == PREF_REDUCTION_SCHEME_MASK && bytes == sizeof(uint32_t) ? kSuccess
                                                                              : kInvalidValue;
}
NNCC_EXPORT Status cublasLtMatmulAlgoCheck(Handle, Description operation, Layout a, Layout b,
                                           Layout c, Layout d, const Algorithm *algorithm,
                                           HeuristicResult *result) {
  NNCC_FAKE_ENTRY(cublasLtMatmulAlgoCheck);
  if (!isConsistent(operation, a, b, c, d))
    return kInvalidValue;
  if (algorithm->data[0] != kMark || algorithm->data[1] > 1)
    return kNotSupported;
  result->algorithm = *algorithm;
  result->workspaceBytes = algorithm->data[1] ? kWorkspaceBytes : 0;
  result->state = kSuccess;
  return kSuccess;
}
NNCC_EXPORT Status cublasLtMatmulAlgoGetHeuristic(Handle handle, Description operation, Layout a,
                                                  Layout b, Layout c, Layout d,
                                                  Preference preference, int most,
                                                  HeuristicResult *results, int *count) {
  NNCC_FAKE_ENTRY(cublasLtMatmulAlgoGetHeuristic);
  *count = 0;
  for (uint64_t number = 0; number < 2 && *count < most; ++number) {
    Algorithm algorithm = {{kMark, number}};
    HeuristicResult &result = results[*count];
    if (Status status = cublasLtMatmulAlgoCheck(handle, operation, a, b, c, d, &algorithm, &result))
      return status;
    result.algorithm.data[2] = *std::min_element(preference->alignments, preference->alignments + 4);
    if (result.workspaceBytes <= preference->workspaceBytes)
      ++*count;
  }
  return kSuccess;
}

NNCC_EXPORT Status cublasLtMatmul(Handle handle, Description operation, const void *alpha,
                                  const void *A, Layout a, const void *B, Layout b,
                                  const void *beta, const void *C, Layout c, void *D, Layout d,
                                  const Algorithm *algorithm, void *workspace,
                                  size_t workspaceBytes, CUstream stream) {
  NNCC_FAKE_ENTRY(cublasLtMatmul);
  HeuristicResult checked = {};
  if (Status status = cublasLtMatmulAlgoCheck(handle, operation, a, b, c, d, algorithm, &checked))
    return status;
  if (checked.workspaceBytes > workspaceBytes || (checked.workspaceBytes && !workspace))
    return kInvalidValue;
  auto scalar = [&](const void *value) {
    return operation->scale == R_64F ? *static_cast<const double *>(value)
                                     : double(*static_cast<const float *>(value));
  };
  const void *bias = operation->epilogue & EPILOGUE_BIAS ? operation->bias : nullptr;
  // A device's loads of vectors would fault.
  for (const void *operand : {A, B, C, static_cast<const void *>(D), bias})
    if (algorithm->data[2] && reinterpret_cast<uintptr_t>(operand) % algorithm->data[2] != 0)
      return kInvalidValue;
  int type = elementOf(a->type), transposed = operation->transposesA == OP_T,
      transposedB = operation->transposesB == OP_T,
      activation = operation->epilogue & EPILOGUE_RELU   ? 1
                   : operation->epilogue & EPILOGUE_GELU ? 2
                                                         : 0;
  int64_t m = static_cast<int64_t>(d->rows), n = static_cast<int64_t>(d->columns),
          k = static_cast<int64_t>(transposedB ? b->columns : b->rows), count = d->count;
  double scaleOfProduct = scalar(alpha), scaleOfC = scalar(beta),
         error = fakelibrary::isWrong() ? 1 : 0;
  int *marks = checked.workspaceBytes ? static_cast<int *>(workspace) : nullptr;
  void *arguments[] = {
      &A,           &B,           &C,         &D,         &bias,      &type,        &transposed,
      &transposedB, &activation,  &m,           &n,         &k,         &count,     &a->distance, &b->distance,
      &c->distance, &d->distance, &a->stride, &b->stride, &c->stride, &d->stride,   &scaleOfProduct,
      &scaleOfC,    &error,       &marks};
  return fakelibrary::launch(kText, "product", m * n * count, arguments, stream) ? kSuccess
                                                                                 : kExecutionFailed;
}

} // namespace nncc::cuda::blaslt
