// nn.linear_scan: a thread owns one column and walks through its steps with the sum in a register. The threads of a warp have
// neighbouring columns.

#include "codegen/cuda/EmitKernel.h"
#include "ir/ops/ScalarFormula.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace nncc;
using namespace nncc::codegen;
using namespace nncc::codegen::cuda;

static constexpr int64_t kThreads = 64;

FailureOr<EmittedKernel> cuda::emitLinearScan(KernelCode &code) {
  auto op = cast<nn::LinearScanOp>(nn::anchorOf(code.kernel));
  auto [outer, steps, inner] = op.extents();
  nn::Dim columns = outer * inner;
  Type element = cast<RankedTensorType>(op.getType()).getElementType();
  Type type = element.isF64() ? element : Type(code.getF32Type());
  code.reserve({"step", "time", "column", "sum"});
  code.nameOperand(op.getA(), "a");
  code.nameOperand(op.getB(), "b");
  if (op.getFirst())
    code.nameOperand(op.getFirst(), "first");
  code.note("a thread walks through the steps of one column");
  std::string index = code.indexType();
  code.line("const " + index + " column = blockIdx.x * " + (code.wideIndex ? "(long long)" : "") + "blockDim.x + threadIdx.x;");
  code.line("if (column >= " + code.print(code.dim(columns)) + ")");
  code.line("  return;");
  nn::Shape others = nn::shapeOf(op.getType());
  others.erase(others.begin() + op.getAxis());
  SmallVector<Value> extents = llvm::map_to_vector(others, [&](nn::Dim dim) { return code.dim(dim); });
  SmallVector<Value> place = code.delinearize(code.index("column"), extents);
  Value sum = code.atom(type, "sum");
  Value first = op.getFirst() ? code.read(op.getFirst(), place) : code.constant(type, 0);
  std::string text = code.print(first), end = code.print(code.dim(steps));
  code.line(cppType(type, code.wideIndex) + " sum = " + text + ";");
  code.open("for (" + index + " step = 0; step < " + end + "; ++step)");
  Value step = code.index("step");
  Value time = op.getReverse() ? code.sub(code.sub(code.dim(steps), code.size(1)), step) : step;
  text = code.print(time);
  code.line("const " + index + " time = " + text + ";");
  place.insert(place.begin() + op.getAxis(), code.index("time"));
  nn::ScalarFormula f(code, code.getLoc());
  text = code.print(f.add(f.mul(code.read(op.getA(), place), sum), code.read(op.getB(), place)));
  code.line("sum = " + text + ";");
  code.store(0, code.placeIn(code.resultMemory(0), place), sum);
  code.close();
  return code.finish({kThreads, columns.ceilDiv(kThreads)});
}
