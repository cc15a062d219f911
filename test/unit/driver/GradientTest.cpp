// Every gradient rule against central differences in double precision, with PyTorch gradcheck's defaults. A case is a model; its
// parameters become inputs, add-gradients and expand-gradients make it compute its gradients, and it runs compiled, so that the
// kernels of gradients are tested as well as the rules.

#include "driver/CompileModel.h"
#include "driver/PrepareWeights.h"
#include "passes/Passes.h"
#include "runtime/Api.h"

#include "nncc/nncc.hpp"

#include "mlir/Pass/PassManager.h"

#include <cmath>
#include <gtest/gtest.h>
#include <random>

using namespace nncc;

namespace {

constexpr double kStep = 1e-6, kAbsolute = 1e-5, kRelative = 1e-3;

struct Case {
  const char *name;
  const char *model;       ///< what stands behind "nn 1", or IR for what the language has no word for
  double from = -1.5, to = 1.5; ///< inputs lie here
};
void PrintTo(const Case &test, std::ostream *to) { *to << test.name; }

/// Parameters as inputs: only those can be varied from outside.
void exposeParameters(mlir::ModuleOp module) {
  auto infer = module.lookupSymbol<mlir::func::FuncOp>(passes::kInferFunction);
  mlir::Block &body = infer.getBody().front();
  for (auto parameter : llvm::make_early_inc_range(module.getOps<nn::ParameterOp>())) {
    mlir::NamedAttribute name(nn::NNDialect::kNameAttr, mlir::StringAttr::get(module.getContext(), parameter.getSymName()));
    auto attributes = mlir::DictionaryAttr::get(module.getContext(), name);
    ASSERT_TRUE(mlir::succeeded(
        infer.insertArgument(infer.getNumArguments(), parameter.getType(), attributes, parameter.getLoc())));
    for (auto get : llvm::make_early_inc_range(body.getOps<nn::GetParameterOp>()))
      if (get.getName() == parameter.getSymName()) {
        get.getResult().replaceAllUsesWith(body.getArguments().back());
        get.erase();
      }
    parameter.erase();
  }
}

/// A model in this process that gives its outputs and, behind them, its gradients.
class GradientModel {
public:
  explicit GradientModel(const Case &test) {
    auto context = driver::createContext();
    driver::ModelSource source;
    bool isIr = std::string_view(test.model).starts_with("module");
    source.path = std::string(test.name) + (isIr ? ".mlir" : ".nn");
    source.text = isIr ? test.model : std::string("nn 1\n") + test.model;
    auto imported = driver::importModel(*context, source);
    if (!imported)
      throw std::runtime_error(imported.error().message);
    exposeParameters(*imported->module);
    mlir::PassManager passes(context.get());
    passes.addNestedPass<mlir::func::FuncOp>(passes::createAddGradients());
    passes.addNestedPass<mlir::func::FuncOp>(passes::createExpandGradients());
    if (failed(passes.run(*imported->module)))
      throw std::runtime_error("no gradients");
    driver::CompileRequest request;
    request.source.path = std::string(test.name) + ".mlir";
    request.source.text.emplace();
    llvm::raw_string_ostream(*request.source.text) << *imported->module;
    request.optLevel = 1;
    auto compiled = driver::compileModel(*context, request);
    if (!compiled)
      throw std::runtime_error(compiled.error().message);
    weights = std::move(compiled->weights);
    auto loaded = driver::loadInProcess(&compiled->variants[0], nullptr, weights);
    if (!loaded)
      throw std::runtime_error(loaded.error().message);
    jit = std::move(*loaded);
    api = rt::makeApi(jit->descriptor());
    ModelOptions options;
    options.threads = 1;
    model.emplace(&api, options);
    instance.emplace(model->createInstance());
  }

