// The kernels of the test model as CUDA C++, written by hand.
#include "cuda/CudaTestModel.h"

#include "runtime/ProgramJson.h"
#include "runtime/cuda/CudaProgram.h"

#include <cstdlib>

using namespace nncc;
using namespace nncc::rt;

namespace testmodel {
namespace {

constexpr const char *kHeader = R"(
constexpr int kInputs = 4, kOutputs = 3;
__device__ int element() { return blockIdx.x * blockDim.x + threadIdx.x; }
)";

constexpr const char *kPack = R"(
extern "C" __global__ void pack_0(const float *weight, float *packed, int N) {
  int i = element();
  if (i < kInputs)
    for (int o = 0; o < kOutputs; ++o)
      packed[i * kOutputs + o] = weight[o * kInputs + i];
})";

constexpr const char *kLinear = R"(
extern "C" __global__ void linear_1(const float *x, const float *packed, const float *bias, float *y,
                                    int N) {
  int n = element() / kOutputs, o = element() % kOutputs;
  if (n >= N)
    return;
  float sum = bias[o];
  for (int i = 0; i < kInputs; ++i)
    sum += x[n * kInputs + i] * packed[i * kOutputs + o];
  y[n * kOutputs + o] = sum;
})";

constexpr const char *kRelu = R"(
extern "C" __global__ void relu_2(const float *x, float *y, int N) {
  int i = element();
  if (i < N * kOutputs)
    y[i] = x[i] > 0 ? x[i] : 0;
})";

constexpr const char *kPick = R"(
extern "C" __global__ void pick_3(const float *x, const long long *index, float *y, int *status, int N) {
  int n = element();
  if (n >= N)
    return;
  if (index[n] < 0 || index[n] >= kOutputs)
    *status = 1;
  else
    y[n] = x[n * kOutputs + index[n]];
})";

/// A thread for each row.
constexpr const char *kWhole = R"(
extern "C" __global__ void linear_whole(const float *x, const float *packed, const float *bias, float *y, int N) {
  int n = element();
  for (int o = 0; n < N && o < kOutputs; ++o) {
    float sum = bias[o];
    for (int i = 0; i < kInputs; ++i)
      sum += x[n * kInputs + i] * packed[i * kOutputs + o];
    y[n * kOutputs + o] = sum;
  }
})";

constexpr const char *kDouble = R"(
extern "C" __global__ void linear_double(const float *x, const float *packed, const float *bias, float *y, int N) {
  int n = element() / kOutputs, o = element() % kOutputs;
  if (n >= N)
    return;
  float sum = bias[o];
  for (int i = 0; i < kInputs; ++i)
    sum += x[n * kInputs + i] * packed[i * kOutputs + o];
  y[n * kOutputs + o] = 2 * sum;
})";

constexpr const char *kParts = R"(
extern "C" __global__ void linear_parts(const float *x, const float *packed, const float *bias, float *parts, int N) {
  int n = element() / kOutputs, o = element() % kOutputs;
  for (int part = 0; n < N && part < 2; ++part) {
    float sum = part ? 0 : bias[o];
    for (int i = part * 2; i < part * 2 + 2; ++i)
      sum += x[n * kInputs + i] * packed[i * kOutputs + o];
    parts[(part * N + n) * kOutputs + o] = sum;
  }
})";

constexpr const char *kPartsSum = R"(
extern "C" __global__ void linear_parts_sum(const float *x, const float *packed, const float *bias, const float *parts, float *y,
                                            int N) {
  int i = element();
  if (i < N * kOutputs)
    y[i] = parts[i] + parts[N * kOutputs + i];
})";

/// Other tiles of the kernel `linear`.
void addTiles(Program &program) {
  for (const char *symbol : {"linear_whole", "linear_parts", "linear_parts_sum", "linear_double"}) {
    Kernel kernel = program.kernels[1];
    kernel.symbol = symbol;
    kernel.alternatives.clear();
    kernel.tiles.clear();
    program.kernels.push_back(kernel);
  }
  uint32_t first = static_cast<uint32_t>(program.kernels.size()) - 4;
  SizeExpr workspaceBytes = SizeExpr::dim(0) * (2 * kOutputs * static_cast<int64_t>(sizeof(float)));
  program.kernels[1].tiles = {{"whole", first}, {"in parts", first + 1, first + 2, workspaceBytes}, {"double", first + 3}};
}

Program cudaProgram(bool hasTiles) {
  constexpr int64_t kThreads = 32;
  Program program = testmodel::program();
  SizeExpr elements = SizeExpr::dim(0) * kOutputs;
  for (Kernel &kernel : program.kernels) {
    kernel.scratchBytes = 0;
    kernel.cuda = CudaLaunch{kThreads, SizeExpr::binary(SizeExpr::Op::CeilDiv, elements, kThreads)};
  }
  program.kernels[0].cuda->gridX = 1; // "prepare" knows no dims
  program.buffers.push_back({BufferKind::State, DType::F32, "unused state", {2}, 8});
  program.kernels[3].cuda->hasStatus = true;
  MatrixProduct<SizeExpr> product;
  product.products = 1;
  product.rows = SizeExpr::dim(0);
  product.columns = product.wRow = product.yRow = kOutputs;
  product.depth = product.xRow = kInputs;
  LibraryCall call;
  call.operation = product;
  call.x = 0;
  call.w = 1;
  call.bias = 2;
  program.kernels[1].alternatives = {call};
  if (hasTiles)
    addTiles(program);
  return program;
}

} // namespace

CudaModel::CudaModel(std::string weights, bool hasTiles)
    : both(std::move(weights)),
      json(writeProgramJson(cudaProgram(hasTiles))), kernels{{"pack_0", kPack, nullptr},
                                                     {"linear_1", kLinear, nullptr},
                                                     {"relu_2", kRelu, nullptr},
                                                     {"pick_3", kPick, nullptr}} {
  if (hasTiles)
    for (auto [symbol, text] : {std::pair("linear_whole", kWhole), {"linear_parts", kParts}, {"linear_parts_sum", kPartsSum}, {"linear_double", kDouble}})
      kernels.push_back({symbol, text, nullptr});
  cuda = {&nncc_cuda_backend, json.data(),    json.size(), kHeader,
          kernels.size(),     kernels.data(), 0,           nullptr,
          nullptr,            0};
  both.descriptor.cuda = &cuda;
}

void CudaModel::compileAhead(const char *forArchitecture) {
  auto nvrtc = rt::cuda::Nvrtc::get();
  texts.reserve(kernels.size());
  images.reserve(kernels.size());
  for (ModelCudaKernel &kernel : kernels) {
    auto compiled =
        (*nvrtc)->compile(std::string(kHeader) + kernel.source, kernel.symbol, "compute_80");
    texts.push_back(compiled ? compiled->image : compiled.error().message);
    images.push_back({texts.back().c_str(), texts.back().size() + 1});
    kernel.images = &images.back();
  }
  architecture = forArchitecture;
  cuda.architectureCount = 1;
  cuda.architectures = &architecture;
}

ModelDescriptor CudaModel::withoutCpu() const {
  ModelDescriptor descriptor = both.descriptor;
  descriptor.variantCount = 0;
  descriptor.variants = nullptr;
  return descriptor;
}

std::string prepareStandIn() {
  setenv("NNCC_CUDA_DRIVER", NNCC_TEST_CUDA_DRIVER, 1);
  setenv("NNCC_CACHE_DIR", NNCC_TEST_KERNEL_CACHE, 1);
  auto nvrtc = rt::cuda::Nvrtc::get();
  return nvrtc ? "" : nvrtc.error().message;
}

} // namespace testmodel
