// Writes outer-product micro-kernels; see OuterProduct.h.

#include "codegen/cpu/OuterProduct.h"

using namespace mlir;
using namespace nncc;
using namespace nncc::codegen;

static func::FuncOp createOuterProduct(KernelBuilder &b, const OuterProductSpec &spec, StringRef name) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(b.module.getBody());
  Type pointer = b.pointerType(), i64Type = b.getI64Type();
  SmallVector<Type> inputs = {pointer, pointer, pointer, i64Type, pointer, pointer};
  auto function = func::FuncOp::create(b, name, b.getFunctionType(inputs, {}));
  function.setPrivate();
  function->setAttr("passthrough", b.getStrArrayAttr({"noinline"}));
  Block *entry = function.addEntryBlock();
  b.setInsertionPointToStart(entry);
  Value left = entry->getArgument(0), rowOffsets = entry->getArgument(1), steps = entry->getArgument(2);
  Value positions = entry->getArgument(3), panel = entry->getArgument(4), sums = entry->getArgument(5);

  int64_t lanes = b.target.lanes(spec.element.getIntOrFloatBitWidth());
  auto vectorType = VectorType::get({lanes}, spec.element);
  auto sumAt = [&](int64_t row, int64_t vector) {
    return b.offset(sums, spec.element, b.i64((row * spec.vectors + vector) * lanes));
  };
  SmallVector<Value> rows, carried;
  for (int64_t r = 0; r < spec.rows; ++r)
    rows.push_back(b.offset(left, spec.element, b.load(i64Type, b.offset(rowOffsets, i64Type, b.i64(r)))));
  for (int64_t r = 0; r < spec.rows; ++r)
    for (int64_t v = 0; v < spec.vectors; ++v)
      carried.push_back(b.loadVector(vectorType, sumAt(r, v)));
  carried.push_back(panel);
  carried = b.loopCarried(b.i64(0), positions, b.i64(1), carried, [&](Value k, ValueRange present) {
    SmallVector<Value> next(present), factors;
    Value panelRow = next.back(), step = b.load(i64Type, b.offset(steps, i64Type, k));
    for (int64_t v = 0; v < spec.vectors; ++v)
      factors.push_back(b.loadVector(vectorType, b.offset(panelRow, spec.element, b.i64(v * lanes))));
    for (int64_t r = 0; r < spec.rows; ++r) {
      Value number = b.load(spec.element, b.offset(rows[r], spec.element, step));
      Value splat = vector::BroadcastOp::create(b, vectorType, number);
      for (int64_t v = 0; v < spec.vectors; ++v) {
        Value &sum = next[r * spec.vectors + v];
        sum = vector::FMAOp::create(b, splat, factors[v], sum);
      }
    }
    next.back() = b.offset(panelRow, spec.element, b.i64(spec.vectors * lanes));
    return next;
  });
  for (int64_t r = 0; r < spec.rows; ++r)
    for (int64_t v = 0; v < spec.vectors; ++v)
      b.storeVector(carried[r * spec.vectors + v], sumAt(r, v));
  func::ReturnOp::create(b);
  return function;
}

void codegen::callOuterProduct(KernelBuilder &b, const OuterProductSpec &spec, const OuterProductArgs &args) {
  int64_t bits = spec.element.getIntOrFloatBitWidth(), columns = spec.vectors * b.target.lanes(bits);
  std::string name = "op_" + std::to_string(spec.rows) + "x" + std::to_string(columns) + "_f" + std::to_string(bits);
  auto function = b.module.lookupSymbol<func::FuncOp>(name);
  if (!function)
    function = createOuterProduct(b, spec, name);
  func::CallOp::create(b, function, ValueRange{args.left, args.rowOffsets, args.steps, args.positions, args.panel, args.sums});
}
