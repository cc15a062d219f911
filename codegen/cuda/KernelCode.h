// One CUDA kernel function as it is written: its arguments and their names, how elements of the kernel's tensors are read and
// written at any index with the ops between a value and memory evaluated on the way, and the comment above it. Every emitter that
// fuses reads and writes through here, so broadcasting, half precision, bools in bytes, memory orders and packed layouts are
// settled at one place.
//
// Arguments of a kernel function: a pointer for each operand, a pointer for each result, an `int *status` when an index may be out
// of range, then the named dims that it uses, in the module's order.
#pragma once

#include "codegen/KernelTarget.h"
#include "codegen/cuda/CudaOptions.h"
#include "codegen/cuda/ScalarCode.h"
#include "ir/Kernel.h"
#include "ir/StridedView.h"
#include "runtime/cuda/GpuModel.h"

namespace nncc::codegen::cuda {

/// What a kernel may take of a multiprocessor; test/e2e/cuda/check_resources.cpp holds its machine code for every architecture
/// against it. Spilled registers are in no budget.
struct KernelBudget {
  int64_t registers = 0;   ///< per thread, at most
  int64_t sharedBytes = 0; ///< static, per block
  int64_t stackBytes = 0;  ///< per thread; see ScalarCode::stackBytes
};

/// How a kernel multiplies, for reports. Kernels without tiles have none of the sizes.
struct ProductPlan {
  int64_t rows = 0, columns = 0, slice = 0; ///< of a block's tile, and how deep a slice of the operands it holds at once
  nn::Dim depth = {};
  double sharedWordsPerMultiplyAdd = 0; ///< that a thread reads
  rt::cuda::MathUnit unit = rt::cuda::MathUnit::Fp32;
};

/// A kernel in CUDA C++ and how it is launched.
struct EmittedKernel {
  std::string symbol, source;
  CudaLaunch launch;
  KernelBudget budget;
  std::optional<ProductPlan> product = {}; ///< of a kernel that multiplies matrices or convolves
  std::string tile = {};                   ///< of a contraction: what tells its tile from others
  uint32_t tilesBehind = 0;                ///< that the model of a device ranks behind it
  /// Empty, or the kernel that runs behind this one and makes the results of the parts in a workspace of f32.
  std::vector<EmittedKernel> finish = {};
  nn::Dim workspaceElements = {};
  std::vector<LibraryCall> alternatives = {}; ///< of both
};

/// A tensor in memory: index i lies at pointer[offset + sum of i[d] * strides[d]].
struct Memory {
  std::string pointer;
  mlir::Value offset;
  llvm::SmallVector<mlir::Value> strides;
};

class KernelCode : public ScalarCode {
public:
  KernelCode(nn::KernelOp kernel, llvm::StringRef symbol, mlir::ModuleOp module, const CudaOptions &options);

  nn::KernelOp kernel;
  const CudaOptions options;
  /// Whether `dim` is larger for some values of the named dims that the model allows.
  bool mayExceed(nn::Dim dim, int64_t limit) const;
  /// The kernel that makes the results of parts which this one leaves in a workspace.
  std::unique_ptr<KernelCode> finisher() const;
  /// The pointer to the workspace is `parts`, written instead of the results or read besides the operands.
  enum class Workspace { None, Written, Read } workspace = Workspace::None;

  /// Renames an argument; call before it is used. Defaults: x, or x0, x1, ... for operands, y, or y0, ... for results.
  void nameOperand(mlir::Value blockArgument, llvm::StringRef name);
  std::string pointerOf(mlir::Value blockArgument) const;
  void nameResult(unsigned index, llvm::StringRef name) { resultNames[index] = name.str(); }
  std::string resultPointer(unsigned index) const { return resultNames[index]; }

  //===--------------------------------------------------------------------===//
  // Elements
  //===--------------------------------------------------------------------===//

