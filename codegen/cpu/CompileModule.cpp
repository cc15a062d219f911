// From a module of CPU kernels to machine code; see CompileModule.h.

#include "codegen/cpu/CompileModule.h"

#include "codegen/cpu/ExpandBfloat.h"
#include "codegen/cpu/ExpandMath.h"

#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"

using namespace mlir;
using namespace nncc;
using namespace nncc::codegen;

LogicalResult codegen::lowerToLlvmDialect(ModuleOp module) {
  PassManager pipeline(module.getContext());
  pipeline.addPass(createExpandBfloatPass());
  pipeline.addPass(createCanonicalizerPass());
  pipeline.addPass(createCSEPass());
  // Loop-invariant sizes and pointers leave the loops here, where types and structure are still plain.
  pipeline.addPass(createLoopInvariantCodeMotionPass());
  pipeline.addPass(createExpandMathPass());
  pipeline.addPass(arith::createArithExpandOpsPass());
  pipeline.addPass(createSCFToControlFlowPass());
  // What is left of math is f64; calls into libm take vectors apart, so they come before the vectors.
  pipeline.addPass(createConvertMathToLLVMPass());
  pipeline.addPass(createConvertMathToLibmPass());
  pipeline.addPass(createConvertVectorToLLVMPass());
  pipeline.addPass(createArithToLLVMConversionPass());
  pipeline.addPass(createConvertIndexToLLVMPass());
  pipeline.addPass(createConvertControlFlowToLLVMPass());
  pipeline.addPass(createConvertFuncToLLVMPass());
  pipeline.addPass(createReconcileUnrealizedCastsPass());
  pipeline.addPass(createCanonicalizerPass());
  return pipeline.run(module);
}

static llvm::OptimizationLevel levelOf(unsigned optLevel) {
  switch (optLevel) {
  case 0:
    return llvm::OptimizationLevel::O0;
  case 1:
    return llvm::OptimizationLevel::O1;
  case 2:
    return llvm::OptimizationLevel::O2;
  default:
    return llvm::OptimizationLevel::O3;
  }
}

llvm::Expected<std::unique_ptr<llvm::Module>>
codegen::translateAndOptimise(ModuleOp module, llvm::LLVMContext &context, const CpuTarget &target,
                              const CompileOptions &options) {
  DialectRegistry registry;
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  module.getContext()->appendDialectRegistry(registry);

  auto machine = createTargetMachine(target);
  if (!machine)
    return machine.takeError();
  std::unique_ptr<llvm::Module> llvmModule = translateModuleToLLVMIR(module, context, "nncc_kernels");
  if (!llvmModule)
    return llvm::createStringError("the kernels could not be translated to LLVM IR");
  llvmModule->setDataLayout((*machine)->createDataLayout());
  llvmModule->setTargetTriple((*machine)->getTargetTriple());

  std::string vectorBits = std::to_string(target.vectorBytes * 8);
  for (llvm::Function &function : *llvmModule) {
    if (function.isDeclaration())
      continue;
    function.addFnAttr("target-cpu", target.cpu);
    if (!target.tuneCpu.empty())
      function.addFnAttr("tune-cpu", target.tuneCpu);
    function.addFnAttr("target-features", target.features);
    // Without these LLVM splits 512-bit vectors on some CPUs, and spills.
    function.addFnAttr("prefer-vector-width", vectorBits);
    function.addFnAttr("min-legal-vector-width", vectorBits);
    function.addFnAttr(llvm::Attribute::NoUnwind);
  }

  llvm::LoopAnalysisManager loopAnalyses;
  llvm::FunctionAnalysisManager functionAnalyses;
  llvm::CGSCCAnalysisManager callGraphAnalyses;
  llvm::ModuleAnalysisManager moduleAnalyses;
  llvm::PipelineTuningOptions tuning;
  tuning.LoopVectorization = options.optLevel >= 2;
  tuning.SLPVectorization = false;
  llvm::PassBuilder passes(machine->get(), tuning);
  passes.registerModuleAnalyses(moduleAnalyses);
  passes.registerCGSCCAnalyses(callGraphAnalyses);
  passes.registerFunctionAnalyses(functionAnalyses);
  passes.registerLoopAnalyses(loopAnalyses);
  passes.crossRegisterProxies(loopAnalyses, functionAnalyses, callGraphAnalyses, moduleAnalyses);
  llvm::OptimizationLevel level = levelOf(options.optLevel);
  llvm::ModulePassManager pipeline = level == llvm::OptimizationLevel::O0
                                         ? passes.buildO0DefaultPipeline(level)
                                         : passes.buildPerModuleDefaultPipeline(level);
  pipeline.run(*llvmModule, moduleAnalyses);
  return llvmModule;
}

llvm::Expected<SmallVector<char, 0>> codegen::generateCode(llvm::Module &module,
                                                           const CpuTarget &target,
                                                           const CompileOptions &options,
                                                           MachineCode kind) {
  auto machine = createTargetMachine(target);
  if (!machine)
    return machine.takeError();
  if (options.optLevel == 0)
    (*machine)->setOptLevel(llvm::CodeGenOptLevel::None);
  SmallVector<char, 0> code;
  llvm::raw_svector_ostream os(code);
  llvm::legacy::PassManager passes;
  auto fileType = kind == MachineCode::Object ? llvm::CodeGenFileType::ObjectFile
                                              : llvm::CodeGenFileType::AssemblyFile;
  if ((*machine)->addPassesToEmitFile(passes, os, nullptr, fileType))
    return llvm::createStringError("LLVM cannot write this kind of file for " + target.triple);
  passes.run(module);
  return code;
}
