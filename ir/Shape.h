// Shape arithmetic of the compiler: dimensions as expressions over named dims, tensor types built
// from them, and the broadcasting and window rules that several ops share. Every size goes through
// checked arithmetic; a tensor whose element count or byte size leaves 63 bits is refused here, at
// one place.
#pragma once

#include "support/CheckedSize.h"
#include "support/DType.h"

#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/SmallVector.h"

#include <optional>
#include <string>

namespace nncc::nn {

/// A dimension: a constant, or an expression over named dims (symbols).
using Dim = mlir::AffineExpr;
using Shape = llvm::SmallVector<Dim, 6>;

/// The named dim `name`; equal names give equal expressions within one context.
Dim namedDim(mlir::MLIRContext *context, llvm::StringRef name);
/// The name behind symbol `position`.
llvm::StringRef dimName(mlir::MLIRContext *context, unsigned position);
Dim constantDim(mlir::MLIRContext *context, int64_t value);
std::optional<int64_t> constantOf(Dim dim);

/// Whether `dim` holds so many operations that no network's shapes come near it. Expressions are
/// shared and walked as trees, so texts that double one again and again would take forever;
/// `tensorType` refuses such dimensions, and so does who computes with them.
bool isTooComplex(Dim dim);

/// "N", "T floordiv 2", "28": as in IR text and in messages.
std::string toString(Dim dim, mlir::MLIRContext *context);
/// "f32[N, 1, 28, 28]": a type as messages name it.
std::string describe(mlir::Type tensorType);

Dim dimOf(mlir::RankedTensorType type, unsigned index);
Shape shapeOf(mlir::Type tensorType);
/// Dimensions from the outermost to the innermost in memory; never empty for rank > 0.
llvm::SmallVector<int64_t> orderOf(mlir::RankedTensorType type);
/// Neither another order nor packed.
bool isRowMajor(mlir::RankedTensorType type);
bool isPacked(mlir::RankedTensorType type);
/// Elements that the tensor takes in memory, a packed layout's padding included.
Dim storedElements(mlir::RankedTensorType type);

/// Product of dimensions; a null Dim when constants overflow.
Dim product(llvm::ArrayRef<Dim> dims, mlir::MLIRContext *context);

/// Product of `numerator` over product of `denominator` when that is a dimension for every value of the named dims: equal
/// factors cancel, then the constants must divide. Null otherwise. Its value 1 means that two shapes hold equally many elements;
/// a frontend solves reshape's -1 with it.
Dim quotient(llvm::ArrayRef<Dim> numerator, llvm::ArrayRef<Dim> denominator,
             mlir::MLIRContext *context);

/// The type with these dimensions. Without a location, overflow is silent failure; with one it is
/// reported there.
llvm::FailureOr<mlir::RankedTensorType> tensorType(std::optional<mlir::Location> loc,
                                                   llvm::ArrayRef<Dim> shape, mlir::Type element,
                                                   llvm::ArrayRef<int64_t> order = {});
/// The same logical type in another memory order; empty = row-major.
mlir::RankedTensorType withOrder(mlir::RankedTensorType type, llvm::ArrayRef<int64_t> order);
/// Channels-last order for a rank: [0, 2, 3, 1] for 4.
llvm::SmallVector<int64_t> channelsLastOrder(unsigned rank);

/// Equal but for the memory order.
bool sameLogicalType(mlir::Type a, mlir::Type b);
bool sameLogicalTypes(mlir::TypeRange a, mlir::TypeRange b);

/// NumPy broadcasting of two shapes; on failure `conflict` names the pair of dimensions.
llvm::FailureOr<Shape> broadcastShapes(llvm::ArrayRef<Dim> a, llvm::ArrayRef<Dim> b,
                                       std::pair<Dim, Dim> *conflict = nullptr);

/// One spatial dimension of a sliding window.
struct WindowDim {
  int64_t kernel = 1, stride = 1, dilation = 1, padBegin = 0, padEnd = 0;
  bool ceilMode = false;
  CheckedSize dilatedKernel() const { return (CheckedSize(kernel) - 1) * dilation + 1; }
};
/// Output extent of a window over `input`; a null Dim when the window does not fit into a static
/// input.
Dim windowOutput(Dim input, const WindowDim &window);

/// The element type between MLIR and the runtime; nothing for types nncc does not compute with.
std::optional<DType> dtypeOf(mlir::Type element);
mlir::Type elementType(mlir::MLIRContext *context, DType dtype);

} // namespace nncc::nn
