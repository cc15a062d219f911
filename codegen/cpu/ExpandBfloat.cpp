// f32 to bf16 and back by integer arithmetic; see ExpandBfloat.h.

#include "codegen/cpu/ExpandBfloat.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

namespace {

/// bf16 is the upper half of f32.
constexpr unsigned kDroppedBits = 16;

bool isBfloat(Value value) { return getElementTypeOrSelf(value.getType()).isBF16(); }

/// Integers in the shape of a value.
class BitBuilder : public ImplicitLocOpBuilder {
public:
  BitBuilder(Operation *op)
      : ImplicitLocOpBuilder(op->getLoc(), op), shape(op->getResult(0).getType()),
        halfBits(withElement(getIntegerType(16))), wideBits(withElement(getI32Type())) {}

  Type shape, halfBits, wideBits;

  Type withElement(Type element) const {
    auto vector = dyn_cast<VectorType>(shape);
    return vector ? Type(vector.clone(element)) : element;
  }
  Value number(int32_t value) {
    TypedAttr element = getI32IntegerAttr(value);
    if (auto vector = dyn_cast<VectorType>(wideBits))
      element = SplatElementsAttr::get(vector, Attribute(element));
    return arith::ConstantOp::create(*this, element);
  }
};

Value extend(arith::ExtFOp op) {
  BitBuilder b(op);
  Value bits = arith::BitcastOp::create(b, b.halfBits, op.getIn());
  bits = arith::ExtUIOp::create(b, b.wideBits, bits);
  bits = arith::ShLIOp::create(b, bits, b.number(kDroppedBits));
  return arith::BitcastOp::create(b, op.getType(), bits);
}

/// Rounds to nearest, ties to even. What is chosen is chosen among integers: LLVM has no selection of bf16 on most CPUs.
Value truncate(arith::TruncFOp op) {
  BitBuilder b(op);
  constexpr int32_t kBelowHalf = 0x7fff, kQuiet = 0x40;
  Value x = op.getIn(), bits = arith::BitcastOp::create(b, b.wideBits, x);
  Value upper = arith::ShRUIOp::create(b, bits, b.number(kDroppedBits));
  Value isOdd = arith::AndIOp::create(b, upper, b.number(1));
  Value sum = arith::AddIOp::create(b, bits, arith::AddIOp::create(b, isOdd, b.number(kBelowHalf)));
  Value rounded = arith::ShRUIOp::create(b, sum, b.number(kDroppedBits));
  // Rounding could carry a NaN to infinity, or its upper half could be that of infinity.
  Value isNan = arith::CmpFOp::create(b, arith::CmpFPredicate::UNO, x, x);
  Value quiet = arith::OrIOp::create(b, upper, b.number(kQuiet));
  Value result = arith::SelectOp::create(b, isNan, quiet, rounded);
  return arith::BitcastOp::create(b, op.getType(), arith::TruncIOp::create(b, b.halfBits, result));
}

struct ExpandBfloat : PassWrapper<ExpandBfloat, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ExpandBfloat)
  StringRef getArgument() const override { return "expand-bfloat"; }

  void runOnOperation() override {
    getOperation().walk([](Operation *op) {
      Value replacement;
      if (auto extension = dyn_cast<arith::ExtFOp>(op); extension && isBfloat(extension.getIn()))
        replacement = extend(extension);
      else if (auto truncation = dyn_cast<arith::TruncFOp>(op); truncation && isBfloat(truncation.getOut()))
        replacement = truncate(truncation);
      if (!replacement)
        return;
      op->getResult(0).replaceAllUsesWith(replacement);
      op->erase();
    });
  }
};

} // namespace

std::unique_ptr<Pass> nncc::codegen::createExpandBfloatPass() {
  return std::make_unique<ExpandBfloat>();
}
