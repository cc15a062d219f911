// Matrix products by cuBLASLt, which counts matrices by columns: a row-major y = x w is its y' = w'
// x', so that our w is its A and our x its B. Descriptors are made once per call and dims; a launch
// only names addresses.

#include "runtime/cuda/CublasLtFunctions.h"
#include "runtime/cuda/KernelLibrary.h"
#include "runtime/cuda/Library.h"

#include <cstdio>
#include <cstdlib>

namespace nncc::rt::cuda {
namespace {

namespace lt = ::nncc::cuda::blaslt;

struct Functions {
#define X(name, parameters) int(*name) parameters = nullptr;
  // The list names the library's types as its documentation does.
  using Status = lt::Status;
  using Handle = lt::Handle;
  using Description = lt::Description;
  using Layout = lt::Layout;
  using Preference = lt::Preference;
  using Algorithm = lt::Algorithm;
  using HeuristicResult = lt::HeuristicResult;
  using DataType = lt::DataType;
  using ComputeType = lt::ComputeType;
  using DescriptionAttribute = lt::DescriptionAttribute;
  using LayoutAttribute = lt::LayoutAttribute;
  using PreferenceAttribute = lt::PreferenceAttribute;
  NNCC_CUBLASLT_FUNCTIONS(X)
#undef X
  size_t (*cublasLtGetVersion)() = nullptr;
  const char *(*cublasLtGetStatusName)(lt::Status) = nullptr;

  Error failure(lt::Status status, const char *call, const std::string &what) const {
    const char *name = cublasLtGetStatusName(status);
    return environmentError("cuBLASLt: " + what + ": " + call + " returned " +
                            (name ? name : std::to_string(status)));
  }
};

constexpr const char *kAttempt = "cannot describe a matrix product";

/// A product as the library describes it.
struct Problem {
  LibraryObject<lt::Description> description;
  LibraryObject<lt::Layout> a, b, c, d;
};

lt::DataType dataTypeOf(DType type) {
  switch (type) {
  case DType::F64:
    return lt::R_64F;
  case DType::F16:
    return lt::R_16F;
  case DType::BF16:
    return lt::R_16BF;
  default:
    return lt::R_32F;
  }
}

class ProblemBuilder {
public:
  ProblemBuilder(const Functions &functions, const BoundCall &call)
      : functions(functions), call(call),
        product(std::get<MatrixProduct<int64_t>>(call.operation)) {}

