// Reductions as monoids: lifted, combined in two orders, finished. Expected values by the
// definition; NaN and ties as PyTorch.

#include "FormulaEvaluator.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace nncc::nn;

namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

/// The reduction `name` over `elements`, combined from the left, or as two halves.
double reduce(const std::string &name, const std::vector<double> &elements, bool inHalves = false) {
  bool isArg = name.starts_with("arg");
  std::string x = "tensor<" + std::to_string(elements.size()) + "xf32>";
  OpUnderTest test("func.func @f(%x: " + x + ") {\n%y = nn." + name + " %x " +
                   (isArg ? "{axis = 0} : " + x + " -> tensor<i64>"
                          : "{axes = array<i64: 0>} : " + x + " -> tensor<f32>") +
                   "\nreturn\n}");
  if (!test.op) {
    ADD_FAILURE() << "does not parse";
    return 0;
  }
  auto op = cast<ReductionOpInterface>(test.op);
  EXPECT_EQ(op.needsPosition(), isArg);
  Block block;
  OpBuilder builder(&test.context);
  builder.setInsertionPointToStart(&block);
  Location loc = builder.getUnknownLoc();
  Type f32 = builder.getF32Type();
  auto constant = [&](double value) -> Value {
    return arith::ConstantOp::create(builder, loc, builder.getFloatAttr(f32, value));
  };
  auto partialOf = [&](size_t begin, size_t end) {
    SmallVector<Value> partial = op.buildInit(builder, loc, f32);
    for (size_t i = begin; i < end; ++i) {
      Value position = arith::ConstantIntOp::create(builder, loc, static_cast<int64_t>(i), 64);
      partial = op.buildCombine(builder, loc, partial,
                                op.buildLift(builder, loc, constant(elements[i]), position));
    }
    return partial;
  };
  size_t middle = inHalves ? elements.size() / 2 : 0;
  // The later half first: the order of combination must not matter.
  SmallVector<Value> later = partialOf(middle, elements.size()), earlier = partialOf(0, middle);
  SmallVector<Value> partial = op.buildCombine(builder, loc, later, earlier);
  Value result = op.buildFinalize(builder, loc, partial, constant(elements.size()));
  FormulaEvaluator evaluator;
  evaluator.run(block);
  return evaluator.number(result);
}

TEST(Reduction, SumMeanAndProduct) {
  for (bool inHalves : {false, true}) {
    EXPECT_EQ(reduce("reduce_sum", {1, 2, 3, 4}, inHalves), 10);
    EXPECT_EQ(reduce("reduce_mean", {1, 2, 3, 4}, inHalves), 2.5);
    EXPECT_EQ(reduce("reduce_prod", {1, 2, 3, 4}, inHalves), 24);
  }
}

TEST(Reduction, ExtremesPropagateNaN) {
  for (bool inHalves : {false, true}) {
    EXPECT_EQ(reduce("reduce_max", {-3, -1, -2}, inHalves), -1);
    EXPECT_EQ(reduce("reduce_min", {3, 1, 2}, inHalves), 1);
    EXPECT_TRUE(std::isnan(reduce("reduce_max", {1, kNaN, 5}, inHalves)));
    EXPECT_TRUE(std::isnan(reduce("reduce_min", {1, kNaN, 5}, inHalves)));
  }
}

TEST(Reduction, PositionsOfExtremes) {
  double infinity = std::numeric_limits<double>::infinity();
  for (bool inHalves : {false, true}) {
    EXPECT_EQ(reduce("argmax", {1, 7, 3, 7}, inHalves), 1);
    EXPECT_EQ(reduce("argmin", {5, 2, 2, 9}, inHalves), 1);
    EXPECT_EQ(reduce("argmax", {1, kNaN, 9, kNaN}, inHalves), 1);
    EXPECT_EQ(reduce("argmin", {1, 0, kNaN, kNaN}, inHalves), 2);
    EXPECT_EQ(reduce("argmax", {-infinity, -infinity}, inHalves), 0);
    EXPECT_EQ(reduce("argmin", {infinity, infinity}, inHalves), 0);
  }
}

} // namespace
