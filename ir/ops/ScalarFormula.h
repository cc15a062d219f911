// Builds scalar formulas from arith and math ops, for scalars and vectors, floating point and
// integers alike, so that an op's buildScalar reads as its formula. NaN propagates as in PyTorch.
#pragma once

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"

namespace nncc::nn {

/// How the bits of an integer are read; floating point ignores it.
enum class Signedness { Signed, Unsigned };

/// ui8 and bool tensors hold unsigned values.
Signedness signednessOf(mlir::Type tensorType);

bool isFloatValue(mlir::Value value);

class ScalarFormula {
public:
  ScalarFormula(mlir::OpBuilder &builder, mlir::Location loc,
                Signedness signedness = Signedness::Signed)
      : builder(builder), loc(loc), isSigned(signedness == Signedness::Signed) {}

  /// `value` in `type`, splat for vectors; an integer saturates at its type's ends.
  mlir::Value constant(mlir::Type type, double value) const;
  mlir::Value constant(mlir::Value like, double value) const {
    return constant(like.getType(), value);
  }
  /// An integer constant of `like`'s type with exactly these bits.
  mlir::Value constant(mlir::Value like, const llvm::APInt &value) const {
    return constant(like.getType(), value);
  }
  mlir::Value constant(mlir::Type type, const llvm::APInt &value) const;

  mlir::Value add(mlir::Value a, mlir::Value b) const;
  mlir::Value sub(mlir::Value a, mlir::Value b) const;
  mlir::Value mul(mlir::Value a, mlir::Value b) const;
  /// Integers round towards zero; a zero divisor gives 0 and the most negative value over -1 wraps,
  /// so that no value traps.
  mlir::Value div(mlir::Value a, mlir::Value b) const;
  mlir::Value neg(mlir::Value a) const;
  mlir::Value abs(mlir::Value a) const;
  /// NaN if either operand is NaN.
  mlir::Value min(mlir::Value a, mlir::Value b) const;
  mlir::Value max(mlir::Value a, mlir::Value b) const;

  enum class Relation { Equal, NotEqual, Less, LessEqual, Greater, GreaterEqual };
  /// Comparisons with NaN are false, except NotEqual.
  mlir::Value compare(Relation relation, mlir::Value a, mlir::Value b) const;
  mlir::Value less(mlir::Value a, mlir::Value b) const { return compare(Relation::Less, a, b); }
  mlir::Value select(mlir::Value condition, mlir::Value a, mlir::Value b) const;

  mlir::Value exp(mlir::Value x) const;
  mlir::Value tanh(mlir::Value x) const;
  mlir::Value erf(mlir::Value x) const;
  mlir::Value expm1(mlir::Value x) const;
  mlir::Value log1p(mlir::Value x) const;
  mlir::Value sqrt(mlir::Value x) const;
  /// 1 / (1 + exp(-x)): exp overflows to infinity at most, which gives the right limit 0.
  mlir::Value sigmoid(mlir::Value x) const;
  /// max(x, 0) + log1p(exp(-|x|)) = log(1 + exp(x)) with an argument of exp that is never positive.
  mlir::Value softplus(mlir::Value x) const;

  /// Conversion between element types as nn.cast defines it; the signedness given to the
  /// constructor is the source's.
  mlir::Value cast(mlir::Value x, mlir::Type element) const;

private:
  mlir::Value castFloatToInteger(mlir::Value x, mlir::IntegerType element) const;

  mlir::OpBuilder &builder;
  mlir::Location loc;
  bool isSigned;
};

} // namespace nncc::nn
