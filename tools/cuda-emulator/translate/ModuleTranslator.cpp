// Declares a module's functions, lays out shared memory, and has each body translated.
#include "tools/cuda-emulator/translate/ModuleTranslator.h"

#include "tools/cuda-emulator/translate/FunctionTranslator.h"

using namespace llvm;

namespace nncc::cuemu {
namespace {

int64_t alignUp(int64_t value, int64_t alignment) { return (value + alignment - 1) / alignment * alignment; }

int64_t alignmentOf(const ptx::Variable &variable) {
  return variable.alignBytes > 0 ? variable.alignBytes
                                 : std::max(1, ptx::bitWidth(variable.type) / 8 * variable.vectorSize);
}

// In checked mode this many bytes stay free behind each shared variable, so that running over its end is
// seen even when another variable follows.
constexpr int64_t redZoneBytes = 64;

} // namespace

ModuleTranslator::ModuleTranslator(const ptx::Module &module, const VariableAddresses &variables,
                                   const TranslationOptions &options, llvm::Module &llvmModule,
                                   TranslatedModule &result)
    : module(module), variables(variables), options(options), llvmModule(llvmModule), result(result) {}

SharedVariable ModuleTranslator::placeShared(const ptx::Variable &variable, int64_t &windowBytes) const {
  SharedVariable placed;
  placed.name = variable.name;
  placed.sizeBytes = variable.sizeBytes();
  placed.offsetBytes = alignUp(windowBytes, alignmentOf(variable));
  windowBytes = placed.offsetBytes + placed.sizeBytes + (options.checked ? redZoneBytes : 0);
  return placed;
}

uint32_t ModuleTranslator::addSite(const ptx::Instruction &instruction, const std::string &function) {
  if (!result.sites.empty() && result.sites.back().line == instruction.line && result.sites.back().text == instruction.fullName())
    return static_cast<uint32_t>(result.sites.size() - 1);
  result.sites.push_back({instruction.line, instruction.source, function, instruction.fullName()});
  return static_cast<uint32_t>(result.sites.size() - 1);
}

void ModuleTranslator::layOutCommonShared() {
  auto place = [&](const ptx::Variable &variable, const std::string &key) {
    if (variable.isArray && variable.elementCount == 0) {
      dynamicShared[key] = true;
      return;
    }
    commonShared[key] = placeShared(variable, commonSharedWindowBytes);
    commonSharedBytes = alignUp(commonSharedBytes, alignmentOf(variable)) + variable.sizeBytes();
  };
  for (const ptx::Variable &variable : module.variables)
    if (variable.space == ptx::Space::Shared)
      place(variable, variable.name);
  for (const ptx::Function &function : module.functions)
    if (!function.isEntry)
      for (const ptx::Statement &statement : function.body)
        if (statement.kind == ptx::Statement::Kind::Variable && statement.variable.space == ptx::Space::Shared)
          place(statement.variable, function.name + "/" + statement.variable.name);
}

void ModuleTranslator::declareFunctions() {
  LLVMContext &context = llvmModule.getContext();
  llvm::Type *pointer = PointerType::getUnqual(context);
  for (const ptx::Function &function : module.functions) {
    CallTarget &target = functions[function.name];
    if (target.ptx && !target.ptx->isDeclaration) {
      if (function.isDeclaration)
        continue;
      throw ptx::PtxError(function.line, "function '" + function.name + "' is defined twice");
    }
    target.ptx = &function;
    if (function.isDeclaration)
      continue;
    size_t count = 1 + (function.isEntry ? 0 : function.results.size() + function.parameters.size());
    SmallVector<llvm::Type *, 8> types(count, pointer);
    target.llvm = Function::Create(FunctionType::get(llvm::Type::getVoidTy(context), types, false),
                                   function.isEntry ? GlobalValue::ExternalLinkage : GlobalValue::InternalLinkage,
                                   symbolName(function.name), llvmModule);
    target.llvm->addFnAttr(Attribute::NoUnwind);
    // The context outlives the thread and is written by none of its stores.
    target.llvm->addParamAttr(0, Attribute::NoAlias);
    target.llvm->addParamAttr(0, Attribute::getWithDereferenceableBytes(context, sizeof(ThreadContext)));
  }
}

Kernel ModuleTranslator::describeKernel(const ptx::Function &function) const {
  Kernel kernel;
  kernel.name = function.name;
  for (const ptx::Variable &parameter : function.parameters) {
    KernelParameter placed;
    placed.sizeBytes = parameter.sizeBytes();
    placed.offsetBytes = alignUp(kernel.parameterBytes, alignmentOf(parameter));
    kernel.parameterBytes = placed.offsetBytes + placed.sizeBytes;
    kernel.parameters.push_back(placed);
  }
  if (function.maxThreads[0] > 0)
    kernel.maxThreads = function.maxThreads[0] * function.maxThreads[1] * function.maxThreads[2];
  for (int i = 0; i < 3; i++)
    kernel.requiredThreads[i] = function.requiredThreads[i];
  kernel.maxRegisters = function.maxRegisters;
  kernel.sharedWindowBytes = commonSharedWindowBytes;
  kernel.staticSharedBytes = commonSharedBytes;
  for (const auto &[name, variable] : commonShared)
    kernel.shared.push_back(variable);
  return kernel;
}

void ModuleTranslator::translate() {
  layOutCommonShared();
  declareFunctions();
  for (const ptx::Function &function : module.functions) {
    if (function.isDeclaration)
      continue;
    llvm::Function *target = functions.at(function.name).llvm;
    if (!function.isEntry) {
      FunctionTranslator(*this, function, target, nullptr).translate();
      continue;
    }
    Kernel kernel = describeKernel(function);
    FunctionTranslator(*this, function, target, &kernel).translate();
    kernel.sharedWindowBytes = alignUp(kernel.sharedWindowBytes, 128);
    result.kernels.push_back(std::move(kernel));
  }
  result.files = module.files;
}

} // namespace nncc::cuemu
