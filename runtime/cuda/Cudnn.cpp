// Convolutions and their gradients by cuDNN, on our channels-last tensors as they lie. Filters lie otherwise in our kernels than
// cuDNN has them: one that stays is brought into its layout once (FilterStore), one that changes before each call, and a filter's
// gradient behind it (FilterCopy). Descriptors are made once per call and dims; a launch only names addresses. These are the
// functions of the library that state an algorithm, so that what was measured is what runs; algorithms that add in an order of
// chance are left out, so that the same run gives the same bytes.

#include "runtime/cuda/CudnnProblem.h"
#include "runtime/cuda/FilterCopy.h"

#include <optional>

namespace nncc::rt::cuda {
namespace {

/// Of the filter in a workspace, behind that of the algorithm; and of everything that the library reads and writes, at least.
constexpr int64_t kFilterAlignmentBytes = 256, kTensorAlignmentBytes = 16;

/// What there is of algorithms for a pass.
struct PassAlgorithms {
  int count;
  bool (*isLeftOut)(int number);
};

PassAlgorithms algorithmsOf(ConvolutionPass pass) {
  switch (pass) {
  case ConvolutionPass::DataGradient:
    return {dnn::DATA_ALGO_COUNT, [](int number) { return number == dnn::DATA_ALGO_0; }};
  case ConvolutionPass::WeightGradient:
    return {dnn::FILTER_ALGO_COUNT, [](int number) {
              return number == dnn::FILTER_ALGO_0 || number == dnn::FILTER_ALGO_3;
            }};
  default:
    return {dnn::ALGO_COUNT, [](int) { return false; }};
  }
}

/// Where cuDNN finds a filter, or leaves its gradient.
struct FilterPlace {
  CUdeviceptr ready = 0; ///< in cuDNN's layout and always the same
  /// Else between the step's argument, where it lies by these strides, and a workspace. Null: cuDNN takes the argument as it is.
  std::shared_ptr<const FilterCopier> copier;
  FilterStrides strides;
};

class CudnnKernel final : public StepAlternative {
public:
  CudnnKernel(std::shared_ptr<const CudnnFunctions> functions, dnn::Handle handle,
              const BoundCall &call, CudnnProblem problem, int algorithm, size_t workspace,
              FilterPlace filter, DeviceBlock zeros)
      : functions(std::move(functions)), handle(handle), call(call), problem(std::move(problem)),
        algorithm(algorithm), filter(std::move(filter)), zeros(std::move(zeros)),
        algorithmBytes(workspace) {
    neededBytes = static_cast<int64_t>(workspace);
    if (!this->filter.copier)
      return;
    filterOffset = (neededBytes + kFilterAlignmentBytes - 1) & -kFilterAlignmentBytes;
    neededBytes = filterOffset + shape().outputs * (shape().channels / shape().groups) *
                                     shape().kernelHeight * shape().kernelWidth *
                                     sizeBytesOf(call.dtype);
  }

  Result<void> launch(std::span<const CUdeviceptr> arguments, CUdeviceptr workspace,
                      CUstream stream) const override {
    if (dnn::Status status = functions->cudnnSetStream(handle, stream))
      return functions->failure(status, "cudnnSetStream", kFailed);
    // The argument that is the filter, and where cuDNN reads or writes it.
    CUdeviceptr mine = call.pass == ConvolutionPass::WeightGradient ? arguments.back()
                                                                   : argument(arguments, call.w),
                theirs = filter.ready    ? filter.ready
                         : filter.copier ? workspace + static_cast<CUdeviceptr>(filterOffset)
                                         : mine + static_cast<CUdeviceptr>(
                                                      filter.strides.offset *
                                                      sizeBytesOf(call.dtype));
    FilterStrides dense = FilterStrides::channelsInnermost(shape());
    if (filter.copier && call.pass != ConvolutionPass::WeightGradient)
      if (auto copied = filter.copier->launch(shape(), mine, filter.strides, theirs, dense, stream);
          !copied)
        return copied;
    auto done = compute(arguments, theirs, workspace);
    if (!done || !filter.copier || call.pass != ConvolutionPass::WeightGradient)
      return done;
    return filter.copier->launch(shape(), theirs, dense, mine, filter.strides, stream);
  }

private:
  static constexpr const char *kFailed = "a convolution failed";

