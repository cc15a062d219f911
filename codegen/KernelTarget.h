// What buildProgram asks of a target: code for one kernel at a time, and what the Program must say of it.
#pragma once

#include "ir/NN.h"
#include "ir/Shape.h"
#include "runtime/LibraryCall.h"

#include <optional>
#include <string>
#include <vector>

namespace nncc::codegen {

/// How a kernel is launched on a CUDA device; sizes are expressions over named dims.
struct CudaLaunch {
  int64_t threads = 256; ///< per block
  nn::Dim gridX, gridY = {}, gridZ = {}; ///< null is 1
  bool hasStatus = false; ///< the kernel takes a pointer to a status word behind the tensors
  bool wideIndex = false; ///< named dims are 64 bits wide instead of 32
};

/// A function of NVIDIA's libraries that computes what a kernel does.
using LibraryCall = rt::LibraryCallOf<nn::Dim>;

/// What the Program says of a kernel besides its name.
struct KernelPlan {
  nn::Dim tasks = {};        ///< CPU: independent tasks of one step
  nn::Dim scratchBytes = {}; ///< CPU: scratch memory per thread
  std::optional<CudaLaunch> cuda;
  /// CUDA: the kernel leaves its results in parts in a workspace, and another one, which runs behind it, puts them together.
  struct Finish {
    std::string symbol;
    CudaLaunch launch;
    nn::Dim workspaceElements = {}; ///< f32
  };
  std::optional<Finish> finish = {};
  /// CUDA: the same work in other tiles, which do that of both; see rt::TileVariant.
  struct Tile {
    std::string tile, symbol;
    CudaLaunch launch;
    std::optional<Finish> finish;
  };
  std::vector<Tile> tiles = {};
  std::vector<LibraryCall> alternatives = {}; ///< CUDA: of the kernel, or of both
};

class KernelTarget {
public:
  virtual ~KernelTarget() = default;

  /// Emits `kernel` as the function `symbol` and keeps the code. `isAligned`: every argument starts on 16 bytes. Reports what it
  /// cannot emit at the kernel.
  virtual llvm::FailureOr<KernelPlan> emit(nn::KernelOp kernel, llvm::StringRef symbol, bool isAligned) = 0;
  /// The symbol for a kernel of this name; a number is put behind it when there are several.
  virtual std::string symbolFor(llvm::StringRef name) const { return name.str(); }
  /// Kernels depend on the alignment of their arguments.
  virtual bool needsAlignment() const { return false; }
  /// Everything of the target that decides how prepared constants look.
  virtual std::string identity() const = 0;
};

} // namespace nncc::codegen
