// Convolutions and their gradients by a library whose filters lie otherwise than ours, against plain loops: on the stand-in driver,
// with the stand-in for cuDNN (test/fake-libraries).
#include "runtime/cuda/FilterCopy.h"
#include "runtime/cuda/KernelLibrary.h"
#include "runtime/cuda/ResidueOrder.h"

#include "cuda/CudaTestModel.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>

using namespace nncc;
using namespace nncc::rt;
using namespace nncc::rt::cuda;

namespace {

struct Case {
  const char *name;
  int64_t batch, channels, outputs, groups, height, width, kernelHeight, kernelWidth, stride, dilation, pad;

  int64_t outHeight() const { return (height + 2 * pad - dilation * (kernelHeight - 1) - 1) / stride + 1; }
  int64_t outWidth() const { return (width + 2 * pad - dilation * (kernelWidth - 1) - 1) / stride + 1; }
  int64_t taps() const { return kernelHeight * kernelWidth; }
  int64_t groupChannels() const { return channels / groups; }
  int64_t groupOutputs() const { return outputs / groups; }
  int64_t filterElements() const { return outputs * groupChannels() * taps(); }

  Convolution<int64_t> shape() const {
    Convolution<int64_t> shape;
    shape.batch = batch, shape.channels = channels, shape.outputs = outputs, shape.groups = groups;
    shape.inHeight = height, shape.inWidth = width;
    shape.outHeight = outHeight(), shape.outWidth = outWidth();
    shape.kernelHeight = kernelHeight, shape.kernelWidth = kernelWidth;
    shape.strideHeight = shape.strideWidth = stride;
    shape.dilationHeight = shape.dilationWidth = dilation;
    shape.padHeight = shape.padWidth = pad;
    return shape;
  }
};

constexpr Case kCases[] = {
    {"plain", 2, 5, 36, 1, 6, 4, 3, 3, 1, 1, 1},      {"wide", 1, 40, 7, 1, 5, 5, 3, 1, 1, 1, 0},
    {"grouped", 2, 6, 9, 3, 5, 6, 3, 2, 1, 1, 1},     {"depthwise", 2, 34, 34, 34, 5, 5, 3, 3, 1, 1, 1},
    {"pointwise", 3, 8, 12, 1, 3, 3, 1, 1, 1, 1, 0},  {"dilated", 1, 3, 4, 1, 8, 8, 3, 3, 1, 2, 2},
    {"strided", 2, 4, 6, 1, 8, 7, 3, 3, 2, 1, 1},
};

/// Small whole numbers, whose sums every type holds; another one for each tensor.
std::vector<double> numbers(int64_t count, int64_t seed) {
  std::vector<double> result;
  for (int64_t i = 0; i < count; ++i)
    result.push_back(static_cast<double>((i * 7 + i / 5 * 3 + seed) % 5 - 2));
  return result;
}

/// Visits every product of the convolution with the places of its operands in dense tensors: images and outputs with channels
/// innermost, a filter as [output][channel][tap].
template <class Visit> void forEachProduct(const Case &c, Visit visit) {
  for (int64_t n = 0; n < c.batch; ++n)
    for (int64_t p = 0; p < c.outHeight(); ++p)
      for (int64_t q = 0; q < c.outWidth(); ++q)
        for (int64_t r = 0; r < c.kernelHeight; ++r)
          for (int64_t s = 0; s < c.kernelWidth; ++s) {
            int64_t row = p * c.stride - c.pad + r * c.dilation, column = q * c.stride - c.pad + s * c.dilation;
            if (row < 0 || row >= c.height || column < 0 || column >= c.width)
              continue;
            for (int64_t k = 0; k < c.outputs; ++k)
              for (int64_t i = 0; i < c.groupChannels(); ++i) {
                int64_t channel = k / c.groupOutputs() * c.groupChannels() + i;
                visit(((n * c.height + row) * c.width + column) * c.channels + channel,
                      (k * c.groupChannels() + i) * c.taps() + r * c.kernelWidth + s,
                      ((n * c.outHeight() + p) * c.outWidth() + q) * c.outputs + k);
              }
          }
}

std::vector<std::byte> encode(DType type, const std::vector<double> &values) {
  auto size = static_cast<size_t>(sizeBytesOf(type));
  std::vector<std::byte> bytes(values.size() * size);
  for (size_t i = 0; i < values.size(); ++i) {
    auto put = [&](auto value) { std::memcpy(&bytes[i * size], &value, size); };
    if (type == DType::F64)
      put(values[i]);
    else if (type == DType::F32)
      put(static_cast<float>(values[i]));
    else { // F16: a whole number is its leading bit and the ten behind it
      auto magnitude = static_cast<int>(std::abs(values[i]));
      int exponent = magnitude ? std::ilogb(magnitude) : 0;
      int bits = magnitude ? (exponent + 15) << 10 | ((magnitude << 10 >> exponent) & 1023) : 0;
      put(static_cast<uint16_t>(bits | (values[i] < 0 ? 0x8000 : 0)));
    }
  }
  return bytes;
}

class CudnnCalls : public testing::TestWithParam<DType> {
protected:
  void SetUp() override {
    if (std::string missing = testmodel::prepareStandIn(); !missing.empty())
      GTEST_SKIP() << missing;
    setenv("NNCC_CUDNN", NNCC_TEST_CUDNN, 1);
    auto opened = Device::open(0);
    ASSERT_TRUE(opened) << opened.error().message;
    device = *opened;
    scope.emplace(std::move(*device->enter()));
    stream = std::move(*Stream::create(device));
    auto library = KernelLibrary::get(LibraryKind::Cudnn);
    ASSERT_TRUE(library) << library.error().message;
    session = std::move(*(*library)->open({device, std::make_shared<FilterStore>(device), stream.get()}));
  }
  void TearDown() override {
    if (stream.get())
      device->driver().cuStreamSynchronize(stream.get()); // before memory goes
    unsetenv("NNCC_CUDNN");
  }

