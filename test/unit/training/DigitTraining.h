// Trainings on the digits of the repository, and the numbers that PyTorch has for them.
#pragma once

#include "test/unit/training/CompiledModel.h"

#include "runtime/data/BatchLoader.h"

namespace nncc::test {

/// Batches of the digits in file order, again and again.
class Digits {
public:
  explicit Digits(int64_t batchSize);

  /// The loss of the next batch, and what the other call has for it.
  double step(Instance &trainer) { return trainer.trainStep(next())[0]; }
  double evaluate(Instance &trainer) { return trainer.evaluate(next())[0]; }

private:
  std::vector<Tensor> next();

  std::unique_ptr<data::BatchLoader> loader;
  std::optional<data::Batch> batch;
};

/// A model of examples/, "lenet.nn", which is trained to classify digits with these lines in its
/// train section.
std::unique_ptr<CompiledModel> compileForDigits(const std::string &example,
                                                const std::string &settings, On on);

/// A file of test/data/reference.
std::string referencePath(const std::string &name);
/// The f32 numbers of a .npy file there.
std::vector<float> referenceNumbers(const std::string &name);

} // namespace nncc::test