  Result<Problem> build() {
    Problem problem;
    lt::DataType type = dataTypeOf(call.dtype);
    lt::ComputeType compute = call.dtype == DType::F64 ? lt::COMPUTE_64F
                              : call.mayRoundToTf32    ? lt::COMPUTE_32F_FAST_TF32
                                                       : lt::COMPUTE_32F;
    problem.description.destroy = functions.cublasLtMatmulDescDestroy;
    check(functions.cublasLtMatmulDescCreate(&problem.description.object, compute,
                                             type == lt::R_64F ? lt::R_64F : lt::R_32F),
          "cublasLtMatmulDescCreate");
    int64_t wRows = call.transposed ? product.depth : product.columns,
            wColumns = call.transposed ? product.columns : product.depth;
    layOut(problem.a, type, wRows, wColumns, product.wRow, product.wProduct);
    int64_t xRows = call.transposedX ? product.rows : product.depth,
            xColumns = call.transposedX ? product.depth : product.rows;
    layOut(problem.b, type, xRows, xColumns, product.xRow, product.xProduct);
    layOut(problem.d, type, product.columns, product.rows, product.yRow, product.yProduct);
    if (call.residual >= 0)
      layOut(problem.c, type, product.columns, product.rows, product.columns,
             product.rows * product.columns);
    if (failed)
      return *failed;
    describe(problem, lt::DESC_TRANSA, int32_t(call.transposed ? lt::OP_T : lt::OP_N));
    describe(problem, lt::DESC_TRANSB, int32_t(call.transposedX ? lt::OP_T : lt::OP_N));
    uint32_t epilogue = call.activation == LibraryActivation::Relu       ? lt::EPILOGUE_RELU
                        : call.activation == LibraryActivation::GeluTanh ? lt::EPILOGUE_GELU
                                                                         : 0;
    if (call.bias >= 0)
      epilogue |= lt::EPILOGUE_BIAS;
    describe(problem, lt::DESC_EPILOGUE, epilogue ? epilogue : uint32_t(lt::EPILOGUE_DEFAULT));
    // What is asked of a description reads only the alignment of its bias.
    if (call.bias >= 0)
      describe(problem, lt::DESC_BIAS_POINTER, static_cast<uint64_t>(call.alignmentBytes));
    if (failed)
      return *failed;
    return std::move(problem);
  }

private:
  void check(lt::Status status, const char *name) {
    if (status && !failed)
      failed = functions.failure(status, name, kAttempt);
  }
  template <class Value>
  void describe(const Problem &problem, lt::DescriptionAttribute attribute, Value value) {
    if (!failed)
      check(functions.cublasLtMatmulDescSetAttribute(problem.description.object, attribute, &value,
                                                     sizeof value),
            "cublasLtMatmulDescSetAttribute");
  }
  void layOut(LibraryObject<lt::Layout> &layout, lt::DataType type, int64_t rows, int64_t columns,
              int64_t distance, int64_t stride) {
    if (failed)
      return;
    layout.destroy = functions.cublasLtMatrixLayoutDestroy;
    check(functions.cublasLtMatrixLayoutCreate(&layout.object, type, static_cast<uint64_t>(rows),
                                               static_cast<uint64_t>(columns), distance),
          "cublasLtMatrixLayoutCreate");
    if (failed || product.products == 1)
      return;
    auto count = static_cast<int32_t>(product.products);
    check(functions.cublasLtMatrixLayoutSetAttribute(layout.object, lt::LAYOUT_BATCH_COUNT, &count,
                                                     sizeof count),
          "cublasLtMatrixLayoutSetAttribute");
    check(functions.cublasLtMatrixLayoutSetAttribute(layout.object, lt::LAYOUT_STRIDED_BATCH_OFFSET,
                                                     &stride, sizeof stride),
          "cublasLtMatrixLayoutSetAttribute");
  }

  const Functions &functions;
  const BoundCall &call;
  const MatrixProduct<int64_t> &product;
  std::optional<Error> failed;
};

class CublasLtKernel final : public StepAlternative {
public:
  CublasLtKernel(std::shared_ptr<const Functions> functions, lt::Handle handle,
                 const BoundCall &call, Problem problem, const lt::Algorithm &algorithm,
                 size_t workspace)
      : functions(std::move(functions)), handle(handle), call(call), problem(std::move(problem)),
        algorithm(algorithm) {
    neededBytes = static_cast<int64_t>(workspace);
  }

