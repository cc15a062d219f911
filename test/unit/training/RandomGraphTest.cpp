// Random graphs, trained for one step in double precision: the gradient of every parameter against
// central differences of the loss, each along a random direction. The compiled step is what runs,
// so that the fusion of forward and backward kernels and the layout of gradients are tested with
// the rules. A failure prints the seed and the model.

#include "test/unit/training/CompiledModel.h"

#include <cmath>
#include <cstdlib>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>
#include <numeric>
#include <random>

using namespace nncc;
using namespace nncc::test;

namespace {

using Shape = std::vector<int64_t>;
using Numbers = std::vector<double>;

int64_t countOf(const Shape &shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t(1), std::multiplies<int64_t>());
}

/// A model that grows op by op, and the shape of each value. The batch is a named dim, whose extent
/// is `batch`.
class Graph {
public:
  explicit Graph(unsigned seed) : random(seed) {
    batch = between(1, 3);
    bool isImage = chance(0.65);
    inputShape = isImage ? Shape{batch, pick({1, 2, 3, 8}), between(4, 8), between(4, 8)}
                         : Shape{batch, between(2, 6), pick({4, 6, 8, 11})};
    // The input's own gradient is that of a parameter of its shape.
    std::vector<int64_t> offset = inputShape;
    offset[0] = 1;
    body = fmt::format("  param offset: f64[{}] = init.zeros()\n", fmt::join(offset, ", "));
    add("x + offset", inputShape);
    if (isImage) {
      grow(between(3, 8), {&Graph::conv, &Graph::conv, &Graph::pool, &Graph::batchNorm,
                           &Graph::groupNorm, &Graph::unary, &Graph::unary, &Graph::binary,
                           &Graph::concat, &Graph::slice, &Graph::spatialMean,
                           &Graph::convTranspose, &Graph::resize, &Graph::pad, &Graph::dropout});
      if (chance(0.3)) {
        const Value x = last(4);
        add(fmt::format("flatten({})", x.name), {batch, countOf(x.shape) / batch});
        grow(between(1, 4),
             {&Graph::linear, &Graph::unary, &Graph::binary, &Graph::softmax, &Graph::dropout});
      } else if (chance(0.4)) {
        const Value x = last(4);
        int64_t places = x.shape[2] * x.shape[3];
        add(fmt::format("reshape(transpose({}, [0, 2, 3, 1]), [N, {}, {}])", x.name, places,
                        x.shape[1]),
            {batch, places, x.shape[1]});
        growSequence(between(1, 4));
      }
    } else {
      growSequence(between(2, 7));
    }
  }

  /// Everything that nothing reads is in the loss.
  std::string text() const {
    std::string loss;
    for (const Value &value : values)
      if (!value.isRead)
        loss +=
            fmt::format("{0}mean({1} * tanh({1} + 0.5))", loss.empty() ? "" : " + ", value.name);
    Shape rest(inputShape.begin() + 1, inputShape.end());
    return fmt::format("model Random(x: f64[N, {}]) {{\n{}  return {}\n}}\ntrain {{\n  loss = {}\n "
                       " optimizer = sgd(lr = 1.0)\n}}\n",
                       fmt::join(rest, ", "), body, values.back().name, loss);
  }

  Shape inputShape;

private:
  struct Value {
    std::string name;
    Shape shape;
    bool isRead = false;
  };
  using Op = void (Graph::*)();

  int64_t between(int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(random);
  }
  bool chance(double probability) {
    return std::uniform_real_distribution<double>(0, 1)(random) < probability;
  }
  int64_t pick(std::initializer_list<int64_t> from) {
    return from.begin()[between(0, static_cast<int64_t>(from.size()) - 1)];
  }
  std::string pickText(std::initializer_list<const char *> from) {
    return from.begin()[between(0, static_cast<int64_t>(from.size()) - 1)];
  }

