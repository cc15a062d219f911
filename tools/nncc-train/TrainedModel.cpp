// Tensors to and from the instance by name; see TrainedModel.h.

#include "tools/nncc-train/TrainedModel.h"

#include "runtime/DLPackBridge.h"

#include <cstring>

using namespace nncc;
using namespace nncc::tools;

namespace {

data::ExpectedTensor expected(const nncc_tensor_info &tensor) {
  data::ExpectedTensor result{tensor.name, *rt::fromDLDataType(tensor.dtype), {}};
  for (int32_t i = 0; i < tensor.rank; ++i)
    result.shape.push_back(tensor.shape[i].value);
  return result;
}

rt::HostTensor emptyTensor(const data::ExpectedTensor &tensor) {
  int64_t sizeBytes = sizeBytesOf(tensor.dtype);
  for (int64_t extent : tensor.shape)
    sizeBytes *= extent;
  return {tensor.dtype, tensor.shape, std::vector<std::byte>(static_cast<size_t>(sizeBytes))};
}

DLTensor viewOf(DType dtype, std::span<const int64_t> shape, const std::byte *data) {
  DLTensor view{};
  view.data = const_cast<std::byte *>(data);
  view.device = {kDLCPU, 0};
  view.ndim = static_cast<int32_t>(shape.size());
  view.dtype = rt::toDLDataType(dtype);
  view.shape = const_cast<int64_t *>(shape.data());
  return view;
}

} // namespace

std::vector<rt::SafetensorsSource> Snapshot::sources(size_t count) const {
  std::vector<rt::SafetensorsSource> result;
  for (size_t i = 0; i < count; ++i)
    result.push_back({names[i], tensors[i].dtype, tensors[i].shape, tensors[i].data});
  return result;
}

Result<TrainedModel> TrainedModel::open(const std::string &path, const ModelOptions &options) {
  ModelOptions loading = options;
  loading.training = true;
  Result<Model> model = Model::open(path, loading);
  if (!model)
    return model.error();
  const nncc_model_info &info = model->info();
  if (info.size < offsetof(nncc_model_info, train_seed) + sizeof info.train_seed)
    return userError("'" + path + "' was compiled by an nncc that cannot train; compile it again");
  if (info.train_input_count == 0)
    return userError(path.ends_with(".so")
                         ? "'" + path + "' was not compiled for training: give its text, or compile it with nncc --train"
                         : "'" + path + "' has no train section, which says what is trained, and --train gives none; docs/training.md shows one");
  Result<Instance> instance = Instance::create(*model, options.threads, /*trains=*/true);
  if (!instance)
    return instance.error();
  return TrainedModel(std::move(*model), std::move(*instance));
}

std::vector<data::ExpectedTensor> TrainedModel::tensors() const {
  std::vector<data::ExpectedTensor> result;
  for (size_t i = 0; i < info().parameter_count; ++i)
    result.push_back(expected(info().parameters[i]));
  for (size_t i = 0; i < info().state_count; ++i)
    result.push_back(expected(info().states[i]));
  return result;
}

Result<Snapshot> TrainedModel::snapshot() {
  Snapshot snapshot;
  snapshot.parameterCount = info().parameter_count;
  for (const data::ExpectedTensor &tensor : tensors()) {
    snapshot.names.push_back(tensor.name);
    snapshot.tensors.push_back(emptyTensor(tensor));
    if (auto copied = runs.getTensor(tensor.name, snapshot.tensors.back()); !copied)
      return copied.error();
  }
  return snapshot;
}

Result<void> TrainedModel::restore(const Snapshot &snapshot) {
  for (size_t i = 0; i < snapshot.names.size(); ++i) {
    const rt::HostTensor &tensor = snapshot.tensors[i];
    if (auto copied = runs.setTensor(snapshot.names[i], viewOf(tensor.dtype, tensor.shape, tensor.data.data())); !copied)
      return copied;
  }
  return {};
}

Result<void> TrainedModel::restore(const data::Checkpoint &checkpoint) {
  std::vector<data::ExpectedTensor> wanted = tensors();
  if (auto checked = checkpoint.check(info().name, identity(), wanted); !checked)
    return checked;
  for (const data::ExpectedTensor &tensor : wanted) {
    const rt::SafetensorsEntry *entry = checkpoint.tensors().find(tensor.name);
    if (auto copied = runs.setTensor(tensor.name, viewOf(tensor.dtype, tensor.shape, entry->data.data())); !copied)
      return copied;
  }
  return {};
}

Result<void> TrainedModel::setNumber(const std::string &name, double value) {
  for (const data::ExpectedTensor &tensor : tensors()) {
    if (tensor.name != name)
      continue;
    rt::HostTensor number = emptyTensor(tensor);
    auto fill = [&](auto typed) { std::memcpy(number.data.data(), &typed, sizeof typed); };
    switch (tensor.dtype) {
    case DType::F64:
      fill(value);
      break;
    case DType::F32:
      fill(static_cast<float>(value));
      break;
    case DType::I64:
      fill(static_cast<int64_t>(value));
      break;
    default:
      return internalError("'" + name + "' holds no number");
    }
    return runs.setTensor(name, viewOf(number.dtype, number.shape, number.data.data()));
  }
  return {};
}

Result<std::optional<int64_t>> TrainedModel::counter(const std::string &name) {
  for (size_t i = 0; i < info().state_count; ++i) {
    if (name != info().states[i].name)
      continue;
    rt::HostTensor number = emptyTensor(expected(info().states[i]));
    int64_t value = 0;
    if (number.dtype != DType::I64 || number.data.size() != sizeof value)
      return internalError("'" + name + "' counts nothing");
    if (auto copied = runs.getTensor(name, number); !copied)
      return copied.error();
    std::memcpy(&value, number.data.data(), sizeof value);
    return std::optional(value);
  }
  return std::optional<int64_t>();
}

std::string TrainedModel::identity() const {
  std::string text;
  auto add = [&](const char *role, const nncc_tensor_info *tensors, size_t count) {
    for (size_t i = 0; i < count; ++i)
      text += std::string(text.empty() ? "" : "; ") + role + " " + tensors[i].name + ": " + tensors[i].type_text;
  };
  add("in", info().train_inputs, info().train_input_count);
  add("out", info().outputs, info().output_count);
  add("trains", info().train_outputs, info().train_output_count);
  return text;
}
