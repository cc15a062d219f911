// Transposed convolutions, with an elementwise epilogue: a thread computes one element of the result and gathers the inputs that
// reach it, those for which position + pad - tap * dilation is a multiple of the stride.

#include "codegen/cuda/EmitKernel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace nncc;
using namespace nncc::codegen;
using namespace nncc::codegen::cuda;

static constexpr int64_t kThreads = 256;

FailureOr<EmittedKernel> cuda::emitConvTranspose(KernelCode &code) {
  auto op = cast<nn::ConvTransposeOp>(nn::anchorOf(code.kernel));
  auto x = cast<RankedTensorType>(op.getX().getType()), weight = cast<RankedTensorType>(op.getWeight().getType());
  auto type = cast<RankedTensorType>(op.getResult().getType());
  unsigned spatial = type.getRank() - 2;
  int64_t groups = op.getGroups(), groupInputs = weight.getDimSize(0) / groups, groupOutputs = weight.getDimSize(1);
  Type element = type.getElementType();
  Type sumType = element.isF16() || element.isBF16() ? Type(code.getF32Type()) : element;
  static constexpr const char *kNames[3][3] = {{"w"}, {"h", "w"}, {"d", "h", "w"}};
  auto nameOf = [&](unsigned i) { return std::string(kNames[spatial - 1][i]); };
  code.reserve({"sum", "channel"});
  code.nameOperand(op.getX(), "x");
  code.nameOperand(op.getWeight(), "weight");
  if (op.getBias())
    code.nameOperand(op.getBias(), "bias");
  code.note("a thread computes one element of the result");

  nn::Dim elements = nn::product(nn::shapeOf(type), code.getContext());
  code.line("const " + code.indexType() + " i = blockIdx.x * " + (code.wideIndex ? "(long long)" : "") + "blockDim.x + threadIdx.x;");
  code.reserve({"i"});
  code.line("if (i >= " + code.print(code.dim(elements)) + ")");
  code.line("  return;");
  SmallVector<Value> extents, index(type.getRank());
  for (int64_t dim : nn::orderOf(type))
    extents.push_back(code.dim(nn::dimOf(type, dim)));
  for (auto [dim, position] : llvm::zip(nn::orderOf(type), code.delinearize(code.index("i"), extents))) {
    index[dim] = position;
    code.declare(position, dim == 0 ? "n" : dim == 1 ? "c" : nameOf(dim - 2));
  }
  Value group = code.div(index[1], code.size(groupOutputs)), output = code.rem(index[1], code.size(groupOutputs));

  code.line(cppType(sumType, code.wideIndex) + " sum = 0;");
  SmallVector<Value> source = {index[0], Value()}, tapIndex = {Value(), output};
  for (unsigned d = 0; d < spatial; ++d) {
    std::string tap = "tap_" + nameOf(d), from = "in_" + nameOf(d);
    code.open("for (int " + tap + " = 0; " + tap + " < " + Twine(weight.getDimSize(2 + d)) + "; ++" + tap + ")");
    Value distance = code.sub(code.add(index[2 + d], code.size(op.getPadsBegin()[d])),
                              code.mul(code.index(tap), code.size(op.getDilations()[d])));
    code.declare(distance, "reach_" + nameOf(d));
    Value stride = code.size(op.getStrides()[d]);
    Value position = code.div(distance, stride);
    Value misses = code.less(distance, code.size(0));
    auto either = [&](Value condition) { misses = arith::OrIOp::create(code, misses, condition); };
    if (op.getStrides()[d] > 1)
      either(arith::CmpIOp::create(code, arith::CmpIPredicate::ne, code.rem(distance, stride), code.size(0)));
    either(arith::CmpIOp::create(code, arith::CmpIPredicate::sge, position, code.dim(nn::dimOf(x, 2 + d))));
    code.line("if (" + code.print(misses) + ")");
    code.line("  continue;");
    code.declare(position, from);
    source.push_back(position);
    tapIndex.push_back(code.index(tap));
  }
  code.open("for (int channel = 0; channel < " + Twine(groupInputs) + "; ++channel)");
  Value input = code.add(code.mul(group, code.size(groupInputs)), code.index("channel"));
  source[1] = tapIndex[0] = input;
  Value product = arith::MulFOp::create(code, code.read(op.getX(), source), code.read(op.getWeight(), tapIndex));
  std::string text = code.print(product);
  code.line("sum += " + text + ";");
  for (unsigned d = 0; d <= spatial; ++d)
    code.close();

  Value result = code.atom(sumType, "sum");
  if (op.getBias())
    result = arith::AddFOp::create(code, result, code.read(op.getBias(), index[1]));
  code.bind(op.getResult(), result);
  Value stored = code.read(code.storedValue(0), index);
  code.store(0, code.placeIn(code.resultMemory(0), index), stored);
  CudaLaunch launch;
  launch.threads = kThreads;
  launch.gridX = elements.ceilDiv(kThreads);
  EmittedKernel kernel = code.finish(launch);
  kernel.product.emplace();
  return kernel;
}
