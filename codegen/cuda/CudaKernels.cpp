// Collects kernels as CUDA C++; see CudaKernels.h.

#include "codegen/cuda/CudaKernels.h"

#include "codegen/cuda/DeviceHeader.h"
#include "codegen/cuda/EmitKernel.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace nncc;
using namespace nncc::codegen;
using namespace nncc::codegen::cuda;

std::optional<KernelPlan::Finish> CudaKernels::keep(EmittedKernel &code) {
  sources.push_back({code.symbol, std::move(code.source), code.budget, code.product});
  std::optional<KernelPlan::Finish> plan;
  for (EmittedKernel &finish : code.finish) {
    plan = {finish.symbol, finish.launch, code.workspaceElements};
    sources.push_back({finish.symbol, std::move(finish.source), finish.budget, finish.product});
  }
  return plan;
}

FailureOr<KernelPlan> CudaKernels::emit(nn::KernelOp kernel, StringRef symbol, bool isAligned) {
  FailureOr<EmittedKernel> code = emitKernel(kernel, symbol, model, isAligned, options);
  if (failed(code))
    return failure();
  KernelPlan plan;
  plan.cuda = code->launch;
  plan.alternatives = std::move(code->alternatives);
  plan.finish = keep(*code);
  // Results are compared when tiles are measured, and a kernel may leave one in a place of its own.
  uint32_t others = kernel.getNumResults() == 1 && !code->launch.hasStatus ? std::min(code->tilesBehind, options.tileCount - 1) : 0;
  for (uint32_t i = 1; i <= others; ++i) {
    CudaOptions other = options;
    other.tileRank += i;
    FailureOr<EmittedKernel> tile = emitKernel(kernel, (symbol + "_tile" + Twine(i + 1)).str(), model, isAligned, other);
    if (failed(tile))
      return failure();
    plan.tiles.push_back({tile->tile, tile->symbol, tile->launch, {}});
    plan.tiles.back().finish = keep(*tile);
  }
  return plan;
}

std::string cuda::printCudaFile(const rt::Program &program, ArrayRef<CudaSource> sources) {
  std::string kernels;
  std::vector<std::string> names = program.dimNames();
  llvm::StringSet<> printed;
  for (const rt::EntryPoint &entry : program.entryPoints) {
    kernels += "\n//===----------------------------------------------------------------------===//\n// " + entry.name +
               "\n//===----------------------------------------------------------------------===//\n";
    for (auto [number, step] : llvm::enumerate(entry.steps)) {
      const rt::Kernel &kernel = program.kernels[step.kernel];
      const rt::CudaLaunch &launch = *kernel.cuda;
      kernels += "\n// Step " + std::to_string(number + 1);
      if (!kernel.source.empty())
        kernels += ", " + kernel.source;
      kernels += ": " + kernel.symbol + "<<<dim3(" + launch.gridX.toString(names) + ", " + launch.gridY.toString(names) + ", " +
                 launch.gridZ.toString(names) + "), " + std::to_string(launch.threadsPerBlock) + ">>>\n";
      if (printed.insert(kernel.symbol).second)
        kernels += sources[step.kernel].text;
    }
  }
  return "// " + program.modelName + ": the kernels of its entry points, in the order in which they run.\n\n" +
         deviceHeaderFor(kernels) + kernels;
}