  CUdeviceptr upload(const std::vector<double> &values) {
    std::vector<std::byte> bytes = encode(GetParam(), values);
    blocks.push_back(std::move(*DeviceBlock::allocate(device, static_cast<int64_t>(bytes.size()), "a tensor")));
    device->driver().cuMemcpyHtoDAsync_v2(blocks.back().address(), bytes.data(), bytes.size(), stream.get());
    device->driver().cuStreamSynchronize(stream.get());
    return blocks.back().address();
  }

  /// Runs the call by each of `algorithms`, which are those that there have to be: each makes `expected` of a result of sevens.
  void expectResult(const BoundCall &call, std::vector<CUdeviceptr> arguments, const std::vector<double> &expected,
                    const std::vector<std::string> &algorithms) {
    auto found = session->algorithms(call);
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_EQ(*found, algorithms);
    for (const std::string &algorithm : *found) {
      arguments.push_back(upload(std::vector<double>(expected.size(), 7)));
      auto made = session->make(call, algorithm);
      ASSERT_TRUE(made) << made.error().message;
      auto workspace = DeviceBlock::allocate(device, std::max<int64_t>((*made)->workspaceBytes(), 1), "a workspace");
      auto launched = (*made)->launch(arguments, workspace->address(), stream.get());
      ASSERT_TRUE(launched) << launched.error().message;
      std::vector<std::byte> wanted = encode(GetParam(), expected), bytes(wanted.size());
      device->driver().cuMemcpyDtoHAsync_v2(bytes.data(), arguments.back(), bytes.size(), stream.get());
      ASSERT_EQ(device->driver().cuStreamSynchronize(stream.get()), CUDA_SUCCESS);
      EXPECT_EQ(bytes, wanted) << algorithm;
      arguments.pop_back();
    }
  }

  std::shared_ptr<const Device> device;
  std::optional<Device::Scope> scope;
  Stream stream;
  std::unique_ptr<LibrarySession> session;
  std::vector<DeviceBlock> blocks;
};

/// A call whose first two arguments are its operands.
BoundCall callOf(const Case &c, ConvolutionPass pass, DType dtype, const FilterStrides &strides) {
  Convolution<int64_t> shape = c.shape();
  shape.wOffset = strides.offset, shape.wGroup = strides.group, shape.wOutput = strides.output;
  shape.wTap = strides.tap, shape.wChannel = strides.channel;
  BoundCall call;
  call.operation = shape;
  call.dtype = dtype;
  call.pass = pass;
  call.x = 0;
  call.w = 1;
  return call;
}

/// The filter [output][channel][tap], put where the strides say. `isMirrored`: tap t in the place of the last but t.
std::vector<double> placed(const Case &c, const std::vector<double> &filter, const FilterStrides &strides, int64_t elements,
                           bool isMirrored = false, double filling = 0) {
  std::vector<double> result(static_cast<size_t>(elements), filling);
  for (int64_t k = 0; k < c.outputs; ++k)
    for (int64_t i = 0; i < c.groupChannels(); ++i)
      for (int64_t t = 0; t < c.taps(); ++t)
        result[static_cast<size_t>(strides.offset + k / c.groupOutputs() * strides.group + k % c.groupOutputs() * strides.output +
                                   i * strides.channel + (isMirrored ? c.taps() - 1 - t : t) * strides.tap)] =
            filter[static_cast<size_t>((k * c.groupChannels() + i) * c.taps() + t)];
  return result;
}

} // namespace

