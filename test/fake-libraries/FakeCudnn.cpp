// A stand-in for libcudnn.so: the functions that the runtime calls, as their documentation says, on
// tensors of any strides and filters with channels innermost. It has algorithm 0, algorithm 1 with
// a workspace, and no other; of the gradients 0 stands for those that add in an order of chance.

#include "FakeLibrary.h"

#include "runtime/cuda/CudnnFunctions.h"

#include <type_traits>
#include <vector>

namespace nncc::cuda::dnn {

enum : Status { kSuccess = 0, kBadParameter = 2000, kNotSupported = 3000, kExecutionFailed = 5000 };

struct OpaqueHandle {
  CUstream stream = nullptr;
};
struct OpaqueTensor {
  DataType type;
  int shape[4], strides[4]; ///< images, channels, height, width
};
struct OpaqueFilter {
  DataType type;
  int outputs, channels, height, width;
};
struct OpaqueConvolution {
  int pads[2], strides[2], dilations[2], groups = 1;
  DataType sums;
};
struct OpaqueActivation {
  ActivationMode mode;
};

namespace {

constexpr size_t kWorkspaceBytes = 4096;

constexpr const char *kText = R"(
struct Tensor { int shape[4], strides[4]; };
extern "C" __global__ void convolve(const void *x, const void *w, const void *z, const void *bias, void *y, Tensor in, Tensor out,
                                    int type, int channels, int height, int width, int groups, int pad_h, int pad_w, int stride_h,
                                    int stride_w, int dilation_h, int dilation_w, double alpha, double alpha_z, int activation,
                                    double error, int *workspace) {
  long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  int rest = i / out.shape[1], k = i % out.shape[1], q = rest % out.shape[3], p = rest / out.shape[3] % out.shape[2],
      n = rest / out.shape[3] / out.shape[2];
  if (n >= out.shape[0])
    return;
  int first = k / (out.shape[1] / groups) * channels;
  double sum = 0;
  for (int r = 0; r < height; ++r)
    for (int s = 0; s < width; ++s) {
      int row = p * stride_h - pad_h + r * dilation_h, column = q * stride_w - pad_w + s * dilation_w;
      if (row < 0 || row >= in.shape[2] || column < 0 || column >= in.shape[3])
        continue;
      for (int c = 0; c < channels; ++c)
        sum += load(x, (long long)n * in.strides[0] + (first + c) * in.strides[1] + row * in.strides[2] + column * in.strides[3], type) *
               load(w, (((long long)k * height + r) * width + s) * channels + c, type);
    }
  long long place = (long long)n * out.strides[0] + k * out.strides[1] + p * out.strides[2] + q * out.strides[3];
  double value = alpha * sum;
  if (alpha_z != 0)
    value += alpha_z * load(z, place, type);
  if (bias)
    value += load(bias, k, type);
  if (workspace && i < 1024)
    workspace[i] = 1;
  store(y, place, type, activate(value, activation) + error);
})";

int elementOf(DataType type) {
  return type == DATA_DOUBLE     ? fakelibrary::kF64
         : type == DATA_HALF     ? fakelibrary::kF16
         : type == DATA_BFLOAT16 ? fakelibrary::kBF16
                                 : fakelibrary::kF32;
}

/// The output extent of the documentation's formula.
bool isConsistent(Tensor x, Filter w, Description convolution, Tensor y) {
  int kernel[2] = {w->height, w->width};
  for (int i = 0; i < 2; ++i) {
    int extent = 1 + (x->shape[2 + i] + 2 * convolution->pads[i] -
                      ((kernel[i] - 1) * convolution->dilations[i] + 1)) /
                         convolution->strides[i];
    if (y->shape[2 + i] != extent)
      return false;
  }
  return x->shape[0] == y->shape[0] && x->shape[1] == w->channels * convolution->groups &&
         y->shape[1] == w->outputs && w->outputs % convolution->groups == 0 && x->type == w->type &&
         x->type == y->type;
}

/// A thread for each element of the gradient: of the input, or of the filter.
constexpr const char *kGradientText = R"(
struct Tensor { int shape[4], strides[4]; };
__device__ long long at(const Tensor &t, long long n, int c, int h, int w) {
  return n * t.strides[0] + c * t.strides[1] + h * t.strides[2] + w * t.strides[3];
}
extern "C" __global__ void gradient_of_data(const void *dy, const void *w, void *dx, Tensor in, Tensor out, int type, int channels,
                                            int height, int width, int groups, int pad_h, int pad_w, int stride_h, int stride_w,
                                            int dilation_h, int dilation_w, double alpha, double error, int *workspace) {
  long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  int c = i % in.shape[1], rest = i / in.shape[1], column = rest % in.shape[3], row = rest / in.shape[3] % in.shape[2],
      n = rest / in.shape[3] / in.shape[2];
  if (n >= in.shape[0])
    return;
  int outputs = out.shape[1] / groups, first = c / channels * outputs;
  double sum = 0;
  for (int r = 0; r < height; ++r)
    for (int s = 0; s < width; ++s) {
      int p = row + pad_h - r * dilation_h, q = column + pad_w - s * dilation_w;
      if (p < 0 || p % stride_h || p / stride_h >= out.shape[2] || q < 0 || q % stride_w || q / stride_w >= out.shape[3])
        continue;
      for (int k = first; k < first + outputs; ++k)
        sum += load(dy, at(out, n, k, p / stride_h, q / stride_w), type) *
               load(w, (((long long)k * height + r) * width + s) * channels + c % channels, type);
    }
  if (workspace && i < 1024)
    workspace[i] = 1;
  store(dx, at(in, n, c, row, column), type, alpha * sum + error);
}
extern "C" __global__ void gradient_of_filter(const void *x, const void *dy, void *dw, Tensor in, Tensor out, int type, int channels,
                                              int height, int width, int groups, int pad_h, int pad_w, int stride_h, int stride_w,
                                              int dilation_h, int dilation_w, double alpha, double error, int *workspace) {
  long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  int c = i % channels, s = i / channels % width, r = i / channels / width % height, k = i / channels / width / height;
  if (k >= out.shape[1])
    return;
  int channel = k / (out.shape[1] / groups) * channels + c;
  double sum = 0;
  for (int n = 0; n < out.shape[0]; ++n)
    for (int p = 0; p < out.shape[2]; ++p)
      for (int q = 0; q < out.shape[3]; ++q) {
        int row = p * stride_h - pad_h + r * dilation_h, column = q * stride_w - pad_w + s * dilation_w;
        if (row >= 0 && row < in.shape[2] && column >= 0 && column < in.shape[3])
          sum += load(x, at(in, n, channel, row, column), type) * load(dy, at(out, n, k, p, q), type);
      }
  if (workspace && i < 1024)
    workspace[i] = 1;
  store(dw, i, type, alpha * sum + error);
})";

