// Shape arithmetic: checked products, quotients, broadcasting, windows. Expected window extents are
// PyTorch's.

#include "ir/NN.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace nncc;
using namespace nncc::nn;

namespace {

class ShapeTest : public testing::Test {
protected:
  ShapeTest() { context.loadDialect<NNDialect>(); }
  Dim number(int64_t value) { return constantDim(&context, value); }
  Dim name(const char *dim) { return namedDim(&context, dim); }
  std::string text(Dim dim) { return toString(dim, &context); }
  MLIRContext context;
};

TEST_F(ShapeTest, ProductOfConstantsAndNames) {
  EXPECT_EQ(constantOf(product({number(3), number(4)}, &context)), 12);
  EXPECT_EQ(constantOf(product({}, &context)), 1);
  EXPECT_EQ(product({number(3), name("N"), number(4)}, &context), name("N") * 12);
}

TEST_F(ShapeTest, ProductOverflowIsNull) {
  EXPECT_TRUE(product({number(3037000500), number(3037000499)}, &context))
      << "2^63 - 1 is the limit";
  EXPECT_FALSE(product({number(3037000500), number(3037000500)}, &context));
  EXPECT_FALSE(product({name("N"), number(int64_t(1) << 40), number(int64_t(1) << 40)}, &context));
}

TEST_F(ShapeTest, QuotientCancelsNamesInAnyOrder) {
  Dim n = name("N"), t = name("T");
  EXPECT_EQ(constantOf(quotient({n, t, number(8)}, {number(8), t * n}, &context)), 1);
  EXPECT_EQ(constantOf(quotient({n, number(32)}, {n, number(8)}, &context)), 4);
  EXPECT_EQ(quotient({n * 4, t}, {number(2), t}, &context), n * 2);
  EXPECT_FALSE(quotient({n}, {t}, &context));
  EXPECT_FALSE(quotient({number(7)}, {number(2)}, &context));
}

TEST_F(ShapeTest, Broadcast) {
  Dim n = name("N");
  Shape a = {number(8), number(1), n}, b = {number(5), number(1)};
  FailureOr<Shape> both = broadcastShapes(a, b);
  ASSERT_TRUE(succeeded(both));
  EXPECT_EQ(*both, (Shape{number(8), number(5), n}));
  std::pair<Dim, Dim> conflict;
  EXPECT_TRUE(failed(broadcastShapes({n}, {number(4)}, &conflict)));
  EXPECT_EQ(conflict, std::make_pair(n, number(4)));
}

TEST_F(ShapeTest, WindowOutputsOfKnownLayers) {
  struct Case {
    const char *layer;
    int64_t input;
    WindowDim window;
    int64_t output;
  };
  const Case cases[] = {
      {"ResNet stem conv 7x7 s2 p3", 224, {7, 2, 1, 3, 3}, 112},
      {"ResNet stem pool 3x3 s2 p1", 112, {3, 2, 1, 1, 1}, 56},
      {"dilated conv 3x3 d2", 28, {3, 1, 2, 0, 0}, 24},
      {"MaxPool2d(2)", 7, {2, 2, 1, 0, 0}, 3},
      {"MaxPool2d(2, ceil_mode=True)", 7, {2, 2, 1, 0, 0, true}, 4},
      {"GoogLeNet MaxPool2d(3, 2, ceil_mode=True)", 112, {3, 2, 1, 0, 0, true}, 56},
      {"MaxPool2d(2, 3, ceil_mode=True): the last window would start outside",
       3,
       {2, 3, 1, 0, 0, true},
       1},
      {"MaxPool2d(3, 2, padding=1, ceil_mode=True)", 6, {3, 2, 1, 1, 1, true}, 4},
      {"MaxPool2d(3, 4, padding=1, ceil_mode=True)", 7, {3, 4, 1, 1, 1, true}, 2},
  };
  for (const Case &c : cases) {
    EXPECT_EQ(constantOf(windowOutput(number(c.input), c.window)), c.output) << c.layer;
    // The formula for a named dim gives the same at this extent.
    Dim formula = windowOutput(name("N"), c.window);
    Dim at = formula.replace(name("N"), number(c.input));
    EXPECT_EQ(constantOf(at), c.output) << c.layer << ": " << text(formula);
  }
}

TEST_F(ShapeTest, WindowThatDoesNotFitIsNull) {
  EXPECT_FALSE(windowOutput(number(2), {3, 1, 1, 0, 0}));
  EXPECT_EQ(constantOf(windowOutput(number(2), {3, 1, 1, 0, 1})), 1);
  EXPECT_FALSE(windowOutput(number(8), {INT64_MAX, 1, INT64_MAX, 0, 0}));
}

TEST_F(ShapeTest, TensorTypesAreCheckedForSize) {
  Type f32 = Float32Type::get(&context);
  FailureOr<RankedTensorType> type = tensorType(std::nullopt, {name("N"), number(3)}, f32);
  ASSERT_TRUE(succeeded(type));
  EXPECT_EQ(describe(*type), "f32[N, 3]");
  EXPECT_TRUE(
      failed(tensorType(std::nullopt, {number(int64_t(1) << 31), number(int64_t(1) << 31)}, f32)));
  EXPECT_TRUE(failed(tensorType(std::nullopt, {number(-1)}, f32)));
}

} // namespace
