// nn.softmax and nn.log_softmax with an elementwise prologue and epilogue: three passes over a row that stays in the cache. The
// prologue runs once, in the first pass; exp runs once, in the second.

#include "codegen/cpu/RowKernel.h"

using namespace mlir;
using namespace nncc;
using namespace nncc::codegen;

FailureOr<EmittedKernel> codegen::emitSoftmax(KernelBuilder &b, nn::KernelOp kernel, StringRef symbol) {
  Operation *anchor = nn::anchorOf(kernel);
  if (failed(checkRowResults(kernel, anchor)))
    return failure();
  auto logSoftmax = dyn_cast<nn::LogSoftmaxOp>(anchor);
  int64_t axis = logSoftmax ? logSoftmax.getAxis() : cast<nn::SoftmaxOp>(anchor).getAxis();
  auto isSwept = [&](int64_t dim) { return dim == axis; };
  SmallVector<LoopDim> loops = rowLoops(kernel, anchor, {}, isSwept);
  SmallVector<bool> swept;
  for (const LoopDim &loop : loops)
    swept.push_back(isSwept(loop.dim));

  RowKernel row(b, kernel, loops, swept, /*keepsValues=*/!logSoftmax);
  EmittedKernel emitted{row.tasks(), row.scratchBytes()};
  row.begin(symbol);
  row.groups().forEachGroup([&] {
    Value lowest = b.floatConstant(row.vectorType(), -std::numeric_limits<double>::infinity());
    Value largest = row.groups().reduce(
        lowest, [&](const Place &place) { return AxisSweep::Values{row.firstInput(place)}; },
        [&](ValueRange x, ValueRange y) {
          // One instruction on x86; a NaN reaches the result through exp and the sum.
          Value greater = arith::CmpFOp::create(b, arith::CmpFPredicate::OGT, x[0], y[0]);
          return AxisSweep::Values{arith::SelectOp::create(b, greater, x[0], y[0])};
        })[0];
    // exp needs nearly all registers of a small file for its constants, and between two additions it hides their latency alone.
    Value sum = row.sum(
        [&](const Place &place) {
          Value power = math::ExpOp::create(b, arith::SubFOp::create(b, row.inputAgain(place), largest));
          if (!logSoftmax)
            row.keep(place, power);
          return power;
        },
        /*chains=*/1);
    if (logSoftmax) {
      // The largest is not added to the logarithm, which would lose its digits beside a large number.
      Value shift = math::LogOp::create(b, sum);
      row.groups().map([&](const Place &place) {
        Value distance = arith::SubFOp::create(b, row.inputAgain(place), largest);
        row.finish(place, arith::SubFOp::create(b, distance, shift), {});
      });
      return;
    }
    Value scale = arith::DivFOp::create(b, b.floatConstant(row.vectorType(), 1.0), sum);
    row.groups().map([&](const Place &place) {
      row.finish(place, arith::MulFOp::create(b, row.kept(place), scale), {});
    });
  });
  row.end();
  return emitted;
}
