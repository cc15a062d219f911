// Depthwise convolutions: every output channel reads the input channel of its own number, so there is nothing to share but the
// weight. A thread computes four channels of one position, or one where channels do not come in fours, and walks over the kernel.

#include "codegen/ConvGeometry.h"
#include "codegen/cuda/Alternatives.h"
#include "codegen/cuda/EmitKernel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace nncc;
using namespace nncc::codegen;
using namespace nncc::codegen::cuda;

namespace {

constexpr int64_t kThreads = 256, kVector = 4;

class DepthwiseEmitter {
public:
  DepthwiseEmitter(KernelCode &code, const nn::AnchoredBody &body, bool isAligned)
      : code(code), geometry(cast<nn::ConvOp>(body.anchor)), conv(geometry.conv), isAligned(isAligned) {}

  FailureOr<EmittedKernel> emit();

private:
  void writeTaps(Value image, Value channel, ArrayRef<Value> out);
  std::string sumText() const { return lanes == 1 ? "sum" : "sum[" + KernelCode::kLane.str() + "]"; }

  KernelCode &code;
  ConvGeometry geometry;
  nn::ConvOp conv;
  bool isAligned;
  int64_t lanes = 1;
  Type sumType;
};

} // namespace

/// Adds the products of every tap inside the input to the sums.
void DepthwiseEmitter::writeTaps(Value image, Value channel, ArrayRef<Value> out) {
  static constexpr const char *kNames[] = {"d", "h", "w"};
  RankedTensorType x = conv.inputType();
  nn::PackLoopsAttr pack = cast<nn::EncodingAttr>(conv.weightType().getEncoding()).getPack();
  Value width = code.size(pack.extent(pack.loopCount() - 1));
  Value tapNumber = code.size(0);
  SmallVector<Value> index = {image, channel};
  unsigned blocks = 0;
  for (unsigned i = 0; i < conv.spatialRank(); ++i) {
    unsigned slot = geometry.slotOf(i);
    std::string name = kNames[slot], tap = "tap_" + name;
    if (geometry.kernel[slot] > 1) {
      code.line("#pragma unroll");
      code.open("for (int " + tap + " = 0; " + tap + " < " + Twine(geometry.kernel[slot]) + "; ++" + tap + ")");
      ++blocks;
    }
    Value number = geometry.kernel[slot] > 1 ? code.index(tap) : code.size(0);
    Value begin = code.sub(code.mul(out[slot], code.size(geometry.stride[slot])), code.size(geometry.padBegin[slot]));
    Value position = code.add(begin, code.mul(number, code.size(geometry.dilation[slot])));
    code.declare(position, "in_" + name);
    if (geometry.padBegin[slot] || geometry.padEnd[slot]) {
      Value outside = arith::CmpIOp::create(code, arith::CmpIPredicate::uge, position, code.dim(geometry.in[slot]));
      std::string condition = code.print(outside);
      // Without a loop around it `continue` would leave the wrong one.
      if (geometry.kernel[slot] > 1) {
        code.line("if (" + condition + ")");
        code.line("  continue;");
      } else {
        code.open("if (!(" + condition + "))");
        ++blocks;
      }
    }
    tapNumber = code.add(code.mul(tapNumber, code.size(geometry.kernel[slot])), number);
    index.push_back(position);
  }
  code.lanes = lanes;
  Value value = code.read(conv.getX(), index, lanes > 1 ? 1 : -1);
  Value weight = code.readMemory(x.getElementType(), code.pointerOf(conv.getWeight()),
                                 code.add(code.mul(tapNumber, width), channel), lanes > 1 ? 0 : -1);
  code.forLanes([&] {
    Value product = arith::MulFOp::create(code, value, weight);
    std::string text = code.print(product);
    code.line(sumText() + " += " + text + ";");
  });
  for (; blocks > 0; --blocks)
    code.close();
}

