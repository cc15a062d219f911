// Index arithmetic of movement maps.
#pragma once

#include "ir/NN.h"

namespace nncc::nn {

/// Integer arithmetic on indices, folded while it is built.
class IndexMath {
public:
  explicit IndexMath(MovementAccess &access) : access(access) {}

  mlir::Value constant(int64_t value) {
    return mlir::arith::ConstantOp::create(access.builder, access.loc,
                                     access.builder.getIntegerAttr(access.indexType, value));
  }
  mlir::Value add(mlir::Value a, mlir::Value b) { return make<mlir::arith::AddIOp>(a, b); }
  mlir::Value add(mlir::Value a, int64_t b) { return b == 0 ? a : add(a, constant(b)); }
  mlir::Value sub(mlir::Value a, mlir::Value b) { return make<mlir::arith::SubIOp>(a, b); }
  mlir::Value mul(mlir::Value a, mlir::Value b) { return make<mlir::arith::MulIOp>(a, b); }
  mlir::Value mul(mlir::Value a, int64_t b) { return b == 1 ? a : mul(a, constant(b)); }
  /// Quotient and remainder of values that are not negative.
  mlir::Value div(mlir::Value a, mlir::Value b) { return make<mlir::arith::DivUIOp>(a, b); }
  mlir::Value mod(mlir::Value a, mlir::Value b) { return make<mlir::arith::RemUIOp>(a, b); }
  mlir::Value min(mlir::Value a, mlir::Value b) { return make<mlir::arith::MinSIOp>(a, b); }
  mlir::Value max(mlir::Value a, mlir::Value b) { return make<mlir::arith::MaxSIOp>(a, b); }
  mlir::Value less(mlir::Value a, mlir::Value b) {
    return access.builder.createOrFold<mlir::arith::CmpIOp>(access.loc, mlir::arith::CmpIPredicate::slt, a, b);
  }
  mlir::Value select(mlir::Value condition, mlir::Value a, mlir::Value b) {
    return access.builder.createOrFold<mlir::arith::SelectOp>(access.loc, condition, a, b);
  }
  mlir::Value either(mlir::Value a, mlir::Value b) { return make<mlir::arith::OrIOp>(a, b); }
  mlir::Value both(mlir::Value a, mlir::Value b) { return make<mlir::arith::AndIOp>(a, b); }
  mlir::Value isEqual(mlir::Value a, mlir::Value b) {
    return access.builder.createOrFold<mlir::arith::CmpIOp>(access.loc, mlir::arith::CmpIPredicate::eq, a, b);
  }
  /// An index or extent as a number of this element type.
  mlir::Value toFloat(mlir::Value value, mlir::Type element) {
    if (access.indexType.isIndex())
      value = mlir::arith::IndexCastOp::create(access.builder, access.loc, access.builder.getI64Type(), value);
    return mlir::arith::SIToFPOp::create(access.builder, access.loc, element, value);
  }
  /// `scalar`, in every lane where `like` is a vector.
  mlir::Value splatLike(mlir::Value scalar, mlir::Value like) {
    auto vector = llvm::dyn_cast<mlir::VectorType>(like.getType());
    return vector ? mlir::vector::BroadcastOp::create(access.builder, access.loc, vector, scalar).getResult() : scalar;
  }
  /// `index` limited to 0 .. extent - 1.
  mlir::Value clamp(mlir::Value index, mlir::Value extent) { return min(max(index, constant(0)), add(extent, -1)); }

private:
  template <typename Op> mlir::Value make(mlir::Value a, mlir::Value b) {
    return access.builder.createOrFold<Op>(access.loc, a, b);
  }

  MovementAccess &access;
};

} // namespace nncc::nn