  std::string weights;
  std::unique_ptr<codegen::JitModel> jit;
  nncc_api api;
  std::optional<Model> model;
  std::optional<Instance> instance;
};

class Gradients : public testing::TestWithParam<Case> {};

TEST_P(Gradients, AgreeWithCentralDifferences) {
  GradientModel gradients(GetParam());
  const nncc_model_info &info = gradients.model->info();
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> value(GetParam().from, GetParam().to), seed(-1, 1);

  // Named dims are 2, or as small as they may be; integer inputs are small indices.
  auto extentOf = [&](const nncc_extent &extent) -> int64_t {
    if (extent.value >= 0)
      return extent.value;
    // "N" or "N*3".
    std::string_view text = extent.text;
    size_t times = text.find('*');
    int64_t value = 2;
    for (size_t i = 0; i < info.dim_count; ++i)
      if (info.dims[i].name == text.substr(0, times))
        value = std::max(value, info.dims[i].min);
    return times == text.npos ? value : value * std::stoll(std::string(text.substr(times + 1)));
  };
  std::vector<std::vector<int64_t>> shapes;
  std::vector<std::vector<double>> data;
  std::vector<std::vector<int64_t>> integers;
  std::vector<std::string> names;
  for (size_t i = 0; i < info.input_count; ++i) {
    const nncc_tensor_info &input = info.inputs[i];
    std::vector<int64_t> shape;
    int64_t count = 1;
    for (int32_t d = 0; d < input.rank; ++d) {
      shape.push_back(extentOf(input.shape[d]));
      count *= shape.back();
    }
    names.push_back(input.name);
    bool isSeed = names.back().starts_with("grad.");
    data.emplace_back();
    integers.emplace_back();
    if (input.dtype.code == kDLFloat)
      for (int64_t e = 0; e < count; ++e)
        data.back().push_back(isSeed ? seed(random) : value(random));
    else
      for (int64_t e = 0; e < count; ++e)
        integers.back().push_back(random() % 3);
    shapes.push_back(shape);
  }
  auto run = [&] {
    std::vector<Tensor> inputs;
    for (size_t i = 0; i < shapes.size(); ++i)
      inputs.push_back(integers[i].empty() ? Tensor::borrow(data[i].data(), shapes[i])
                                           : Tensor::borrow(integers[i].data(), shapes[i]));
    return gradients.instance->run(inputs);
  };
  auto inputNamed = [&](const std::string &name) {
    return std::find(names.begin(), names.end(), name) - names.begin();
  };
  /// The outputs contracted with their seeds.
  auto loss = [&](const std::vector<Tensor> &results) {
    long double sum = 0;
    for (size_t i = 0; i < info.output_count; ++i) {
      size_t seeds = inputNamed(std::string("grad.") + info.outputs[i].name);
      if (std::string_view(info.outputs[i].name).starts_with("grad.") || seeds == names.size())
        continue;
      auto values = results[i].values<double>();
      for (size_t e = 0; e < values.size(); ++e)
        sum += static_cast<long double>(values[e]) * data[seeds][e];
    }
    return sum;
  };

  std::vector<Tensor> results = run();
  int checked = 0;
  for (size_t i = 0; i < info.output_count; ++i) {
    std::string name = info.outputs[i].name;
    if (!name.starts_with("grad."))
      continue;
    std::vector<double> &input = data[inputNamed(name.substr(5))];
    auto gradient = results[i].values<double>();
    ASSERT_EQ(gradient.size(), input.size()) << name;
    for (size_t e = 0; e < input.size(); ++e) {
      double at = input[e];
      input[e] = at + kStep;
      long double above = loss(run());
      input[e] = at - kStep;
      long double below = loss(run());
      input[e] = at;
      double expected = static_cast<double>((above - below) / (2 * kStep));
      ASSERT_NEAR(gradient[e], expected, kAbsolute + kRelative * std::abs(expected)) << name << " element " << e;
      ++checked;
    }
  }
  EXPECT_GT(checked, 0);
}

#define ELEMENTWISE(name, formula)                                                                                      \
  Case { name, "model M(x: f64[N, 7]) {\n y = " formula "\n return y\n}" }
#define POSITIVE(name, formula)                                                                                         \
  Case { name, "model M(x: f64[N, 7]) {\n y = " formula "\n return y\n}", 0.2, 2.0 }
#define PAIR(name, formula)                                                                                             \
  Case { name, "model M(x: f64[N, 1, 4], y: f64[3, 1]) {\n z = " formula "\n return z\n}", 0.3, 1.7 }

INSTANTIATE_TEST_SUITE_P(
    Elementwise, Gradients,
    testing::Values(ELEMENTWISE("relu", "relu(x)"), ELEMENTWISE("leaky_relu", "leaky_relu(x, alpha = 0.1)"),
                    ELEMENTWISE("elu", "elu(x)"), ELEMENTWISE("selu", "selu(x)"), ELEMENTWISE("celu", "celu(x, alpha = 0.7)"),
                    ELEMENTWISE("gelu", "gelu(x)"), ELEMENTWISE("gelu_tanh", "gelu(x, approximate = \"tanh\")"),
                    ELEMENTWISE("sigmoid", "sigmoid(x)"), ELEMENTWISE("silu", "silu(x)"), ELEMENTWISE("tanh", "tanh(x)"),
                    ELEMENTWISE("softplus", "softplus(x, beta = 2.0)"), ELEMENTWISE("softsign", "softsign(x)"),
                    ELEMENTWISE("mish", "mish(x)"), ELEMENTWISE("hard_sigmoid", "hard_sigmoid(x)"),
                    ELEMENTWISE("hard_swish", "hard_swish(x * 2.5)"), ELEMENTWISE("clip", "clip(x, -0.5, 0.7)"),
                    ELEMENTWISE("abs", "abs(x)"), ELEMENTWISE("exp", "exp(x)"), ELEMENTWISE("expm1", "expm1(x)"),
                    ELEMENTWISE("erf", "erf(x)"), ELEMENTWISE("sin", "sin(x)"), ELEMENTWISE("cos", "cos(x)"),
                    ELEMENTWISE("tan", "tan(x * 0.8)"), ELEMENTWISE("neg", "-x"), ELEMENTWISE("sign", "sign(x) + x"),
                    ELEMENTWISE("same_operand_twice", "x * x / (1.0 + x * x)"), ELEMENTWISE("cast", "cast(x, f64) * 2.0"),
                    POSITIVE("log", "log(x)"), POSITIVE("log1p", "log1p(x)"), POSITIVE("sqrt", "sqrt(x)"),
                    POSITIVE("rsqrt", "rsqrt(x)"), POSITIVE("reciprocal", "reciprocal(x)"), POSITIVE("pow_constant", "pow(x, 2.5)"),
                    POSITIVE("square", "square(x)"), PAIR("add", "x + y"), PAIR("sub", "x - y"), PAIR("mul", "x * y"),
                    PAIR("div", "x / y"), PAIR("pow", "pow(x, y)"), PAIR("max", "max(x, y)"), PAIR("min", "min(x, y)"),
                    PAIR("mod", "mod(x, y)"), PAIR("where", "where(x > 1.0, x * y, y)")),
    [](const auto &info) { return std::string(info.param.name); });


#define MODEL(name, arguments, body)                                                                                    \
  Case { name, "model M(" arguments ") {\n " body "\n return z\n}" }

INSTANTIATE_TEST_SUITE_P(
    Contraction, Gradients,
    testing::Values(
        MODEL("matmul", "x: f64[N, 3], y: f64[3, 4]", "z = matmul(x, y)"),
        MODEL("matmul_batches", "x: f64[N, 2, 3], y: f64[N, 3, 4]", "z = matmul(x, y)"),
        MODEL("matmul_one_for_all", "x: f64[N, 2, 3], y: f64[3, 4]", "z = matmul(x, y)"),
        MODEL("matmul_broadcast", "x: f64[2, 1, 2, 3], y: f64[3, 3, 2]", "z = matmul(x, y)"),
        MODEL("linear", "x: f64[N, 5]", "z = linear(x, 3) as fc"),
        MODEL("linear_many_rows", "x: f64[N, 90, 3]", "z = linear(x, 2) as fc"),
        MODEL("linear_rows", "x: f64[N, 4, 5]", "z = relu(linear(x, 3) as fc)"),
        MODEL("conv1d", "x: f64[N, 2, 7]", "z = conv1d(x, 3, kernel = 3, padding = 1) as c"),
        MODEL("conv2d", "x: f64[N, 2, 5, 6]", "z = relu(conv2d(x, 3, kernel = 3, padding = 1) as c)"),
        MODEL("conv2d_strided", "x: f64[N, 2, 6, 7]", "z = conv2d(x, 3, kernel = 3, stride = 2, padding = 1) as c"),
        MODEL("conv2d_strided_rest", "x: f64[N, 2, 6, 5]", "z = conv2d(x, 2, kernel = 2, stride = 3, bias = false) as c"),
        MODEL("conv2d_dilated", "x: f64[N, 2, 7, 7]", "z = conv2d(x, 2, kernel = 3, dilation = 2, padding = 2) as c"),
        MODEL("conv2d_groups", "x: f64[N, 4, 4, 4]", "z = conv2d(x, 6, kernel = 3, groups = 2, padding = 1) as c"),
        MODEL("conv2d_depthwise", "x: f64[N, 4, 4, 4]", "z = conv2d(x, 4, kernel = 3, groups = 4, padding = 1) as c"),
        MODEL("conv2d_rectangular", "x: f64[N, 2, 5, 6]", "z = conv2d(x, 2, kernel = [1, 3], padding = [0, 2]) as c"),
        MODEL("conv3d", "x: f64[1, 2, 3, 4, 3]", "z = conv3d(x, 2, kernel = 2) as c"),
        MODEL("conv3d_strided", "x: f64[1, 2, 5, 4, 5]", "z = conv3d(x, 3, kernel = [3, 2, 3], stride = 2, padding = 1) as c"),
        MODEL("conv2d_strided_one_by_one", "x: f64[N, 3, 5, 6]", "z = conv2d(relu(x), 4, kernel = 1, stride = 2) as c"),
        MODEL("conv2d_strided_padded", "x: f64[N, 2, 5, 7]", "z = conv2d(x, 3, kernel = 2, stride = 3, padding = 1) as c"),
        MODEL("conv2d_unequal_pads", "x: f64[1, 3, 5, 4]", "z = conv2d(x, 5, kernel = [3, 2], padding = [[2, 0], [0, 1]]) as c"),
        MODEL("conv2d_many_channels", "x: f64[1, 25, 3, 3]", "z = conv2d(x, 35, kernel = [3, 1], padding = [1, 0]) as c"),
        MODEL("conv2d_many_rows", "x: f64[N, 1, 40, 7]", "z = conv2d(x, 2, kernel = 3, stride = [1, 2]) as c"),
        MODEL("conv1d_dilated", "x: f64[N, 3, 12]", "z = conv1d(x, 2, kernel = 3, stride = 2, dilation = 3, padding = 2) as c"),
        MODEL("conv_transpose2d", "x: f64[N, 3, 3, 4]",
              "z = conv_transpose2d(x, 2, kernel = 3, stride = 2, padding = 1, output_padding = 1) as c"),
        MODEL("conv_transpose2d_groups", "x: f64[N, 4, 3, 3]", "z = conv_transpose2d(x, 4, kernel = 2, stride = 2, groups = 2) as c")),
    [](const auto &info) { return std::string(info.param.name); });

INSTANTIATE_TEST_SUITE_P(
    Reduction, Gradients,
    testing::Values(MODEL("sum", "x: f64[N, 3, 4]", "z = sum(x * x, axis = [0, 2])"),
                    MODEL("mean", "x: f64[N, 3, 4]", "z = mean(x * x, axis = 1)"),
                    MODEL("mean_batch", "x: f64[N, 3, 4]", "z = mean(x * x, axis = [0, 1])"),
                    MODEL("prod", "x: f64[N, 4]", "z = prod(x, axis = 1)"),
                    MODEL("max_of", "x: f64[N, 3, 4]", "z = reduce_max(x, axis = 2)"),
                    MODEL("min_of", "x: f64[N, 3, 4]", "z = reduce_min(x, axis = [1, 2], keepdims = true)")),
    [](const auto &info) { return std::string(info.param.name); });

// N is 2 when it runs, so the slices repeat its last and its first row.
const char *const kSliceTooShort = R"(module @M attributes {nn.dims = [#nn.dim<"N", 1, 64>]} {
  func.func @infer(%x: tensor<?x3xf64, #nn.enc<[N]>> {nn.name = "x"}) -> (tensor<3x3xf64> {nn.name = "z"}) {
    %a = nn.slice %x {starts = array<i64: 1, 0>, sizes = array<i64: 3, -1>, steps = array<i64: 1, 1>}
       : tensor<?x3xf64, #nn.enc<[N]>> -> tensor<3x3xf64>
    %b = nn.slice %x {starts = array<i64: -1, 0>, sizes = array<i64: 3, -1>, steps = array<i64: -1, 1>}
       : tensor<?x3xf64, #nn.enc<[N]>> -> tensor<3x3xf64>
    %z = nn.mul %a, %b : (tensor<3x3xf64>, tensor<3x3xf64>) -> tensor<3x3xf64>
    return %z : tensor<3x3xf64>
  }
})";

