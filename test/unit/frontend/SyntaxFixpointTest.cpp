// Properties of the parser and the printer together, on the examples and on texts made from them by
// random edits (from a fixed seed): no text crashes them; every error has a place; printing keeps
// meaning and comments, and printing twice changes nothing.
#include "SyntaxDump.h"

#include "frontend/nn/Printer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace nncc::frontend {
namespace {

/// Checks the properties; returns whether the text parsed.
bool checkText(const std::string &text) {
  auto parsed = parseText(text);
  if (!parsed->file) {
    EXPECT_EQ(parsed->diagnostics.all().size(), 1u) << "one clear error\n" << text;
    for (const Diagnostic &diagnostic : parsed->diagnostics.all()) {
      EXPECT_TRUE(diagnostic.range.valid()) << diagnostic.message;
      EXPECT_LE(diagnostic.range.begin, text.size()) << diagnostic.message;
    }
    EXPECT_FALSE(parsed->diagnostics.render().empty());
    return false;
  }
  std::string once = print(*parsed->file);
  auto again = parseText(once);
  if (!again->file) {
    ADD_FAILURE() << "printed text does not parse:\n"
                  << again->diagnostics.render() << "from:\n"
                  << text;
    return true;
  }
  EXPECT_EQ(dump(*again->file), dump(*parsed->file)) << "printing changed the meaning of:\n"
                                                     << text;
  EXPECT_EQ(print(*again->file), once) << "printing is no fixpoint for:\n" << text;
  auto before = commentsOf(text), after = commentsOf(once);
  std::sort(before.begin(), before.end());
  std::sort(after.begin(), after.end());
  EXPECT_EQ(after, before) << "printing lost or changed comments of:\n" << text;
  return true;
}

TEST(SyntaxFixpoint, ExamplesParseAndAreFormatted) {
  auto texts = exampleTexts();
  ASSERT_GE(texts.size(), 10u) << "the examples were not found";
  for (const auto &[name, text] : texts) {
    SCOPED_TRACE(name);
    auto parsed = parseText(text);
    ASSERT_TRUE(parsed->file) << parsed->diagnostics.render();
    EXPECT_TRUE(checkText(text));
    EXPECT_EQ(print(*parsed->file), text) << "format it with nncc --emit=nn";
  }
}

class Mutator {
public:
  Mutator(std::vector<std::string> corpus, uint32_t seed)
      : corpus(std::move(corpus)), random(seed) {}

  std::string next() {
    std::string text = pick(corpus);
    for (size_t edits = 1 + below(4); edits > 0; --edits)
      edit(text);
    return text;
  }

private:
  size_t below(size_t bound) { return bound == 0 ? 0 : random() % bound; }
  template <typename T> const T &pick(const std::vector<T> &from) {
    return from[below(from.size())];
  }

  void edit(std::string &text) {
    static const std::vector<std::string> fragments = {"(",
                                                       ")",
                                                       "[",
                                                       "]",
                                                       "{",
                                                       "}",
                                                       ",",
                                                       ":",
                                                       "..",
                                                       ".",
                                                       "=",
                                                       "==",
                                                       "<",
                                                       "-",
                                                       "**",
                                                       "//",
                                                       "@",
                                                       " as ",
                                                       " as a{i}.0",
                                                       "\n",
                                                       "\n\n",
                                                       " # c\n",
                                                       "# d\n",
                                                       "\"s\"",
                                                       "1",
                                                       "2.5",
                                                       "1e9",
                                                       "none",
                                                       "not ",
                                                       " and ",
                                                       "if a {",
                                                       "} else {",
                                                       "repeat 2 {",
                                                       "return x",
                                                       "param p: f32[2] = 1\n",
                                                       "x[:, 1]",
                                                       "f(a,)",
                                                       "[1, 2]",
                                                       "\t",
                                                       "\r\n",
                                                       "\xC3\xA9",
                                                       "\xFF",
                                                       std::string(1, '\0'),
                                                       "train {",
                                                       "target t: f32\n",
                                                       "import \"x\"\n"};
    size_t at = below(text.size() + 1);
    size_t length = std::min(below(12), text.size() - at);
    switch (below(6)) {
    case 0:
      text.erase(at, length);
      break;
    case 1:
      text.insert(at, text.substr(below(text.size()), below(40)));
      break;
    case 2:
      if (at < text.size())
        text[at] = static_cast<char>(random());
      break;
    case 3:
      text.resize(at);
      break;
    default:
      text.insert(at, pick(fragments));
      break;
    }
  }

  std::vector<std::string> corpus;
  std::mt19937 random;
};

TEST(SyntaxFixpoint, SurvivesMutations) {
  std::vector<std::string> corpus;
  for (auto &[name, text] : exampleTexts())
    corpus.push_back(text);
  const uint32_t seed = 20240229;
  Mutator mutator(corpus, seed);
  size_t valid = 0;
  const size_t count = 6000;
  for (size_t i = 0; i < count && !HasFailure(); ++i) {
    SCOPED_TRACE("mutation " + std::to_string(i) + " of seed " + std::to_string(seed));
    valid += checkText(mutator.next());
  }
  // Both halves of the properties must have been exercised.
  EXPECT_GT(valid, count / 20);
  EXPECT_LT(valid, count - count / 20);
}

} // namespace
} // namespace nncc::frontend
