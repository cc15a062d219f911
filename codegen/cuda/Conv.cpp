// Convolution kernels: an implicit matrix product of output positions by output channels, on channels-last tensors.
//
//   rows     output positions of all images; with a pool in the kernel they are ordered by pool window, so that a thread holds whole
//            windows and pools in its registers
//   columns  output channels of one group; the weight is packed [group][kernel position][channel][column]
//   depth    kernel positions times input channels of the group
//
// An input whose channels come in fours is read in vectors of four channels; any other, such as the image of a first layer, element
// by element, whatever its memory order.

#include "codegen/ConvGeometry.h"
#include "codegen/cuda/Contraction.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace nncc;
using namespace nncc::codegen;
using namespace nncc::codegen::cuda;

namespace {

class ConvCode : public Contraction {
public:
  ConvCode(KernelCode &code, nn::AnchoredBody body, bool isAligned)
      : Contraction(code, body), isAligned(isAligned), geometry(cast<nn::ConvOp>(body.anchor)), conv(geometry.conv) {}

  LogicalResult plan();

protected:
  void beginProduct() override;
  SmallVector<std::pair<std::string, Value>> rowValues(Value row) override;
  Source leftSource(Value depth, ArrayRef<Value> rowValues) override;
  Source rightSource(Value depth, Value column) override;
  void storeTile() override;

private:
  struct Position {
    Value image;
    SmallVector<Value, 3> at;    ///< output position in D, H, W
    Value isInside;              ///< null when every row is an output position
  };
  Position positionOf(Value row);
  void declareNames(const Position &position);
  LogicalResult planPool();
  void planVectors();
  /// Columns of the packed weight, some of which may be padding.
  int64_t panelWidth() {
    nn::PackLoopsAttr pack = cast<nn::EncodingAttr>(conv.weightType().getEncoding()).getPack();
    return pack.extent(pack.loopCount() - 1);
  }
  Value naturalRow(const Position &position);
  /// The mean divides by the positions for which this holds.
  Value isCounted(nn::AvgPoolOp pool, const Position &position);
  void storePooled();

  bool isAligned;
  ConvGeometry geometry;
  nn::ConvOp conv;
  std::optional<nn::StridedView> input;
  Memory x, result;
  Value group;
  std::array<bool, 3> isChecked{}; ///< taps may lie outside of the input along D, H, W

  // The pool in D, H, W.
  std::array<nn::WindowDim, 3> window;
  std::array<nn::Dim, 3> pooled;
  bool poolLeaves = false; ///< windows may reach outside
};

} // namespace

LogicalResult ConvCode::plan() {
  RankedTensorType weight = conv.weightType();
  auto encoding = dyn_cast_if_present<nn::EncodingAttr>(weight.getEncoding());
  nn::PackLoopsAttr pack = encoding ? encoding.getPack() : nn::PackLoopsAttr();
  if (!pack || pack.loopCount() == 0 || pack != nn::panelsOf(conv, pack.extent(pack.loopCount() - 1)) ||
      pack.extent(pack.loopCount() - 1) < geometry.groupOutputs)
    return code.kernel.emitOpError("needs a weight in one panel per group (pack-weights)");
  input = nn::stridedViewOf(conv.getX());
  if (!input || !isa<BlockArgument>(input->source))
    return code.kernel.emitOpError("needs an input in memory");
  code.nameOperand(input->source, "x");
  code.nameOperand(conv.getWeight(), "weight");
  if (conv.getBias())
    code.nameOperand(conv.getBias(), "bias");
  leftName = "x";
  rightName = "weight";
  element = conv.inputType().getElementType();
  columns = geometry.constant(geometry.groupOutputs);
  depth = geometry.constant(geometry.tapCount() * geometry.groupChannels);
  products = geometry.constant(geometry.groups);
  rows = geometry.batch * geometry.outPositions();
  for (unsigned slot = 0; slot < 3; ++slot)
    isChecked[slot] = geometry.padBegin[slot] || geometry.padEnd[slot];
  if (body.pool && failed(planPool()))
    return failure();
  nameChainOperands(body.epilogue, conv.resultType(), 1);
  if (body.pool)
    nameChainOperands(body.afterPool, cast<RankedTensorType>(body.pool->getResult(0).getType()), 1);
  planVectors();
  x = *code.memoryOf(conv.getX());
  result = code.resultMemory(0);
  std::string op = body.pool ? (isa<nn::MaxPoolOp>(body.pool) ? ", pooled by maximum" : ", pooled by mean") : "";
  formula = "rows are output positions, columns output channels; the sum runs over kernel positions and input channels" + op;
  return success();
}