INSTANTIATE_TEST_SUITE_P(
    Movement, Gradients,
    testing::Values(MODEL("reshape", "x: f64[N, 6]", "z = reshape(x, [N, 2, 3]) * reshape(x, [N, 2, 3])"),
                    MODEL("expand", "x: f64[N, 1, 4]", "z = expand(x, [N, 3, 4])"),
                    MODEL("transpose", "x: f64[N, 3, 4]", "z = transpose(x, [2, 0, 1])"),
                    MODEL("slice", "x: f64[N, 5, 6]", "z = x[:, 1:4, 1:6:2]"),
                    MODEL("slice_end", "x: f64[N, 7]", "z = x[:, -3:] * x[:, 2:5]"),
                    MODEL("slice_dynamic", "x: f64[N, T, 3]", "z = x[:, -1:] * x[:, :1]"),
                    Case{"slice_dynamic_strided", "dim T = 4..9\nmodel M(x: f64[3, T, 2]) {\n z = x[:, :4:2]\n return z\n}"},
                    Case{"slice_dynamic_too_short", kSliceTooShort},
                    MODEL("concat", "x: f64[N, 2, 3], y: f64[N, 4, 3]", "z = concat([x, y, x], axis = 1)"),
                    MODEL("gather_rows", "x: f64[3, 5], i: i64[N, 4]", "z = gather(x, i, axis = 0)"),
                    MODEL("gather_middle", "x: f64[N, 3, 4], i: i64[5]", "z = gather(x, i, axis = 1)"),
                    MODEL("pad", "x: f64[N, 2, 3]", "z = pad(x, [[0, 1], [2, 0]], value = 2.0)"),
                    MODEL("pad_reflect", "x: f64[N, 4, 5]", "z = pad(x, [[2, 1], [0, 3]], mode = \"reflect\")"),
                    MODEL("pad_replicate", "x: f64[N, 4, 5]", "z = pad(x, [[2, 1], [0, 3]], mode = \"replicate\")"),
                    MODEL("pad_circular", "x: f64[N, 4, 5]", "z = pad(x, [[2, 1], [0, 3]], mode = \"circular\")")),
    [](const auto &info) { return std::string(info.param.name); });

