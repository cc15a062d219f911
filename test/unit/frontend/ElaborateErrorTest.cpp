// Each mistake in a model gives one error at its place that says what was expected, what was found
// and what to do.
#include "ImportText.h"

#include <gtest/gtest.h>

namespace nncc::frontend {
namespace {

TEST(ElaborateError, UnknownNames) {
  EXPECT_EQ(bodyError("y = relu(z)"), "3:10: unknown name 'z'");
  EXPECT_EQ(bodyError("hidden = x\ny = relu(hiden)"),
            "4:10: unknown name 'hiden'; did you mean 'hidden'?");
  EXPECT_EQ(bodyError("y = conv2(img, 3, kernel = 1)"),
            "3:5: 'conv2' is no operation or block; did you mean 'conv2d'?");
  EXPECT_EQ(bodyError("y = Dense(x, 3)"),
            "3:5: 'Dense' is no operation or block; did you mean 'linear'?");
  EXPECT_EQ(bodyError("y = x(3)"), "3:5: 'x' is a value, not an operation or block");
  EXPECT_EQ(bodyError("y = relu"), "3:5: 'relu' is called with parentheses: relu(...)");
  EXPECT_EQ(bodyError("y = x.shap"), "3:7: a tensor has no member 'shap'; did you mean 'shape'?");
  EXPECT_EQ(bodyError("param p: f32[1] = init.nomal()"),
            "3:19: there is no initialiser 'init.nomal'; did you mean 'normal'?; known are zeros, "
            "ones, constant, uniform, "
            "normal, kaiming_uniform, kaiming_normal, xavier_uniform, xavier_normal");
  EXPECT_EQ(importError("nn 1\nconst channels = 3\nmodel M(x: f32[N, chanels]) { return x }\n"),
            "3:19: 'chanels' is neither a constant nor a declared dim; did you mean 'channels'? (a "
            "dim that is not declared "
            "begins with a capital letter)");
}

TEST(ElaborateError, Arguments) {
  EXPECT_EQ(bodyError("y = linear(x)"), "3:5: 'linear' needs the argument 'out_features'");
  EXPECT_EQ(bodyError("y = conv2d(img)"),
            "3:5: 'conv2d' needs the arguments 'out_channels', 'kernel'");
  EXPECT_EQ(bodyError("y = linear(x, 3, biass = true)"),
            "3:18: 'linear' has no argument 'biass'; did you mean 'bias'?; it takes x, "
            "out_features, bias, in_features");
  EXPECT_EQ(bodyError("y = conv2d(img, 3, kernel_size = 3)"),
            "3:20: 'conv2d' has no argument 'kernel_size'; did you mean 'kernel'?; it takes x, "
            "out_channels, kernel, stride, "
            "padding, dilation, groups, bias");
  EXPECT_EQ(bodyError("y = softmax(x, 1, 2)"),
            "3:19: 'softmax' takes 2 arguments (x, axis), found 3");
  EXPECT_EQ(bodyError("y = linear(x, 3, out_features = 4)"),
            "3:18: argument 'out_features' of 'linear' is given twice");
  EXPECT_EQ(bodyError("y = linear(x, 3.5)"),
            "3:15: argument 'out_features' of 'linear' must be an integer, found the number 3.5; "
            "'//' divides integers to an "
            "integer, int(x) rounds towards zero");
  EXPECT_EQ(bodyError("y = linear(x, N)"),
            "3:15: argument 'out_features' of 'linear' must be an integer, found the dimension N; "
            "it must be known when the "
            "model is compiled");
  EXPECT_EQ(bodyError("y = relu(3)"),
            "3:10: argument 'x' of 'relu' must be a tensor, found the integer 3");
  EXPECT_EQ(bodyError("y = conv2d(img, 3, kernel = [3, 3, 3])"),
            "3:29: conv2d 'conv2d': kernel takes one integer or 2 of them, found 3");
  EXPECT_EQ(bodyError("y = conv2d(img, 3, kernel = 0)"),
            "3:29: conv2d 'conv2d': kernel must be at least 1, found 0");
  EXPECT_EQ(bodyError("y = gelu(x, approximate = \"tan\")"),
            "3:27: gelu: approximate must be one of \"none\", \"tanh\", found \"tan\"; did you "
            "mean 'tanh'?");
  EXPECT_EQ(bodyError("y = softmax(x, axis = 2)"),
            "3:23: softmax: axis 2 is outside -2..1 for a tensor of rank 2");
  EXPECT_EQ(bodyError("y = linear(x, 3, weight_init = 0.5)"),
            "3:32: 'weight_init' takes an initialiser such as init.normal(0, 0.02), found the "
            "number 0.5");
  EXPECT_EQ(bodyError("y = relu(x) as act"),
            "3:16: 'relu' has no parameters to name; put 'as' behind the call that has");
}

TEST(ElaborateError, Shapes) {
  EXPECT_EQ(bodyError("y = linear(flatten(img), 10, in_features = 32 * 32 * 32) as fc1"),
            "3:44: linear 'fc1': weight expects 32768 features, found 768 (3*16*16); make "
            "in_features and the shape of x agree");
  EXPECT_EQ(bodyError("y = conv2d(x, 3, kernel = 1)"),
            "3:12: conv2d 'conv2d': expected x of rank 4 [N, C, H, W], found f32[N, 8]");
  EXPECT_EQ(bodyError("y = conv2d(img, 4, kernel = 1, groups = 2) as c"),
            "3:41: conv2d 'c': groups must divide the channels of x and out_channels, found 2 "
            "groups of 3 and 4 channels");
  EXPECT_EQ(
      bodyError("y = x + img"),
      "3:5: add: the shapes of f32[N, 8] and f32[N, 3, 16, 16] do not fit together: 16 against N");
  EXPECT_EQ(bodyError("y = x + ids"), "3:5: add: operands must have one element type, found f32[N, "
                                      "8] and i64[N, T]; cast one of them, as in cast(x, f32)");
  EXPECT_EQ(bodyError("y = ids + 0.5"), "3:5: add: b is the number 0.5, but the tensor holds "
                                        "integers; cast it first, as in cast(x, f32)");
  EXPECT_EQ(bodyError("y = x @ x"),
            "3:5: the contracted dimensions must agree, found 8 in f32[N, 8] and N in f32[N, 8]");
  EXPECT_EQ(bodyError("y = x @ 2"),
            "3:5: argument 'b' of 'matmul' must be a tensor, found the integer 2");
  EXPECT_EQ(bodyError("y = linear(ids, 3)"),
            "3:12: linear 'linear': expected a floating-point tensor, found i64[N, T]; cast it "
            "first, as in cast(x, f32)");
  EXPECT_EQ(bodyError("y = linear(cast(ids, f32), 3)"),
            "3:12: linear 'linear': the number of features (the last dimension) must be known when "
            "the model is compiled, but it "
            "is the named dim T of f32[N, T]");
  EXPECT_EQ(bodyError("y = reshape(x, [N, 9])"),
            "3:16: reshape: f32[N, 8] has N * 8 elements, the new shape N * 9");
  EXPECT_EQ(bodyError("y = reshape(x, [N, 3, -1])"),
            "3:16: reshape: -1 stands for no whole number: f32[N, 8] has N * 8 elements, the other "
            "dimensions take N * 3");
  EXPECT_EQ(bodyError("y = img[:, 3]"),
            "3:12: index 3 is outside dimension 1 of f32[N, 3, 16, 16]");
  const std::string noFixedExtent =
      "3:5: this part of dimension 1 of i64[N, T] has no fixed extent within its least value 1; "
      "declare the dim's range to begin at what [:n] or [-n:] takes, or fix the dim with --dim";
  for (const char *part : {"1:", ":-1", ":2", "-2:", "::2"})
    EXPECT_EQ(bodyError(std::string("y = ids[:, ") + part + "]"), noFixedExtent) << part;
  EXPECT_EQ(bodyError("y = ids[:, 2]"),
            "3:12: index 2 may be outside dimension 1 of i64[N, T], which can be as small as 1; "
            "declare a range for its dim, as in dim T = 3..");
  EXPECT_EQ(bodyError("y = max_pool2d(img, 2, padding = 2)"),
            "3:34: max_pool2d: padding must be at most half the kernel (2), found 2");
  EXPECT_EQ(importError("nn 1\nmodel M(x: f32[4000000000, 4000000000]) { return x }\n"),
            "2:12: a tensor of shape [4000000000, 4000000000] takes more than 2^63 - 1 bytes; make "
            "its dimensions smaller");
  EXPECT_EQ(bodyError("y = linear(x, 9223372036854775807) as big"),
            "3:5: a tensor of shape [9223372036854775807, 8] takes more than 2^63 - 1 bytes; make "
            "its dimensions smaller");
}

TEST(ElaborateError, Values) {
  EXPECT_EQ(bodyError("y = 1 // 0"), "3:10: division by zero");
  EXPECT_EQ(bodyError("y = 9223372036854775807 + 1"), "3:5: this integer leaves 64 bits");
  EXPECT_EQ(bodyError("y = [1, 2][2]"), "3:12: index 2 is outside a list of 2");
  EXPECT_EQ(bodyError("y = \"a\" + 1"),
            "3:5: '+' does not take the string \"a\" and the integer 1");
  EXPECT_EQ(bodyError("if x > 0 { x = relu(x) }"),
            "3:4: a condition must be true or false, found the tensor bool[N, 8]; to choose "
            "between tensors element by element, "
            "use where(...)");
  EXPECT_EQ(bodyError("if N == 4 { x = relu(x) }"),
            "3:4: N == 4 is not known when the model is compiled");
  EXPECT_EQ(bodyError("y = lstm(x, 3) + 1"),
            "3:10: lstm 'lstm': expected x of rank 3 [N, T, features], found f32[N, 8]");
  EXPECT_EQ(bodyError("e = embedding(ids, 9, 6)\ny = lstm(e, 3)"),
            "4:1: one name stands on the left, but the right gives 3 values; write 'y, h, c = "
            "lstm(...)'");
  EXPECT_EQ(bodyError("e = embedding(ids, 9, 6)\ny = relu(lstm(e, 3))"),
            "4:10: 'lstm' gives 3 values; assign them to names first: y, h, c = lstm(...)");
  EXPECT_EQ(bodyError("a, b = relu(x)"),
            "3:1: 2 names stand on the left, but the right gives 1 value");
  EXPECT_EQ(bodyError("repeat x { y = x }"),
            "3:8: how often to repeat must be an integer, found the tensor f32[N, 8]");
  EXPECT_EQ(bodyError("y = linear(x, 8) as l.{-1}"),
            "3:24: a number in a parameter path cannot be negative, found -1");
}

TEST(ElaborateError, ParametersAndModels) {
  auto imported = importText(modelAround("y = linear(x, 3) as fc\ny = linear(x, 3) as fc"));
  ASSERT_FALSE(imported->module);
  EXPECT_EQ(imported->diagnostics.render(),
            "test.nn:4:5: error: two parameters are named 'fc.weight'; give one of the calls "
            "another path with 'as'\n"
            "  y = linear(x, 3) as fc\n"
            "      ^~~~~~~~~~~~~~~~~~\n"
            "test.nn:3:5: note: the other parameter\n"
            "  y = linear(x, 3) as fc\n"
            "      ^~~~~~~~~~~~~~~~~~\n");
  EXPECT_EQ(importError("nn 1\n"),
            "1:1: this file has no model; write 'model Name(inputs) { ... }'");
  const std::string two =
      "nn 1\nmodel A(x: f32[1]) { return x }\nmodel B(y: f32[1]) { return y }\n";
  EXPECT_EQ(importError(two), "3:7: this file has several models (A, B); choose one with --model");
  EXPECT_EQ(importError(two, {"B", {}}), "no error");
  EXPECT_EQ(importError(two, {"C", {}}), "1:1: no model 'C' in this file");
  EXPECT_EQ(importError("nn 1\nmodel M(x: f32[N, 8]) { return 3 }\n"),
            "2:32: a model returns tensors, found the integer 3");
  EXPECT_EQ(importError("nn 1\nmodel M(x: f32[N, 8]) { return a = x, a = relu(x) }\n"),
            "2:43: two outputs are named 'a'; write 'return a = ..., b = ...'");
  EXPECT_EQ(importError("nn 1\nmodel M(x: f32[N, 8], x: f32[N]) { return x }\n"),
            "2:23: model 'M' has two inputs named 'x'");
  EXPECT_EQ(importError("nn 1\nmodel M(x: f32[2 * N]) { return x }\n"),
            "2:20: dim 'N' stands only inside expressions, so its value cannot be told from the "
            "inputs; give it a dimension of its own");
  EXPECT_EQ(importError("nn 1\ndim N = 4..2\nmodel M(x: f32[N]) { return x }\n"),
            "2:9: the range of dim 'N' must begin at 1 or more and not be empty");
  EXPECT_EQ(importError("nn 1\ndim N = 1..4\nmodel M(x: f32[N]) { return x }\n", {"", {{"N", 5}}}),
            "3:16: dim 'N' cannot be 5: its range is 1..4");
  EXPECT_EQ(importError("nn 1\nblock relu(x) { return x }\nmodel M(x: f32[N]) { return x }\n"),
            "2:7: 'relu' is an operation of the language; choose another name");
  EXPECT_EQ(importError("nn 1\nconst a = 1\nconst a = 2\nmodel M(x: f32[N]) { return x }\n"),
            "3:7: 'a' is declared twice");
  EXPECT_EQ(importError("nn 1\nimport \"nowhere.nn\"\nmodel M(x: f32[N]) { return x }\n"),
            "2:8: cannot read 'nowhere.nn': No such file or directory");
}

TEST(ElaborateError, ErrorsInBlocksNameTheCalls) {
  auto imported =
      importText("nn 1\nblock Inner(x) { return relu(y) }\nblock Outer(x) { return Inner(x) }\n"
                 "model M(x: f32[N]) { return Outer(x) }\n");
  ASSERT_FALSE(imported->module);
  EXPECT_EQ(imported->diagnostics.render(), "test.nn:2:30: error: unknown name 'y'\n"
                                            "  block Inner(x) { return relu(y) }\n"
                                            "                               ^\n"
                                            "test.nn:3:25: note: in block 'Inner', called here\n"
                                            "  block Outer(x) { return Inner(x) }\n"
                                            "                          ^~~~~\n"
                                            "test.nn:4:29: note: in block 'Outer', called here\n"
                                            "  model M(x: f32[N]) { return Outer(x) }\n"
                                            "                              ^~~~~\n");
}

TEST(ElaborateError, EndlessModelsAreStopped) {
  EXPECT_EQ(importError("nn 1\nblock B(x) { return B(x) }\nmodel M(x: f32[N]) { return B(x) }\n"),
            "2:21: blocks call each other more than 64 deep; does 'B' call itself?");
  EXPECT_EQ(bodyError("repeat 1000000000000 {\n}"),
            "3:1: the model takes more than 1000000 steps to build; is a repeat too long?");
  EXPECT_EQ(bodyError("repeat i in 0..9223372036854775807 {\n}"),
            "3:1: the model takes more than 1000000 steps to build; is a repeat too long?");
}

std::string trainError(const std::string &section) {
  return importError("nn 1\nmodel M(x: f32[N, 8]) { return logits = x }\ntrain {\n" + section +
                     "\n}\n");
}

TEST(ElaborateError, TrainSections) {
  const std::string whole =
      "target t: i64[N]\nloss = cross_entropy(logits, t)\noptimizer = sgd(lr = 0.1)";
  EXPECT_EQ(trainError(whole), "no error");
  EXPECT_EQ(
      trainError("p = logits * 2\ntarget t: i64[N]\nloss = 0.5 * nll(p, t) + mse(logits, x)\n"
                 "optimizer = adamw(0.1, betas = [0.9, 0.99], no_decay = [\"*.bias\"])\nschedule = "
                 "step(30)\n"
                 "clip = global_norm(1)\nbatch = 8\nepochs = 2\nseed = 1\nfreeze = [\"a.*\"]\n"
                 "metric top5 = accuracy(p, t, k = 5)"),
      "no error");
  EXPECT_EQ(trainError("loss = mse(logits, x)"),
            "3:1: this train section has no 'optimizer = ...'");
  EXPECT_EQ(trainError(whole + "\noptimiser = adam()"),
            "7:13: 'adam' is no loss, metric or operation");
  EXPECT_EQ(trainError(whole + "\nepoch = 3"),
            "7:1: 'epoch' is no setting, and nothing uses it; did you mean 'epochs'?; settings are "
            "loss, optimizer, schedule, clip, "
            "batch, accumulate, epochs, precision, loss_scale, seed, freeze");
  EXPECT_EQ(trainError("loss = cross_entropy(logits, label)\noptimizer = sgd(0.1)"),
            "4:30: unknown name 'label'");
  EXPECT_EQ(trainError("loss = crossentropy(logits, x)\noptimizer = sgd(0.1)"),
            "4:8: 'crossentropy' is no loss, metric or operation; did you mean 'cross_entropy'?");
  EXPECT_EQ(trainError("loss = mse(logits, x)\noptimizer = sgd(momentum = 0.9)"),
            "5:13: 'sgd' needs the argument 'lr'");
  EXPECT_EQ(trainError("loss = mse(logits, x)\noptimizer = adams()"),
            "5:13: expected an optimizer (sgd, adam, adamw, rmsprop); did you mean 'adam'?");
  EXPECT_EQ(trainError("loss = mse(logits, x)\noptimizer = sgd(lr = \"fast\")"),
            "5:22: argument 'lr' of 'sgd' must be of kind float, found the string \"fast\"");
  EXPECT_EQ(trainError(whole + "\nbatch = 0.5"),
            "7:9: 'batch' must be of kind int, found the number 0.5");
}

TEST(ElaborateError, Precision) {
  const std::string whole =
      "target t: i64[N]\nloss = cross_entropy(logits, t)\noptimizer = sgd(lr = 0.1)\n";
  EXPECT_EQ(trainError(whole + "precision = bf16"), "no error");
  EXPECT_EQ(trainError(whole + "precision = f32"), "no error");
  const std::string half = whole + "precision = f16\n";
  EXPECT_EQ(trainError(half), "no error");
  EXPECT_EQ(trainError(half + "loss_scale = 1024"), "no error");
  EXPECT_EQ(trainError(half + "loss_scale = dynamic()"), "no error");
  EXPECT_EQ(trainError("loss_scale = dynamic(init = 8, growth = 1.5, backoff = 0.75, interval = 1)\n" + half), "no error");
  EXPECT_EQ(trainError(whole + "loss_scale = 8"),
            "7:14: 'loss_scale' goes with 'precision = f16': in f32 no gradient is too small");
  EXPECT_EQ(trainError(whole + "precision = bf16\nloss_scale = dynamic()"),
            "8:14: 'loss_scale' goes with 'precision = f16': in bf16 no gradient is too small");
  EXPECT_EQ(trainError(half + "loss_scale = 0"),
            "8:14: a loss scale needs a factor above 0 that f32 can hold");
  EXPECT_EQ(trainError(half + "loss_scale = 1e39"),
            "8:14: a loss scale needs a factor above 0 that f32 can hold");
  EXPECT_EQ(trainError(half + "loss_scale = f16"),
            "8:14: 'loss_scale' must be of kind float, found the element type f16");
  EXPECT_EQ(trainError(half + "loss_scale = static(8)"),
            "8:14: expected a loss_scale (dynamic)");
  EXPECT_EQ(trainError(half + "loss_scale = dynamic(start = 8)"),
            "8:22: 'dynamic' has no argument 'start'; it takes init, growth, backoff, interval");
  EXPECT_EQ(trainError(half + "loss_scale = dynamic(init = -1)"),
            "8:14: a loss scale needs a factor above 0 that f32 can hold");
  EXPECT_EQ(trainError(half + "loss_scale = dynamic(growth = 1)"),
            "8:14: a loss scale needs a 'growth' above 1");
  EXPECT_EQ(trainError(half + "loss_scale = dynamic(backoff = 1)"),
            "8:14: a loss scale needs a 'backoff' between 0 and 1");
  EXPECT_EQ(trainError(half + "loss_scale = dynamic(interval = 0)"),
            "8:14: a loss scale needs an 'interval' of at least 1");
  EXPECT_EQ(trainError(half + "loss_scale = dynamic(interval = 2.5)"),
            "8:33: argument 'interval' of 'dynamic' must be of kind int, found the number 2.5");
  EXPECT_EQ(trainError(whole + "precision = f64"),
            "7:13: 'precision' must be f32, bf16 or f16, found f64");
  EXPECT_EQ(trainError(whole + "precision = i8"),
            "7:13: 'precision' must be f32, bf16 or f16, found i8");
  EXPECT_EQ(trainError(whole + "precision = \"bf16\""),
            "7:13: 'precision' must be of kind dtype, found the string \"bf16\"");
  EXPECT_EQ(trainError(whole + "precision = fp16"), "7:13: unknown name 'fp16'");
}

} // namespace
} // namespace nncc::frontend
