// Recurrent layers and attention. A recurrent call of several layers or both directions becomes one
// op per layer and direction, with PyTorch's parameter names (weight_ih_l0, weight_hh_l0_reverse,
// ...) and initialiser, uniform within 1 / sqrt(hidden).
#include "frontend/nn/OpCall.h"

#include <fmt/format.h>

#include <cmath>

namespace nncc::frontend {

namespace {

using Ints = llvm::ArrayRef<int64_t>;

mlir::RankedTensorType typeOf(mlir::Value value) {
  return mlir::cast<mlir::RankedTensorType>(value.getType());
}

mlir::Value transposeTo(OpCall &call, mlir::Value x, Ints permutation) {
  return call.create<nn::TransposeOp>(x, call.attribute("permutation", permutation));
}

/// Part `index` of `count` equal parts of a dimension.
mlir::Value partOf(OpCall &call, mlir::Value x, int64_t axis, int64_t index, int64_t extent) {
  int64_t rank = typeOf(x).getRank();
  llvm::SmallVector<int64_t> starts(rank, 0), sizes(rank, -1), steps(rank, 1);
  starts[axis] = index * extent;
  sizes[axis] = extent;
  return call.create<nn::SliceOp>(x, {call.attribute("starts", Ints(starts)),
                                      call.attribute("sizes", Ints(sizes)),
                                      call.attribute("steps", Ints(steps))});
}

nn::Dim fixed(OpCall &call, int64_t extent) { return nn::constantDim(call.context(), extent); }

/// One layer in one direction, being built.
struct Direction {
  mlir::Value x;
  int64_t layer;
  bool reverse;
  mlir::Value h0, c0; // may be null
};

template <typename Op>
llvm::SmallVector<mlir::Value, 3> buildDirection(OpCall &call, const Direction &direction,
                                                 int64_t hidden, bool bias,
                                                 mlir::NamedAttribute extra) {
  mlir::RankedTensorType type = typeOf(direction.x);
  mlir::Type element = type.getElementType();
  std::optional<int64_t> inputs = nn::constantOf(nn::dimOf(type, 2));
  if (!inputs) {
    call.failAt(
        "x",
        fmt::format(
            "the number of features (the last dimension) must be known when the model is compiled, "
            "found {}",
            nn::describe(type)));
    return {};
  }
  double bound = 1.0 / std::sqrt(static_cast<double>(hidden));
  InitValue init{"uniform", -bound, bound};
  std::string suffix = fmt::format("_l{}{}", direction.layer, direction.reverse ? "_reverse" : "");
  CheckedSize rows = CheckedSize(Op::kGates) * hidden;
  if (!rows.valid()) {
    call.failAt("hidden", "hidden is too large");
    return {};
  }
  int64_t gateRows = *rows.get();
  llvm::SmallVector<mlir::Value> operands = {
      direction.x, call.parameter("weight_ih" + suffix, {gateRows, *inputs}, element, init),
      call.parameter("weight_hh" + suffix, {gateRows, hidden}, element, init)};
  if (bias) {
    operands.push_back(call.parameter("bias_ih" + suffix, {gateRows}, element, init));
    operands.push_back(call.parameter("bias_hh" + suffix, {gateRows}, element, init));
  }
  if (llvm::is_contained(operands, mlir::Value()))
    return {};
  bool isLstm = std::is_same_v<Op, nn::LstmOp>;
  llvm::SmallVector<int32_t> segments = {1, 1, 1, bias, bias, direction.h0 != nullptr};
  if (direction.h0)
    operands.push_back(direction.h0);
  if (isLstm)
    segments.push_back(direction.c0 != nullptr);
  if (direction.c0)
    operands.push_back(direction.c0);
  llvm::SmallVector<mlir::NamedAttribute> attributes = {call.attribute(
      "operandSegmentSizes", mlir::DenseI32ArrayAttr::get(call.context(), segments))};
  if (direction.reverse)
    attributes.push_back(call.unit("reverse"));
  if (extra.getValue())
    attributes.push_back(extra);
  return call.createAll<Op>(operands, attributes);
}

/// States [layers * directions, N, H] as PyTorch gives them.
mlir::Value stackStates(OpCall &call, llvm::SmallVectorImpl<mlir::Value> &states) {
  for (mlir::Value &state : states) {
    nn::Shape shape = nn::shapeOf(state.getType());
    shape.insert(shape.begin(), fixed(call, 1));
    state = call.reshape(state, shape);
    if (!state)
      return {};
  }
  return states.size() == 1 ? states.front()
                            : call.create<nn::ConcatOp>(states, call.attribute("axis", int64_t(0)));
}

/// An initial state of one layer and direction, [N, H], from the argument [layers * directions, N,
/// H].
std::optional<mlir::Value> initialState(OpCall &call, llvm::StringRef name, int64_t index,
                                        int64_t count) {
  if (!call.info().find(std::string_view(name)) || !call.has(name))
    return mlir::Value();
  mlir::RankedTensorType type = call.tensorType(name);
  if (type.getRank() != 3 || nn::constantOf(nn::dimOf(type, 0)) != count)
    return call.failAt(name, fmt::format("expected {} of shape [{}, N, hidden], found {}",
                                         name.str(), count, nn::describe(type)));
  mlir::Value part = count == 1 ? call.tensor(name) : partOf(call, call.tensor(name), 0, index, 1);
  if (!part)
    return std::nullopt;
  mlir::Value state = call.reshape(part, {nn::dimOf(type, 1), nn::dimOf(type, 2)});
  return state ? std::optional(state) : std::nullopt;
}

/// Deeper than any recurrent network; each layer becomes ops and parameters of its own.
constexpr int64_t maxLayers = 1024;

template <typename Op> OpResults recurrent(OpCall &call) {
  if (!call.expectRank("x", 3, call.flag("batch_first") ? "[N, T, features]" : "[T, N, features]"))
    return {};
  auto hidden = call.integerFrom("hidden", 1);
  auto layers = hidden ? call.integerFrom("layers", 1) : std::nullopt;
  if (!layers)
    return {};
  if (*layers > maxLayers) {
    call.failAt("layers", fmt::format("layers must be at most {}, found {}", maxLayers, *layers));
    return {};
  }
  mlir::NamedAttribute extra{mlir::StringAttr::get(call.context(), "none"), nullptr};
  if constexpr (std::is_same_v<Op, nn::RnnOp>) {
    auto activation = call.choice("activation", {"tanh", "relu"});
    if (!activation)
      return {};
    extra = call.attribute(
        "activation",
        nn::RnnActivationAttr::get(call.context(), static_cast<nn::RnnActivation>(*activation)));
  }
  mlir::Value x = call.tensor("x");
  if (!call.flag("batch_first"))
    x = transposeTo(call, x, {1, 0, 2});
  int64_t directions = call.flag("bidirectional") ? 2 : 1;
  llvm::SmallVector<mlir::Value> hStates, cStates;
  for (int64_t layer = 0; x && layer < *layers; ++layer) {
    if (layer > 0 && call.number("dropout") > 0)
      x = call.create<nn::DropoutOp>(x, call.attribute("p", call.number("dropout")));
    llvm::SmallVector<mlir::Value> outputs;
    for (int64_t d = 0; x && d < directions; ++d) {
      auto h0 = initialState(call, "h0", layer * directions + d, *layers * directions);
      auto c0 = h0 ? initialState(call, "c0", layer * directions + d, *layers * directions)
                   : std::nullopt;
      if (!c0)
        return {};
      auto results =
          buildDirection<Op>(call, {x, layer, d == 1, *h0, *c0}, *hidden, call.flag("bias"), extra);
      if (results.empty())
        return {};
      outputs.push_back(results[0]);
      hStates.push_back(results[1]);
      if (results.size() > 2)
        cStates.push_back(results[2]);
    }
    x = outputs.size() == 1
            ? outputs.front()
            : call.create<nn::ConcatOp>(outputs, call.attribute("axis", int64_t(2)));
  }
  if (x && !call.flag("batch_first"))
    x = transposeTo(call, x, {1, 0, 2});
  if (!x)
    return {};
  OpResults results(x);
  results.values.push_back(stackStates(call, hStates));
  if (!cStates.empty())
    results.values.push_back(stackStates(call, cStates));
  return llvm::is_contained(results.values, mlir::Value()) ? OpResults() : results;
}

/// Keras' SimpleRNN: kernel [I, H], recurrent_kernel [H, H] and one bias.
OpResults simpleRnn(OpCall &call) {
  if (!call.expectRank("x", 3, "[N, T, features]"))
    return {};
  auto units = call.integerFrom("units", 1);
  auto inputs =
      units ? call.staticDim("x", 2, "the number of features (the last dimension)") : std::nullopt;
  if (!inputs)
    return {};
  mlir::Type element = call.tensorType("x").getElementType();
  // Keras' initialisers; its orthogonal recurrent kernel is replaced by a uniform one of the same
  // variance.
  double kernelBound = std::sqrt(6.0 / static_cast<double>(*inputs + *units));
  double recurrentBound = std::sqrt(3.0 / static_cast<double>(*units));
  mlir::Value kernel =
      call.parameter("kernel", {*inputs, *units}, element, {"uniform", -kernelBound, kernelBound});
  mlir::Value recurrent = call.parameter("recurrent_kernel", {*units, *units}, element,
                                         {"uniform", -recurrentBound, recurrentBound});
  if (!kernel || !recurrent)
    return {};
  kernel = transposeTo(call, kernel, {1, 0});
  recurrent = transposeTo(call, recurrent, {1, 0});
  if (!kernel || !recurrent)
    return {};
  llvm::SmallVector<mlir::Value> operands = {call.tensor("x"), kernel, recurrent};
  if (call.flag("bias")) {
    operands.push_back(call.parameter("bias", {*units}, element, {"zeros", 0, 0}));
    if (!operands.back())
      return {};
  }
  auto activation = call.choice("activation", {"tanh", "relu"});
  if (!activation)
    return {};
  llvm::SmallVector<int32_t> segments = {1, 1, 1, call.flag("bias"), 0, 0};
  auto results = call.createAll<nn::RnnOp>(
      operands, {call.attribute("operandSegmentSizes",
                                mlir::DenseI32ArrayAttr::get(call.context(), segments)),
                 call.attribute("activation",
                                nn::RnnActivationAttr::get(
                                    call.context(), static_cast<nn::RnnActivation>(*activation)))});
  return OpResults(llvm::ArrayRef<mlir::Value>(results));
}

mlir::Value attend(OpCall &call, mlir::Value q, mlir::Value k, mlir::Value v, mlir::Value mask) {
  llvm::SmallVector<mlir::Value> operands = {q, k, v};
  if (mask)
    operands.push_back(mask);
  llvm::SmallVector<mlir::NamedAttribute> attributes;
  if (call.info().find("scale") && call.has("scale"))
    attributes.push_back(call.attribute("scale", call.number("scale")));
  if (call.flag("causal"))
    attributes.push_back(call.unit("causal"));
  return call.create<nn::AttentionOp>(operands, attributes);
}

OpResults attention(OpCall &call) {
  return attend(call, call.tensor("q"), call.tensor("k"), call.tensor("v"), call.tensor("mask"));
}

/// PyTorch's nn.MultiheadAttention, batch first. One product projects all three of q, k and v where
/// they are one tensor.
OpResults multiHeadAttention(OpCall &call) {
  mlir::Value inputs[3] = {call.tensor("query"), call.tensor("key"), call.tensor("value")};
  for (llvm::StringRef name : {"query", "key", "value"})
    if (!call.expectRank(name, 3, "[N, T, features]"))
      return {};
  auto width = call.staticDim("query", 2, "the number of features (the last dimension)");
  auto heads = width ? call.integerFrom("heads", 1) : std::nullopt;
  if (!heads)
    return {};
  if (*width % *heads != 0) {
    call.failAt("heads",
                fmt::format("heads must divide the {} features, found {}", *width, *heads));
    return {};
  }
  for (llvm::StringRef name : {"key", "value"})
    if (nn::constantOf(nn::dimOf(call.tensorType(name), 2)) != *width) {
      call.failAt(name, fmt::format("expected {} features as in query, found {}", *width,
                                    nn::describe(call.tensorType(name))));
      return {};
    }
  if (call.has("mask") && call.has("key_mask")) {
    call.failAt("key_mask", "give either mask or key_mask; combine them with 'and' before");
    return {};
  }
  mlir::Type element = call.tensorType("query").getElementType();
  double xavier = std::sqrt(6.0 / static_cast<double>(4 * *width));
  double kaiming = 1.0 / std::sqrt(static_cast<double>(*width));
  bool bias = call.flag("bias");
  mlir::Value weight =
      call.parameter("in_proj_weight", {3 * *width, *width}, element, {"uniform", -xavier, xavier});
  mlir::Value inBias = bias && weight
                           ? call.parameter("in_proj_bias", {3 * *width}, element, {"zeros", 0, 0})
                           : nullptr;
  if (!weight || (bias && !inBias))
    return {};

  auto project = [&](mlir::Value x, mlir::Value w, mlir::Value b) {
    llvm::SmallVector<mlir::Value> operands = {x, w};
    if (b)
      operands.push_back(b);
    return call.create<nn::MatmulOp>(operands, call.unit("transpose_rhs"));
  };
  bool oneInput = inputs[0] == inputs[1] && inputs[1] == inputs[2];
  mlir::Value together = oneInput ? project(inputs[0], weight, inBias) : mlir::Value();
  mlir::Value split[3];
  for (int64_t i = 0; i < 3; ++i) {
    mlir::Value part;
    if (oneInput) {
      part = together ? partOf(call, together, 2, i, *width) : mlir::Value();
    } else {
      mlir::Value w = partOf(call, weight, 0, i, *width);
      mlir::Value b = inBias ? partOf(call, inBias, 0, i, *width) : mlir::Value();
      part = w && (b || !inBias) ? project(inputs[i], w, b) : mlir::Value();
    }
    if (!part)
      return {};
    nn::Shape shape = nn::shapeOf(part.getType());
    part =
        call.reshape(part, {shape[0], shape[1], fixed(call, *heads), fixed(call, *width / *heads)});
    split[i] = part ? transposeTo(call, part, {0, 2, 1, 3}) : mlir::Value();
    if (!split[i])
      return {};
  }
  mlir::Value mask = call.tensor("mask");
  if (call.has("key_mask")) {
    if (!call.expectRank("key_mask", 2, "[N, T]"))
      return {};
    nn::Shape shape = nn::shapeOf(call.tensorType("key_mask"));
    mask =
        call.reshape(call.tensor("key_mask"), {shape[0], fixed(call, 1), fixed(call, 1), shape[1]});
    if (!mask)
      return {};
  }
  mlir::Value mixed = attend(call, split[0], split[1], split[2], mask);
  mixed = mixed ? transposeTo(call, mixed, {0, 2, 1, 3}) : mixed;
  if (!mixed)
    return {};
  mixed = call.reshape(mixed, nn::shapeOf(inputs[0].getType()));
  mlir::Value outWeight =
      call.parameter("out_proj.weight", {*width, *width}, element, {"uniform", -kaiming, kaiming});
  mlir::Value outBias = bias && outWeight
                            ? call.parameter("out_proj.bias", {*width}, element, {"zeros", 0, 0})
                            : nullptr;
  if (!mixed || !outWeight || (bias && !outBias))
    return {};
  return project(mixed, outWeight, outBias);
}

} // namespace

llvm::ArrayRef<OpEntry> sequenceOps() {
  static constexpr std::string_view weights = "weight_ih_l0, weight_hh_l0, bias_ih_l0, bias_hh_l0";
  static const OpEntry entries[] = {
      {"rnn", "Sequences",
       "x: tensor, hidden: int, layers: int = 1, bias: bool = true, bidirectional: bool = false, "
       "batch_first: bool = "
       "true, dropout: float = 0.0, activation: string = \"tanh\", h0: tensor? = none",
       weights, "y, h", "PyTorch's RNN over [N, T, features]", recurrent<nn::RnnOp>},
      {"lstm", "Sequences",
       "x: tensor, hidden: int, layers: int = 1, bias: bool = true, bidirectional: bool = false, "
       "batch_first: bool = "
       "true, dropout: float = 0.0, h0: tensor? = none, c0: tensor? = none",
       weights, "y, h, c", "PyTorch's LSTM over [N, T, features]", recurrent<nn::LstmOp>},
      {"gru", "Sequences",
       "x: tensor, hidden: int, layers: int = 1, bias: bool = true, bidirectional: bool = false, "
       "batch_first: bool = "
       "true, dropout: float = 0.0, h0: tensor? = none",
       weights, "y, h", "PyTorch's GRU over [N, T, features]", recurrent<nn::GruOp>},
      {"simple_rnn", "Sequences",
       "x: tensor, units: int, bias: bool = true, activation: string = \"tanh\"",
       "kernel, recurrent_kernel, bias", "y, h", "Keras' SimpleRNN over [N, T, features]",
       simpleRnn},
      {"attention", "Sequences",
       "q: tensor, k: tensor, v: tensor, mask: tensor? = none, scale: float? = none, causal: bool "
       "= false",
       "", "",
       "softmax(q @ k.T * scale + mask) @ v; a bool mask keeps where it is true, scale none is 1 / "
       "sqrt(D)",
       attention},
      {"multi_head_attention", "Sequences",
       "query: tensor, key: tensor, value: tensor, heads: int, mask: tensor? = none, key_mask: "
       "tensor? = none, "
       "causal: bool = false, bias: bool = true",
       "in_proj_weight, in_proj_bias, out_proj.weight, out_proj.bias", "",
       "PyTorch's MultiheadAttention over [N, T, features]; key_mask [N, T] is true where a key "
       "may be seen",
       multiHeadAttention},
  };
  return entries;
}

} // namespace nncc::frontend
