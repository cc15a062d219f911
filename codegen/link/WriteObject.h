// The generated part of a model.so that is data: an object that defines the hidden symbol
// nncc_model_descriptor (runtime/ModelDescriptor.h) with the Program, the embedded weights and the
// kernel tables. And the names under which kernels of several CPU levels meet in one shared object.
#pragma once

#include "codegen/cpu/CpuTarget.h"
#include "runtime/Program.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Error.h"

#include <optional>
#include <span>
#include <string>

namespace llvm {
class Module;
}

namespace nncc::codegen {

/// The model for one CPU level.
struct DescriptorVariant {
  std::string cpuLevel; ///< as runtime/CpuLevel.h spells it
  std::string programJson;
  std::vector<std::string>
      kernelSymbols; ///< of the Program; the linker's names are variantSymbol()
};

/// A kernel for CUDA devices.
struct DescriptorCudaKernel {
  std::string symbol; ///< of the Program
  std::string source;
  std::vector<std::string> images; ///< machine code, one per architecture
};

/// The model for CUDA devices.
struct DescriptorCuda {
  std::string programJson;
  std::string header; ///< stands before every kernel's source
  std::vector<DescriptorCudaKernel> kernels;
  std::vector<std::string> architectures; ///< "sm_80"
  std::string tuning = {};                ///< a tuning file (runtime/cuda/TuningFile.h), or empty
};

struct DescriptorContents {
  std::vector<DescriptorVariant> variants;
  std::string_view weights; ///< a safetensors image, or empty
  std::string weightsFile;  ///< relative to the shared object, or empty
  std::optional<DescriptorCuda> cuda = {};
};

/// The runtime for CUDA devices, to which a descriptor with code for them refers.
inline constexpr std::string_view kCudaBackendSymbol = "nncc_cuda_backend";

/// The linker symbol of a kernel's code for the variant `index`.
std::string variantSymbol(llvm::StringRef kernelSymbol, size_t variantIndex);

/// Gives every function that the module defines its variant's name and hidden visibility, except
/// those that are internal anyway. Before code generation.
void nameVariant(llvm::Module &module, size_t variantIndex);

/// The object file for the architecture of `target`.
llvm::Expected<llvm::SmallVector<char, 0>> writeDescriptorObject(const DescriptorContents &contents,
                                                                 const CpuTarget &target);

} // namespace nncc::codegen
