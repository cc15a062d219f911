// Makes @train_step of @evaluate: the loss and the metrics, the gradients of the parameters that train, and their update. Runs first,
// before the ops are given their meaning in training (ApplyTrainingMode) and before gradients are expanded (ExpandGradients), which
// then see a function like any other.
//
// The parameters that train lie one behind the other in one state, which the model reads through slices, that is, through views; the
// gradients are concatenated in the same order, so that their kernels write them side by side. The update is then a chain of elementwise
// ops on one long vector: one kernel, however many layers there are.

#include "passes/LossScale.h"
#include "passes/Optimizers.h"
#include "passes/ParameterReads.h"
#include "passes/Passes.h"

#include "ir/TensorBuilder.h"

#include "llvm/Support/GlobPattern.h"

namespace nncc::passes {
#define GEN_PASS_DEF_BUILDTRAINSTEP
#include "passes/Passes.h.inc"
} // namespace nncc::passes

using namespace mlir;
using namespace nncc;
using namespace nncc::passes;
using nn::TensorBuilder;

namespace {

RankedTensorType tensorTypeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

/// Running statistics follow the batches, not the loss.
bool isStatistic(Value parameter) {
  return !parameter.use_empty() && llvm::all_of(parameter.getUses(), [](OpOperand &use) {
    return isa<nn::BatchNormOp>(use.getOwner()) && use.getOperandNumber() >= 3;
  });
}

class TrainStepBuilder {
public:
  TrainStepBuilder(ModuleOp module, func::FuncOp step, DictionaryAttr settings)
      : module(module), step(step), settings(settings), state(step), builder(step.getContext()) {}

  LogicalResult build();

private:
  /// Patterns of `setting`, such as freeze; each has to match a parameter.
  FailureOr<SmallVector<llvm::GlobPattern>> patternsOf(DictionaryAttr from, StringRef setting);
  LogicalResult chooseParameters();
  LogicalResult accumulate(TensorBuilder &b, MutableArrayRef<Value> gradients);
  void addGroup(bool decays, ArrayRef<nn::GetParameterOp> members);
  Value flattened(TensorBuilder &b, Value x) {
    return b.reshape(x, RankedTensorType::get({tensorTypeOf(x).getNumElements()}, tensorTypeOf(x).getElementType()));
  }

  struct Group {
    ParameterGroup parameters;
    SmallVector<nn::GetParameterOp> members; ///< in the order in which they lie
  };

  ModuleOp module;
  func::FuncOp step;
  DictionaryAttr settings;
  TrainState state;
  OpBuilder builder;
  SmallVector<nn::GetParameterOp> decaying, others;
  SmallVector<Group> groups;
};

} // namespace

FailureOr<SmallVector<llvm::GlobPattern>> TrainStepBuilder::patternsOf(DictionaryAttr from, StringRef setting) {
  SmallVector<llvm::GlobPattern> patterns;
  auto texts = from.getAs<ArrayAttr>(setting);
  if (!texts)
    return patterns;
  for (auto text : texts.getAsRange<StringAttr>()) {
    llvm::Expected<llvm::GlobPattern> pattern = llvm::GlobPattern::create(text.getValue());
    if (!pattern) {
      step.emitError() << setting << ": \"" << text.getValue() << "\" is no pattern: " << llvm::toString(pattern.takeError());
      return failure();
    }
    if (llvm::none_of(module.getOps<nn::ParameterOp>(),
                      [&](nn::ParameterOp parameter) { return pattern->match(parameter.getSymName()); })) {
      step.emitError() << setting << ": no parameter of the model fits \"" << text.getValue() << "\"; --emit=summary lists them";
      return failure();
    }
    patterns.push_back(std::move(*pattern));
  }
  return patterns;
}

