// Data sets bound to the inputs of a compiled step; see Batches.h.

#include "tools/nncc-train/Batches.h"

#include "runtime/DLPackBridge.h"
#include "runtime/data/OpenData.h"

#include <fmt/format.h>

#include <algorithm>

using namespace nncc;
using namespace nncc::tools;

namespace {

/// The dim that counts samples, as the model names it; null where it is a constant.
const nncc_dim_info *leadingDim(const nncc_model_info &info) {
  for (size_t i = 0; i < info.dim_count; ++i)
    if (std::string_view(info.dims[i].name) == info.train_inputs[0].shape[0].text)
      return &info.dims[i];
  return nullptr;
}

/// What one sample of a batched input is.
Result<data::Field> fieldOf(const nncc_tensor_info &input) {
  std::optional<DType> dtype = rt::fromDLDataType(input.dtype);
  if (!dtype || input.rank == 0)
    return userError(fmt::format("input '{}: {}' has no leading dim for samples, so no batches can be made for it", input.name,
                                 input.type_text));
  data::Field field{input.name, *dtype, {}};
  for (int32_t i = 1; i < input.rank; ++i)
    field.shape.push_back(input.shape[i].value);
  return field;
}

} // namespace

Result<int64_t> tools::chooseBatchSize(const nncc_model_info &info, std::optional<int64_t> wanted) {
  if (info.train_inputs[0].rank == 0)
    return fieldOf(info.train_inputs[0]).error();
  const nncc_extent &leading = info.train_inputs[0].shape[0];
  for (size_t i = 1; i < info.train_input_count; ++i)
    if (info.train_inputs[i].rank == 0 || std::string_view(info.train_inputs[i].shape[0].text) != leading.text)
      return userError(fmt::format("'{}: {}' and '{}: {}' do not lead with the same dim, so they cannot be one batch",
                                   info.train_inputs[0].name, info.train_inputs[0].type_text, info.train_inputs[i].name,
                                   info.train_inputs[i].type_text));
  if (leading.value >= 0) {
    if (wanted && *wanted != leading.value)
      return userError(fmt::format("--batch {}: the model takes {} samples at a time; leave --batch out, or give its input a named dim",
                                   *wanted, leading.value));
    return leading.value;
  }
  int64_t size = wanted.value_or(info.train_batch);
  const nncc_dim_info *dim = leadingDim(info);
  if (!dim)
    return userError(fmt::format("the model's leading dim is {}, which is no dim of its own", leading.text));
  if (size < dim->min || size > dim->max)
    return userError(fmt::format("a batch of {}: the model takes {} = {}..{}; choose another --batch, or change the dim", size, dim->name,
                                 dim->min, dim->max));
  return size;
}

Result<Batches> Batches::open(const std::string &spec, bool isTraining, const nncc_model_info &info, const TrainOptions &asked,
                              int64_t batchSize, uint64_t seed) {
  Batches batches;
  auto opened = data::openData(spec, isTraining ? data::Split::Train : data::Split::Test);
  if (!opened)
    return opened.error();
  batches.dataSource = std::move(*opened);
  if (batches.sampleCount() == 0)
    return userError(fmt::format("{} has no samples", batches.dataSource->origin()));

  data::BatchLoaderOptions &options = batches.options;
  options.batchSize = batchSize;
  options.shuffle = isTraining && asked.shuffle;
  options.seed = seed;
  // A smaller last batch is kept where the model takes it.
  const nncc_dim_info *dim = leadingDim(info);
  int64_t rest = batches.sampleCount() % batchSize;
  options.keepLast = !(isTraining && asked.dropLast) && dim && rest >= dim->min;
  options.threads = asked.dataThreads;
  options.binding.fieldOf = asked.fieldOf;
  options.binding.transforms.isRandom = isTraining;
  options.binding.transforms.seed = seed;
  if (!asked.normalization.empty()) {
    auto parsed = data::parseNormalization(asked.normalization);
    if (!parsed)
      return userError("--normalize " + parsed.error().message);
    options.binding.transforms.normalization = *parsed;
  }
  if (!asked.augmentation.empty()) {
    auto parsed = data::parseAugmentation(asked.augmentation);
    if (!parsed)
      return userError("--augment " + parsed.error().message);
    options.binding.transforms.augment = *parsed;
  }

  for (size_t i = 0; i < info.train_input_count; ++i) {
    Result<data::Field> field = fieldOf(info.train_inputs[i]);
    if (!field)
      return field.error();
    batches.inputs.push_back(std::move(*field));
  }
  for (const auto &[input, field] : asked.fieldOf)
    if (std::none_of(batches.inputs.begin(), batches.inputs.end(), [&](const data::Field &known) { return known.name == input; }))
      return userError(fmt::format("--field {}={}: the model has no input or target '{}'", input, field, input));
  auto bound = data::bindInputs(*batches.dataSource, batches.inputs, options.binding);
  if (!bound)
    return bound.error();
  for (size_t i = 0; i < bound->size(); ++i) {
    const nncc_value_range &range = info.train_ranges[i];
    if (!range.is_limited || range.least != 0)
      continue;
    const std::string &field = batches.dataSource->fields()[(*bound)[i].field].name;
    auto ignored = range.has_besides ? std::optional(range.besides) : std::nullopt;
    if (auto checked = data::checkLabels(*batches.dataSource, field, range.greatest + 1, ignored); !checked)
      return checked.error();
  }
  if (batches.sampleCount() < batchSize && !options.keepLast)
    return userError(fmt::format("{} has {} samples, which do not fill a batch of {}", batches.dataSource->origin(),
                                 batches.sampleCount(), batchSize));
  return batches;
}

Result<std::unique_ptr<data::BatchLoader>> Batches::load(data::BatchPosition start, int64_t endEpoch) const {
  data::BatchLoaderOptions chosen = options;
  chosen.start = start;
  chosen.endEpoch = endEpoch;
  return data::BatchLoader::create(dataSource, inputs, chosen);
}

std::vector<DLTensor> tools::describe(const data::Batch &batch) {
  std::vector<DLTensor> result;
  for (const rt::TensorView &tensor : batch.tensors()) {
    DLTensor view{};
    view.data = tensor.data;
    view.device = {kDLCPU, 0};
    view.ndim = static_cast<int32_t>(tensor.shape.size());
    view.dtype = rt::toDLDataType(tensor.dtype);
    view.shape = const_cast<int64_t *>(tensor.shape.data());
    result.push_back(view);
  }
  return result;
}
