// Compiling models at run time from C++: nncc/jit.h with ownership and exceptions, header only.
// Link with nncc::jit.
//
//   nncc::Model model = nncc::compile("lenet.nn", {.weights = "lenet.safetensors"});
//   nncc::Instance instance = model.createInstance();
//
// The model keeps its code alive; nothing else has to be kept.
#pragma once

#include "nncc/jit.h"
#include "nncc/nncc.hpp"

namespace nncc {

struct CompileOptions {
  std::string weights{}; ///< a safetensors file; empty: parameters start as the model says
  std::string cpu{};     ///< a CPU level; empty: this machine
  std::string target{};  ///< "cpu", "cuda" or "cpu,cuda"; empty: that of model.device
  uint64_t seed = 0;     ///< of initialised parameters
  int optLevel = 3;
  bool training = false; ///< compile the train section too: Model::createTrainer
  std::string trainStatements{}; ///< a train section, or what changes in the model's; implies `training`
  int64_t memoryBudget = 0; ///< bytes for intermediates of a training step, of `batch` samples; 0: any
  int64_t batch = 0;        ///< 0: the train section's
  int tiles = 1; ///< CUDA: as nncc_jit_options has them
  ModelOptions model{};
};

namespace detail {

inline Model compile(const char *path, const char *text, CompileOptions options) {
  nncc_jit_options given{};
  given.size = sizeof(given);
  given.path = path;
  given.text = text;
  given.weights = options.weights.empty() ? nullptr : options.weights.c_str();
  given.cpu = options.cpu.empty() ? nullptr : options.cpu.c_str();
  given.seed = options.seed;
  given.opt_level = options.optLevel > 0 ? options.optLevel : -1;
  given.training = options.training;
  given.train_statements = options.trainStatements.empty() ? nullptr : options.trainStatements.c_str();
  given.memory_budget = options.memoryBudget;
  given.batch = options.batch;
  given.tiles = options.tiles;
  bool onCuda = options.model.device.starts_with("cuda");
  given.target = !options.target.empty() ? options.target.c_str() : onCuda ? "cuda" : nullptr;
  nncc_jit_program *compiled = nullptr;
  nncc_status status = nncc_jit_compile(&given, &compiled);
  std::shared_ptr<nncc_jit_program> program(compiled, nncc_jit_destroy);
  check(status, nncc_jit_error(compiled));
  return Model(nncc_jit_api(compiled), std::move(options.model), std::move(program));
}

} // namespace detail

/// Compiles a file.
inline Model compile(const std::string &path, CompileOptions options = {}) {
  return detail::compile(path.c_str(), nullptr, std::move(options));
}

/// Compiles text; `name` stands in messages.
inline Model compileText(const std::string &text, const std::string &name = "model.nn",
                         CompileOptions options = {}) {
  return detail::compile(name.c_str(), text.c_str(), std::move(options));
}

} // namespace nncc
