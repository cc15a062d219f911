// The scale of the loss in f16: against PyTorch's GradScaler (test/reference/mixed_precision.py),
// and what an update that is left out leaves as it is.

#include "test/unit/runtime/TemporaryFolder.h"
#include "test/unit/training/DigitTraining.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace nncc;
using namespace nncc::test;

namespace {

constexpr int64_t kBatch = 20;
constexpr char kInitialWeights[] = "simple_net_mnist/init.safetensors";

template <typename T> T stateOf(Instance &trainer, const std::string &name) {
  return valuesOf<T>(trainer, name, {})[0];
}

class LossScale : public testing::TestWithParam<On> {
protected:
  void SetUp() override {
    if (GetParam() == On::Cuda)
      if (std::string missing = prepareStandInDevice(); !missing.empty())
        GTEST_SKIP() << missing;
  }

  void compile(const std::string &settings) {
    model = compileForDigits("simple_net_mnist.nn", "precision = f16\n" + settings, GetParam());
  }
  Instance trainer(int threads = 1) {
    return model->trainer(referencePath(kInitialWeights), threads);
  }
  /// Parameters and states, byte by byte.
  std::string bytesOf(Instance &trainer) {
    trainer.saveState(folder / "state.safetensors");
    return TemporaryFolder::read(folder / "state.safetensors");
  }
  /// Parameters and moments.
  std::vector<std::vector<float>> numbersOf(Instance &trainer) {
    std::vector<std::vector<float>> numbers;
    for (const char *prefix : {"", "train.exp_avg.", "train.exp_avg_sq."})
      for (const CompiledModel::Parameter &parameter : model->parameters())
        numbers.push_back(valuesOf(trainer, prefix + parameter.name, parameter.shape));
    return numbers;
  }

