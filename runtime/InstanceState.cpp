// Parameters and states of an instance that trains, by name and as files; and the check of labels.
#include "runtime/Instance.h"

#include "runtime/File.h"
#include "runtime/Safetensors.h"

#include <algorithm>
#include <cstring>

namespace nncc::rt {
namespace {

/// What an error lists of many.
constexpr size_t kMaxListed = 20;

Error doesNotTrain() {
  return userError("this instance does not train; create it with nncc_instance_options.training = 1");
}

std::string describe(const NamedTensor &tensor) { return describeType(nameOf(tensor.dtype), tensor.shape); }

/// Element `index` of integers of any width.
int64_t integerAt(const TensorView &tensor, int64_t index) {
  auto at = [&](auto zero) { return static_cast<int64_t>(static_cast<const decltype(zero) *>(tensor.data)[index]); };
  switch (tensor.dtype) {
  case DType::I64:
    return at(int64_t(0));
  case DType::I32:
    return at(int32_t(0));
  case DType::I8:
    return at(int8_t(0));
  default:
    return at(uint8_t(0));
  }
}

} // namespace

std::span<const NamedTensor> Instance::tensors() const {
  return trainable ? std::span<const NamedTensor>(trainable->tensors()) : std::span<const NamedTensor>();
}

std::vector<uint32_t> Instance::keptBuffers() const {
  std::vector<uint32_t> kept;
  for (uint32_t id = 0; id < program().buffers.size(); ++id) {
    bool isState = program().buffers[id].kind == BufferKind::State;
    // States of a model that can be trained are of no use to one that is not.
    if (!trains() && isState && !program().findEntryPoint("train_step"))
      kept.push_back(id);
  }
  if (trains())
    for (uint32_t id : trainable->owned())
      if (program().buffers[id].kind != BufferKind::Constant)
        kept.push_back(id);
  return kept;
}

Result<const NamedTensor *> Instance::findTensor(std::string_view name, const TensorView &tensor) const {
  if (!trainable)
    return doesNotTrain();
  const NamedTensor *found = trainable->find(name);
  if (!found)
    return userError("model '" + program().modelName + "' has no parameter or state '" + std::string(name) + "'");
  if (tensor.dtype != found->dtype || !std::equal(tensor.shape.begin(), tensor.shape.end(), found->shape.begin(), found->shape.end()))
    return userError("'" + found->name + "': expected " + describe(*found) + ", found " +
                     describeType(nameOf(tensor.dtype), tensor.shape));
  if (tensor.place.kind == MemoryPlace::Cuda)
    return userError("'" + found->name + "': expected a tensor in CPU memory, found one on CUDA device " +
                     std::to_string(tensor.place.ordinal));
  return found;
}

Result<void> Instance::getTensor(std::string_view name, const TensorView &to) {
  Result<const NamedTensor *> found = findTensor(name, to);
  if (!found)
    return found.error();
  const NamedTensor &tensor = **found;
  return readBuffer(tensor.buffer, tensor.offsetBytes,
                    {static_cast<std::byte *>(to.data), static_cast<size_t>(tensor.sizeBytes)});
}

Result<void> Instance::setTensor(std::string_view name, const TensorView &from) {
  Result<const NamedTensor *> found = findTensor(name, from);
  if (!found)
    return found.error();
  const NamedTensor &tensor = **found;
  constantsAreStale = true;
  return writeBuffer(tensor.buffer, tensor.offsetBytes,
                     {static_cast<const std::byte *>(from.data), static_cast<size_t>(tensor.sizeBytes)});
}

Result<void> Instance::saveState(const std::string &path, const std::map<std::string, std::string> &metadata) {
  if (!trainable)
    return doesNotTrain();
  std::vector<std::vector<std::byte>> storage; // the sources below point into it
  std::vector<SafetensorsSource> sources;
  for (const NamedTensor &tensor : trainable->tensors()) {
    std::vector<std::byte> &bytes = storage.emplace_back(static_cast<size_t>(tensor.sizeBytes));
    if (Result<void> read = readBuffer(tensor.buffer, tensor.offsetBytes, bytes); !read)
      return read;
    sources.push_back({tensor.name, tensor.dtype, tensor.shape, bytes});
  }
  return writeSafetensors(path, sources, metadata, SafetensorsAlignment::Start);
}

Result<void> Instance::loadState(const std::string &path) {
  if (!trainable)
    return doesNotTrain();
  Result<MappedFile> file = MappedFile::open(path);
  if (!file)
    return file.error();
  Result<Safetensors> image = Safetensors::parse(file->bytes(), path);
  if (!image)
    return image.error();
  std::vector<std::string> problems;
  for (const NamedTensor &tensor : trainable->tensors()) {
    const SafetensorsEntry *entry = image->find(tensor.name);
    if (!entry)
      problems.push_back("missing: '" + tensor.name + "' " + describe(tensor));
    else if (entry->dtype != tensor.dtype || entry->shape != tensor.shape)
      problems.push_back("does not fit: '" + tensor.name + "' expected " + describe(tensor) + ", found " +
                         describeType(entry->dtype ? nameOf(*entry->dtype) : entry->dtypeName, entry->shape));
  }
  for (const SafetensorsEntry &entry : image->entries())
    if (!trainable->find(entry.name) && !entry.name.starts_with(kSafetensorsPaddingPrefix))
      problems.push_back("in the file, but not in the model: '" + entry.name + "'");
  if (!problems.empty()) {
    std::string text = "'" + path + "' is no state of model '" + program().modelName + "':";
    for (size_t i = 0; i < std::min(problems.size(), kMaxListed); ++i)
      text += "\n  " + problems[i];
    if (problems.size() > kMaxListed)
      text += "\n  and " + std::to_string(problems.size() - kMaxListed) + " more";
    return userError(text);
  }
  constantsAreStale = true;
  for (const NamedTensor &tensor : trainable->tensors())
    if (Result<void> written = writeBuffer(tensor.buffer, tensor.offsetBytes, image->find(tensor.name)->data); !written)
      return written;
  return {};
}

Result<void> Instance::checkRanges(const BoundEntry &bound, std::span<const TensorView> inputs) const {
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Buffer &buffer = program().buffers[bound.entry->inputs[i]];
    if (!buffer.range || inputs[i].place.kind == MemoryPlace::Cuda)
      continue;
    int64_t count = 1;
    for (int64_t extent : inputs[i].shape)
      count *= extent;
    int64_t perSample = inputs[i].shape.empty() || inputs[i].shape[0] == 0 ? 1 : count / inputs[i].shape[0];
    for (int64_t element = 0; element < count; ++element) {
      int64_t value = integerAt(inputs[i], element);
      if ((value >= buffer.range->least && value <= buffer.range->greatest) || value == buffer.range->besides)
        continue;
      return userError("input \"" + buffer.name + "\": the value of sample " + std::to_string(element / perSample) + " is " +
                       std::to_string(value) + "; expected " + std::to_string(buffer.range->least) + ".." +
                       std::to_string(buffer.range->greatest) +
                       (buffer.range->besides ? ", or " + std::to_string(*buffer.range->besides) + ", which is ignored" : ""));
    }
  }
  return {};
}

} // namespace nncc::rt
