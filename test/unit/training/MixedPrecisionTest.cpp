// Trainings in bf16 and f16 against PyTorch's under autocast (test/reference/mixed_precision.py),
// on the digits of the repository.

#include "test/unit/training/DigitTraining.h"

#include <cmath>
#include <gtest/gtest.h>
#include <map>
#include <random>

using namespace nncc;
using namespace nncc::test;

namespace {

constexpr int64_t kBatch = 20;

struct Training {
  std::string name;     ///< of the reference
  const char *example;  ///< the model
  const char *weights;  ///< the folder of the reference whose first weights it has
  std::string settings; ///< lines of the train section
  double tolerance;     ///< relative, of a loss
};
void PrintTo(const Training &training, std::ostream *to) { *to << training.name; }

const std::string kMlpSettings = "optimizer = adam(lr = 0.001)\n",
                  kLenetSettings = "optimizer = adam(lr = 0.0005)\n";

/// A number has 8 bits in bf16 and 11 in f16. PyTorch's own trainings in f32 and in these differ by
/// 0.6 % (mlp, bf16), 1.4 % (lenet, bf16) and 0.9 % (lenet, f16) at most.
const Training kTrainings[] = {
    {"bf16_mlp", "simple_net_mnist.nn", "simple_net_mnist", kMlpSettings + "precision = bf16",
     0.01},
    {"bf16_lenet", "lenet.nn", "lenet_mnist_train", kLenetSettings + "precision = bf16", 0.02},
    {"f16_mlp", "simple_net_mnist.nn", "simple_net_mnist", kMlpSettings + "precision = f16", 0.003},
    {"f16_lenet", "lenet.nn", "lenet_mnist_train", kLenetSettings + "precision = f16", 0.01},
    // What they are compared with there.
    {"f32_mlp", "simple_net_mnist.nn", "simple_net_mnist", kMlpSettings, 1e-4},
    {"f32_lenet", "lenet.nn", "lenet_mnist_train", kLenetSettings, 1e-3},
};

class MixedPrecision : public testing::TestWithParam<Training> {
protected:
  /// The first `most` losses.
  void followLosses(On on, size_t most) {
    const Training &training = GetParam();
    std::vector<float> expected = referenceNumbers("mixed_precision/" + training.name + ".npy");
    ASSERT_GE(expected.size(), 50u);
    std::unique_ptr<CompiledModel> model =
        compileForDigits(training.example, training.settings, on);
    Instance trainer =
        model->trainer(referencePath(std::string(training.weights) + "/init.safetensors"));
    Digits digits(kBatch);
    for (size_t step = 0; step < std::min(most, expected.size()); ++step)
      ASSERT_NEAR(digits.step(trainer), expected[step], training.tolerance * expected[step])
          << "step " << step;
  }
};

TEST_P(MixedPrecision, FollowsPyTorchsLosses) { followLosses(On::Cpu, SIZE_MAX); }

/// Evaluation is f32, as inference is; the loss of a step shows its rounding.
TEST(MixedPrecisionStep, ComputesInBf16WhereEvaluationComputesInF32) {
  const Training &training = kTrainings[0];
  auto evaluated = [&](const std::string &settings, bool trains) {
    std::unique_ptr<CompiledModel> model = compileForDigits(training.example, settings, On::Cpu);
    Instance trainer =
        model->trainer(referencePath(std::string(training.weights) + "/init.safetensors"));
    Digits digits(kBatch);
    return trains ? digits.step(trainer) : digits.evaluate(trainer);
  };
  const std::string plain = "optimizer = sgd(lr = 0.1)\n";
  double wide = evaluated(plain, false);
  EXPECT_EQ(evaluated(training.settings, false), wide);
  EXPECT_EQ(evaluated(plain, true), wide);
  EXPECT_GT(std::abs(evaluated(training.settings, true) - wide), 1e-6);
}

std::string nameOf(const testing::TestParamInfo<Training> &info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(OnTheCpu, MixedPrecision, testing::ValuesIn(kTrainings), nameOf);

//===--------------------------------------------------------------------===//
// Gradients
//===--------------------------------------------------------------------===//

struct Net {
  const char *name;
  const char *body; ///< from x: f32[N, 3, 8, 8] to y: f32[N, 4]
  double tolerance; ///< of the gradient of a parameter in bf16, by its norm
};
void PrintTo(const Net &net, std::ostream *to) { *to << net.name; }

/// Every kind of layer whose kernels or gradients depend on the precision.
const Net kNets[] = {
    {"conv", R"(x = relu(conv2d(x, 8, kernel = 3, padding = 1) as c1)
  x = avg_pool2d(tanh(conv2d(x, 8, kernel = 3, stride = 2, groups = 2) as c2), kernel = 3)
  y = linear(flatten(x), 4) as out)",
     0.02},
    {"conv_transpose",
     R"(x = relu(conv_transpose2d(x, 6, kernel = 4, stride = 2, padding = 1) as c1)
  y = linear(mean(x, axis = [2, 3]), 4) as out)",
     0.06},
    {"norms", R"(x = relu(batch_norm(conv2d(x, 8, kernel = 3) as c1) as bn)
  x = gelu(group_norm(conv2d(x, 8, kernel = 1) as c2, groups = 2) as gn)
  x = layer_norm(linear(flatten(x), 16) as fc) as ln
  y = linear(silu(rms_norm(x) as rms), 4) as out)",
     0.06},
    // The gradient of a pool arrives as a sum that is computed on the way.
    {"pools",
     R"(x = max_pool2d(relu(conv2d(x, 8, kernel = 3, padding = 1) as c1), kernel = 2)
  x = avg_pool2d(x * mean(x), kernel = 2)
  y = linear(flatten(x) * mean(x), 4) as out)",
     0.06},
    {"attention", R"(x = transpose(reshape(x, [N, 3 * 8, 8]), [0, 2, 1])
  x = linear(x, 16) as embed
  x = x + multi_head_attention(x, x, x, heads = 2, causal = true) as attn
  y = linear(mean(layer_norm(x) as ln, axis = 1), 4) as out)",
     0.03},
    {"lstm", R"(x = reshape(x, [N, 8, 3 * 8])
  h, last, cell = lstm(x, 8) as l
  y = linear(h[:, -1], 4) as out)",
     0.02},
    {"gru", R"(x = reshape(x, [N, 8, 3 * 8])
  h, last = gru(x, 8) as g
  y = linear(softmax(h[:, -1]), 4) as out)",
     0.02},
};

