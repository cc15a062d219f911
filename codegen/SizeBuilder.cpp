// Folding index arithmetic; see SizeBuilder.h.

#include "codegen/SizeBuilder.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace nncc;
using namespace nncc::codegen;

Value SizeBuilder::size(int64_t value) {
  return arith::ConstantOp::create(*this, getIntegerAttr(sizeType, value));
}

Value SizeBuilder::add(Value a, Value b) { return createOrFold<arith::AddIOp>(a, b); }
Value SizeBuilder::sub(Value a, Value b) { return createOrFold<arith::SubIOp>(a, b); }
Value SizeBuilder::mul(Value a, Value b) { return createOrFold<arith::MulIOp>(a, b); }
Value SizeBuilder::rem(Value a, Value b) { return createOrFold<arith::RemUIOp>(a, b); }
Value SizeBuilder::min(Value a, Value b) { return createOrFold<arith::MinSIOp>(a, b); }
Value SizeBuilder::max(Value a, Value b) { return createOrFold<arith::MaxSIOp>(a, b); }

Value SizeBuilder::div(Value a, Value b) {
  // x / 3 / 4 is x / 12: one division, and no variable for what lies between.
  auto inner = a.getDefiningOp<arith::DivUIOp>();
  APInt first, second;
  if (inner && matchPattern(inner.getRhs(), m_ConstantInt(&first)) && matchPattern(b, m_ConstantInt(&second))) {
    bool overflows = false;
    APInt both = first.smul_ov(second, overflows);
    if (!overflows)
      return createOrFold<arith::DivUIOp>(inner.getLhs(), size(both.getSExtValue()));
  }
  return createOrFold<arith::DivUIOp>(a, b);
}

Value SizeBuilder::ceilDiv(Value a, Value b) { return div(add(a, sub(b, size(1))), b); }

Value SizeBuilder::less(Value a, Value b) {
  return createOrFold<arith::CmpIOp>(arith::CmpIPredicate::slt, a, b);
}

Value SizeBuilder::product(ValueRange values) {
  Value result = size(1);
  for (Value value : values)
    result = mul(result, value);
  return result;
}

SmallVector<Value> SizeBuilder::delinearize(Value flat, ValueRange extents) {
  // Extents of one in front have nothing to divide by.
  size_t first = 0;
  while (first + 1 < extents.size() && matchPattern(extents[first], m_One()))
    ++first;
  SmallVector<Value> indices(extents.size());
  for (size_t i = 0; i < first; ++i)
    indices[i] = size(0);
  for (size_t i = extents.size(); i-- > first;) {
    indices[i] = i == first ? flat : rem(flat, extents[i]);
    if (i > first)
      flat = div(flat, extents[i]);
  }
  return indices;
}

Value SizeBuilder::packedOffset(nn::PackLoopsAttr pack, ValueRange index) {
  // The loops over one dimension nest by step: the widest takes the quotient, the next what remains.
  SmallVector<Value> rest(index);
  SmallVector<size_t> byStep = llvm::to_vector(llvm::seq<size_t>(0, pack.loopCount()));
  llvm::sort(byStep, [&](size_t x, size_t y) { return std::pair(-pack.step(x), x) < std::pair(-pack.step(y), y); });
  SmallVector<Value> loopIndex(pack.loopCount());
  for (size_t loop : byStep) {
    Value &position = rest[pack.dim(loop)];
    Value step = size(pack.step(loop));
    loopIndex[loop] = div(position, step);
    position = rem(position, step);
  }
  Value offset = size(0);
  for (auto [loop, position] : llvm::enumerate(loopIndex))
    offset = add(mul(offset, size(pack.extent(loop))), position);
  return offset;
}

Value SizeBuilder::select(Value condition, Value a, Value b) {
  return createOrFold<arith::SelectOp>(condition, a, b);
}

Value SizeBuilder::sizeOf(nn::Dim dim, function_ref<Value(StringRef)> symbol) {
  if (auto constant = dyn_cast<AffineConstantExpr>(dim))
    return size(constant.getValue());
  if (auto named = dyn_cast<AffineSymbolExpr>(dim))
    return symbol(nn::dimName(getContext(), named.getPosition()));
  auto binary = cast<AffineBinaryOpExpr>(dim);
  Value lhs = sizeOf(binary.getLHS(), symbol), rhs = sizeOf(binary.getRHS(), symbol);
  switch (dim.getKind()) {
  case AffineExprKind::Add:
    return add(lhs, rhs);
  case AffineExprKind::Mul:
    return mul(lhs, rhs);
  case AffineExprKind::FloorDiv:
    return createOrFold<arith::FloorDivSIOp>(lhs, rhs);
  case AffineExprKind::CeilDiv:
    return createOrFold<arith::CeilDivSIOp>(lhs, rhs);
  default:
    return rem(lhs, rhs);
  }
}
