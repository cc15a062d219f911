// Which field of a data set goes to which input of a model, and how: by name, or, for an input that
// no field is named after, the one field that fits. A mismatch is one message with both sides.
#pragma once

#include "runtime/data/Transforms.h"

#include <map>

namespace nncc::data {

struct BindingOptions {
  /// The field for an input, where the names differ.
  std::map<std::string, std::string> fieldOf;
  /// Normalisation and augmentation go to one input: this one, or, when it is empty, the first of a
  /// float type whose field has a shape.
  std::string transformedInput;
  TransformOptions transforms;
};

struct InputBinding {
  size_t field = 0;           ///< of the source
  std::vector<int64_t> shape; ///< of one sample, as the model wants it
  Transform transform;
};

/// One for each of `inputs`: the model's, with the shape of one sample (without the batch); an
/// extent of -1 takes what the data has. Shapes also fit when they differ in extents of 1 alone, or
/// when the model takes all elements of a sample in one dim.
Result<std::vector<InputBinding>>
bindInputs(const DataSource &source, std::span<const Field> inputs, const BindingOptions &options);

} // namespace nncc::data
