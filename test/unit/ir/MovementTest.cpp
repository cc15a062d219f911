// The index maps of movement ops, element by element. Expected values: NumPy's take and pad,
// PyTorch's interpolate, or the definition by hand.

#include "FormulaEvaluator.h"

using namespace mlir;
using namespace nncc::nn;

namespace {

struct Moved {
  std::vector<double> elements;
  bool outOfRange = false;
};

/// All result elements of the movement op in `text`. Operand o holds 100 * o, 100 * o + 1, ...;
/// `indices`, when given, replaces operand 1. `dims` gives values to named dims.
Moved runMovement(const std::string &text, std::vector<double> indices = {},
                  std::map<std::string, int64_t> dims = {}) {
  OpUnderTest test(text);
  if (!test.op) {
    ADD_FAILURE() << "does not parse: " << text;
    return {};
  }
  auto extentOf = [&](Dim dim) {
    if (auto constant = constantOf(dim))
      return *constant;
    return dims.at(toString(dim, &test.context));
  };
  auto extentsOf = [&](Type type) {
    std::vector<int64_t> extents;
    for (Dim dim : shapeOf(type))
      extents.push_back(extentOf(dim));
    return extents;
  };

  std::vector<FormulaEvaluator::Tensor> operands;
  for (Value operand : test.op->getOperands()) {
    FormulaEvaluator::Tensor tensor = {extentsOf(operand.getType()), {}};
    int64_t count = 1;
    for (int64_t extent : tensor.shape)
      count *= extent;
    for (int64_t i = 0; i < count; ++i)
      tensor.elements.push_back(100.0 * operands.size() + i);
    operands.push_back(tensor);
  }
  if (!indices.empty())
    operands[1].elements = indices;

  Moved moved;
  std::vector<int64_t> extents = extentsOf(test.op->getResult(0).getType());
  int64_t count = 1;
  for (int64_t extent : extents)
    count *= extent;
  for (int64_t number = 0; number < count; ++number) {
    Block block;
    OpBuilder builder(&test.context);
    builder.setInsertionPointToStart(&block);
    Location loc = builder.getUnknownLoc();
    SmallVector<Value> position(extents.size());
    int64_t rest = number;
    for (size_t dim = extents.size(); dim-- > 0; rest /= extents[dim])
      position[dim] = arith::ConstantIndexOp::create(builder, loc, rest % extents[dim]);
    SmallVector<Value> reports;
    auto load = [&](unsigned operand, ValueRange at) {
      return FormulaEvaluator::buildLoad(
          builder, loc, operand, at, getElementTypeOrSelf(test.op->getOperand(operand).getType()));
    };
    auto extent = [&](Dim dim) -> Value {
      return arith::ConstantIndexOp::create(builder, loc, extentOf(dim));
    };
    auto report = [&](Value isOutOfRange) { reports.push_back(isOutOfRange); };
    MovementAccess access{builder, loc, builder.getIndexType(), position, load, extent, report};
    Value element = cast<MovementOpInterface>(test.op).buildElement(access);
    FormulaEvaluator evaluator;
    evaluator.operands = operands;
    evaluator.run(block);
    moved.elements.push_back(evaluator.number(element));
    for (Value reported : reports)
      moved.outOfRange |= evaluator.number(reported) != 0;
  }
  return moved;
}

std::string function(const std::string &arguments, const std::string &op) {
  return "func.func @f(" + arguments + ") {\n" + op + "\nreturn\n}";
}

using Elements = std::vector<double>;

TEST(Movement, Transpose) {
  std::string text = function(
      "%x: tensor<2x3xf32>",
      "%y = nn.transpose %x {permutation = array<i64: 1, 0>} : tensor<2x3xf32> -> tensor<3x2xf32>");
  EXPECT_EQ(runMovement(text).elements, (Elements{0, 3, 1, 4, 2, 5}));
  OpUnderTest test(text);
  LaneSource source = cast<MovementOpInterface>(test.op).laneSource(0, 1);
  EXPECT_EQ(source.kind, LaneSource::Kind::Along);
  EXPECT_EQ(source.dim, 0u);
}

TEST(Movement, ReshapeKeepsRowMajorOrder) {
  Elements expected;
  for (int i = 0; i < 24; ++i)
    expected.push_back(i);
  EXPECT_EQ(runMovement(function("%x: tensor<2x3x4xf32>",
                                 "%y = nn.reshape %x : tensor<2x3x4xf32> -> tensor<4x6x1xf32>"))
                .elements,
            expected);
  EXPECT_EQ(runMovement(function("%x: tensor<2x1x3x4xf32>",
                                 "%y = nn.reshape %x : tensor<2x1x3x4xf32> -> tensor<1x6x2x2xf32>"))
                .elements,
            expected);
  EXPECT_EQ(runMovement(function("%x: tensor<?x3x4xf32, #nn.enc<[N]>>",
                                 "%y = nn.reshape %x : tensor<?x3x4xf32, #nn.enc<[N]>> -> "
                                 "tensor<?x12xf32, #nn.enc<[N]>>"),
                        {}, {{"N", 2}})
                .elements,
            expected);
  EXPECT_EQ(runMovement(function("%x: tensor<1x1xf32>",
                                 "%y = nn.reshape %x : tensor<1x1xf32> -> tensor<f32>"))
                .elements,
            Elements{0});
}

TEST(Movement, ReshapeKeepsLanesOfUntouchedDimensions) {
  OpUnderTest test(function("%x: tensor<2x3x8xf32>",
                            "%y = nn.reshape %x : tensor<2x3x8xf32> -> tensor<6x8xf32>"));
  auto op = cast<MovementOpInterface>(test.op);
  EXPECT_EQ(op.laneSource(0, 1).kind, LaneSource::Kind::Along);
  EXPECT_EQ(op.laneSource(0, 1).dim, 2u);
  EXPECT_EQ(op.laneSource(0, 0).kind, LaneSource::Kind::Scattered);
}

TEST(Movement, Expand) {
  std::string text =
      function("%x: tensor<2x1xf32>", "%y = nn.expand %x : tensor<2x1xf32> -> tensor<2x2x3xf32>");
  EXPECT_EQ(runMovement(text).elements, (Elements{0, 0, 0, 1, 1, 1, 0, 0, 0, 1, 1, 1}));
  OpUnderTest test(text);
  EXPECT_EQ(cast<MovementOpInterface>(test.op).laneSource(0, 2).kind, LaneSource::Kind::Same);
}

TEST(Movement, Slice) {
  EXPECT_EQ(runMovement(function("%x: tensor<8xf32>",
                                 "%y = nn.slice %x {starts = array<i64: -1>, sizes = "
                                 "array<i64: 2>, steps = array<i64: -3>}"
                                 " : tensor<8xf32> -> tensor<2xf32>"))
                .elements,
            (Elements{7, 4}));
  std::string reverse = function(
      "%x: tensor<?xf32, #nn.enc<[T]>>",
      "%y = nn.slice %x {starts = array<i64: -1>, sizes = array<i64: -1>, steps = array<i64: -1>}"
      " : tensor<?xf32, #nn.enc<[T]>> -> tensor<?xf32, #nn.enc<[T]>>");
  EXPECT_EQ(runMovement(reverse, {}, {{"T", 4}}).elements, (Elements{3, 2, 1, 0}));
}

TEST(Movement, SliceOfAShortDynamicDimensionRepeatsItsEnd) {
  std::string text = function(
      "%x: tensor<?xf32, #nn.enc<[T]>>",
      "%y = nn.slice %x {starts = array<i64: 1>, sizes = array<i64: 3>, steps = array<i64: 1>}"
      " : tensor<?xf32, #nn.enc<[T]>> -> tensor<3xf32>");
  EXPECT_EQ(runMovement(text, {}, {{"T", 9}}).elements, (Elements{1, 2, 3}));
  EXPECT_EQ(runMovement(text, {}, {{"T", 3}}).elements, (Elements{1, 2, 2}));
}

TEST(Movement, Concat) {
  std::string text =
      function("%a: tensor<2x1xf32>, %b: tensor<2x2xf32>, %c: tensor<2x0xf32>",
               "%y = nn.concat %a, %b, %c {axis = 1}"
               " : (tensor<2x1xf32>, tensor<2x2xf32>, tensor<2x0xf32>) -> tensor<2x3xf32>");
  EXPECT_EQ(runMovement(text).elements, (Elements{0, 100, 101, 1, 102, 103}));
}

TEST(Movement, Pad) {
  auto pad = [](const std::string &mode) {
    return runMovement(function("%x: tensor<4xf32>",
                                "%y = nn.pad %x " + mode +
                                    " {begin = array<i64: 2>, end = array<i64: 1>, value = 9.0}"
                                    " : tensor<4xf32> -> tensor<7xf32>"))
        .elements;
  };
  EXPECT_EQ(pad("constant"), (Elements{9, 9, 0, 1, 2, 3, 9}));
  EXPECT_EQ(pad("reflect"), (Elements{2, 1, 0, 1, 2, 3, 2}));
  EXPECT_EQ(pad("replicate"), (Elements{0, 0, 0, 1, 2, 3, 3}));
  EXPECT_EQ(pad("circular"), (Elements{2, 3, 0, 1, 2, 3, 0}));
}

TEST(Movement, GatherTakesRowsAndReportsBadIndices) {
  std::string text = function(
      "%x: tensor<3x2xf32>, %i: tensor<2xi64>",
      "%y = nn.gather %x, %i {axis = 0} : (tensor<3x2xf32>, tensor<2xi64>) -> tensor<2x2xf32>");
  Moved good = runMovement(text, {-1, 1});
  EXPECT_EQ(good.elements, (Elements{4, 5, 2, 3}));
  EXPECT_FALSE(good.outOfRange);
  EXPECT_TRUE(runMovement(text, {0, 3}).outOfRange);
  EXPECT_TRUE(runMovement(text, {-4, 0}).outOfRange);
  std::string columns = function(
      "%x: tensor<2x3xf32>, %i: tensor<2xi32>",
      "%y = nn.gather %x, %i {axis = 1} : (tensor<2x3xf32>, tensor<2xi32>) -> tensor<2x2xf32>");
  EXPECT_EQ(runMovement(columns, {2, 0}).elements, (Elements{2, 0, 5, 3}));
}

Elements resize(const std::string &how, int64_t from, int64_t to) {
  std::string in = "tensor<1x1x" + std::to_string(from) + "xf32>",
              out = "tensor<1x1x" + std::to_string(to) + "xf32>";
  return runMovement(function("%x: " + in, "%y = nn.resize %x " + how + " : " + in + " -> " + out))
      .elements;
}

TEST(Movement, ResizeNearest) {
  // torch.nn.functional.interpolate, modes nearest and nearest-exact.
  EXPECT_EQ(resize("nearest asymmetric", 4, 6), (Elements{0, 0, 1, 2, 2, 3}));
  EXPECT_EQ(resize("nearest half_pixel", 4, 6), (Elements{0, 1, 1, 2, 3, 3}));
  EXPECT_EQ(resize("nearest half_pixel", 4, 2), (Elements{1, 3}));
  // Positions 0, 1/2, 1, 3/2, 2: halves go down.
  EXPECT_EQ(resize("nearest align_corners", 3, 5), (Elements{0, 0, 1, 1, 2}));
}

TEST(Movement, ResizeLinear) {
  // torch.nn.functional.interpolate, align_corners False and True.
  EXPECT_EQ(resize("linear half_pixel", 4, 8),
            (Elements{0, 0.25, 0.75, 1.25, 1.75, 2.25, 2.75, 3}));
  EXPECT_EQ(resize("linear half_pixel", 4, 2), (Elements{0.5, 2.5}));
  EXPECT_EQ(resize("linear align_corners", 3, 5), (Elements{0, 0.5, 1, 1.5, 2}));
  EXPECT_EQ(resize("linear align_corners", 3, 1), Elements{0});
  EXPECT_EQ(resize("linear asymmetric", 2, 4), (Elements{0, 0.5, 1, 1}));
}

TEST(Movement, ResizeLinearInTwoDimensions) {
  // x = 2 h + w: bilinear interpolation of a plane is the plane.
  std::string text = function(
      "%x: tensor<1x1x2x2xf32>",
      "%y = nn.resize %x linear align_corners : tensor<1x1x2x2xf32> -> tensor<1x1x3x3xf32>");
  EXPECT_EQ(runMovement(text).elements, (Elements{0, 0.5, 1, 1, 1.5, 2, 2, 2.5, 3}));
}

} // namespace
