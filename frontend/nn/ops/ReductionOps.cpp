// Reductions over dimensions.
#include "frontend/nn/OpCall.h"

#include <fmt/format.h>

#include <algorithm>

namespace nncc::frontend {

namespace {

template <typename Op> OpResults reduce(OpCall &call) {
  int64_t rank = call.tensorType("x").getRank();
  llvm::SmallVector<int64_t> axes;
  if (!call.has("axis")) {
    for (int64_t d = 0; d < rank; ++d)
      axes.push_back(d);
  } else if (auto *list = call.arg("axis").as<ListValue>()) {
    for (const NnValue &item : **list) {
      auto axis = call.axis("axis", item, rank);
      if (!axis)
        return {};
      axes.push_back(*axis);
    }
    llvm::sort(axes);
    if (std::adjacent_find(axes.begin(), axes.end()) != axes.end()) {
      call.failAt("axis", "a dimension is named twice");
      return {};
    }
  } else {
    auto axis = call.axis("axis", rank);
    if (!axis)
      return {};
    axes.push_back(*axis);
  }
  llvm::SmallVector<mlir::NamedAttribute> attributes = {
      call.attribute("axes", llvm::ArrayRef<int64_t>(axes))};
  if (call.flag("keepdims"))
    attributes.push_back(call.unit("keepdims"));
  return call.create<Op>(call.tensor("x"), attributes);
}

template <typename Op> OpResults argReduce(OpCall &call) {
  auto axis = call.axis("axis", call.tensorType("x").getRank());
  if (!axis)
    return {};
  llvm::SmallVector<mlir::NamedAttribute> attributes = {call.attribute("axis", *axis)};
  if (call.flag("keepdims"))
    attributes.push_back(call.unit("keepdims"));
  return call.create<Op>(call.tensor("x"), attributes);
}

} // namespace

llvm::ArrayRef<OpEntry> reductionOps() {
  static constexpr std::string_view reduction =
      "x: tensor, axis: ints? = none, keepdims: bool = false";
  static constexpr std::string_view position = "x: tensor, axis: int = -1, keepdims: bool = false";
  static const OpEntry entries[] = {
      {"sum", "Reductions", reduction, "", "", "sum over dimensions, all without axis",
       reduce<nn::ReduceSumOp>},
      {"mean", "Reductions", reduction, "", "", "mean over dimensions", reduce<nn::ReduceMeanOp>},
      {"prod", "Reductions", reduction, "", "", "product over dimensions",
       reduce<nn::ReduceProdOp>},
      {"reduce_max", "Reductions", reduction, "", "", "largest value over dimensions",
       reduce<nn::ReduceMaxOp>},
      {"reduce_min", "Reductions", reduction, "", "", "smallest value over dimensions",
       reduce<nn::ReduceMinOp>},
      {"argmax", "Reductions", position, "", "", "position of the largest value along a dimension",
       argReduce<nn::ArgMaxOp>},
      {"argmin", "Reductions", position, "", "", "position of the smallest value along a dimension",
       argReduce<nn::ArgMinOp>},
  };
  return entries;
}

} // namespace nncc::frontend