LogicalResult ConvCode::planPool() {
  auto type = cast<RankedTensorType>(body.pool->getResult(0).getType());
  pooled.fill(geometry.constant(1));
  bool isCeil = false;
  llvm::TypeSwitch<Operation *>(body.pool).Case<nn::MaxPoolOp, nn::AvgPoolOp>([&](auto pool) {
    for (unsigned i = 0; i < conv.spatialRank(); ++i) {
      unsigned slot = geometry.slotOf(i);
      window[slot] = {pool.getKernel()[i], pool.getStrides()[i], pool.getDilations()[i],
                      pool.getPadsBegin()[i], pool.getPadsEnd()[i], pool.getCeilMode()};
      pooled[slot] = nn::dimOf(type, 2 + i);
      isCeil |= pool.getCeilMode();
      poolLeaves |= pool.getPadsBegin()[i] || pool.getPadsEnd()[i];
    }
  });
  poolLeaves |= isCeil;
  rowGroup = 1;
  for (const nn::WindowDim &dim : window)
    rowGroup *= dim.kernel;
  rows = geometry.batch * pooled[0] * pooled[1] * pooled[2] * rowGroup;
  if (poolLeaves)
    isChecked.fill(true);
  return success();
}

void ConvCode::planVectors() {
  if (!isAligned)
    return;
  auto allButChannel = [&](const nn::StridedView &view, int64_t channels) {
    if (nn::constantOf(view.strides[1]) != 1)
      return int64_t(1);
    SmallVector<nn::Dim> multiples{view.offset, geometry.constant(channels)};
    for (auto [dim, stride] : llvm::enumerate(view.strides))
      if (dim != 1)
        multiples.push_back(stride);
    return vectorThatDivides(multiples);
  };
  leftVector = allButChannel(*input, geometry.groupChannels);
  rightVector = vectorThatDivides({geometry.constant(panelWidth())});
  storeVector = allButChannel(nn::storedView(code.kernel, 0), geometry.groupOutputs);
}

void ConvCode::beginProduct() {
  group = product;
  if (geometry.groups > 1)
    code.declare(group, "group");
}

ConvCode::Position ConvCode::positionOf(Value row) {
  Position position;
  auto extents = [&](const std::array<nn::Dim, 3> &dims) {
    return SmallVector<Value>{code.dim(geometry.batch), code.dim(dims[0]), code.dim(dims[1]), code.dim(dims[2])};
  };
  if (!body.pool) {
    SmallVector<Value> index = code.delinearize(row, extents(geometry.out));
    position.image = index[0];
    position.at.assign(index.begin() + 1, index.end());
    return position;
  }
  // Row t of a window is its position t / width, t % width.
  Value group = code.size(rowGroup), t = code.rem(row, group);
  code.suggest(t, "in_window");
  SmallVector<Value> index = code.delinearize(code.div(row, group), extents(pooled));
  SmallVector<Value> inWindow =
      code.delinearize(t, {code.size(window[0].kernel), code.size(window[1].kernel), code.size(window[2].kernel)});
  position.image = index[0];
  for (unsigned slot = 0; slot < 3; ++slot) {
    const nn::WindowDim &dim = window[slot];
    Value begin = code.sub(code.mul(index[slot + 1], code.size(dim.stride)), code.size(dim.padBegin));
    position.at.push_back(code.add(begin, code.mul(inWindow[slot], code.size(dim.dilation))));
    if (!poolLeaves || nn::constantOf(geometry.out[slot]) == 1)
      continue;
    Value inside = code.createOrFold<arith::CmpIOp>(arith::CmpIPredicate::ult, position.at.back(), code.dim(geometry.out[slot]));
    position.isInside = position.isInside ? arith::AndIOp::create(code, position.isInside, inside).getResult() : inside;
  }
  return position;
}

