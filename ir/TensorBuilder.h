// What passes write tensor formulas with: nn ops by short names, constants that broadcast, and the sum that takes a gradient back
// through a broadcast.
#pragma once

#include "ir/NN.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace nncc::nn {

class TensorBuilder : public mlir::ImplicitLocOpBuilder {
public:
  TensorBuilder(mlir::OpBuilder &builder, mlir::Location loc) : ImplicitLocOpBuilder(loc, builder) {}

  static mlir::RankedTensorType typeOf(mlir::Value value) {
    return llvm::cast<mlir::RankedTensorType>(value.getType());
  }
  static int64_t rankOf(mlir::Value value) { return typeOf(value).getRank(); }

  mlir::Value add(mlir::Value a, mlir::Value b) { return create<nn::AddOp>(a, b); }
  mlir::Value sub(mlir::Value a, mlir::Value b) { return create<nn::SubOp>(a, b); }
  mlir::Value mul(mlir::Value a, mlir::Value b) { return create<nn::MulOp>(a, b); }
  mlir::Value div(mlir::Value a, mlir::Value b) { return create<nn::DivOp>(a, b); }
  mlir::Value neg(mlir::Value x) { return create<nn::NegOp>(x); }
  mlir::Value mul(mlir::Value x, double factor) { return mul(x, scalar(x, factor)); }
  /// One number, of the element type of `like`, in a shape that broadcasts to any.
  mlir::Value scalar(mlir::Value like, double value);
  mlir::Value zeros(mlir::RankedTensorType type);

  /// Sums over these dimensions, which stay with extent 1.
  mlir::Value sumKept(mlir::Value x, llvm::ArrayRef<int64_t> axes);
  mlir::Value sum(mlir::Value x, llvm::ArrayRef<int64_t> axes);
  /// The gradient of a value of this type that was broadcast to the shape of `gradient`.
  mlir::Value sumTo(mlir::Value gradient, mlir::RankedTensorType type);
  mlir::Value reshape(mlir::Value x, mlir::RankedTensorType type);
  mlir::Value reshape(mlir::Value x, llvm::ArrayRef<nn::Dim> shape);
  mlir::Value expand(mlir::Value x, mlir::RankedTensorType type);
  /// The number of elements along these dimensions of `x`, as a tensor that broadcasts.
  mlir::Value count(mlir::Value x, llvm::ArrayRef<int64_t> axes);
  /// [C] as a tensor that broadcasts along dimension `dim` of `rank` dimensions.
  mlir::Value alongDim(mlir::Value x, int64_t dim, int64_t rank);
  mlir::Value transpose(mlir::Value x, llvm::ArrayRef<int64_t> permutation);
  mlir::Value swapLastTwo(mlir::Value x);
  /// [..., K, ...] times a matrix [K, M], with K as dimension `dim`: [..., M, ...].
  mlir::Value contractAlong(mlir::Value x, int64_t dim, mlir::Value matrix);
  /// [0, 1, 2, ...] of the element type of `like`, exact up to 2^24 in f32.
  mlir::Value positions(mlir::Value like, nn::Dim extent);

  template <typename Op, typename... Arguments> mlir::Value create(Arguments &&...arguments) {
    return Op::create(*this, std::forward<Arguments>(arguments)...).getResult();
  }
};

/// The numbers from `begin` up to `end`.
llvm::SmallVector<int64_t> dimsBetween(int64_t begin, int64_t end);

} // namespace nncc::nn
