// A small model made by hand, in place of one from the compiler: y = relu(x W^T + b), with W packed
// by "prepare". Its kernels are C++ functions of the same type as compiled ones, so the runtime
// runs it as it runs any model.
//   image: f32[N, 4], index: i64[N]  ->  logits: f32[N, 3], picked: f32[N] (logits[n, index[n]])
//   with N = 1..64
#pragma once

#include "runtime/ModelDescriptor.h"
#include "runtime/Program.h"

#include <string>
#include <vector>

namespace testmodel {

inline constexpr int64_t kInputs = 4, kOutputs = 3;

nncc::rt::Program program();

/// W[o][i] = o - i / 2, b[o] = o - 1.
std::vector<float> weight();
std::vector<float> bias();

/// A safetensors image with fc.weight and fc.bias.
std::string parameterImage();
/// One with what "prepare" makes and the bias, as the compiler would embed it.
std::string preparedImage(const std::string &buildId);

/// Plain-loop reference for one row.
std::vector<float> expectedLogits(const float *row);

/// A descriptor of this model. Owns what it points to.
class Model {
public:
  explicit Model(std::string weights = {}, const nncc::rt::Program &program = testmodel::program());
  Model(const Model &) = delete;

  nncc::rt::ModelDescriptor descriptor;
  nncc::rt::ModelVariant variant;

private:
  std::string json;
  void *alignedWeights = nullptr;

public:
  ~Model();
};

} // namespace testmodel