  void grow(int64_t count, const std::vector<Op> &ops) {
    for (int64_t i = 0; i < count; ++i)
      (this->*ops[between(0, static_cast<int64_t>(ops.size()) - 1)])();
  }
  void growSequence(int64_t count) {
    grow(count, {&Graph::linear, &Graph::linear, &Graph::layerNorm, &Graph::unary, &Graph::binary,
                 &Graph::softmax, &Graph::attention, &Graph::lastMax, &Graph::recurrence,
                 &Graph::dropout});
  }

  void add(const std::string &expression, Shape shape) {
    std::string name = fmt::format("v{}", values.size());
    body += fmt::format("  {} = {}\n", name, expression);
    values.push_back({name, std::move(shape)});
  }
  /// A name for parameters.
  std::string path() const { return fmt::format("p{}", values.size()); }

  /// A value of this rank or shape, late ones more often: chains, and sometimes a second reader.
  /// There must be one.
  Value read(size_t rank, const Shape *shape = nullptr) {
    std::vector<Value *> fitting;
    for (Value &value : values)
      if (shape ? value.shape == *shape : !rank || value.shape.size() == rank)
        fitting.push_back(&value);
    size_t back = 0;
    while (back + 1 < fitting.size() && chance(0.35))
      ++back;
    fitting[fitting.size() - 1 - back]->isRead = true;
    return *fitting[fitting.size() - 1 - back];
  }
  Value last(size_t rank) {
    for (auto value = values.rbegin();; ++value)
      if (value->shape.size() == rank) {
        value->isRead = true;
        return *value;
      }
  }

