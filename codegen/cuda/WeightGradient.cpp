// The gradient of a convolution's weight: an implicit matrix product, the contracted index of which runs over the output positions
// of all images.
//
//   rows     output channels of one group
//   columns  kernel positions times input channels of the group: channels innermost where they are neighbours in the input, which is
//            then read in vectors of four, as they lie in the weight otherwise
//   depth    images times output positions; few blocks and a depth that grows with the batch, so it is cut into parts as a rule
//
// Both operands are read across the depth: g holds the channels of a position side by side, and so does a channels-last x. A
// row-major x, the image of a first layer, has neighbours along the positions.
//
// Where an output channel reads one input channel, as in a depthwise convolution, there is no matrix: a warp takes 32 channels, and
// each thread sums up the products of its own for all kernel positions.

#include "codegen/ConvGeometry.h"
#include "codegen/cuda/Contraction.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace nncc;
using namespace nncc::codegen;
using namespace nncc::codegen::cuda;

namespace {

class WeightGradientCode : public Contraction {
public:
  WeightGradientCode(KernelCode &code, nn::AnchoredBody body, bool isAligned)
      : Contraction(code, body), op(cast<nn::ConvWeightGradientOp>(body.anchor)), geometry(op), isAligned(isAligned) {
    typicalDim = 32; // batches of training
  }

  LogicalResult plan();
  /// Output channels read one input channel each.
  static bool isDepthwise(nn::ConvWeightGradientOp op) {
    return op.getGroups() > 1 && cast<RankedTensorType>(op.getResult().getType()).getDimSize(1) == 1;
  }

protected:
  void beginProduct() override;
  Source leftSource(Value depth, ArrayRef<Value> rowValues) override;
  Source rightSource(Value depth, Value column) override;
  void storeTile() override;
  /// The image and its output position in D, H, W at `depth`.
  SmallVector<Value> positionAt(Value depth);
  /// Adds the place in x of what a tap in D, H, W reads at a position, and whether that is inside.
  void addTap(Source &source, ArrayRef<Value> position, ArrayRef<Value> tap);

  nn::ConvWeightGradientOp op;
  ConvGeometry geometry;
  Memory x, g;

private:
  std::optional<nn::Dim> positionStride(const nn::StridedView &view, const std::array<nn::Dim, 3> &extents) const;
  int64_t vectorAlongChannels(const nn::StridedView &view, nn::Dim channels) const;
  /// Kernel position in D, H, W and channel of a column.
  SmallVector<Value> tapAt(Value column);

  bool isAligned;
  Memory result;
  /// Elements from one position to the next, the next row and image included, where that is one number.
  std::optional<nn::Dim> xStride, gStride;
  bool channelsInnermost = true; ///< of the columns
  Value group;
};

/// A block takes kWarp output channels, some taps and a part of the positions, kWarps at a time.
class DepthwiseCode : public WeightGradientCode {
public:
  using WeightGradientCode::WeightGradientCode;

  LogicalResult plan();
  EmittedKernel emit();

private:
  static constexpr int64_t kWarp = 32, kWarps = 8;
  void writeSums(Value output);

  int64_t taps = 0, chunks = 0; ///< of a block; of all taps
};

} // namespace

std::optional<nn::Dim> WeightGradientCode::positionStride(const nn::StridedView &view, const std::array<nn::Dim, 3> &extents) const {
  SmallVector<nn::Dim> dims = {geometry.batch}, strides = {view.strides[0]};
  for (unsigned i = 0; i < geometry.spatialRank; ++i) {
    dims.push_back(extents[geometry.slotOf(i)]);
    strides.push_back(view.strides[2 + i]);
  }
  return joinedStride(dims, strides);
}

int64_t WeightGradientCode::vectorAlongChannels(const nn::StridedView &view, nn::Dim channels) const {
  if (!isAligned || nn::constantOf(view.strides[1]) != 1)
    return 1;
  SmallVector<nn::Dim> multiples{view.offset, channels};
  for (auto [dim, stride] : llvm::enumerate(view.strides))
    if (dim != 1)
      multiples.push_back(stride);
  return vectorThatDivides(multiples);
}