INSTANTIATE_TEST_SUITE_P(
    Norm, Gradients,
    testing::Values(MODEL("softmax", "x: f64[N, 5]", "z = softmax(x)"), MODEL("softmax_middle", "x: f64[N, 4, 3]", "z = softmax(x, axis = 1)"),
                    MODEL("log_softmax", "x: f64[N, 5]", "z = log_softmax(x)"),
                    MODEL("layer_norm", "x: f64[N, 2, 6]", "z = layer_norm(x) as n"),
                    MODEL("rms_norm", "x: f64[N, 2, 6]", "z = rms_norm(x) as n"),
                    MODEL("group_norm", "x: f64[N, 4, 3, 2]", "z = group_norm(x, 2) as n"),
                    MODEL("instance_norm", "x: f64[N, 2, 3, 3]", "z = instance_norm(x) as n"),
                    MODEL("attention", "q: f64[N, 2, 3, 4], k: f64[N, 2, 5, 4], v: f64[N, 2, 5, 3]", "z = attention(q, k, v)"),
                    MODEL("attention_causal", "q: f64[N, 2, 4, 3]", "z = attention(q, q, q, causal = true)"),
                    MODEL("attention_causal_dynamic", "q: f64[N, 2, S, 3], k: f64[N, 2, T, 3]", "z = attention(q, k, k, causal = true)"),
                    MODEL("attention_shared_heads", "q: f64[N, 4, 3, 2], k: f64[N, 2, 5, 2], v: f64[N, 2, 5, 3]", "z = attention(q, k, v)"),
                    MODEL("attention_shared_heads_mask", "q: f64[N, 4, 3, 2], k: f64[N, 2, 3, 2], m: f64[4, 3, 3]",
                          "z = attention(q, k, k, mask = m, causal = true)"),
                    MODEL("attention_one_head_for_all", "q: f64[N, 3, 3, 2], k: f64[N, 1, 4, 2], m: f64[3, 4]",
                          "z = attention(q, k, k, mask = m)"),
                    MODEL("attention_mask", "q: f64[N, 2, 3, 4], k: f64[N, 2, 5, 4], m: f64[3, 5]", "z = attention(q, k, k, mask = m)")),
    [](const auto &info) { return std::string(info.param.name); });

