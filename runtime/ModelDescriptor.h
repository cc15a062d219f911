// What a compiled model is in memory: for each target the Program as JSON and its kernels (addresses
// of machine code for the CPU, text and images for CUDA), and one copy of the weights. In a model.so
// the object that codegen/link generates defines it under the hidden name nncc_model_descriptor; the
// JIT fills one in memory. Plain C layout without relocations to anything but data and functions, so
// that LLVM IR can spell it:
//   ModelDescriptor  { i32, i32, ptr, i64, ptr, ptr, ptr }
//   ModelVariant     { ptr, ptr, i64, i64, ptr }
//   ModelKernel      { ptr, ptr }
//   ModelCuda        { ptr, ptr, i64, ptr, i64, ptr, i64, ptr, ptr, i64 }
//   ModelCudaKernel  { ptr, ptr, ptr }
//   ModelImage       { ptr, i64 }
#pragma once

#include "runtime/KernelAbi.h"
#include "support/Error.h"

#include <cstdint>
#include <memory>

namespace nncc::rt {

class LoadedProgram;
struct LoadOptions;
struct ModelDescriptor;

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

/// The runtime of a kind of device, as the descriptor names it: models that have no code for such
/// devices do not carry their runtime.
struct DeviceBackend {
  Result<std::shared_ptr<const LoadedProgram>> (*load)(const ModelDescriptor &descriptor,
                                                       int ordinal, const LoadOptions &options);
};

/// Machine code of one kernel for one architecture (a cubin).
struct ModelImage {
  const void *bytes;
  uint64_t sizeBytes;
};

/// A kernel for CUDA devices. `symbol` is Kernel::symbol of the Program.
struct ModelCudaKernel {
  const char *symbol;
  const char *source;       ///< CUDA C++, without the header
  const ModelImage *images; ///< one per architecture, or nullptr when there are none
};

/// The model compiled for CUDA devices.
struct ModelCuda {
  const DeviceBackend *backend;
  const char *programJson;
  uint64_t programJsonBytes;
  const char *header; ///< CUDA C++ that stands before every kernel's source
  uint64_t kernelCount;
  const ModelCudaKernel *kernels;
  uint64_t architectureCount;
  const char *const *architectures; ///< "sm_80"
  const char *tuning; ///< a tuning file (cuda/TuningFile.h) for when the user names none, or nullptr
  uint64_t tuningBytes;
};

inline constexpr uint32_t kModelDescriptorVersion = 3;

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
  const ModelCuda *cuda; ///< nullptr when the model has no code for CUDA devices
};

/// Metadata key of a weights file with prepared constants; its value is Program::buildId, so that
/// constants of another build are recognised.
inline constexpr const char *kWeightsBuildIdKey = "nncc.build_id";

} // namespace nncc::rt
