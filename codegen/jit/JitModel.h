// A compiled model in the memory of this process instead of in a shared object: ORC links the
// kernels' object file, and the descriptor that a model.so would carry is filled in place. What
// reads it cannot tell the difference.
#pragma once

#include "codegen/link/WriteObject.h"
#include "runtime/ModelDescriptor.h"
#include "support/Error.h"

#include <memory>

namespace llvm::orc {
class LLJIT;
}

namespace nncc::codegen {

class JitModel {
public:
  /// `object` defines the kernels of the one variant in `contents`, if there is one. The weights in
  /// it are borrowed. `cuda` is the runtime for its CUDA code.
  static Result<std::unique_ptr<JitModel>> create(DescriptorContents contents,
                                                  std::string_view object,
                                                  const rt::DeviceBackend *cuda = nullptr);
  ~JitModel();

  /// Valid as long as this object, which everything that runs its kernels has to keep alive.
  const rt::ModelDescriptor &descriptor() const { return modelDescriptor; }

private:
  JitModel();
  Result<void> linkKernels(std::string_view object);
  void describeCuda(const rt::DeviceBackend *backend);

  DescriptorContents contents;
  std::unique_ptr<llvm::orc::LLJIT> jit;
  std::vector<rt::ModelKernel> kernels;
  rt::ModelVariant variant{};
  std::vector<std::vector<rt::ModelImage>> images; ///< per kernel
  std::vector<rt::ModelCudaKernel> cudaKernels;
  std::vector<const char *> architectures;
  rt::ModelCuda cuda{};
  rt::ModelDescriptor modelDescriptor{};
};

} // namespace nncc::codegen