INSTANTIATE_TEST_SUITE_P(
    Window, Gradients,
    testing::Values(MODEL("max_pool2d", "x: f64[N, 3, 4, 6]", "z = max_pool2d(x, 2)"),
                    MODEL("max_pool2d_overlapping", "x: f64[N, 2, 5, 6]", "z = max_pool2d(x, 3, stride = 2, padding = 1)"),
                    MODEL("max_pool2d_dilated", "x: f64[N, 2, 6, 6]", "z = max_pool2d(x, 2, stride = 1, dilation = 2)"),
                    MODEL("max_pool1d", "x: f64[N, 3, 7]", "z = max_pool1d(x, 3, stride = 2, ceil_mode = true)"),
                    MODEL("max_pool3d", "x: f64[1, 2, 4, 4, 2]", "z = max_pool3d(x, 2)"),
                    MODEL("avg_pool2d", "x: f64[N, 3, 4, 6]", "z = avg_pool2d(x, 2)"),
                    MODEL("avg_pool2d_overlapping", "x: f64[N, 2, 5, 6]", "z = avg_pool2d(x, 3, stride = 2, padding = 1)"),
                    MODEL("avg_pool2d_without_pads", "x: f64[N, 2, 5, 6]",
                          "z = avg_pool2d(x, 3, stride = 2, padding = 1, count_include_pad = false, ceil_mode = true)"),
                    MODEL("global_avg_pool", "x: f64[N, 2, 3, 4]", "z = adaptive_avg_pool2d(x, 1)"),
                    MODEL("adaptive_avg_pool_even", "x: f64[N, 2, 4, 6]", "z = adaptive_avg_pool2d(x, [2, 3])"),
                    MODEL("adaptive_avg_pool_uneven", "x: f64[N, 2, 5, 7]", "z = adaptive_avg_pool2d(x, [3, 4])"),
                    MODEL("adaptive_avg_pool_repeats", "x: f64[N, 2, 3]", "z = adaptive_avg_pool1d(x, 7)"),
                    MODEL("global_max_pool", "x: f64[N, 2, 3, 4]", "z = adaptive_max_pool2d(x, 1)"),
                    MODEL("adaptive_max_pool_even", "x: f64[N, 2, 4, 6]", "z = adaptive_max_pool2d(x, [2, 3])"),
                    MODEL("adaptive_max_pool_uneven", "x: f64[N, 2, 5, 6]", "z = adaptive_max_pool2d(x, [3, 2])"),
                    MODEL("adaptive_max_pool_repeats", "x: f64[N, 2, 3]", "z = adaptive_max_pool1d(x, 7)")),
    [](const auto &info) { return std::string(info.param.name); });

