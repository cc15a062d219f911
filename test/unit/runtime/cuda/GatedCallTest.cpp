// What the runtime does behind a library's function for a gradient: a residual, and the gradient of a relu; by the bits of each type,
// on the stand-in driver.
#include "runtime/cuda/GatedCall.h"

#include "cuda/CudaTestModel.h"

#include <gtest/gtest.h>


using namespace nncc;
using namespace nncc::rt;
using namespace nncc::rt::cuda;

namespace {

class GatedCalls : public testing::Test {
protected:
  void SetUp() override {
    if (std::string missing = testmodel::prepareStandIn(); !missing.empty())
      GTEST_SKIP() << missing;
    device = *Device::open(0);
    scope.emplace(std::move(*device->enter()));
    stream = std::move(*Stream::create(device));
  }

  template <class Number> CUdeviceptr upload(const std::vector<Number> &numbers) {
    size_t size = numbers.size() * sizeof(Number);
    blocks.push_back(std::move(*DeviceBlock::allocate(device, static_cast<int64_t>(size), "a tensor")));
    device->driver().cuMemcpyHtoDAsync_v2(blocks.back().address(), numbers.data(), size, stream.get());
    device->driver().cuStreamSynchronize(stream.get());
    return blocks.back().address();
  }
  template <class Number> std::vector<Number> download(CUdeviceptr from, size_t count) {
    std::vector<Number> numbers(count);
    device->driver().cuMemcpyDtoHAsync_v2(numbers.data(), from, count * sizeof(Number), stream.get());
    EXPECT_EQ(device->driver().cuStreamSynchronize(stream.get()), CUDA_SUCCESS);
    return numbers;
  }

  /// With both, with one and with the other; the result in the place of the gate.
  template <class Number>
  void expectResults(DType dtype, const std::vector<Number> &sum, const std::vector<Number> &residual, const std::vector<Number> &gate,
                     const std::vector<Number> &both, const std::vector<Number> &added, const std::vector<Number> &gated) {
    auto kernel = GradientGate::create(device, dtype);
    ASSERT_TRUE(kernel) << kernel.error().message;
    auto run = [&](bool hasResidual, bool hasGate) {
      CUdeviceptr gateOrResult = upload(gate);
      auto launched = kernel->launch(upload(sum), hasResidual ? upload(residual) : 0, hasGate ? gateOrResult : 0, gateOrResult,
                                     static_cast<int64_t>(sum.size()), stream.get());
      EXPECT_TRUE(launched) << launched.error().message;
      return download<Number>(gateOrResult, sum.size());
    };
    EXPECT_EQ(run(true, true), both);
    EXPECT_EQ(run(true, false), added);
    EXPECT_EQ(run(false, true), gated);
  }

  std::shared_ptr<const Device> device;
  std::optional<Device::Scope> scope;
  Stream stream;
  std::vector<DeviceBlock> blocks;
};

/// Leaves in its result what it was made with.
class Sums final : public StepAlternative {
public:
  Sums(std::shared_ptr<const Device> device, CUdeviceptr sums, size_t sizeBytes) : device(std::move(device)), sums(sums), sizeBytes(sizeBytes) {
    neededBytes = 3;
  }
  Result<void> launch(std::span<const CUdeviceptr> arguments, CUdeviceptr workspace, CUstream stream) const override {
    device->driver().cuMemsetD8Async(workspace, 0xee, 3, stream); // which is its own
    device->driver().cuMemcpyDtoDAsync_v2(arguments.back(), sums, sizeBytes, stream);
    return {};
  }
  std::shared_ptr<const Device> device;
  CUdeviceptr sums;
  size_t sizeBytes;
};

} // namespace

TEST_F(GatedCalls, AddAndGateF32) {
  expectResults<float>(DType::F32, {1, 2, 3, 4}, {0.5f, 0.25f, -8, 1}, {1, 0, 1e-30f, -1}, {1.5f, 0, -5, 0}, {1.5f, 2.25f, -5, 5},
                       {1, 0, 3, 0});
}

