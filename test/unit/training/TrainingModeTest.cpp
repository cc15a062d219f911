// What layers do otherwise in training: batch norms use the batch's statistics and follow them with
// running ones, dropouts drop.

#include "test/unit/training/CompiledModel.h"

#include <cmath>
#include <gtest/gtest.h>
#include <random>
#include <set>

using namespace nncc;
using namespace nncc::test;

namespace {

using Numbers = std::vector<double>;

class TrainingMode : public testing::TestWithParam<On> {
protected:
  void SetUp() override {
    if (GetParam() == On::Cuda)
      if (std::string missing = prepareStandInDevice(); !missing.empty())
        GTEST_SKIP() << missing;
  }
};

//===--------------------------------------------------------------------===//
// Batch norm
//===--------------------------------------------------------------------===//

constexpr int kBatch = 4, kChannels = 3, kPlace = 6; ///< of an image of 2 x 3
constexpr double kEps = 1e-3, kMomentum = 0.3;

/// The mean and the biased variance of a channel.
std::pair<double, double> statisticsOf(const Numbers &x, int channel) {
  double mean = 0, variance = 0;
  auto each = [&](auto add) {
    for (int n = 0; n < kBatch; ++n)
      for (int i = 0; i < kPlace; ++i)
        add(x[(n * kChannels + channel) * kPlace + i]);
  };
  each([&](double value) { mean += value / (kBatch * kPlace); });
  each([&](double value) { variance += (value - mean) * (value - mean) / (kBatch * kPlace); });
  return {mean, variance};
}

/// The mean of (norm(x) - t)^2, with the batch's statistics or the given ones.
double lossOf(const Numbers &x, const Numbers &t, const Numbers &scale, const Numbers &shift,
              const Numbers *mean, const Numbers *variance) {
  double loss = 0;
  for (int c = 0; c < kChannels; ++c) {
    auto [batchMean, batchVariance] = statisticsOf(x, c);
    double centre = mean ? (*mean)[c] : batchMean,
           spread = variance ? (*variance)[c] : batchVariance;
    for (int n = 0; n < kBatch; ++n)
      for (int i = 0; i < kPlace; ++i) {
        size_t at = (n * kChannels + c) * kPlace + i;
        double y = (x[at] - centre) / std::sqrt(spread + kEps) * scale[c] + shift[c];
        loss += (y - t[at]) * (y - t[at]) / (kBatch * kChannels * kPlace);
      }
  }
  return loss;
}

TEST_P(TrainingMode, BatchNormUsesTheBatchAndFollowsIt) {
  // `offset` stands before the norm: its gradient goes through the batch's mean and variance.
  CompiledModel model(
      "model Norm(x: f64[4, 3, 2, 3]) {\n  param offset: f64[4, 3, 2, 3] = init.zeros()\n"
      "  y = batch_norm(x + offset, eps = 0.001, momentum = 0.3) as norm\n  return y\n}\n"
      "train {\n  target t: f64[4, 3, 2, 3]\n  loss = mse(y, t)\n  optimizer = sgd(lr = 1.0)\n"
      "  freeze = [\"norm.weight\", \"norm.bias\"]\n}\n",
      GetParam());
  Instance trainer = model.trainer();
  std::mt19937_64 random(2);
  std::uniform_real_distribution<double> number(-2, 2);
  auto draw = [&](int count) {
    Numbers values(count);
    for (double &value : values)
      value = number(random);
    return values;
  };
  const std::vector<int64_t> shape = {kBatch, kChannels, 2, 3};
  Numbers scale = draw(kChannels), shift = draw(kChannels), mean = {0.5, -1, 2},
          variance = {1, 0.5, 3};
  setValues(trainer, "norm.weight", {kChannels}, scale);
  setValues(trainer, "norm.bias", {kChannels}, shift);
  setValues(trainer, "norm.running_mean", {kChannels}, mean);
  setValues(trainer, "norm.running_var", {kChannels}, variance);

  Numbers offset(kBatch * kChannels * kPlace, 0.0);
  for (int step = 0; step < 3; ++step) {
    Numbers x = draw(kBatch * kChannels * kPlace), t = draw(kBatch * kChannels * kPlace),
            normed(x.size());
    for (size_t i = 0; i < x.size(); ++i)
      normed[i] = x[i] + offset[i];
    auto inputs = [&] {
      std::vector<Tensor> tensors;
      tensors.push_back(Tensor::borrow(x.data(), shape));
      tensors.push_back(Tensor::borrow(t.data(), shape));
      return tensors;
    };
    EXPECT_NEAR(trainer.evaluate(inputs())[0], lossOf(normed, t, scale, shift, &mean, &variance),
                1e-10);
    EXPECT_NEAR(trainer.trainStep(inputs())[0], lossOf(normed, t, scale, shift, nullptr, nullptr),
                1e-10);

    for (int c = 0; c < kChannels; ++c) {
      auto [batchMean, batchVariance] = statisticsOf(normed, c);
      constexpr double kCount = kBatch * kPlace;
      mean[c] = (1 - kMomentum) * mean[c] + kMomentum * batchMean;
      variance[c] =
          (1 - kMomentum) * variance[c] + kMomentum * batchVariance * kCount / (kCount - 1);
    }
    Numbers foundMean = valuesOf<double>(trainer, "norm.running_mean", {kChannels});
    Numbers foundVariance = valuesOf<double>(trainer, "norm.running_var", {kChannels});
    for (int c = 0; c < kChannels; ++c) {
      EXPECT_NEAR(foundMean[c], mean[c], 1e-12) << "channel " << c;
      EXPECT_NEAR(foundVariance[c], variance[c], 1e-12) << "channel " << c;
    }

    Numbers moved = valuesOf<double>(trainer, "offset", shape);
    for (size_t i = 0; i < moved.size(); ++i) {
      constexpr double kStep = 1e-5;
      Numbers near = normed;
      near[i] += kStep;
      double above = lossOf(near, t, scale, shift, nullptr, nullptr);
      near[i] -= 2 * kStep;
      double gradient = (above - lossOf(near, t, scale, shift, nullptr, nullptr)) / (2 * kStep);
      EXPECT_NEAR(offset[i] - moved[i], gradient, 1e-8) << "element " << i;
    }
    offset = moved;
  }

  // Inference has the running statistics of the moment as well.
  Numbers x = draw(kBatch * kChannels * kPlace);
  std::vector<Tensor> results = trainer.run({Tensor::borrow(x.data(), shape)});
  auto y = results[0].values<double>();
  for (size_t at = 0; at < x.size(); ++at) {
    size_t c = at / kPlace % kChannels;
    EXPECT_NEAR(
        y[at], (x[at] + offset[at] - mean[c]) / std::sqrt(variance[c] + kEps) * scale[c] + shift[c],
        1e-10);
  }
}

/// A batch of one number has no variance; it is 0, not 0 / 0.
TEST_P(TrainingMode, BatchNormOfOneNumberStaysFinite) {
  CompiledModel model(
      "model Norm(x: f32[N, 2, 1, 1]) {\n  y = batch_norm(x) as norm\n  return y\n}\n"
      "train {\n  target t: f32[N, 2, 1, 1]\n  loss = mse(y, t)\n  optimizer = sgd(lr = 0.1)\n}\n",
      GetParam());
  Instance trainer = model.trainer();
  std::vector<float> x = {3, -2}, t = {1, 1};
  double loss = trainer.trainStep(
      {Tensor::borrow(x.data(), {1, 2, 1, 1}), Tensor::borrow(t.data(), {1, 2, 1, 1})})[0];
  EXPECT_FLOAT_EQ(loss, 1.0);
  EXPECT_EQ(valuesOf(trainer, "norm.running_var", {2}), (std::vector<float>{0.9f, 0.9f}));
}

//===--------------------------------------------------------------------===//
// Dropout
//===--------------------------------------------------------------------===//

constexpr int kElements = 4096;

/// With t = -count everywhere the gradient of w is minus the mask; from 0 a step at rate 1 makes w
/// the mask.
std::string droppedModel(const std::string &p) {
  return "model Drop(x: f32[64, 64]) {\n  param w: f32[64, 64] = init.zeros()\n  param v: f32[64, "
         "64] = init.zeros()\n"
         "  a = dropout(x + w, " +
         p + ")\n  b = dropout(x + v, " + p +
         ")\n  return a, b\n}\ntrain {\n  target t: f32[64, 64]\n  loss = mean(a * t) + mean(b * "
         "t)\n  optimizer = sgd(lr = 1.0)\n"
         "  seed = 3\n}\n";
}

/// The factors that the two dropouts gave to each element, step by step.
class Masks {
public:
  explicit Masks(const CompiledModel &model, int threads = 1)
      : trainer(model.trainer({}, threads)) {}

