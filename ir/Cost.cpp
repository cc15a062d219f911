// Costs of ops; see Cost.h.

#include "ir/Cost.h"

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
      .Case<MaxPoolOp, AvgPoolOp>(window)
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
