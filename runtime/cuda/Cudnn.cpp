// Convolutions by cuDNN, on our channels-last tensors as they lie; the filter, which our kernels
// read packed, is brought into cuDNN's layout once (FilterStore). Descriptors are made once per
// call and dims; a launch only names addresses. These are the functions of the library that state
// an algorithm, so that what was measured is what runs.

#include "runtime/cuda/CudnnFunctions.h"
#include "runtime/cuda/KernelLibrary.h"
#include "runtime/cuda/Library.h"

#include <climits>
#include <optional>

namespace nncc::rt::cuda {
namespace {

namespace dnn = ::nncc::cuda::dnn;

struct Functions {
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

constexpr const char *kAttempt = "cannot describe a convolution";

/// A convolution as the library describes it.
struct Problem {
  LibraryObject<dnn::Tensor> x, y, bias;
  LibraryObject<dnn::Filter> filter;
  LibraryObject<dnn::Description> convolution;
  LibraryObject<dnn::Activation> activation;
};

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

/// Something follows the sums: bias, residual or an activation.
bool hasTail(const BoundCall &call) {
  return call.bias >= 0 || call.residual >= 0 || call.activation != LibraryActivation::None;
}

class ProblemBuilder {
public:
  ProblemBuilder(const Functions &functions, const BoundCall &call)
      : functions(functions), call(call), shape(std::get<Convolution<int64_t>>(call.operation)) {}

  Result<Problem> build() {
    Problem problem;
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

  const Functions &functions;
  const BoundCall &call;
  const Convolution<int64_t> &shape;
  std::optional<Error> failed;
  bool fits = true;
};

class CudnnKernel final : public StepAlternative {
public:
  CudnnKernel(std::shared_ptr<const Functions> functions, dnn::Handle handle, const BoundCall &call,
              Problem problem, dnn::Algorithm algorithm, size_t workspace, CUdeviceptr filter,
              DeviceBlock zeros)
      : functions(std::move(functions)), handle(handle), call(call), problem(std::move(problem)),
        algorithm(algorithm), filter(filter), zeros(std::move(zeros)) {
    neededBytes = static_cast<int64_t>(workspace);
  }

  Result<void> launch(std::span<const CUdeviceptr> arguments, CUdeviceptr workspace,
                      CUstream stream) const override {
    constexpr const char *kFailed = "a convolution failed";
    if (dnn::Status status = functions->cudnnSetStream(handle, stream))
      return functions->failure(status, "cudnnSetStream", kFailed);
    auto argument = [&](int32_t index) {
      return reinterpret_cast<const void *>(arguments[static_cast<size_t>(index)]);
    };
    float one = 1, zero = 0;
    double wideOne = 1, wideZero = 0;
    bool isWide = call.dtype == DType::F64;
    const void *unit = isWide ? static_cast<const void *>(&wideOne) : &one;
    const void *nothing = isWide ? static_cast<const void *>(&wideZero) : &zero;
    const void *x = argument(call.x), *w = reinterpret_cast<const void *>(filter);
    void *y = reinterpret_cast<void *>(arguments.back()),
         *scratch = reinterpret_cast<void *>(workspace);
    auto scratchBytes = static_cast<size_t>(neededBytes);
    if (!hasTail(call)) {
      dnn::Status status = functions->cudnnConvolutionForward(
          handle, unit, problem.x.object, x, problem.filter.object, w, problem.convolution.object,
          algorithm, scratch, scratchBytes, nothing, problem.y.object, y);
      return status ? Result<void>(functions->failure(status, "cudnnConvolutionForward", kFailed))
                    : Result<void>();
    }
    const void *residual = call.residual >= 0 ? argument(call.residual) : y;
    const void *bias =
        call.bias >= 0 ? argument(call.bias) : reinterpret_cast<const void *>(zeros.address());
    dnn::Status status = functions->cudnnConvolutionBiasActivationForward(
        handle, unit, problem.x.object, x, problem.filter.object, w, problem.convolution.object,
        algorithm, scratch, scratchBytes, call.residual >= 0 ? unit : nothing, problem.y.object,
        residual, problem.bias.object, bias, problem.activation.object, problem.y.object, y);
    return status ? Result<void>(functions->failure(status, "cudnnConvolutionBiasActivationForward",
                                                    kFailed))
                  : Result<void>();
  }

private:
  std::shared_ptr<const Functions> functions;
  dnn::Handle handle;
  BoundCall call;
  Problem problem;
  dnn::Algorithm algorithm;
  CUdeviceptr filter;
  DeviceBlock zeros; ///< where a bias is asked for that the kernel has not got
};

class CudnnSession final : public LibrarySession {
public:
  CudnnSession(std::shared_ptr<const Functions> functions, SessionPlace place)
      : functions(std::move(functions)), place(std::move(place)) {}
  ~CudnnSession() override {
    if (handle)
      functions->cudnnDestroy(handle);
  }
  Result<void> open() {
    dnn::Status status = functions->cudnnCreate(&handle);
    if (!status)
      return {};
    handle = nullptr;
    return functions->failure(status, "cudnnCreate", "cannot be used on this device");
  }

