// Memory budgets of a training step: what is computed again makes the same bytes, in less memory, and a budget that cannot be kept to
// is refused with the one that can.

#include "test/unit/training/CompiledModel.h"

#include <cstring>
#include <gtest/gtest.h>
#include <random>
#include <regex>

using namespace nncc;
using namespace nncc::test;

namespace {

/// Inputs of a step of `batch` images, the same whenever they are asked for.
class Batch {
public:
  Batch(int64_t batch, std::vector<int64_t> imageShape, int step) : shape(std::move(imageShape)), label(static_cast<size_t>(batch)) {
    std::mt19937 random(static_cast<unsigned>(step));
    std::normal_distribution<float> number;
    int64_t count = batch;
    for (int64_t extent : shape)
      count *= extent;
    shape.insert(shape.begin(), batch);
    image.resize(static_cast<size_t>(count));
    for (float &pixel : image)
      pixel = number(random);
    for (int64_t &value : label)
      value = static_cast<int64_t>(random() % 10);
  }
  std::vector<Tensor> inputs() const {
    std::vector<Tensor> tensors;
    tensors.push_back(Tensor::borrow(image.data(), shape));
    tensors.push_back(Tensor::borrow(label.data(), {static_cast<int64_t>(label.size())}));
    return tensors;
  }

private:
  std::vector<int64_t> shape;
  std::vector<float> image;
  std::vector<int64_t> label;
};

/// Losses of some steps and all parameters behind them, running statistics among them, as bytes.
std::string train(const CompiledModel &model, int64_t batch, const std::vector<int64_t> &imageShape, int steps) {
  Instance trainer = model.trainer();
  std::string bytes;
  auto append = [&](const auto &numbers) {
    bytes.append(reinterpret_cast<const char *>(numbers.data()), numbers.size() * sizeof(numbers[0]));
  };
  for (int step = 0; step < steps; ++step)
    append(trainer.trainStep(Batch(batch, imageShape, step).inputs()));
  for (const CompiledModel::Parameter &parameter : model.parameters())
    append(valuesOf(trainer, parameter.name, parameter.shape));
  return bytes;
}

/// Convolutions, batch norms, sums and dropouts, deep enough for segments to be computed again.
constexpr char kDeep[] = R"(block Layer(x) {
  y = relu(batch_norm(conv2d(x, 8, kernel = 3, padding = 1, bias = false) as conv) as norm)
  return x + dropout(y, 0.2)
}
model Deep(image: f32[N, 3, 8, 8]) {
  x = conv2d(image, 8, kernel = 3, padding = 1) as first
  repeat i in 0..7 {
    x = Layer(x) as {i}
  }
  logits = linear(flatten(x), 10) as fc
  return logits
}
train {
  target label: i64[N]
  loss = cross_entropy(logits, label)
  optimizer = adamw(lr = 0.01)
  batch = 4
  seed = 3
}
)";
const std::vector<int64_t> kDeepImage = {3, 8, 8};

class MemoryBudget : public testing::TestWithParam<On> {
protected:
  void SetUp() override {
    if (GetParam() == On::Cuda)
      if (std::string missing = prepareStandInDevice(); !missing.empty())
        GTEST_SKIP() << missing;
  }
};

TEST_P(MemoryBudget, GivesTheSameBytesInLessMemory) {
  CompiledModel plain(kDeep, GetParam());
  std::string expected = train(plain, 4, kDeepImage, 3);
  for (int percent : {85, 72}) {
    int64_t budgetBytes = plain.stepArenaBytes() * percent / 100;
    CompiledModel fitted(kDeep, GetParam(), {budgetBytes, 0});
    EXPECT_LE(fitted.stepArenaBytes(), budgetBytes);
    EXPECT_TRUE(train(fitted, 4, kDeepImage, 3) == expected) << percent << " % of " << plain.stepArenaBytes() << " bytes";
  }
}

INSTANTIATE_TEST_SUITE_P(On, MemoryBudget, testing::Values(On::Cpu, On::Cuda), testing::PrintToStringParamName());

TEST(MemoryBudgetOfExamples, GivesTheSameBytes) {
  struct Case {
    const char *file;
    std::vector<int64_t> image;
    int64_t batch;
    int percent;
  };
  for (const Case &test : {Case{"lenet.nn", {1, 28, 28}, 32, 95}, Case{"resnet_cifar10.nn", {3, 32, 32}, 8, 60}}) {
    std::string path = std::string(NNCC_TEST_EXAMPLES) + "/" + test.file;
    auto plain = CompiledModel::fromFile(path, On::Cpu, nullptr, {0, test.batch});
    int64_t budgetBytes = plain->stepArenaBytes() * test.percent / 100;
    auto fitted = CompiledModel::fromFile(path, On::Cpu, nullptr, {budgetBytes, test.batch});
    EXPECT_LE(fitted->stepArenaBytes(), budgetBytes) << test.file;
    EXPECT_TRUE(train(*fitted, test.batch, test.image, 3) == train(*plain, test.batch, test.image, 3)) << test.file;
  }
}

TEST(MemoryBudgetError, SaysWhatIsEnough) {
  std::string message;
  try {
    CompiledModel(kDeep, On::Cpu, {20000, 0});
  } catch (const std::exception &error) {
    message = error.what();
  }
  EXPECT_NE(message.find("a training step of N = 4 needs at least"), message.npos) << message;
  EXPECT_NE(message.find("smaller batch"), message.npos) << message;
  std::smatch bytes;
  ASSERT_TRUE(std::regex_search(message, bytes, std::regex("\\(([0-9]+) bytes\\) for intermediates"))) << message;
  int64_t enough = std::stoll(bytes[1]);
  CompiledModel plain(kDeep), fitted(kDeep, On::Cpu, {enough, 0});
  EXPECT_LE(fitted.stepArenaBytes(), enough);
  EXPECT_LT(enough, plain.stepArenaBytes());
  // A smaller batch fits what is too little for this one.
  EXPECT_LE(CompiledModel(kDeep, On::Cpu, {enough - 1, 2}).stepArenaBytes(), enough - 1);
}

} // namespace
