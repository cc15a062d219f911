// docs/language.md against the compiler: its examples compile, and its tables are those of the
// compiler's tables. With NNCC_UPDATE_DOCS=1 in the environment the tables are rewritten instead.
#include "ImportText.h"
#include "SyntaxDump.h"

#include "frontend/nn/Lexer.h"
#include "frontend/nn/OpTable.h"
#include "frontend/nn/TrainTable.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <set>

namespace nncc::frontend {
namespace {

const std::string manualPath = NNCC_SOURCE_DIR "/docs/language.md";

std::string readManual() {
  std::ifstream stream(manualPath, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

TEST(LanguageReference, ExamplesCompile) {
  size_t count = 0;
  for (const auto &[name, text] : exampleTexts()) {
    if (!name.starts_with("language.md"))
      continue;
    ++count;
    auto imported = importText(text, {}, name);
    EXPECT_TRUE(imported->module) << imported->diagnostics.render();
  }
  EXPECT_GE(count, 10u);
}

void checkTable(const std::string &name, const std::string &expected) {
  const std::string begin = "<!-- begin " + name + " -->\n", end = "<!-- end " + name + " -->";
  std::string manual = readManual();
  size_t from = manual.find(begin), to = manual.find(end);
  ASSERT_NE(from, std::string::npos);
  ASSERT_NE(to, std::string::npos);
  from += begin.size();
  if (std::getenv("NNCC_UPDATE_DOCS")) {
    manual.replace(from, to - from, expected);
    std::ofstream(manualPath, std::ios::binary) << manual;
    return;
  }
  EXPECT_EQ(manual.substr(from, to - from), expected)
      << "run this test with NNCC_UPDATE_DOCS=1 to rewrite the table";
}

TEST(LanguageReference, OperationsAreThoseOfTheCompiler) {
  checkTable("operations", opTableMarkdown());
}
TEST(LanguageReference, TrainingIsThatOfTheCompiler) {
  checkTable("training", trainTableMarkdown());
}

/// Every reserved word and element type is highlighted: it is an alternative of one of the
/// grammar's patterns.
TEST(LanguageReference, GrammarKnowsTheWords) {
  std::ifstream stream(NNCC_SOURCE_DIR "/tools/editors/vscode/syntaxes/nn.tmLanguage.json");
  nlohmann::json grammar = nlohmann::json::parse(stream);
  std::set<std::string> words;
  for (const auto &pattern : grammar["repository"]["expression"]["patterns"]) {
    std::string match = pattern.value("match", "");
    for (size_t begin = 0; begin < match.size();) {
      size_t end = std::min(match.find_first_of("|()", begin), match.size());
      words.insert(match.substr(begin, end - begin));
      begin = end + 1;
    }
  }
  for (const std::string &word : reservedWords())
    EXPECT_TRUE(words.contains(word)) << word;
  for (int i = 0; i <= static_cast<int>(DType::Bool); ++i)
    EXPECT_TRUE(words.contains(std::string(nameOf(static_cast<DType>(i))))) << i;
}

} // namespace
} // namespace nncc::frontend
