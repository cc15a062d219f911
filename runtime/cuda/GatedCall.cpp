// The kernel behind a library's function; see GatedCall.h.

#include "runtime/cuda/GatedCall.h"

#include "runtime/cuda/FinishedCall.h"

namespace nncc::rt::cuda {
namespace {

constexpr const char *kText = R"(
extern "C" __global__ void gate_gradient(const Element *sum, const Element *residual, const Element *gate, Element *result,
                                         long long count) {
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count)
    return;
  auto value = load(sum[i]);
  if (residual)
    value += load(residual[i]);
  result[i] = store(!gate || load(gate[i]) > 0 ? value : 0);
}
)";

/// Elements, and how they are read and written: sums are f32, of f64 elements f64.
const char *headerOf(DType dtype) {
  switch (dtype) {
  case DType::F64:
    return R"(using Element = double;
__device__ double load(Element x) { return x; }
__device__ Element store(double x) { return x; }
)";
  case DType::F16:
    return R"(using Element = unsigned short;
__device__ float load(Element x) {
  float wide;
  asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(x));
  return wide;
}
__device__ Element store(float x) {
  Element narrow;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(narrow) : "f"(x));
  return narrow;
}
)";
  case DType::BF16:
    return R"(using Element = unsigned short;
__device__ float load(Element x) { return __uint_as_float((unsigned)x << 16); }
__device__ Element store(float x) { // to nearest, ties to even
  const unsigned bits = __float_as_uint(x);
  return x != x ? 0x7fff : (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}
)";
  default:
    return R"(using Element = float;
__device__ float load(Element x) { return x; }
__device__ Element store(float x) { return x; }
)";
  }
}

int64_t resultElements(const BoundCall &call) {
  if (const auto *product = std::get_if<MatrixProduct<int64_t>>(&call.operation))
    return product->products * product->rows * product->columns;
  const auto &shape = std::get<Convolution<int64_t>>(call.operation);
  return call.pass == ConvolutionPass::DataGradient
             ? shape.batch * shape.channels * shape.inHeight * shape.inWidth
             : shape.batch * shape.outputs * shape.outHeight * shape.outWidth;
}

class GatedCall final : public FinishedCall {
public:
  GatedCall(std::shared_ptr<const GradientGate> gate, const BoundCall &call,
            std::unique_ptr<StepAlternative> inner)
      : FinishedCall(std::move(inner), resultElements(call) * sizeBytesOf(call.dtype)),
        gate(std::move(gate)), call(call), elements(resultElements(call)) {}

private:
  Result<void> finish(CUdeviceptr sum, std::span<const CUdeviceptr> arguments,
                      CUstream stream) const override {
    auto operand = [&](int32_t index) {
      return index < 0 ? CUdeviceptr(0) : arguments[static_cast<size_t>(index)];
    };
    return gate->launch(sum, operand(call.residual), operand(call.gate), arguments.back(), elements,
                        stream);
  }

  std::shared_ptr<const GradientGate> gate;
  BoundCall call;
  int64_t elements;
};

} // namespace

Result<GradientGate> GradientGate::create(std::shared_ptr<const Device> device, DType dtype) {
  auto kernel = RuntimeKernel::create(std::move(device), "gate_gradient", headerOf(dtype), kText);
  return kernel ? Result<GradientGate>(GradientGate(std::move(*kernel))) : kernel.error();
}

Result<void> GradientGate::launch(CUdeviceptr sum, CUdeviceptr residual, CUdeviceptr gate,
                                  CUdeviceptr result, int64_t elements, CUstream stream) const {
  constexpr int64_t kThreads = 256;
  long long count = elements;
  void *arguments[] = {&sum, &residual, &gate, &result, &count};
  return kernel.launch({(elements + kThreads - 1) / kThreads}, kThreads, arguments, stream,
                       "cannot finish a gradient");
}

bool needsGate(const BoundCall &call) {
  return call.gate >= 0 || (call.pass == ConvolutionPass::DataGradient && call.residual >= 0);
}

BoundCall withoutGate(const BoundCall &call) {
  BoundCall inner = call;
  if (needsGate(call))
    inner.residual = inner.gate = -1;
  return inner;
}

std::unique_ptr<StepAlternative> makeGatedCall(std::shared_ptr<const GradientGate> gate,
                                               const BoundCall &call,
                                               std::unique_ptr<StepAlternative> inner) {
  return std::make_unique<GatedCall>(std::move(gate), call, std::move(inner));
}

} // namespace nncc::rt::cuda
