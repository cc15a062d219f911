// Texts made from models by random edits of names, numbers and operators, which mostly still parse:
// importing one gives a module or an error with a place, never both, never neither, and never a
// crash.
#include "ImportText.h"
#include "SyntaxDump.h"

#include <gtest/gtest.h>

#include <cctype>
#include <random>

namespace nncc::frontend {
namespace {

/// The text with some of its words and numbers replaced by others.
std::string mutate(std::string text, std::mt19937 &random) {
  static const std::vector<std::string> words = {"0",          "1",
                                                 "-1",         "2",
                                                 "3",          "4096",
                                                 "4294967296", "9223372036854775807",
                                                 "0.5",        "1e300",
                                                 "none",       "true",
                                                 "x",          "N",
                                                 "T",          "[1, 2]",
                                                 "[]",         "[[0, 1], [1, 0]]",
                                                 "f32",        "i64",
                                                 "bool",       "\"same\"",
                                                 "relu",       "linear",
                                                 "conv2d",     "flatten",
                                                 "softmax",    "embedding",
                                                 "lstm",       "reshape",
                                                 "split",      "concat",
                                                 "sum",        "x.shape",
                                                 "x[0]",       "x[:, 1:2]",
                                                 "x @ x",      "-x",
                                                 "axis",       "kernel"};
  for (size_t edits = 1 + random() % 3; edits > 0; --edits) {
    // The header stays, so that more than the version line is tested.
    size_t at = 5 + random() % (text.size() - 5);
    while (at < text.size() && !std::isalnum(static_cast<unsigned char>(text[at])))
      ++at;
    size_t begin = at, end = at;
    while (begin > 5 &&
           (std::isalnum(static_cast<unsigned char>(text[begin - 1])) || text[begin - 1] == '_'))
      --begin;
    while (end < text.size() &&
           (std::isalnum(static_cast<unsigned char>(text[end])) || text[end] == '_'))
      ++end;
    text.replace(begin, end - begin, words[random() % words.size()]);
  }
  return text;
}

TEST(ElaborateMutation, GivesAModuleOrAnError) {
  std::vector<std::string> corpus;
  for (auto &[name, text] : exampleTexts())
    if (!name.starts_with("resnet") &&
        !name.starts_with("mobilenet")) // the same code many times over
      corpus.push_back(text);
  ASSERT_GE(corpus.size(), 10u);
  const uint32_t seed = 20240229;
  std::mt19937 random(seed);
  size_t imported = 0;
  const size_t count = 3000;
  for (size_t i = 0; i < count && !HasFailure(); ++i) {
    std::string text = mutate(corpus[random() % corpus.size()], random);
    SCOPED_TRACE("mutation " + std::to_string(i) + " of seed " + std::to_string(seed) + ":\n" +
                 text);
    auto result = importText(text);
    EXPECT_NE(!!result->module, result->diagnostics.hasErrors());
    for (const Diagnostic &diagnostic : result->diagnostics.all())
      EXPECT_TRUE(diagnostic.range.valid()) << diagnostic.message;
    imported += !!result->module;
  }
  // Both ends must have been reached.
  EXPECT_GT(imported, count / 50);
  EXPECT_LT(imported, count - count / 50);
}

TEST(ElaborateMutation, BoundsWhatATextCanMake) {
  EXPECT_EQ(bodyError("l = [x]\nrepeat 1000 { l = [l] }"),
            "4:20: lists are nested more than 16 deep");
  EXPECT_EQ(bodyError("e = embedding(ids, 9, 6)\ny, h = gru(e, 3, layers = 1000000000)"),
            "4:27: gru 'gru': layers must be at most 1024, found 1000000000");
  EXPECT_EQ(bodyError("param p: f32[1000000, 1] = 0\ny = split(p, 1000000)"),
            "4:14: split: dimension 0 of f32[1000000, 1] cannot be split into 1000000 equal parts");
}

} // namespace
} // namespace nncc::frontend
