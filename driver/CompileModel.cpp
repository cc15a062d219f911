// From source to code and weights; see CompileModel.h.

#include "driver/CompileModel.h"
#include "driver/PrepareWeights.h"

#include "llvm/Support/TimeProfiler.h"

using namespace nncc;
using namespace nncc::driver;

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
  for (const std::string &cpu : request.cpus) {
    auto target = findTarget(cpu);
    if (!target)
      return target.error();
    auto variant =
        compileVariant(*imported->module, *target, request.optLevel, result.variants.size(),
                       request.passes, [&](mlir::ModuleOp module) {
                         llvm::TimeTraceScope trace("parameters");
                         auto image = makeParameterImage(module, request.weights);
                         if (image)
                           parameters = std::move(*image);
                         else
                           parameterError = image.error();
                       });
    if (parameterError)
      return *parameterError;
    if (!variant)
      return variant.error();
    result.variants.push_back(std::move(*variant));
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
    if (result.variants.size() == 1) {
      result.weights = std::move(*prepared);
      return result;
    }
    break;
  }
  result.weights = std::move(parameters);
  return result;
}