  void conv() {
    const Value x = read(4);
    int64_t channels = x.shape[1], h = x.shape[2], w = x.shape[3];
    int64_t kernel = std::min(h, w) >= 3 ? pick({1, 3, 3}) : 1, padding = pick({0, kernel / 2}),
            stride = pick({1, 1, 2});
    int64_t groups = chance(0.2) ? channels : 1;
    int64_t filters = groups > 1 ? channels : pick({1, 3, 4, 8, 9});
    auto extent = [&](int64_t size) { return (size + 2 * padding - kernel) / stride + 1; };
    add(fmt::format(
            "conv2d({}, {}, kernel = {}, stride = {}, padding = {}, groups = {}, bias = {}) as {}",
            x.name, filters, kernel, stride, padding, groups, chance(0.7), path()),
        {batch, filters, extent(h), extent(w)});
  }
  void convTranspose() {
    const Value x = read(4);
    int64_t filters = pick({1, 2, 4});
    if (x.shape[2] * x.shape[3] > 40)
      return;
    add(fmt::format("conv_transpose2d({}, {}, kernel = 2, stride = 2) as {}", x.name, filters,
                    path()),
        {batch, filters, 2 * x.shape[2], 2 * x.shape[3]});
  }
  void pool() {
    const Value x = read(4);
    int64_t kernel = pick({2, 3}), stride = pick({1, 2}), padding = pick({0, kernel / 2});
    auto extent = [&](int64_t size) { return (size + 2 * padding - kernel) / stride + 1; };
    if (std::min(x.shape[2], x.shape[3]) < kernel)
      return;
    add(fmt::format("{}({}, {}, stride = {}, padding = {})", pickText({"max_pool2d", "avg_pool2d"}),
                    x.name, kernel, stride, padding),
        {batch, x.shape[1], extent(x.shape[2]), extent(x.shape[3])});
  }
  void batchNorm() {
    const Value x = read(4);
    // Of few numbers the norm is so steep that differences say little.
    if (batch * x.shape[2] * x.shape[3] >= 4)
      add(fmt::format("batch_norm({}, eps = 0.1) as {}", x.name, path()), x.shape);
  }
  void groupNorm() {
    const Value x = read(4);
    if (x.shape[2] * x.shape[3] >= 4)
      add(fmt::format("group_norm({}, {}, eps = 0.1) as {}", x.name, x.shape[1] % 2 ? 1 : 2,
                      path()),
          x.shape);
  }
  void unary() {
    const Value x = read(0);
    add(fmt::format("{}({})",
                    pickText({"relu", "gelu", "silu", "tanh", "sigmoid", "softplus", "elu",
                              "leaky_relu", "mish", "sin", "square", "hard_swish", "erf"}),
                    x.name),
        x.shape);
  }
  void binary() {
    const Value a = read(0), b = read(0, &a.shape);
    std::string symbol = pickText({"+", "-", "*"});
    // Products are bounded, so that chains of them do not grow without limit.
    std::string result = fmt::format("{} {} {}", a.name, symbol, b.name);
    add(symbol == "*" ? fmt::format("tanh({})", result) : result, a.shape);
  }
  void concat() {
    const Value a = read(4), b = read(0, &a.shape);
    if (a.shape[1] <= 12)
      add(fmt::format("concat([{}, {}], axis = 1)", a.name, b.name),
          {batch, 2 * a.shape[1], a.shape[2], a.shape[3]});
  }
  void slice() {
    const Value x = read(4);
    if (x.shape[1] < 2)
      return;
    int64_t begin = between(0, x.shape[1] - 2), end = between(begin + 1, x.shape[1]);
    add(fmt::format("{}[:, {}:{}]", x.name, begin, end),
        {batch, end - begin, x.shape[2], x.shape[3]});
  }
  void spatialMean() {
    const Value x = read(4);
    add(fmt::format("{0} - mean({0}, axis = [2, 3], keepdims = true)", x.name), x.shape);
  }
  void resize() {
    const Value x = read(4);
    int64_t h = between(2, 9), w = between(2, 9);
    add(fmt::format("resize({}, size = [{}, {}], mode = \"{}\")", x.name, h, w,
                    pickText({"nearest", "linear"})),
        {batch, x.shape[1], h, w});
  }
  void pad() {
    const Value x = read(4);
    if (x.shape[2] >= 2 && x.shape[2] <= 9)
      add(fmt::format("pad({}, [[1, 1], [0, 1]], mode = \"{}\")", x.name,
                      pickText({"constant", "reflect", "replicate"})),
          {batch, x.shape[1], x.shape[2] + 2, x.shape[3] + 1});
  }
  void dropout() {
    const Value x = read(0);
    add(fmt::format("dropout({}, 0.3)", x.name), x.shape);
  }
  void linear() {
    const Value x = read(values.back().shape.size());
    Shape shape = x.shape;
    shape.back() = pick({1, 5, 8, 17});
    add(fmt::format("linear({}, {}) as {}", x.name, shape.back(), path()), shape);
  }
  void layerNorm() {
    const Value x = read(3);
    if (x.shape[2] >= 3)
      add(fmt::format("{}({}, eps = 0.1) as {}", pickText({"layer_norm", "rms_norm"}), x.name,
                      path()),
          x.shape);
  }
  void softmax() {
    const Value x = read(values.back().shape.size());
    add(fmt::format("{}({}, axis = -1)", pickText({"softmax", "log_softmax"}), x.name), x.shape);
  }
  void attention() {
    const Value q = read(3), k = read(0, &q.shape);
    auto heads = [&](const Value &x) {
      return fmt::format("reshape({}, [N, 1, {}, {}])", x.name, x.shape[1], x.shape[2]);
    };
    add(fmt::format("reshape(attention({}, {}, {}, causal = {}), [N, {}, {}])", heads(q), heads(k),
                    heads(k), chance(0.5), q.shape[1], q.shape[2]),
        q.shape);
  }
  void lastMax() {
    const Value x = read(3);
    add(fmt::format("{0} - reduce_max({0}, axis = -1, keepdims = true)", x.name), x.shape);
  }
  void recurrence() {
    const Value x = read(3);
    int64_t units = pick({3, 4, 7});
    std::string kind = pickText({"rnn", "gru", "lstm"});
    std::string name = fmt::format("v{}", values.size());
    body += fmt::format("  {}, {}_ = {}({}, {}) as {}\n", name, kind == "lstm" ? "_, " : "", kind,
                        x.name, units, path());
    values.push_back({name, {batch, x.shape[1], units}});
  }