FailureOr<EmittedKernel> DepthwiseEmitter::emit() {
  RankedTensorType x = conv.inputType(), type = conv.resultType();
  Type element = x.getElementType();
  sumType = element.isF16() || element.isBF16() ? Type(code.getF32Type()) : element;
  auto encoding = dyn_cast_if_present<nn::EncodingAttr>(conv.weightType().getEncoding());
  nn::PackLoopsAttr pack = encoding ? encoding.getPack() : nn::PackLoopsAttr();
  if (!pack || pack.loopCount() == 0)
    return code.kernel.emitOpError("needs a weight in taps (pack-weights)");
  bool isLast = nn::orderOf(x) == nn::channelsLastOrder(x.getRank()) && nn::orderOf(type) == nn::channelsLastOrder(x.getRank());
  bool isWhole = code.storedValue(0) == code.kernel.getTerminator()->getOperand(0);
  if (isAligned && isLast && isWhole && isa<BlockArgument>(conv.getX()) && geometry.channels % kVector == 0 &&
      pack.extent(pack.loopCount() - 1) % kVector == 0 && element.getIntOrFloatBitWidth() <= 32)
    lanes = kVector;

  code.reserve({"sum"});
  code.nameOperand(conv.getX(), "x");
  code.nameOperand(conv.getWeight(), "weight");
  if (conv.getBias())
    code.nameOperand(conv.getBias(), "bias");
  code.note(lanes == 1 ? "a thread computes one element of the result" : "a thread computes four channels of one position");

  SmallVector<nn::Dim> dims;
  SmallVector<Value> extents;
  for (int64_t dim : nn::orderOf(type)) {
    dims.push_back(dim == 1 ? nn::dimOf(type, dim).floorDiv(lanes) : nn::dimOf(type, dim));
    extents.push_back(code.dim(dims.back()));
  }
  nn::Dim threads = nn::product(dims, code.getContext());
  std::string number = code.freshName("i");
  code.line("const " + code.indexType() + " " + number + " = blockIdx.x * " + (code.wideIndex ? "(long long)" : "") +
            "blockDim.x + threadIdx.x;");
  code.line("if (" + number + " >= " + code.print(code.dim(threads)) + ")");
  code.line("  return;");
  SmallVector<Value> index(type.getRank()), out(3, code.size(0));
  for (auto [dim, position] : llvm::zip(nn::orderOf(type), code.delinearize(code.index(number), extents))) {
    index[dim] = dim == 1 ? code.mul(position, code.size(lanes)) : position;
    code.declare(index[dim], dim == 0 ? "n" : dim == 1 ? "c" : std::array{"d", "h", "w"}[geometry.slotOf(dim - 2)]);
    if (dim >= 2)
      out[geometry.slotOf(dim - 2)] = index[dim];
  }
  code.line(cppType(sumType, code.wideIndex) + " sum" + (lanes > 1 ? "[" + std::to_string(lanes) + "] = {};" : " = 0;"));
  writeTaps(index[0], index[1], out);

  code.lanes = lanes;
  int laneDim = lanes > 1 ? 1 : -1;
  Value result = code.atom(sumType, sumText());
  if (conv.getBias())
    result = arith::AddFOp::create(code, result,
                                   code.readMemory(element, code.pointerOf(conv.getBias()), index[1], lanes > 1 ? 0 : -1));
  code.bind(conv.getResult(), result);
  Value stored = code.read(code.storedValue(0), index, laneDim);
  code.store(0, code.placeIn(code.resultMemory(0), index), stored);
  CudaLaunch launch;
  launch.threads = kThreads;
  launch.gridX = threads.ceilDiv(kThreads);
  EmittedKernel kernel = code.finish(launch);
  kernel.product.emplace();
  return kernel;
}

FailureOr<EmittedKernel> cuda::emitDepthwiseConv(KernelCode &code, bool isAligned) {
  FailureOr<nn::AnchoredBody> body = nn::readAnchoredBody(code.kernel);
  if (failed(body) || body->pool)
    return code.kernel.emitOpError("is not a depthwise convolution with an elementwise epilogue");
  FailureOr<EmittedKernel> emitted = DepthwiseEmitter(code, *body, isAligned).emit();
  if (succeeded(emitted))
    emitted->alternatives = alternativesOf(code.kernel, *body, code.options);
  return emitted;
}