  TemporaryFolder folder;
  std::unique_ptr<CompiledModel> model;
};

/// Scale and counter of each step exactly, and which updates are made: those that are not leave
/// parameters, moments and the count of updates alone.
TEST_P(LossScale, MovesAsGradScaler) {
  compile("optimizer = adam(lr = 0.001)\nloss_scale = dynamic(init = 1099511627776, growth = 4096, "
          "backoff = "
          "0.0001220703125, interval = 3)");
  std::vector<float> expected = referenceNumbers("mixed_precision/scaler.npy");
  ASSERT_EQ(expected.size(), 80u);
  Instance trained = trainer();
  Digits digits(kBatch);
  auto before = numbersOf(trained);
  int64_t made = 0;
  for (size_t step = 0; step < 20; ++step) {
    const float *row = &expected[step * 4];
    EXPECT_NEAR(digits.step(trained), row[0], 0.003 * row[0]) << "step " << step;
    EXPECT_EQ(stateOf<float>(trained, "train.loss_scale"), row[1]) << "step " << step;
    EXPECT_EQ(stateOf<int64_t>(trained, "train.growth_tracker"), static_cast<int64_t>(row[2]))
        << "step " << step;
    auto after = numbersOf(trained);
    EXPECT_EQ(after != before, row[3] != 0) << "step " << step;
    before = std::move(after);
    made += row[3] != 0;
    EXPECT_EQ(stateOf<int64_t>(trained, "train.step"), made) << "step " << step;
    EXPECT_EQ(stateOf<int64_t>(trained, "train.skipped"), static_cast<int64_t>(step) + 1 - made)
        << "step " << step;
  }
  EXPECT_GT(made, 5);
}

TEST_P(LossScale, GoesOnWhereItWasSavedAndIsTheSameForAnyNumberOfThreads) {
  compile("optimizer = adamw(lr = 0.001)\nclip = global_norm(1.0)\nschedule = cosine()\nloss_scale "
          "= dynamic(init = 1e9, growth = "
          "4, backoff = 0.001, interval = 3)");
  Instance straight = trainer(), two = trainer(2), first = trainer(), second = trainer();
  auto train = [&](Instance &instance, int from, int to) {
    Digits digits(kBatch);
    for (int step = 0; step < to; ++step)
      step < from ? digits.evaluate(second) : digits.step(instance);
  };
  train(straight, 0, 7);
  train(two, 0, 7);
  EXPECT_EQ(bytesOf(two), bytesOf(straight));
  train(first, 0, 3);
  EXPECT_EQ(stateOf<int64_t>(first, "train.growth_tracker"), 2);
  first.saveState(folder / "half.safetensors");
  second.loadState(folder / "half.safetensors");
  train(second, 3, 7);
  EXPECT_EQ(bytesOf(second), bytesOf(straight));
  EXPECT_GT(stateOf<int64_t>(straight, "train.skipped"), 0);
}

/// Two batches make an update: it is left out when either has a gradient that is not finite, and
/// what is left out is not carried into the next one.
TEST_P(LossScale, LeavesOutAnAccumulatedUpdate) {
  compile("optimizer = adam(lr = 0.001)\naccumulate = 2\nloss_scale = dynamic(init = 1024, growth "
          "= 2, backoff = 0.5, interval = 2)");
  Instance trained = trainer();
  Digits digits(kBatch);
  auto start = numbersOf(trained);
  setValues(trained, "train.loss_scale", {}, std::vector<float>{std::ldexp(1.0f, 40)});
  digits.step(trained); // overflows
  setValues(trained, "train.loss_scale", {}, std::vector<float>{1024});
  EXPECT_EQ(stateOf<int64_t>(trained, "train.skipped"), 0);
  digits.step(trained);
  EXPECT_EQ(stateOf<int64_t>(trained, "train.skipped"), 1);
  EXPECT_EQ(stateOf<int64_t>(trained, "train.step"), 0);
  EXPECT_EQ(stateOf<float>(trained, "train.loss_scale"), 512);
  EXPECT_EQ(numbersOf(trained), start);
  for (int step = 0; step < 4; ++step)
    digits.step(trained);
  EXPECT_EQ(stateOf<int64_t>(trained, "train.skipped"), 1);
  EXPECT_EQ(stateOf<int64_t>(trained, "train.step"), 2);
  EXPECT_EQ(stateOf<float>(trained, "train.loss_scale"), 1024);
  for (const std::vector<float> &values : numbersOf(trained))
    for (float value : values)
      ASSERT_TRUE(std::isfinite(value));
}

/// Clipping sees gradients without the scale: under scales that are powers of two they are the same
/// numbers, and so are the updates.
TEST_P(LossScale, DoesNotReachTheUpdate) {
  std::vector<std::vector<std::vector<float>>> found;
  for (const char *scale : {"256", "4096"}) {
    compile(std::string("optimizer = adam(lr = 0.001)\nclip = global_norm(0.1)\nloss_scale = ") +
            scale);
    Instance trained = trainer();
    Digits digits(kBatch);
    for (int step = 0; step < 3; ++step)
      digits.step(trained);
    EXPECT_EQ(stateOf<int64_t>(trained, "train.skipped"), 0);
    found.push_back(numbersOf(trained));
  }
  for (size_t i = 0; i < found[0].size(); ++i)
    for (size_t j = 0; j < found[0][i].size(); ++j)
      ASSERT_NEAR(found[0][i][j], found[1][i][j], 1e-4) << i;
}

/// A constant scale does not move, and does not let through what overflows.
TEST_P(LossScale, StaysWhereItIsConstant) {
  compile("optimizer = adam(lr = 0.001)\nloss_scale = 1e12");
  Instance trained = trainer();
  auto start = numbersOf(trained);
  Digits digits(kBatch);
  for (int step = 0; step < 3; ++step)
    EXPECT_TRUE(std::isfinite(digits.step(trained)));
  EXPECT_EQ(stateOf<int64_t>(trained, "train.skipped"), 3);
  EXPECT_EQ(numbersOf(trained), start);
  EXPECT_THROW(stateOf<float>(trained, "train.loss_scale"), Exception);
}

std::string nameOf(const testing::TestParamInfo<On> &info) {
  return info.param == On::Cpu ? "Cpu" : "Cuda";
}

INSTANTIATE_TEST_SUITE_P(On, LossScale, testing::Values(On::Cpu), nameOf);

} // namespace
