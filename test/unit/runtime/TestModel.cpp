// The model's program, kernels, weights and reference.
#include "TestModel.h"

#include "runtime/ProgramJson.h"
#include "runtime/Safetensors.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

using namespace nncc;
using namespace nncc::rt;

namespace testmodel {
namespace {

// packed[i][o] = W[o][i]; tasks: rows of the result.
int32_t packWeight(void *const *args, const int64_t *, int64_t begin, int64_t end, void *) {
  const float *weight = static_cast<const float *>(args[0]);
  float *packed = static_cast<float *>(args[1]);
  for (int64_t i = begin; i < end; ++i)
    for (int64_t o = 0; o < kOutputs; ++o)
      packed[i * kOutputs + o] = weight[o * kInputs + i];
  return KernelOk;
}

// hidden = x W^T + b; tasks: rows. Sums in scratch memory, so that shared scratch would show.
int32_t linear(void *const *args, const int64_t *dims, int64_t begin, int64_t end, void *scratch) {
  const float *x = static_cast<const float *>(args[0]),
              *packed = static_cast<const float *>(args[1]),
              *bias = static_cast<const float *>(args[2]);
  float *result = static_cast<float *>(args[3]), *sums = static_cast<float *>(scratch);
  if (begin < 0 || end > dims[0])
    return 99;
  for (int64_t n = begin; n < end; ++n) {
    std::copy(bias, bias + kOutputs, sums);
    for (int64_t i = 0; i < kInputs; ++i)
      for (int64_t o = 0; o < kOutputs; ++o)
        sums[o] += x[n * kInputs + i] * packed[i * kOutputs + o];
    std::copy(sums, sums + kOutputs, result + n * kOutputs);
  }
  return KernelOk;
}

int32_t relu(void *const *args, const int64_t *, int64_t begin, int64_t end, void *) {
  const float *x = static_cast<const float *>(args[0]);
  float *result = static_cast<float *>(args[1]);
  for (int64_t i = begin * kOutputs; i < end * kOutputs; ++i)
    result[i] = x[i] > 0 ? x[i] : 0;
  return KernelOk;
}

int32_t pick(void *const *args, const int64_t *, int64_t begin, int64_t end, void *) {
  const float *x = static_cast<const float *>(args[0]);
  const int64_t *index = static_cast<const int64_t *>(args[1]);
  float *result = static_cast<float *>(args[2]);
  for (int64_t n = begin; n < end; ++n) {
    if (index[n] < 0 || index[n] >= kOutputs)
      return KernelIndexOutOfRange;
    result[n] = x[n * kOutputs + index[n]];
  }
  return KernelOk;
}

constexpr ModelKernel kKernels[] = {
    {"pack_0", &packWeight}, {"linear_1", &linear}, {"relu_2", &relu}, {"pick_3", &pick}};

std::span<const std::byte> bytesOf(const std::vector<float> &values) {
  return std::as_bytes(std::span<const float>(values));
}

} // namespace

Program program() {
  SizeExpr n = SizeExpr::dim(0);
  Program p;
  p.modelName = "Small";
  p.buildId = "b1";
  p.dims = {{"N", 1, 64}};
  p.buffers = {
      {BufferKind::Input, DType::F32, "image", {n, kInputs}, n * 16},
      {BufferKind::Input, DType::I64, "index", {n}, n * 8},
      {BufferKind::Parameter, DType::F32, "fc.weight", {kOutputs, kInputs}, 48},
      {BufferKind::Parameter, DType::F32, "fc.bias", {kOutputs}, 12},
      {BufferKind::Constant, DType::F32, "fc.weight@packed", {kInputs, kOutputs}, 48},
      {BufferKind::Arena, DType::F32, "", {n, kOutputs}, n * 12},
      {BufferKind::Output, DType::F32, "logits", {n, kOutputs}, n * 12},
      {BufferKind::Output, DType::F32, "picked", {n}, n * 4},
  };
  p.kernels = {{"pack", "pack_0", "", 0},
               {"linear", "linear_1", "small.nn:3:7", 12},
               {"relu", "relu_2", "small.nn:4:7", 0},
               {"pick", "pick_3", "small.nn:5:7", 0}};
  // Large estimates, so that even this model uses all threads.
  constexpr int64_t kManyFlops = 100'000'000;
  EntryPoint prepare{"prepare", {2}, {4}, {{0, {{2, 0}, {4, 0}}, 1, kInputs, kManyFlops, 0}}};
  EntryPoint infer{"infer",
                   {0, 1},
                   {6, 7},
                   {{1, {{0, 0}, {4, 0}, {3, 0}, {5, 0}}, 1, n, kManyFlops, n * 124},
                    {2, {{5, 0}, {6, 0}}, 1, n, kManyFlops, n * 24},
                    {3, {{6, 0}, {1, 0}, {7, 0}}, 1, n, kManyFlops, n * 24}}};
  p.entryPoints = {prepare, infer};
  return p;
}

std::vector<float> weight() {
  std::vector<float> values;
  for (int64_t o = 0; o < kOutputs; ++o)
    for (int64_t i = 0; i < kInputs; ++i)
      values.push_back(static_cast<float>(o) - static_cast<float>(i) / 2);
  return values;
}

std::vector<float> bias() { return {-1, 0, 1}; }

std::string parameterImage() {
  std::vector<float> w = weight(), b = bias();
  std::vector<SafetensorsSource> sources = {
      {"fc.weight", DType::F32, {kOutputs, kInputs}, bytesOf(w)},
      {"fc.bias", DType::F32, {kOutputs}, bytesOf(b)}};
  return *serializeSafetensors(sources, {}, SafetensorsAlignment::Start);
}

std::string preparedImage(const std::string &buildId) {
  std::vector<float> w = weight(), b = bias(), packed(w.size());
  for (int64_t o = 0; o < kOutputs; ++o)
    for (int64_t i = 0; i < kInputs; ++i)
      packed[static_cast<size_t>(i * kOutputs + o)] = w[static_cast<size_t>(o * kInputs + i)];
  std::vector<SafetensorsSource> sources = {
      {"fc.bias", DType::F32, {kOutputs}, bytesOf(b)},
      {"fc.weight@packed", DType::F32, {12}, bytesOf(packed)}};
  return *serializeSafetensors(sources, {{kWeightsBuildIdKey, buildId}},
                               SafetensorsAlignment::EachTensor);
}

std::vector<float> expectedLogits(const float *row) {
  std::vector<float> w = weight(), sums = bias();
  for (size_t o = 0; o < kOutputs; ++o) {
    for (size_t i = 0; i < kInputs; ++i)
      sums[o] += w[o * kInputs + i] * row[i];
    sums[o] = std::max(sums[o], 0.0f);
  }
  return sums;
}

Model::Model(std::string weights, const Program &program) : json(writeProgramJson(program)) {
#if defined(__x86_64__)
  variant = {"x86-64", json.data(), json.size(), std::size(kKernels), kKernels};
#else
  variant = {"aarch64", json.data(), json.size(), std::size(kKernels), kKernels};
#endif
  descriptor = {kModelDescriptorVersion, 1, nullptr, weights.size(), nullptr, &variant, nullptr};
  if (weights.empty())
    return;
  alignedWeights = std::aligned_alloc(64, (weights.size() + 63) / 64 * 64);
  std::memcpy(alignedWeights, weights.data(), weights.size());
  descriptor.weights = alignedWeights;
}

Model::~Model() { std::free(alignedWeights); }

} // namespace testmodel
