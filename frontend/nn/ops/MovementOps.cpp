// Movement: ops that place elements elsewhere.
#include "frontend/nn/OpCall.h"

#include <fmt/format.h>

namespace nncc::frontend {

namespace {

/// The dimensions of an argument of kind dims; -1 stands for `rest` where that is given.
llvm::SmallVector<nn::Dim> dimsOf(OpCall &call, llvm::StringRef name) {
  llvm::SmallVector<nn::Dim> dims;
  for (const NnValue &item : **call.arg(name).as<ListValue>())
    dims.push_back(item.dim(call.context()));
  return dims;
}

OpResults reshape(OpCall &call) {
  mlir::RankedTensorType x = call.tensorType("x");
  llvm::SmallVector<nn::Dim> shape = dimsOf(call, "shape");
  nn::Dim total = nn::product(nn::shapeOf(x), call.context());
  std::optional<size_t> open;
  llvm::SmallVector<nn::Dim> others;
  for (size_t i = 0; i < shape.size(); ++i) {
    std::optional<int64_t> extent = nn::constantOf(shape[i]);
    if (extent && *extent == -1) {
      if (open) {
        call.failAt("shape", "only one dimension can be -1");
        return {};
      }
      open = i;
      continue;
    }
    if (extent && *extent < 0) {
      call.failAt("shape", fmt::format("a dimension cannot be {}", *extent));
      return {};
    }
    others.push_back(shape[i]);
  }
  nn::Dim product = nn::product(others, call.context());
  auto text = [&](nn::Dim dim) { return nn::toString(dim, call.context()); };
  if (open) {
    // total / product: common named dims cancel first, so that a symbolic division leaves no
    // floordiv.
    llvm::SmallVector<nn::Dim> dividend(nn::shapeOf(x));
    llvm::SmallVector<nn::Dim> divisor;
    for (nn::Dim dim : others) {
      auto *same = nn::constantOf(dim) ? dividend.end() : llvm::find(dividend, dim);
      if (same != dividend.end())
        dividend.erase(same);
      else
        divisor.push_back(dim);
    }
    nn::Dim rest = nn::product(dividend, call.context()), by = nn::product(divisor, call.context());
    std::optional<int64_t> factor = by ? nn::constantOf(by) : std::nullopt;
    std::optional<int64_t> constantRest = rest ? nn::constantOf(rest) : std::nullopt;
    bool divides = factor && *factor > 0 && rest &&
                   (constantRest ? *constantRest % *factor == 0
                                 : rest.getLargestKnownDivisor() % *factor == 0);
    if (!divides) {
      call.failAt(
          "shape",
          fmt::format(
              "-1 stands for no whole number: {} has {} elements, the other dimensions take {}",
              nn::describe(x), text(total), text(product)));
      return {};
    }
    shape[*open] = rest.floorDiv(*factor);
    product = total;
  }
  if (!product || product != total) {
    call.failAt("shape", fmt::format("{} has {} elements, the new shape {}", nn::describe(x),
                                     text(total), text(product)));
    return {};
  }
  return call.reshape(call.tensor("x"), shape);
}

OpResults flatten(OpCall &call) {
  mlir::RankedTensorType x = call.tensorType("x");
  if (x.getRank() == 0)
    return call.reshape(call.tensor("x"), {nn::constantDim(call.context(), 1)});
  int64_t first = call.integer("start");
  // A vector has no dimension 1; flattening it from there changes nothing.
  if (x.getRank() == 1 && first == 1)
    return call.tensor("x");
  auto start = call.axis("start", x.getRank());
  auto end = start ? call.axis("end", x.getRank()) : std::nullopt;
  if (!end)
    return {};
  if (*end < *start) {
    call.failAt("start", "start lies behind end");
    return {};
  }
  nn::Shape shape = nn::shapeOf(x), result(shape.begin(), shape.begin() + *start);
  nn::Dim merged =
      nn::product(llvm::ArrayRef<nn::Dim>(shape).slice(*start, *end - *start + 1), call.context());
  if (!merged) {
    call.fail(fmt::format("the flattened dimension of {} is over 2^63", nn::describe(x)));
    return {};
  }
  result.push_back(merged);
  result.append(shape.begin() + *end + 1, shape.end());
  return call.reshape(call.tensor("x"), result);
}

OpResults squeeze(OpCall &call) {
  mlir::RankedTensorType x = call.tensorType("x");
  auto axis = call.axis("axis", x.getRank());
  if (!axis)
    return {};
  nn::Shape shape = nn::shapeOf(x);
  if (nn::constantOf(shape[*axis]) != 1) {
    call.failAt("axis", fmt::format("dimension {} of {} is not 1", *axis, nn::describe(x)));
    return {};
  }
  shape.erase(shape.begin() + *axis);
  return call.reshape(call.tensor("x"), shape);
}

OpResults unsqueeze(OpCall &call) {
  mlir::RankedTensorType x = call.tensorType("x");
  auto axis = call.axis("axis", x.getRank() + 1);
  if (!axis)
    return {};
  nn::Shape shape = nn::shapeOf(x);
  shape.insert(shape.begin() + *axis, nn::constantDim(call.context(), 1));
  return call.reshape(call.tensor("x"), shape);
}

OpResults expand(OpCall &call) {
  mlir::RankedTensorType x = call.tensorType("x");
  nn::Shape from = nn::shapeOf(x);
  llvm::SmallVector<nn::Dim> shape = dimsOf(call, "shape");
  for (size_t i = 0; i < shape.size(); ++i)
    if (nn::constantOf(shape[i]) == -1 && shape.size() - i <= from.size())
      shape[i] = from[from.size() - (shape.size() - i)]; // -1 keeps a dimension, as in PyTorch
  auto broadcast = nn::broadcastShapes(from, shape);
  if (mlir::failed(broadcast) ||
      llvm::ArrayRef<nn::Dim>(*broadcast) != llvm::ArrayRef<nn::Dim>(shape)) {
    call.failAt("shape", fmt::format("{} does not broadcast to this shape", nn::describe(x)));
    return {};
  }
  auto type = nn::tensorType(std::nullopt, shape, x.getElementType());
  if (mlir::failed(type)) {
    call.fail("the result is too large");
    return {};
  }
  return call.createTyped<nn::ExpandOp>(*type, call.tensor("x"));
}

OpResults transpose(OpCall &call) {
  mlir::RankedTensorType x = call.tensorType("x");
  llvm::SmallVector<int64_t> order;
  if (!call.has("axes")) {
    // Without axes: the last two dimensions are swapped, a matrix's transpose.
    if (x.getRank() < 2) {
      call.failAt("x", fmt::format("expected rank 2 or more, found {}", nn::describe(x)));
      return {};
    }
    for (int64_t d = 0; d < x.getRank(); ++d)
      order.push_back(d);
    std::swap(order[x.getRank() - 1], order[x.getRank() - 2]);
  } else {
    auto axes = call.ints("axes", x.getRank(), -x.getRank());
    if (!axes)
      return {};
    llvm::SmallVector<bool> seen(x.getRank());
    for (int64_t axis : *axes) {
      axis = axis < 0 ? axis + x.getRank() : axis;
      if (axis >= x.getRank() || seen[axis]) {
        call.failAt("axes", fmt::format("axes must hold each of 0..{} once", x.getRank() - 1));
        return {};
      }
      seen[axis] = true;
      order.push_back(axis);
    }
  }
  return call.create<nn::TransposeOp>(
      call.tensor("x"), call.attribute("permutation", llvm::ArrayRef<int64_t>(order)));
}

OpResults slice(OpCall &call) {
  size_t rank = call.tensorType("x").getRank();
  auto starts = call.ints("starts", rank, INT64_MIN);
  auto sizes = starts ? call.ints("sizes", rank, -1) : std::nullopt;
  auto steps = sizes ? call.ints("steps", rank, INT64_MIN) : std::nullopt;
  if (!steps)
    return {};
  using Ints = llvm::ArrayRef<int64_t>;
  return call.create<nn::SliceOp>(call.tensor("x"), {call.attribute("starts", Ints(*starts)),
                                                     call.attribute("sizes", Ints(*sizes)),
                                                     call.attribute("steps", Ints(*steps))});
}

OpResults concat(OpCall &call) {
  llvm::SmallVector<mlir::Value> tensors = call.tensors("tensors");
  int64_t rank = mlir::cast<mlir::RankedTensorType>(tensors.front().getType()).getRank();
  auto axis = call.axis("axis", rank);
  if (!axis)
    return {};
  return call.create<nn::ConcatOp>(tensors, call.attribute("axis", *axis));
}

OpResults stack(OpCall &call) {
  llvm::SmallVector<mlir::Value> tensors = call.tensors("tensors");
  int64_t rank = mlir::cast<mlir::RankedTensorType>(tensors.front().getType()).getRank();
  auto axis = call.axis("axis", rank + 1);
  if (!axis)
    return {};
  for (mlir::Value &tensor : tensors) {
    nn::Shape shape = nn::shapeOf(tensor.getType());
    if (tensor.getType() != tensors.front().getType() && &tensor != &tensors.front() &&
        static_cast<int64_t>(shape.size()) != rank) {
      call.failAt("tensors", "all tensors must have one shape");
      return {};
    }
    shape.insert(shape.begin() + *axis, nn::constantDim(call.context(), 1));
    tensor = call.reshape(tensor, shape);
    if (!tensor)
      return {};
  }
  return call.create<nn::ConcatOp>(tensors, call.attribute("axis", *axis));
}

/// More results than any network splits into: each becomes an op of its own.
constexpr int64_t maxParts = 65536;

OpResults split(OpCall &call) {
  mlir::RankedTensorType x = call.tensorType("x");
  auto axis = call.axis("axis", x.getRank());
  auto extent = axis ? call.staticDim("x", *axis, "the dimension that is split") : std::nullopt;
  if (!extent)
    return {};
  llvm::SmallVector<int64_t> parts;
  if (auto *count = call.arg("parts").as<int64_t>()) {
    if (*count < 1 || *count > maxParts || *extent % *count != 0) {
      call.failAt("parts", fmt::format("dimension {} of {} cannot be split into {} equal parts",
                                       *axis, nn::describe(x), *count));
      return {};
    }
    parts.assign(*count, *extent / *count);
  } else {
    CheckedSize sum = 0;
    for (const NnValue &item : **call.arg("parts").as<ListValue>()) {
      parts.push_back(*item.as<int64_t>());
      sum += parts.back();
      if (parts.back() < 1)
        sum = CheckedSize::invalid();
    }
    if (sum.getOr(-1) != *extent) {
      call.failAt("parts", fmt::format("the parts must be positive and add up to {}", *extent));
      return {};
    }
  }
  llvm::SmallVector<int64_t> starts(x.getRank(), 0), sizes(x.getRank(), -1), steps(x.getRank(), 1);
  OpResults results;
  using Ints = llvm::ArrayRef<int64_t>;
  for (int64_t part : parts) {
    sizes[*axis] = part;
    mlir::Value value =
        call.create<nn::SliceOp>(call.tensor("x"), {call.attribute("starts", Ints(starts)),
                                                    call.attribute("sizes", Ints(sizes)),
                                                    call.attribute("steps", Ints(steps))});
    if (!value)
      return {};
    results.values.push_back(value);
    starts[*axis] += part;
  }
  return results;
}

OpResults pad(OpCall &call) {
  mlir::RankedTensorType x = call.tensorType("x");
  auto mode = call.choice("mode", {"constant", "reflect", "replicate", "circular"});
  if (!mode)
    return {};
  auto *pairs = call.arg("padding").as<ListValue>();
  bool wellFormed = pairs && static_cast<int64_t>((*pairs)->size()) <= x.getRank() &&
                    llvm::all_of(**pairs, [](const NnValue &pair) { return pair.as<ListValue>(); });
  if (!wellFormed) {
    call.failAt(
        "padding",
        fmt::format("padding takes pairs [[before, after], ...] for the last dimensions of {}",
                    nn::describe(x)));
    return {};
  }
  llvm::SmallVector<int64_t> begin(x.getRank(), 0), end(x.getRank(), 0);
  size_t first = x.getRank() - (*pairs)->size();
  for (size_t i = 0; i < (*pairs)->size(); ++i) {
    const NnList &pair = **(**pairs)[i].as<ListValue>();
    begin[first + i] = *pair[0].as<int64_t>();
    end[first + i] = *pair[1].as<int64_t>();
  }
  using Ints = llvm::ArrayRef<int64_t>;
  auto modeAttr = nn::PadModeAttr::get(call.context(), static_cast<nn::PadMode>(*mode));
  return call.create<nn::PadOp>(call.tensor("x"),
                                {call.attribute("begin", Ints(begin)),
                                 call.attribute("end", Ints(end)), call.attribute("mode", modeAttr),
                                 call.attribute("value", call.number("value"))});
}

OpResults gather(OpCall &call) {
  auto axis = call.axis("axis", call.tensorType("x").getRank());
  if (!axis)
    return {};
  return call.create<nn::GatherOp>({call.tensor("x"), call.tensor("indices")},
                                   call.attribute("axis", *axis));
}

OpResults resize(OpCall &call) {
  mlir::RankedTensorType x = call.tensorType("x");
  if (x.getRank() < 3 || x.getRank() > 5) {
    call.failAt("x", fmt::format("expected x of rank 3, 4 or 5 [N, C, spatial...], found {}",
                                 nn::describe(x)));
    return {};
  }
  size_t spatialRank = x.getRank() - 2;
  auto mode = call.choice("mode", {"nearest", "linear"});
  auto coordinates = mode
                         ? call.choice("coordinates", {"half_pixel", "align_corners", "asymmetric"})
                         : std::nullopt;
  if (!coordinates)
    return {};
  if (call.has("size") == call.has("scale")) {
    call.fail("give either size or scale");
    return {};
  }
  nn::Shape shape = {nn::dimOf(x, 0), nn::dimOf(x, 1)};
  auto factors = call.ints(call.has("size") ? "size" : "scale", spatialRank, 1);
  if (!factors)
    return {};
  for (size_t i = 0; i < spatialRank; ++i)
    shape.push_back(call.has("size") ? nn::constantDim(call.context(), (*factors)[i])
                                     : nn::dimOf(x, 2 + i) * (*factors)[i]);
  auto type = nn::tensorType(std::nullopt, shape, x.getElementType());
  if (mlir::failed(type)) {
    call.fail("the result is too large");
    return {};
  }
  return call.createTyped<nn::ResizeOp>(
      *type, call.tensor("x"),
      {call.attribute("mode",
                      nn::ResizeModeAttr::get(call.context(), static_cast<nn::ResizeMode>(*mode))),
       call.attribute("coordinates",
                      nn::ResizeCoordinatesAttr::get(
                          call.context(), static_cast<nn::ResizeCoordinates>(*coordinates)))});
}

} // namespace

llvm::ArrayRef<OpEntry> movementOps() {
  static const OpEntry entries[] = {
      {"reshape", "Movement", "x: tensor, shape: dims", "", "",
       "the same elements under another shape; one may be -1", reshape},
      {"flatten", "Movement", "x: tensor, start: int = 1, end: int = -1", "", "",
       "dimensions start..end made one", flatten},
      {"squeeze", "Movement", "x: tensor, axis: int", "", "", "without a dimension of extent 1",
       squeeze},
      {"unsqueeze", "Movement", "x: tensor, axis: int", "", "", "with a new dimension of extent 1",
       unsqueeze},
      {"expand", "Movement", "x: tensor, shape: dims", "", "",
       "broadcast to a shape; -1 keeps a dimension", expand},
      {"transpose", "Movement", "x: tensor, axes: ints? = none", "", "",
       "dimensions in another order; without axes the last two swapped", transpose},
      {"slice", "Movement", "x: tensor, starts: ints, sizes: ints, steps: ints = 1", "", "",
       "a box of x, what x[a:b] means; size -1 is a whole dimension", slice},
      {"concat", "Movement", "tensors: tensors, axis: int = 0", "", "",
       "tensors one after another along a dimension", concat},
      {"stack", "Movement", "tensors: tensors, axis: int = 0", "", "",
       "tensors along a new dimension", stack},
      {"split", "Movement", "x: tensor, parts: ints, axis: int = 0", "", "[parts]",
       "so many equal parts, or parts of these extents: a, b = split(x, 2)", split},
      {"pad", "Movement",
       "x: tensor, padding: padding, mode: string = \"constant\", value: float = 0.0", "", "",
       "a border round the last dimensions: \"constant\", \"reflect\", \"replicate\" or "
       "\"circular\"",
       pad},
      {"gather", "Movement", "x: tensor, indices: tensor, axis: int = 0", "", "",
       "slices of x along axis, chosen by indices, as numpy.take", gather},
      {"resize", "Movement",
       "x: tensor, size: ints? = none, scale: ints? = none, mode: string = \"nearest\", "
       "coordinates: string = "
       "\"half_pixel\"",
       "", "",
       "interpolation of the spatial dimensions: \"nearest\" or \"linear\"; \"half_pixel\", "
       "\"align_corners\" "
       "or \"asymmetric\"",
       resize},
  };
  return entries;
}

} // namespace nncc::frontend
