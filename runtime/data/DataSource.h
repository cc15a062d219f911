// A data set as training sees it: samples that can be read in any order, each of which has the same
// fields ("image": u8[1, 28, 28], "label": i64[]). One file per format makes such sources; what is
// read from them goes to a model by BatchLoader.
#pragma once

#include "support/DType.h"
#include "support/Error.h"

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace nncc::data {

/// A tensor that every sample has one of.
struct Field {
  std::string name;
  DType dtype = DType::F32;
  std::vector<int64_t> shape; ///< of one sample
};

/// "image: u8[1, 28, 28]"
std::string describe(const Field &field);

/// Elements and bytes of one sample, for fields of a source, whose sizes were checked.
int64_t elementCountOf(const Field &field);
int64_t sizeBytesOf(const Field &field);

class DataSource {
public:
  virtual ~DataSource() = default;

  int64_t sampleCount() const { return count; }
  const std::vector<Field> &fields() const { return fieldList; }

  /// The index of a field, -1 when there is none of that name.
  int fieldNamed(std::string_view name) const;

  /// Of the field "label", where the format knows them.
  const std::vector<std::string> &classNames() const { return classes; }

  /// What was opened, for people: "MNIST, 'train-images-idx3-ubyte.gz'".
  const std::string &origin() const { return originText; }

  /// Copies or decodes one sample: `values` has one span per field, of the field's exact size, or
  /// an empty one for a field that is not wanted. Any number of threads may read at the same time.
  /// An error says which file it is about.
  virtual Result<void> read(int64_t sample, std::span<const std::span<std::byte>> values) const = 0;

  /// Where a field of a sample comes from, for error messages: "sample 345 in 'FILE'".
  virtual std::string locate(int64_t sample, size_t field) const = 0;

protected:
  DataSource(std::string origin, int64_t sampleCount, std::vector<Field> fields,
             std::vector<std::string> classNames = {})
      : originText(std::move(origin)), count(sampleCount), fieldList(std::move(fields)),
        classes(std::move(classNames)) {}

private:
  std::string originText;
  int64_t count;
  std::vector<Field> fieldList;
  std::vector<std::string> classes;
};

/// A user error that names the first sample whose integer in the field is neither in [0, classCount)
/// nor `ignored`, and where it is: labels that index nothing would be errors in the midst of a
/// training. Reads that field of every sample.
Result<void> checkLabels(const DataSource &source, const std::string &field, int64_t classCount,
                         std::optional<int64_t> ignored = std::nullopt);

} // namespace nncc::data
