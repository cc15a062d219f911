// nn.gather_gradient: sums slices of the gradient by their index. A thread owns one column of the result: it clears it and adds the
// slices in the order of the indices, so that no atomics are needed and the sums are the same from run to run. The threads of a warp
// have neighbouring columns.

#include "codegen/cuda/EmitKernel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace nncc;
using namespace nncc::codegen;
using namespace nncc::codegen::cuda;

static constexpr int64_t kThreads = 64;

FailureOr<EmittedKernel> cuda::emitGatherGradient(KernelCode &code) {
  auto op = cast<nn::GatherGradientOp>(nn::anchorOf(code.kernel));
  for (Value tensor : {op.getIndices(), op.getG(), op.getResult()})
    if (!nn::isRowMajor(cast<RankedTensorType>(tensor.getType())))
      return code.kernel.emitOpError("sums slices of tensors in another order than row-major");
  auto [outer, entries, inner, indexCount] = op.extents();
  nn::Dim columns = outer * inner;
  auto indexType = cast<RankedTensorType>(op.getIndices().getType());
  code.reserve({"i", "row", "column"});
  code.nameOperand(op.getIndices(), "indices");
  code.nameOperand(op.getG(), "g");
  code.note("a thread sums one column of the result");
  std::string index = code.indexType();
  code.line("const " + index + " column = blockIdx.x * " + (code.wideIndex ? "(long long)" : "") + "blockDim.x + threadIdx.x;");
  code.line("if (column >= " + code.print(code.dim(columns)) + ")");
  code.line("  return;");
  Value column = code.index("column"), width = code.dim(inner), rows = code.dim(entries), count = code.dim(indexCount);
  Value slice = code.div(column, width), within = code.rem(column, width);
  code.declare(slice, "slice");
  code.declare(within, "within");
  auto resultAt = [&](Value row) {
    return code.resultPointer(0) + "[" + code.print(code.add(code.mul(code.add(code.mul(slice, rows), row), width), within)) + "]";
  };
  code.open("for (" + index + " row = 0; row < " + code.print(rows) + "; ++row)");
  code.line(resultAt(code.index("row")) + " = 0;");
  code.close();
  code.open("for (" + index + " i = 0; i < " + code.print(count) + "; ++i)");
  Value entry = arith::IndexCastOp::create(code, code.sizeType, code.load(indexType.getElementType(), "indices", code.index("i")));
  Value zero = code.size(0), last = code.sub(rows, code.size(1));
  entry = code.select(code.less(entry, zero), code.add(entry, rows), entry);
  code.declare(entry, "entry");
  code.reportOutOfRange(arith::OrIOp::create(code, code.less(entry, zero), code.less(last, entry)));
  Value row = code.max(code.min(entry, last), zero);
  Value source = code.add(code.mul(code.add(code.mul(slice, count), code.index("i")), width), within);
  code.line(resultAt(row) + " += g[" + code.print(source) + "];");
  code.close();
  return code.finish({kThreads, columns.ceilDiv(kThreads)});
}
