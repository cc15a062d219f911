// Texts that are wrong in ways no author intends, or made to break a compiler: each gives one error
// at its place, in bounded time and on a bounded stack, or a model.
#include "ImportText.h"

#include <gtest/gtest.h>

namespace nncc::frontend {
namespace {

std::string repeated(std::string_view piece, size_t count) {
  std::string text;
  for (size_t i = 0; i < count; ++i)
    text += piece;
  return text;
}

/// One pattern nested or chained 100,000 times.
std::string deep(std::string_view open, std::string_view middle, std::string_view close = "") {
  return repeated(open, 100000) + std::string(middle) + repeated(close, 100000);
}

TEST(HostileText, NestingIsBounded) {
  const std::string nested = "nested more than 256 deep; split this over several statements";
  for (const std::string &text :
       {deep("(", "x", ")"), deep("(", ""), deep("[", "1", "]"), deep("-", "x"), deep("not ", "x"),
        deep("relu(", "x", ")"), deep("x ** ", "x")}) {
    std::string error = bodyError("y = " + text);
    EXPECT_TRUE(error.ends_with(nested)) << text.substr(0, 20) << ": " << error;
  }
  EXPECT_TRUE(bodyError(deep("if true {", "x = relu(x)", "}")).ends_with(nested));
  EXPECT_TRUE(bodyError(deep("repeat 1 {\n", "x = relu(x)", "\n}")).ends_with(nested));
}

TEST(HostileText, ChainsAreBounded) {
  const std::string long_ =
      "3:5: more than 256 operations in one expression; split it over several statements";
  EXPECT_EQ(bodyError("y = " + deep("x + ", "x")), long_);
  EXPECT_EQ(bodyError("y = " + deep("x @ ", "x")), long_);
  EXPECT_EQ(bodyError("y = x" + repeated(".shape", 100000)), long_);
  EXPECT_EQ(bodyError("y = x" + repeated("[:]", 100000)), long_);
  // What does not nest may be long.
  EXPECT_EQ(bodyError("if false { y = 1 }" + repeated(" else if false { y = 1 }", 100000)),
            "no error");
  EXPECT_EQ(bodyError(repeated("x = relu(x)\n", 20000)), "no error");
}

TEST(HostileText, BlocksDoNotMultiplyTheNesting) {
  // Each of the 64 calls that blocks may nest brings up to 240 levels of its own.
  const std::string error =
      "blocks and expressions nest more than 1024 deep here; does a block call itself? If not, "
      "split it over several statements";
  const std::string model = "\nmodel M(x: f32[N, 8]) { return y = B(x) }\n";
  for (const std::string &text :
       {"return " + repeated("relu(", 240) + "B(x)" + repeated(")", 240),
        repeated("if true {\n", 240) + "x = B(x)\n" + repeated("}\n", 240) + "return x"}) {
    std::string found = importError("nn 1\nblock B(x) {\n" + text + "\n}" + model);
    EXPECT_TRUE(found.ends_with(error)) << found;
  }
}

TEST(HostileText, ALongChainOfCallsIsCutInTheNotes) {
  auto imported = importText("nn 1\nblock A(x) { return B(x) }\nblock B(x) { return A(x) }\n"
                             "model M(x: f32[N]) { return A(x) }\n");
  ASSERT_TRUE(imported->diagnostics.hasErrors());
  const Diagnostic &error = imported->diagnostics.all().front();
  EXPECT_EQ(error.message, "blocks call each other more than 64 deep; does 'A' call itself?");
  ASSERT_EQ(error.notes.size(), 6u);
  EXPECT_EQ(error.notes.front().message, "in block 'B', called here");
  EXPECT_EQ(error.notes.back().message, "in block 'A', called here, 58 calls further out");
}

TEST(HostileText, DimensionsStaySmallExpressions) {
  const std::string error = "this dimension takes too many operations on named dims";
  EXPECT_EQ(bodyError("d = N\nrepeat 60 { d = d * d }"), "4:17: " + error);
  EXPECT_EQ(bodyError("d = N\nrepeat 3000 { d = d // 2 + d % 3 }"), "4:19: " + error);
  EXPECT_EQ(importError("nn 1\nmodel M(x: f32[N, 8, L]) {\nrepeat 2000 { x = avg_pool1d(x, kernel "
                        "= 3, stride = 2) }\nreturn x }\n"),
            "3:19: a dimension of the result takes too many operations on named dims; give the "
            "input a fixed extent there");
}

TEST(HostileText, ManyInputsTakeLinearTime) {
  std::string inputs, outputs;
  for (int i = 0; i < 20000; ++i) {
    inputs += "x" + std::to_string(i) + ": f32[N, 8], ";
    outputs += (i ? ", x" : "x") + std::to_string(i);
  }
  EXPECT_EQ(importError("nn 1\nmodel M(" + inputs + ") { return " + outputs + " }\n"), "no error");
  std::string dims;
  for (int i = 0; i < 1025; ++i)
    dims += "x" + std::to_string(i) + ": f32[N" + std::to_string(i) + "], ";
  EXPECT_TRUE(importError("nn 1\nmodel M(" + dims + ") { return x0 }\n")
                  .ends_with("a model has at most 1024 named dims"));
}

TEST(HostileText, NumbersAndNames) {
  EXPECT_EQ(bodyError("y = 9223372036854775808"), "3:5: this integer does not fit 64 bits");
  EXPECT_EQ(bodyError("y = 1e999"), "3:5: this number does not fit a double");
  EXPECT_EQ(bodyError("y = x + " + std::string(1000, 'a')),
            "3:9: this name has 1000 characters; names have at most 255");
  EXPECT_EQ(bodyError("y = relu(\"" + std::string(1000, 'a') + "\")"),
            "3:10: argument 'x' of 'relu' must be a tensor, found a string of 1000 bytes; names of "
            "values are written without quotes");
}

TEST(HostileText, Encodings) {
  EXPECT_EQ(importError("\xEF\xBB\xBFnn 1\r\nmodel M(x: f32[N]) {\r\n  return x\r\n}\r\n"),
            "no error");
  EXPECT_EQ(importError("nn 1\r\nmodel M(x: f32[N]) {\r\n  return q\r\n}\r\n"),
            "3:10: unknown name 'q'");
  EXPECT_EQ(importError("nn 1\rmodel M(x: f32[N]) { return x }\r"),
            "1:5: unexpected carriage return; lines end with \\n or \\r\\n");
  EXPECT_EQ(importError(std::string("nn 1\nmodel M(x: f32[N]) {\0 return x }\n", 38)),
            "2:21: unexpected control character 0x00");
  EXPECT_EQ(importError("nn 1 # caf\xE9\n"),
            "1:11: byte 0xe9 is not valid UTF-8; save the file as UTF-8");
  EXPECT_EQ(importError(std::string("\xFF\xFEn\0n\0", 6)),
            "1:1: this file is in UTF-16; save it as UTF-8");
}

TEST(HostileText, WhatOtherFrameworksWrite) {
  EXPECT_EQ(bodyError("y = self.fc1(x)"),
            "3:5: 'self.fc1' is no operation or block; layers need no declaration: write the "
            "operation where it is used and name its parameters, as in linear(x, 64) as fc1");
  EXPECT_EQ(bodyError("y = F.relu(x)"),
            "3:5: 'F.relu' is no operation or block; did you mean 'relu'?");
  EXPECT_EQ(bodyError("y = tf.keras(x)"), "3:5: 'tf.keras' is no operation or block");
  EXPECT_EQ(bodyError("y = x.view(-1, 8)"), "3:5: 'x.view' is no operation or block; values have "
                                            "no methods: write reshape(x, ...)");
  EXPECT_EQ(bodyError("y = x.size(0)"),
            "3:5: 'x.size' is no operation or block; a tensor's dimensions are x.shape, their "
            "number is x.rank");
  EXPECT_EQ(bodyError("y = conv2d(img, 3, 3, activation = \"relu\")"),
            "3:23: 'conv2d' has no argument 'activation'; call the activation on the result, as in "
            "relu(...); it takes x, out_channels, kernel, stride, padding, dilation, groups, bias");
  EXPECT_EQ(bodyError("y = reshape(x, N, 4, 2)"),
            "3:19: 'reshape' takes 2 arguments (x, shape), found 4; write several numbers as a "
            "list, [a, b]");
}

} // namespace
} // namespace nncc::frontend
