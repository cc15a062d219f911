// Index arithmetic for emitters: sizes and positions as arith ops that fold as they are built, so that what is known at compile
// time never reaches the code. Values are non-negative unless a caller says otherwise.
#pragma once

#include "ir/NN.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace nncc::codegen {

class SizeBuilder : public mlir::ImplicitLocOpBuilder {
public:
  /// `sizeType` is the type of every size: i64 or index.
  SizeBuilder(mlir::Location loc, mlir::OpBuilder builder, mlir::Type sizeType)
      : ImplicitLocOpBuilder(loc, builder), sizeType(sizeType) {}

  mlir::Type sizeType;

  mlir::Value size(int64_t value);
  mlir::Value add(mlir::Value a, mlir::Value b);
  mlir::Value sub(mlir::Value a, mlir::Value b);
  mlir::Value mul(mlir::Value a, mlir::Value b);
  /// Quotient and remainder of non-negative values.
  mlir::Value div(mlir::Value a, mlir::Value b);
  mlir::Value rem(mlir::Value a, mlir::Value b);
  mlir::Value ceilDiv(mlir::Value a, mlir::Value b);
  mlir::Value min(mlir::Value a, mlir::Value b);
  mlir::Value max(mlir::Value a, mlir::Value b);
  mlir::Value less(mlir::Value a, mlir::Value b); ///< signed a < b, i1
  mlir::Value product(mlir::ValueRange values);
  /// Row-major index of `flat` in `extents`, outermost first.
  llvm::SmallVector<mlir::Value> delinearize(mlir::Value flat, mlir::ValueRange extents);
  /// Position in a packed layout of the element at `index`, one value per logical dimension.
  mlir::Value packedOffset(nn::PackLoopsAttr pack, mlir::ValueRange index);
  mlir::Value select(mlir::Value condition, mlir::Value a, mlir::Value b);

protected:
  /// The value of a dimension; `symbol` gives that of a named dim.
  mlir::Value sizeOf(nn::Dim dim, llvm::function_ref<mlir::Value(llvm::StringRef name)> symbol);
};

} // namespace nncc::codegen
