// Collects kernels as CUDA C++; see CudaKernels.h.

#include "codegen/cuda/CudaKernels.h"

#include "codegen/cuda/EmitKernel.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace nncc;
using namespace nncc::codegen;
using namespace nncc::codegen::cuda;

static constexpr char kDeviceHeader[] =
#include "codegen/cuda/nncc_device.inc"
    ;

StringRef cuda::deviceHeader() { return kDeviceHeader; }

FailureOr<KernelPlan> CudaKernels::emit(nn::KernelOp kernel, StringRef symbol, bool isAligned) {
  FailureOr<EmittedKernel> code = emitKernel(kernel, symbol, model, isAligned, options);
  if (failed(code))
    return failure();
  sources.push_back({symbol.str(), std::move(code->source), code->budget, code->product});
  KernelPlan plan;
  plan.cuda = code->launch;
  plan.alternatives = std::move(code->alternatives);
  for (EmittedKernel &finish : code->finish) {
    plan.finish = {finish.symbol, finish.launch, code->workspaceElements};
    sources.push_back({finish.symbol, std::move(finish.source), finish.budget, finish.product});
  }
  return plan;
}

std::string cuda::printCudaFile(const rt::Program &program, ArrayRef<CudaSource> sources) {
  std::string text = "// " + program.modelName + ": the kernels of its entry points, in the order in which they run.\n\n";
  text += deviceHeader();
  std::vector<std::string> names = program.dimNames();
  llvm::StringSet<> printed;
  for (const rt::EntryPoint &entry : program.entryPoints) {
    text += "\n//===----------------------------------------------------------------------===//\n// " + entry.name +
            "\n//===----------------------------------------------------------------------===//\n";
    for (auto [number, step] : llvm::enumerate(entry.steps)) {
      const rt::Kernel &kernel = program.kernels[step.kernel];
      const rt::CudaLaunch &launch = *kernel.cuda;
      text += "\n// Step " + std::to_string(number + 1);
      if (!kernel.source.empty())
        text += ", " + kernel.source;
      text += ": " + kernel.symbol + "<<<dim3(" + launch.gridX.toString(names) + ", " + launch.gridY.toString(names) + ", " +
              launch.gridZ.toString(names) + "), " + std::to_string(launch.threadsPerBlock) + ">>>\n";
      if (printed.insert(kernel.symbol).second)
        text += sources[step.kernel].text;
    }
  }
  return text;
}