  std::pair<std::vector<float>, std::vector<float>> next() {
    std::vector<float> x(kElements, 1.0f), t(kElements, -static_cast<float>(kElements)),
        zeros(kElements, 0.0f);
    setValues(trainer, "w", {64, 64}, zeros);
    setValues(trainer, "v", {64, 64}, zeros);
    double loss = trainer.trainStep(
        {Tensor::borrow(x.data(), {64, 64}), Tensor::borrow(t.data(), {64, 64})})[0];
    auto w = valuesOf(trainer, "w", {64, 64}), v = valuesOf(trainer, "v", {64, 64});
    // The loss saw the same factors: x is 1.
    double sum = 0;
    for (int i = 0; i < kElements; ++i)
      sum += w[i] + v[i];
    EXPECT_NEAR(loss, -sum, 1e-3 * sum);
    return {w, v};
  }

  Instance trainer;
};

TEST_P(TrainingMode, DropoutDropsItsShareAndScalesTheRest) {
  CompiledModel model(droppedModel("0.3"), GetParam());
  Masks masks(model);
  std::set<std::vector<float>> seen;
  for (int step = 0; step < 5; ++step) {
    auto [a, b] = masks.next();
    for (const std::vector<float> &mask : {a, b}) {
      int dropped = 0;
      for (float factor : mask)
        if (factor == 0)
          ++dropped;
        else
          ASSERT_NEAR(factor, 1 / 0.7, 1e-5);
      // Five standard deviations of a binomial.
      EXPECT_NEAR(dropped, 0.3 * kElements, 5 * std::sqrt(0.3 * 0.7 * kElements))
          << "step " << step;
      EXPECT_TRUE(seen.insert(mask).second) << "the mask of step " << step << " was there before";
    }
  }
}

TEST_P(TrainingMode, TheSeedDecidesWhatIsDropped) {
  CompiledModel model(droppedModel("0.5"), GetParam());
  Masks one(model), same(model, 2), other(model);
  setValues(other.trainer, "train.seed", {}, std::vector<int64_t>{4});
  auto first = one.next();
  EXPECT_EQ(first, same.next());
  EXPECT_NE(first, other.next());
  // The step before decides nothing but the count of steps.
  setValues(other.trainer, "train.seed", {}, std::vector<int64_t>{3});
  EXPECT_EQ(one.next(), other.next());
}

TEST_P(TrainingMode, DropoutIsOffOutsideTraining) {
  CompiledModel model(droppedModel("0.5"), GetParam());
  Instance trainer = model.trainer();
  std::vector<float> x(kElements), t(kElements, 1.0f);
  double sum = 0;
  for (int i = 0; i < kElements; ++i)
    sum += x[i] = static_cast<float>(i % 97) / 97;
  EXPECT_NEAR(
      trainer.evaluate({Tensor::borrow(x.data(), {64, 64}), Tensor::borrow(t.data(), {64, 64})})[0],
      2 * sum / kElements, 1e-5);
  std::vector<Tensor> results = trainer.run({Tensor::borrow(x.data(), {64, 64})});
  for (const Tensor &result : results) {
    auto values = result.values<float>();
    EXPECT_EQ(std::vector<float>(values.begin(), values.end()), x);
  }
}

INSTANTIATE_TEST_SUITE_P(OnTheCpu, TrainingMode, testing::Values(On::Cpu));
INSTANTIATE_TEST_SUITE_P(OnTheDevice, TrainingMode, testing::Values(On::Cuda));

} // namespace
