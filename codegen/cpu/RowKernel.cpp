// The frame of softmax and the normalisations; see RowKernel.h.

#include "codegen/cpu/RowKernel.h"

using namespace mlir;
using namespace nncc;
using namespace nncc::codegen;

static VectorType computeType(Operation *anchor, int64_t lanes) {
  Type element = cast<RankedTensorType>(anchor->getOperand(0).getType()).getElementType();
  return VectorType::get({lanes}, wideType(element));
}

static unsigned rankOf(Value tensor) { return cast<RankedTensorType>(tensor.getType()).getRank(); }

RowKernel::RowKernel(KernelBuilder &b, nn::KernelOp kernel, ArrayRef<LoopDim> loops,
                     ArrayRef<bool> swept, bool keepsValues)
    : b(b), kernel(kernel), anchor(nn::anchorOf(kernel)),
      sweep(b, loops, swept, rankOf(anchor->getOperand(0)),
            b.target.lanes(widestElementBits(kernel))),
      type(computeType(anchor, sweep.laneCount())), keepsInput(!isa<BlockArgument>(anchor->getOperand(0))),
      keepsValues(keepsInput || keepsValues) {}

nn::Dim RowKernel::scratchBytes() const {
  MLIRContext *context = b.getContext();
  if (!keepsValues)
    return nn::constantDim(context, 0);
  int64_t bytes = type.getElementTypeBitWidth() / 8 * sweep.lanesPerElement();
  return nn::product({sweep.elementsPerGroup(), nn::constantDim(context, bytes)}, context);
}

void RowKernel::begin(StringRef symbol) {
  b.beginKernel(symbol);
  operands.emplace(b, kernel);
}

void RowKernel::end() { b.endKernel(operands->status()); }

Value RowKernel::input(const Place &place) {
  return ElementReader(*operands, sweep.laneCount(), place.mask)
      .readWide(anchor->getOperand(0), place.index, place.laneDim);
}

Value RowKernel::scratchAt(const Place &place) {
  return b.offset(b.scratch, type.getElementType(),
                  b.mul(place.number, b.i64(sweep.lanesPerElement())));
}

Value RowKernel::kept(const Place &place) { return b.loadVector(type, scratchAt(place), place.mask); }

void RowKernel::keep(const Place &place, Value value) {
  b.storeVector(value, scratchAt(place), place.mask);
}

Value RowKernel::firstInput(const Place &place) {
  Value value = input(place);
  if (keepsInput)
    keep(place, value);
  return value;
}

Value RowKernel::inputAgain(const Place &place) { return keepsInput ? kept(place) : input(place); }

Value RowKernel::sum(function_ref<Value(const Place &)> term, int64_t chains) {
  Value zero = arith::ConstantOp::create(b, b.getZeroAttr(type));
  return sweep.reduce(
      zero, [&](const Place &place) { return AxisSweep::Values{term(place)}; },
      [&](ValueRange x, ValueRange y) {
        return AxisSweep::Values{arith::AddFOp::create(b, x[0], y[0])};
      },
      chains)[0];
}

void RowKernel::finish(const Place &place, Value anchorResult, Value inputValue) {
  ElementReader reader(*operands, sweep.laneCount(), place.mask);
  reader.bind(anchor->getResult(0), anchorResult);
  if (inputValue)
    reader.bind(anchor->getOperand(0), inputValue);
  // Everything is read before anything is written: a result may share the buffer of an operand.
  SmallVector<Value> values;
  for (unsigned i = 0; i < kernel.getNumResults(); ++i)
    values.push_back(reader.read(operands->yielded(i), place.index, place.laneDim));
  for (auto [i, value] : llvm::enumerate(values))
    operands->store(i, place.index, value, place.laneDim, place.mask);
}
