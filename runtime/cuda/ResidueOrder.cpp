// The kernel that reorders and its launch; see ResidueOrder.h.

#include "runtime/cuda/ResidueOrder.h"

#include "runtime/cuda/FinishedCall.h"

#include <algorithm>

namespace nncc::rt::cuda {
namespace {

constexpr const char *kText = R"(
extern "C" __global__ void order_residues(const Element *from, Element *to, long long count, int height, int width, int groups,
                                          int stride_h, int stride_w, int channels) {
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count)
    return;
  long long rest = i;
  auto next = [&](int extent) {
    const int index = rest % extent;
    rest /= extent;
    return index;
  };
  const int channel = next(channels), residue_w = next(stride_w), residue_h = next(stride_h), group = next(groups);
  const int q_w = next(width), q_h = next(height);
  const long long row = (rest * height + q_h) * stride_h + residue_h;
  const long long place = row * (width * stride_w) + q_w * stride_w + residue_w;
  to[i] = from[(place * groups + group) * channels + channel];
}
)";

int64_t elementsOf(const Convolution<int64_t> &shape) {
  return shape.batch * shape.channels * shape.inHeight * shape.inWidth;
}

class ResidueCall final : public FinishedCall {
public:
  ResidueCall(std::shared_ptr<const ResidueOrder> order, const BoundCall &call,
              std::unique_ptr<StepAlternative> inner)
      : FinishedCall(std::move(inner), elementsOf(std::get<Convolution<int64_t>>(call.operation)) *
                                           sizeBytesOf(call.dtype)),
        order(std::move(order)), shape(std::get<Convolution<int64_t>>(call.operation)) {}

private:
  Result<void> finish(CUdeviceptr dense, std::span<const CUdeviceptr> arguments,
                      CUstream stream) const override {
    return order->launch(shape, dense, arguments.back(), stream);
  }

  std::shared_ptr<const ResidueOrder> order;
  Convolution<int64_t> shape;
};

} // namespace

bool isInResidueOrder(const LibraryCallOf<int64_t> &call) {
  const auto *shape = std::get_if<Convolution<int64_t>>(&call.operation);
  return shape && call.pass == ConvolutionPass::DataGradient &&
         (shape->strideHeight > 1 || shape->strideWidth > 1);
}

ResidueTaps::ResidueTaps(int64_t kernel, int64_t stride, int64_t pad) {
  int64_t last = INT64_MIN;
  first = INT64_MAX;
  for (int64_t residue = 0; residue < stride; ++residue)
    for (int64_t tap = 0; tap < kernel; ++tap)
      if (int64_t reach = residue + pad - tap; reach % stride == 0) {
        first = std::min(first, reach / stride);
        last = std::max(last, reach / stride);
      }
  taps = last - first + 1;
}

Result<ResidueOrder> ResidueOrder::create(std::shared_ptr<const Device> device, DType dtype) {
  auto kernel =
      RuntimeKernel::create(std::move(device), "order_residues", elementHeader(dtype), kText);
  return kernel ? Result<ResidueOrder>(ResidueOrder(std::move(*kernel))) : kernel.error();
}

Result<void> ResidueOrder::launch(const Convolution<int64_t> &shape, CUdeviceptr from,
                                  CUdeviceptr to, CUstream stream) const {
  constexpr int64_t kThreads = 256;
  long long count = elementsOf(shape);
  auto number = [](int64_t value) { return static_cast<int>(value); }; // cuDNN counts in 32 bits
  int height = number(shape.inHeight / shape.strideHeight),
      width = number(shape.inWidth / shape.strideWidth), groups = number(shape.groups),
      strideHeight = number(shape.strideHeight), strideWidth = number(shape.strideWidth),
      channels = number(shape.channels / shape.groups);
  void *arguments[] = {&from,         &to,          &count,    &height, &width, &groups,
                       &strideHeight, &strideWidth, &channels};
  return kernel.launch({(count + kThreads - 1) / kThreads}, kThreads, arguments, stream,
                       "cannot put a gradient into its order");
}

std::unique_ptr<StepAlternative> makeResidueCall(std::shared_ptr<const ResidueOrder> order,
                                                 const BoundCall &call,
                                                 std::unique_ptr<StepAlternative> inner) {
  return std::make_unique<ResidueCall>(std::move(order), call, std::move(inner));
}

} // namespace nncc::rt::cuda
