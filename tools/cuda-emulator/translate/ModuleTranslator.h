// What the functions of one PTX module share while they are translated: the LLVM module, the layout of
// shared memory, where variables lie, the table of instruction sites.
#pragma once

#include "tools/cuda-emulator/translate/Translation.h"

#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"

#include <unordered_map>

namespace nncc::cuemu {

class ModuleTranslator {
public:
  ModuleTranslator(const ptx::Module &module, const VariableAddresses &variables,
                   const TranslationOptions &options, llvm::Module &llvmModule,
                   TranslatedModule &result);

  /// Declares and translates every function, and fills the result's kernels (but for their code).
  void translate();

  /// Places one more variable in a shared window that ends at `windowBytes` and moves the end.
  SharedVariable placeShared(const ptx::Variable &variable, int64_t &windowBytes) const;
  uint32_t addSite(const ptx::Instruction &instruction, const std::string &function);

  struct CallTarget {
    const ptx::Function *ptx = nullptr;
    llvm::Function *llvm = nullptr;
  };

  const ptx::Module &module;
  const VariableAddresses &variables;
  const TranslationOptions &options;
  llvm::Module &llvmModule;
  TranslatedModule &result;
  std::unordered_map<std::string, CallTarget> functions;
  /// Shared variables of the module and of its device functions, at the same place for all kernels.
  std::unordered_map<std::string, SharedVariable> commonShared;
  std::unordered_map<std::string, bool> dynamicShared; ///< names declared .extern .shared

private:
  void layOutCommonShared();
  void declareFunctions();
  Kernel describeKernel(const ptx::Function &function) const;

  int64_t commonSharedWindowBytes = 0;
  int64_t commonSharedBytes = 0;
};

/// The symbol of a PTX function in the LLVM module.
inline std::string symbolName(const std::string &ptxName) { return "ptx." + ptxName; }

} // namespace nncc::cuemu
