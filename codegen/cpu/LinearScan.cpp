// nn.linear_scan: a task owns a run of columns of one outer slice and walks through their steps with the sums in a register. Tasks
// share nothing.

#include "codegen/cpu/ElementAccess.h"
#include "codegen/cpu/EmitKernel.h"
#include "codegen/cpu/VectorLoop.h"

using namespace mlir;
using namespace nncc;
using namespace nncc::codegen;

/// Columns of a task: long enough for whole vectors, short enough to occupy all threads.
static constexpr int64_t kTaskColumns = 64;

FailureOr<EmittedKernel> codegen::emitLinearScan(KernelBuilder &b, nn::KernelOp kernel, StringRef symbol) {
  auto op = cast<nn::LinearScanOp>(nn::anchorOf(kernel));
  for (Value tensor : {op.getA(), op.getB(), op.getFirst(), op.getResult()})
    if (tensor && !nn::isRowMajor(cast<RankedTensorType>(tensor.getType())))
      return kernel.emitOpError("scans tensors in another order than row-major");
  auto [outer, steps, inner] = op.extents();
  Type wide = wideType(cast<RankedTensorType>(op.getType()).getElementType());
  nn::Dim chunks = inner.ceilDiv(kTaskColumns);
  int64_t lanes = b.target.lanes(wide.getIntOrFloatBitWidth());

  b.beginKernel(symbol);
  KernelOperands operands(b, kernel);
  Value columns = b.dim(inner), count = b.dim(steps);
  b.loop(b.beginTask, b.endTask, [&](Value task) {
    SmallVector<Value> place = b.delinearize(task, {b.dim(outer), b.dim(chunks)});
    Value begin = b.mul(place[1], b.i64(kTaskColumns));
    Value end = b.min(b.add(begin, b.i64(kTaskColumns)), columns);
    vectorLoop(b, begin, end, lanes, narrowestElementBits(kernel), [&](Value column, int64_t width, Value mask) {
      auto read = [&](Value tensor, Value offset) {
        const TensorView &view = operands.view(tensor);
        Value pointer = b.offset(view.pointer, view.storage(), offset);
        Value value = width > 1 ? b.loadVector(VectorType::get({width}, view.storage()), pointer, mask) : b.load(view.storage(), pointer);
        return widen(b, value);
      };
      Type type = width > 1 ? Type(VectorType::get({width}, wide)) : wide;
      Value first = op.getFirst() ? read(op.getFirst(), b.add(b.mul(place[0], columns), column)) : b.floatConstant(type, 0.0);
      b.loopCarried(b.i64(0), count, b.i64(1), first, [&](Value step, ValueRange carried) -> SmallVector<Value> {
        Value time = op.getReverse() ? b.sub(b.sub(count, b.i64(1)), step) : step;
        Value offset = b.add(b.mul(b.add(b.mul(place[0], count), time), columns), column);
        Value product = arith::MulFOp::create(b, read(op.getA(), offset), carried[0]);
        Value sum = arith::AddFOp::create(b, product, read(op.getB(), offset));
        const TensorView &result = operands.result(0);
        operands.storeAt(result, b.offset(result.pointer, result.storage(), offset), sum, mask);
        return {sum};
      });
    });
  });
  b.endKernel();
  return EmittedKernel{nn::product({outer, chunks}, b.getContext()), nn::constantDim(b.getContext(), 0)};
}
