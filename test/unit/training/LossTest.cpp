// Losses and metrics against formulas in plain loops, and the losses' gradients against central
// differences of those loops. The logits are a parameter, and one step of plain gradient descent at
// rate 1 subtracts the gradient from it.

#include "test/unit/training/CompiledModel.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <gtest/gtest.h>
#include <random>

using namespace nncc;
using namespace nncc::test;

namespace {

using Numbers = std::vector<double>;
using Labels = std::vector<int64_t>;
constexpr int kRows = 6, kClasses = 5;

double logSumExp(const double *row, int stride = 1) {
  double top = -INFINITY, sum = 0;
  for (int c = 0; c < kClasses; ++c)
    top = std::max(top, row[c * stride]);
  for (int c = 0; c < kClasses; ++c)
    sum += std::exp(row[c * stride] - top);
  return top + std::log(sum);
}

/// As torch.nn.functional.cross_entropy: the smoothed target gives every class smoothing / classes.
double crossEntropy(const Numbers &x, const Labels &labels, double smoothing = 0,
                    int64_t ignored = -1) {
  double sum = 0;
  int counted = 0;
  for (int n = 0; n < kRows; ++n) {
    if (labels[n] == ignored)
      continue;
    ++counted;
    double normaliser = logSumExp(&x[n * kClasses]);
    for (int c = 0; c < kClasses; ++c) {
      double target = (c == labels[n] ? 1 - smoothing : 0) + smoothing / kClasses;
      sum -= target * (x[n * kClasses + c] - normaliser);
    }
  }
  return sum / counted;
}

double crossEntropyOfProbabilities(const Numbers &x, const Numbers &target, double smoothing) {
  double sum = 0;
  for (int n = 0; n < kRows; ++n) {
    double normaliser = logSumExp(&x[n * kClasses]);
    for (int c = 0; c < kClasses; ++c)
      sum -= (target[n * kClasses + c] * (1 - smoothing) + smoothing / kClasses) *
             (x[n * kClasses + c] - normaliser);
  }
  return sum / kRows;
}

double meanOf(const Numbers &x, const Numbers &target, double (*term)(double, double)) {
  double sum = 0;
  for (size_t i = 0; i < x.size(); ++i)
    sum += term(x[i], target[i]);
  return sum / static_cast<double>(x.size());
}

double binaryTerm(double x, double target) {
  double probability = 1 / (1 + std::exp(-x));
  return -(target * std::log(probability) + (1 - target) * std::log(1 - probability));
}
double squareTerm(double x, double target) { return (x - target) * (x - target); }
double absoluteTerm(double x, double target) { return std::abs(x - target); }
double huberTerm(double x, double target) {
  constexpr double kDelta = 0.7;
  double size = std::abs(x - target);
  return size <= kDelta ? 0.5 * size * size : kDelta * (size - 0.5 * kDelta);
}

/// The share of rows with fewer than k logits above the label's.
double accuracy(const Numbers &x, const Labels &labels, int k) {
  int right = 0;
  for (int n = 0; n < kRows; ++n) {
    int above = 0;
    for (int c = 0; c < kClasses; ++c)
      above += x[n * kClasses + c] > x[n * kClasses + labels[n]];
    right += above < k;
  }
  return static_cast<double>(right) / kRows;
}

/// The data of a case: what stands for the logits, and one kind of target.
struct Sample {
  Numbers x, numbers; ///< `numbers`: a target for each element
  Labels labels;
};

struct Case {
  std::string name;
  std::string loss, target; ///< in terms of `y`, `label` or `t`
  std::function<double(const Numbers &, const Sample &)> formula;
  std::string shape = "6, 5", targetShape = "6"; ///< of y; of labels
};
void PrintTo(const Case &test, std::ostream *to) { *to << test.name; }

bool takesLabels(const Case &test) { return test.target == "label"; }

std::vector<Case> cases() {
  auto pairwise = [](double (*term)(double, double)) {
    return
        [term](const Numbers &x, const Sample &sample) { return meanOf(x, sample.numbers, term); };
  };
  auto entropy = [](double smoothing, int64_t ignored) {
    return [=](const Numbers &x, const Sample &sample) {
      return crossEntropy(x, sample.labels, smoothing, ignored);
    };
  };
  return {
      {"cross_entropy", "cross_entropy(y, label)", "label", entropy(0, -1)},
      {"cross_entropy_smoothing", "cross_entropy(y, label, label_smoothing = 0.2)", "label",
       entropy(0.2, -1)},
      {"cross_entropy_ignore", "cross_entropy(y, label, ignore = 3)", "label", entropy(0, 3)},
      {"cross_entropy_ignore_smoothing",
       "cross_entropy(y, label, label_smoothing = 0.1, ignore = 3)", "label", entropy(0.1, 3)},
      {"cross_entropy_probabilities", "cross_entropy(y, softmax(t, axis = 1))", "t",
       [](const Numbers &x, const Sample &sample) {
         Numbers target(sample.numbers.size());
         for (int n = 0; n < kRows; ++n)
           for (int c = 0; c < kClasses; ++c)
             target[n * kClasses + c] = std::exp(sample.numbers[n * kClasses + c] -
                                                 logSumExp(&sample.numbers[n * kClasses]));
         return crossEntropyOfProbabilities(x, target, 0);
       }},
      {"cross_entropy_probabilities_smoothing", "cross_entropy(y, t, label_smoothing = 0.3)", "t",
       [](const Numbers &x, const Sample &sample) {
         return crossEntropyOfProbabilities(x, sample.numbers, 0.3);
       }},
      // Classes in the second of three dims: the labels are those of 2 * 3 places.
      {"cross_entropy_places", "cross_entropy(y, label)", "label",
       [](const Numbers &x, const Sample &sample) {
         double sum = 0;
         for (int n = 0; n < 2; ++n)
           for (int place = 0; place < 3; ++place) {
             const double *row = &x[n * kClasses * 3 + place];
             sum -= row[sample.labels[n * 3 + place] * 3] - logSumExp(row, 3);
           }
         return sum / kRows;
       },
       "2, 5, 3", "2, 3"},
      {"nll", "nll(y, label)", "label",
       [](const Numbers &x, const Sample &sample) {
         double sum = 0;
         for (int n = 0; n < kRows; ++n)
           sum -= x[n * kClasses + sample.labels[n]];
         return sum / kRows;
       }},
      {"nll_of_log_softmax", "nll(log_softmax(y, axis = 1), label)", "label", entropy(0, -1)},
      {"binary_cross_entropy", "binary_cross_entropy(y, t)", "t", pairwise(binaryTerm)},
      {"mse", "mse(y, t)", "t", pairwise(squareTerm)},
      {"l1", "l1(y, t)", "t", pairwise(absoluteTerm)},
      {"huber", "huber(y, t, delta = 0.7)", "t", pairwise(huberTerm)},
      {"sum_of_losses", "0.5 * mse(y, t) + 2.0 * l1(y, t)", "t",
       [](const Numbers &x, const Sample &sample) {
         return 0.5 * meanOf(x, sample.numbers, squareTerm) +
                2 * meanOf(x, sample.numbers, absoluteTerm);
       }},
  };
}

class Losses : public testing::TestWithParam<Case> {
protected:
  void check(On on) {
    const Case &test = GetParam();
    bool hasLabels = takesLabels(test);
    CompiledModel model(
        "model Logits(x: f64[" + test.shape + "]) {\n  param w: f64[" + test.shape +
            "] = init.zeros()\n  y = x + w\n  return y\n}\ntrain {\n  target " +
            (hasLabels ? "label: i64[" + test.targetShape : "t: f64[" + test.shape) +
            "]\n  loss = " + test.loss + "\n  optimizer = sgd(lr = 1.0)\n}\n",
        on);
    std::vector<int64_t> shape = {kRows, kClasses}, labelShape = {kRows};
    if (test.shape == "2, 5, 3")
      shape = {2, kClasses, 3}, labelShape = {2, 3};
    std::mt19937_64 random(5);
    std::uniform_real_distribution<double> number(-3, 3), share(0, 1);
    Sample sample;
    for (int i = 0; i < kRows * kClasses; ++i) {
      sample.x.push_back(number(random));
      sample.numbers.push_back(share(random));
    }
    sample.labels = {1, 3, 0, 4, 3, 2};

    Instance trainer = model.trainer();
    auto inputs = [&] {
      std::vector<Tensor> tensors;
      tensors.push_back(Tensor::borrow(sample.x.data(), shape));
      tensors.push_back(hasLabels ? Tensor::borrow(sample.labels.data(), labelShape)
                                  : Tensor::borrow(sample.numbers.data(), shape));
      return tensors;
    };
    double expected = test.formula(sample.x, sample), tolerance = 1e-10 * (1 + std::abs(expected));
    EXPECT_NEAR(trainer.evaluate(inputs())[0], expected, tolerance);
    EXPECT_NEAR(trainer.trainStep(inputs())[0], expected, tolerance);
    Numbers change = valuesOf<double>(trainer, "w", shape);
    for (size_t i = 0; i < change.size(); ++i) {
      constexpr double kStep = 1e-5;
      Numbers moved = sample.x;
      moved[i] += kStep;
      double above = test.formula(moved, sample);
      moved[i] -= 2 * kStep;
      double gradient = (above - test.formula(moved, sample)) / (2 * kStep);
      EXPECT_NEAR(-change[i], gradient, 1e-8) << "element " << i;
    }
  }
};

TEST_P(Losses, FollowFormulas) { check(On::Cpu); }

class LossesOnTheDevice : public Losses {};

TEST_P(LossesOnTheDevice, FollowFormulas) {
  if (std::string missing = prepareStandInDevice(); !missing.empty())
    GTEST_SKIP() << missing;
  check(On::Cuda);
}

std::string nameOf(const testing::TestParamInfo<Case> &info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(OnTheCpu, Losses, testing::ValuesIn(cases()), nameOf);
INSTANTIATE_TEST_SUITE_P(OnTheDevice, LossesOnTheDevice, testing::ValuesIn(cases()), nameOf);

/// Logits far from zero, where exp overflows f32: the loss and its gradient stay finite and right.
TEST(LossRange, LargeLogitsOverflowNothing) {
  CompiledModel model("model Logits(x: f32[3, 2]) {\n  param w: f32[3, 2] = init.zeros()\n  y = x "
                      "+ w\n  return y\n}\n"
                      "train {\n  target label: i64[3]\n  target t: f32[3, 2]\n"
                      "  loss = cross_entropy(y, label)\n  optimizer = sgd(lr = 1.0)\n"
                      "  metric binary = binary_cross_entropy(y, t)\n}\n");
  Instance trainer = model.trainer();
  std::vector<float> x = {500, -500, -200, 300, 1000, 1000}, t = {1, 0, 0, 1, 0.5f, 0.5f};
  Labels label = {0, 0, 1};
  std::vector<double> numbers =
      trainer.trainStep({Tensor::borrow(x.data(), {3, 2}), Tensor::borrow(label.data(), {3}),
                         Tensor::borrow(t.data(), {3, 2})});
  EXPECT_NEAR(numbers[0], (0 + 500 + std::log(2.0)) / 3, 1e-4);
  EXPECT_NEAR(numbers[1], (0 + 0 + 0 + 0 + 500 + 500) / 6.0, 1e-4);
  std::vector<float> change = valuesOf(trainer, "w", {3, 2}), expected = {0, 0, 1, -1, -0.5f, 0.5f};
  for (size_t i = 0; i < expected.size(); ++i)
    EXPECT_NEAR(change[i], expected[i] / 3, 1e-6) << i;
}

class Metrics : public testing::TestWithParam<On> {};

TEST_P(Metrics, FollowFormulas) {
  if (GetParam() == On::Cuda)
    if (std::string missing = prepareStandInDevice(); !missing.empty())
      GTEST_SKIP() << missing;
  CompiledModel model(
      "model Logits(x: f32[N, 5]) {\n  return y = linear(x, 5) as fc\n}\n"
      "train {\n  target label: i64[N]\n  target t: f32[N, 5]\n  loss = cross_entropy(y, label)\n"
      "  optimizer = sgd(lr = 0.0)\n  metric first = accuracy(x, label)\n  metric second = "
      "accuracy(x, label, k = 2)\n"
      "  metric third = accuracy(x, label, k = 3)\n  metric square = mean_squared_error(x, t)\n"
      "  metric absolute = mean_absolute_error(x, t)\n}\n",
      GetParam());
  Instance trainer = model.trainer();
  std::mt19937_64 random(3);
  std::uniform_real_distribution<float> number(-2, 2);
  for (int round = 0; round < 4; ++round) {
    std::vector<float> x(kRows * kClasses), t(kRows * kClasses);
    std::generate(x.begin(), x.end(), [&] { return number(random); });
    std::generate(t.begin(), t.end(), [&] { return number(random); });
    Labels label;
    for (int n = 0; n < kRows; ++n)
      label.push_back(static_cast<int64_t>(random() % kClasses));
    std::vector<Tensor> inputs;
    inputs.push_back(Tensor::borrow(x.data(), {kRows, kClasses}));
    inputs.push_back(Tensor::borrow(label.data(), {kRows}));
    inputs.push_back(Tensor::borrow(t.data(), {kRows, kClasses}));
    Numbers wide(x.begin(), x.end()), target(t.begin(), t.end());
    for (const std::vector<double> &found : {trainer.trainStep(inputs), trainer.evaluate(inputs)}) {
      ASSERT_EQ(found.size(), 6u);
      for (int k = 1; k <= 3; ++k)
        EXPECT_NEAR(found[k], accuracy(wide, label, k), 1e-6) << "k = " << k;
      EXPECT_NEAR(found[4], meanOf(wide, target, squareTerm), 1e-5);
      EXPECT_NEAR(found[5], meanOf(wide, target, absoluteTerm), 1e-5);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(OnTheCpu, Metrics, testing::Values(On::Cpu));
INSTANTIATE_TEST_SUITE_P(OnTheDevice, Metrics, testing::Values(On::Cuda));

} // namespace