/// A tensor as the kernels know it.
struct Shape {
  explicit Shape(Tensor tensor) {
    for (int i = 0; i < 4; ++i) {
      shape[i] = tensor->shape[i];
      strides[i] = tensor->strides[i];
    }
  }
  int shape[4], strides[4];
};

/// What every kernel is told of a convolution, in this order: the two tensors, the type, the filter, the windows.
struct Geometry {
  Geometry(Tensor x, Filter w, Description convolution, Tensor y)
      : in(x), out(y), type(elementOf(x->type)), w(*w), convolution(*convolution) {}
  void addTo(std::vector<void *> &arguments) {
    OpaqueConvolution &c = convolution;
    arguments.insert(arguments.end(), {&in, &out, &type, &w.channels, &w.height, &w.width, &c.groups, &c.pads[0],
                                       &c.pads[1], &c.strides[0], &c.strides[1], &c.dilations[0], &c.dilations[1]});
  }
  Shape in, out;
  int type;
  OpaqueFilter w;
  OpaqueConvolution convolution;
};

double scalar(const void *value, DataType type) {
  return type == DATA_DOUBLE ? *static_cast<const double *>(value)
                             : double(*static_cast<const float *>(value));
}

int64_t elementsOf(Tensor tensor) {
  return int64_t(tensor->shape[0]) * tensor->shape[1] * tensor->shape[2] * tensor->shape[3];
}

