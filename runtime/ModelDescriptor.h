// What a compiled model is in memory: for each CPU level the Program as JSON and the addresses of
// its kernels, and the weights. In a model.so the object that codegen/link generates defines it
// under the hidden name nncc_model_descriptor; the JIT fills one in memory. Plain C layout without
// relocations to anything but data and functions, so that LLVM IR can spell it:
//   ModelDescriptor  { i32, i32, ptr, i64, ptr, ptr }
//   ModelVariant     { ptr, ptr, i64, i64, ptr }
//   ModelKernel      { ptr, ptr }
#pragma once

#include "runtime/KernelAbi.h"

#include <cstdint>

namespace nncc::rt {

/// A kernel of one variant. `symbol` is Kernel::symbol of the Program.
struct ModelKernel {
  const char *symbol;
  CpuKernel function;
};

/// The model compiled for one CPU level (see runtime/CpuLevel.h). The Program belongs to the level,
/// since vector width decides how weights are packed and how much scratch memory a kernel needs.
struct ModelVariant {
  const char *cpuLevel;
  const char *programJson;
  uint64_t programJsonBytes;
  uint64_t kernelCount;
  const ModelKernel *kernels;
};

inline constexpr uint32_t kModelDescriptorVersion = 1;

struct ModelDescriptor {
  uint32_t version; ///< kModelDescriptorVersion
  uint32_t variantCount;
  /// A safetensors image, 64-byte aligned, or nullptr when the weights are not embedded. Its
  /// entries are named after the program's Constant buffers (prepared at compile time) or its
  /// Parameter buffers (the runtime then runs "prepare").
  const void *weights;
  uint64_t weightsBytes;
  /// The safetensors file that holds the same when not embedded, relative to the folder of the
  /// shared object; or nullptr: the caller has to name one.
  const char *weightsFile;
  const ModelVariant *variants;
};

/// Metadata key of a weights file with prepared constants; its value is Program::buildId, so that
/// constants of another build are recognised.
inline constexpr const char *kWeightsBuildIdKey = "nncc.build_id";

} // namespace nncc::rt