  Result<void> launch(std::span<const CUdeviceptr> arguments, CUdeviceptr workspace,
                      CUstream stream) const override {
    const auto &product = std::get<MatrixProduct<int64_t>>(call.operation);
    auto address = [&](CUdeviceptr base, int64_t offset) {
      return reinterpret_cast<void *>(base +
                                      static_cast<CUdeviceptr>(offset * sizeBytesOf(call.dtype)));
    };
    constexpr const char *kFailed = "a matrix product failed";
    if (call.bias >= 0) {
      CUdeviceptr bias = arguments[static_cast<size_t>(call.bias)];
      if (lt::Status status = functions->cublasLtMatmulDescSetAttribute(
              problem.description.object, lt::DESC_BIAS_POINTER, &bias, sizeof bias))
        return functions->failure(status, "cublasLtMatmulDescSetAttribute", kFailed);
    }
    void *y = address(arguments.back(), product.yOffset);
    void *residual =
        call.residual >= 0 ? address(arguments[static_cast<size_t>(call.residual)], 0) : y;
    float one = 1, zero = 0;
    double wideOne = 1, wideZero = 0;
    bool isWide = call.dtype == DType::F64, adds = call.residual >= 0;
    const void *alpha = isWide ? static_cast<const void *>(&wideOne) : &one;
    const void *beta = adds ? alpha : isWide ? static_cast<const void *>(&wideZero) : &zero;
    lt::Status status = functions->cublasLtMatmul(
        handle, problem.description.object, alpha,
        address(arguments[static_cast<size_t>(call.w)], product.wOffset), problem.a.object,
        address(arguments[static_cast<size_t>(call.x)], product.xOffset), problem.b.object, beta,
        residual, adds ? problem.c.object : problem.d.object, y, problem.d.object, &algorithm,
        reinterpret_cast<void *>(workspace), static_cast<size_t>(neededBytes), stream);
    return status ? Result<void>(functions->failure(status, "cublasLtMatmul", kFailed))
                  : Result<void>();
  }

private:
  std::shared_ptr<const Functions> functions;
  lt::Handle handle;
  BoundCall call;
  Problem problem;
  lt::Algorithm algorithm;
};

/// Eight numbers in hexadecimal: the library's documentation lets an algorithm be written down for
/// the same version.
std::string algorithmText(const lt::Algorithm &algorithm) {
  std::string text;
  for (uint64_t word : algorithm.data) {
    char digits[20];
    std::snprintf(digits, sizeof digits, "%s%llx", text.empty() ? "" : " ",
                  static_cast<unsigned long long>(word));
    text += digits;
  }
  return text;
}

bool readAlgorithm(const std::string &text, lt::Algorithm &algorithm) {
  const char *at = text.c_str();
  for (uint64_t &word : algorithm.data) {
    char *end = nullptr;
    word = std::strtoull(at, &end, 16);
    if (end == at)
      return false;
    at = end;
  }
  return *at == '\0';
}

class CublasLtSession final : public LibrarySession {
public:
  explicit CublasLtSession(std::shared_ptr<const Functions> functions)
      : functions(std::move(functions)) {}
  ~CublasLtSession() override {
    if (handle)
      functions->cublasLtDestroy(handle);
  }
  Result<void> open() {
    lt::Status status = functions->cublasLtCreate(&handle);
    if (!status)
      return {};
    handle = nullptr;
    return functions->failure(status, "cublasLtCreate", "cannot be used on this device");
  }

  Result<std::vector<std::string>> algorithms(const BoundCall &call) override {
    constexpr int kMost = 6;
    auto problem = ProblemBuilder(*functions, call).build();
    if (!problem)
      return problem.error();
    LibraryObject<lt::Preference> preference;
    preference.destroy = functions->cublasLtMatmulPreferenceDestroy;
    if (lt::Status status = functions->cublasLtMatmulPreferenceCreate(&preference.object))
      return functions->failure(status, "cublasLtMatmulPreferenceCreate", kAttempt);
    lt::Status status = 0;
    auto prefer = [&](int attribute, auto value) {
      if (!status)
        status = functions->cublasLtMatmulPreferenceSetAttribute(
            preference.object, static_cast<lt::PreferenceAttribute>(attribute), &value,
            sizeof value);
    };
    prefer(lt::PREF_MAX_WORKSPACE_BYTES, static_cast<uint64_t>(kMostLibraryWorkspaceBytes));
    // Parts of a deep sum are added as they were summed, not in half precision, and in a fixed
    // order.
    prefer(lt::PREF_REDUCTION_SCHEME_MASK, uint32_t(lt::REDUCTION_COMPUTE_TYPE));
    for (int matrix = 0; matrix < 4; ++matrix)
      prefer(lt::PREF_MIN_ALIGNMENT_A_BYTES + matrix, static_cast<uint32_t>(call.alignmentBytes));
    if (status)
      return functions->failure(status, "cublasLtMatmulPreferenceSetAttribute", kAttempt);
    lt::HeuristicResult results[kMost] = {};
    int count = 0;
    const lt::Layout c = call.residual >= 0 ? problem->c.object : problem->d.object;
    std::vector<std::string> names;
    // Another status than success: the library has nothing for this product.
    if (functions->cublasLtMatmulAlgoGetHeuristic(
            handle, problem->description.object, problem->a.object, problem->b.object, c,
            problem->d.object, preference.object, kMost, results, &count) == 0)
      for (int i = 0; i < count; ++i)
        if (results[i].state == 0)
          names.push_back(algorithmText(results[i].algorithm));
    return names;
  }

