// The state of a training: saved, loaded and gone on from, the same for any number of threads,
// untouched by an error; and inference with what was trained.

#include "test/unit/training/CompiledModel.h"
#include "test/unit/training/ImageBatch.h"

#include "test/unit/runtime/TemporaryFolder.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <gtest/gtest.h>

using namespace nncc;
using namespace nncc::test;

namespace {

constexpr int kBatch = 6, kClasses = 10;

/// All that a step can keep: moments, a step counter, running statistics, random numbers.
constexpr char kModel[] = R"(model Small(image: f32[N, 1, 8, 8]) {
  x = batch_norm(conv2d(image, 6, kernel = 3, padding = 1) as conv) as norm
  x = dropout(max_pool2d(relu(x), 2), 0.2)
  logits = linear(flatten(x), 10) as fc
  return logits
}
train {
  target label: i64[N]
  loss = cross_entropy(logits, label)
  optimizer = adamw(lr = 0.01, no_decay = ["*.bias"])
  schedule = cosine(warmup_epochs = 1)
  clip = global_norm(1.0)
  epochs = 4
  seed = 5
  metric accuracy = accuracy(logits, label)
}
)";

/// The batch of a step.
struct Batch : ImageBatch {
  explicit Batch(int step) : ImageBatch(step, {kBatch, 1, 8, 8}, kClasses) {}
};

std::vector<std::vector<double>> train(Instance &trainer, int from, int to) {
  std::vector<std::vector<double>> numbers;
  for (int step = from; step < to; ++step)
    numbers.push_back(trainer.trainStep(Batch(step).inputs()));
  return numbers;
}

class State : public testing::TestWithParam<On> {
protected:
  void SetUp() override {
    if (GetParam() == On::Cuda)
      if (std::string missing = prepareStandInDevice(); !missing.empty())
        GTEST_SKIP() << missing;
    model.emplace(kModel, GetParam());
  }

  std::string path(const std::string &name) const { return folder / name; }

  /// Parameters and states, byte by byte.
  std::string stateOf(Instance &trainer) const {
    trainer.saveState(path("state.safetensors"));
    return TemporaryFolder::read(path("state.safetensors"));
  }

  std::string errorOf(const std::function<void()> &action) {
    try {
      action();
    } catch (const Exception &error) {
      EXPECT_EQ(error.kind(), Exception::Kind::User);
      return error.what();
    }
    ADD_FAILURE() << "expected an error";
    return "";
  }

  TemporaryFolder folder;
  std::optional<CompiledModel> model;
};

TEST_P(State, GoesOnWhereItWasSaved) {
  Instance straight = model->trainer(), first = model->trainer(), second = model->trainer();
  for (Instance *trainer : {&straight, &first})
    setValues(*trainer, "train.steps_per_epoch", {}, std::vector<double>{2});
  auto expected = train(straight, 0, 7);
  auto found = train(first, 0, 3);
  first.saveState(path("half.safetensors"));
  train(second, 20, 22); // something to overwrite
  second.loadState(path("half.safetensors"));
  EXPECT_EQ(stateOf(second), stateOf(first));
  for (const std::vector<double> &numbers : train(second, 3, 7))
    found.push_back(numbers);
  EXPECT_EQ(found, expected);
  EXPECT_EQ(stateOf(second), stateOf(straight));
  EXPECT_NE(stateOf(second), stateOf(first));
}

TEST_P(State, IsTheSameFromRunToRunAndForAnyNumberOfThreads) {
  Instance one = model->trainer(), again = model->trainer(), two = model->trainer({}, 2);
  auto numbers = train(one, 0, 5);
  EXPECT_EQ(train(again, 0, 5), numbers);
  EXPECT_EQ(train(two, 0, 5), numbers);
  EXPECT_EQ(stateOf(again), stateOf(one));
  EXPECT_EQ(stateOf(two), stateOf(one));
}

TEST_P(State, ALabelOutOfRangeIsNamedAndChangesNothing) {
  Instance trainer = model->trainer();
  train(trainer, 0, 2);
  std::string before = stateOf(trainer);
  for (int64_t wrong : {int64_t(10), int64_t(-1)}) {
    Batch batch(2);
    batch.label[4] = wrong;
    for (bool evaluates : {false, true}) {
      std::string error = errorOf([&] {
        evaluates ? trainer.evaluate(batch.inputs()) : trainer.trainStep(batch.inputs());
      });
      EXPECT_NE(error.find("\"label\": the value of sample 4 is " + std::to_string(wrong) +
                           "; expected 0..9"),
                error.npos)
          << error;
    }
    EXPECT_EQ(stateOf(trainer), before);
  }
  train(trainer, 2, 3);
  EXPECT_NE(stateOf(trainer), before);
}