void ConvCode::declareNames(const Position &position) {
  if (nn::constantOf(geometry.batch) != 1)
    code.declare(position.image, "image");
  for (unsigned slot = 0; slot < 3; ++slot)
    if (nn::constantOf(geometry.out[slot]) != 1)
      code.declare(position.at[slot], std::array{"out_d", "out_h", "out_w"}[slot]);
}

Value ConvCode::naturalRow(const Position &position) {
  Value row = position.image;
  for (unsigned slot = 0; slot < 3; ++slot)
    row = code.add(code.mul(row, code.dim(geometry.out[slot])), position.at[slot]);
  return row;
}

Value ConvCode::isCounted(nn::AvgPoolOp pool, const Position &position) {
  if (!pool.getCountIncludePad())
    return position.isInside;
  // Padding counts, but not what a window of ceil mode covers beyond it.
  Value counted = code.constant(code.getI1Type(), 1);
  for (unsigned slot = 0; slot < 3; ++slot) {
    Value end = code.add(code.dim(geometry.out[slot]), code.size(window[slot].padEnd));
    counted = code.createOrFold<arith::AndIOp>(counted, code.less(position.at[slot], end));
  }
  return counted;
}

SmallVector<std::pair<std::string, Value>> ConvCode::rowValues(Value row) {
  static constexpr const char *kNames[] = {"corner_d", "corner_h", "corner_w"};
  Position position = positionOf(row);
  declareNames(position);
  SmallVector<std::pair<std::string, Value>> values;
  // The corner is the first tap of the window; padding may put it outside of the input.
  Value corner = code.add(x.offset, code.mul(position.image, x.strides[0]));
  corner = code.add(corner, code.mul(code.mul(group, code.size(geometry.groupChannels)), x.strides[1]));
  for (unsigned i = 0; i < conv.spatialRank(); ++i) {
    unsigned slot = geometry.slotOf(i);
    Value at = code.sub(code.mul(position.at[slot], code.size(geometry.stride[slot])), code.size(geometry.padBegin[slot]));
    corner = code.add(corner, code.mul(at, x.strides[2 + i]));
    if (isChecked[slot])
      values.push_back({kNames[slot], at});
  }
  values.push_back({"corner", corner});
  return values;
}

Contraction::Source ConvCode::leftSource(Value depth, ArrayRef<Value> rowValues) {
  SmallVector<Value> tap = code.delinearize(depth, {code.size(geometry.kernel[0]), code.size(geometry.kernel[1]),
                                                    code.size(geometry.kernel[2]), code.size(geometry.groupChannels)});
  if (geometry.tapCount() > 1) {
    for (unsigned slot = 0; slot < 3; ++slot)
      if (geometry.kernel[slot] > 1)
        code.declare(tap[slot], std::array{"tap_d", "tap_h", "tap_w"}[slot]);
    if (geometry.groupChannels > 1)
      code.declare(tap[3], "channel");
  }
  Source source;
  source.pointer = x.pointer;
  source.offset = rowValues.back();
  size_t checked = 0;
  for (unsigned i = 0; i < conv.spatialRank(); ++i) {
    unsigned slot = geometry.slotOf(i);
    Value step = code.mul(tap[slot], code.size(geometry.dilation[slot]));
    source.offset = code.add(source.offset, code.mul(step, x.strides[2 + i]));
    if (!isChecked[slot])
      continue;
    Value at = code.add(rowValues[checked++], step);
    Value inside = code.createOrFold<arith::CmpIOp>(arith::CmpIPredicate::ult, at, code.dim(geometry.in[slot]));
    source.isInside = source.isInside ? arith::AndIOp::create(code, source.isInside, inside).getResult() : inside;
  }
  source.offset = code.add(source.offset, code.mul(tap[3], x.strides[1]));
  return source;
}

Contraction::Source ConvCode::rightSource(Value depth, Value column) {
  Value width = code.size(panelWidth());
  Value row = code.add(code.mul(group, code.dim(this->depth)), depth);
  return {{}, code.pointerOf(conv.getWeight()), code.add(code.mul(row, width), column)};
}

