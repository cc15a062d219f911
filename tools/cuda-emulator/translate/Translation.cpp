// LLVM module -> machine code: LLVM's standard optimisation pipeline for the host's processor, then ORC.
#include "tools/cuda-emulator/translate/Translation.h"

#include "tools/cuda-emulator/exec/HelperTable.h"
#include "tools/cuda-emulator/translate/ModuleTranslator.h"

#include "llvm/ExecutionEngine/Orc/AbsoluteSymbols.h"
#include "llvm/ExecutionEngine/Orc/JITTargetMachineBuilder.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"

#include <mutex>

using namespace llvm;

namespace nncc::cuemu {
namespace {

/// A failure inside LLVM: not the PTX text's fault, but reported the same way.
[[noreturn]] void failInternally(const std::string &what, Error error) {
  throw ptx::PtxError(0, what + ": " + toString(std::move(error)));
}

class JitModule : public TranslatedModule {
public:
  std::unique_ptr<orc::LLJIT> jit;
};

void optimise(Module &module, TargetMachine &machine, int level) {
  PipelineTuningOptions tuning;
  tuning.SLPVectorization = true;
  tuning.LoopVectorization = true;
  PassBuilder builder(&machine, tuning);
  LoopAnalysisManager loops;
  FunctionAnalysisManager functions;
  CGSCCAnalysisManager callGraph;
  ModuleAnalysisManager modules;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(callGraph);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, callGraph, modules);
  OptimizationLevel optimisation = level >= 3   ? OptimizationLevel::O3
                                   : level == 2 ? OptimizationLevel::O2
                                                : OptimizationLevel::O1;
  builder.buildPerModuleDefaultPipeline(optimisation).run(module, modules);
}

} // namespace

std::unique_ptr<TranslatedModule> translateModule(const ptx::Module &module, const VariableAddresses &variables,
                                                  const TranslationOptions &options) {
  static std::once_flag initialised;
  std::call_once(initialised, [] {
    InitializeNativeTarget();
    InitializeNativeTargetAsmPrinter();
  });
  auto result = std::make_unique<JitModule>();
  auto builder = orc::JITTargetMachineBuilder::detectHost();
  if (!builder)
    failInternally("no code generator for this machine", builder.takeError());
  builder->setCodeGenOptLevel(options.optimisationLevel >= 2 ? CodeGenOptLevel::Default : CodeGenOptLevel::Less);
  auto machine = builder->createTargetMachine();
  if (!machine)
    failInternally("no code generator for this machine", machine.takeError());

  auto context = std::make_unique<LLVMContext>();
  auto llvmModule = std::make_unique<Module>("ptx", *context);
  llvmModule->setDataLayout((*machine)->createDataLayout());
  llvmModule->setTargetTriple((*machine)->getTargetTriple());
  ModuleTranslator(module, variables, options, *llvmModule, *result).translate();
  std::string fault;
  raw_string_ostream faults(fault);
  if (verifyModule(*llvmModule, &faults))
    throw ptx::PtxError(0, "translation made invalid code: " + fault);
  optimise(*llvmModule, **machine, options.optimisationLevel);

  auto jit = orc::LLJITBuilder().setJITTargetMachineBuilder(std::move(*builder)).create();
  if (!jit)
    failInternally("cannot start the code generator", jit.takeError());
  result->jit = std::move(*jit);
  orc::SymbolMap symbols;
  for (const Helper &helper : helperTable())
    symbols[result->jit->mangleAndIntern(helper.name)] = {orc::ExecutorAddr::fromPtr(helper.address),
                                                          JITSymbolFlags::Exported | JITSymbolFlags::Callable};
  if (Error error = result->jit->getMainJITDylib().define(orc::absoluteSymbols(std::move(symbols))))
    failInternally("cannot define the runtime's functions", std::move(error));
  if (Error error = result->jit->addIRModule(orc::ThreadSafeModule(std::move(llvmModule), std::move(context))))
    failInternally("cannot add the module", std::move(error));
  for (Kernel &kernel : result->kernels) {
    auto address = result->jit->lookup(symbolName(kernel.name));
    if (!address)
      failInternally("cannot generate code for kernel '" + kernel.name + "'", address.takeError());
    kernel.code = address->toPtr<void (*)(ThreadContext *)>();
  }
  return result;
}

} // namespace nncc::cuemu
