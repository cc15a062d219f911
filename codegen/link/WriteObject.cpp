// The descriptor of a model as an object file; see WriteObject.h.

#include "codegen/link/WriteObject.h"
#include "codegen/cpu/CompileModule.h"
#include "runtime/ModelDescriptor.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"

using namespace llvm;
using namespace nncc;
using namespace nncc::codegen;

// The struct types below are these structs; a change there has to be made here.
static_assert(sizeof(rt::ModelDescriptor) == 48 && sizeof(rt::ModelVariant) == 40 &&
              sizeof(rt::ModelKernel) == 16 && sizeof(rt::ModelCuda) == 80 &&
              sizeof(rt::ModelCudaKernel) == 24 && sizeof(rt::ModelImage) == 16);

namespace {

class DescriptorBuilder {
public:
  DescriptorBuilder(Module &module)
      : module(module), context(module.getContext()), pointer(PointerType::getUnqual(context)),
        i32(Type::getInt32Ty(context)), i64(Type::getInt64Ty(context)) {}

  void build(const DescriptorContents &contents) {
    auto *kernelType = StructType::get(context, {pointer, pointer});
    auto *variantType = StructType::get(context, {pointer, pointer, i64, i64, pointer});
    auto *descriptorType =
        StructType::get(context, {i32, i32, pointer, i64, pointer, pointer, pointer});

    SmallVector<Constant *> variants;
    for (const auto &[index, variant] : enumerate(contents.variants)) {
      SmallVector<Constant *> kernels;
      for (const std::string &symbol : variant.kernelSymbols)
        kernels.push_back(ConstantStruct::get(
            kernelType, {string(symbol), kernelFunction(variantSymbol(symbol, index))}));
      variants.push_back(ConstantStruct::get(
          variantType, {string(variant.cpuLevel), string(variant.programJson),
                        ConstantInt::get(i64, variant.programJson.size()),
                        ConstantInt::get(i64, kernels.size()), array(kernelType, kernels)}));
    }

    auto *descriptor = ConstantStruct::get(
        descriptorType,
        {ConstantInt::get(i32, rt::kModelDescriptorVersion), ConstantInt::get(i32, variants.size()),
         weights(contents.weights), ConstantInt::get(i64, contents.weights.size()),
         contents.weightsFile.empty() ? null() : string(contents.weightsFile),
         array(variantType, variants), contents.cuda ? cuda(*contents.cuda) : null()});
    auto *global =
        new GlobalVariable(module, descriptorType, /*isConstant=*/true,
                           GlobalValue::ExternalLinkage, descriptor, "nncc_model_descriptor");
    global->setVisibility(GlobalValue::HiddenVisibility);
  }

private:
  Constant *null() { return ConstantPointerNull::get(pointer); }

  GlobalVariable *data(Constant *value) {
    auto *global = new GlobalVariable(module, value->getType(), /*isConstant=*/true,
                                      GlobalValue::PrivateLinkage, value);
    global->setUnnamedAddr(GlobalValue::UnnamedAddr::Global);
    return global;
  }

  Constant *string(StringRef text) { return data(ConstantDataArray::getString(context, text)); }

  Constant *array(Type *element, ArrayRef<Constant *> values) {
    return values.empty()
               ? null()
               : data(ConstantArray::get(ArrayType::get(element, values.size()), values));
  }

  Constant *image(StringRef bytes) {
    GlobalVariable *global = data(ConstantDataArray::getString(context, bytes, /*AddNull=*/false));
    constexpr uint64_t kImageAlignment = 64;
    global->setAlignment(Align(kImageAlignment));
    return global;
  }

  Constant *cuda(const DescriptorCuda &model) {
    auto *imageType = StructType::get(context, {pointer, i64});
    auto *kernelType = StructType::get(context, {pointer, pointer, pointer});
    auto *cudaType =
        StructType::get(context, {pointer, pointer, i64, pointer, i64, pointer, i64, pointer,
                                  pointer, i64});
    SmallVector<Constant *> kernels, architectures;
    for (const DescriptorCudaKernel &kernel : model.kernels) {
      SmallVector<Constant *> images;
      for (const std::string &bytes : kernel.images)
        images.push_back(
            ConstantStruct::get(imageType, {image(bytes), ConstantInt::get(i64, bytes.size())}));
      kernels.push_back(ConstantStruct::get(
          kernelType, {string(kernel.symbol), string(kernel.source), array(imageType, images)}));
    }
    for (const std::string &architecture : model.architectures)
      architectures.push_back(string(architecture));
    // Defined in the archive that kCudaBackendSymbol brings into the shared object.
    auto *backend =
        new GlobalVariable(module, pointer, /*isConstant=*/true, GlobalValue::ExternalLinkage,
                           nullptr, StringRef(kCudaBackendSymbol));
    backend->setVisibility(GlobalValue::HiddenVisibility);
    return data(ConstantStruct::get(
        cudaType,
        {backend, string(model.programJson), ConstantInt::get(i64, model.programJson.size()),
         string(model.header), ConstantInt::get(i64, kernels.size()), array(kernelType, kernels),
         ConstantInt::get(i64, architectures.size()), array(pointer, architectures),
         model.tuning.empty() ? null() : string(model.tuning),
         ConstantInt::get(i64, model.tuning.size())}));
  }

  /// Page-aligned, so that weights of a mapped model.so stay clean pages that processes share.
  Constant *weights(std::string_view image) {
    if (image.empty())
      return null();
    constexpr uint64_t kPageBytes = 4096;
    GlobalVariable *global = data(
        ConstantDataArray::getString(context, {image.data(), image.size()}, /*AddNull=*/false));
    global->setAlignment(Align(kPageBytes));
    return global;
  }

  Function *kernelFunction(StringRef name) {
    auto *type = FunctionType::get(i32, {pointer, pointer, i64, i64, pointer}, false);
    auto *function = Function::Create(type, GlobalValue::ExternalLinkage, name, module);
    function->setVisibility(GlobalValue::HiddenVisibility);
    return function;
  }

  Module &module;
  LLVMContext &context;
  PointerType *pointer;
  Type *i32, *i64;
};

} // namespace

std::string codegen::variantSymbol(StringRef kernelSymbol, size_t variantIndex) {
  return (kernelSymbol + ".v" + Twine(variantIndex)).str();
}

void codegen::nameVariant(Module &module, size_t variantIndex) {
  for (Function &function : module) {
    if (function.isDeclaration() || function.hasLocalLinkage())
      continue;
    function.setName(variantSymbol(function.getName(), variantIndex));
    function.setVisibility(GlobalValue::HiddenVisibility);
    function.setDSOLocal(true);
  }
}

Expected<SmallVector<char, 0>> codegen::writeDescriptorObject(const DescriptorContents &contents,
                                                              const CpuTarget &target) {
  auto machine = createTargetMachine(target);
  if (!machine)
    return machine.takeError();
  LLVMContext context;
  Module module("nncc_model", context);
  module.setDataLayout((*machine)->createDataLayout());
  module.setTargetTriple((*machine)->getTargetTriple());
  DescriptorBuilder(module).build(contents);
  return generateCode(module, target, CompileOptions(), MachineCode::Object);
}
