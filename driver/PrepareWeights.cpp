// Weights for the kernels; see PrepareWeights.h.

#include "driver/PrepareWeights.h"
#include "runtime/CpuLevel.h"
#include "runtime/LoadedProgram.h"
#include "runtime/ProgramJson.h"
#include "runtime/Safetensors.h"

#include "llvm/Support/TimeProfiler.h"

#include <set>

using namespace nncc;
using namespace nncc::driver;

codegen::DescriptorVariant driver::describeVariant(const VariantCode &code) {
  codegen::DescriptorVariant variant{code.cpuLevel, rt::writeProgramJson(code.program), {}};
  for (const rt::Kernel &kernel : code.program.kernels)
    variant.kernelSymbols.push_back(kernel.symbol);
  return variant;
}

bool driver::runsHere(const VariantCode &code) { return rt::rankOnHost(code.cpuLevel).has_value(); }

Result<std::unique_ptr<codegen::JitModel>> driver::loadInProcess(const VariantCode &code,
                                                                 std::string_view weights) {
  llvm::TimeTraceScope trace("JIT link");
  return codegen::JitModel::create({{describeVariant(code)}, weights, ""},
                                   {code.object.data(), code.object.size()});
}

/// The weights that runs read: constants, and parameters that are used as they are.
static std::set<uint32_t> weightsOfRuns(const rt::Program &program) {
  std::set<uint32_t> buffers;
  auto add = [&](uint32_t buffer) {
    rt::BufferKind kind = program.buffers[buffer].kind;
    if (kind == rt::BufferKind::Parameter || kind == rt::BufferKind::Constant)
      buffers.insert(buffer);
  };
  for (const rt::EntryPoint &entry : program.entryPoints) {
    if (entry.name == "prepare")
      continue;
    for (const rt::Step &step : entry.steps)
      for (const rt::BufferRef &ref : step.args)
        add(ref.buffer);
    for (uint32_t output : entry.outputs)
      add(output);
  }
  return buffers;
}

Result<std::string> driver::prepareWeights(const VariantCode &code, std::string_view parameters,
                                           const std::string &origin) {
  auto jit = loadInProcess(code, parameters);
  if (!jit)
    return jit.error();
  llvm::TimeTraceScope trace("prepare weights");
  rt::LoadOptions options;
  options.embeddedName = origin;
  auto loaded = rt::LoadedProgram::load((*jit)->descriptor(), options);
  if (!loaded)
    return loaded.error();

  const rt::Program &program = (*loaded)->program();
  std::vector<rt::SafetensorsSource> tensors;
  for (uint32_t id : weightsOfRuns(program)) {
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
