// Costs of ops; see Cost.h.

#include "ir/Cost.h"

#include "ir/Kernel.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace nncc;
using namespace nncc::nn;

static Dim elementsOf(Value value) {
  return product(shapeOf(value.getType()), value.getContext());
}

/// elements(value) * factor.
static Dim perElement(Value value, CheckedSize factor) {
  if (!factor.valid())
    return {};
  return product({elementsOf(value), constantDim(value.getContext(), *factor.get())}, value.getContext());
}

static Dim sum(Dim a, Dim b) { return a && b ? a + b : Dim(); }

static Dim contraction(Value result, Dim macsPerElement, bool hasBias) {
  if (!macsPerElement)
    return {};
  Dim flops = product({elementsOf(result), macsPerElement, constantDim(result.getContext(), 2)},
                      result.getContext());
  return hasBias ? sum(flops, elementsOf(result)) : flops;
}

Dim nn::flopsOf(Operation *op) {
  MLIRContext *context = op->getContext();
  auto window = [&](auto pool) {
    CheckedSize positions = 1;
    for (int64_t extent : pool.getKernel())
      positions *= extent;
    return perElement(pool.getResult(), positions);
  };
  return llvm::TypeSwitch<Operation *, Dim>(op)
      .Case<KernelOp>([&](KernelOp kernel) {
        Dim total = constantDim(context, 0);
        for (Operation &inner : kernel.getBlock().without_terminator())
          total = sum(total, flopsOf(&inner));
        return total;
      })
      .Case<ConvOp>([&](ConvOp conv) {
        // Every output element sums over the weight's extents but the first.
        Shape taps = shapeOf(conv.getWeight().getType());
        return contraction(conv.getResult(), product(ArrayRef<Dim>(taps).drop_front(), context),
                           static_cast<bool>(conv.getBias()));
      })
      .Case<MatmulOp>([&](MatmulOp matmul) {
        Shape lhs = shapeOf(matmul.getLhs().getType());
        return contraction(matmul.getResult(), lhs[lhs.size() - (matmul.getTransposeLhs() ? 2 : 1)],
                           static_cast<bool>(matmul.getBias()));
      })
      .Case<ConvTransposeOp>([&](ConvTransposeOp conv) {
        // Every input element goes into the weight's extents but the first.
        Shape taps = shapeOf(conv.getWeight().getType());
        Dim flops = product({elementsOf(conv.getX()), product(ArrayRef<Dim>(taps).drop_front(), context),
                             constantDim(context, 2)},
                            context);
        return conv.getBias() ? sum(flops, elementsOf(conv.getResult())) : flops;
      })
      .Case<ConvWeightGradientOp>([&](ConvWeightGradientOp gradient) {
        // Every element of the convolution's result took the weight's extents but the first.
        Shape taps = shapeOf(gradient.getResult().getType());
        return contraction(gradient.getG(), product(ArrayRef<Dim>(taps).drop_front(), context), /*hasBias=*/false);
      })
      .Case<AttentionOp>([&](AttentionOp attention) {
        // Scores S x T x D and their product with v, S x T x E, each a multiply-add; the softmax counts 5 per score.
        Shape q = shapeOf(attention.getQ().getType()), v = shapeOf(attention.getV().getType());
        Dim rows = product(ArrayRef<Dim>(q).drop_back(), context);
        Dim steps = v[v.size() - 2];
        if (!rows)
          return Dim();
        return product({rows, steps, (q.back() + v.back()) * 2 + 5}, context);
      })
      .Case<RecurrenceOp>([&](RecurrenceOp recurrence) {
        // Per step and row the product with w_hh, and about 10 operations per gate for the cell.
        Shape y = shapeOf(recurrence.getY().getType());
        CheckedSize gateRows = CheckedSize(recurrence.hiddenSize()) * recurrence.gateCount();
        CheckedSize perStep = gateRows * (CheckedSize(recurrence.hiddenSize()) * 2 + 10);
        if (!perStep.valid())
          return Dim();
        return product({y[0], y[1], constantDim(context, *perStep.get())}, context);
      })
      .Case<RecurrenceGradientOp>([&](RecurrenceGradientOp gradient) {
        // As the step forwards, with fewer operations for the cell.
        RankedTensorType weight = cast<RankedTensorType>(gradient.getWHh().getType());
        Shape steps = shapeOf(gradient.getFactors()[0].getType());
        CheckedSize perStep = CheckedSize(weight.getDimSize(0)) * (CheckedSize(weight.getDimSize(1)) * 2 + 3);
        if (!perStep.valid())
          return Dim();
        return product({steps[0], steps[1], constantDim(context, *perStep.get())}, context);
      })
      .Case<LinearScanOp>([](LinearScanOp scan) { return perElement(scan.getResult(), 2); })
      .Case<MaxPoolOp, AvgPoolOp>(window)
      .Case<ReductionOpInterface>([](Operation *op) { return elementsOf(op->getOperand(0)); })
      // Mean and variance, or maximum and sum, and the result.
      .Case<BatchNormOp>([](Operation *op) { return perElement(op->getResult(0), 4); })
      .Case<LayerNormOp, RmsNormOp, GroupNormOp, InstanceNormOp>(
          [](Operation *op) { return perElement(op->getResult(0), 8); })
      .Case<SoftmaxOp, LogSoftmaxOp>([](Operation *op) { return perElement(op->getResult(0), 5); })
      .Case<AdaptiveAvgPoolOp, AdaptiveMaxPoolOp>([](Operation *op) { return elementsOf(op->getOperand(0)); })
      .Case<ResizeOp>([](ResizeOp resize) {
        bool isLinear = resize.getMode() == ResizeMode::Linear;
        unsigned spatial = cast<RankedTensorType>(resize.getResult().getType()).getRank() - 2;
        return perElement(resize.getResult(), isLinear ? 3 * ((int64_t(1) << spatial) - 1) : 0);
      })
      .Case<ElementwiseOpInterface>([](Operation *op) { return elementsOf(op->getResult(0)); })
      .Default([&](Operation *) { return constantDim(context, 0); });
}

Dim nn::sizeBytesOf(RankedTensorType type) {
  std::optional<DType> dtype = dtypeOf(type.getElementType());
  if (!dtype)
    return {};
  return product({storedElements(type), constantDim(type.getContext(), nncc::sizeBytesOf(*dtype))},
                 type.getContext());
}

/// Bytes that the kernel reads of the tensor behind `argument`.
static Dim bytesRead(BlockArgument argument) {
  Dim bytes = constantDim(argument.getContext(), 0);
  for (OpOperand &use : argument.getUses()) {
    Operation *user = use.getOwner();
    // The part that it completes is not read.
    if (auto insert = dyn_cast<InsertOp>(user); insert && use.get() == insert.getDest())
      continue;
    if (!isa<SliceOp>(user))
      return sizeBytesOf(cast<RankedTensorType>(argument.getType()));
    bytes = sum(bytes, sizeBytesOf(cast<RankedTensorType>(user->getResult(0).getType())));
  }
  return bytes;
}

Dim nn::trafficBytesOf(KernelOp kernel) {
  Dim bytes = constantDim(kernel.getContext(), 0);
  for (BlockArgument argument : kernel.getBlock().getArguments())
    bytes = sum(bytes, bytesRead(argument));
  for (unsigned result = 0; result < kernel.getNumResults(); ++result) {
    Type stored = storedValue(kernel, result).getType();
    bytes = sum(bytes, sizeBytesOf(cast<RankedTensorType>(stored)));
  }
  return bytes;
}
