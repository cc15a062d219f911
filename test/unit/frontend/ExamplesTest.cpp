// The example models: their parameters are those of the files and libraries that they follow.
// Names, shapes and counts come from test/data/reference (written by PyTorch) and from
// torchvision's documentation, not from this compiler.
#include "ImportText.h"
#include "SyntaxDump.h"

#include "ir/NN.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>
#include <map>

namespace nncc::frontend {
namespace {

const std::filesystem::path root = NNCC_SOURCE_DIR;

std::unique_ptr<Imported> importExample(const std::string &name) {
  auto imported = std::make_unique<Imported>();
  imported->context.disableMultithreading();
  imported->module = importNn(imported->context, (root / "examples" / (name + ".nn")).string(),
                              imported->sources, imported->diagnostics);
  EXPECT_TRUE(imported->module) << imported->diagnostics.render();
  return imported;
}

std::map<std::string, std::vector<int64_t>> shapesOf(mlir::ModuleOp module) {
  std::map<std::string, std::vector<int64_t>> shapes;
  for (auto parameter : module.getOps<nn::ParameterOp>())
    shapes[parameter.getSymName().str()] =
        mlir::cast<mlir::RankedTensorType>(parameter.getType()).getShape().vec();
  return shapes;
}

/// The names and shapes in a safetensors file: a length in 8 bytes, then a JSON header.
std::map<std::string, std::vector<int64_t>> shapesIn(const std::filesystem::path &path) {
  std::ifstream stream(path, std::ios::binary);
  uint64_t length = 0;
  stream.read(reinterpret_cast<char *>(&length), sizeof(length));
  std::string header(length, '\0');
  stream.read(header.data(), static_cast<std::streamsize>(length));
  std::map<std::string, std::vector<int64_t>> shapes;
  nlohmann::json entries = nlohmann::json::parse(header);
  for (const auto &[name, tensor] : entries.items())
    if (name != "__metadata__")
      shapes[name] = tensor["shape"].get<std::vector<int64_t>>();
  return shapes;
}

TEST(Examples, ReferenceModelsHaveTheParametersOfTheirWeights) {
  const std::pair<const char *, const char *> cases[] = {
      {"lenet", "lenet_mnist_train/init.safetensors"},
      {"cnn_infer", "cnn_infer/weights.safetensors"},
      {"simple_rnn", "simple_rnn/weights.safetensors"},
      {"simple_cnn_cifar10", "simple_cnn_cifar10/init.safetensors"},
      {"simple_net_mnist", "simple_net_mnist/init.safetensors"},
  };
  for (const auto &[example, weights] : cases) {
    SCOPED_TRACE(example);
    auto imported = importExample(example);
    ASSERT_TRUE(imported->module);
    std::filesystem::path file = root / "test/data/reference" / weights;
    ASSERT_TRUE(std::filesystem::exists(file)) << file;
    EXPECT_EQ(shapesOf(*imported->module), shapesIn(file));
  }
}

/// Trainable parameters: all but running statistics.
int64_t countTrainable(mlir::ModuleOp module) {
  int64_t count = 0;
  for (const auto &[name, shape] : shapesOf(module)) {
    if (name.ends_with("running_mean") || name.ends_with("running_var"))
      continue;
    int64_t elements = 1;
    for (int64_t extent : shape)
      elements *= extent;
    count += elements;
  }
  return count;
}

/// Counts from torchvision's documentation of the weights.
TEST(Examples, TorchvisionModelsHaveTheDocumentedSizes) {
  EXPECT_EQ(countTrainable(*importExample("resnet18")->module), 11689512);
  EXPECT_EQ(countTrainable(*importExample("resnet50")->module), 25557032);
  EXPECT_EQ(countTrainable(*importExample("mobilenet_v2")->module), 3504872);
}

TEST(Examples, TorchvisionModelsHaveItsNames) {
  using Shape = std::vector<int64_t>;
  auto resnet18 = importExample("resnet18");
  auto shapes = shapesOf(*resnet18->module);
  // 20 convolutions and 20 norms with 4 parameters each, and fc with 2: torchvision's state_dict
  // has 122 entries with the 20 counters num_batches_tracked.
  EXPECT_EQ(shapes.size(), 102u);
  EXPECT_EQ(shapes["layer1.0.conv1.weight"], (Shape{64, 64, 3, 3}));
  EXPECT_EQ(shapes["layer2.0.downsample.0.weight"], (Shape{128, 64, 1, 1}));
  EXPECT_EQ(shapes["layer4.1.bn2.running_var"], (Shape{512}));
  EXPECT_EQ(shapes["fc.weight"], (Shape{1000, 512}));

  auto resnet50 = importExample("resnet50");
  shapes = shapesOf(*resnet50->module);
  EXPECT_EQ(shapes.size(), 267u) << "320 entries less 53 counters";
  EXPECT_EQ(shapes["layer1.0.downsample.0.weight"], (Shape{256, 64, 1, 1}));
  EXPECT_EQ(shapes["layer3.5.conv3.weight"], (Shape{1024, 256, 1, 1}));

  auto mobilenet = importExample("mobilenet_v2");
  shapes = shapesOf(*mobilenet->module);
  EXPECT_EQ(shapes.size(), 262u) << "314 entries less 52 counters";
  EXPECT_EQ(shapes["features.0.0.weight"], (Shape{32, 3, 3, 3}));
  EXPECT_EQ(shapes["features.1.conv.0.0.weight"], (Shape{32, 1, 3, 3}));
  EXPECT_EQ(shapes["features.1.conv.1.weight"], (Shape{16, 32, 1, 1}));
  EXPECT_EQ(shapes["features.17.conv.2.weight"], (Shape{320, 960, 1, 1}));
  EXPECT_EQ(shapes["features.17.conv.3.weight"], (Shape{320}));
  EXPECT_EQ(shapes["features.18.0.weight"], (Shape{1280, 320, 1, 1}));
  EXPECT_EQ(shapes["classifier.1.weight"], (Shape{1000, 1280}));
}

/// The rest of the folder compiles too.
TEST(Examples, AllElaborate) {
  for (const auto &entry : std::filesystem::directory_iterator(root / "examples"))
    if (entry.path().extension() == ".nn")
      importExample(entry.path().stem().string());
}

} // namespace
} // namespace nncc::frontend