  Result<std::unique_ptr<StepAlternative>> make(const BoundCall &call,
                                              const std::string &name) override {
    lt::Algorithm algorithm = {};
    if (!readAlgorithm(name, algorithm))
      return userError("expected an algorithm of cuBLASLt, eight hexadecimal numbers, found \"" +
                       name + "\"");
    auto problem = ProblemBuilder(*functions, call).build();
    if (!problem)
      return problem.error();
    lt::HeuristicResult result = {};
    const lt::Layout c = call.residual >= 0 ? problem->c.object : problem->d.object;
    if (lt::Status status = functions->cublasLtMatmulAlgoCheck(
            handle, problem->description.object, problem->a.object, problem->b.object, c,
            problem->d.object, &algorithm, &result)) {
      const char *text = functions->cublasLtGetStatusName(status);
      return userError("cuBLASLt cannot compute this product with the algorithm " + name + " (" +
                       (text ? text : "") + ")");
    }
    return std::unique_ptr<StepAlternative>(std::make_unique<CublasLtKernel>(
        functions, handle, call, std::move(*problem), algorithm, result.workspaceBytes));
  }

private:
  std::shared_ptr<const Functions> functions;
  lt::Handle handle = nullptr;
};

class CublasLt final : public KernelLibrary {
public:
  Result<void> load() {
    LibrarySearch search;
    search.title = "cuBLASLt, NVIDIA's library of matrix products,";
    search.variable = "NNCC_CUBLASLT";
    search.names = {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so",
                    "/usr/local/cuda/lib64/libcublasLt.so"};
    search.advice =
        "Install cuBLAS of the CUDA toolkit 12 or later, tune again without it (--tune)";
    auto library = Library::open(search);
    if (!library)
      return library.error();
    auto table = std::make_shared<Functions>();
#define X(name, parameters)                                                                        \
  if (auto found = library->find(#name, table->name); !found)                                      \
    return found.error();
    NNCC_CUBLASLT_FUNCTIONS(X)
#undef X
    if (auto found = library->find("cublasLtGetVersion", table->cublasLtGetVersion); !found)
      return found.error();
    if (auto found = library->find("cublasLtGetStatusName", table->cublasLtGetStatusName); !found)
      return found.error();
    // 130002 is 13.0.2; before 13, 120805 was 12.8.5.
    size_t version = table->cublasLtGetVersion();
    itsVersion = std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
                 std::to_string(version % 100);
    itsFile = library->file();
    functions = std::move(table);
    return {};
  }

  Result<std::unique_ptr<LibrarySession>> open(SessionPlace) const override {
    auto session = std::make_unique<CublasLtSession>(functions);
    if (auto opened = session->open(); !opened)
      return opened.error();
    return std::unique_ptr<LibrarySession>(std::move(session));
  }

private:
  std::shared_ptr<const Functions> functions;
};

} // namespace

Result<std::shared_ptr<const KernelLibrary>> loadCublasLt() {
  auto library = std::make_shared<CublasLt>();
  if (auto loaded = library->load(); !loaded)
    return loaded.error();
  return std::shared_ptr<const KernelLibrary>(std::move(library));
}

} // namespace nncc::rt::cuda