// The language has no GRU that resets before its product.
const char *const kResetBefore = R"(module @M attributes {nn.dims = []} {
  func.func @infer(%x: tensor<3x4x2xf64> {nn.name = "x"}, %wih: tensor<15x2xf64> {nn.name = "w_ih"},
                   %whh: tensor<15x5xf64> {nn.name = "w_hh"}, %bih: tensor<15xf64> {nn.name = "b_ih"},
                   %bhh: tensor<15xf64> {nn.name = "b_hh"}, %h0: tensor<3x5xf64> {nn.name = "h0"})
      -> (tensor<3x4x5xf64> {nn.name = "y"}, tensor<3x5xf64> {nn.name = "h"}) {
    %y, %h = nn.gru %x, %wih, %whh bias_ih %bih bias_hh %bhh h0 %h0 {reset_before}
      : (tensor<3x4x2xf64>, tensor<15x2xf64>, tensor<15x5xf64>, tensor<15xf64>, tensor<15xf64>, tensor<3x5xf64>)
        -> (tensor<3x4x5xf64>, tensor<3x5xf64>)
    return %y, %h : tensor<3x4x5xf64>, tensor<3x5xf64>
  }
})";
const char *const kResetBeforeBackwards = R"(module @M attributes {nn.dims = []} {
  func.func @infer(%x: tensor<1x3x2xf64> {nn.name = "x"}, %wih: tensor<27x2xf64> {nn.name = "w_ih"},
                   %whh: tensor<27x9xf64> {nn.name = "w_hh"}) -> (tensor<1x3x9xf64> {nn.name = "y"}) {
    %y, %h = nn.gru %x, %wih, %whh {reset_before, reverse}
      : (tensor<1x3x2xf64>, tensor<27x2xf64>, tensor<27x9xf64>) -> (tensor<1x3x9xf64>, tensor<1x9xf64>)
    return %y : tensor<1x3x9xf64>
  }
})";