LogicalResult TrainStepBuilder::chooseParameters() {
  auto optimizer = settings.getAs<DictionaryAttr>("optimizer");
  auto frozen = patternsOf(settings, "freeze"), exempt = patternsOf(optimizer, "no_decay");
  if (failed(frozen) || failed(exempt))
    return failure();
  auto matches = [](ArrayRef<llvm::GlobPattern> patterns, StringRef name) {
    return llvm::any_of(patterns, [&](const llvm::GlobPattern &pattern) { return pattern.match(name); });
  };
  for (auto &[name, get] : mergeParameterReads(step.getBody().front())) {
    Type element = tensorTypeOf(get.getResult()).getElementType();
    bool isFrozen = matches(*frozen, name);
    if (isFrozen && isStatistic(get.getResult()))
      get->setAttr(kFrozenAttr, builder.getUnitAttr());
    if (!isa<FloatType>(element) || isStatistic(get.getResult()) || isFrozen)
      continue;
    if (!element.isF32() && !element.isF64())
      return get.emitError() << "parameter '" << name.getValue() << "' has elements of type " << element
                             << ", in which small updates vanish; train it in f32";
    (matches(*exempt, name) ? others : decaying).push_back(get);
  }
  if (decaying.empty() && others.empty())
    return step.emitError("there is no parameter to train: all are frozen, or the loss reads none");
  return success();
}

void TrainStepBuilder::addGroup(bool decays, ArrayRef<nn::GetParameterOp> given) {
  // One state has one element type.
  for (Type element : {Type(builder.getF32Type()), Type(builder.getF64Type())}) {
    // Those that are whole cache lines come first, so that as many as can be begin at one.
    constexpr int64_t kLineElements = 16;
    SmallVector<nn::GetParameterOp> members, uneven;
    for (nn::GetParameterOp get : given) {
      RankedTensorType type = tensorTypeOf(get.getResult());
      if (type.getElementType() == element)
        (type.getNumElements() % kLineElements == 0 ? members : uneven).push_back(get);
    }
    members.append(uneven);
    if (members.empty())
      continue;
    Group &group = groups.emplace_back();
    group.members = members;
    group.parameters.decays = decays;
    group.parameters.suffix = groups.size() == 1 ? "" : "." + std::to_string(groups.size() - 1);
    group.parameters.state = "train.parameters" + group.parameters.suffix;
    int64_t elements = 0;
    SmallVector<StringAttr> names;
    for (nn::GetParameterOp get : members) {
      elements += tensorTypeOf(get.getResult()).getNumElements();
      names.push_back(get.getNameAttr().getAttr());
    }
    group.parameters.values = state.readParameters(group.parameters.state, RankedTensorType::get({elements}, element), names);
  }
}

/// Where several batches make an update: adds the gradients to those of the batches before, leaves the mean of all, and lets the last
/// of them alone change what is written from here on.
LogicalResult TrainStepBuilder::accumulate(TensorBuilder &b, MutableArrayRef<Value> gradients) {
  int64_t batches = batchesPerUpdate(settings);
  if (batches < 1)
    return step.emitError() << "accumulate = " << batches << ": expected the number of batches that make an update, at least 1";
  if (batches == 1)
    return success();
  Value done = state.readNumber(kMicroStepState, b.getI64Type());
  auto number = [&](int64_t value) -> Value {
    return nn::ConstantOp::create(b, DenseElementsAttr::get(tensorTypeOf(done), b.getI64IntegerAttr(value).getValue()));
  };
  Value next = b.add(done, number(1));
  Value isLast = b.create<nn::GreaterEqualOp>(next, number(batches));
  state.write(kMicroStepState, b.create<nn::WhereOp>(isLast, number(0), next));
  for (auto [group, gradient] : llvm::zip(groups, gradients)) {
    std::string name = "train.accumulated_gradient" + group.parameters.suffix;
    Value sum = b.add(state.readLike(name, group.parameters.state), gradient);
    state.write(name, b.create<nn::WhereOp>(isLast, b.scalar(sum, 0.0), sum));
    gradient = b.mul(sum, 1.0 / static_cast<double>(batches));
  }
  state.writeOnlyIf(isLast);
  return success();
}

