// How the body of an nn.kernel is read: its anchor, the elementwise chains around it, and the way each operand of a chain is
// indexed. FormKernels asks these questions before it fuses and both code generators ask them again when they emit, so the
// answers stand here once.
#pragma once

#include "ir/StridedView.h"

#include <optional>

namespace nncc::nn {

/// How a chain reads an operand relative to the anchor's result.
enum class Access {
  Scalar,     ///< one element for all
  PerChannel, ///< one element per channel (conv: dim 1; matmul: the last dim)
  Full,       ///< the same shape as the result
};

/// The access of an operand that broadcasts against `result`, or nothing when it is none of the three.
std::optional<Access> accessOf(mlir::RankedTensorType operand, mlir::RankedTensorType result,
                               unsigned channelDim);

/// The dimension whose elements an anchor's tile holds side by side in a vector.
unsigned channelDimOf(mlir::Operation *anchor);

/// The elementwise ops that lead from `root` to `result` within one block, in order.
class Chain {
public:
  Chain() = default;
  Chain(mlir::Value root, mlir::Value result);

  bool empty() const { return ops.empty(); }
  llvm::ArrayRef<mlir::Operation *> operations() const { return ops; }
  mlir::Value getRoot() const { return root; }
  /// Values that the chain reads besides the root: block arguments and constants, each once.
  llvm::ArrayRef<mlir::Value> operands() const { return external; }

  /// Emits the chain on scalars or vectors: `root` is the value at hand, `read` gives an external operand at the same place.
  /// Operands of the ops go through `widen`, where the target does not compute with half precision.
  mlir::Value apply(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value rootValue,
                    llvm::function_ref<mlir::Value(mlir::Value)> read,
                    llvm::function_ref<mlir::Value(mlir::Value)> widen = {}) const;

private:
  mlir::Value root, result;
  llvm::SmallVector<mlir::Operation *> ops;
  llvm::SmallVector<mlir::Value> external;
};

/// The constant behind a one-element nn.constant, if `value` is one.
std::optional<mlir::Attribute> splatConstant(mlir::Value value);

/// The op that decides which emitter writes the kernel: the first one that is neither elementwise nor a movement; without such an
/// op the first movement, or else the last elementwise op. Null in a kernel that only copies.
mlir::Operation *anchorOf(KernelOp kernel);
/// `op` computes its result as a whole, not element by element on demand.
bool isAnchor(mlir::Operation *op);

/// What the kernel stores as result `index`: the yielded value before ops that only say where it goes, nn.insert and, behind an
/// anchor, movements.
mlir::Value storedValue(KernelOp kernel, unsigned index);
/// Where its elements lie in the result's memory (the source is null).
StridedView storedView(KernelOp kernel, unsigned index);
/// The same for the one result of a kernel if that were inserted into `whole`.
StridedView storedViewWithin(KernelOp kernel, mlir::RankedTensorType whole, int64_t axis, int64_t offset);
/// The same for a kernel that would end with `movement` and store its operand.
std::optional<StridedView> storedViewBehind(mlir::Operation *movement);

/// The kernel of the operand's owner can read it as `view`, so that no kernel need put the elements side by side before.
bool readsThroughStrides(mlir::OpOperand &operand, const StridedView &view);
/// The kernel of `anchor` can write its result of type `type` to such places.
bool writesThroughStrides(mlir::Operation *anchor, mlir::RankedTensorType type, const StridedView &view);

/// The packed layout of a weight as the contraction emitters read it: panels of `columns` output channels, each panel with
/// the contracted index outermost, in the order in which the kernel walks it.
///   conv   [O, C/groups, k...]   -> [group][panel][k...][C/groups][column]
///   matmul [.., K, N] (or N x K) -> [batch...][panel][K][column]
PackLoopsAttr panelsOf(ConvOp conv, int64_t columns);
PackLoopsAttr panelsOf(MatmulOp matmul, int64_t columns);

/// The packed layout of a depthwise weight (one input and one output channel per group): [k...][channel], the channels filled up
/// to a multiple of `lanes`.
PackLoopsAttr depthwiseTaps(ConvOp conv, int64_t lanes);
/// Every output channel reads the input channel of its own number.
bool isDepthwise(ConvOp conv);

/// The width of the panels for a contraction with `outputs` columns: at most `columns`, a multiple of `lanes`, and such that
/// panels are about equally full (96 outputs are two panels of 48 rather than one of 64 and one half empty).
int64_t panelColumns(int64_t outputs, int64_t columns, int64_t lanes);

/// The kernel of `conv` gathers its input rows into scratch memory itself, so the input may be row-major as well as
/// channels-last: with fewer channels than this a tap is too short to be read in place, and the input (an image, as a rule)
/// would only be reordered to be gathered again.
inline constexpr int64_t kGatheredInputChannels = 8;
bool readsRowMajor(ConvOp conv);

/// There is a kernel for this product with a transposed left operand: both operands are matrices read down their columns, one for one
/// where there are batches, and the extents of a result matrix are known. They are of f32 or f64, or, with `halves`, f16 or bf16.
bool multipliesTransposed(MatmulOp matmul, bool halves);
bool multipliesTransposed(ConvWeightGradientOp gradient, bool halves);

/// A kernel body of the form anchor, chain, optional pool, chain, as the contraction emitters take it.
struct AnchoredBody {
  mlir::Operation *anchor = nullptr;
  Chain epilogue;
  mlir::Operation *pool = nullptr; ///< nn.max_pool or nn.avg_pool, or null
  Chain afterPool;
  /// The value stored by the kernel.
  mlir::Value result;
};
llvm::FailureOr<AnchoredBody> readAnchoredBody(KernelOp kernel);

} // namespace nncc::nn
