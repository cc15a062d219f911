// The match between a model's inputs and a data set's fields; see InputBinding.h.
#include "runtime/data/InputBinding.h"

#include "runtime/Tensor.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

using namespace nncc;
using namespace nncc::data;

namespace {

using Shape = std::vector<int64_t>;

int64_t productOf(const Shape &shape) {
  int64_t product = 1;
  for (int64_t extent : shape)
    product *= extent;
  return product;
}

Shape withoutOnes(Shape shape) {
  std::erase(shape, 1);
  return shape;
}

/// The shape in which a sample of shape `from` goes to an input of shape `to`; nothing when it does
/// not.
std::optional<Shape> fitShape(const Shape &from, const Shape &to) {
  if (to.size() == 1 && from.size() != 1 && (to[0] < 0 || to[0] == productOf(from)))
    return Shape{productOf(from)};
  if (from.size() == to.size()) {
    Shape result = to;
    for (size_t d = 0; d < to.size(); ++d)
      if (result[d] < 0)
        result[d] = from[d];
    if (result == from)
      return result;
  }
  bool isKnown = std::all_of(to.begin(), to.end(), [](int64_t extent) { return extent >= 0; });
  if (isKnown && withoutOnes(from) == withoutOnes(to))
    return to;
  return std::nullopt;
}

bool isFloat(DType dtype) { return dtype <= DType::F64; }

std::string listFields(const DataSource &source) {
  std::string text;
  for (const Field &field : source.fields())
    text += "\n  " + describe(field);
  return text;
}

/// What to do about shapes that do not fit.
std::string adviceFor(const Shape &from, const Shape &to) {
  if (from.size() == 3 && to.size() == 3) {
    if (Shape{from[2], from[0], from[1]} == to)
      return "the data has its channels last: write it as [N, channels, height, width]";
    if (from[0] != to[0] && to[0] >= 0)
      return fmt::format("the data has {} channel{}, the model takes {}: change one of them",
                         from[0], from[0] == 1 ? "" : "s", to[0]);
    return "crop or resize the images, or change the model's input";
  }
  return "change the shape of the data or of the model's input";
}

std::string typeOf(DType dtype, const Shape &shape) {
  std::string text(nncc::nameOf(dtype));
  text += '[';
  for (size_t d = 0; d < shape.size(); ++d)
    text += (d ? ", " : "") + (shape[d] < 0 ? std::string("any") : std::to_string(shape[d]));
  return text + ']';
}

class Binder {
public:
  Binder(const DataSource &source, std::span<const Field> inputs, const BindingOptions &options)
      : source(source), inputs(inputs), options(options), fieldOf(inputs.size(), -1) {}

  Result<std::vector<InputBinding>> bind() {
    if (Result<void> matched = matchNames(); !matched)
      return matched.error();
    if (Result<void> matched = matchTheRest(); !matched)
      return matched.error();
    Result<size_t> transformed = findTransformed();
    if (!transformed)
      return transformed.error();
    std::vector<InputBinding> bindings;
    for (size_t i = 0; i < inputs.size(); ++i) {
      Result<InputBinding> binding = bindOne(i, i == *transformed);
      if (!binding)
        return binding.error();
      bindings.push_back(std::move(*binding));
    }
    return bindings;
  }

private:
  const Field &fieldFor(size_t input) const {
    return source.fields()[static_cast<size_t>(fieldOf[input])];
  }

  Result<void> matchNames() {
    for (const auto &[input, field] : options.fieldOf) {
      auto found = std::find_if(inputs.begin(), inputs.end(),
                                [&](const Field &one) { return one.name == input; });
      if (found == inputs.end()) {
        std::string names;
        for (const Field &one : inputs)
          names += (names.empty() ? "" : ", ") + one.name;
        return userError(fmt::format("{}={}: the model has no input '{}'; it has {}", input, field,
                                     input, names));
      }
      int index = source.fieldNamed(field);
      if (index < 0)
        return userError(fmt::format("{}={}: {} has no field '{}'; it has{}", input, field,
                                     source.origin(), field, listFields(source)));
      fieldOf[static_cast<size_t>(found - inputs.begin())] = index;
    }
    for (size_t i = 0; i < inputs.size(); ++i)
      if (fieldOf[i] < 0)
        fieldOf[i] = source.fieldNamed(inputs[i].name);
    return {};
  }

