// Layout of tables: widths, alignment, rules, shortened cells.

#include "tools/support/TextTable.h"

#include <gtest/gtest.h>

using namespace nncc::tools;
using enum TextTable::Align;

TEST(TextTable, ColumnsAreAsWideAsTheirContents) {
  TextTable table({{"name", Left}, {"µs"}});
  table.addRow({"conv", "12.5"});
  table.addRow({"a longer name", "3"});
  table.addRule();
  table.addRow({"total"});
  EXPECT_EQ(table.render(1), " name             µs\n"
                             " ───────────────────\n"
                             " conv           12.5\n"
                             " a longer name     3\n"
                             " ───────────────────\n"
                             " total\n");
}

TEST(TextTable, LongCellsLoseTheirEnd) {
  TextTable table({{"n", Left, 5}, {"x"}});
  table.addRow({"abcdefgh", "1"});
  table.addRow({"äöüßé", "2"});
  EXPECT_EQ(table.render(), "n      x\n"
                            "────────\n"
                            "abcd…  1\n"
                            "äöüßé  2\n");
}
