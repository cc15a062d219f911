// Recurrent layers and attention against plain loops in double: gates, directions, initial states, batches that do not fill a
// task, masks, causality, shared heads.

#include "test/unit/codegen/KernelHarness.h"
#include "test/unit/codegen/KernelText.h"

#include "gtest/gtest.h"

#include <cmath>

using namespace nncc;
using namespace nncc::codegen::test;

namespace {

std::string tensor(std::initializer_list<int64_t> shape, const std::string &element = "f32") {
  std::string text = "tensor<";
  for (int64_t extent : shape)
    text += std::to_string(extent) + "x";
  return text + element + ">";
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

struct Layer {
  std::string op;
  int64_t n, t, inputs, hidden;
  bool reverse = false, resetBefore = false;
};

/// The formulas of PyTorch's documentation, one batch row after the other.
void check(const Layer &l) {
  int64_t gates = l.op == "lstm" ? 4 : l.op == "gru" ? 3 : 1, h = l.hidden;
  std::vector<float> x = randomFloats(l.n * l.t * l.inputs, 1), wIh = randomFloats(gates * h * l.inputs, 2, -0.5, 0.5),
                     wHh = randomFloats(gates * h * h, 3, -0.3, 0.3), bIh = randomFloats(gates * h, 4),
                     bHh = randomFloats(gates * h, 5), h0 = randomFloats(l.n * h, 6), c0 = randomFloats(l.n * h, 7);
  std::vector<float> wantY(l.n * l.t * h), wantH(l.n * h), wantC(l.n * h);
  for (int64_t n = 0; n < l.n; ++n) {
    std::vector<double> state(h0.begin() + n * h, h0.begin() + (n + 1) * h), cell(c0.begin() + n * h, c0.begin() + (n + 1) * h);
    for (int64_t step = 0; step < l.t; ++step) {
      int64_t t = l.reverse ? l.t - 1 - step : step;
      auto fromInput = [&](int64_t row) {
        double sum = bIh[row];
        for (int64_t k = 0; k < l.inputs; ++k)
          sum += double(wIh[row * l.inputs + k]) * x[(n * l.t + t) * l.inputs + k];
        return sum;
      };
      auto fromState = [&](int64_t row, const std::vector<double> &of) {
        double sum = bHh[row];
        for (int64_t k = 0; k < h; ++k)
          sum += double(wHh[row * h + k]) * of[k];
        return sum;
      };
      std::vector<double> next(h), reset(h);
      for (int64_t j = 0; j < h; ++j)
        if (l.op == "gru")
          reset[j] = state[j] * sigmoid(fromInput(j) + fromState(j, state));
      for (int64_t j = 0; j < h; ++j) {
        auto gate = [&](int64_t g) { return fromInput(g * h + j) + fromState(g * h + j, state); };
        if (l.op == "rnn") {
          next[j] = std::tanh(gate(0));
        } else if (l.op == "lstm") {
          cell[j] = sigmoid(gate(1)) * cell[j] + sigmoid(gate(0)) * std::tanh(gate(2));
          next[j] = sigmoid(gate(3)) * std::tanh(cell[j]);
        } else {
          double r = sigmoid(gate(0)), z = sigmoid(gate(1)), input = fromInput(2 * h + j);
          double value = std::tanh(l.resetBefore ? input + fromState(2 * h + j, reset) : input + r * fromState(2 * h + j, state));
          next[j] = (1 - z) * value + z * state[j];
        }
      }
      state = next;
      for (int64_t j = 0; j < h; ++j)
        wantY[(n * l.t + t) * h + j] = static_cast<float>(state[j]);
    }
    for (int64_t j = 0; j < h; ++j) {
      wantH[n * h + j] = static_cast<float>(state[j]);
      wantC[n * h + j] = static_cast<float>(cell[j]);
    }
  }

  std::string tx = tensor({l.n, l.t, l.inputs}), tIh = tensor({gates * h, l.inputs}), tHh = tensor({gates * h, h}),
              tb = tensor({gates * h}), ts = tensor({l.n, h}), ty = tensor({l.n, l.t, h});
  bool isLstm = l.op == "lstm";
  std::vector<std::string> operands = {tx, tIh, tHh, tb, tb, ts}, results = {ty, ts};
  if (isLstm) {
    operands.push_back(ts);
    results.push_back(ts);
  }
  std::string types, resultTypes = ty + ", " + ts + (isLstm ? ", " + ts : "");
  for (const std::string &type : operands)
    types += (types.empty() ? "" : ", ") + type;
  std::string attributes = l.reverse ? "{reverse}" : l.resetBefore ? "{reset_before}" : "";
  std::string text = kernelText(operands, results,
                                std::string("%y, %h") + (isLstm ? ", %c" : "") + " = nn." + l.op +
                                    " %a0, %a1, %a2 bias_ih %a3 bias_hh %a4 h0 %a5 " + (isLstm ? "c0 %a6 " : "") + attributes +
                                    " : (" + types + ") -> (" + resultTypes + ")\nnn.yield %y, %h" + (isLstm ? ", %c" : "") + " : " +
                                    resultTypes);
  CompiledKernel kernel(text);
  Buffer<float> bx(x), bwIh(wIh), bwHh(wHh), bbIh(bIh), bbHh(bHh), bh0(h0), bc0(c0), y(wantY.size()), hn(wantH.size()), cn(wantC.size());
  std::vector<void *> args = {bx, bwIh, bwHh, bbIh, bbHh, bh0};
  if (isLstm)
    args.push_back(bc0);
  args.insert(args.end(), {y.data(), hn.data()});
  if (isLstm)
    args.push_back(cn);
  ASSERT_EQ(kernel.run(args), rt::KernelOk);
  expectNear(y.values(), wantY, 2e-6, 1e-5);
  expectNear(hn.values(), wantH, 2e-6, 1e-5);
  if (isLstm)
    expectNear(cn.values(), wantC, 2e-6, 1e-5);

  // The same with the input multiplied before; the biases go there too, except a GRU's hidden ones.
  bool isGru = l.op == "gru";
  std::vector<float> projected;
  for (int64_t row = 0; row < l.n * l.t; ++row)
    for (int64_t g = 0; g < gates * h; ++g) {
      double sum = bIh[g] + (isGru ? 0.0f : bHh[g]);
      for (int64_t k = 0; k < l.inputs; ++k)
        sum += double(wIh[g * l.inputs + k]) * x[row * l.inputs + k];
      projected.push_back(static_cast<float>(sum));
    }
  std::string tp = tensor({l.n, l.t, gates * h});
  operands = {tp, tHh, tb, ts};
  if (isLstm)
    operands.push_back(ts);
  types = tp + ", " + tHh + (isGru ? ", " + tb : "") + ", " + ts + (isLstm ? ", " + ts : "");
  std::string cell = l.op == "rnn" ? "rnn_tanh" : l.resetBefore ? "gru_reset_before" : l.op;
  CompiledKernel step(kernelText(operands, results,
                                 std::string("%y, %h") + (isLstm ? ", %c" : "") + " = nn.recurrence %a0, %a1 " +
                                     (isGru ? "bias_hh %a2 " : "") + "h0 %a3 " + (isLstm ? "c0 %a4 " : "") + cell +
                                     (l.reverse ? " {reverse}" : "") + " : (" + types + ") -> (" + resultTypes + ")\nnn.yield %y, %h" +
                                     (isLstm ? ", %c" : "") + " : " + resultTypes));
  Buffer<float> bp(projected);
  y.poison();
  args = {bp, bwHh, bbHh, bh0};
  if (isLstm)
    args.push_back(bc0);
  args.insert(args.end(), {y.data(), hn.data()});
  if (isLstm)
    args.push_back(cn);
  ASSERT_EQ(step.run(args), rt::KernelOk);
  expectNear(y.values(), wantY, 2e-6, 1e-5);
}

struct Scores {
  int64_t heads, sharedHeads, s, t, d, e;
  bool causal = false;
  std::string mask = ""; ///< "", "f32" per key, "i1" per query and key
};

void checkAttention(const Scores &a) {
  constexpr int64_t n = 2;
  std::vector<float> q = randomFloats(n * a.heads * a.s * a.d, 1, -2, 2), k = randomFloats(n * a.sharedHeads * a.t * a.d, 2, -2, 2),
                     v = randomFloats(n * a.sharedHeads * a.t * a.e, 3), bias = randomFloats(a.t, 4, -3, 3), want;
  std::vector<uint8_t> seen;
  for (float value : randomFloats(a.s * a.t, 5))
    seen.push_back(value > 0);
  for (int64_t t = 0; t < a.t; ++t)
    seen[t] = 0; // the first query sees nothing
  for (int64_t i = 0; i < n; ++i)
    for (int64_t h = 0; h < a.heads; ++h)
      for (int64_t s = 0; s < a.s; ++s) {
        int64_t kv = i * a.sharedHeads + h / (a.heads / a.sharedHeads);
        std::vector<double> p(a.t);
        double largest = -INFINITY, total = 0;
        for (int64_t t = 0; t < a.t; ++t) {
          double sum = 0;
          for (int64_t d = 0; d < a.d; ++d)
            sum += double(q[((i * a.heads + h) * a.s + s) * a.d + d]) * k[(kv * a.t + t) * a.d + d];
          sum /= std::sqrt(double(a.d));
          if (a.mask == "f32")
            sum += bias[t];
          if ((a.mask == "i1" && !seen[s * a.t + t]) || (a.causal && t > s))
            sum = -INFINITY;
          p[t] = sum;
          largest = std::max(largest, sum);
        }
        for (double &value : p)
          total += value = largest == -INFINITY ? 0 : std::exp(value - largest);
        for (int64_t e = 0; e < a.e; ++e) {
          double sum = 0;
          for (int64_t t = 0; t < a.t; ++t)
            sum += p[t] * v[(kv * a.t + t) * a.e + e];
          want.push_back(static_cast<float>(total == 0 ? 0 : sum / total));
        }
      }
  std::string tq = tensor({n, a.heads, a.s, a.d}), tk = tensor({n, a.sharedHeads, a.t, a.d}), tv = tensor({n, a.sharedHeads, a.t, a.e}),
              ty = tensor({n, a.heads, a.s, a.e}), tm = a.mask == "f32" ? tensor({a.t}) : tensor({a.s, a.t}, "i1");
  std::vector<std::string> operands = {tq, tk, tv};
  if (!a.mask.empty())
    operands.push_back(tm);
  std::string types;
  for (const std::string &type : operands)
    types += (types.empty() ? "" : ", ") + type;
  CompiledKernel kernel(kernelText(operands, {ty},
                                   std::string("%0 = nn.attention %a0, %a1, %a2 ") + (a.mask.empty() ? "" : "mask %a3 ") +
                                       (a.causal ? "{causal} " : "") + ": (" + types + ") -> " + ty + "\nnn.yield %0 : " + ty));
  Buffer<float> bq(q), bk(k), bv(v), bm(bias), y(want.size());
  Buffer<uint8_t> bs(seen);
  std::vector<void *> args = {bq, bk, bv};
  if (!a.mask.empty())
    args.push_back(a.mask == "f32" ? static_cast<void *>(bm) : static_cast<void *>(bs));
  args.push_back(y);
  ASSERT_EQ(kernel.run(args), rt::KernelOk);
  expectNear(y.values(), want, 1e-5, 1e-5);
}

} // namespace

TEST(Rnn, ManyRows) { check({.op = "rnn", .n = 7, .t = 5, .inputs = 11, .hidden = 83}); }
TEST(Rnn, Reverse) { check({.op = "rnn", .n = 1, .t = 6, .inputs = 8, .hidden = 16, .reverse = true}); }
TEST(Lstm, ManyRows) { check({.op = "lstm", .n = 6, .t = 4, .inputs = 9, .hidden = 37}); }
TEST(Lstm, OneRowReverse) { check({.op = "lstm", .n = 1, .t = 5, .inputs = 20, .hidden = 70, .reverse = true}); }
TEST(Gru, ManyRows) { check({.op = "gru", .n = 5, .t = 4, .inputs = 9, .hidden = 37}); }
TEST(Gru, ResetBefore) { check({.op = "gru", .n = 5, .t = 4, .inputs = 9, .hidden = 37, .resetBefore = true}); }

TEST(Attention, SelfAttention) { checkAttention({.heads = 3, .sharedHeads = 3, .s = 70, .t = 70, .d = 16, .e = 16}); }
TEST(Attention, FewQueriesManyKeys) { checkAttention({.heads = 2, .sharedHeads = 2, .s = 3, .t = 150, .d = 20, .e = 9}); }
TEST(Attention, Causal) { checkAttention({.heads = 2, .sharedHeads = 2, .s = 100, .t = 100, .d = 8, .e = 8, .causal = true}); }
TEST(Attention, SharedHeads) { checkAttention({.heads = 6, .sharedHeads = 2, .s = 17, .t = 19, .d = 8, .e = 8}); }
TEST(Attention, AddedMask) { checkAttention({.heads = 2, .sharedHeads = 2, .s = 17, .t = 65, .d = 8, .e = 8, .mask = "f32"}); }
TEST(Attention, BoolMaskWithAnEmptyRow) {
  checkAttention({.heads = 2, .sharedHeads = 2, .s = 37, .t = 130, .d = 8, .e = 8, .mask = "i1"});
}