  /// Inputs that no field is named after take the one unused field that fits.
  Result<void> matchTheRest() {
    std::vector<int> named = fieldOf;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (fieldOf[i] >= 0)
        continue;
      std::vector<int> fitting;
      for (size_t f = 0; f < source.fields().size(); ++f) {
        int index = static_cast<int>(f);
        const Field &field = source.fields()[f];
        bool isUsed = std::find(named.begin(), named.end(), index) != named.end();
        bool hasType = !isFloat(field.dtype) || isFloat(inputs[i].dtype);
        if (!isUsed && hasType && shapeFits(field, inputs[i]))
          fitting.push_back(index);
      }
      if (fitting.size() != 1)
        return userError(fmt::format(
            "the model's input '{}', {} for each sample, {}; say which field it takes. {} has{}",
            inputs[i].name, typeOf(inputs[i].dtype, inputs[i].shape),
            fitting.empty() ? "has the name of no field, and none that is left fits it"
                            : "has the name of no field, and several fit it",
            source.origin(), listFields(source)));
      fieldOf[i] = fitting[0];
    }
    for (size_t i = 0; i < inputs.size(); ++i)
      for (size_t j = 0; j < i; ++j)
        if (fieldOf[i] == fieldOf[j] && named[i] < 0 && named[j] < 0)
          return userError(
              fmt::format("the model's inputs '{}' and '{}' have the name of no field, "
                          "and both fit '{}'; say which fields they take. {} has{}",
                          inputs[j].name, inputs[i].name, fieldFor(i).name, source.origin(),
                          listFields(source)));
    return {};
  }

  bool shapeFits(const Field &field, const Field &input) const {
    TransformOptions geometry = options.transforms;
    geometry.normalization = {};
    if (field.shape.size() != 3)
      geometry.augment.clear();
    Result<Transform> transform = Transform::create(field, input.dtype, geometry);
    return transform && fitShape(transform->shape(), input.shape);
  }

  /// The input that is normalised and augmented; inputs.size() when nothing has to be.
  Result<size_t> findTransformed() const {
    const TransformOptions &transforms = options.transforms;
    if (!transforms.normalization.isGiven() && transforms.augment.empty())
      return inputs.size();
    for (size_t i = 0; i < inputs.size(); ++i)
      if (options.transformedInput.empty() ? isFloat(inputs[i].dtype) && !fieldFor(i).shape.empty()
                                           : inputs[i].name == options.transformedInput)
        return i;
    if (!options.transformedInput.empty())
      return userError("the model has no input '" + options.transformedInput +
                       "' to be normalised or augmented");
    return userError("the model has no float input that takes a field with a shape, so there is "
                     "nothing to normalise or to augment");
  }

  Result<InputBinding> bindOne(size_t i, bool isTransformed) const {
    const Field &input = inputs[i], &field = fieldFor(i);
    Result<Transform> transform = Transform::create(
        field, input.dtype, isTransformed ? options.transforms : TransformOptions());
    if (!transform)
      return userError(fmt::format("input '{}' of the model, {} for each sample: {}", input.name,
                                   typeOf(input.dtype, input.shape), transform.error().message));
    std::optional<Shape> shape = fitShape(transform->shape(), input.shape);
    if (!shape) {
      std::string cropped = transform->shape() == field.shape
                                ? ""
                                : ", cropped to " + rt::describeType("", transform->shape());
      return userError(fmt::format("input '{}' of the model is {} for each sample, but field '{}' "
                                   "of {} is {}{}; {}",
                                   input.name, typeOf(input.dtype, input.shape), field.name,
                                   source.origin(), typeOf(field.dtype, field.shape), cropped,
                                   adviceFor(transform->shape(), input.shape)));
    }
    return InputBinding{static_cast<size_t>(fieldOf[i]), std::move(*shape), std::move(*transform)};
  }

  const DataSource &source;
  std::span<const Field> inputs;
  const BindingOptions &options;
  std::vector<int> fieldOf; ///< of each input
};

} // namespace

Result<std::vector<InputBinding>> data::bindInputs(const DataSource &source,
                                                   std::span<const Field> inputs,
                                                   const BindingOptions &options) {
  return Binder(source, inputs, options).bind();
}
