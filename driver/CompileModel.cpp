// From source to code and weights; see CompileModel.h.

#include "driver/CompileModel.h"
#include "driver/PrepareWeights.h"
#include "runtime/Weights.h"
#include "runtime/cuda/TuningFile.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/TimeProfiler.h"

using namespace nncc;
using namespace nncc::driver;

Result<Targets> driver::parseTargets(llvm::StringRef text) {
  Targets targets;
  for (llvm::StringRef name : llvm::split(text, ',')) {
    if (name == "cpu")
      targets.cpu = true;
    else if (name == "cuda")
      targets.cuda = true;
    else
      return userError("unknown device '" + name.str() + "'; known: cpu, cuda");
  }
  return targets;
}

Result<CompiledModel> driver::compileModel(mlir::MLIRContext &context,
                                           const CompileRequest &request) {
  auto imported = [&] {
    llvm::TimeTraceScope trace("import");
    return importModel(context, request.source);
  }();
  if (!imported)
    return imported.error();
  CompiledModel result;
  result.warnings = std::move(imported->warnings);

  // Every variant has the same parameters; the constants that passes add to them may differ.
  std::string parameters;
  std::optional<Error> parameterError;
  auto readParameters = [&](mlir::ModuleOp module) {
    llvm::TimeTraceScope trace("parameters");
    auto image = makeParameterImage(module, request.weights);
    if (image)
      parameters = std::move(*image);
    else
      parameterError = image.error();
  };
  for (const std::string &cpu : request.cpus) {
    auto target = findTarget(cpu);
    if (!target)
      return target.error();
    auto variant = compileVariant(*imported->module, *target, request.optLevel,
                                  result.variants.size(), request.passes, readParameters);
    if (parameterError)
      return *parameterError;
    if (!variant)
      return variant.error();
    result.variants.push_back(std::move(*variant));
  }

  if (request.forCuda) {
    auto cuda =
        compileCuda(*imported->module, request.gpuArchitectures, request.cudaOptions,
                    request.passes, readParameters);
    if (parameterError)
      return *parameterError;
    if (!cuda)
      return cuda.error();
    result.cuda = std::move(*cuda);
    if (!request.tuningPath.empty()) {
      auto tuning = rt::cuda::TuningFile::load(request.tuningPath);
      if (!tuning)
        return tuning.error();
      if (!*tuning)
        return userError("there is no tuning file " + request.tuningPath +
                         "; nncc-run --device=cuda --tune=" + request.tuningPath + " makes it");
      result.cuda->contents.tuning = (*tuning)->write();
    }
  }

  // Preparing also checks that the weights fit, so it is done where it can be even when its result
  // is of no use.
  const std::string origin =
      request.weights.path.empty() ? request.source.path : request.weights.path;
  for (const VariantCode &variant : result.variants) {
    if (!runsHere(variant))
      continue;
    auto prepared = prepareWeights(variant, parameters, origin);
    if (!prepared)
      return prepared.error();
    bool canTrain = variant.program.findEntryPoint("train_step");
    if (result.variants.size() == 1 && !result.cuda && !canTrain) {
      result.weights = std::move(*prepared);
      return result;
    }
    break;
  }
  if (result.variants.empty() && result.cuda) {
    rt::WeightsSource source;
    source.embedded = std::as_bytes(std::span(parameters));
    source.embeddedName = origin;
    if (auto fit = rt::Weights::find(result.cuda->program, source, {}); !fit)
      return fit.error();
  }
  result.weights = std::move(parameters);
  return result;
}
