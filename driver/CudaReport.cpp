// The table of CUDA kernels; see CudaReport.h.

#include "driver/CudaReport.h"
#include "codegen/SizeExprBuilder.h"
#include "passes/Passes.h"
#include "runtime/cuda/GpuModel.h"
#include "runtime/cuda/Nvrtc.h"
#include "tools/support/TextTable.h"
#include "tools/support/Units.h"

#include <fmt/format.h>

using namespace nncc;
using namespace nncc::tools;
using enum TextTable::Align;

namespace {

constexpr double kNsPerSecond = 1e9;

/// What ptxas says of the kernels, by name; empty without NVRTC.
Result<std::vector<rt::cuda::KernelResources>> compiledResources(const rt::Program &program,
                                                       llvm::ArrayRef<codegen::cuda::CudaSource> sources,
                                                       const std::string &architecture) {
  auto nvrtc = rt::cuda::Nvrtc::get();
  if (!nvrtc)
    return std::vector<rt::cuda::KernelResources>();
  auto image = (*nvrtc)->compile(codegen::cuda::printCudaFile(program, sources), program.modelName, architecture);
  return image ? std::move(image->resources) : Result<std::vector<rt::cuda::KernelResources>>(image.error());
}

} // namespace

Result<std::string> driver::reportCudaKernels(const rt::Program &program,
                                              llvm::ArrayRef<codegen::cuda::CudaSource> sources,
                                              const std::string &architecture) {
  const rt::EntryPoint *infer = program.findEntryPoint(passes::kInferFunction.str());
  const rt::cuda::GpuModel *gpu = rt::cuda::gpuModelOf(architecture);
  if (!infer)
    return internalError("the program has no entry point for inference");
  if (!gpu)
    return userError("--report knows no device of the architecture '" + architecture + "'");
  std::vector<int64_t> dims;
  std::string at;
  for (const rt::NamedDim &dim : program.dims) {
    at += fmt::format("{}{} = {}", at.empty() ? " at " : ", ", dim.name, dim.min);
    dims.push_back(dim.min);
  }
  auto resources = compiledResources(program, sources, architecture);
  if (!resources)
    return resources.error();

  TextTable table({{"#"}, {"kernel", Left, 48}, {"tile", Left}, {"threads"}, {"registers"}, {"shared"}, {"FLOPs"}, {"FLOP/byte"},
                   {"occupancy"}, {"waves"}, {"time"}, {"of roofline"}});
  double predicted = 0, limit = 0;
  for (const auto &[number, step] : llvm::enumerate(infer->steps)) {
    const rt::Kernel &kernel = program.kernels[step.kernel];
    const codegen::cuda::CudaSource &source = sources[step.kernel];
    if (!source.product)
      continue;
    auto evaluate = [&](const rt::SizeExpr &expr) { return expr.evaluate(dims).getOr(0); };
    const rt::CudaLaunch &launch = *kernel.cuda;
    rt::cuda::BlockResources block{launch.threadsPerBlock, source.budget.registers, source.budget.sharedBytes};
    auto known = llvm::find_if(*resources, [&](const rt::cuda::KernelResources &r) { return r.function == kernel.symbol; });
    bool isKnown = known != resources->end();
    if (isKnown)
      block.registers = known->registers;

    rt::cuda::TiledProduct product;
    product.usefulFlops = double(evaluate(step.flops));
    product.bytes = double(evaluate(step.trafficBytes));
    product.blocks = evaluate(launch.gridX) * evaluate(launch.gridY) * evaluate(launch.gridZ);
    product.flopsPerBlock = product.blocks ? product.usefulFlops / double(product.blocks) : 0;
    product.unit = source.product->unit;
    std::string tile = "-";
    if (source.product->rows > 0) {
      auto depth = codegen::toSizeExpr(source.product->depth, program.dimNames());
      double area = double(source.product->rows * source.product->columns);
      product.flopsPerBlock = 2 * area * double(depth ? evaluate(*depth) : 0);
      product.flopsPerSharedWord = 2 / source.product->sharedWordsPerMultiplyAdd;
      tile = fmt::format("{} x {} x {}", source.product->rows, source.product->columns, source.product->slice);
    }
    rt::cuda::Prediction prediction = rt::cuda::predict(*gpu, product, block);
    predicted += prediction.seconds;
    limit += rt::cuda::rooflineSeconds(*gpu, product.unit, product.usefulFlops, product.bytes);
    table.addRow({std::to_string(number + 1), kernel.name, tile, std::to_string(block.threads),
                  fmt::format("{}{}", isKnown ? "" : "<= ", block.registers), formatBytes(double(block.sharedBytes)),
                  formatShortCount(product.usefulFlops), formatFixed(product.bytes > 0 ? product.usefulFlops / product.bytes : 0, 1),
                  formatShare(prediction.occupancy), formatFixed(prediction.waves, 2), formatDuration(prediction.seconds * kNsPerSecond),
                  formatShare(prediction.share)});
  }
  table.addRule();
  table.addRow({"", "all of these", "", "", "", "", "", "", "", "", formatDuration(predicted * kNsPerSecond),
                predicted > 0 ? formatShare(limit / predicted) : ""});
  return fmt::format("{}{} on {} ({}), predicted: {} multiprocessors, {:.0f} GB/s, {:.1f} TFLOP/s in f32, {:.0f} in f16\n{}",
                     program.modelName, at, gpu->name, architecture, gpu->multiprocessors, gpu->memoryBytesPerSecond / 1e9,
                     gpu->fp32Flops / 1e12, gpu->halfFlops / 1e12, table.render(2));
}