INSTANTIATE_TEST_SUITE_P(
    Sequence, Gradients,
    testing::Values(
        MODEL("rnn", "x: f64[N, 5, 3]", "z, _ = rnn(x, 4) as l"),
        Case{"rnn_relu_states", "model M(x: f64[N, T, 3], h0: f64[1, N, 6]) {\n z, h = rnn(x, 6, activation = \"relu\", h0 = h0) as l\n"
                                " return z, h\n}"},
        MODEL("rnn_last_state", "x: f64[3, 4, 2]", "_, z = rnn(x, 3, bias = false) as l"),
        MODEL("rnn_long", "x: f64[5, 3, 2]", "z, _ = rnn(x, 19) as l"),
        MODEL("simple_rnn", "x: f64[N, T, 3]", "z, _ = simple_rnn(x, 5) as l"),
        Case{"lstm", "model M(x: f64[N, T, 3], h0: f64[1, N, 4], c0: f64[1, N, 4]) {\n z, h, c = lstm(x, 4, h0 = h0, c0 = c0) as l\n"
                     " return z, h, c\n}"},
        MODEL("lstm_without_states", "x: f64[3, 5, 2]", "z, _, _ = lstm(x, 9, bias = false) as l"),
        MODEL("lstm_last_cell", "x: f64[N, 3, 2]", "_, _, z = lstm(x, 3) as l"),
        Case{"lstm_bidirectional", "model M(x: f64[N, 4, 3]) {\n z, h, c = lstm(x, 3, layers = 2, bidirectional = true) as l\n return z, h, c\n}"},
        Case{"gru", "model M(x: f64[N, T, 3], h0: f64[1, N, 4]) {\n z, h = gru(x, 4, h0 = h0) as l\n return z, h\n}"},
        MODEL("gru_without_biases", "x: f64[3, 4, 2]", "z, _ = gru(x, 9, bias = false) as l"),
        Case{"gru_bidirectional", "model M(x: f64[N, 4, 3]) {\n z, h = gru(x, 5, bidirectional = true) as l\n return z, h\n}"},
        Case{"gru_reset_before", kResetBefore}, Case{"gru_reset_before_backwards", kResetBeforeBackwards}),
    [](const auto &info) { return std::string(info.param.name); });

