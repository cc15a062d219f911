// Gives batch norms and dropouts of @train_step the meaning that they have in training. Takes what BuildTrainStep left, whose nn.gradient
// stands behind them still, and leaves ops that mean the same everywhere; ExpandGradients differentiates those.

#include "passes/Passes.h"
#include "passes/TrainState.h"

#include "ir/TensorBuilder.h"

namespace nncc::passes {
#define GEN_PASS_DEF_APPLYTRAININGMODE
#include "passes/Passes.h.inc"
} // namespace nncc::passes

using namespace mlir;
using namespace nncc;
using namespace nncc::passes;
using nn::TensorBuilder;

namespace {

Value cast(TensorBuilder &b, Value x, Type element) {
  return b.typeOf(x).getElementType() == element ? x : b.create<nn::CastOp>(x, TypeAttr::get(element));
}

struct ApplyTrainingModePass : passes::impl::ApplyTrainingModeBase<ApplyTrainingModePass> {
  void runOnOperation() override {
    auto step = getOperation().lookupSymbol<func::FuncOp>(kTrainStepFunction);
    if (!step)
      return;
    TrainState state(step);
    auto train = getOperation()->getAttrOfType<DictionaryAttr>(nn::NNDialect::kTrainAttr);
    auto seed = train ? train.getAs<IntegerAttr>("seed") : IntegerAttr();
    SmallVector<nn::BatchNormOp> norms(step.getOps<nn::BatchNormOp>());
    for (nn::BatchNormOp norm : norms)
      useBatchStatistics(norm, state);
    step.walk([](nn::GetParameterOp get) { get->removeAttr(kFrozenAttr); });
    for (auto &[name, value] : running)
      state.write(name.getValue(), value);
    SmallVector<nn::DropoutOp> dropouts(step.getOps<nn::DropoutOp>());
    for (auto [number, dropout] : llvm::enumerate(dropouts))
      drop(dropout, number, state, train, seed ? static_cast<double>(seed.getInt()) : 0.0);
  }

private:
  /// A batch norm whose statistics are no parameters, or frozen ones, stays as it is.
  void useBatchStatistics(nn::BatchNormOp norm, TrainState &state) {
    auto mean = norm.getMean().getDefiningOp<nn::GetParameterOp>();
    auto variance = norm.getVariance().getDefiningOp<nn::GetParameterOp>();
    if (!mean || !variance || mean->hasAttr(kFrozenAttr) || variance->hasAttr(kFrozenAttr))
      return;
    OpBuilder builder(norm);
    TensorBuilder b(builder, norm.getLoc());
    Value x = norm.getX();
    Type element = b.typeOf(x).getElementType();
    if (b.typeOf(x).getElementTypeBitWidth() < 32)
      x = cast(b, x, b.getF32Type());
    int64_t rank = b.rankOf(x);
    SmallVector<int64_t> axes = nn::dimsBetween(0, rank);
    axes.erase(axes.begin() + 1);
    Value batchMean = b.create<nn::ReduceMeanOp>(x, axes, /*keepdims=*/false);
    Value centred = b.sub(x, b.alongDim(batchMean, 1, rank));
    Value batchVariance = b.create<nn::ReduceMeanOp>(b.create<nn::SquareOp>(centred), axes, /*keepdims=*/false);

    double momentum = norm.getMomentum().convertToDouble();
    auto follow = [&](nn::GetParameterOp parameter, Value batch) {
      StringAttr name = parameter.getNameAttr().getAttr();
      auto [entry, isNew] = running.insert({name, Value()});
      if (isNew)
        entry->second = state.readParameter(name, b.typeOf(parameter.getResult()));
      Value now = entry->second;
      Value change = b.sub(cast(b, batch, b.typeOf(now).getElementType()), now);
      entry->second = b.add(now, b.mul(change, momentum));
    };
    follow(mean, batchMean);
    // The unbiased one: n / (n - 1), which is 1 for the batch of one number that has no variance.
    Value count = b.reshape(b.count(x, axes), SmallVector<nn::Dim>{nn::constantDim(b.getContext(), 1)});
    Value others = b.create<nn::MaxOp>(b.sub(count, b.scalar(count, 1.0)), b.scalar(count, 1.0));
    follow(variance, b.mul(batchVariance, b.div(count, others)));

    norm.getMeanMutable().assign(cast(b, batchMean, element));
    norm.getVarianceMutable().assign(cast(b, batchVariance, element));
    norm.setBatchStatistics(true);
  }

  void drop(nn::DropoutOp dropout, size_t number, TrainState &state, DictionaryAttr train, double seed) {
    double p = dropout.getP().convertToDouble();
    OpBuilder builder(dropout);
    TensorBuilder b(builder, dropout.getLoc());
    Value x = dropout.getX();
    Type index = b.getI64Type();
    Value element = b.create<nn::IotaOp>(b.typeOf(x).clone(index));
    Value seedValue = state.readNumber(kSeedState, index, seed), step = readCallCount(builder, dropout.getLoc(), state, train);
    Value random = b.create<nn::RandomUniformOp>(element, seedValue, step, b.getI64IntegerAttr(number));
    Value isKept = b.create<nn::GreaterEqualOp>(random, b.scalar(random, p));
    Value factor = b.create<nn::WhereOp>(isKept, b.scalar(x, p < 1.0 ? 1.0 / (1.0 - p) : 0.0), b.scalar(x, 0.0));
    dropout.getResult().replaceAllUsesWith(b.mul(x, factor));
    dropout.erase();
  }

  llvm::MapVector<StringAttr, Value> running; ///< statistics as they stand behind the norms seen so far
};

} // namespace