/// Whether there is an algorithm of this number and its workspace.
Status checkAlgorithm(int algorithm, const void *workspace, size_t workspaceBytes) {
  if (algorithm > 1)
    return kNotSupported;
  return algorithm == 1 && (workspaceBytes < kWorkspaceBytes || !workspace) ? kBadParameter : kSuccess;
}

Status workspaceFor(int algorithm, size_t *bytes) {
  *bytes = algorithm == 1 ? kWorkspaceBytes : 0;
  return algorithm > 1 ? kNotSupported : kSuccess;
}

Status convolve(Handle handle, const void *alpha, Tensor xShape, const void *x, Filter wShape,
                const void *w, Description convolution, Algorithm algorithm, void *workspace,
                size_t workspaceBytes, const void *alphaOfZ, const void *z, const void *bias,
                int activation, Tensor yShape, void *y) {
  if (!isConsistent(xShape, wShape, convolution, yShape))
    return kBadParameter;
  if (Status status = checkAlgorithm(algorithm, workspace, workspaceBytes))
    return status;
  Geometry geometry(xShape, wShape, convolution, yShape);
  double scale = scalar(alpha, xShape->type), scaleOfZ = scalar(alphaOfZ, xShape->type),
         error = fakelibrary::isWrong() ? 1 : 0;
  int *marks = algorithm == 1 ? static_cast<int *>(workspace) : nullptr;
  std::vector<void *> arguments = {&x, &w, &z, &bias, &y};
  geometry.addTo(arguments);
  arguments.insert(arguments.end(), {&scale, &scaleOfZ, &activation, &error, &marks});
  return fakelibrary::launch(kText, "convolve", elementsOf(yShape), arguments.data(), handle->stream)
             ? kSuccess
             : kExecutionFailed;
}

/// By the kernel of that name, which reads `left` and `right`.
Status differentiate(const char *kernel, Handle handle, const void *alpha, const void *left,
                     const void *right, void *result, Tensor xShape, Filter wShape, Tensor yShape,
                     Description convolution, int algorithm, void *workspace,
                     size_t workspaceBytes, const void *beta, int64_t elements) {
  if (!isConsistent(xShape, wShape, convolution, yShape) || scalar(beta, xShape->type) != 0)
    return kBadParameter;
  if (Status status = checkAlgorithm(algorithm, workspace, workspaceBytes))
    return status;
  Geometry geometry(xShape, wShape, convolution, yShape);
  double scale = scalar(alpha, xShape->type), error = fakelibrary::isWrong() ? 1 : 0;
  int *marks = algorithm == 1 ? static_cast<int *>(workspace) : nullptr;
  std::vector<void *> arguments = {&left, &right, &result};
  geometry.addTo(arguments);
  arguments.insert(arguments.end(), {&scale, &error, &marks});
  return fakelibrary::launch(kGradientText, kernel, elements, arguments.data(), handle->stream)
             ? kSuccess
             : kExecutionFailed;
}

} // namespace

#define NNCC_EXPORT extern "C" __attribute__((visibility("default")))