#define RESIZE(name, arguments, options) MODEL("resize_" name, arguments, "z = resize(x, " options ")")

INSTANTIATE_TEST_SUITE_P(
    Resize, Gradients,
    testing::Values(
        RESIZE("nearest", "x: f64[N, 2, 3, 4]", "scale = [2, 2]"),
        RESIZE("nearest_fraction", "x: f64[N, 2, 4, 5]", "size = [7, 3]"),
        RESIZE("nearest_corners", "x: f64[N, 2, 4, 5]", "size = [7, 9], coordinates = \"align_corners\""),
        RESIZE("nearest_asymmetric", "x: f64[N, 2, 4, 5]", "size = [7, 2], coordinates = \"asymmetric\""),
        RESIZE("linear", "x: f64[N, 2, 3, 4]", "scale = [2, 3], mode = \"linear\""),
        RESIZE("linear_fraction", "x: f64[N, 2, 4, 5]", "size = [7, 3], mode = \"linear\""),
        RESIZE("linear_corners", "x: f64[N, 2, 4, 5]", "size = [9, 4], mode = \"linear\", coordinates = \"align_corners\""),
        RESIZE("linear_asymmetric", "x: f64[N, 2, 4, 5]", "size = [7, 5], mode = \"linear\", coordinates = \"asymmetric\""),
        RESIZE("linear_1d", "x: f64[N, 2, 5]", "size = [8], mode = \"linear\""),
        RESIZE("linear_3d", "x: f64[N, 1, 2, 3, 2]", "size = [3, 4, 5], mode = \"linear\""),
        RESIZE("dynamic", "x: f64[N, 2, H, 3]", "scale = [3, 2], mode = \"linear\""),
        RESIZE("dynamic_corners", "x: f64[N, 2, L]", "scale = [3], mode = \"linear\", coordinates = \"align_corners\""),
        RESIZE("to_one", "x: f64[N, 2, 5]", "size = [1], mode = \"linear\", coordinates = \"align_corners\""),
        RESIZE("from_one", "x: f64[N, 2, 1, 3]", "size = [9, 3], mode = \"linear\", coordinates = \"align_corners\""),
        // More readers than nn.resize_gradient unrolls.
        RESIZE("nearest_many", "x: f64[N, 1, 2, 2]", "size = [3, 71]"),
        RESIZE("nearest_corners_many", "x: f64[N, 1, 2]", "size = [70], coordinates = \"align_corners\""),
        RESIZE("nearest_asymmetric_many", "x: f64[N, 1, 2]", "size = [69], coordinates = \"asymmetric\""),
        RESIZE("linear_many", "x: f64[N, 1, 2, 3]", "size = [40, 3], mode = \"linear\"")),
    [](const auto &info) { return std::string(info.param.name); });

} // namespace
