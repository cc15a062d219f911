// The kernel that turns filters and its launches; see FilterCopy.h.

#include "runtime/cuda/FilterCopy.h"

#include "runtime/cuda/ResidueOrder.h"

namespace nncc::rt::cuda {
namespace {

/// A block copies 32 x 32 of the outputs and channels of one group and tap. Through shared memory, since neighbours in the source
/// may be apart in the target: threads of a warp stand side by side along what is innermost, first there, then here.
constexpr const char *kText = R"(
struct Strides { long long offset, group, output, tap, channel; };
struct Residues { int stride_h, stride_w, pad_h, pad_w, first_h, first_w, taps_w, kernel_w; };
__device__ int residue_of(int tap, int stride, int pad) { return ((tap - pad) % stride + stride) % stride; }

extern "C" __global__ void copy_filter(const Element *from, Element *to, int outputs, int taps, int channels, Strides source,
                                       Strides target, Residues residues, bool reads_outputs, bool writes_outputs) {
  constexpr int kTile = 32, kRows = 8;
  __shared__ Element tile[kTile][kTile + 1];
  const int first_output = blockIdx.x * kTile, first_channel = blockIdx.y * kTile;
  const int group = blockIdx.z / taps, tap = blockIdx.z % taps;
  const int lane = threadIdx.x % kTile;
  from += source.offset + group * source.group;
  if (residues.stride_h) {
    const int tap_h = tap / residues.kernel_w, tap_w = tap % residues.kernel_w;
    const int residue_h = residue_of(tap_h, residues.stride_h, residues.pad_h);
    const int residue_w = residue_of(tap_w, residues.stride_w, residues.pad_w);
    const int theirs_h = (residue_h + residues.pad_h - tap_h) / residues.stride_h - residues.first_h;
    const int theirs_w = (residue_w + residues.pad_w - tap_w) / residues.stride_w - residues.first_w;
    from += (theirs_h * residues.taps_w + theirs_w) * source.tap + (residue_h * residues.stride_w + residue_w) * channels;
  } else {
    from += tap * source.tap;
  }
  to += target.offset + group * target.group + tap * target.tap;
  for (int row = threadIdx.x / kTile; row < kTile; row += kRows) {
    const int o = reads_outputs ? lane : row, c = reads_outputs ? row : lane;
    if (first_output + o < outputs && first_channel + c < channels)
      tile[o][c] = from[(first_output + o) * source.output + (first_channel + c) * source.channel];
  }
  __syncthreads();
  for (int row = threadIdx.x / kTile; row < kTile; row += kRows) {
    const int o = writes_outputs ? lane : row, c = writes_outputs ? row : lane;
    if (first_output + o < outputs && first_channel + c < channels)
      to[(first_output + o) * target.output + (first_channel + c) * target.channel] = tile[o][c];
  }
}
)";

constexpr unsigned kThreads = 256;
constexpr int64_t kTile = 32, kMostAcross = 65535;

} // namespace

FilterStrides FilterStrides::ofCall(const LibraryCallOf<int64_t> &call) {
  const auto &shape = std::get<Convolution<int64_t>>(call.operation);
  FilterStrides strides{shape.wOffset, shape.wGroup, shape.wOutput, shape.wTap, shape.wChannel};
  if (isInResidueOrder(call)) {
    strides.isByResidues = true;
  } else if (call.pass == ConvolutionPass::DataGradient) {
    strides.offset += (shape.kernelHeight * shape.kernelWidth - 1) * shape.wTap;
    strides.tap = -shape.wTap;
  }
  return strides;
}

FilterStrides FilterStrides::channelsInnermost(const Convolution<int64_t> &shape) {
  int64_t channels = shape.channels / shape.groups,
          output = shape.kernelHeight * shape.kernelWidth * channels;
  return {0, shape.outputs / shape.groups * output, output, channels, 1};
}

bool FilterStrides::areChannelsInnermost(const Convolution<int64_t> &shape) const {
  FilterStrides dense = channelsInnermost(shape);
  int64_t taps = shape.kernelHeight * shape.kernelWidth;
  return !isByResidues && (shape.groups == 1 || group == dense.group) &&
         (shape.outputs == shape.groups || output == dense.output) &&
         (taps == 1 || tap == dense.tap) &&
         (shape.channels == shape.groups || channel == dense.channel);
}

Result<FilterCopier> FilterCopier::create(std::shared_ptr<const Device> device, DType dtype) {
  auto kernel = RuntimeKernel::create(std::move(device), "copy_filter", elementHeader(dtype), kText);
  return kernel ? Result<FilterCopier>(FilterCopier(std::move(*kernel))) : kernel.error();
}

Result<void> FilterCopier::launch(const Convolution<int64_t> &shape, CUdeviceptr from, const FilterStrides &fromStrides,
                                  CUdeviceptr to, const FilterStrides &toStrides, CUstream stream) const {
  struct Strides { // as the kernel has them
    long long offset, group, output, tap, channel;
  };
  auto convert = [](const FilterStrides &strides) {
    return Strides{strides.offset, strides.group, strides.output, strides.tap, strides.channel};
  };
  Strides source = convert(fromStrides), target = convert(toStrides);
  int64_t groups = shape.groups, outputs = shape.outputs / groups, channels = shape.channels / groups,
          taps = shape.kernelHeight * shape.kernelWidth;
  // Depthwise: the groups are what a tile has many of.
  if (outputs == 1 && channels == 1 && !fromStrides.isByResidues) {
    outputs = std::exchange(groups, 1);
    source.output = source.group;
    target.output = target.group;
  }
  int64_t across = (channels + kTile - 1) / kTile, deep = groups * taps;
  if (across > kMostAcross || deep > kMostAcross || outputs > INT32_MAX)
    return userError("the filter is too large to be brought into another layout");
  auto isAlongOutputs = [&](const Strides &strides) {
    return channels == 1 || (outputs > 1 && strides.output < strides.channel);
  };
  struct Residues {
    int strideHeight = 0, strideWidth, padHeight, padWidth, firstHeight, firstWidth, tapsWidth, kernelWidth;
  } residues = {};
  if (fromStrides.isByResidues) {
    ResidueTaps down(shape.kernelHeight, shape.strideHeight, shape.padHeight),
        across(shape.kernelWidth, shape.strideWidth, shape.padWidth);
    auto number = [](int64_t value) { return static_cast<int>(value); }; // cuDNN counts in 32 bits
    residues = {number(shape.strideHeight), number(shape.strideWidth), number(shape.padHeight), number(shape.padWidth),
                number(down.first),         number(across.first),      number(across.taps),     number(shape.kernelWidth)};
  }
  bool readsOutputs = isAlongOutputs(source), writesOutputs = isAlongOutputs(target);
  int numbers[] = {static_cast<int>(outputs), static_cast<int>(taps), static_cast<int>(channels)};
  void *arguments[] = {&from, &to, &numbers[0], &numbers[1], &numbers[2], &source, &target, &residues, &readsOutputs, &writesOutputs};
  return kernel.launch({(outputs + kTile - 1) / kTile, across, deep}, kThreads, arguments, stream,
                       "cannot bring a filter into another layout");
}

} // namespace nncc::rt::cuda
