// The table of the train section.
#include "frontend/nn/TrainTable.h"

#include "frontend/nn/OpTable.h"

#include <fmt/format.h>

namespace nncc::frontend {

const std::vector<TrainFunction> &trainFunctions() {
  static const std::vector<TrainFunction> functions = {
      {"optimizer", "sgd",
       "lr: float, momentum: float = 0.0, nesterov: bool = false, weight_decay: float = 0.0, "
       "no_decay: strings = []",
       "stochastic gradient descent as in PyTorch"},
      {"optimizer", "adam",
       "lr: float = 0.001, betas: floats = [0.9, 0.999], eps: float = 1e-8, weight_decay: float = "
       "0.0, "
       "no_decay: strings = []",
       "Adam; the decay is part of the gradient"},
      {"optimizer", "adamw",
       "lr: float = 0.001, betas: floats = [0.9, 0.999], eps: float = 1e-8, weight_decay: float = "
       "0.01, "
       "no_decay: strings = []",
       "Adam with decoupled decay"},
      {"optimizer", "rmsprop",
       "lr: float = 0.01, alpha: float = 0.99, eps: float = 1e-8, momentum: float = 0.0, "
       "weight_decay: float = 0.0, "
       "no_decay: strings = []",
       "RMSprop as in PyTorch"},
      {"schedule", "constant", "warmup_epochs: float = 0.0", "lr stays as it is"},
      {"schedule", "cosine", "warmup_epochs: float = 0.0, floor: float = 0.0",
       "half a cosine from lr down to floor * lr"},
      {"schedule", "linear", "warmup_epochs: float = 0.0, floor: float = 0.0",
       "a line from lr down to floor * lr"},
      {"schedule", "step", "every_epochs: float, gamma: float = 0.1, warmup_epochs: float = 0.0",
       "lr times gamma every so many epochs"},
      {"schedule", "multistep", "epochs: floats, gamma: float = 0.1, warmup_epochs: float = 0.0",
       "lr times gamma at each of these epochs"},
      {"schedule", "exponential", "gamma: float, warmup_epochs: float = 0.0",
       "lr times gamma each epoch"},
      {"clip", "global_norm", "max: float",
       "gradients scaled so that their common norm is at most max"},
      {"clip", "value", "max: float", "each gradient element limited to -max..max"},
      {"loss_scale", "dynamic",
       "init: float = 65536.0, growth: float = 2.0, backoff: float = 0.5, interval: int = 2000",
       "as PyTorch's GradScaler: times backoff where a gradient overflows, times growth after so "
       "many updates where none does"},
  };
  return functions;
}

const std::vector<TrainSetting> &trainSettings() {
  static const std::vector<TrainSetting> settings = {
      {"loss", "", "expression",
       "what is made small: a loss, or an expression of losses and tensors"},
      {"optimizer", "optimizer", "", "how parameters move; required"},
      {"schedule", "schedule", "", "how the learning rate changes; constant when absent"},
      {"clip", "clip", "", "limit on gradients; none when absent"},
      {"batch", "", "int", "samples a step; 32 when absent"},
      {"accumulate", "", "int",
       "batches whose gradients make one update, as their mean; 1 when absent"},
      {"epochs", "", "int", "passes over the data; 1 when absent"},
      {"precision", "", "dtype",
       "of what a step computes: f32, bf16 or f16, with parameters and update in f32; f32 when "
       "absent"},
      {"loss_scale", "loss_scale", "float",
       "factor of the loss on the way back, with precision = f16; dynamic() when absent"},
      {"seed", "", "int", "of initial parameters, shuffling and dropout; 0 when absent"},
      {"freeze", "", "strings", "paths of parameters that stay as they are, `*` for any text"},
  };
  return settings;
}

const TrainFunction *findTrainFunction(std::string_view family, std::string_view name) {
  for (const TrainFunction &function : trainFunctions())
    if (function.family == family && function.name == name)
      return &function;
  return nullptr;
}

const TrainSetting *findTrainSetting(std::string_view name) {
  for (const TrainSetting &setting : trainSettings())
    if (setting.name == name)
      return &setting;
  return nullptr;
}

std::string trainTableMarkdown() {
  std::string out = "\n| Setting | Value | Meaning |\n|---|---|---|\n";
  for (const TrainSetting &setting : trainSettings())
    out += fmt::format("| `{}` | {} | {} |\n", setting.name,
                       setting.family.empty() ? std::string(setting.kind)
                       : setting.kind.empty() ? fmt::format("a {}", setting.family)
                                              : fmt::format("a {} or {}", setting.family, setting.kind),
                       setting.summary);
  out += "\n| Kind | Call | Meaning |\n|---|---|---|\n";
  for (const OpInfo &op : trainOps())
    out += fmt::format("| {} | `{}({})` | {} |\n", op.entry().family, op.entry().name,
                       op.entry().signature, op.entry().summary);
  for (const TrainFunction &function : trainFunctions())
    out += fmt::format("| {} | `{}({})` | {} |\n", function.family, function.name,
                       function.signature, function.summary);
  return out;
}

} // namespace nncc::frontend