TEST_P(CudnnCalls, OutputsFromAFilterThatChanges) {
  for (const Case &c : kCases) {
    SCOPED_TRACE(c.name);
    std::vector<double> x = numbers(c.batch * c.height * c.width * c.channels, 1), w = numbers(c.filterElements(), 2),
                        y(static_cast<size_t>(c.batch * c.outHeight() * c.outWidth() * c.outputs));
    forEachProduct(c, [&](int64_t inX, int64_t inW, int64_t inY) {
      y[static_cast<size_t>(inY)] += x[static_cast<size_t>(inX)] * w[static_cast<size_t>(inW)];
    });
    // Panels of output channels, a little wider than there are; depthwise ones of taps.
    int64_t width = c.groupOutputs() + 3;
    bool isDepthwise = c.groupChannels() == 1 && c.groupOutputs() == 1;
    FilterStrides strides = isDepthwise ? FilterStrides{0, 1, 1, c.outputs + 3, 0}
                                        : FilterStrides{0, c.taps() * c.groupChannels() * width, 1, c.groupChannels() * width, width};
    int64_t elements = isDepthwise ? c.taps() * (c.outputs + 3) : c.groups * strides.group;
    expectResult(callOf(c, ConvolutionPass::Output, GetParam(), strides), {upload(x), upload(placed(c, w, strides, elements))}, y,
                 {"0", "1"});
  }
}

TEST_P(CudnnCalls, GradientsOfData) {
  for (const Case &c : kCases) {
    if (c.stride > 1)
      continue;
    SCOPED_TRACE(c.name);
    std::vector<double> g = numbers(c.batch * c.outHeight() * c.outWidth() * c.outputs, 3), w = numbers(c.filterElements(), 4),
                        dx(static_cast<size_t>(c.batch * c.height * c.width * c.channels));
    forEachProduct(c, [&](int64_t inX, int64_t inW, int64_t inY) {
      dx[static_cast<size_t>(inX)] += g[static_cast<size_t>(inY)] * w[static_cast<size_t>(inW)];
    });
    int64_t width = c.groupChannels() + 3;
    bool isDepthwise = c.groupChannels() == 1 && c.groupOutputs() == 1;
    FilterStrides strides = isDepthwise ? FilterStrides{0, 1, 0, c.outputs + 3, 1}
                                        : FilterStrides{0, c.taps() * c.groupOutputs() * width, width, c.groupOutputs() * width, 1};
    int64_t elements = isDepthwise ? c.taps() * (c.outputs + 3) : c.groups * strides.group;
    expectResult(callOf(c, ConvolutionPass::DataGradient, GetParam(), strides),
                 {upload(g), upload(placed(c, w, strides, elements, /*isMirrored=*/true))}, dx, {"data 1"});
  }
}