NNCC_EXPORT size_t cudnnGetVersion() { return 91203; }
NNCC_EXPORT const char *cudnnGetErrorString(Status status) {
  return status == kBadParameter      ? "CUDNN_STATUS_BAD_PARAM"
         : status == kNotSupported    ? "CUDNN_STATUS_NOT_SUPPORTED"
         : status == kExecutionFailed ? "CUDNN_STATUS_EXECUTION_FAILED"
                                      : "CUDNN_STATUS_OTHER";
}
NNCC_EXPORT Status cudnnCreate(Handle *handle) {
  NNCC_FAKE_ENTRY(cudnnCreate);
  *handle = new OpaqueHandle;
  return kSuccess;
}
NNCC_EXPORT Status cudnnDestroy(Handle handle) {
  delete handle;
  return kSuccess;
}
NNCC_EXPORT Status cudnnSetStream(Handle handle, CUstream stream) {
  NNCC_FAKE_ENTRY(cudnnSetStream);
  handle->stream = stream;
  return kSuccess;
}
#define NNCC_LIFE(Object, Create, Destroy)                                                         \
  NNCC_EXPORT Status Create(Object *object) {                                                      \
    NNCC_FAKE_ENTRY(Create);                                                                       \
    *object = new std::remove_pointer_t<Object>();                                                 \
    return kSuccess;                                                                               \
  }                                                                                                \
  NNCC_EXPORT Status Destroy(Object object) {                                                      \
    delete object;                                                                                 \
    return kSuccess;                                                                               \
  }
NNCC_LIFE(Tensor, cudnnCreateTensorDescriptor, cudnnDestroyTensorDescriptor)
NNCC_LIFE(Filter, cudnnCreateFilterDescriptor, cudnnDestroyFilterDescriptor)
NNCC_LIFE(Description, cudnnCreateConvolutionDescriptor, cudnnDestroyConvolutionDescriptor)
NNCC_LIFE(Activation, cudnnCreateActivationDescriptor, cudnnDestroyActivationDescriptor)

