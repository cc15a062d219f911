// The part of cuDNN's interface that the runtime uses (NVIDIA, "cuDNN API reference", libraries
// cudnn_ops and cudnn_cnn), declared here so that building nncc takes none of cuDNN's headers:
// types, numbers, and the functions as a list. A user defines X(name, parameters).
// test/unit/runtime/cuda/LibraryHeadersTest.cpp holds all of it against the library's own header,
// where there is one.
#pragma once

#include "support/CudaDriver.h"

#include <cstddef>

namespace nncc::cuda::dnn {

using Status = int; ///< 0: done
using Handle = struct OpaqueHandle *;
using Tensor = struct OpaqueTensor *;
using Filter = struct OpaqueFilter *;
using Description = struct OpaqueConvolution *;
using Activation = struct OpaqueActivation *;

enum DataType { DATA_FLOAT = 0, DATA_DOUBLE = 1, DATA_HALF = 2, DATA_BFLOAT16 = 9 };
enum Format { FORMAT_NHWC = 1 };
enum Mode { MODE_CROSS_CORRELATION = 1 };
enum MathType { MATH_DEFAULT = 0, MATH_TENSOR_OP = 1, MATH_FMA = 3 };
enum ActivationMode { ACTIVATION_RELU = 1, ACTIVATION_IDENTITY = 5 };
enum NanPropagation { PROPAGATE_NAN = 1 };
/// The forward algorithms are 0 to 7.
enum Algorithm { ALGO_IMPLICIT_PRECOMP_GEMM = 1, ALGO_COUNT = 8 };
/// Those of the gradient of the data are 0 to 5, of the filter 0 to 6. The named ones add in an
/// order that changes from call to call.
enum DataAlgorithm { DATA_ALGO_0 = 0, DATA_ALGO_COUNT = 6 };
enum FilterAlgorithm { FILTER_ALGO_0 = 0, FILTER_ALGO_3 = 3, FILTER_ALGO_COUNT = 7 };

#define NNCC_CUDNN_FUNCTIONS(X)                                                                    \
  X(cudnnCreate, (Handle *))                                                                       \
  X(cudnnDestroy, (Handle))                                                                        \
  X(cudnnSetStream, (Handle, CUstream))                                                            \
  X(cudnnCreateTensorDescriptor, (Tensor *))                                                       \
  X(cudnnDestroyTensorDescriptor, (Tensor))                                                        \
  X(cudnnSetTensor4dDescriptorEx, (Tensor, DataType, int, int, int, int, int, int, int, int))      \
  X(cudnnCreateFilterDescriptor, (Filter *))                                                       \
  X(cudnnDestroyFilterDescriptor, (Filter))                                                        \
  X(cudnnSetFilter4dDescriptor, (Filter, DataType, Format, int, int, int, int))                    \
  X(cudnnCreateConvolutionDescriptor, (Description *))                                             \
  X(cudnnDestroyConvolutionDescriptor, (Description))                                              \
  X(cudnnSetConvolution2dDescriptor, (Description, int, int, int, int, int, int, Mode, DataType))  \
  X(cudnnSetConvolutionGroupCount, (Description, int))                                             \
  X(cudnnSetConvolutionMathType, (Description, MathType))                                          \
  X(cudnnCreateActivationDescriptor, (Activation *))                                               \
  X(cudnnDestroyActivationDescriptor, (Activation))                                                \
  X(cudnnSetActivationDescriptor, (Activation, ActivationMode, NanPropagation, double))            \
  X(cudnnGetConvolutionForwardWorkspaceSize,                                                       \
    (Handle, Tensor, Filter, Description, Tensor, Algorithm, size_t *))                            \
  X(cudnnConvolutionForward,                                                                       \
    (Handle, const void *, Tensor, const void *, Filter, const void *, Description, Algorithm,     \
     void *, size_t, const void *, Tensor, void *))                                                \
  X(cudnnConvolutionBiasActivationForward,                                                         \
    (Handle, const void *, Tensor, const void *, Filter, const void *, Description, Algorithm,     \
     void *, size_t, const void *, Tensor, const void *, Tensor, const void *, Activation, Tensor, \
     void *))                                                                                      \
  X(cudnnGetConvolutionBackwardDataWorkspaceSize,                                                  \
    (Handle, Filter, Tensor, Description, Tensor, DataAlgorithm, size_t *))                        \
  X(cudnnConvolutionBackwardData,                                                                  \
    (Handle, const void *, Filter, const void *, Tensor, const void *, Description, DataAlgorithm, \
     void *, size_t, const void *, Tensor, void *))                                                \
  X(cudnnGetConvolutionBackwardFilterWorkspaceSize,                                                \
    (Handle, Tensor, Tensor, Description, Filter, FilterAlgorithm, size_t *))                      \
  X(cudnnConvolutionBackwardFilter,                                                                \
    (Handle, const void *, Tensor, const void *, Tensor, const void *, Description,                \
     FilterAlgorithm, void *, size_t, const void *, Filter, void *))

} // namespace nncc::cuda::dnn
