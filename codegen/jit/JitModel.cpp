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

Result<std::unique_ptr<JitModel>> JitModel::create(DescriptorContents contents,
                                                   std::string_view object) {
  llvm::InitializeNativeTarget();
  std::unique_ptr<JitModel> model(new JitModel());
  auto jit = llvm::orc::LLJITBuilder().create();
  if (!jit)
    return jitError(jit.takeError());
  model->jit = std::move(*jit);
  if (llvm::Error error = model->jit->addObjectFile(llvm::MemoryBuffer::getMemBufferCopy(
          llvm::StringRef(object.data(), object.size()), "nncc_kernels")))
    return jitError(std::move(error));

  model->contents = std::move(contents);
  const DescriptorContents &own = model->contents;
  const DescriptorVariant &only = own.variants.front();
  for (const std::string &symbol : only.kernelSymbols) {
    auto address = model->jit->lookup(variantSymbol(symbol, 0));
    if (!address)
      return jitError(address.takeError());
    model->kernels.push_back({symbol.c_str(), address->toPtr<rt::CpuKernel>()});
  }
  model->variant = {only.cpuLevel.c_str(), only.programJson.c_str(), only.programJson.size(),
                    model->kernels.size(), model->kernels.data()};

  rt::ModelDescriptor &descriptor = model->modelDescriptor;
  descriptor.version = rt::kModelDescriptorVersion;
  descriptor.variantCount = 1;
  if (!own.weights.empty()) {
    descriptor.weights = own.weights.data();
    descriptor.weightsBytes = own.weights.size();
  }
  descriptor.weightsFile = own.weightsFile.empty() ? nullptr : own.weightsFile.c_str();
  descriptor.variants = &model->variant;
  return model;
}
