// What MovementOpInterface speaks of: how an index map reaches indices, extents and elements, and
// where lanes come from.
#pragma once

#include "ir/Shape.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace nncc::nn {

/// The surroundings of one result element. Everything that is referred to must outlive the call of
/// buildElement.
struct MovementAccess {
  mlir::OpBuilder &builder;
  mlir::Location loc;
  /// Type of every index and extent: `index` or an integer.
  mlir::Type indexType;
  /// The result's indices, one per dimension.
  mlir::ValueRange indices;
  /// The element of an operand; for vectors, the elements from there along the operand's lane
  /// dimension. An operand that laneSource calls Same is loaded as a scalar.
  llvm::function_ref<mlir::Value(unsigned operand, mlir::ValueRange indices)> load;
  /// The value of a dimension expression.
  llvm::function_ref<mlir::Value(Dim)> extent;
  /// Makes the run end with an error when the i1 holds. The element that is built is then any.
  llvm::function_ref<void(mlir::Value isOutOfRange)> reportOutOfRange;
};

/// Where consecutive elements along one result dimension lie in an operand.
struct LaneSource {
  enum class Kind {
    Scattered, ///< Anywhere.
    Same,      ///< They are one element.
    Along,     ///< One after another along dimension `dim`.
  };
  Kind kind = Kind::Scattered;
  unsigned dim = 0;

  static LaneSource scattered() { return {}; }
  static LaneSource same() { return {Kind::Same, 0}; }
  static LaneSource along(unsigned dim) { return {Kind::Along, dim}; }
};

} // namespace nncc::nn