TEST_F(GatedCalls, AddAndGateF64) {
  expectResults<double>(DType::F64, {1, 2, 3}, {1e-12, 1, 1}, {1e-300, -0.0, 2}, {1 + 1e-12, 0, 4}, {1 + 1e-12, 3, 4}, {1, 0, 3});
}

TEST_F(GatedCalls, AddAndGateF16) {
  // 1, 2048, 1.5 and their like; 2048 + 1 is in the middle of two numbers and goes to the even one.
  expectResults<uint16_t>(DType::F16, {0x3c00, 0x6800, 0x3e00}, {0x3c00, 0x3c00, 0xc000}, {0x0001, 0x3c00, 0x8001}, {0x4000, 0x6800, 0},
                          {0x4000, 0x6800, 0xb800}, {0x3c00, 0x6800, 0});
}

TEST_F(GatedCalls, AddAndGateBF16) {
  // 1 + 1; 256 + 1 and 258 + 1 lie in the middle and go to the even ones, 256 and 260; NaN stays one.
  expectResults<uint16_t>(DType::BF16, {0x3f80, 0x4380, 0x4381, 0x7fc0}, {0x3f80, 0x3f80, 0x3f80, 0}, {0x3f80, 0x3f80, 0x3f80, 0x8000},
                          {0x4000, 0x4380, 0x4382, 0}, {0x4000, 0x4380, 0x4382, 0x7fff}, {0x3f80, 0x4380, 0x4381, 0});
}

TEST_F(GatedCalls, GiveTheLibraryAWorkspaceForItsResult) {
  constexpr size_t kCount = 300; // more than a block has threads
  std::vector<float> sum, residual, gate, expected;
  for (size_t i = 0; i < kCount; ++i) {
    sum.push_back(static_cast<float>(i));
    residual.push_back(static_cast<float>(i % 7));
    gate.push_back(static_cast<float>(i % 3) - 1);
    expected.push_back(gate[i] > 0 ? sum[i] + residual[i] : 0);
  }
  BoundCall call;
  MatrixProduct<int64_t> product;
  product.products = 2, product.rows = 10, product.columns = 15;
  call.operation = product;
  call.residual = 0, call.gate = 1;
  EXPECT_TRUE(needsGate(call));
  EXPECT_EQ(withoutGate(call).gate, -1);
  EXPECT_EQ(withoutGate(call).residual, -1);
  EXPECT_FALSE(needsGate(withoutGate(call)));
  auto kernel = GradientGate::create(device, DType::F32);
  ASSERT_TRUE(kernel) << kernel.error().message;
  auto gated = makeGatedCall(std::make_shared<const GradientGate>(std::move(*kernel)), call,
                             std::make_unique<Sums>(device, upload(sum), kCount * sizeof(float)));
  EXPECT_EQ(gated->workspaceBytes(), 256 + static_cast<int64_t>(kCount * sizeof(float)));
  // The result takes the place of the gate.
  std::vector<CUdeviceptr> arguments = {upload(residual), upload(gate)};
  arguments.push_back(arguments[1]);
  auto launched = gated->launch(arguments, upload(std::vector<char>(static_cast<size_t>(gated->workspaceBytes()))), stream.get());
  ASSERT_TRUE(launched) << launched.error().message;
  EXPECT_EQ(download<float>(arguments[1], kCount), expected);
}

TEST_F(GatedCalls, AResidualAloneIsTheLibrarys) {
  BoundCall call;
  call.operation = Convolution<int64_t>();
  call.residual = 1;
  EXPECT_FALSE(needsGate(call));
  EXPECT_EQ(withoutGate(call).residual, 1);
  call.pass = ConvolutionPass::DataGradient; // for which cuDNN has none
  EXPECT_TRUE(needsGate(call));
}