/// One step of plain descent at rate 1 subtracts the gradients.
class GradientsOf : public testing::TestWithParam<std::tuple<Net, std::string>> {
protected:
  using Changes = std::map<std::string, std::vector<float>>;

  Changes changes(const std::string &precision, On on) {
    CompiledModel model("model Net(x: f32[N, 3, 8, 8]) {\n  " +
                            std::string(std::get<0>(GetParam()).body) +
                            "\n  return y\n}\ntrain {\n  target t: f32[N, 4]\n  loss = mse(y, t)\n"
                            "  optimizer = sgd(lr = 1.0)\n  precision = " +
                            precision + "\n}\n",
                        on);
    Instance trainer = model.trainer();
    std::mt19937_64 random(3);
    std::uniform_real_distribution<float> number(-1, 1);
    std::vector<float> x(kBatch * 3 * 64), t(kBatch * 4);
    for (std::vector<float> *values : {&x, &t})
      for (float &value : *values)
        value = number(random);
    Changes result;
    for (const CompiledModel::Parameter &parameter : model.parameters())
      result[parameter.name] = valuesOf(trainer, parameter.name, parameter.shape);
    trainer.trainStep(
        {Tensor::borrow(x.data(), {kBatch, 3, 8, 8}), Tensor::borrow(t.data(), {kBatch, 4})});
    for (const CompiledModel::Parameter &parameter : model.parameters()) {
      std::vector<float> after = valuesOf(trainer, parameter.name, parameter.shape);
      for (size_t i = 0; i < after.size(); ++i)
        result[parameter.name][i] -= after[i];
    }
    return result;
  }

  void compare(On on) {
    auto &[net, precision] = GetParam();
    Changes wide = changes("f32", On::Cpu), found = changes(precision, on);
    auto norm = [](const std::vector<float> &values) {
      double sum = 0;
      for (float value : values)
        sum += static_cast<double>(value) * value;
      return std::sqrt(sum);
    };
    // A parameter whose gradient is next to nothing, as a bias before a norm has, is measured by
    // the largest.
    double largest = 0, tolerance = precision == "bf16" ? net.tolerance : net.tolerance / 4;
    bool isRounded = false;
    for (auto &[name, values] : wide)
      largest = std::max(largest, norm(values));
    for (auto &[name, values] : wide) {
      std::vector<float> difference = found[name];
      for (size_t i = 0; i < values.size(); ++i)
        difference[i] -= values[i];
      EXPECT_LE(norm(difference), tolerance * std::max(norm(values), 0.05 * largest)) << name;
      isRounded |= norm(difference) > 1e-5 * norm(values);
    }
    EXPECT_TRUE(isRounded);
  }
};

TEST_P(GradientsOf, AreThoseOfF32UpToRounding) { compare(On::Cpu); }

std::string netAndPrecision(const testing::TestParamInfo<std::tuple<Net, std::string>> &info) {
  return std::get<0>(info.param).name + ("_" + std::get<1>(info.param));
}

INSTANTIATE_TEST_SUITE_P(OnTheCpu, GradientsOf,
                         testing::Combine(testing::ValuesIn(kNets), testing::Values("bf16", "f16")),
                         netAndPrecision);

} // namespace
