// Result types and checks of recurrent layers and attention.

#include "ir/NN.h"
#include "ir/ops/InferenceHelpers.h"

#include <cmath>

using namespace mlir;
using namespace nncc;
using namespace nncc::nn;

//===----------------------------------------------------------------------===//
// nn.rnn, nn.lstm, nn.gru
//===----------------------------------------------------------------------===//

/// Checks the operands that all cells share, and appends the types of y and the final states.
template <typename Adaptor>
static LogicalResult inferRecurrent(std::optional<Location> loc, Adaptor op, int64_t gates,
                                    Value c0, unsigned stateCount, SmallVectorImpl<Type> &types) {
  auto typeOf = [](Value value) { return cast<RankedTensorType>(value.getType()); };
  RankedTensorType x = typeOf(op.getX()), wIh = typeOf(op.getWIh()), wHh = typeOf(op.getWHh());
  MLIRContext *context = x.getContext();
  Type element = x.getElementType();
  SmallVector<Value> others = {op.getWIh(), op.getWHh(), op.getBIh(), op.getBHh(), op.getH0(), c0};
  llvm::erase(others, Value());
  for (Value other : others)
    if (x.getRank() != 3 || typeOf(other).getElementType() != element)
      return emitOptionalError(
          loc, "recurrent_c1: x must have rank 3, and all operands its element type, found ",
          describe(x), " and ", describe(other.getType()));

  int64_t hidden = wHh.getRank() == 2 ? wHh.getDimSize(1) : 0;
  CheckedSize rows = CheckedSize(hidden) * gates;
  if (!wHh.hasStaticShape() || !wIh.hasStaticShape() || wHh.getRank() != 2 || wIh.getRank() != 2 ||
      !rows.valid() || wHh.getDimSize(0) != *rows.get() || wIh.getDimSize(0) != *rows.get() ||
      dimOf(wIh, 1) != dimOf(x, 2))
    return emitOptionalError(loc, "recurrent_c2: with x ", describe(x), ", w_hh must have shape [",
                             gates, " * H, H] and w_ih [", gates, " * H, ",
                             toString(dimOf(x, 2), context), "], found ", describe(wHh), " and ",
                             describe(wIh));
  for (Value bias : {Value(op.getBIh()), Value(op.getBHh())})
    if (bias && typeOf(bias).getShape() != ArrayRef<int64_t>(*rows.get()))
      return emitOptionalError(loc, "recurrent_c3: biases must have shape [", *rows.get(),
                               "], found ", describe(bias.getType()));
  Shape state = {dimOf(x, 0), constantDim(context, hidden)};
  for (Value initial : {Value(op.getH0()), c0})
    if (initial && shapeOf(initial.getType()) != state)
      return emitOptionalError(loc, "recurrent_c4: initial states must have shape [",
                               toString(state[0], context), ", ", hidden, "], found ",
                               describe(initial.getType()));

  if (failed(appendType(loc, {state[0], dimOf(x, 1), state[1]}, element, types)))
    return failure();
  for (unsigned i = 0; i < stateCount; ++i)
    if (failed(appendType(loc, state, element, types)))
      return failure();
  return success();
}

LogicalResult RnnOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc,
                                      ValueRange operands, DictionaryAttr attributes,
                                      OpaqueProperties properties, RegionRange regions,
                                      SmallVectorImpl<Type> &types) {
  return inferRecurrent(loc, Adaptor(operands, attributes, properties, regions), kGates, {}, 1,
                        types);
}

LogicalResult GruOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc,
                                      ValueRange operands, DictionaryAttr attributes,
                                      OpaqueProperties properties, RegionRange regions,
                                      SmallVectorImpl<Type> &types) {
  return inferRecurrent(loc, Adaptor(operands, attributes, properties, regions), kGates, {}, 1,
                        types);
}

LogicalResult LstmOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc,
                                       ValueRange operands, DictionaryAttr attributes,
                                       OpaqueProperties properties, RegionRange regions,
                                       SmallVectorImpl<Type> &types) {
  Adaptor op(operands, attributes, properties, regions);
  return inferRecurrent(loc, op, kGates, op.getC0(), 2, types);
}

//===----------------------------------------------------------------------===//
// nn.recurrence
//===----------------------------------------------------------------------===//

int64_t RecurrenceOp::gateCountOf(RecurrentCell cell) {
  switch (cell) {
  case RecurrentCell::RnnTanh:
  case RecurrentCell::RnnRelu:
    return 1;
  case RecurrentCell::Lstm:
    return 4;
  case RecurrentCell::Gru:
  case RecurrentCell::GruResetBefore:
    return 3;
  }
  llvm_unreachable("every cell has gates");
}

