// The C interface of libnncc_jit.so (nncc/jit.h): compiles a model in memory and hands out the same
// functions that a model.so exports. No exception leaves it.

#include "driver/CompileModel.h"
#include "driver/PrepareWeights.h"
#include "nncc/jit.h"
#include "runtime/Api.h"

#include <new>

using namespace nncc;

struct nncc_jit_program {
  std::string weights; // before `model`, whose descriptor points into it
  std::unique_ptr<codegen::JitModel> model;
  nncc_api api{};
  std::string error;
};

static Result<void> compile(const nncc_jit_options &options, nncc_jit_program &program) {
  if (!options.path && !options.text)
    return userError("nncc_jit_options name neither a path nor a text");
  if (options.opt_level > 3)
    return userError("expected an opt_level of -1 to 3, found " +
                     std::to_string(options.opt_level));
  driver::CompileRequest request;
  request.source.path = options.path ? options.path : "model.nn";
  if (options.text)
    request.source.text = options.text;
  request.source.training = options.training != 0;
  if (options.train_statements)
    request.source.trainStatements = options.train_statements;
  if (options.memory_budget < 0 || options.batch < 0)
    return userError("expected a memory_budget and a batch of 0 or more");
  request.source.batch = options.batch;
  request.passes.memoryBudgetBytes = options.memory_budget;
  request.cudaOptions.tileCount = options.tiles < 0    ? codegen::cuda::kTilesToTune
                                  : options.tiles == 0 ? 1
                                                       : static_cast<uint32_t>(options.tiles);
  if (options.cpu)
    request.cpus = {options.cpu};
  if (options.target) {
    auto targets = driver::parseTargets(options.target);
    if (!targets)
      return targets.error();
    request.forCuda = targets->cuda;
    if (!targets->cpu)
      request.cpus.clear();
  }
  constexpr unsigned kDefaultLevel = 3;
  request.optLevel = options.opt_level < 0 ? 0
                     : options.opt_level   ? options.opt_level
                                           : kDefaultLevel;
  if (options.weights)
    request.weights.path = options.weights;
  request.weights.seed = options.seed;

  auto context = driver::createContext();
  auto compiled = driver::compileModel(*context, request);
  if (!compiled)
    return compiled.error();
  program.weights = std::move(compiled->weights);
  auto model =
      driver::loadInProcess(compiled->variants.empty() ? nullptr : &compiled->variants.front(),
                            compiled->cuda ? &*compiled->cuda : nullptr, program.weights);
  if (!model)
    return model.error();
  program.model = std::move(*model);
  program.api = rt::makeApi(program.model->descriptor());
  return {};
}

extern "C" nncc_status nncc_jit_compile(const nncc_jit_options *options,
                                        nncc_jit_program **program) {
  *program = new (std::nothrow) nncc_jit_program;
  if (!*program)
    return NNCC_ENVIRONMENT_ERROR;
  return rt::guarded((*program)->error, [&]() -> Result<void> {
    Result<nncc_jit_options> given = rt::readSized(options);
    return given ? compile(*given, **program) : given.error();
  });
}

extern "C" const char *nncc_jit_error(const nncc_jit_program *program) {
  return program ? program->error.c_str() : "out of memory";
}

extern "C" const nncc_api *nncc_jit_api(const nncc_jit_program *program) {
  return program && program->model ? &program->api : nullptr;
}

extern "C" void nncc_jit_destroy(nncc_jit_program *program) { delete program; }