  std::mt19937_64 random;
  int64_t batch;
  std::string body;
  std::vector<Value> values;
};

/// A trained parameter, and where it stands.
struct Point {
  std::string name;
  Shape shape;
  Numbers value;
};

class RandomGraphs : public testing::TestWithParam<unsigned> {
protected:
  void check(On on, unsigned seed) {
    Graph graph(seed);
    SCOPED_TRACE(fmt::format("seed {}\n{}", seed, graph.text()));
    CompiledModel model(graph.text(), on);
    Instance trainer = model.trainer();
    std::mt19937_64 random(seed + 1000);
    std::uniform_real_distribution<double> number(-1, 1);
    auto draw = [&](int64_t count) {
      Numbers values(static_cast<size_t>(count));
      for (double &value : values)
        value = number(random);
      return values;
    };
    std::vector<Point> points;
    for (const CompiledModel::Parameter &parameter : model.parameters()) {
      if (parameter.name.find(".running_") != std::string::npos)
        continue;
      Point &point = points.emplace_back();
      point.name = parameter.name;
      point.shape = parameter.shape;
      point.value = valuesOf<double>(trainer, point.name, point.shape);
      for (double &value : point.value)
        value += 0.3 * number(random);
    }
    Numbers x = draw(countOf(graph.inputShape));
    // A step from these values, with the same random numbers for dropout.
    auto lossAt = [&](const std::vector<Point> &at) {
      for (const Point &point : at)
        setValues(trainer, point.name, point.shape, point.value);
      setValues(trainer, "train.step", {}, std::vector<int64_t>{0});
      return trainer.trainStep({Tensor::borrow(x.data(), graph.inputShape)})[0];
    };
    ASSERT_TRUE(std::isfinite(lossAt(points)));
    std::vector<Numbers> gradients;
    for (const Point &point : points) {
      gradients.push_back(valuesOf<double>(trainer, point.name, point.shape));
      for (size_t i = 0; i < point.value.size(); ++i)
        gradients.back()[i] = point.value[i] - gradients.back()[i];
    }
    for (size_t p = 0; p < points.size(); ++p) {
      Numbers direction = draw(static_cast<int64_t>(points[p].value.size()));
      double slope = 0;
      for (size_t i = 0; i < direction.size(); ++i)
        slope += gradients[p][i] * direction[i];
      // A kink (of relu, or of a maximum) that lies between the two points spoils a difference; a
      // smaller step passes it by.
      double difference = 0;
      bool agrees = false;
      for (double step : {1e-5, 1e-7}) {
        std::vector<Point> moved = points;
        for (size_t i = 0; i < direction.size(); ++i)
          moved[p].value[i] = points[p].value[i] + step * direction[i];
        double above = lossAt(moved);
        for (size_t i = 0; i < direction.size(); ++i)
          moved[p].value[i] = points[p].value[i] - step * direction[i];
        difference = (above - lossAt(moved)) / (2 * step);
        agrees = std::abs(difference - slope) <= 1e-5 * std::abs(difference) + 1e-7;
        if (agrees)
          break;
      }
      EXPECT_TRUE(agrees) << points[p].name << ": the gradient says " << slope
                          << ", central differences " << difference;
    }
  }
};

TEST_P(RandomGraphs, GradientsAreSlopes) { check(On::Cpu, GetParam()); }

INSTANTIATE_TEST_SUITE_P(OnTheCpu, RandomGraphs, testing::Range(0u, 20u));

class RandomGraphsOnTheDevice : public RandomGraphs {};

TEST_P(RandomGraphsOnTheDevice, GradientsAreSlopes) {
  if (std::string missing = prepareStandInDevice(); !missing.empty())
    GTEST_SKIP() << missing;
  check(On::Cuda, GetParam());
}

INSTANTIATE_TEST_SUITE_P(OnTheDevice, RandomGraphsOnTheDevice, testing::Range(0u, 20u, 5u));

} // namespace
