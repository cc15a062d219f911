// nn.gather_gradient: sums slices of the gradient by their index. A task owns a run of columns of one outer slice: it clears them in
// the result and adds the slices to it in the order of the indices, so tasks share nothing and the sums are the same with any
// number of threads.

#include "codegen/cpu/ElementAccess.h"
#include "codegen/cpu/EmitKernel.h"
#include "codegen/cpu/VectorLoop.h"

using namespace mlir;
using namespace nncc;
using namespace nncc::codegen;

/// Columns of a task: long enough for whole vectors, short enough to occupy all threads.
static constexpr int64_t kTaskColumns = 64;

FailureOr<EmittedKernel> codegen::emitGatherGradient(KernelBuilder &b, nn::KernelOp kernel, StringRef symbol) {
  auto op = cast<nn::GatherGradientOp>(nn::anchorOf(kernel));
  for (Value tensor : {op.getIndices(), op.getG(), op.getResult()})
    if (!nn::isRowMajor(cast<RankedTensorType>(tensor.getType())))
      return kernel.emitOpError("sums slices of tensors in another order than row-major");
  auto [outer, entries, inner, indexCount] = op.extents();
  Type element = cast<RankedTensorType>(op.getType()).getElementType();
  auto indexType = cast<RankedTensorType>(op.getIndices().getType());
  nn::Dim chunks = inner.ceilDiv(kTaskColumns);
  int64_t lanes = b.target.lanes(widestElementBits(kernel));

  b.beginKernel(symbol);
  KernelOperands operands(b, kernel);
  Value columns = b.dim(inner), rows = b.dim(entries), count = b.dim(indexCount);
  Value result = operands.result(0).pointer, gradient = operands.view(op.getG()).pointer;
  Value indices = operands.view(op.getIndices()).pointer;
  b.loop(b.beginTask, b.endTask, [&](Value task) {
    SmallVector<Value> place = b.delinearize(task, {b.dim(outer), b.dim(chunks)});
    Value begin = b.mul(place[1], b.i64(kTaskColumns));
    Value end = b.min(b.add(begin, b.i64(kTaskColumns)), columns);
    // `write` gives the number or vector for the place of a row of the result.
    auto overColumns = [&](Value row, llvm::function_ref<Value(Type, Value column, Value pointer, Value mask)> write) {
      Value start = b.mul(b.add(b.mul(place[0], rows), row), columns);
      vectorLoop(b, begin, end, lanes, element.getIntOrFloatBitWidth(), [&](Value column, int64_t width, Value mask) {
        Type type = width > 1 ? Type(VectorType::get({width}, element)) : element;
        Value pointer = b.offset(result, element, b.add(start, column));
        Value value = write(type, column, pointer, mask);
        width > 1 ? b.storeVector(value, pointer, mask) : b.store(value, pointer);
      });
    };
    auto load = [&](Type type, Value pointer, Value mask) {
      auto vector = dyn_cast<VectorType>(type);
      return vector ? b.loadVector(vector, pointer, mask) : b.load(type, pointer);
    };
    b.loop(b.i64(0), rows, [&](Value row) {
      overColumns(row, [&](Type type, Value, Value, Value) { return b.floatConstant(type, 0.0); });
    });
    b.loop(b.i64(0), count, [&](Value i) {
      Value chosen = b.load(indexType.getElementType(), b.offset(indices, indexType.getElementType(), i));
      if (chosen.getType() != b.sizeType)
        chosen = arith::ExtSIOp::create(b, b.sizeType, chosen);
      Value zero = b.i64(0), last = b.sub(rows, b.i64(1));
      chosen = b.select(b.less(chosen, zero), b.add(chosen, rows), chosen);
      operands.reportOutOfRange(arith::OrIOp::create(b, b.less(chosen, zero), b.less(last, chosen)));
      Value row = b.max(b.min(chosen, last), zero);
      Value source = b.mul(b.add(b.mul(place[0], count), i), columns);
      overColumns(row, [&](Type type, Value column, Value pointer, Value mask) -> Value {
        Value part = load(type, b.offset(gradient, element, b.add(source, column)), mask);
        return arith::AddFOp::create(b, load(type, pointer, mask), part);
      });
    });
  });
  b.endKernel(operands.status());
  return EmittedKernel{nn::product({outer, chunks}, b.getContext()), nn::constantDim(b.getContext(), 0)};
}