void ConvCode::storeTile() {
  if (body.pool)
    return storePooled();
  Type stored = cast<RankedTensorType>(body.result.getType()).getElementType();
  code.line("#pragma unroll");
  code.open("for (int i = 0; i < kRows; ++i)");
  Value row = rowOf(code.index("i"));
  code.declare(row, "row");
  skipRowsOutside(row);
  forColumns([&](Value column, Value sumColumn) {
    Value channel = code.add(code.mul(group, code.size(geometry.groupOutputs)), column);
    Value place = code.add(code.add(result.offset, code.mul(row, result.strides.back())), channel);
    storeColumns(stored, result, place, [&] {
      code.lanes = storeVector;
      Value root = sumAt("i", sumColumn);
      if (conv.getBias())
        root = arith::AddFOp::create(code, root, code.readMemory(element, code.pointerOf(conv.getBias()), channel, 0));
      return applyChain(body.epilogue, conv.resultType(), 1, root, row, channel);
    });
  });
  code.close();
}

/// Pools the windows that the thread holds and stores one row for each.
void ConvCode::storePooled() {
  auto pooledType = cast<RankedTensorType>(body.pool->getResult(0).getType());
  Type stored = cast<RankedTensorType>(body.result.getType()).getElementType();
  auto average = dyn_cast<nn::AvgPoolOp>(body.pool);
  code.line("#pragma unroll");
  code.open("for (int i = 0; i < kRows; i += " + Twine(rowGroup) + ")");
  Value first = rowOf(code.index("i"));
  Value row = code.div(first, code.size(rowGroup));
  code.declare(row, "row");
  skipRowsOutside(row, rowGroup);
  forColumns([&](Value column, Value sumColumn) {
    Value channel = code.add(code.mul(group, code.size(geometry.groupOutputs)), column);
    Value place = code.add(code.add(result.offset, code.mul(row, result.strides.back())), channel);
    // The pooled values of the run's columns, one after the other.
    std::string pooledName = code.freshName("pooled"), count = std::to_string(storeVector);
    code.line(sumType() + " " + pooledName + "[" + count + "];");
    code.line("#pragma unroll");
    code.open("for (int j = 0; j < " + count + "; ++j)");
    code.line(sumType() + " best = " + (average ? "0" : "-kInfinity") + ";");
    if (average && poolLeaves)
      code.line("int count = 0;");
    code.line("#pragma unroll");
    code.open("for (int t = 0; t < " + Twine(rowGroup) + "; ++t)");
    Position position = positionOf(code.add(first, code.index("t")));
    if (average && poolLeaves)
      code.statementIf(isCounted(average, position), "++count");
    if (position.isInside)
      code.open("if (" + code.print(position.isInside) + ")");
    // Read element by element: the operands of a chain before a pool lie at another place for every row.
    code.lanes = 1;
    Value own = code.add(channel, code.index("j"));
    code.suggest(own, "channel");
    Value root = sumAt("i + t", sumColumn);
    if (conv.getBias())
      root = arith::AddFOp::create(code, root, code.readMemory(element, code.pointerOf(conv.getBias()), own));
    Value value = applyChain(body.epilogue, conv.resultType(), 1, root, naturalRow(position), own);
    code.line(average ? "best += " + code.print(value) + ";" : "best = maximum(best, " + code.print(value) + ");");
    if (position.isInside)
      code.close();
    code.close();
    std::string divisor = poolLeaves ? "count" : std::to_string(rowGroup);
    code.line(pooledName + "[j] = best" + (average ? " / " + divisor : "") + ";");
    code.close();
    storeColumns(stored, result, place, [&] {
      code.lanes = storeVector;
      Value root = code.atom(sumElement(), pooledName + "[" + (storeVector > 1 ? "j" : "0") + "]");
      return applyChain(body.afterPool, pooledType, 1, root, row, channel);
    });
  });
  code.close();
}

FailureOr<EmittedKernel> cuda::emitConv(KernelCode &code, bool isAligned) {
  FailureOr<nn::AnchoredBody> body = nn::readAnchoredBody(code.kernel);
  if (failed(body))
    return code.kernel.emitOpError("is not a convolution with an elementwise epilogue and one pool");
  return emitContraction<ConvCode>(code, *body, isAligned);
}