LogicalResult TrainStepBuilder::build() {
  if (failed(chooseParameters()))
    return failure();
  addGroup(/*decays=*/true, decaying);
  addGroup(/*decays=*/false, others);

  Block &body = step.getBody().front();
  auto exit = cast<func::ReturnOp>(body.getTerminator());
  Location loc = exit.getLoc();
  SmallVector<Value> by;
  for (Group &group : groups) {
    int64_t offset = 0;
    for (nn::GetParameterOp get : group.members) {
      builder.setInsertionPoint(get);
      TensorBuilder b(builder, get.getLoc());
      RankedTensorType type = tensorTypeOf(get.getResult());
      int64_t count = type.getNumElements();
      Value part = b.create<nn::SliceOp>(group.parameters.values, ArrayRef(offset), ArrayRef(count), ArrayRef<int64_t>(1));
      Value parameter = b.reshape(part, type);
      get.getResult().replaceAllUsesWith(parameter);
      get.erase();
      by.push_back(parameter);
      offset += count;
    }
  }

  builder.setInsertionPoint(exit);
  TensorBuilder b(builder, loc);
  Value loss = exit.getOperand(0);
  SmallVector<Type> types = llvm::map_to_vector(by, [](Value value) { return value.getType(); });
  std::optional<LossScale> scale = LossScale::of(settings);
  SmallVector<Value> seeds;
  if (scale)
    seeds.push_back(scale->seed(builder, loc, state, tensorTypeOf(loss)));
  auto gradient = nn::GradientOp::create(builder, loc, types, ValueRange(loss), seeds, by);
  // Reports tell the update by its locations.
  b.setLoc(NameLoc::get(builder.getStringAttr(kUpdateLocation), loc));
  SmallVector<Value> flat;
  size_t next = 0;
  for (Group &group : groups) {
    SmallVector<Value> parts;
    for (size_t i = 0; i < group.members.size(); ++i)
      parts.push_back(flattened(b, gradient.getGradients()[next++]));
    flat.push_back(parts.size() == 1 ? parts[0] : b.create<nn::ConcatOp>(ValueRange(parts), 0));
  }
  if (failed(accumulate(b, flat)))
    return failure();
  if (scale) {
    Value areFinite = scale->areFinite(builder, b.getLoc(), flat);
    scale->unscale(builder, b.getLoc(), state, flat);
    scale->update(builder, b.getLoc(), state, areFinite);
    state.writeOnlyIf(areFinite);
  }
  if (auto clip = settings.getAs<DictionaryAttr>("clip"))
    clipGradients(builder, b.getLoc(), clip, flat);
  Value rate = buildLearningRate(builder, b.getLoc(), state, settings);
  auto optimizer = settings.getAs<DictionaryAttr>("optimizer");
  for (auto [group, gradients] : llvm::zip(groups, flat)) {
    group.parameters.gradients = gradients;
    Value values = buildUpdate(builder, b.getLoc(), state, optimizer, group.parameters, rate);
    state.write(group.parameters.state, values);
  }
  Value count = state.readNumber(kStepState, builder.getI64Type());
  Value one = nn::ConstantOp::create(b, DenseElementsAttr::get(tensorTypeOf(count), builder.getI64IntegerAttr(1).getValue()));
  state.write(kStepState, b.add(count, one));
  return success();
}

namespace {

struct BuildTrainStepPass : passes::impl::BuildTrainStepBase<BuildTrainStepPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto evaluate = module.lookupSymbol<func::FuncOp>(kEvaluateFunction);
    auto settings = module->getAttrOfType<DictionaryAttr>(nn::NNDialect::kTrainAttr);
    if (!evaluate || !settings)
      return;
    OpBuilder builder(evaluate);
    builder.setInsertionPointAfter(evaluate);
    auto step = cast<func::FuncOp>(builder.clone(*evaluate));
    step.setName(kTrainStepFunction);
    if (failed(TrainStepBuilder(module, step, settings).build()))
      signalPassFailure();
  }
};

} // namespace
