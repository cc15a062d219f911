// Arguments, results and declarations of states; see TrainState.h.

#include "passes/TrainState.h"
#include "passes/LossScale.h"
#include "ir/TensorBuilder.h"

using namespace mlir;
using namespace nncc;
using namespace nncc::passes;

nn::StateOp TrainState::declare(StringRef name, RankedTensorType type) {
  if (auto state = module.lookupSymbol<nn::StateOp>(name))
    return state;
  OpBuilder builder(module.getContext());
  // Behind parameters and other states.
  builder.setInsertionPointToStart(module.getBody());
  for (Operation &op : *module.getBody())
    if (isa<nn::ParameterOp, nn::StateOp>(op))
      builder.setInsertionPointAfter(&op);
  return nn::StateOp::create(builder, step.getLoc(), builder.getStringAttr(name), TypeAttr::get(type), builder.getF64FloatAttr(0.0),
                             /*parts=*/ArrayAttr(), /*like=*/FlatSymbolRefAttr());
}

Value TrainState::argument(StringRef name, RankedTensorType type) {
  for (BlockArgument argument : step.getArguments()) {
    auto state = step.getArgAttrOfType<StringAttr>(argument.getArgNumber(), nn::NNDialect::kStateAttr);
    if (state && state.getValue() == name)
      return argument;
  }
  Builder builder(step.getContext());
  auto attributes = builder.getDictionaryAttr(builder.getNamedAttr(nn::NNDialect::kStateAttr, builder.getStringAttr(name)));
  [[maybe_unused]] LogicalResult inserted = step.insertArgument(step.getNumArguments(), type, attributes, step.getLoc());
  assert(succeeded(inserted) && "a function type without varargs takes arguments");
  return step.getArguments().back();
}

Value TrainState::read(StringRef name, RankedTensorType type, double init) {
  declare(name, type).setInit(APFloat(init));
  return argument(name, type);
}

Value TrainState::readParameters(StringRef name, RankedTensorType type, ArrayRef<StringAttr> parts) {
  SmallVector<Attribute> references;
  for (StringAttr part : parts)
    references.push_back(FlatSymbolRefAttr::get(part));
  declare(name, type).setPartsAttr(ArrayAttr::get(step.getContext(), references));
  return argument(name, type);
}

Value TrainState::readLike(StringRef name, StringRef parameters, double init) {
  RankedTensorType type = module.lookupSymbol<nn::StateOp>(parameters).getTensorType();
  nn::StateOp state = declare(name, type);
  state.setInit(APFloat(init));
  state.setLikeAttr(FlatSymbolRefAttr::get(step.getContext(), parameters));
  return argument(name, type);
}

void TrainState::writeOnlyIf(Value condition) {
  if (isWritten) {
    OpBuilder at(step.getBody().front().getTerminator());
    condition = nn::TensorBuilder(at, step.getLoc()).create<nn::AndOp>(isWritten, condition);
  }
  isWritten = condition;
}

void TrainState::write(StringRef name, Value value) {
  if (isWritten) {
    OpBuilder at(step.getBody().front().getTerminator());
    value = nn::TensorBuilder(at, step.getLoc()).create<nn::WhereOp>(isWritten, value, argument(name, cast<RankedTensorType>(value.getType())));
  }
  Builder builder(step.getContext());
  auto attributes = builder.getDictionaryAttr(builder.getNamedAttr(nn::NNDialect::kStateAttr, builder.getStringAttr(name)));
  [[maybe_unused]] LogicalResult inserted = step.insertResult(step.getNumResults(), value.getType(), attributes);
  assert(succeeded(inserted) && "a function type takes results");
  auto exit = cast<func::ReturnOp>(step.getBody().front().getTerminator());
  exit.getOperandsMutable().append(value);
}

int64_t passes::batchesPerUpdate(DictionaryAttr settings) {
  auto accumulate = settings ? settings.getAs<IntegerAttr>("accumulate") : IntegerAttr();
  return accumulate ? accumulate.getInt() : 1;
}

Value passes::readCallCount(OpBuilder &builder, Location loc, TrainState &state, DictionaryAttr settings) {
  nn::TensorBuilder b(builder, loc);
  Value updates = state.readNumber(kStepState, b.getI64Type());
  if (settings && LossScale::of(settings))
    updates = b.add(updates, state.readNumber(kSkippedState, b.getI64Type()));
  int64_t batches = batchesPerUpdate(settings);
  if (batches == 1)
    return updates;
  auto scalar = cast<RankedTensorType>(updates.getType());
  Value factor = nn::ConstantOp::create(builder, loc, DenseElementsAttr::get(scalar, b.getI64IntegerAttr(batches).getValue()));
  return b.add(b.mul(updates, factor), state.readNumber(kMicroStepState, b.getI64Type()));
}
