// Weights for the kernels; see PrepareWeights.h.

#include "driver/PrepareWeights.h"
#include "runtime/CpuLevel.h"
#include "runtime/CpuProgram.h"
#include "runtime/ProgramJson.h"
#include "runtime/Safetensors.h"
#include "runtime/cuda/CudaProgram.h"

#include "llvm/Support/TimeProfiler.h"

using namespace nncc;
using namespace nncc::driver;

codegen::DescriptorVariant driver::describeVariant(const VariantCode &code) {
  codegen::DescriptorVariant variant{code.cpuLevel, rt::writeProgramJson(code.program), {}};
  for (const rt::Kernel &kernel : code.program.kernels)
    variant.kernelSymbols.push_back(kernel.symbol);
  return variant;
}

bool driver::runsHere(const VariantCode &code) { return rt::rankOnHost(code.cpuLevel).has_value(); }

codegen::DescriptorCuda driver::describeCuda(const CudaCode &code) {
  codegen::DescriptorCuda contents = code.contents;
  contents.programJson = rt::writeProgramJson(code.program);
  return contents;
}

Result<std::unique_ptr<codegen::JitModel>>
driver::loadInProcess(const VariantCode *code, const CudaCode *cuda, std::string_view weights) {
  llvm::TimeTraceScope trace("JIT link");
  codegen::DescriptorContents contents;
  contents.weights = weights;
  std::string_view object;
  if (code) {
    contents.variants.push_back(describeVariant(*code));
    object = {code->object.data(), code->object.size()};
  }
  if (cuda)
    contents.cuda = describeCuda(*cuda);
  return codegen::JitModel::create(std::move(contents), object, &nncc_cuda_backend);
}

Result<std::string> driver::prepareWeights(const VariantCode &code, std::string_view parameters,
                                           const std::string &origin) {
  auto jit = loadInProcess(&code, nullptr, parameters);
  if (!jit)
    return jit.error();
  llvm::TimeTraceScope trace("prepare weights");
  rt::LoadOptions options;
  options.embeddedName = origin;
  auto loaded = rt::CpuProgram::load((*jit)->descriptor(), options);
  if (!loaded)
    return loaded.error();

  const rt::Program &program = (*loaded)->program();
  std::vector<rt::SafetensorsSource> tensors;
  for (uint32_t id : rt::weightsOfRuns(program)) {
    const rt::Buffer &buffer = program.buffers[id];
    std::vector<int64_t> noDims(program.dims.size(), 0);
    std::optional<int64_t> bytes = buffer.sizeBytes.evaluate(noDims).get();
    if (!bytes)
      return internalError("the size of '" + buffer.name + "' is not known before a run");
    // The loader looks at the number of bytes of a constant, and at the shape of a parameter.
    std::vector<int64_t> shape = {*bytes / sizeBytesOf(buffer.dtype)};
    if (buffer.kind == rt::BufferKind::Parameter) {
      shape.clear();
      for (const rt::SizeExpr &extent : buffer.shape)
        shape.push_back(extent.evaluate(noDims).getOr(0));
    }
    tensors.push_back({buffer.name,
                       buffer.dtype,
                       std::move(shape),
                       {(*loaded)->weights().data()[id], static_cast<size_t>(*bytes)}});
  }
  return rt::serializeSafetensors(tensors, {{rt::kWeightsBuildIdKey, program.buildId}},
                                  rt::SafetensorsAlignment::EachTensor);
}
