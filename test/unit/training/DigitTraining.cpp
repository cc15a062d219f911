// Data, models and references; see DigitTraining.h.

#include "test/unit/training/DigitTraining.h"

#include "runtime/data/Npy.h"
#include "runtime/data/OpenData.h"

#include <cstring>
#include <stdexcept>

using namespace nncc;
using namespace nncc::test;

Digits::Digits(int64_t batchSize) {
  std::shared_ptr<const data::DataSource> source = valueOrThrow(
      data::openData(std::string(NNCC_TEST_DATA_FOLDER) + "/mnist", data::Split::Train));
  data::BatchLoaderOptions options;
  options.batchSize = batchSize;
  options.shuffle = false;
  options.threads = 0;
  options.binding.transforms.normalization = {255, {}, {}};
  std::vector<data::Field> inputs = {{"image", DType::F32, {1, 28, 28}}, {"label", DType::I64, {}}};
  loader = valueOrThrow(data::BatchLoader::create(source, inputs, options));
}

std::vector<Tensor> Digits::next() {
  batch.emplace(std::move(*valueOrThrow(loader->next())));
  const rt::TensorView &image = batch->tensors()[0], &label = batch->tensors()[1];
  std::vector<Tensor> tensors;
  tensors.push_back(
      Tensor::borrow(static_cast<float *>(image.data), {image.shape.begin(), image.shape.end()}));
  tensors.push_back(Tensor::borrow(static_cast<int64_t *>(label.data), {batch->sampleCount()}));
  return tensors;
}

std::unique_ptr<CompiledModel> test::compileForDigits(const std::string &example,
                                                      const std::string &settings, On on) {
  std::string section = "train {\n  target label: i64[N]\n  loss = cross_entropy(logits, label)\n" +
                        settings + "\n}\n";
  return CompiledModel::fromFile(std::string(NNCC_TEST_EXAMPLES) + "/" + example, on,
                                 section.c_str());
}

std::string test::referencePath(const std::string &name) {
  return std::string(NNCC_TEST_DATA_FOLDER) + "/reference/" + name;
}

std::vector<float> test::referenceNumbers(const std::string &name) {
  rt::HostTensor tensor = valueOrThrow(data::readNpy(referencePath(name)));
  if (tensor.dtype != DType::F32)
    throw std::runtime_error("'" + name + "' does not hold f32 numbers");
  std::vector<float> values(tensor.data.size() / sizeof(float));
  std::memcpy(values.data(), tensor.data.data(), tensor.data.size());
  return values;
}