/// With a stride our weight has the taps of each residue side by side: [group][tap of a residue][output][residue][channel].
TEST_P(CudnnCalls, GradientsOfDataWithAStride) {
  for (const Case &c : {Case{"three", 2, 6, 10, 2, 8, 6, 3, 3, 2, 1, 1}, {"four", 1, 3, 4, 1, 6, 6, 4, 4, 2, 1, 1},
                        {"two", 1, 4, 5, 1, 6, 9, 2, 3, 2, 1, 0}, {"five by three", 1, 2, 3, 1, 9, 6, 5, 5, 3, 1, 2}}) {
    SCOPED_TRACE(c.name);
    std::vector<double> g = numbers(c.batch * c.outHeight() * c.outWidth() * c.outputs, 3), w = numbers(c.filterElements(), 4),
                        dx(static_cast<size_t>(c.batch * c.height * c.width * c.channels));
    forEachProduct(c, [&](int64_t inX, int64_t inW, int64_t inY) {
      dx[static_cast<size_t>(inX)] += g[static_cast<size_t>(inY)] * w[static_cast<size_t>(inW)];
    });
    // Along each dimension all (residue, place that is read from q) that there are, by the definition of a transposed convolution.
    struct Reach {
      int64_t first = 100, last = -100;
    } reach[2];
    const int64_t kernel[2] = {c.kernelHeight, c.kernelWidth};
    for (int axis = 0; axis < 2; ++axis)
      for (int64_t r = 0; r < c.stride; ++r)
        for (int64_t at = -10; at <= 10; ++at)
          if (int64_t k = r + c.pad - at * c.stride; k >= 0 && k < kernel[axis]) {
            reach[axis].first = std::min(reach[axis].first, at);
            reach[axis].last = std::max(reach[axis].last, at);
          }
    int64_t tapsHigh = reach[0].last - reach[0].first + 1, tapsWide = reach[1].last - reach[1].first + 1,
            columns = c.stride * c.stride * c.groupChannels(), width = columns + 3;
    std::vector<double> packed(static_cast<size_t>(c.groups * tapsHigh * tapsWide * c.groupOutputs() * width));
    for (int64_t group = 0; group < c.groups; ++group)
      for (int64_t m = 0; m < tapsHigh * tapsWide; ++m)
        for (int64_t k = 0; k < c.groupOutputs(); ++k)
          for (int64_t column = 0; column < columns; ++column) {
            int64_t channel = column % c.groupChannels(), residue = column / c.groupChannels();
            int64_t tapHigh = residue / c.stride + c.pad - (reach[0].first + m / tapsWide) * c.stride,
                    tapWide = residue % c.stride + c.pad - (reach[1].first + m % tapsWide) * c.stride;
            if (tapHigh >= 0 && tapHigh < c.kernelHeight && tapWide >= 0 && tapWide < c.kernelWidth)
              packed[static_cast<size_t>(((group * tapsHigh * tapsWide + m) * c.groupOutputs() + k) * width + column)] =
                  w[static_cast<size_t>(((group * c.groupOutputs() + k) * c.groupChannels() + channel) * c.taps() +
                                        tapHigh * c.kernelWidth + tapWide)];
          }
    FilterStrides strides{0, tapsHigh * tapsWide * c.groupOutputs() * width, width, c.groupOutputs() * width, 1};
    BoundCall call = callOf(c, ConvolutionPass::DataGradient, GetParam(), strides);
    EXPECT_TRUE(isInResidueOrder(call));
    std::vector<CUdeviceptr> arguments = {upload(g), upload(packed)};
    expectResult(call, arguments, dx, {"data 1"});

    // And the result in the order that our kernel leaves.
    if (c.height % c.stride || c.width % c.stride)
      continue;
    std::vector<double> ordered;
    for (int64_t n = 0; n < c.batch; ++n)
      for (int64_t i = 0; i < c.height / c.stride * (c.width / c.stride); ++i)
        for (int64_t group = 0; group < c.groups; ++group)
          for (int64_t column = 0; column < columns; ++column) {
            int64_t residue = column / c.groupChannels(), row = i / (c.width / c.stride) * c.stride + residue / c.stride,
                    at = i % (c.width / c.stride) * c.stride + residue % c.stride;
            ordered.push_back(dx[static_cast<size_t>(((n * c.height + row) * c.width + at) * c.channels + group * c.groupChannels() +
                                                     column % c.groupChannels())]);
          }
    auto order = ResidueOrder::create(device, GetParam());
    ASSERT_TRUE(order) << order.error().message;
    auto whole = makeResidueCall(std::make_shared<const ResidueOrder>(std::move(*order)), call, std::move(*session->make(call, "data 1")));
    arguments.push_back(upload(std::vector<double>(ordered.size(), 7)));
    auto workspace = DeviceBlock::allocate(device, whole->workspaceBytes(), "a workspace");
    auto launched = whole->launch(arguments, workspace->address(), stream.get());
    ASSERT_TRUE(launched) << launched.error().message;
    std::vector<std::byte> wanted = encode(GetParam(), ordered), bytes(wanted.size());
    device->driver().cuMemcpyDtoHAsync_v2(bytes.data(), arguments.back(), bytes.size(), stream.get());
    ASSERT_EQ(device->driver().cuStreamSynchronize(stream.get()), CUDA_SUCCESS);
    EXPECT_EQ(bytes, wanted);
  }
}

TEST_P(CudnnCalls, GradientsOfWeights) {
  for (const Case &c : kCases) {
    SCOPED_TRACE(c.name);
    std::vector<double> x = numbers(c.batch * c.height * c.width * c.channels, 5),
                        g = numbers(c.batch * c.outHeight() * c.outWidth() * c.outputs, 6),
                        dw(static_cast<size_t>(c.filterElements()));
    forEachProduct(c, [&](int64_t inX, int64_t inW, int64_t inY) {
      dw[static_cast<size_t>(inW)] += x[static_cast<size_t>(inX)] * g[static_cast<size_t>(inY)];
    });
    // Somewhere in a longer tensor, the rest of which stays; where a vector may begin, and where none may.
    for (int64_t offset : {8, 3}) {
      FilterStrides strides{offset, c.groupOutputs() * c.groupChannels() * c.taps(), c.groupChannels() * c.taps(), 1, c.taps()};
      expectResult(callOf(c, ConvolutionPass::WeightGradient, GetParam(), strides), {upload(x), upload(g)},
                   placed(c, dw, strides, c.filterElements() + 11, false, 7), {"weight 1"});
    }
  }
}

