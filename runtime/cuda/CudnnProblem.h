// A convolution, or a gradient of one, as cuDNN describes it: takes a call for known dims, leaves the library's descriptors, which are
// the same for all three. With it the table of the library's functions.
#pragma once

#include "runtime/cuda/CudnnFunctions.h"
#include "runtime/cuda/KernelLibrary.h"
#include "runtime/cuda/Library.h"

namespace nncc::rt::cuda {

namespace dnn = ::nncc::cuda::dnn;

/// The library's functions.
struct CudnnFunctions {
  // The list names the library's types as its documentation does.
  using Handle = dnn::Handle;
  using Tensor = dnn::Tensor;
  using Filter = dnn::Filter;
  using Description = dnn::Description;
  using Activation = dnn::Activation;
  using DataType = dnn::DataType;
  using Format = dnn::Format;
  using Mode = dnn::Mode;
  using MathType = dnn::MathType;
  using ActivationMode = dnn::ActivationMode;
  using NanPropagation = dnn::NanPropagation;
  using Algorithm = dnn::Algorithm;
  using DataAlgorithm = dnn::DataAlgorithm;
  using FilterAlgorithm = dnn::FilterAlgorithm;
#define X(name, parameters) int(*name) parameters = nullptr;
  NNCC_CUDNN_FUNCTIONS(X)
#undef X
  size_t (*cudnnGetVersion)() = nullptr;
  const char *(*cudnnGetErrorString)(dnn::Status) = nullptr;

  Error failure(dnn::Status status, const char *call, const std::string &what) const {
    const char *name = cudnnGetErrorString(status);
    return environmentError("cuDNN: " + what + ": " + call + " returned " +
                            (name ? name : std::to_string(status)));
  }
};

/// A convolution as the library describes it.
struct CudnnProblem {
  LibraryObject<dnn::Tensor> x, y, bias;
  LibraryObject<dnn::Filter> filter;
  LibraryObject<dnn::Description> convolution;
  LibraryObject<dnn::Activation> activation;
};

/// Something follows the sums: bias, residual or an activation.
bool hasTail(const BoundCall &call);

/// A user error for a convolution that cuDNN cannot count.
Result<CudnnProblem> describeProblem(const CudnnFunctions &functions, const BoundCall &call);

} // namespace nncc::rt::cuda