  /// Elements from the start of a tensor of this type to the one at `index`.
  mlir::Value offsetOf(mlir::RankedTensorType type, mlir::ValueRange index);
  /// Where the elements of an operand lie, seen through slices and transposes; nothing for what is computed or packed.
  std::optional<Memory> memoryOf(mlir::Value tensor);
  /// Where what the kernel stores as a result goes: storedValue(result), element by element.
  Memory resultMemory(unsigned result);
  mlir::Value storedValue(unsigned result) { return nn::storedValue(kernel, result); }
  mlir::Value placeIn(const Memory &memory, mlir::ValueRange index);
  /// From here on, and until forget(), `tensor` is `value` whatever the index.
  void bind(mlir::Value tensor, mlir::Value value) { bound[tensor] = value; }
  void forget() { bound.clear(); }
  /// `tensor` at `index`, computed from memory; f16 and bf16 come as f32. With lanes, the element number kLane of the vector that
  /// begins there along `laneDim`.
  mlir::Value read(mlir::Value tensor, llvm::ArrayRef<mlir::Value> index, int laneDim = -1);
  /// The element at `offset` from `pointer`; with lanes, of a vector unless laneDim is negative. The lanes are loaded one by one
  /// where the vector might not lie on 16 bytes.
  mlir::Value readMemory(mlir::Type element, llvm::StringRef pointer, mlir::Value offset, int laneDim = -1);
  /// A variable of the source whose values are multiples of `divisor`.
  mlir::Value multiple(const llvm::Twine &text, int64_t divisor);
  /// Elements that one thread reads side by side. The loads are written at once, what is computed from them when it is printed:
  /// inside a loop over kLane.
  int64_t lanes = 1;
  static constexpr llvm::StringLiteral kLane = "j";
  /// A vector was wanted that only one arm of a branch reads. It was loaded all the same, maybe from outside the tensor: what was
  /// written is of no use, and the kernel must be emitted without lanes.
  bool hasConditionalVector() const { return readInBranch; }
  /// Runs `write` inside an unrolled loop over kLane, or as it is with one lane.
  void forLanes(llvm::function_ref<void()> write);
  /// Writes result `index` at `offset`, as many elements as there are lanes: rounds what was widened.
  void store(unsigned result, mlir::Value offset, mlir::Value value);
  std::string stored(mlir::Type element, mlir::Value value);
  /// Makes the run end with an error when the i1 holds in any thread.
  void reportOutOfRange(mlir::Value isBad);

  //===--------------------------------------------------------------------===//
  // The whole function
  //===--------------------------------------------------------------------===//

  /// Declares an array in shared memory, such as "tile[2][kDepth + 1]", with that many elements. For accesses of 16 bytes it is
  /// aligned.
  void declareShared(mlir::Type element, const llvm::Twine &array, int64_t elements, bool isAligned = true, llvm::StringRef comment = "");
  /// Registers that a thread may have, about: the launch bounds ask for as many blocks on a multiprocessor as have room. Left to
  /// itself, ptxas spills a few registers here and there to make room for more. With the default 1024 threads have room, enough to
  /// hide the waiting of a kernel that is limited by memory.
  int64_t registers = 64;

  /// A line of the comment above the kernel.
  void note(const llvm::Twine &text) { notes.push_back(text.str()); }
  /// Frames what was written: comment, signature, body.
  EmittedKernel finish(CudaLaunch launch);

private:
  Memory memoryOf(const nn::StridedView &view, llvm::StringRef pointer);
  mlir::Value compute(mlir::Value tensor, llvm::ArrayRef<mlir::Value> index, int laneDim);
  std::string constantArray(nn::ConstantOp constant);

  std::string symbol;
  mlir::ModuleOp module;
  llvm::DenseMap<mlir::Value, std::string> operandNames;
  llvm::SmallVector<std::string> resultNames;
  llvm::DenseMap<mlir::Value, mlir::Value> bound;
  /// Vectors and single elements that are in registers, and the block of C++ that declares them.
  llvm::StringMap<std::pair<mlir::Value, unsigned>> loaded;
  llvm::DenseMap<mlir::Operation *, std::string> constantNames;
  std::vector<std::string> notes;
  int64_t sharedBytes = 0;
  bool readInBranch = false;
  SourceWriter before; ///< constant tables in front of the function
  bool hasStatus = false;
};

/// True when positions in some tensor of the kernel, at the largest named dims, do not fit 31 bits.
bool needsWideIndex(nn::KernelOp kernel, mlir::ModuleOp module);

/// "f32[N, 64, 56, 56], channels last": a tensor as comments name it.
std::string describeTensor(mlir::RankedTensorType type);

} // namespace nncc::codegen::cuda
