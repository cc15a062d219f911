// Compiles one nn.kernel from IR text to machine code in this process and runs it over plain buffers, as the runtime's pool
// would: the task range split at arbitrary points, the pieces in any order, on two threads with scratch memory of their own.
#pragma once

#include "test/unit/codegen/GuardedBuffer.h"

#include "codegen/cpu/CpuTarget.h"
#include "runtime/KernelAbi.h"

#include <memory>
#include <string>
#include <vector>

namespace nncc::codegen::test {

class CompiledKernel {
public:
  /// Compiles the first nn.kernel of the module `text`; an error fails the test program.
  explicit CompiledKernel(const std::string &text, llvm::StringRef level = "native");
  ~CompiledKernel();

  int64_t tasks(const std::vector<int64_t> &dims = {}) const;
  int64_t scratchBytes(const std::vector<int64_t> &dims = {}) const;

  /// Runs all tasks in one call. `args`: operands, then results; `dims`: values of the module's nn.dims.
  int32_t runWhole(std::vector<void *> args, const std::vector<int64_t> &dims = {}) const;
  /// Runs all tasks in pieces, see above. The pieces follow from `seed`. Returns the first status that is not KernelOk.
  int32_t run(std::vector<void *> args, const std::vector<int64_t> &dims = {},
              unsigned seed = 1) const;

private:
  struct State; // holds what belongs to MLIR and LLVM
  std::unique_ptr<State> state;
  rt::CpuKernel function = nullptr;
};

/// The assembly of the kernel for a CPU level.
std::string assemblyOf(const std::string &text, llvm::StringRef level);

/// Numbers in [low, high) that follow from `seed`.
std::vector<float> randomFloats(size_t count, unsigned seed, float low = -1, float high = 1);

/// Fails for each element (the first ten) with |got - want| > absolute + relative * |want|; NaN equals NaN.
template <typename T>
void expectNear(const std::vector<T> &got, const std::vector<T> &want, double absolute = 1e-5,
                double relative = 1e-5);

} // namespace nncc::codegen::test
