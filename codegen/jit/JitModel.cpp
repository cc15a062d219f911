// Linking kernels into this process; see JitModel.h.

#include "codegen/jit/JitModel.h"

#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/TargetSelect.h"

using namespace nncc;
using namespace nncc::codegen;

JitModel::JitModel() = default;
JitModel::~JitModel() = default;

static Error jitError(llvm::Error error) {
  return internalError("the compiled kernels cannot be linked into this process: " +
                       llvm::toString(std::move(error)));
}

Result<void> JitModel::linkKernels(std::string_view object) {
  llvm::InitializeNativeTarget();
  auto created = llvm::orc::LLJITBuilder().create();
  if (!created)
    return jitError(created.takeError());
  jit = std::move(*created);
  if (llvm::Error error = jit->addObjectFile(llvm::MemoryBuffer::getMemBufferCopy(
          llvm::StringRef(object.data(), object.size()), "nncc_kernels")))
    return jitError(std::move(error));
  const DescriptorVariant &only = contents.variants.front();
  for (const std::string &symbol : only.kernelSymbols) {
    auto address = jit->lookup(variantSymbol(symbol, 0));
    if (!address)
      return jitError(address.takeError());
    kernels.push_back({symbol.c_str(), address->toPtr<rt::CpuKernel>()});
  }
  variant = {only.cpuLevel.c_str(), only.programJson.c_str(), only.programJson.size(),
             kernels.size(), kernels.data()};
  modelDescriptor.variantCount = 1;
  modelDescriptor.variants = &variant;
  return {};
}

void JitModel::describeCuda(const rt::DeviceBackend *backend) {
  const DescriptorCuda &own = *contents.cuda;
  for (const DescriptorCudaKernel &kernel : own.kernels) {
    std::vector<rt::ModelImage> &list = images.emplace_back();
    for (const std::string &image : kernel.images)
      list.push_back({image.data(), image.size()});
    cudaKernels.push_back({kernel.symbol.c_str(), kernel.source.c_str(), list.data()});
  }
  for (const std::string &architecture : own.architectures)
    architectures.push_back(architecture.c_str());
  cuda = {backend,
          own.programJson.c_str(),
          own.programJson.size(),
          own.header.c_str(),
          cudaKernels.size(),
          cudaKernels.data(),
          architectures.size(),
          architectures.data(),
          own.tuning.empty() ? nullptr : own.tuning.c_str(),
          own.tuning.size()};
  modelDescriptor.cuda = &cuda;
}

Result<std::unique_ptr<JitModel>> JitModel::create(DescriptorContents contents,
                                                   std::string_view object,
                                                   const rt::DeviceBackend *cuda) {
  std::unique_ptr<JitModel> model(new JitModel());
  model->contents = std::move(contents);
  const DescriptorContents &own = model->contents;
  rt::ModelDescriptor &descriptor = model->modelDescriptor;
  descriptor.version = rt::kModelDescriptorVersion;
  if (!own.weights.empty()) {
    descriptor.weights = own.weights.data();
    descriptor.weightsBytes = own.weights.size();
  }
  descriptor.weightsFile = own.weightsFile.empty() ? nullptr : own.weightsFile.c_str();
  if (!own.variants.empty())
    if (auto linked = model->linkKernels(object); !linked)
      return linked.error();
  if (own.cuda)
    model->describeCuda(cuda);
  return model;
}