LogicalResult RecurrenceOp::inferReturnTypes(MLIRContext *context, std::optional<Location> loc, ValueRange operands,
                                             DictionaryAttr attributes, OpaqueProperties properties,
                                             RegionRange regions, SmallVectorImpl<Type> &types) {
  RecurrenceOpAdaptor op(operands, attributes, properties, regions);
  auto projected = cast<RankedTensorType>(op.getProjected().getType());
  auto weight = cast<RankedTensorType>(op.getWHh().getType());
  RecurrentCell cell = op.getCell();
  bool isWeight = weight.getRank() == 2 && weight.hasStaticShape() &&
                  weight.getDimSize(0) == gateCountOf(cell) * weight.getDimSize(1);
  if (projected.getRank() != 3 || !isWeight || dimOf(projected, 2) != dimOf(weight, 0))
    return emitOptionalError(loc, "recurrence_c1: projected ", describe(projected), " and w_hh ", describe(weight),
                             " must be [N, T, G * H] and [G * H, H] with G = ", gateCountOf(cell));
  Type element = projected.getElementType();
  for (Value operand : operands)
    if (cast<RankedTensorType>(operand.getType()).getElementType() != element)
      return emitOptionalError(loc, "recurrence_c4: operands must have the element type ", element, ", found ",
                               describe(operand.getType()));
  bool isGru = cell == RecurrentCell::Gru || cell == RecurrentCell::GruResetBefore;
  if (Value bias = op.getBiasHh())
    if (!isGru || shapeOf(bias.getType()) != Shape{dimOf(weight, 0)})
      return emitOptionalError(loc, "recurrence_c2: bias_hh needs a GRU and shape [", weight.getDimSize(0),
                               "], found ", describe(bias.getType()));
  Shape state = {dimOf(projected, 0), dimOf(weight, 1)};
  for (Value initial : {op.getH0(), op.getC0()})
    if (initial && shapeOf(initial.getType()) != state)
      return emitOptionalError(loc, "recurrence_c3: an initial state must have shape [N, H], found ",
                               describe(initial.getType()));
  if (op.getC0() && cell != RecurrentCell::Lstm)
    return emitOptionalError(loc, "recurrence_c3: only an LSTM has c0");
  Shape sequence = {dimOf(projected, 0), dimOf(projected, 1), dimOf(weight, 1)};
  if (failed(appendType(loc, sequence, element, types)) || failed(appendType(loc, state, element, types)))
    return failure();
  return cell == RecurrentCell::Lstm ? appendType(loc, state, element, types) : success();
}

//===----------------------------------------------------------------------===//
// nn.attention
//===----------------------------------------------------------------------===//

LogicalResult AttentionOp::inferReturnTypes(MLIRContext *context, std::optional<Location> loc,
                                            ValueRange operands, DictionaryAttr attributes,
                                            OpaqueProperties properties, RegionRange regions,
                                            SmallVectorImpl<Type> &types) {
  Adaptor op(operands, attributes, properties, regions);
  auto q = cast<RankedTensorType>(op.getQ().getType());
  auto k = cast<RankedTensorType>(op.getK().getType());
  auto v = cast<RankedTensorType>(op.getV().getType());
  auto found = [&] {
    return ", found " + describe(q) + ", " + describe(k) + " and " + describe(v);
  };
  Type element = q.getElementType();
  int64_t rank = q.getRank();
  if (rank < 2 || k.getRank() != rank || v.getRank() != rank || k.getElementType() != element ||
      v.getElementType() != element)
    return emitOptionalError(
        loc, "attention_c1: q, k and v must have one element type and the same rank of at least 2",
        found());
  if (dimOf(q, rank - 1) != dimOf(k, rank - 1) || q.isDynamicDim(rank - 1) ||
      dimOf(k, rank - 2) != dimOf(v, rank - 2))
    return emitOptionalError(loc,
                             "attention_c2: q and k must agree in their last, static dimension, k "
                             "and v in the one before",
                             found());
  for (int64_t dim = 0; dim < rank - 2; ++dim) {
    Dim queries = dimOf(q, dim), keys = dimOf(k, dim);
    auto queryHeads = constantOf(queries), keyHeads = constantOf(keys);
    bool isGrouped =
        dim == rank - 3 && queryHeads && keyHeads && *keyHeads > 0 && *queryHeads % *keyHeads == 0;
    if (keys != dimOf(v, dim) || (queries != keys && !isGrouped))
      return emitOptionalError(loc,
                               "attention_c3: the leading dimensions must be equal, but for q's "
                               "heads, a multiple of k's and v's",
                               found());
  }
  Shape shape = shapeOf(q);
  if (Value mask = op.getMask()) {
    auto type = cast<RankedTensorType>(mask.getType());
    Shape scores = shape;
    scores.back() = dimOf(k, rank - 2);
    FailureOr<Shape> both = broadcastShapes(shapeOf(type), scores);
    bool isMask = type.getElementType().isInteger(1) || type.getElementType() == element;
    if (!isMask || failed(both) || *both != scores) {
      std::string text;
      llvm::raw_string_ostream os(text);
      llvm::interleaveComma(scores, os, [&](Dim dim) { os << toString(dim, context); });
      return emitOptionalError(
          loc, "attention_c4: mask must be bool or have q's element type and broadcast to [", text,
          "], found ", describe(type));
    }
  }
  shape.back() = dimOf(v, rank - 1);
  return appendType(loc, shape, element, types);
}

double AttentionOp::scaleOrDefault() {
  if (std::optional<APFloat> scale = getScale())
    return scale->convertToDouble();
  auto q = cast<RankedTensorType>(getQ().getType());
  return 1.0 / std::sqrt(static_cast<double>(q.getShape().back()));
}
