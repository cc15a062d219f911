// Data sets that are a set of named arrays (.npy files, .npz, safetensors): every array is a field
// and its first extent the number of samples. Names that say a split (x_train, x_test) belong to
// that split and lose the word.
#pragma once

#include "runtime/data/ArraySource.h"
#include "runtime/data/Formats.h"

namespace nncc::data {

struct NamedArray {
  std::string name;
  std::string file; ///< for messages
  DType dtype = DType::F32;
  std::vector<int64_t> shape;
  std::span<const std::byte> data; ///< row-major
};

/// "x" for "x_train"; the name itself when it says no split.
std::string nameWithoutSplit(const std::string &name);

/// The names that belong to the split: those that say it, or, when none does, those that say none.
std::vector<std::string> namesOfSplit(const std::vector<std::string> &names, Split split);

/// A user error when an array has no first extent, or the arrays differ in it.
Result<std::unique_ptr<DataSource>>
makeNamedArraySource(std::string origin, std::vector<NamedArray> arrays,
                     std::vector<std::shared_ptr<const void>> memory);

} // namespace nncc::data