LogicalResult WeightGradientCode::plan() {
  std::optional<nn::StridedView> xView = nn::stridedViewOf(op.getX()), gView = nn::stridedViewOf(op.getG());
  if (!xView || !gView || !isa<BlockArgument>(xView->source) || !isa<BlockArgument>(gView->source))
    return code.kernel.emitOpError("needs both operands in memory");
  code.nameOperand(xView->source, "x");
  code.nameOperand(gView->source, "g");
  code.nameResult(0, "dw");
  leftName = "g";
  rightName = "x";
  element = cast<RankedTensorType>(op.getResult().getType()).getElementType();
  rows = geometry.constant(geometry.groupOutputs);
  columns = geometry.constant(geometry.tapCount() * geometry.groupChannels);
  depth = geometry.batch * geometry.outPositions();
  products = geometry.constant(geometry.groups);

  if (geometry.isPointwise())
    xStride = positionStride(*xView, geometry.in);
  gStride = positionStride(*gView, geometry.out);
  channelsInnermost = nn::constantOf(xView->strides[1]) == 1;
  rightAlongDepth = !channelsInnermost;
  if (channelsInnermost)
    rightVector = vectorAlongChannels(*xView, geometry.constant(geometry.groupChannels));
  leftAlongDepth = false;
  leftVector = vectorAlongChannels(*gView, geometry.constant(geometry.groupOutputs));
  // Elements of the weight that neighbouring columns are.
  nn::StridedView stored = nn::storedView(code.kernel, 0);
  if (isAligned && geometry.tapCount() == 1 && nn::constantOf(stored.strides[1]) == 1)
    storeVector = vectorThatDivides({stored.offset, stored.strides[0], columns});
  x = *code.memoryOf(op.getX());
  g = *code.memoryOf(op.getG());
  result = code.resultMemory(0);
  formula = std::string("rows are output channels, columns ") +
            (channelsInnermost ? "kernel positions and input channels" : "input channels and kernel positions") +
            "; the sum runs over images and output positions";
  return success();
}

void WeightGradientCode::beginProduct() {
  group = product;
  if (nn::constantOf(products) != 1)
    code.declare(group, "group");
}

SmallVector<Value> WeightGradientCode::positionAt(Value depth) {
  SmallVector<Value> position = code.delinearize(depth, {code.dim(geometry.batch), code.dim(geometry.out[0]),
                                                         code.dim(geometry.out[1]), code.dim(geometry.out[2])});
  if (nn::constantOf(geometry.batch) != 1)
    code.declare(position[0], "image");
  for (unsigned slot = 0; slot < 3; ++slot)
    if (nn::constantOf(geometry.out[slot]) != 1)
      code.declare(position[1 + slot], std::array{"out_d", "out_h", "out_w"}[slot]);
  return position;
}

SmallVector<Value> WeightGradientCode::tapAt(Value column) {
  SmallVector<Value> extents = {code.size(geometry.kernel[0]), code.size(geometry.kernel[1]), code.size(geometry.kernel[2])};
  extents.insert(channelsInnermost ? extents.end() : extents.begin(), code.size(geometry.groupChannels));
  if (geometry.tapCount() > 1)
    code.suggest(column, "column");
  SmallVector<Value> tap = code.delinearize(column, extents);
  if (!channelsInnermost)
    std::rotate(tap.begin(), tap.begin() + 1, tap.end());
  if (geometry.tapCount() == 1)
    return tap;
  for (unsigned slot = 0; slot < 3; ++slot)
    if (geometry.kernel[slot] > 1)
      code.declare(tap[slot], std::array{"tap_d", "tap_h", "tap_w"}[slot]);
  if (geometry.groupChannels > 1)
    code.declare(tap[3], "channel");
  return tap;
}

Contraction::Source WeightGradientCode::leftSource(Value depth, ArrayRef<Value> rowValues) {
  Value place = g.offset;
  if (gStride) {
    place = code.add(place, code.mul(depth, code.dim(*gStride)));
  } else {
    SmallVector<Value> position = positionAt(depth);
    place = code.add(place, code.mul(position[0], g.strides[0]));
    for (unsigned i = 0; i < geometry.spatialRank; ++i)
      place = code.add(place, code.mul(position[1 + geometry.slotOf(i)], g.strides[2 + i]));
  }
  Value channel = code.add(code.mul(group, code.size(geometry.groupOutputs)), rowValues[0]);
  return {{}, g.pointer, code.add(place, code.mul(channel, g.strides[1]))};
}

