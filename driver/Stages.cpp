// The middle of a compilation; see Stages.h.

#include "driver/Stages.h"
#include "codegen/cpu/CompileModule.h"
#include "codegen/cuda/DeviceHeader.h"
#include "codegen/link/WriteObject.h"
#include "driver/Diagnose.h"
#include "driver/PhaseDump.h"
#include "passes/Passes.h"
#include "passes/Pipeline.h"
#include "runtime/CpuLevel.h"
#include "runtime/MemoryPlan.h"
#include "runtime/cuda/KernelLoader.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/TimeProfiler.h"

using namespace nncc;
using namespace nncc::driver;

Result<codegen::CpuTarget> driver::findTarget(const std::string &cpu) {
  auto target = codegen::cpuTargetNamed(cpu);
  if (!target)
    return userError("--cpu: " + llvm::toString(target.takeError()));
  return std::move(*target);
}

passes::Packing driver::packingFor(const codegen::CpuTarget &target) {
  constexpr unsigned kFloatBits = 32;
  return {target.lanes(kFloatBits) * target.tileVectors(), target.lanes(kFloatBits), /*multipliesTransposed=*/true};
}

passes::Packing driver::cudaPacking() {
  // One panel with all columns: a block takes the part of each row that it needs. Rows are whole vectors of 16 bytes, of halves too.
  return {1 << 20, 8, /*multipliesTransposed=*/true, /*multipliesTransposedHalves=*/true};
}

Result<void> driver::runPasses(mlir::ModuleOp module, const passes::Packing &packing,
                               const PassOptions &options) {
  llvm::TimeTraceScope trace("passes");
  mlir::PassManager passes(module.getContext());
  if (options.configure && failed(options.configure(passes)))
    return userError("the flags for passes do not fit together");
  if (!options.dumpFolder.empty()) {
    auto dump = createPhaseDump(options.dumpFolder);
    if (!dump)
      return dump.error();
    passes.addInstrumentation(std::move(*dump));
  }
  passes::buildPipeline(passes, packing, options.memoryBudgetBytes);

  DiagnosticText diagnostics(*module.getContext());
  if (failed(passes.run(module)))
    return diagnostics.take(ErrorKind::User, "a pass failed without saying why");
  return {};
}

std::vector<int64_t> driver::trainingDims(const rt::Program &program) {
  std::vector<int64_t> dims;
  for (const rt::NamedDim &dim : program.dims)
    dims.push_back(dim.min);
  const rt::EntryPoint *step = program.findEntryPoint(passes::kTrainStepFunction.str());
  if (!step || !program.training)
    return dims;
  for (uint32_t input : step->inputs)
    if (const rt::Buffer &buffer = program.buffers[input]; !buffer.shape.empty())
      if (const std::vector<rt::SizeExpr::Term> &terms = buffer.shape[0].terms;
          terms.size() == 1 && terms[0].op == rt::SizeExpr::Op::Dim)
        dims[terms[0].value] = program.training->batch;
  return dims;
}

/// What FormKernels and FitMemoryBudget left of @train_step.
static StepNotes noteSteps(mlir::ModuleOp module) {
  StepNotes notes;
  auto step = module.lookupSymbol<mlir::func::FuncOp>(passes::kTrainStepFunction);
  if (!step)
    return notes;
  if (auto bytes = step->getAttrOfType<mlir::IntegerAttr>(passes::kUnlimitedBytesAttr))
    notes.unlimitedBytes = bytes.getInt();
  for (auto kernel : step.getOps<nn::KernelOp>()) {
    StepNote &note = notes.kernels.emplace_back();
    note.kernel = kernel.getKernelName().str();
    note.isRecomputed = kernel->hasAttr(passes::kRecomputedAttr);
    kernel.getLoc()->walk([&](mlir::Location loc) {
      if (auto name = mlir::dyn_cast<mlir::NameLoc>(loc))
        note.phase = name.getName() == passes::kBackwardLocation ? StepNote::Phase::Backward
                     : name.getName() == passes::kUpdateLocation ? StepNote::Phase::Update
                                                                 : note.phase;
      if (auto place = mlir::dyn_cast<mlir::FileLineColLoc>(loc); place && note.source.empty())
        note.source = llvm::formatv("{0}:{1}:{2}", place.getFilename().getValue(), place.getLine(), place.getColumn());
      return mlir::WalkResult::advance();
    });
  }
  return notes;
}

/// Runs the passes on `imported` and builds the program from what they leave, in `module`. What code generation adds to the arena
/// (workspaces of CUDA kernels) is known only then: where it goes beyond the budget, the passes get so much less, and again.
template <typename Built>
static Result<Built> buildWithinBudget(mlir::ModuleOp imported, const passes::Packing &packing, const PassOptions &options,
                                       mlir::OwningOpRef<mlir::ModuleOp> &module,
                                       llvm::function_ref<Result<Built>(mlir::ModuleOp)> build) {
  PassOptions given = options;
  constexpr int kMostTries = 4;
  for (int attempt = 1;; ++attempt) {
    module = imported.clone();
    if (auto ran = runPasses(*module, packing, given); !ran)
      return ran.error();
    Result<Built> built = build(*module);
    const rt::EntryPoint *step = built ? built->program.findEntryPoint(passes::kTrainStepFunction.str()) : nullptr;
    if (!options.memoryBudgetBytes || !step)
      return built;
    auto plan = rt::planMemory(built->program, *step, trainingDims(built->program));
    if (!plan)
      return plan.error();
    int64_t excess = plan->arenaBytes - options.memoryBudgetBytes;
    if (excess <= 0)
      return built;
    given.memoryBudgetBytes -= excess;
    if (attempt == kMostTries || given.memoryBudgetBytes <= 0)
      return userError(llvm::formatv("a training step needs {0} bytes for intermediates, {1} more than the memory budget: workspaces of its "
                                     "kernels take the rest; allow more, or train with a smaller batch",
                                     plan->arenaBytes, excess)
                           .str());
  }
}