NNCC_EXPORT Status cudnnSetTensor4dDescriptorEx(Tensor tensor, DataType type, int n, int c, int h,
                                                int w, int strideN, int strideC, int strideH,
                                                int strideW) {
  NNCC_FAKE_ENTRY(cudnnSetTensor4dDescriptorEx);
  *tensor = {type, {n, c, h, w}, {strideN, strideC, strideH, strideW}};
  return kSuccess;
}
NNCC_EXPORT Status cudnnSetFilter4dDescriptor(Filter filter, DataType type, Format format, int k,
                                              int c, int h, int w) {
  NNCC_FAKE_ENTRY(cudnnSetFilter4dDescriptor);
  *filter = {type, k, c, h, w};
  return format == FORMAT_NHWC ? kSuccess : kNotSupported;
}
NNCC_EXPORT Status cudnnSetConvolution2dDescriptor(Description convolution, int padH, int padW,
                                                   int strideH, int strideW, int dilationH,
                                                   int dilationW, Mode mode, DataType sums) {
  NNCC_FAKE_ENTRY(cudnnSetConvolution2dDescriptor);
  *convolution = {{padH, padW}, {strideH, strideW}, {dilationH, dilationW}, 1, sums};
  return mode == MODE_CROSS_CORRELATION ? kSuccess : kNotSupported;
}
NNCC_EXPORT Status cudnnSetConvolutionGroupCount(Description convolution, int groups) {
  NNCC_FAKE_ENTRY(cudnnSetConvolutionGroupCount);
  convolution->groups = groups;
  return kSuccess;
}
NNCC_EXPORT Status cudnnSetConvolutionMathType(Description, MathType) {
  NNCC_FAKE_ENTRY(cudnnSetConvolutionMathType);
  return kSuccess;
}
NNCC_EXPORT Status cudnnSetActivationDescriptor(Activation activation, ActivationMode mode,
                                                NanPropagation, double) {
  NNCC_FAKE_ENTRY(cudnnSetActivationDescriptor);
  activation->mode = mode;
  return kSuccess;
}
NNCC_EXPORT Status cudnnGetConvolutionForwardWorkspaceSize(Handle, Tensor x, Filter w,
                                                           Description convolution, Tensor y,
                                                           Algorithm algorithm, size_t *bytes) {
  NNCC_FAKE_ENTRY(cudnnGetConvolutionForwardWorkspaceSize);
  return isConsistent(x, w, convolution, y) ? workspaceFor(algorithm, bytes) : kBadParameter;
}
NNCC_EXPORT Status cudnnGetConvolutionBackwardDataWorkspaceSize(Handle, Filter w, Tensor y,
                                                                Description convolution, Tensor x,
                                                                DataAlgorithm algorithm,
                                                                size_t *bytes) {
  NNCC_FAKE_ENTRY(cudnnGetConvolutionBackwardDataWorkspaceSize);
  return isConsistent(x, w, convolution, y) ? workspaceFor(algorithm, bytes) : kBadParameter;
}
NNCC_EXPORT Status cudnnConvolutionBackwardData(Handle handle, const void *alpha, Filter wShape,
                                                const void *w, Tensor dyShape, const void *dy,
                                                Description convolution, DataAlgorithm algorithm,
                                                void *workspace, size_t workspaceBytes,
                                                const void *beta, Tensor dxShape, void *dx) {
  NNCC_FAKE_ENTRY(cudnnConvolutionBackwardData);
  return differentiate("gradient_of_data", handle, alpha, dy, w, dx, dxShape, wShape, dyShape,
                       convolution, algorithm, workspace, workspaceBytes, beta,
                       elementsOf(dxShape));
}
NNCC_EXPORT Status cudnnGetConvolutionBackwardFilterWorkspaceSize(Handle, Tensor x, Tensor y,
                                                                  Description convolution, Filter w,
                                                                  FilterAlgorithm algorithm,
                                                                  size_t *bytes) {
  NNCC_FAKE_ENTRY(cudnnGetConvolutionBackwardFilterWorkspaceSize);
  return isConsistent(x, w, convolution, y) ? workspaceFor(algorithm, bytes) : kBadParameter;
}
NNCC_EXPORT Status cudnnConvolutionBackwardFilter(Handle handle, const void *alpha, Tensor xShape,
                                                  const void *x, Tensor dyShape, const void *dy,
                                                  Description convolution,
                                                  FilterAlgorithm algorithm, void *workspace,
                                                  size_t workspaceBytes, const void *beta,
                                                  Filter dwShape, void *dw) {
  NNCC_FAKE_ENTRY(cudnnConvolutionBackwardFilter);
  return differentiate("gradient_of_filter", handle, alpha, x, dy, dw, xShape, dwShape, dyShape,
                       convolution, algorithm, workspace, workspaceBytes, beta,
                       int64_t(dwShape->outputs) * dwShape->height * dwShape->width *
                           dwShape->channels);
}
NNCC_EXPORT Status cudnnConvolutionForward(Handle handle, const void *alpha, Tensor xShape,
                                           const void *x, Filter wShape, const void *w,
                                           Description convolution, Algorithm algorithm,
                                           void *workspace, size_t workspaceBytes, const void *beta,
                                           Tensor yShape, void *y) {
  NNCC_FAKE_ENTRY(cudnnConvolutionForward);
  return convolve(handle, alpha, xShape, x, wShape, w, convolution, algorithm, workspace,
                  workspaceBytes, beta, y, nullptr, 0, yShape, y);
}
NNCC_EXPORT Status cudnnConvolutionBiasActivationForward(
    Handle handle, const void *alpha, Tensor xShape, const void *x, Filter wShape, const void *w,
    Description convolution, Algorithm algorithm, void *workspace, size_t workspaceBytes,
    const void *alphaOfZ, Tensor, const void *z, Tensor biasShape, const void *bias,
    Activation activation, Tensor yShape, void *y) {
  NNCC_FAKE_ENTRY(cudnnConvolutionBiasActivationForward);
  bool isIdentity = activation->mode == ACTIVATION_IDENTITY;
  if (!bias || biasShape->shape[1] != yShape->shape[1] ||
      (isIdentity && algorithm != ALGO_IMPLICIT_PRECOMP_GEMM))
    return kNotSupported;
  return convolve(handle, alpha, xShape, x, wShape, w, convolution, algorithm, workspace,
                  workspaceBytes, alphaOfZ, z, bias, isIdentity ? 0 : 1, yShape, y);
}

} // namespace nncc::cuda::dnn
