// What all sources share; see DataSource.h.
#include "runtime/data/DataSource.h"

#include "runtime/Tensor.h"

#include <fmt/format.h>

#include <cstring>

using namespace nncc;
using namespace nncc::data;

std::string data::describe(const Field &field) {
  return field.name + ": " + rt::describeType(nameOf(field.dtype), field.shape);
}

int64_t data::elementCountOf(const Field &field) {
  int64_t count = 1;
  for (int64_t extent : field.shape)
    count *= extent;
  return count;
}

int64_t data::sizeBytesOf(const Field &field) {
  return elementCountOf(field) * nncc::sizeBytesOf(field.dtype);
}

int DataSource::fieldNamed(std::string_view name) const {
  for (size_t i = 0; i < fieldList.size(); ++i)
    if (fieldList[i].name == name)
      return static_cast<int>(i);
  return -1;
}

/// An integer of any type that labels come in.
static std::optional<int64_t> integerAt(DType dtype, const std::byte *bytes) {
  auto load = [&]<typename T>(T value) {
    std::memcpy(&value, bytes, sizeof value);
    return static_cast<int64_t>(value);
  };
  switch (dtype) {
  case DType::I64:
    return load(int64_t());
  case DType::I32:
    return load(int32_t());
  case DType::I8:
    return load(int8_t());
  case DType::U8:
  case DType::Bool:
    return load(uint8_t());
  default:
    return std::nullopt;
  }
}

Result<void> data::checkLabels(const DataSource &source, const std::string &field,
                               int64_t classCount, std::optional<int64_t> ignored) {
  int index = source.fieldNamed(field);
  if (index < 0)
    return internalError("labels to be checked in a field '" + field + "' that does not exist");
  const Field &labels = source.fields()[static_cast<size_t>(index)];
  std::vector<std::byte> bytes(static_cast<size_t>(sizeBytesOf(labels)));
  size_t elementBytes = static_cast<size_t>(nncc::sizeBytesOf(labels.dtype));
  if (!integerAt(labels.dtype, std::vector<std::byte>(8).data()))
    return userError(fmt::format("{}: expected integers, the labels of {} classes, in '{}', found "
                                 "{}; convert them",
                                 source.origin(), classCount, field, describe(labels)));
  std::vector<std::span<std::byte>> values(source.fields().size());
  values[static_cast<size_t>(index)] = bytes;
  for (int64_t sample = 0; sample < source.sampleCount(); ++sample) {
    if (Result<void> got = source.read(sample, values); !got)
      return got;
    for (size_t i = 0; i < bytes.size(); i += elementBytes)
      if (int64_t label = *integerAt(labels.dtype, bytes.data() + i);
          (label < 0 || label >= classCount) && label != ignored)
        return userError(fmt::format("{} {} of {}; the model has {} classes, 0 to {}; give it the "
                                     "classes of the data, or correct the data",
                                     field, label,
                                     source.locate(sample, static_cast<size_t>(index)), classCount,
                                     classCount - 1));
  }
  return {};
}