Result<codegen::CompiledKernels> driver::buildProgram(mlir::ModuleOp module,
                                                      const codegen::CpuTarget &target) {
  llvm::TimeTraceScope trace("program");
  DiagnosticText diagnostics(*module.getContext());
  auto compiled = codegen::buildProgram(module, target);
  if (failed(compiled))
    return diagnostics.take(ErrorKind::User, "a kernel could not be generated");
  return std::move(*compiled);
}

Result<CudaProgram> driver::buildCudaProgram(mlir::ModuleOp module,
                                             const codegen::cuda::CudaOptions &options) {
  llvm::TimeTraceScope trace("program");
  DiagnosticText diagnostics(*module.getContext());
  codegen::cuda::CudaKernels kernels(module, options);
  auto program = codegen::buildProgram(module, kernels);
  if (failed(program))
    return diagnostics.take(ErrorKind::User, "a kernel could not be generated");
  return CudaProgram{std::move(*program), std::move(kernels.sources)};
}

Result<CudaCode> driver::compileCuda(mlir::ModuleOp imported,
                                     const std::vector<std::string> &architectures,
                                     const codegen::cuda::CudaOptions &cudaOptions,
                                     const PassOptions &options,
                                     llvm::function_ref<void(mlir::ModuleOp)> afterPasses) {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  auto compiled = buildWithinBudget<CudaProgram>(imported, cudaPacking(), options, module,
                                                 [&](mlir::ModuleOp lowered) { return buildCudaProgram(lowered, cudaOptions); });
  if (!compiled)
    return compiled.error();
  if (afterPasses)
    afterPasses(*module);
  CudaCode code{std::move(compiled->program), {}, std::move(compiled->sources), noteSteps(*module)};
  code.contents.header = codegen::cuda::deviceHeader().str();
  for (const codegen::cuda::CudaSource &source : code.sources)
    code.contents.kernels.push_back({source.symbol, source.text, {}});
  if (architectures.empty())
    return code;

  llvm::TimeTraceScope trace("NVRTC");
  auto nvrtc = rt::cuda::Nvrtc::get();
  if (!nvrtc)
    return nvrtc.error();
  std::vector<rt::cuda::KernelSource> sources;
  for (const codegen::DescriptorCudaKernel &kernel : code.contents.kernels)
    sources.push_back({kernel.symbol.c_str(), kernel.source.c_str()});
  for (const std::string &architecture : architectures) {
    auto images = rt::cuda::compileKernels(**nvrtc, code.contents.header, sources, architecture,
                                           /*threads=*/0);
    if (!images)
      return images.error();
    code.contents.architectures.push_back(architecture);
    for (auto [kernel, image] : llvm::zip_equal(code.contents.kernels, images->images))
      kernel.images.push_back(std::move(image));
  }
  return code;
}

Result<LlvmKernels> driver::translateKernels(mlir::ModuleOp kernels,
                                             const codegen::CpuTarget &target, unsigned optLevel,
                                             size_t variantIndex) {
  DiagnosticText diagnostics(*kernels.getContext());
  {
    llvm::TimeTraceScope trace("lowering");
    if (failed(codegen::lowerToLlvmDialect(kernels)))
      return diagnostics.take(ErrorKind::Internal, "the kernels could not be lowered");
  }
  llvm::TimeTraceScope trace("optimisation");
  LlvmKernels result;
  auto translated = codegen::translateAndOptimise(kernels, *result.context, target, {optLevel});
  if (!translated)
    return asInternalError(translated.takeError());
  result.module = std::move(*translated);
  codegen::nameVariant(*result.module, variantIndex);
  return result;
}

Result<llvm::SmallVector<char, 0>> driver::generateMachineCode(llvm::Module &module,
                                                               const codegen::CpuTarget &target,
                                                               unsigned optLevel, CodeKind kind) {
  llvm::TimeTraceScope trace("machine code");
  auto code = codegen::generateCode(module, target, {optLevel},
                                    kind == CodeKind::Object ? codegen::MachineCode::Object
                                                             : codegen::MachineCode::Assembly);
  if (!code)
    return asInternalError(code.takeError());
  return std::move(*code);
}

Result<VariantCode> driver::compileVariant(mlir::ModuleOp imported,
                                           const codegen::CpuTarget &target, unsigned optLevel,
                                           size_t variantIndex, const PassOptions &options,
                                           llvm::function_ref<void(mlir::ModuleOp)> afterPasses) {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  auto compiled = buildWithinBudget<codegen::CompiledKernels>(imported, packingFor(target), options, module, [&](mlir::ModuleOp lowered) {
    return driver::buildProgram(lowered, target);
  });
  if (!compiled)
    return compiled.error();
  if (afterPasses)
    afterPasses(*module);
  auto llvmKernels = translateKernels(*compiled->kernels, target, optLevel, variantIndex);
  if (!llvmKernels)
    return llvmKernels.error();
  auto object = generateMachineCode(*llvmKernels->module, target, optLevel, CodeKind::Object);
  if (!object)
    return object.error();
  return VariantCode{target.level == "native" ? rt::hostCpuLevel() : target.level,
                     std::move(compiled->program), std::move(*object), noteSteps(*module)};
}
