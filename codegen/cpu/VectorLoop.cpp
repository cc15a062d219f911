// Loops in vectors; see VectorLoop.h.

#include "codegen/cpu/VectorLoop.h"

#include "codegen/cpu/ElementAccess.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace nncc;
using namespace nncc::codegen;

Value codegen::tailMask(KernelBuilder &b, Value rest, int64_t lanes) {
  SmallVector<int32_t> numbers;
  for (int64_t lane = 0; lane < lanes; ++lane)
    numbers.push_back(lane);
  auto type = VectorType::get({lanes}, b.getI32Type());
  Value steps = arith::ConstantOp::create(b, DenseElementsAttr::get(type, ArrayRef<int32_t>(numbers)));
  Value limit = b.createOrFold<arith::TruncIOp>(b.getI32Type(), b.min(rest, b.i64(lanes)));
  return arith::CmpIOp::create(b, arith::CmpIPredicate::slt, steps,
                               vector::BroadcastOp::create(b, type, limit));
}

/// AVX-512 masks elements of every width, AVX those of 32 and 64 bits; elsewhere LLVM would branch per lane.
static bool hasMaskedAccess(const CpuTarget &target, unsigned elementBits) {
  return target.vectorBytes == 64 || (target.vectorBytes == 32 && elementBits >= 32);
}

void codegen::vectorLoop(KernelBuilder &b, Value begin, Value end, int64_t lanes, unsigned elementBits,
                         VectorBody body) {
  std::optional<int64_t> first = getConstantIntValue(begin), last = getConstantIntValue(end);
  Value step = b.i64(lanes), full = b.sub(end, b.rem(b.sub(end, begin), step));
  std::optional<int64_t> count;
  if (first && last)
    count = *last - *first;
  if (!count || *count >= lanes)
    hoistInvariants(b.loop(begin, full, step, [&](Value position) { body(position, lanes, {}); }));
  if (count && *count % lanes == 0)
    return;
  if (!hasMaskedAccess(b.target, elementBits)) {
    hoistInvariants(b.loop(full, end, [&](Value position) { body(position, 1, {}); }));
    return;
  }
  auto tail = [&] { body(full, lanes, tailMask(b, b.sub(end, full), lanes)); };
  if (count)
    tail();
  else
    b.branch(b.less(full, end), tail);
}
