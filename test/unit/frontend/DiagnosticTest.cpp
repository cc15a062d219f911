// The form of diagnostics: place, line, caret, notes, long and hostile lines.
#include "frontend/nn/Diagnostic.h"

#include <gtest/gtest.h>

namespace nncc::frontend {
namespace {

TEST(Diagnostic, ShowsLineCaretAndNotes) {
  SourceFile file("m.nn", "nn 1\n\tx = foo(1)\n");
  Diagnostics diagnostics;
  diagnostics.error({&file, 10, 13}, "unknown 'foo'").note({&file, 6, 7}, "for this");
  EXPECT_TRUE(diagnostics.hasErrors());
  EXPECT_EQ(diagnostics.render(), "m.nn:2:6: error: unknown 'foo'\n"
                                  "  \tx = foo(1)\n"
                                  "  \t    ^~~\n"
                                  "m.nn:2:2: note: for this\n"
                                  "  \tx = foo(1)\n"
                                  "  \t^\n");
}

TEST(Diagnostic, WarningsAreNoErrors) {
  Diagnostics diagnostics;
  diagnostics.warning({}, "odd");
  EXPECT_FALSE(diagnostics.hasErrors());
  EXPECT_EQ(diagnostics.render(), "warning: odd\n");
}

TEST(Diagnostic, MarksOnlyTheFirstLineOfALongRange) {
  SourceFile file("m.nn", "ab(\ncd)\n");
  EXPECT_EQ(render({Severity::Error, {&file, 1, 7}, "x", {}}), "m.nn:1:2: error: x\n"
                                                               "  ab(\n"
                                                               "   ^~\n");
}

TEST(Diagnostic, CutsLongLinesAroundTheCaret) {
  SourceFile file("m.nn", std::string(1000, 'a') + "!" + std::string(1000, 'b'));
  EXPECT_EQ(render({Severity::Error, {&file, 1000, 1001}, "x", {}}),
            "m.nn:1:1001: error: x\n"
            "  ..." +
                std::string(60, 'a') + "!" + std::string(59, 'b') + "...\n" + std::string(65, ' ') +
                "^\n");
}

TEST(Diagnostic, KeepsControlCharactersFromTheTerminal) {
  SourceFile file("m.nn", "a\x1b[2Jb");
  EXPECT_EQ(render({Severity::Error, {&file, 1, 2}, "x", {}}), "m.nn:1:2: error: x\n"
                                                               "  a?[2Jb\n"
                                                               "   ^\n");
}

} // namespace
} // namespace nncc::frontend
