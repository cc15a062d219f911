// Samples that lie in memory at equal distances, as most formats have them once they are mapped or
// inflated: each field is a first address and a stride, in one or more parts (files).
#pragma once

#include "runtime/data/DataSource.h"

namespace nncc::data {

struct ArrayColumn {
  std::string file;                 ///< for messages
  const std::byte *first = nullptr; ///< of the part's first sample; need not be aligned
  int64_t strideBytes = 0;
};

struct ArrayPart {
  int64_t sampleCount = 0;
  std::vector<ArrayColumn> columns; ///< one per field
};

/// A field and the type in which memory has it: labels of 8 or 32 bits are left as i64.
struct ArrayField {
  Field field;
  DType storedDType = DType::F32;
};

/// `memory` keeps alive what the columns point to. A user error when there is no sample at all or a
/// sample is larger than 2^63 bytes.
Result<std::unique_ptr<DataSource>> makeArraySource(std::string origin,
                                                    std::vector<ArrayField> fields,
                                                    std::vector<ArrayPart> parts,
                                                    std::vector<std::shared_ptr<const void>> memory,
                                                    std::vector<std::string> classNames = {});

} // namespace nncc::data
