// Positions, UTF-8 and unreadable files.
#include "frontend/nn/Source.h"

#include "frontend/nn/Diagnostic.h"

#include <gtest/gtest.h>

namespace nncc::frontend {
namespace {

TEST(Source, CountsLinesAndCodePointsFromOne) {
  SourceFile file("a.nn", "ab\n\xC3\xA9z\r\n\tq");
  EXPECT_EQ(file.lineColumn(0), (LineColumn{1, 1}));
  EXPECT_EQ(file.lineColumn(2), (LineColumn{1, 3}));
  EXPECT_EQ(file.lineColumn(3), (LineColumn{2, 1}));
  EXPECT_EQ(file.lineColumn(5), (LineColumn{2, 2})) << "a two-byte character is one column";
  EXPECT_EQ(file.lineColumn(9), (LineColumn{3, 2})) << "a tab is one column";
  EXPECT_EQ(file.lineColumn(1000), (LineColumn{3, 3})) << "clamped to the end";
  EXPECT_EQ(file.line(2), "\xC3\xA9z");
  EXPECT_EQ(file.line(3), "\tq");
  EXPECT_EQ(file.line(4), "");
}

// Boundary values of the table of well-formed byte sequences in the Unicode standard (table 3-7).
TEST(Source, AcceptsWellFormedUtf8) {
  for (std::string_view text :
       {"plain", "\xC2\x80", "\xDF\xBF", "\xE0\xA0\x80", "\xED\x9F\xBF", "\xEE\x80\x80",
        "\xEF\xBF\xBF", "\xF0\x90\x80\x80", "\xF4\x8F\xBF\xBF"})
    EXPECT_EQ(findInvalidUtf8(text), std::string_view::npos) << text;
}

TEST(Source, FindsMalformedUtf8) {
  EXPECT_EQ(findInvalidUtf8("ab\x80"), 2u) << "lone continuation byte";
  EXPECT_EQ(findInvalidUtf8("a\xC1\x81"), 1u) << "over-long";
  EXPECT_EQ(findInvalidUtf8("\xE0\x9F\x80"), 0u) << "over-long";
  EXPECT_EQ(findInvalidUtf8("\xED\xA0\x80"), 0u) << "surrogate";
  EXPECT_EQ(findInvalidUtf8("\xF4\x90\x80\x80"), 0u) << "above U+10FFFF";
  EXPECT_EQ(findInvalidUtf8("x\xE2\x82"), 1u) << "cut off";
  EXPECT_EQ(findInvalidUtf8("\xFF"), 0u);
}

TEST(Source, ReportsMalformedUtf8WithItsPlace) {
  SourceManager sources;
  Diagnostics diagnostics;
  EXPECT_EQ(sources.add("bad.nn", "nn 1\n# caf\xE9\n", diagnostics), nullptr);
  EXPECT_EQ(diagnostics.render(),
            "bad.nn:2:6: error: byte 0xe9 is not valid UTF-8; save the file as UTF-8\n"
            "  # caf?\n"
            "       ^\n");
}

TEST(Source, ReportsFilesThatCannotBeRead) {
  SourceManager sources;
  Diagnostics diagnostics;
  EXPECT_EQ(sources.load("/nonexistent/x.nn", diagnostics), nullptr);
  EXPECT_EQ(diagnostics.render(),
            "error: cannot read '/nonexistent/x.nn': No such file or directory\n");
  EXPECT_EQ(sources.load("/", diagnostics), nullptr);
  EXPECT_EQ(diagnostics.all().back().message, "cannot read '/': is a directory");
}

} // namespace
} // namespace nncc::frontend
