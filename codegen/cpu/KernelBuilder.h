// The pen of the CPU emitters: writes one kernel function (runtime/KernelAbi.h) into a module of func, scf, arith, math, vector
// and llvm ops. Sizes are i64 values folded as they are built, tensors are raw pointers with strides, so that what leaves here
// is as plain as hand-written loops.
#pragma once

#include "codegen/SizeBuilder.h"
#include "codegen/cpu/CpuTarget.h"
#include "ir/NN.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <functional>

namespace nncc::codegen {

/// A tensor in memory: base pointer, logical shape and element strides, all as run-time values (constants where known).
struct TensorView {
  mlir::Value pointer;
  mlir::RankedTensorType type;
  llvm::SmallVector<mlir::Value> extents; ///< i64, one per logical dimension
  llvm::SmallVector<mlir::Value> strides; ///< i64 elements, one per logical dimension
  mlir::Type storage() const;             ///< storageType() of the elements
};

/// An element type in memory: i1 takes a byte, ui8 is i8.
mlir::Type storageType(mlir::Type element);

class KernelBuilder : public SizeBuilder {
public:
  KernelBuilder(mlir::Location loc, mlir::OpBuilder builder, const CpuTarget &target,
                mlir::ModuleOp module)
      : SizeBuilder(loc, builder, builder.getI64Type()), target(target), module(module) {}

  const CpuTarget &target;
  mlir::ModuleOp module;

  /// Starts the kernel function `symbol`; the insertion point is its body.
  mlir::func::FuncOp beginKernel(llvm::StringRef symbol);
  /// Ends it, returning `status` (KernelOk when null).
  void endKernel(mlir::Value status = {});

  mlir::Value argument(unsigned index); ///< pointer of kernel argument `index`
  mlir::Value beginTask, endTask, scratch;

  //===--------------------------------------------------------------------===//
  // Sizes
  //===--------------------------------------------------------------------===//
  mlir::Value i64(int64_t value) { return size(value); }
  mlir::Value dim(nn::Dim dim); ///< the run-time value of a dimension

  //===--------------------------------------------------------------------===//
  // Memory
  //===--------------------------------------------------------------------===//
  mlir::Type pointerType();
  mlir::Value offset(mlir::Value pointer, mlir::Type element, mlir::Value elements);
  /// What loads and stores of `type` move: bf16 as i16, since LLVM knows bf16 on few CPUs only, and would call functions of
  /// newer libgcc versions for a masked access.
  mlir::Type memoryType(mlir::Type type);
  mlir::Value toMemory(mlir::Value value);
  mlir::Value fromMemory(mlir::Type type, mlir::Value value);
  mlir::Value load(mlir::Type type, mlir::Value pointer, unsigned alignBytes = 0);
  void store(mlir::Value value, mlir::Value pointer, unsigned alignBytes = 0);
  /// Vector access at element alignment; `mask` null = all lanes.
  mlir::Value loadVector(mlir::VectorType type, mlir::Value pointer, mlir::Value mask = {});
  void storeVector(mlir::Value value, mlir::Value pointer, mlir::Value mask = {});

  /// Pointer to at least `sizeBytes` zero bytes that belong to the module.
  mlir::Value zeros(int64_t sizeBytes);

  TensorView view(mlir::RankedTensorType type, mlir::Value pointer);
  /// Pointer to the element at `indices`; dimensions of extent 1 are taken at 0 when `broadcast`.
  mlir::Value elementPointer(const TensorView &view, mlir::ValueRange indices);

  //===--------------------------------------------------------------------===//
  // Control
  //===--------------------------------------------------------------------===//
  using Body = llvm::function_ref<void(mlir::Value)>;
  using CarriedBody =
      llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value, mlir::ValueRange)>;
  mlir::scf::ForOp loop(mlir::Value begin, mlir::Value end, mlir::Value step, Body body);
  mlir::scf::ForOp loop(mlir::Value begin, mlir::Value end, Body body);
  llvm::SmallVector<mlir::Value> loopCarried(mlir::Value begin, mlir::Value end, mlir::Value step,
                                             mlir::ValueRange init, CarriedBody body);
  void branch(mlir::Value condition, llvm::function_ref<void()> then,
              llvm::function_ref<void()> otherwise = {});

  mlir::Value floatConstant(mlir::Type type, double value); ///< scalar or splat

private:
  mlir::Value argsPointer, dimsPointer;
  llvm::DenseMap<nn::Dim, mlir::Value> dimCache;
  llvm::DenseMap<unsigned, mlir::Value> argumentCache;
  mlir::func::FuncOp function;
};

} // namespace nncc::codegen