TEST_P(CudnnCalls, TakeAFilterAsItIsWhereItLiesAsTheLibraryHasIt) {
  const Case &c = kCases[4];
  auto workspaceBytes = [&](ConvolutionPass pass, const FilterStrides &strides, const char *algorithm) {
    auto made = session->make(callOf(c, pass, GetParam(), strides), algorithm);
    return made ? (*made)->workspaceBytes() : -1;
  };
  FilterStrides rows{16, 0, c.channels, 1, 1};
  EXPECT_EQ(workspaceBytes(ConvolutionPass::DataGradient, rows, "data 1"), 4096);
  EXPECT_EQ(workspaceBytes(ConvolutionPass::WeightGradient, rows, "weight 1"), 4096);
  rows.offset = 1; // not at a multiple of 16 bytes
  EXPECT_EQ(workspaceBytes(ConvolutionPass::WeightGradient, rows, "weight 1"),
            4096 + c.filterElements() * sizeBytesOf(GetParam()));
}

TEST_P(CudnnCalls, AlgorithmsThatAddByChanceAreRefused) {
  FilterStrides strides = FilterStrides::channelsInnermost(kCases[0].shape());
  for (auto [pass, name, expected] :
       {std::tuple(ConvolutionPass::DataGradient, "data 0", "expected an algorithm of cuDNN, data 1 to 5, found \"data 0\""),
        {ConvolutionPass::WeightGradient, "weight 0", "expected an algorithm of cuDNN, weight 1 to 6, found \"weight 0\""},
        {ConvolutionPass::WeightGradient, "weight 3", "found \"weight 3\""},
        {ConvolutionPass::WeightGradient, "data 1", "found \"data 1\""},
        {ConvolutionPass::WeightGradient, "weight 7", "found \"weight 7\""},
        {ConvolutionPass::WeightGradient, "weight ", "found \"weight \""},
        {ConvolutionPass::WeightGradient, "weight 6", "cuDNN cannot compute this convolution with the algorithm weight 6"}}) {
    auto made = session->make(callOf(kCases[0], pass, GetParam(), strides), name);
    ASSERT_FALSE(made) << name;
    EXPECT_EQ(made.error().kind, ErrorKind::User);
    EXPECT_NE(made.error().message.find(expected), std::string::npos) << made.error().message;
  }
}

TEST_P(CudnnCalls, FailuresNameTheCall) {
  CUdeviceptr memory = upload(std::vector<double>(8192)); // more than any operand has
  FilterStrides strides = FilterStrides::channelsInnermost(kCases[0].shape());
  for (auto [pass, algorithm, call] : {std::tuple(ConvolutionPass::DataGradient, "data 1", "cudnnConvolutionBackwardData"),
                                       {ConvolutionPass::WeightGradient, "weight 1", "cudnnConvolutionBackwardFilter"}}) {
    auto made = session->make(callOf(kCases[0], pass, GetParam(), strides), algorithm);
    ASSERT_TRUE(made) << made.error().message;
    setenv("NNCC_FAKE_FAIL", (std::string(call) + ":*:5000").c_str(), 1);
    CUdeviceptr arguments[] = {memory, memory, memory};
    auto launched = (*made)->launch(arguments, upload(std::vector<double>(8192)), stream.get());
    unsetenv("NNCC_FAKE_FAIL");
    ASSERT_FALSE(launched);
    EXPECT_EQ(launched.error().message, std::string("cuDNN: a convolution failed: ") + call + " returned CUDNN_STATUS_EXECUTION_FAILED");
  }
}

TEST_P(CudnnCalls, TensorsThatBeginAnywhereAreForNone) {
  BoundCall call = callOf(kCases[0], ConvolutionPass::WeightGradient, GetParam(), FilterStrides::channelsInnermost(kCases[0].shape()));
  call.alignmentBytes = 8;
  EXPECT_TRUE(session->algorithms(call)->empty());
  EXPECT_FALSE(session->make(call, "weight 1"));
}

INSTANTIATE_TEST_SUITE_P(Types, CudnnCalls, testing::Values(DType::F32, DType::F64, DType::F16),
                         [](const testing::TestParamInfo<DType> &info) { return std::string(nameOf(info.param)); });
