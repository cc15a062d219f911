// Optimizers, schedules, clipping, groups and frozen parameters: a small net trained by the
// compiled step and by plain loops in double precision, which follow the formulas in PyTorch's
// documentation of torch.optim and torch.nn.utils.

#include "test/unit/training/CompiledModel.h"

#include <cmath>
#include <functional>
#include <gtest/gtest.h>
#include <map>
#include <numbers>
#include <random>

using namespace nncc;
using namespace nncc::test;

namespace {

using Numbers = std::vector<double>;
constexpr int kInputs = 4, kHidden = 8, kOutputs = 3, kBatch = 5, kSteps = 9, kStepsPerEpoch = 2,
              kEpochs = 4;
constexpr double kTolerance = 1e-9;

struct Parameter {
  std::vector<int64_t> shape;
  Numbers value, gradient;
  Numbers sum;           ///< of the gradients of batches that make one update
  Numbers first, second; ///< what the optimizer keeps
};
using Parameters = std::map<std::string, Parameter>;

/// y = tanh(x w1' + b1) w2' + b2 and the mean of (y - t)^2: the loss, and the gradients of the
/// parameters.
double lossAndGradients(Parameters &net, const Numbers &x, const Numbers &t) {
  for (auto &[name, parameter] : net)
    parameter.gradient.assign(parameter.value.size(), 0.0);
  Parameter &w1 = net["fc1.weight"], &b1 = net["fc1.bias"], &w2 = net["fc2.weight"],
            &b2 = net["fc2.bias"];
  double loss = 0;
  for (int n = 0; n < kBatch; ++n) {
    Numbers h(kHidden), dh(kHidden, 0.0);
    for (int j = 0; j < kHidden; ++j) {
      double sum = b1.value[j];
      for (int i = 0; i < kInputs; ++i)
        sum += x[n * kInputs + i] * w1.value[j * kInputs + i];
      h[j] = std::tanh(sum);
    }
    for (int k = 0; k < kOutputs; ++k) {
      double y = b2.value[k];
      for (int j = 0; j < kHidden; ++j)
        y += h[j] * w2.value[k * kHidden + j];
      double difference = y - t[n * kOutputs + k], dy = 2 * difference / (kBatch * kOutputs);
      loss += difference * difference / (kBatch * kOutputs);
      b2.gradient[k] += dy;
      for (int j = 0; j < kHidden; ++j) {
        w2.gradient[k * kHidden + j] += dy * h[j];
        dh[j] += dy * w2.value[k * kHidden + j];
      }
    }
    for (int j = 0; j < kHidden; ++j) {
      double given = dh[j] * (1 - h[j] * h[j]);
      b1.gradient[j] += given;
      for (int i = 0; i < kInputs; ++i)
        w1.gradient[j * kInputs + i] += given * x[n * kInputs + i];
    }
  }
  return loss;
}

//===--------------------------------------------------------------------===//
// The rules
//===--------------------------------------------------------------------===//

/// Changes one parameter; `step` counts from 0.
using Update = std::function<void(Parameter &, double rate, double decay, int step)>;

Update sgd(double momentum, bool nesterov) {
  return [=](Parameter &p, double rate, double decay, int step) {
    for (size_t i = 0; i < p.value.size(); ++i) {
      double g = p.gradient[i] + decay * p.value[i];
      if (momentum != 0) {
        p.first[i] = step == 0 ? g : momentum * p.first[i] + g;
        g = nesterov ? g + momentum * p.first[i] : p.first[i];
      }
      p.value[i] -= rate * g;
    }
  };
}

Update adam(double beta1, double beta2, double eps, bool decoupled) {
  return [=](Parameter &p, double rate, double decay, int step) {
    for (size_t i = 0; i < p.value.size(); ++i) {
      double g = p.gradient[i];
      if (decoupled)
        p.value[i] -= rate * decay * p.value[i];
      else
        g += decay * p.value[i];
      p.first[i] = beta1 * p.first[i] + (1 - beta1) * g;
      p.second[i] = beta2 * p.second[i] + (1 - beta2) * g * g;
      double mean = p.first[i] / (1 - std::pow(beta1, step + 1)),
             square = p.second[i] / (1 - std::pow(beta2, step + 1));
      p.value[i] -= rate * mean / (std::sqrt(square) + eps);
    }
  };
}

Update rmsprop(double alpha, double eps, double momentum) {
  return [=](Parameter &p, double rate, double decay, int) {
    for (size_t i = 0; i < p.value.size(); ++i) {
      double g = p.gradient[i] + decay * p.value[i];
      p.second[i] = alpha * p.second[i] + (1 - alpha) * g * g;
      double change = g / (std::sqrt(p.second[i]) + eps);
      if (momentum != 0)
        change = p.first[i] = momentum * p.first[i] + change;
      p.value[i] -= rate * change;
    }
  };
}

void clipByNorm(Parameters &net, double most,
                const std::function<bool(const std::string &)> &isFrozen) {
  double square = 0;
  for (auto &[name, p] : net)
    if (!isFrozen(name))
      for (double g : p.gradient)
        square += g * g;
  double factor = std::min(1.0, most / (std::sqrt(square) + 1e-6));
  for (auto &[name, p] : net)
    for (double &g : p.gradient)
      g *= factor;
}

void clipByValue(Parameters &net, double most) {
  for (auto &[name, p] : net)
    for (double &g : p.gradient)
      g = std::min(std::max(g, -most), most);
}

//===--------------------------------------------------------------------===//
// Cases
//===--------------------------------------------------------------------===//

struct Case {
  std::string name;
  std::string settings; ///< lines of the train section
  Update update;
  double rate = 0.1, decay = 0;
  std::function<double(int step)> factor = {}; ///< of the rate; none: 1
  std::function<void(Parameters &)> clip = {};
  std::function<bool(const std::string &)> isExempt = {}; ///< from the decay
  std::function<bool(const std::string &)> isFrozen = {};
  int batches = 1; ///< that make an update
};
void PrintTo(const Case &test, std::ostream *to) { *to << test.name; }

bool isBias(const std::string &name) { return name.ends_with(".bias"); }
bool isFirstLayer(const std::string &name) { return name.starts_with("fc1."); }
bool isNone(const std::string &) { return false; }

/// The epoch that a step belongs to, in parts and as a whole.
double epochAt(int step) { return static_cast<double>(step) / kStepsPerEpoch; }
int wholeEpochAt(int step) { return step / kStepsPerEpoch; }
double cosine(double share) { return (1 + std::cos(std::numbers::pi * std::min(share, 1.0))) / 2; }

std::vector<Case> cases() {
  const std::string plain = "optimizer = sgd(lr = 0.1)\n";
  return {
      {"sgd", plain, sgd(0, false)},
      {"sgd_decay", "optimizer = sgd(lr = 0.1, weight_decay = 0.3)", sgd(0, false), 0.1, 0.3},
      {"momentum", "optimizer = sgd(lr = 0.1, momentum = 0.9)", sgd(0.9, false)},
      {"nesterov", "optimizer = sgd(lr = 0.1, momentum = 0.8, nesterov = true, weight_decay = 0.2)",
       sgd(0.8, true), 0.1, 0.2},
      {"adam", "optimizer = adam(lr = 0.01)", adam(0.9, 0.999, 1e-8, false), 0.01},
      {"adam_decay",
       "optimizer = adam(lr = 0.02, betas = [0.8, 0.95], eps = 1e-3, weight_decay = 0.1)",
       adam(0.8, 0.95, 1e-3, false), 0.02, 0.1},
      {"adamw", "optimizer = adamw(lr = 0.02, betas = [0.85, 0.98], weight_decay = 0.5)",
       adam(0.85, 0.98, 1e-8, true), 0.02, 0.5},
      {"adamw_default_decay", "optimizer = adamw(lr = 0.1)", adam(0.9, 0.999, 1e-8, true), 0.1,
       0.01},
      {"rmsprop", "optimizer = rmsprop(lr = 0.01)", rmsprop(0.99, 1e-8, 0), 0.01},
      {"rmsprop_momentum",
       "optimizer = rmsprop(lr = 0.01, alpha = 0.9, eps = 1e-4, momentum = 0.7, weight_decay = "
       "0.2)",
       rmsprop(0.9, 1e-4, 0.7), 0.01, 0.2},

      {"no_decay",
       "optimizer = sgd(lr = 0.1, momentum = 0.9, weight_decay = 0.4, no_decay = [\"*.bias\"])",
       sgd(0.9, false),
       0.1,
       0.4,
       {},
       {},
       isBias},
      {"no_decay_adamw",
       "optimizer = adamw(lr = 0.05, weight_decay = 0.4, no_decay = [\"*.bias\"])",
       adam(0.9, 0.999, 1e-8, true),
       0.05,
       0.4,
       {},
       {},
       isBias},
      {"freeze",
       "optimizer = adam(lr = 0.01)\nfreeze = [\"fc1.*\"]",
       adam(0.9, 0.999, 1e-8, false),
       0.01,
       0,
       {},
       {},
       {},
       isFirstLayer},

      {"clip_norm",
       plain + "clip = global_norm(0.05)",
       sgd(0, false),
       0.1,
       0,
       {},
       [](Parameters &net) { clipByNorm(net, 0.05, isNone); }},
      {"clip_norm_unreached",
       plain + "clip = global_norm(1000.0)",
       sgd(0, false),
       0.1,
       0,
       {},
       [](Parameters &net) { clipByNorm(net, 1000, isNone); }},
      // Groups have one norm, to which what is frozen adds nothing; the decay comes after the
      // clipping.
      {"clip_norm_groups",
       "optimizer = sgd(lr = 0.1, weight_decay = 0.4, no_decay = [\"*.bias\"])\nclip = "
       "global_norm(0.05)\nfreeze = [\"fc1.*\"]",
       sgd(0, false),
       0.1,
       0.4,
       {},
       [](Parameters &net) { clipByNorm(net, 0.05, isFirstLayer); },
       isBias,
       isFirstLayer},
      {"clip_value",
       plain + "clip = value(0.02)",
       sgd(0, false),
       0.1,
       0,
       {},
       [](Parameters &net) { clipByValue(net, 0.02); }},

      // The mean of three batches is clipped and followed; the rate is that of the last of them.
      {"accumulate",
       "optimizer = sgd(lr = 0.1, momentum = 0.9, weight_decay = 0.2)\nclip = global_norm(0.1)\n"
       "schedule = cosine()\naccumulate = 3",
       sgd(0.9, false),
       0.1,
       0.2,
       [](int step) { return cosine(epochAt(step) / kEpochs); },
       [](Parameters &net) { clipByNorm(net, 0.1, isNone); },
       {},
       {},
       3},
      {"accumulate_adam",
       "optimizer = adam(lr = 0.05)\naccumulate = 2",
       adam(0.9, 0.999, 1e-8, false),
       0.05,
       0,
       {},
       {},
       {},
       {},
       2},

      {"constant_warmup", plain + "schedule = constant(warmup_epochs = 2)", sgd(0, false), 0.1, 0,
       [](int step) { return std::min(1.0, (step + 1.0) / (2 * kStepsPerEpoch)); }},
      {"cosine", plain + "schedule = cosine()", sgd(0, false), 0.1, 0,
       [](int step) { return cosine(epochAt(step) / kEpochs); }},
      {"cosine_warmup_floor", plain + "schedule = cosine(warmup_epochs = 1, floor = 0.1)",
       sgd(0, false), 0.1, 0,
       [](int step) {
         double share = std::max(0.0, (epochAt(step) - 1) / (kEpochs - 1));
         return std::min(1.0, (step + 1.0) / kStepsPerEpoch) * (0.1 + 0.9 * cosine(share));
       }},
      {"linear", "optimizer = adam(lr = 0.01)\nschedule = linear(floor = 0.25)",
       adam(0.9, 0.999, 1e-8, false), 0.01, 0,
       [](int step) { return std::max(0.25, 1 - 0.75 * epochAt(step) / kEpochs); }},
      {"step", plain + "schedule = step(every_epochs = 2, gamma = 0.5)", sgd(0, false), 0.1, 0,
       [](int step) { return std::pow(0.5, wholeEpochAt(step) / 2); }},
      {"multistep", plain + "schedule = multistep(epochs = [1, 3], gamma = 0.2)", sgd(0, false),
       0.1, 0,
       [](int step) {
         return std::pow(0.2, (wholeEpochAt(step) >= 1) + (wholeEpochAt(step) >= 3));
       }},
      {"exponential", plain + "schedule = exponential(gamma = 0.7)", sgd(0, false), 0.1, 0,
       [](int step) { return std::pow(0.7, wholeEpochAt(step)); }},
  };
}

class Optimizers : public testing::TestWithParam<Case> {
protected:
  void train(On on) {
    const Case &test = GetParam();
    CompiledModel model("model Net(x: f64[N, 4]) {\n  h = tanh(linear(x, 8) as fc1)\n  y = "
                        "linear(h, 3) as fc2\n  return y\n}\n"
                        "train {\n  target t: f64[N, 3]\n  loss = mse(y, t)\n  epochs = " +
                            std::to_string(kEpochs) + "\n" + test.settings + "\n}\n",
                        on);
    Instance trainer = model.trainer();
    std::mt19937_64 random(11);
    std::uniform_real_distribution<double> number(-1, 1);
    auto draw = [&](size_t count) {
      Numbers values(count);
      for (double &value : values)
        value = number(random);
      return values;
    };
    Parameters net;
    for (auto [name, shape] :
         std::map<std::string, std::vector<int64_t>>{{"fc1.weight", {kHidden, kInputs}},
                                                     {"fc1.bias", {kHidden}},
                                                     {"fc2.weight", {kOutputs, kHidden}},
                                                     {"fc2.bias", {kOutputs}}}) {
      size_t count = shape.size() == 2 ? shape[0] * shape[1] : shape[0];
      net[name] = {
          shape, draw(count), {}, Numbers(count, 0.0), Numbers(count, 0.0), Numbers(count, 0.0)};
      setValues(trainer, name, shape, net[name].value);
    }
    if (test.factor)
      setValues(trainer, "train.steps_per_epoch", {}, Numbers{kStepsPerEpoch});

    for (int step = 0; step < kSteps; ++step) {
      Numbers x = draw(kBatch * kInputs), t = draw(kBatch * kOutputs);
      double loss = trainer.trainStep({Tensor::borrow(x.data(), {kBatch, kInputs}),
                                       Tensor::borrow(t.data(), {kBatch, kOutputs})})[0];
      double expectedLoss = lossAndGradients(net, x, t);
      EXPECT_NEAR(loss, expectedLoss, kTolerance * expectedLoss) << "step " << step;
      bool updates = (step + 1) % test.batches == 0;
      for (auto &[name, parameter] : net)
        for (size_t i = 0; i < parameter.sum.size(); ++i) {
          double sum = parameter.sum[i] + parameter.gradient[i];
          parameter.sum[i] = updates ? 0 : sum;
          parameter.gradient[i] = sum / test.batches;
        }
      if (test.clip)
        test.clip(net);
      for (auto &[name, parameter] : net) {
        Numbers found = valuesOf<double>(trainer, name, parameter.shape);
        if (test.isFrozen && test.isFrozen(name)) {
          EXPECT_EQ(found, parameter.value) << name;
          continue;
        }
        double decay = test.isExempt && test.isExempt(name) ? 0 : test.decay;
        if (updates)
          test.update(parameter, test.rate * (test.factor ? test.factor(step) : 1), decay,
                      step / test.batches);
        for (size_t i = 0; i < found.size(); ++i)
          ASSERT_NEAR(found[i], parameter.value[i], kTolerance * (1 + std::abs(found[i])))
              << name << " element " << i << " after step " << step;
      }
    }
  }
};

TEST_P(Optimizers, FollowPyTorchsFormulas) { train(On::Cpu); }

std::string nameOf(const testing::TestParamInfo<Case> &info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(OnTheCpu, Optimizers, testing::ValuesIn(cases()), nameOf);

class OptimizersOnTheDevice : public Optimizers {};

TEST_P(OptimizersOnTheDevice, FollowPyTorchsFormulas) {
  if (std::string missing = prepareStandInDevice(); !missing.empty())
    GTEST_SKIP() << missing;
  train(On::Cuda);
}

std::vector<Case> casesOfTheDevice() {
  std::vector<Case> chosen;
  for (Case &test : cases())
    if (test.name == "nesterov" || test.name == "adamw" || test.name == "rmsprop_momentum" ||
        test.name == "clip_norm_groups" || test.name == "accumulate" ||
        test.name == "cosine_warmup_floor")
      chosen.push_back(std::move(test));
  return chosen;
}

INSTANTIATE_TEST_SUITE_P(OnTheDevice, OptimizersOnTheDevice, testing::ValuesIn(casesOfTheDevice()),
                         nameOf);

} // namespace