  Result<std::vector<std::string>> algorithms(const BoundCall &call) override {
    std::vector<std::string> names;
    if (!call.weight) // computed in the run: there is no filter to keep
      return names;
    auto problem = ProblemBuilder(*functions, call).build();
    if (!problem)
      return problem.error().kind == ErrorKind::User ? Result<std::vector<std::string>>(names)
                                                     : problem.error();
    for (int number = 0; number < dnn::ALGO_COUNT; ++number)
      if (std::optional<size_t> bytes =
              workspaceOf(*problem, call, static_cast<dnn::Algorithm>(number));
          bytes && *bytes <= static_cast<size_t>(kMostLibraryWorkspaceBytes))
        names.push_back(std::to_string(number));
    return names;
  }

  Result<std::unique_ptr<StepAlternative>> make(const BoundCall &call,
                                              const std::string &name) override {
    bool isNumber = name.size() == 1 && name[0] >= '0' && name[0] < '0' + dnn::ALGO_COUNT;
    if (!isNumber)
      return userError("expected an algorithm of cuDNN, 0 to 7, found \"" + name + "\"");
    if (!call.weight)
      return userError(
          "cuDNN cannot be used for a convolution whose weight is computed in the run");
    auto problem = ProblemBuilder(*functions, call).build();
    if (!problem)
      return problem.error();
    auto algorithm = static_cast<dnn::Algorithm>(name[0] - '0');
    std::optional<size_t> bytes = workspaceOf(*problem, call, algorithm);
    if (!bytes)
      return userError("cuDNN cannot compute this convolution with the algorithm " + name);
    auto filter = place.filters->find(call, place.stream);
    if (!filter)
      return filter.error();
    DeviceBlock zeros;
    if (hasTail(call) && call.bias < 0) {
      int64_t outputs = std::get<Convolution<int64_t>>(call.operation).outputs;
      auto block =
          DeviceBlock::allocate(place.device, outputs * sizeBytesOf(call.dtype), "a bias of zeros");
      if (!block)
        return block.error();
      zeros = std::move(*block);
      if (CUresult code = place.device->driver().cuMemsetD8Async(
              zeros.address(), 0, static_cast<size_t>(zeros.sizeBytes()), place.stream))
        return place.device->failure(code, "cuMemsetD8Async", "cannot clear a bias of zeros");
    }
    return std::unique_ptr<StepAlternative>(
        std::make_unique<CudnnKernel>(functions, handle, call, std::move(*problem), algorithm,
                                      *bytes, *filter, std::move(zeros)));
  }

private:
  /// Nothing for an algorithm that cannot do it.
  std::optional<size_t> workspaceOf(const Problem &problem, const BoundCall &call,
                                    dnn::Algorithm algorithm) const {
    // The library's documentation names one algorithm for a tail without an activation.
    if (hasTail(call) && call.activation == LibraryActivation::None &&
        algorithm != dnn::ALGO_IMPLICIT_PRECOMP_GEMM)
      return std::nullopt;
    size_t bytes = 0;
    dnn::Status status = functions->cudnnGetConvolutionForwardWorkspaceSize(
        handle, problem.x.object, problem.filter.object, problem.convolution.object,
        problem.y.object, algorithm, &bytes);
    return status ? std::nullopt : std::optional(bytes);
  }

  std::shared_ptr<const Functions> functions;
  SessionPlace place;
  dnn::Handle handle = nullptr;
};

class Cudnn final : public KernelLibrary {
public:
  Result<void> load() {
    LibrarySearch search;
    search.title = "cuDNN, NVIDIA's library of convolutions,";
    search.variable = "NNCC_CUDNN";
    search.names = {"libcudnn.so.9", "libcudnn.so.8", "libcudnn.so"};
    search.advice = "Install cuDNN 8 or later, tune again without it (--tune)";
    auto library = Library::open(search);
    if (!library)
      return library.error();
    auto table = std::make_shared<Functions>();
#define X(name, parameters)                                                                        \
  if (auto found = library->find(#name, table->name); !found)                                      \
    return found.error();
    NNCC_CUDNN_FUNCTIONS(X)
#undef X
    if (auto found = library->find("cudnnGetVersion", table->cudnnGetVersion); !found)
      return found.error();
    if (auto found = library->find("cudnnGetErrorString", table->cudnnGetErrorString); !found)
      return found.error();
    // 91200 is 9.12.0; before 9, 8907 was 8.9.7.
    size_t version = table->cudnnGetVersion(), unit = version >= 90000 ? 10000 : 1000;
    itsVersion = std::to_string(version / unit) + "." + std::to_string(version % unit / 100) + "." +
                 std::to_string(version % 100);
    itsFile = library->file();
    functions = std::move(table);
    return {};
  }

  Result<std::unique_ptr<LibrarySession>> open(SessionPlace place) const override {
    auto session = std::make_unique<CudnnSession>(functions, std::move(place));
    if (auto opened = session->open(); !opened)
      return opened.error();
    return std::unique_ptr<LibrarySession>(std::move(session));
  }

private:
  std::shared_ptr<const Functions> functions;
};

} // namespace

Result<std::shared_ptr<const KernelLibrary>> loadCudnn() {
  auto library = std::make_shared<Cudnn>();
  if (auto loaded = library->load(); !loaded)
    return loaded.error();
  return std::shared_ptr<const KernelLibrary>(std::move(library));
}

} // namespace nncc::rt::cuda
