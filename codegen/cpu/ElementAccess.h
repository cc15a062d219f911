// How emitters read and write the tensors of a kernel: element by element, or a vector of elements along one dimension, with the
// ops between a value and memory evaluated on the way. Every emitter that fuses a prologue or an epilogue reads through here, so
// broadcasting, half precision, bools in bytes and memory orders are settled at one place.
#pragma once

#include "codegen/LoopDims.h"
#include "codegen/cpu/KernelBuilder.h"
#include "ir/Kernel.h"

#include <map>

namespace nncc::codegen {

/// The memory behind a kernel's operands, constants and results. Made once, right after beginKernel.
class KernelOperands {
public:
  KernelOperands(KernelBuilder &b, nn::KernelOp kernel);

  KernelBuilder &b;
  nn::KernelOp kernel;

  /// The memory of a block argument, of a movement of one that only changes strides, or of an nn.constant.
  const TensorView &view(mlir::Value tensor);
  /// `tensor` has memory of its own, as view() gives it.
  bool isInMemory(mlir::Value tensor) { return views.contains(tensor) || tensor.getDefiningOp<nn::ConstantOp>(); }
  /// The memory of what is stored (nn::storedValue).
  const TensorView &result(unsigned index) { return results[index]; }
  mlir::Value yielded(unsigned index) { return nn::storedValue(kernel, index); }

  /// Writes one element, or, with a vector `value`, elements along `laneDim` for which `mask` (null = all) holds. A value that
  /// was widened from half precision is rounded here.
  void store(unsigned result, mlir::ValueRange index, mlir::Value value, int laneDim = -1,
             mlir::Value mask = {});
  void store(const TensorView &view, mlir::ValueRange index, mlir::Value value, int laneDim = -1,
             mlir::Value mask = {});

  /// As store, for an element or vector at a given address.
  void storeAt(const TensorView &view, mlir::Value pointer, mlir::Value value, mlir::Value mask = {});

  /// Makes the kernel return KernelIndexOutOfRange when `isBad` (i1) holds for any element.
  void reportOutOfRange(mlir::Value isBad);
  /// What the kernel returns; null when nothing can go wrong.
  mlir::Value status();
  /// True for accesses to the status, which is no tensor.
  bool isStatus(mlir::Operation *access);

private:
  TensorView strided(mlir::Value tensor, mlir::Value pointer, const nn::StridedView &place);

  llvm::DenseMap<mlir::Value, TensorView> views;
  llvm::SmallVector<TensorView> results;
  mlir::Value statusPointer;
};

/// Evaluates tensors of a kernel body at one place. `lanes` > 1 gives vectors. Make one reader per place in the code: values
/// that were computed once are used again.
class ElementReader {
public:
  ElementReader(KernelOperands &operands, int64_t lanes = 1, mlir::Value mask = {})
      : b(operands.b), operands(operands), lanes(lanes), mask(mask) {}

  /// From here on `tensor` is `value`, whatever the index: an anchor's result at hand.
  void bind(mlir::Value tensor, mlir::Value value) { bound[tensor] = value; }

  /// `tensor` at `index`, one i64 per logical dimension. The lanes of a vector lie along `laneDim`; where the tensor is the same
  /// for all of them the element is splat. f16 and bf16 come as f32 when arithmetic was done on them.
  mlir::Value read(mlir::Value tensor, llvm::ArrayRef<mlir::Value> index, int laneDim = -1);
  /// As read, with half precision always widened to f32.
  mlir::Value readWide(mlir::Value tensor, llvm::ArrayRef<mlir::Value> index, int laneDim = -1);

  mlir::Value splat(mlir::Value scalar);

private:
  /// Constants count by value, others by identity.
  using Key = std::vector<std::pair<const void *, int64_t>>;
  Key keyOf(mlir::Value tensor, llvm::ArrayRef<mlir::Value> index, int laneDim);

  mlir::Value evaluate(mlir::Value tensor, llvm::ArrayRef<mlir::Value> index, int laneDim);
  mlir::Value compute(mlir::Value tensor, llvm::ArrayRef<mlir::Value> index, int laneDim);
  mlir::Value computeElementwise(nn::ElementwiseOpInterface op, llvm::ArrayRef<mlir::Value> index, int laneDim);
  mlir::Value computeMovement(nn::MovementOpInterface op, llvm::ArrayRef<mlir::Value> index, int laneDim);
  mlir::Value computeLanes(mlir::Value tensor, llvm::ArrayRef<mlir::Value> index, int laneDim);
  mlir::Value readMemory(const TensorView &view, llvm::ArrayRef<mlir::Value> index, int laneDim);

  KernelBuilder &b;
  KernelOperands &operands;
  int64_t lanes;
  mlir::Value mask;
  llvm::DenseMap<mlir::Value, mlir::Value> bound;
  std::map<Key, mlir::Value> known;
};

/// f32 for f16 and bf16, scalar or vector; other types as they are.
mlir::Type wideType(mlir::Type type);
mlir::Value widen(KernelBuilder &b, mlir::Value value);

/// The element of a constant that is the same everywhere, as kernels compute with it.
mlir::Value constantElement(KernelBuilder &b, mlir::Attribute element);

/// What was read from memory of storageType(element): a byte becomes a bool.
mlir::Value fromStorage(KernelBuilder &b, mlir::Type element, mlir::Value value);
/// What is written to memory of type `storage`: half precision rounded from f32, a bool as a byte.
mlir::Value toStorage(KernelBuilder &b, mlir::Type storage, mlir::Value value);

/// The epilogue of an anchor, computed in f32 where its element types are f16 or bf16; not rounded yet.
mlir::Value applyChain(KernelBuilder &b, const nn::Chain &chain, mlir::Value root,
                       llvm::function_ref<mlir::Value(mlir::Value)> read);

/// Elements from the start of `view` to the element at `index`, packed layouts included.
mlir::Value elementOffset(KernelBuilder &b, const TensorView &view, mlir::ValueRange index);

/// Bits of the narrowest element that `kernel` loads or stores.
unsigned narrowestElementBits(nn::KernelOp kernel);
/// Bits of the widest element that the body of `kernel` computes with: what decides the lanes of its vectors.
unsigned widestElementBits(nn::KernelOp kernel);

/// Moves out of `loop` what does not change in it, loads of the kernel's operands included: a kernel never writes them at
/// another index than it reads.
void hoistInvariants(mlir::scf::ForOp loop);

} // namespace nncc::codegen
