// Takes an elementwise op with constant operands and leaves the constant result. The op's own
// scalar formula is evaluated by the folders of arith and math, so that a folded value and a
// computed one cannot differ by more than the backend's rounding. Only small tensors are folded:
// larger ones are computed once by the model's prepare function, faster and in parallel.

#include "ir/ConstantFolding.h"
#include "ir/NN.h"
#include "ir/ops/ScalarFormula.h"

#include "mlir/IR/Block.h"

using namespace mlir;
using namespace nncc;
using namespace nncc::nn;

/// Largest result, in elements, that is computed at compile time.
static constexpr int64_t kMaxFoldedElements = 4096;

/// The type in which the formula is evaluated: f16 and bf16 are widened to f32, unsigned integers
/// lose their sign.
static Type evaluationType(Type element) {
  if (auto type = dyn_cast<FloatType>(element))
    return type.getWidth() < 32 ? Float32Type::get(element.getContext()) : element;
  return IntegerType::get(element.getContext(), element.getIntOrFloatBitWidth());
}

static Attribute toEvaluationType(Attribute value, Type type) {
  if (auto number = dyn_cast<FloatAttr>(value)) {
    APFloat wide = number.getValue();
    bool losesInfo;
    wide.convert(cast<FloatType>(type).getFloatSemantics(), APFloat::rmNearestTiesToEven,
                 &losesInfo);
    return FloatAttr::get(type, wide);
  }
  return IntegerAttr::get(type, cast<IntegerAttr>(value).getValue());
}

/// Evaluates the ops of `block` in order, given its arguments; a null attribute when one of them
/// does not fold.
static Attribute evaluate(Block &block, ArrayRef<Attribute> arguments, Value result) {
  llvm::SmallDenseMap<Value, Attribute> known;
  for (auto [argument, value] : llvm::zip_equal(block.getArguments(), arguments))
    known[argument] = value;
  for (Operation &op : block) {
    SmallVector<Attribute> operands;
    for (Value operand : op.getOperands())
      operands.push_back(known.lookup(operand));
    SmallVector<OpFoldResult> folded;
    if (failed(op.fold(operands, folded)) || folded.size() != op.getNumResults())
      return {};
    for (auto [value, fold] : llvm::zip_equal(op.getResults(), folded)) {
      known[value] = isa<Attribute>(fold) ? cast<Attribute>(fold) : known.lookup(cast<Value>(fold));
      if (!known[value])
        return {};
    }
  }
  return known.lookup(result);
}

/// Strides, in elements, with which `operand` is read over the indices of `result`; 0 where it
/// broadcasts.
static SmallVector<int64_t> broadcastStrides(RankedTensorType operand, RankedTensorType result) {
  SmallVector<int64_t> strides(result.getRank(), 0);
  int64_t lead = result.getRank() - operand.getRank(), stride = 1;
  for (int64_t dim = operand.getRank() - 1; dim >= 0; --dim) {
    if (operand.getDimSize(dim) != 1)
      strides[lead + dim] = stride;
    stride *= operand.getDimSize(dim);
  }
  return strides;
}

LogicalResult ConstantFolding::fold(Operation *op, ArrayRef<Attribute> operands,
                                    SmallVectorImpl<OpFoldResult> &results) const {
  auto elementwise = dyn_cast<ElementwiseOpInterface>(op);
  if (!elementwise)
    return failure();
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  if (!type.hasStaticShape() || !isRowMajor(type) ||
      type.getNumElements() == 0 || type.getNumElements() > kMaxFoldedElements)
    return failure();
  SmallVector<DenseElementsAttr> inputs;
  bool allSplat = true;
  for (Attribute operand : operands) {
    auto elements = dyn_cast_if_present<DenseElementsAttr>(operand);
    if (!elements || !isRowMajor(cast<RankedTensorType>(elements.getType())))
      return failure();
    allSplat &= elements.isSplat();
    inputs.push_back(elements);
  }

  Block block;
  SmallVector<Type> evaluationTypes;
  for (DenseElementsAttr input : inputs) {
    evaluationTypes.push_back(evaluationType(input.getElementType()));
    block.addArgument(evaluationTypes.back(), op->getLoc());
  }
  OpBuilder builder(op->getContext());
  builder.setInsertionPointToStart(&block);
  Value formula = elementwise.buildScalar(builder, op->getLoc(), block.getArguments());

  SmallVector<SmallVector<int64_t>> strides;
  for (DenseElementsAttr input : inputs)
    strides.push_back(broadcastStrides(cast<RankedTensorType>(input.getType()), type));
  SmallVector<Attribute> values;
  int64_t count = allSplat ? 1 : type.getNumElements();
  for (int64_t index = 0; index < count; ++index) {
    SmallVector<Attribute> arguments;
    for (auto [input, inputStrides, evaluated] :
         llvm::zip_equal(inputs, strides, evaluationTypes)) {
      int64_t offset = 0, rest = index;
      for (int64_t dim = type.getRank() - 1; dim >= 0; --dim) {
        offset += rest % type.getDimSize(dim) * inputStrides[dim];
        rest /= type.getDimSize(dim);
      }
      arguments.push_back(toEvaluationType(input.getValues<Attribute>()[offset], evaluated));
    }
    Attribute value = evaluate(block, arguments, formula);
    if (!value)
      return failure();
    values.push_back(toEvaluationType(value, type.getElementType()));
  }
  results.push_back(DenseElementsAttr::get(type, values));
  return success();
}