  const Convolution<int64_t> &shape() const {
    return std::get<Convolution<int64_t>>(call.operation);
  }
  static CUdeviceptr argument(std::span<const CUdeviceptr> arguments, int32_t index) {
    return arguments[static_cast<size_t>(index)];
  }
  Result<void> check(dnn::Status status, const char *name) const {
    return status ? Result<void>(functions->failure(status, name, kFailed)) : Result<void>();
  }

  /// Calls the library.
  Result<void> compute(std::span<const CUdeviceptr> arguments, CUdeviceptr theirFilter,
                       CUdeviceptr workspace) const {
    auto pointer = [](CUdeviceptr address) { return reinterpret_cast<void *>(address); };
    float one = 1, zero = 0;
    double wideOne = 1, wideZero = 0;
    bool isWide = call.dtype == DType::F64;
    const void *unit = isWide ? static_cast<const void *>(&wideOne) : &one;
    const void *nothing = isWide ? static_cast<const void *>(&wideZero) : &zero;
    void *x = pointer(argument(arguments, call.x)), *w = pointer(theirFilter),
         *y = pointer(arguments.back()), *scratch = pointer(workspace);
    if (call.pass == ConvolutionPass::DataGradient) // x is the gradient of the output
      return check(functions->cudnnConvolutionBackwardData(
                       handle, unit, problem.filter.object, w, problem.y.object, x,
                       problem.convolution.object, static_cast<dnn::DataAlgorithm>(algorithm),
                       scratch, algorithmBytes, nothing, problem.x.object, y),
                   "cudnnConvolutionBackwardData");
    if (call.pass == ConvolutionPass::WeightGradient)
      return check(functions->cudnnConvolutionBackwardFilter(
                       handle, unit, problem.x.object, x, problem.y.object,
                       pointer(argument(arguments, call.w)), problem.convolution.object,
                       static_cast<dnn::FilterAlgorithm>(algorithm), scratch, algorithmBytes,
                       nothing, problem.filter.object, w),
                   "cudnnConvolutionBackwardFilter");
    auto forward = static_cast<dnn::Algorithm>(algorithm);
    if (!hasTail(call))
      return check(functions->cudnnConvolutionForward(handle, unit, problem.x.object, x,
                                                      problem.filter.object, w,
                                                      problem.convolution.object, forward, scratch,
                                                      algorithmBytes, nothing, problem.y.object, y),
                   "cudnnConvolutionForward");
    const void *residual = call.residual >= 0 ? pointer(argument(arguments, call.residual)) : y;
    const void *bias =
        pointer(call.bias >= 0 ? argument(arguments, call.bias) : zeros.address());
    return check(functions->cudnnConvolutionBiasActivationForward(
                     handle, unit, problem.x.object, x, problem.filter.object, w,
                     problem.convolution.object, forward, scratch, algorithmBytes,
                     call.residual >= 0 ? unit : nothing, problem.y.object, residual,
                     problem.bias.object, bias, problem.activation.object, problem.y.object, y),
                 "cudnnConvolutionBiasActivationForward");
  }

  std::shared_ptr<const CudnnFunctions> functions;
  dnn::Handle handle;
  BoundCall call;
  CudnnProblem problem;
  int algorithm; ///< of the pass
  FilterPlace filter;
  DeviceBlock zeros; ///< where a bias is asked for that the kernel has not got
  size_t algorithmBytes;
  int64_t filterOffset = 0; ///< in the workspace
};

class CudnnSession final : public LibrarySession {
public:
  CudnnSession(std::shared_ptr<const CudnnFunctions> functions, SessionPlace place)
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
    if (call.alignmentBytes < kTensorAlignmentBytes)
      return names;
    auto problem = describeProblem(*functions, call);
    if (!problem)
      return problem.error().kind == ErrorKind::User ? Result<std::vector<std::string>>(names)
                                                     : problem.error();
    if (auto filter = placeOf(call); !filter)
      return filter.error();
    PassAlgorithms all = algorithmsOf(call.pass);
    for (int number = 0; number < all.count; ++number) {
      if (all.isLeftOut(number))
        continue;
      std::optional<size_t> bytes = workspaceOf(*problem, call, number);
      if (bytes && *bytes <= static_cast<size_t>(kMostLibraryWorkspaceBytes))
        names.push_back(algorithmPrefixOf(call) + std::to_string(number));
    }
    return names;
  }

