// What models become: signatures, parameters with their names, shapes and starts, and the ops of
// @infer.
#include "ImportText.h"

#include "ir/NN.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>

namespace nncc::frontend {
namespace {

/// Parameters of statements in the standard model.
std::string parameters(const std::string &statements) {
  auto imported = importText(modelAround(statements));
  return imported->module ? parametersOf(*imported->module) : imported->diagnostics.render();
}

std::string ops(const std::string &statements) {
  auto imported = importText(modelAround(statements));
  return imported->module ? opsOf(*imported->module) : imported->diagnostics.render();
}

std::string signature(const std::string &text, const ImportOptions &options = {}) {
  auto imported = importText(text, options);
  return imported->module ? signatureOf(*imported->module) : imported->diagnostics.render();
}

/// The result type of `y = <expression>`, in the standard model.
std::string typeOf(const std::string &expression) {
  std::string text = modelAround("y = " + expression);
  text.replace(text.find("return x"), 8, "return y");
  std::string all = signature(text);
  size_t arrow = all.find("-> y ");
  return arrow == std::string::npos ? all : all.substr(arrow + 5);
}

TEST(Elaborate, SignaturesCarryNamesAndNamedDims) {
  EXPECT_EQ(signature("nn 1\ndim N = 1..64\nmodel M(a: f32[N, 2 * T], b: bool[T], c: f16) {\n"
                      "return a, sum = a + 1, relu(a)\n}\n"),
            "a f32[N, T * 2], b bool[T], c f16[] -> a f32[N, T * 2], sum f32[N, T * 2], output2 "
            "f32[N, T * 2]");
  EXPECT_EQ(signature("nn 1\nmodel M(a: f32[N]) { return relu(a) }\n"),
            "a f32[N] -> output f32[N]");
}

TEST(Elaborate, NamedDimsAreListedWithTheirRanges) {
  auto imported =
      importText("nn 1\nconst most = 8\ndim N = 2..most * 8\nmodel M(a: f32[N, T]) { return a }\n");
  ASSERT_TRUE(imported->module) << imported->diagnostics.render();
  auto dims = (*imported->module)->getAttrOfType<mlir::ArrayAttr>(nn::NNDialect::kDimsAttr);
  ASSERT_EQ(dims.size(), 2u);
  auto n = mlir::cast<nn::DimAttr>(dims[0]), t = mlir::cast<nn::DimAttr>(dims[1]);
  EXPECT_EQ(n.getName().str(), "N");
  EXPECT_EQ(n.getMin(), 2);
  EXPECT_EQ(n.getMax(), 64);
  EXPECT_EQ(t.getName().str(), "T");
  EXPECT_EQ(t.getMin(), 1);
  EXPECT_EQ(t.getMax(), INT64_MAX);
}

TEST(Elaborate, DimsCanBeFixed) {
  EXPECT_EQ(signature("nn 1\nmodel M(a: f32[N, T]) { return a }\n", {"", {{"N", 8}}}),
            "a f32[8, T] -> a f32[8, T]");
}

TEST(Elaborate, ParametersHavePyTorchNamesAndShapes) {
  EXPECT_EQ(parameters("y = linear(x, 4) as fc"),
            "fc.weight f32[4, 8] uniform\nfc.bias f32[4] uniform\n");
  EXPECT_EQ(parameters("y = conv2d(img, 6, kernel = [3, 5], groups = 3, bias = false) as c.0"),
            "c.0.weight f32[6, 1, 3, 5] uniform\n");
  EXPECT_EQ(parameters("y = conv_transpose2d(img, 6, kernel = 2, groups = 3) as up"),
            "up.weight f32[3, 2, 2, 2] uniform\nup.bias f32[6] uniform\n");
  EXPECT_EQ(parameters("y = batch_norm(img) as bn"),
            "bn.weight f32[3] ones\nbn.bias f32[3] zeros\nbn.running_mean f32[3] "
            "zeros\nbn.running_var f32[3] ones\n");
  EXPECT_EQ(parameters("y = embedding(ids, 100, 16) as e"), "e.weight f32[100, 16] normal\n");
  EXPECT_EQ(
      parameters(
          "y, h, c = lstm(embedding(ids, 9, 6) as e, 5, layers = 2, bidirectional = true) as l"),
      "e.weight f32[9, 6] normal\n"
      "l.weight_ih_l0 f32[20, 6] uniform\nl.weight_hh_l0 f32[20, 5] uniform\n"
      "l.bias_ih_l0 f32[20] uniform\nl.bias_hh_l0 f32[20] uniform\n"
      "l.weight_ih_l0_reverse f32[20, 6] uniform\nl.weight_hh_l0_reverse f32[20, 5] uniform\n"
      "l.bias_ih_l0_reverse f32[20] uniform\nl.bias_hh_l0_reverse f32[20] uniform\n"
      "l.weight_ih_l1 f32[20, 10] uniform\nl.weight_hh_l1 f32[20, 5] uniform\n"
      "l.bias_ih_l1 f32[20] uniform\nl.bias_hh_l1 f32[20] uniform\n"
      "l.weight_ih_l1_reverse f32[20, 10] uniform\nl.weight_hh_l1_reverse f32[20, 5] uniform\n"
      "l.bias_ih_l1_reverse f32[20] uniform\nl.bias_hh_l1_reverse f32[20] uniform\n");
  EXPECT_EQ(parameters("e = embedding(ids, 9, 6) as e\ny = multi_head_attention(e, e, e, 2) as a"),
            "e.weight f32[9, 6] normal\na.in_proj_weight f32[18, 6] uniform\na.in_proj_bias "
            "f32[18] zeros\n"
            "a.out_proj.weight f32[6, 6] uniform\na.out_proj.bias f32[6] zeros\n");
}

TEST(Elaborate, DefaultPathsCountCallsAsKerasDoes) {
  EXPECT_EQ(
      parameters("x = linear(x, 8, bias = false)\nrepeat 2 { x = linear(x, 8, bias = false) }"),
      "linear.weight f32[8, 8] uniform\nlinear_1.weight f32[8, 8] uniform\nlinear_2.weight f32[8, "
      "8] uniform\n");
  auto imported = importText(
      "nn 1\nblock TwoLinearMLP(x) { return linear(linear(x, 2, bias = false), 2, bias = false) }\n"
      "model M(x: f32[N, 2]) { return TwoLinearMLP(TwoLinearMLP(x)) }\n");
  ASSERT_TRUE(imported->module) << imported->diagnostics.render();
  EXPECT_EQ(parametersOf(*imported->module),
            "two_linear_mlp.linear.weight f32[2, 2] uniform\ntwo_linear_mlp.linear_1.weight f32[2, "
            "2] uniform\n"
            "two_linear_mlp_1.linear.weight f32[2, 2] uniform\ntwo_linear_mlp_1.linear_1.weight "
            "f32[2, 2] uniform\n");
}

TEST(Elaborate, PathsHaveHolesAndStayHereWithADot) {
  auto imported = importText(
      "nn 1\nblock B(x, n) {\nrepeat i in 0..n - 1 { x = linear(x, 2, bias = false) as l{i}.{2 * "
      "i} }\n"
      "return x\n}\nmodel M(x: f32[N, 2]) {\nx = B(x, 2) as .\nreturn B(x, 1) as b\n}\n");
  ASSERT_TRUE(imported->module) << imported->diagnostics.render();
  EXPECT_EQ(parametersOf(*imported->module),
            "l0.0.weight f32[2, 2] uniform\nl1.2.weight f32[2, 2] uniform\n"
            "b.l0.0.weight f32[2, 2] uniform\n");
}

TEST(Elaborate, InitialisersCanBeGiven) {
  EXPECT_EQ(
      parameters(
          "y = linear(x, 4, weight_init = init.normal(0, 0.02), bias_init = init.zeros()) as fc\n"
          "param p: f32[2, 8] = 0.5 as q.r\nparam s: f32[4, 4] = init.xavier_normal()"),
      "fc.weight f32[4, 8] normal\nfc.bias f32[4] zeros\nq.r f32[2, 8] constant\ns f32[4, 4] "
      "normal\n");
}

/// Bounds by PyTorch's formulas: kaiming_uniform_(a = sqrt(5)) is 1 / sqrt(fan_in); xavier sqrt(6 /
/// (fan_in + fan_out)).
TEST(Elaborate, InitialisersHavePyTorchsBounds) {
  auto imported = importText(modelAround(
      "y = conv2d(img, 4, kernel = 3) as c\nparam k: f32[4, 2, 5] = init.kaiming_uniform()\n"
      "param g: f32[4, 2, 5] = init.xavier_uniform(gain = 2)"));
  ASSERT_TRUE(imported->module) << imported->diagnostics.render();
  std::map<std::string, double> bounds;
  for (auto parameter : imported->module->getOps<nn::ParameterOp>())
    bounds[parameter.getSymName().str()] = parameter.getInit()->getB().convertToDouble();
  EXPECT_NEAR(bounds["c.weight"], 1 / std::sqrt(27.0), 1e-12);
  EXPECT_NEAR(bounds["c.bias"], 1 / std::sqrt(27.0), 1e-12);
  EXPECT_NEAR(bounds["k"], std::sqrt(6.0 / 10), 1e-12);
  EXPECT_NEAR(bounds["g"], 2 * std::sqrt(6.0 / 30), 1e-12);
}

TEST(Elaborate, ConstantsComputeExactly) {
  // Each value becomes the extent of a parameter.
  auto extent = [](const std::string &expression) {
    std::string all = parameters("param p: f32[" + expression + "] = 0");
    return all.substr(2, all.find(" constant") - 2);
  };
  EXPECT_EQ(extent("7 // 2"), "f32[3]");
  EXPECT_EQ(extent("10 + -7 // 2"), "f32[6]") << "rounds down";
  EXPECT_EQ(extent("-7 % 4"), "f32[1]") << "has the divisor's sign";
  EXPECT_EQ(extent("2 ** 3 ** 2"), "f32[512]");
  EXPECT_EQ(extent("int(sqrt(17.0))"), "f32[4]");
  EXPECT_EQ(extent("max(3, min(9, 5), 4)"), "f32[5]");
  EXPECT_EQ(extent("[4, 5, 6][-1] + len([1, 2])"), "f32[8]");
  EXPECT_EQ(extent("round(2.5) + ceil(2.1)"), "f32[5]");
  EXPECT_EQ(extent("x.shape[-1] + img.rank"), "f32[12]");
}

TEST(Elaborate, OperatorsOnTensorsAreOps) {
  EXPECT_EQ(ops("y = -x * 2 + x / x - 1"), "neg constant mul div add constant sub");
  EXPECT_EQ(ops("y = (x > 0) and not (x == 1)"), "constant greater constant equal not and");
  EXPECT_EQ(ops("y = x ** 2 + x ** 0.5"), "square constant pow add");
  EXPECT_EQ(ops("y = x @ transpose(x)"), "transpose matmul");
  EXPECT_EQ(ops("y = max(x, 0)\nz = sqrt(abs(x))"), "constant max abs sqrt");
}

TEST(Elaborate, ConditionsAndRepeatsRunNow) {
  EXPECT_EQ(ops("repeat i in 0..2 {\nif i == 1 { x = relu(x) } else { x = tanh(x) }\n}"),
            "tanh relu tanh");
  EXPECT_EQ(ops("repeat i in 1..0 { x = relu(x) }"), "") << "an empty range";
  EXPECT_EQ(ops("repeat f in [1, 2.5] { x = x * f }"), "constant mul constant mul");
  EXPECT_EQ(ops("if false or x.rank == 2 and not false { x = relu(x) }"), "relu");
  EXPECT_EQ(ops("m = none\nif m == none { x = relu(x) }\nif x != none { x = tanh(x) }"),
            "relu tanh");
}

TEST(Elaborate, ShapesFollow) {
  EXPECT_EQ(typeOf("flatten(img)"), "f32[N, 768]");
  EXPECT_EQ(typeOf("flatten(img, start = 2)"), "f32[N, 3, 256]");
  EXPECT_EQ(typeOf("conv2d(img, 4, kernel = 3, stride = 2, padding = \"same\")"),
            "f32[N, 4, 8, 8]");
  EXPECT_EQ(typeOf("conv2d(img, 4, kernel = 2, padding = [[0, 1], [1, 0]])"), "f32[N, 4, 16, 16]");
  EXPECT_EQ(typeOf("max_pool2d(img, 3, stride = 2, padding = 1)"), "f32[N, 3, 8, 8]");
  EXPECT_EQ(typeOf("adaptive_avg_pool2d(img, [1, 2])"), "f32[N, 3, 1, 2]");
  EXPECT_EQ(typeOf("conv_transpose2d(img, 4, kernel = 2, stride = 2)"), "f32[N, 4, 32, 32]");
  EXPECT_EQ(typeOf("reshape(img, [N, 3, -1])"), "f32[N, 3, 256]");
  EXPECT_EQ(typeOf("reshape(img, [-1, 16])"), "f32[N * 48, 16]");
  EXPECT_EQ(typeOf("transpose(img, [0, 2, 3, 1])"), "f32[N, 16, 16, 3]");
  EXPECT_EQ(typeOf("transpose(img)"), "f32[N, 3, 16, 16]");
  EXPECT_EQ(typeOf("img[:, 0]"), "f32[N, 16, 16]");
  EXPECT_EQ(typeOf("img[:, -1:, 2:-2, ::3]"), "f32[N, 1, 12, 6]");
  EXPECT_EQ(typeOf("ids[:, -1]"), "i64[N]");
  EXPECT_EQ(typeOf("concat([img, img], axis = 1)"), "f32[N, 6, 16, 16]");
  EXPECT_EQ(typeOf("stack([x, x], axis = 1)"), "f32[N, 2, 8]");
  EXPECT_EQ(typeOf("split(x, [2, 6], axis = -1)[1]"), "f32[N, 6]");
  EXPECT_EQ(typeOf("unsqueeze(x, -1)"), "f32[N, 8, 1]");
  EXPECT_EQ(typeOf("expand(unsqueeze(x, 1), [-1, 5, 8])"), "f32[N, 5, 8]");
  EXPECT_EQ(typeOf("mean(img, axis = [2, 3])"), "f32[N, 3]");
  EXPECT_EQ(typeOf("sum(img)"), "f32[]");
  EXPECT_EQ(typeOf("argmax(x)"), "i64[N]");
  EXPECT_EQ(typeOf("cast(x > 0, i32)"), "i32[N, 8]");
  EXPECT_EQ(typeOf("pad(img, [[1, 2], [3, 4]], mode = \"reflect\")"), "f32[N, 3, 19, 23]");
  EXPECT_EQ(typeOf("resize(img, scale = 2, mode = \"linear\")"), "f32[N, 3, 32, 32]");
  EXPECT_EQ(typeOf("gather(x, ids)"), "f32[N, T, 8]");
  EXPECT_EQ(typeOf("where(x > 0, x, 0)"), "f32[N, 8]");
}

TEST(Elaborate, SequencesFollowPyTorchsShapes) {
  auto types = [](const std::string &call) {
    std::string text = modelAround("e = embedding(ids, 9, 6)\n" + call);
    text.replace(text.find("return x"), 8, "return y, h");
    std::string all = signature(text);
    return all.substr(all.find("-> ") + 3);
  };
  EXPECT_EQ(types("y, h = gru(e, 5, layers = 2, bidirectional = true)"),
            "y f32[N, T, 10], h f32[4, N, 5]");
  EXPECT_EQ(types("y, h = rnn(transpose(e, [1, 0, 2]), 5, batch_first = false)"),
            "y f32[T, N, 5], h f32[1, N, 5]");
  EXPECT_EQ(types("y, h = simple_rnn(e, 5)"), "y f32[N, T, 5], h f32[N, 5]");
  EXPECT_EQ(types("y, h, c = lstm(e, 5)\ny, h, _ = lstm(y, 5, h0 = h, c0 = c)"),
            "y f32[N, T, 5], h f32[1, N, 5]");
  EXPECT_EQ(types("h = x\ny = multi_head_attention(e, e, e, 3, causal = true)"),
            "y f32[N, T, 6], h f32[N, 8]");
  EXPECT_EQ(types("h = x\ny = attention(e, e, e)"), "y f32[N, T, 6], h f32[N, 8]");
}

TEST(Elaborate, OpsKnowTheirPlaceInTheText) {
  auto imported = importText("nn 1\nmodel M(x: f32[N, 8]) {\n  y = tanh(relu(x))\n  return y\n}\n");
  ASSERT_TRUE(imported->module) << imported->diagnostics.render();
  std::vector<std::pair<unsigned, unsigned>> places;
  imported->module->walk([&](mlir::Operation *op) {
    if (op->getName().getStringRef() == "nn.relu" || op->getName().getStringRef() == "nn.tanh") {
      auto loc = mlir::cast<mlir::FileLineColLoc>(op->getLoc());
      places.emplace_back(loc.getLine(), loc.getColumn());
    }
  });
  EXPECT_EQ(places, (std::vector<std::pair<unsigned, unsigned>>{{3, 12}, {3, 7}}));
}

TEST(Elaborate, ImportsBringBlocksConstantsAndDims) {
  namespace fs = std::filesystem;
  fs::path folder = fs::path(testing::TempDir()) / "nncc-import-test";
  fs::create_directories(folder);
  std::ofstream(folder / "lib.nn") << "nn 1\nconst width = 4\ndim N = 1..8\nblock Layer(x, w = "
                                      "width) { return linear(x, w) as fc }\n";
  std::ofstream(folder / "again.nn")
      << "nn 1\nimport \"lib.nn\"\nblock Twice(x) {\nx = Layer(x) as a\nreturn Layer(x) as b\n}\n";
  auto imported = importText("nn 1\nimport \"lib.nn\"\nimport \"again.nn\"\nmodel M(x: f32[N, "
                             "width]) { return Twice(x) as t }\n",
                             {}, (folder / "main.nn").string());
  ASSERT_TRUE(imported->module) << imported->diagnostics.render();
  EXPECT_EQ(parametersOf(*imported->module),
            "t.a.fc.weight f32[4, 4] uniform\nt.a.fc.bias f32[4] uniform\n"
            "t.b.fc.weight f32[4, 4] uniform\nt.b.fc.bias f32[4] uniform\n");
  std::ofstream(folder / "cycle.nn") << "nn 1\nimport \"cycle.nn\"\n";
  auto cycle = importText("nn 1\nimport \"cycle.nn\"\nmodel M(x: f32[1]) { return x }\n", {},
                          (folder / "main.nn").string());
  ASSERT_FALSE(cycle->module);
  EXPECT_EQ(cycle->diagnostics.all().front().message,
            "'cycle.nn' imports itself, directly or by others");
  fs::remove_all(folder);
}

TEST(Elaborate, TakesPartsOfNamedDimsWithinTheirRange) {
  auto shapeOf = [](const std::string &subscript) {
    auto imported = importText("nn 1\ndim T = 4..\nmodel M(x: f32[N, T, 8]) { return y = x[:, " +
                               subscript + "] }\n");
    EXPECT_TRUE(imported->module) << imported->diagnostics.render();
    return imported->module ? signatureOf(*imported->module) : "";
  };
  const std::string in = "x f32[N, T, 8] -> y f32[N, ";
  EXPECT_EQ(shapeOf(":4"), in + "4, 8]");
  EXPECT_EQ(shapeOf("1:4:2"), in + "2, 8]");
  EXPECT_EQ(shapeOf("-3:"), in + "3, 8]");
  EXPECT_EQ(shapeOf("-3:-1"), in + "2, 8]");
  EXPECT_EQ(shapeOf("3"), in + "8]");
  EXPECT_EQ(shapeOf(":"), in + "T, 8]");
}

} // namespace
} // namespace nncc::frontend