void WeightGradientCode::addTap(Source &source, ArrayRef<Value> position, ArrayRef<Value> tap) {
  source.offset = code.add(source.offset, code.mul(position[0], x.strides[0]));
  for (unsigned i = 0; i < geometry.spatialRank; ++i) {
    unsigned slot = geometry.slotOf(i);
    Value at = code.sub(code.add(code.mul(position[1 + slot], code.size(geometry.stride[slot])),
                                 code.mul(tap[slot], code.size(geometry.dilation[slot]))),
                        code.size(geometry.padBegin[slot]));
    if (geometry.padBegin[slot] || geometry.padEnd[slot]) {
      code.declare(at, std::array{"in_d", "in_h", "in_w"}[slot]);
      Value inside = code.createOrFold<arith::CmpIOp>(arith::CmpIPredicate::ult, at, code.dim(geometry.in[slot]));
      source.isInside = source.isInside ? arith::AndIOp::create(code, source.isInside, inside).getResult() : inside;
    }
    source.offset = code.add(source.offset, code.mul(at, x.strides[2 + i]));
  }
}

Contraction::Source WeightGradientCode::rightSource(Value depth, Value column) {
  SmallVector<Value> tap = tapAt(column);
  Source source;
  source.pointer = x.pointer;
  source.offset = x.offset;
  if (xStride)
    source.offset = code.add(source.offset, code.mul(depth, code.dim(*xStride)));
  else
    addTap(source, positionAt(depth), tap);
  Value channel = code.add(code.mul(group, code.size(geometry.groupChannels)), tap[3]);
  source.offset = code.add(source.offset, code.mul(channel, x.strides[1]));
  return source;
}

void WeightGradientCode::storeTile() {
  Type stored = cast<RankedTensorType>(body.result.getType()).getElementType();
  code.line("#pragma unroll");
  code.open("for (int i = 0; i < kRows; ++i)");
  Value row = rowOf(code.index("i"));
  code.declare(row, "row");
  skipRowsOutside(row);
  Value output = code.add(code.mul(group, code.size(geometry.groupOutputs)), row);
  forColumns([&](Value column, Value sumColumn) {
    SmallVector<Value> tap = tapAt(column), index = {output, tap[3]};
    for (unsigned i = 0; i < geometry.spatialRank; ++i)
      index.push_back(tap[geometry.slotOf(i)]);
    storeColumns(stored, result, code.placeIn(result, index), [&] {
      code.lanes = storeVector;
      return sumAt("i", sumColumn);
    });
  });
  code.close();
}

LogicalResult DepthwiseCode::plan() {
  if (failed(WeightGradientCode::plan()))
    return failure();
  // One product, the groups of which are its rows.
  rows = geometry.constant(geometry.outputs);
  products = geometry.constant(1);
  storeVector = 1;
  constexpr int64_t kMostTaps = 25; // sums of a thread
  chunks = llvm::divideCeil(geometry.tapCount(), kMostTaps);
  taps = llvm::divideCeil(geometry.tapCount(), chunks);
  // Enough blocks to keep every device busy, but none with fewer positions than make it worth while.
  constexpr int64_t kBlocks = 512, kLeastPositions = 16 * kWarps, kMostParts = 128;
  int64_t present = llvm::divideCeil(geometry.outputs, kWarp) * chunks;
  tile.parts = std::max<int64_t>(2, std::min<int64_t>({kMostParts, int64_t(llvm::divideCeil(kBlocks, present)), typical(depth) / kLeastPositions}));
  formula = "a sum runs over images and output positions";
  return success();
}

/// The sums of a thread over its positions of the part.
void DepthwiseCode::writeSums(Value output) {
  code.line("float sum[kTaps] = {};");
  code.open("if (output < " + std::to_string(geometry.outputs) + ")");
  code.open("for (" + code.indexType() + " k = k_begin + thread / 32; k < k_end; k += kWarps)");
  SmallVector<Value> position = positionAt(code.index("k"));
  Value place = code.add(g.offset, code.mul(position[0], g.strides[0]));
  for (unsigned i = 0; i < geometry.spatialRank; ++i)
    place = code.add(place, code.mul(position[1 + geometry.slotOf(i)], g.strides[2 + i]));
  Value ofG = code.readMemory(element, g.pointer, code.add(place, code.mul(output, g.strides[1])));
  code.line("const float g_v = " + code.print(ofG) + ";");
  code.line("#pragma unroll");
  code.open("for (int t = 0; t < kTaps; ++t)");
  Value tapNumber = chunks == 1 ? code.index("t") : code.add(code.index("first_tap"), code.index("t"));
  SmallVector<Value> tap =
      code.delinearize(tapNumber, {code.size(geometry.kernel[0]), code.size(geometry.kernel[1]), code.size(geometry.kernel[2])});
  Source source{{}, x.pointer, x.offset};
  if (geometry.tapCount() % taps != 0) // in the last chunk
    source.isInside = code.less(tapNumber, code.size(geometry.tapCount()));
  addTap(source, position, tap);
  Value channel = code.div(output, code.size(geometry.groupOutputs));
  Value ofX = code.readMemory(element, source.pointer, code.add(source.offset, code.mul(channel, x.strides[1])));
  std::string product = "sum[t] += g_v * " + code.print(ofX, /*tight=*/true);
  if (source.isInside)
    code.line("if (" + code.print(source.isInside) + ")");
  code.line((source.isInside ? "  " : "") + product + ";");
  code.close();
  code.close();
  code.close();
  code.blank();
}