TEST_P(State, EvaluationChangesNothing) {
  Instance trainer = model->trainer();
  train(trainer, 0, 2);
  std::string before = stateOf(trainer);
  auto numbers = trainer.evaluate(Batch(9).inputs());
  EXPECT_EQ(trainer.evaluate(Batch(9).inputs()), numbers);
  EXPECT_EQ(stateOf(trainer), before);
}

TEST_P(State, AFileThatDoesNotFitChangesNothing) {
  CompiledModel other(
      "model Other(x: f32[N, 2]) {\n  return y = linear(x, 3) as fc\n}\n"
      "train {\n  target t: f32[N, 3]\n  loss = mse(y, t)\n  optimizer = sgd(lr = 0.1)\n}\n",
      GetParam());
  Instance small = other.trainer(), trainer = model->trainer();
  small.saveState(path("other.safetensors"));
  train(trainer, 0, 2);
  std::string before = stateOf(trainer);
  std::string error = errorOf([&] { trainer.loadState(path("other.safetensors")); });
  EXPECT_NE(error.find("missing: 'conv.weight' f32[6, 1, 3, 3]"), error.npos) << error;
  EXPECT_NE(error.find("does not fit: 'fc.weight' expected f32[10, 96], found f32[3, 2]"),
            error.npos)
      << error;
  errorOf([&] { trainer.loadState(path("no-such-file")); });
  std::string cut = folder.write("cut.safetensors", before.substr(0, before.size() / 2));
  errorOf([&] { trainer.loadState(cut); });
  EXPECT_EQ(stateOf(trainer), before);
}

/// The loss that evaluate gives is that of the logits that inference gives, on the instance that
/// trained and on one that was made to infer, with the trained weights from a file.
TEST_P(State, InferenceAgreesWithEvaluation) {
  Instance trainer = model->trainer();
  train(trainer, 0, 5);
  Batch batch(9);
  std::vector<double> numbers = trainer.evaluate(batch.inputs());
  std::vector<Tensor> results =
      trainer.run({Tensor::borrow(batch.image.data(), {kBatch, 1, 8, 8})});
  auto logits = results[0].values<float>();
  double loss = 0;
  int right = 0;
  for (int n = 0; n < kBatch; ++n) {
    auto row = logits.subspan(n * kClasses, kClasses);
    double top = *std::max_element(row.begin(), row.end()), sum = 0;
    for (float logit : row)
      sum += std::exp(logit - top);
    loss += (top + std::log(sum) - row[batch.label[n]]) / kBatch;
    right += row[batch.label[n]] == top;
  }
  EXPECT_NEAR(numbers[0], loss, 1e-5 * loss);
  EXPECT_NEAR(numbers[1], static_cast<double>(right) / kBatch, 1e-6);

  trainer.saveState(path("trained.safetensors"));
  Instance inferrer = model->inferrer(path("trained.safetensors"));
  std::vector<Tensor> inferred =
      inferrer.run({Tensor::borrow(batch.image.data(), {kBatch, 1, 8, 8})});
  auto same = inferred[0].values<float>();
  EXPECT_EQ(std::vector<float>(same.begin(), same.end()),
            std::vector<float>(logits.begin(), logits.end()));
}

/// What set_tensor gives, inference has at once, packed weights included.
TEST_P(State, InferenceFollowsSetTensor) {
  Instance trainer = model->trainer();
  Batch batch(1);
  auto infer = [&] {
    std::vector<Tensor> results =
        trainer.run({Tensor::borrow(batch.image.data(), {kBatch, 1, 8, 8})});
    auto values = results[0].values<float>();
    return std::vector<float>(values.begin(), values.end());
  };
  infer();
  setValues(trainer, "fc.weight", {10, 96}, std::vector<float>(960, 0.0f));
  setValues(trainer, "fc.bias", {10}, std::vector<float>(10, 0.25f));
  EXPECT_EQ(infer(), std::vector<float>(kBatch * kClasses, 0.25f));
}

std::string nameOf(const testing::TestParamInfo<On> &info) {
  return info.param == On::Cpu ? "Cpu" : "Cuda";
}

INSTANTIATE_TEST_SUITE_P(On, State, testing::Values(On::Cpu, On::Cuda), nameOf);

} // namespace