  Result<std::unique_ptr<StepAlternative>> make(const BoundCall &call,
                                              const std::string &name) override {
    PassAlgorithms all = algorithmsOf(call.pass);
    std::string prefix = algorithmPrefixOf(call);
    int number = name.size() == prefix.size() + 1 && name.starts_with(prefix)
                     ? name.back() - '0'
                     : -1;
    if (number < 0 || number >= all.count || all.isLeftOut(number))
      return userError("expected an algorithm of cuDNN, " + prefix + (prefix.empty() ? "0" : "1") +
                       " to " + std::to_string(all.count - 1) + ", found \"" + name + "\"");
    if (call.alignmentBytes < kTensorAlignmentBytes)
      return userError("cuDNN cannot be used for tensors that do not begin at multiples of 16 bytes");
    auto problem = describeProblem(*functions, call);
    if (!problem)
      return problem.error();
    std::optional<size_t> bytes = workspaceOf(*problem, call, number);
    if (!bytes)
      return userError("cuDNN cannot compute this convolution with the algorithm " + name);
    auto filter = placeOf(call);
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
        std::make_unique<CudnnKernel>(functions, handle, call, std::move(*problem), number, *bytes,
                                      std::move(*filter), std::move(zeros)));
  }

private:
  Result<FilterPlace> placeOf(const BoundCall &call) {
    FilterPlace found;
    if (call.weight && call.pass == ConvolutionPass::Output) {
      auto filter = place.filters->find(call, place.stream);
      if (!filter)
        return filter.error();
      found.ready = *filter;
      return found;
    }
    const auto &shape = std::get<Convolution<int64_t>>(call.operation);
    found.strides = FilterStrides::ofCall(call);
    bool isAligned = found.strides.offset * sizeBytesOf(call.dtype) % kTensorAlignmentBytes == 0;
    if (isAligned && found.strides.areChannelsInnermost(shape))
      return found;
    auto &copier = copiers[sizeBytesOf(call.dtype)];
    if (!copier) {
      auto created = FilterCopier::create(place.device, call.dtype);
      if (!created)
        return created.error();
      copier = std::make_shared<const FilterCopier>(std::move(*created));
    }
    found.copier = copier;
    return found;
  }

  /// Nothing for an algorithm that cannot do it.
  std::optional<size_t> workspaceOf(const CudnnProblem &problem, const BoundCall &call,
                                    int algorithm) const {
    // The library's documentation names one algorithm for a tail without an activation.
    if (hasTail(call) && call.activation == LibraryActivation::None &&
        algorithm != dnn::ALGO_IMPLICIT_PRECOMP_GEMM)
      return std::nullopt;
    size_t bytes = 0;
    dnn::Status status = 0;
    switch (call.pass) {
    case ConvolutionPass::Output:
      status = functions->cudnnGetConvolutionForwardWorkspaceSize(
          handle, problem.x.object, problem.filter.object, problem.convolution.object,
          problem.y.object, static_cast<dnn::Algorithm>(algorithm), &bytes);
      break;
    case ConvolutionPass::DataGradient:
      status = functions->cudnnGetConvolutionBackwardDataWorkspaceSize(
          handle, problem.filter.object, problem.y.object, problem.convolution.object,
          problem.x.object, static_cast<dnn::DataAlgorithm>(algorithm), &bytes);
      break;
    case ConvolutionPass::WeightGradient:
      status = functions->cudnnGetConvolutionBackwardFilterWorkspaceSize(
          handle, problem.x.object, problem.y.object, problem.convolution.object,
          problem.filter.object, static_cast<dnn::FilterAlgorithm>(algorithm), &bytes);
      break;
    }
    return status ? std::nullopt : std::optional(bytes);
  }

  std::shared_ptr<const CudnnFunctions> functions;
  SessionPlace place;
  dnn::Handle handle = nullptr;
  std::map<int64_t, std::shared_ptr<const FilterCopier>> copiers; ///< by bytes of an element
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
    auto table = std::make_shared<CudnnFunctions>();
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
  std::shared_ptr<const CudnnFunctions> functions;
};

} // namespace

Result<std::shared_ptr<const KernelLibrary>> loadCudnn() {
  auto library = std::make_shared<Cudnn>();
  if (auto loaded = library->load(); !loaded)
    return loaded.error();
  return std::shared_ptr<const KernelLibrary>(std::move(library));
}

} // namespace nncc::rt::cuda