EmittedKernel DepthwiseCode::emit() {
  constexpr int64_t kRegisters = 64; // besides the sums
  int64_t threads = kWarp * kWarps, tapCount = geometry.tapCount();
  code.reserve({"t", "i", "k", "sum", "sums", "total", "thread", "output", "part", "first_tap", "g_v", "lane", "w"});
  code.registers = kRegisters + taps;
  code.workspace = KernelCode::Workspace::Written;
  code.note(formula);
  code.note("a warp takes 32 output channels, a thread " + Twine(taps) + " kernel positions of one");
  code.note("each of " + Twine(tile.parts) + " parts of the positions has blocks of its own; another kernel adds up their sums");
  code.line("constexpr int kTaps = " + Twine(taps) + ", kWarps = " + Twine(kWarps) + ";");
  code.declareShared(code.getF32Type(), "sums[kWarps][kTaps][32]", threads * taps);
  code.blank();
  code.line("const int thread = threadIdx.x, lane = thread % 32;");
  code.line("const " + code.indexType() + " output = (" + code.indexType() + ")blockIdx.x * 32 + lane;");
  Value output = code.index("output"), part = code.index("(" + code.indexType() + ")blockIdx.y");
  code.declare(part, "part");
  if (chunks > 1)
    code.line("const int first_tap = blockIdx.z * kTaps;");
  Value length = code.dim(depth.ceilDiv(tile.parts));
  code.declare(length, "part_depth");
  Value begin = code.mul(part, length);
  code.declare(begin, "k_begin");
  code.declare(code.min(code.add(begin, length), code.dim(depth)), "k_end");
  writeSums(output);

  code.line("#pragma unroll");
  code.line("for (int t = 0; t < kTaps; ++t)");
  code.line("  sums[thread / 32][t][lane] = sum[t];");
  code.line("__syncthreads();");
  code.line("// The sums of the warps, in their order.");
  code.open("for (int t = thread / 32; t < kTaps; t += kWarps)");
  std::string isThere = "output >= " + std::to_string(geometry.outputs);
  Value tap = code.index("t");
  if (chunks > 1) {
    tap = code.add(code.index("first_tap"), tap);
    isThere += " || " + code.print(tap) + " >= " + std::to_string(tapCount);
  }
  code.line("if (" + isThere + ")");
  code.line("  break;");
  code.line("float total = 0;");
  code.line("for (int w = 0; w < kWarps; ++w)");
  code.line("  total += sums[w][t][lane];");
  Value row = code.add(code.mul(part, code.size(geometry.outputs)), output);
  code.line("parts[" + code.print(code.add(code.mul(row, code.size(tapCount)), tap)) + "] = total;");
  code.close();

  CudaLaunch launch;
  launch.threads = threads;
  launch.gridX = geometry.constant(llvm::divideCeil(geometry.outputs, kWarp));
  launch.gridY = geometry.constant(tile.parts);
  launch.gridZ = geometry.constant(chunks);
  EmittedKernel emitted = code.finish(launch);
  emitted.workspaceElements = geometry.constant(tile.parts * geometry.outputs * tapCount);
  emitted.product.emplace();
  return emitted;
}

FailureOr<EmittedKernel> cuda::emitConvWeightGradient(KernelCode &code, bool isAligned) {
  FailureOr<nn::AnchoredBody> body = nn::readAnchoredBody(code.kernel);
  if (failed(body) || body->pool || !body->epilogue.operations().empty())
    return code.kernel.emitOpError("is not the gradient of a convolution's weight alone");
  auto op = cast<nn::ConvWeightGradientOp>(body->anchor);
  bool isDouble = cast<RankedTensorType>(op.getResult().getType()).getElementType().isF64(); // workspaces are f32
  if (WeightGradientCode::isDepthwise(op) && !isDouble)
    return emitContraction<DepthwiseCode>(code, *body, isAligned);
  return emitContraction<WeightGradientCode>(code, *body, isAligned);
}
