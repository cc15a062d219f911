// The values that expressions of the .nn language have while a model is elaborated: tensors are SSA
// values of the function under construction, everything else (numbers, named dims, lists, strings)
// is known now.
#pragma once

#include "ir/Shape.h"
#include "support/DType.h"

#include "mlir/IR/Value.h"

#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace nncc::frontend {

struct NnValue;

struct NoneValue {};

/// How a parameter starts. `kind` is one of #nn.init's, or one whose numbers follow from the
/// parameter's shape (kaiming_uniform, xavier_normal, ...), which addParameter resolves.
struct InitValue {
  std::string kind;
  double a = 0;
  double b = 0;
};

class NnList;
using ListValue = std::shared_ptr<const NnList>;

struct NnValue {
  std::variant<NoneValue, bool, int64_t, double, std::string, nn::Dim, DType, InitValue, ListValue,
               mlir::Value>
      value;

  NnValue() = default;
  template <typename T> NnValue(T v) : value(std::move(v)) {}

  template <typename T> const T *as() const { return std::get_if<T>(&value); }
  bool isNone() const { return as<NoneValue>() != nullptr; }
  mlir::Value tensor() const { return as<mlir::Value>() ? *as<mlir::Value>() : mlir::Value(); }
  mlir::RankedTensorType tensorType() const {
    return mlir::cast<mlir::RankedTensorType>(tensor().getType());
  }

  /// An integer or a float as a double.
  std::optional<double> number() const;
  /// An integer or a named dim as a dimension; null otherwise.
  nn::Dim dim(mlir::MLIRContext *context) const;

  /// A dimension as a value: an integer where it is constant.
  static NnValue ofDim(nn::Dim dim);
  static NnValue list(std::vector<NnValue> items);
};

/// The elements of a list. Lists hold lists, but only a few deep (maxListNesting), so that a text
/// which wraps a list in a list in a repeat cannot exhaust the stack.
class NnList {
public:
  explicit NnList(std::vector<NnValue> items);

  size_t size() const { return items.size(); }
  bool empty() const { return items.empty(); }
  const NnValue &operator[](size_t index) const { return items[index]; }
  auto begin() const { return items.begin(); }
  auto end() const { return items.end(); }
  const std::vector<NnValue> &elements() const { return items; }
  /// 1 for a list of plain values.
  uint32_t nesting() const { return depth; }

private:
  std::vector<NnValue> items;
  uint32_t depth = 1;
};

inline constexpr uint32_t maxListNesting = 16;

/// "the tensor f32[N, 3]", "the integer 3", "a list of 2": what was found, for messages.
std::string describe(const NnValue &value);

} // namespace nncc::frontend
