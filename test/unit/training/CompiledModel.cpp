// Compiles and loads; see CompiledModel.h.

#include "test/unit/training/CompiledModel.h"

#include "driver/PrepareWeights.h"
#include "runtime/Api.h"
#include "runtime/MemoryPlan.h"
#include "runtime/cuda/Nvrtc.h"

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <stdexcept>

using namespace nncc;
using namespace nncc::test;

namespace {

driver::ModelSource sourceOf(std::string path, std::optional<std::string> text) {
  driver::ModelSource source;
  source.path = std::move(path);
  source.text = std::move(text);
  source.training = true;
  return source;
}

} // namespace

std::string test::prepareStandInDevice(Checks checks) {
  setenv("NNCC_CUDA_DRIVER", NNCC_TEST_CUDA_DRIVER, 1);
  setenv("NNCC_CACHE_DIR", NNCC_TEST_KERNEL_CACHE, 1);
  setenv("CUDA_EMULATOR_MODE", checks == Checks::EveryAccess ? "checked" : "plain", 1);
  auto nvrtc = rt::cuda::Nvrtc::get();
  return nvrtc ? "" : nvrtc.error().message;
}

CompiledModel::CompiledModel(const std::string &text, On on, StepMemory memory)
    : CompiledModel(sourceOf("model.nn", "nn 1\n" + text), on, /*optLevel=*/1, memory) {}

std::unique_ptr<CompiledModel> CompiledModel::fromFile(const std::string &path, On on,
                                                       const char *train, StepMemory memory) {
  std::optional<std::string> text;
  if (train) {
    std::ifstream file(path);
    text.emplace(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    size_t section = text->find("\ntrain {");
    if (section == std::string::npos)
      throw std::runtime_error("'" + path + "' has no train section to replace");
    text->replace(section + 1, std::string::npos, train);
  }
  return std::unique_ptr<CompiledModel>(
      new CompiledModel(sourceOf(path, std::move(text)), on, /*optLevel=*/3, memory));
}

CompiledModel::CompiledModel(driver::ModelSource source, On on, unsigned optLevel, StepMemory memory) : on(on) {
  auto context = driver::createContext();
  driver::CompileRequest request;
  request.source = std::move(source);
  request.optLevel = optLevel;
  request.source.batch = memory.batch;
  request.passes.memoryBudgetBytes = memory.budgetBytes;
  if (on == On::Cuda) {
    request.cpus.clear();
    request.forCuda = true;
  }
  auto compiled = valueOrThrow(driver::compileModel(*context, request));
  weights = std::move(compiled.weights);
  const rt::Program &program = compiled.variants.empty() ? compiled.cuda->program : compiled.variants.front().program;
  arenaBytes = valueOrThrow(rt::planMemory(program, *program.findEntryPoint("train_step"), driver::trainingDims(program))).arenaBytes;
  jit = valueOrThrow(
      driver::loadInProcess(compiled.variants.empty() ? nullptr : &compiled.variants.front(),
                            compiled.cuda ? &*compiled.cuda : nullptr, weights));
  api = rt::makeApi(jit->descriptor());
}

Model CompiledModel::load(const std::string &weightsPath, const std::string &tuning) const {
  ModelOptions options;
  options.device = on == On::Cuda ? "cuda" : "cpu";
  options.weights = weightsPath;
  options.tuning = tuning;
  options.tuningRequired = !tuning.empty();
  return Model(&api, std::move(options));
}

Instance CompiledModel::trainer(const std::string &weightsPath, int threads) const {
  return load(weightsPath).createTrainer(threads);
}

Instance CompiledModel::trainerTunedBy(const std::string &tuning) const {
  return load({}, tuning).createTrainer(1);
}

Instance CompiledModel::inferrer(const std::string &weightsPath, int threads) const {
  return load(weightsPath).createInstance(threads);
}

std::vector<CompiledModel::Parameter> CompiledModel::parameters() const {
  Model model = load({});
  const nncc_model_info &info = model.info();
  std::vector<Parameter> result;
  for (size_t i = 0; i < info.parameter_count; ++i) {
    Parameter &parameter = result.emplace_back();
    parameter.name = info.parameters[i].name;
    for (int32_t dim = 0; dim < info.parameters[i].rank; ++dim)
      parameter.shape.push_back(info.parameters[i].shape[dim].value);
  }
  return result;
}
