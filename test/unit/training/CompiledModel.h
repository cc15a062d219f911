// A model with its train section, compiled in this process and run through the interface that a
// model.so gives. What the tests of training share; the object keeps alive what its instances use.
#pragma once

#include "codegen/jit/JitModel.h"
#include "driver/CompileModel.h"

#include "nncc/nncc.hpp"

#include <memory>
#include <optional>
#include <ostream>
#include <stdexcept>
#include <string>
#include <vector>

namespace nncc::test {

template <typename T> T valueOrThrow(Result<T> result) {
  if (!result)
    throw std::runtime_error(result.error().message);
  return std::move(*result);
}

enum class On : uint8_t {
  Cpu,
  Cuda, ///< the stand-in device
};
inline void PrintTo(On on, std::ostream *to) { *to << (on == On::Cpu ? "Cpu" : "Cuda"); }

/// What the stand-in device examines; about fifty times slower.
enum class Checks : uint8_t { None, EveryAccess };

/// Points the environment to the stand-in device, before its first use in this process. Why there
/// can be none on this machine, or nothing.
std::string prepareStandInDevice(Checks checks = Checks::EveryAccess);

/// What --memory-budget and --batch say; 0: nothing.
struct StepMemory {
  int64_t budgetBytes = 0, batch = 0;
};

class CompiledModel {
public:
  /// `text` is a model without its first line, "nn 1", which is compiled quickly; a file as users
  /// compile it. Throws what the compiler says.
  explicit CompiledModel(const std::string &text, On on = On::Cpu, StepMemory memory = {});
  /// `train`: a train section in place of the one that ends the file.
  static std::unique_ptr<CompiledModel> fromFile(const std::string &path, On on = On::Cpu,
                                                 const char *train = nullptr, StepMemory memory = {});

  /// With the weights of a safetensors file, or those that the model starts with.
  Instance trainer(const std::string &weights = {}, int threads = 1) const;
  Instance inferrer(const std::string &weights = {}, int threads = 1) const;
  /// On a CUDA device, with a tuning file that has to fit.
  Instance trainerTunedBy(const std::string &tuning) const;

  struct Parameter {
    std::string name;
    std::vector<int64_t> shape;
  };
  std::vector<Parameter> parameters() const;

  /// What the runtime will plan for a training step of the section's batch.
  int64_t stepArenaBytes() const { return arenaBytes; }

private:
  CompiledModel(driver::ModelSource source, On on, unsigned optLevel, StepMemory memory);
  Model load(const std::string &weightsPath, const std::string &tuning = {}) const;

  On on;
  int64_t arenaBytes = 0;
  std::string weights; ///< before `jit`, which points into it
  std::unique_ptr<codegen::JitModel> jit;
  nncc_api api{};
};

/// A parameter or state of an instance.
template <typename T = float>
std::vector<T> valuesOf(Instance &instance, const std::string &name, std::vector<int64_t> shape) {
  int64_t count = 1;
  for (int64_t extent : shape)
    count *= extent;
  std::vector<T> values(static_cast<size_t>(count));
  Tensor to = Tensor::borrow(values.data(), std::move(shape));
  instance.getTensor(name, to);
  return values;
}

template <typename T>
void setValues(Instance &instance, const std::string &name, std::vector<int64_t> shape,
               const std::vector<T> &values) {
  instance.setTensor(name, Tensor::borrow(values.data(), std::move(shape)));
}

} // namespace nncc::test
