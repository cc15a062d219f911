// Properties of the parser and the printer together, on the examples and on texts made from them by
// random edits (from a fixed seed): no text crashes them; every error has a place; printing keeps
// meaning and comments, and printing twice changes nothing.
#include "Mutator.h"
#include "SyntaxDump.h"

#include "frontend/nn/Printer.h"

#include <gtest/gtest.h>

#include <algorithm>

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
