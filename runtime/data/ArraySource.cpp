// Reading of samples from arrays in memory; see ArraySource.h.
#include "runtime/data/ArraySource.h"

#include "support/CheckedSize.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

using namespace nncc;
using namespace nncc::data;

namespace {

class ArraySource : public DataSource {
public:
  ArraySource(std::string origin, int64_t sampleCount, std::vector<Field> fields,
              std::vector<DType> storedDTypes, std::vector<ArrayPart> parts,
              std::vector<std::shared_ptr<const void>> memory, std::vector<std::string> classNames)
      : DataSource(std::move(origin), sampleCount, std::move(fields), std::move(classNames)),
        storedDTypes(std::move(storedDTypes)), parts(std::move(parts)), memory(std::move(memory)) {
    int64_t first = 0;
    for (const ArrayPart &part : this->parts) {
      firstSamples.push_back(first);
      first += part.sampleCount;
    }
  }

  Result<void> read(int64_t sample, std::span<const std::span<std::byte>> values) const override {
    size_t part = partOf(sample);
    for (size_t i = 0; i < values.size(); ++i) {
      if (values[i].empty())
        continue;
      const ArrayColumn &column = parts[part].columns[i];
      copy(column.first + (sample - firstSamples[part]) * column.strideBytes, storedDTypes[i],
           fields()[i].dtype, values[i]);
    }
    return {};
  }

  std::string locate(int64_t sample, size_t field) const override {
    size_t part = partOf(sample);
    return fmt::format("sample {} in '{}'", sample - firstSamples[part],
                       parts[part].columns[field].file);
  }

private:
  size_t partOf(int64_t sample) const {
    auto after = std::upper_bound(firstSamples.begin(), firstSamples.end(), sample);
    return static_cast<size_t>(after - firstSamples.begin()) - 1;
  }

  static void copy(const std::byte *from, DType stored, DType wanted, std::span<std::byte> to) {
    if (stored == wanted) {
      std::memcpy(to.data(), from, to.size());
      return;
    }
    // Labels: to i64.
    for (size_t i = 0; i < to.size() / sizeof(int64_t); ++i) {
      int64_t value = 0;
      if (stored == DType::U8) {
        value = std::to_integer<int64_t>(from[i]);
      } else if (stored == DType::I8) {
        value = static_cast<int8_t>(from[i]);
      } else {
        int32_t narrow;
        std::memcpy(&narrow, from + i * sizeof narrow, sizeof narrow);
        value = narrow;
      }
      std::memcpy(to.data() + i * sizeof value, &value, sizeof value);
    }
  }

  std::vector<DType> storedDTypes;
  std::vector<ArrayPart> parts;
  std::vector<int64_t> firstSamples; ///< of each part
  std::vector<std::shared_ptr<const void>> memory;
};

} // namespace

Result<std::unique_ptr<DataSource>>
data::makeArraySource(std::string origin, std::vector<ArrayField> fields,
                      std::vector<ArrayPart> parts, std::vector<std::shared_ptr<const void>> memory,
                      std::vector<std::string> classNames) {
  std::erase_if(parts, [](const ArrayPart &part) { return part.sampleCount == 0; });
  CheckedSize count = 0;
  for (const ArrayPart &part : parts)
    count += part.sampleCount;
  if (parts.empty())
    return userError(origin + ": expected at least one sample, found none");
  std::vector<Field> plainFields;
  std::vector<DType> storedDTypes;
  for (ArrayField &field : fields) {
    if (field.field.dtype != field.storedDType &&
        (field.field.dtype != DType::I64 ||
         (field.storedDType != DType::U8 && field.storedDType != DType::I8 &&
          field.storedDType != DType::I32)))
      return internalError("field '" + field.field.name + "' cannot be widened");
    CheckedSize sizeBytes = nncc::sizeBytesOf(field.field.dtype);
    for (int64_t extent : field.field.shape)
      sizeBytes *= extent;
    if (sizeBytes.getOr(0) < 1)
      return userError(fmt::format("{}: {} has no elements", origin, describe(field.field)));
    plainFields.push_back(std::move(field.field));
    storedDTypes.push_back(field.storedDType);
  }
  return std::unique_ptr<DataSource>(std::make_unique<ArraySource>(
      std::move(origin), count.getOr(0), std::move(plainFields), std::move(storedDTypes),
      std::move(parts), std::move(memory), std::move(classNames)));
}
