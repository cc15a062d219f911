// PTX module -> machine code of the host. The one entry point of translate/; what it needs from the
// driver is where the module's variables lie in device memory.
#pragma once

#include "tools/cuda-emulator/ptx/Ast.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace nncc::cuemu {

struct ThreadContext;

/// A parameter of a kernel in the launch's parameter buffer.
struct KernelParameter {
  int64_t offsetBytes = 0;
  int64_t sizeBytes = 0;
};

/// A variable in shared memory, for reports of checked mode.
struct SharedVariable {
  std::string name;
  int64_t offsetBytes = 0;
  int64_t sizeBytes = 0;
};

struct Kernel {
  std::string name;
  void (*code)(ThreadContext *) = nullptr;
  std::vector<KernelParameter> parameters;
  int64_t parameterBytes = 0;
  std::vector<SharedVariable> shared;
  int64_t staticSharedBytes = 0; ///< what a device would use: without the gaps of checked mode
  int64_t sharedWindowBytes = 0; ///< where dynamic shared memory begins
  int64_t localBytes = 0;        ///< of .local variables, per thread
  int maxThreads = 0;            ///< .maxntid as a product, 0 if not given
  int requiredThreads[3] = {0, 0, 0};
  int maxRegisters = 0;
};

/// Where an instruction stands, for reports.
struct Site {
  int line = 0; ///< in the PTX text
  ptx::SourceLocation source;
  std::string function;
  std::string text; ///< opcode with modifiers
};

struct TranslationOptions {
  bool checked = false; ///< instrument memory accesses
  int optimisationLevel = 3;
};

/// A translated module; owns its code.
class TranslatedModule {
public:
  virtual ~TranslatedModule() = default;

  std::vector<Kernel> kernels;
  std::vector<Site> sites;
  std::vector<std::string> files; ///< by .file index
};

/// Addresses in device memory of the module's .global and .const variables.
using VariableAddresses = std::map<std::string, uint64_t>;

/// Throws ptx::PtxError for what PTX does not allow or the emulator does not know.
std::unique_ptr<TranslatedModule> translateModule(const ptx::Module &module,
                                                  const VariableAddresses &variables,
                                                  const TranslationOptions &options);

} // namespace nncc::cuemu
