// Descriptors of convolutions; see CudnnProblem.h.

#include "runtime/cuda/CudnnProblem.h"

#include <climits>
#include <optional>

namespace nncc::rt::cuda {
namespace {

constexpr const char *kAttempt = "cannot describe a convolution";

dnn::DataType dataTypeOf(DType type) {
  switch (type) {
  case DType::F64:
    return dnn::DATA_DOUBLE;
  case DType::F16:
    return dnn::DATA_HALF;
  case DType::BF16:
    return dnn::DATA_BFLOAT16;
  default:
    return dnn::DATA_FLOAT;
  }
}

class ProblemBuilder {
public:
  ProblemBuilder(const CudnnFunctions &functions, const BoundCall &call)
      : functions(functions), call(call), shape(std::get<Convolution<int64_t>>(call.operation)) {}

  Result<CudnnProblem> build() {
    CudnnProblem problem;
    dnn::DataType type = dataTypeOf(call.dtype),
                  sums = call.dtype == DType::F64 ? dnn::DATA_DOUBLE : dnn::DATA_FLOAT;
    dnn::MathType math = call.dtype == DType::F16 || call.dtype == DType::BF16 ? dnn::MATH_TENSOR_OP
                         : call.dtype == DType::F32 && !call.mayRoundToTf32    ? dnn::MATH_FMA
                                                                               : dnn::MATH_DEFAULT;
    layOut(problem.x, type, shape.batch, shape.channels, shape.inHeight, shape.inWidth);
    layOut(problem.y, type, shape.batch, shape.outputs, shape.outHeight, shape.outWidth);
    layOut(problem.bias, type, 1, shape.outputs, 1, 1);
#define NNCC_CALL(name, ...)                                                                       \
  if (!failed)                                                                                     \
  check(functions.name(__VA_ARGS__), #name)
    problem.filter.destroy = functions.cudnnDestroyFilterDescriptor;
    NNCC_CALL(cudnnCreateFilterDescriptor, &problem.filter.object);
    NNCC_CALL(cudnnSetFilter4dDescriptor, problem.filter.object, type, dnn::FORMAT_NHWC,
              number(shape.outputs), number(shape.channels / shape.groups),
              number(shape.kernelHeight), number(shape.kernelWidth));
    problem.convolution.destroy = functions.cudnnDestroyConvolutionDescriptor;
    NNCC_CALL(cudnnCreateConvolutionDescriptor, &problem.convolution.object);
    NNCC_CALL(cudnnSetConvolution2dDescriptor, problem.convolution.object, number(shape.padHeight),
              number(shape.padWidth), number(shape.strideHeight), number(shape.strideWidth),
              number(shape.dilationHeight), number(shape.dilationWidth),
              dnn::MODE_CROSS_CORRELATION, sums);
    NNCC_CALL(cudnnSetConvolutionGroupCount, problem.convolution.object, number(shape.groups));
    NNCC_CALL(cudnnSetConvolutionMathType, problem.convolution.object, math);
    problem.activation.destroy = functions.cudnnDestroyActivationDescriptor;
    NNCC_CALL(cudnnCreateActivationDescriptor, &problem.activation.object);
    bool isRelu = call.activation == LibraryActivation::Relu;
    NNCC_CALL(cudnnSetActivationDescriptor, problem.activation.object,
              isRelu ? dnn::ACTIVATION_RELU : dnn::ACTIVATION_IDENTITY, dnn::PROPAGATE_NAN, 0.0);
    if (!fits)
      return userError("the convolution is too large for cuDNN, which counts in 32 bits");
    if (failed)
      return *failed;
    return std::move(problem);
  }

private:
  void check(dnn::Status status, const char *name) {
    if (status && !failed)
      failed = functions.failure(status, name, kAttempt);
  }
  int number(int64_t value) {
    fits &= value >= 0 && value <= INT_MAX;
    return static_cast<int>(value);
  }
  /// Channels innermost.
  void layOut(LibraryObject<dnn::Tensor> &tensor, dnn::DataType type, int64_t images,
              int64_t channels, int64_t height, int64_t width) {
    tensor.destroy = functions.cudnnDestroyTensorDescriptor;
    NNCC_CALL(cudnnCreateTensorDescriptor, &tensor.object);
    NNCC_CALL(cudnnSetTensor4dDescriptorEx, tensor.object, type, number(images), number(channels),
              number(height), number(width), number(channels * height * width), 1,
              number(channels * width), number(channels));
  }

  const CudnnFunctions &functions;
  const BoundCall &call;
  const Convolution<int64_t> &shape;
  std::optional<Error> failed;
  bool fits = true;
};

} // namespace

bool hasTail(const BoundCall &call) {
  return call.bias >= 0 || call.residual >= 0 || call.activation != LibraryActivation::None;
}

Result<CudnnProblem> describeProblem(const CudnnFunctions &functions, const BoundCall &call) {
  return ProblemBuilder(functions, call).build();
}

} // namespace nncc::rt::cuda
