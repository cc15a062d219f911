// CSV: headers, labels of each kind, quotes and line ends, and mistakes named by line and column.
#include "runtime/data/Csv.h"
#include "SourceTesting.h"
#include "test/unit/runtime/TemporaryFolder.h"

using namespace nncc;
using namespace nncc::data;

namespace {

CsvTable parse(const std::string &text, const CsvOptions &options = {}) {
  Result<CsvTable> table = parseCsv(text, options, "x.csv");
  EXPECT_TRUE(table) << table.error().message;
  return table ? *table : CsvTable();
}

std::string errorOf(const std::string &text, const CsvOptions &options = {}) {
  Result<CsvTable> table = parseCsv(text, options, "x.csv");
  return table ? "no error" : table.error().message;
}

CsvOptions labelled(const std::string &label) {
  CsvOptions options;
  options.label = label;
  return options;
}

} // namespace

TEST(Csv, ReadsFeaturesAndLabels) {
  CsvTable table = parse("a,label,b\n1,7,2.5\n-3e2,8,+4\n");
  EXPECT_EQ(table.rowCount, 2);
  EXPECT_EQ(table.features, (std::vector<float>{1, 2.5f, -300, 4}));
  EXPECT_EQ(table.labels, (std::vector<int64_t>{7, 8}));
  EXPECT_EQ(table.featureNames, (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(table.classNames.empty());
}

TEST(Csv, LabelsAreWordsNumbersOrMissing) {
  CsvTable words = parse("1,setosa\n2,virginica\n3,setosa\n4,iris x\n", labelled("1"));
  EXPECT_EQ(words.classNames, (std::vector<std::string>{"iris x", "setosa", "virginica"}));
  EXPECT_EQ(words.labels, (std::vector<int64_t>{1, 2, 1, 0}));
  CsvTable fractions = parse("price;m2\n1.5;30\n2;40\n", labelled("price"));
  EXPECT_EQ(fractions.targets, (std::vector<float>{1.5f, 2}));
  EXPECT_TRUE(fractions.labels.empty());
  CsvTable none = parse("1\t2\n3\t4\n", labelled("none"));
  EXPECT_FALSE(none.hasLabel);
  EXPECT_EQ(none.features, (std::vector<float>{1, 2, 3, 4}));
}

TEST(Csv, LineEndsQuotesSpacesAndEmptyLines) {
  CsvTable table = parse("\xEF\xBB\xBF\"a\", \"la\"\"bel\" ,b\r\n\r\n 1 ,\"x, y\n2\", 2\r\n3,z,4",
                         labelled("la\"bel"));
  EXPECT_EQ(table.features, (std::vector<float>{1, 2, 3, 4}));
  EXPECT_EQ(table.classNames, (std::vector<std::string>{"x, y\n2", "z"}));
  EXPECT_EQ(table.lineNumbers, (std::vector<int64_t>{3, 5}));
}

TEST(Csv, HeadersAreSeenOrSaid) {
  EXPECT_EQ(parse("1,2\n3,4\n", labelled("0")).rowCount, 2);
  CsvOptions options = labelled("0");
  options.hasHeader = true;
  EXPECT_EQ(parse("1,2\n3,4\n", options).rowCount, 1);
  options.hasHeader = false;
  EXPECT_CONTAINS(errorOf("a,b\n3,4\n", options), "line 1: column 2: expected a finite number");
}

TEST(Csv, NamesLineAndColumn) {
  EXPECT_CONTAINS(errorOf("a,label\n1,2\n3\n"),
                  "'x.csv', line 3: expected 2 columns as in the first line, found 1");
  EXPECT_CONTAINS(errorOf("a,label\n1,2\nx,2\n"),
                  "line 3: column 1: expected a finite number, found 'x'");
  EXPECT_CONTAINS(errorOf("a,label\n,2\n"), "found ''");
  EXPECT_CONTAINS(errorOf("a,label\nnan,2\n"), "found 'nan'");
  EXPECT_CONTAINS(errorOf("a,label\n1e99,2\n"), "found '1e99'");
  EXPECT_CONTAINS(errorOf("a,label\n1,\n"), "column 2: the label is empty");
  EXPECT_CONTAINS(errorOf("a,label\n1,2\n1,x\n"), "neither all numbers nor all words: 'x' is in "
                                                  "line 3");
  EXPECT_CONTAINS(errorOf("a,b\n1,2\n"), "which of the 2 columns is the label? Say label=NAME");
  EXPECT_CONTAINS(errorOf("a,b\n1,2\n", labelled("c")), "no column 'c' for the label; it has 2 "
                                                        "columns: a, b");
  EXPECT_CONTAINS(errorOf("1,2\n", labelled("2")), "no column '2'");
  EXPECT_CONTAINS(errorOf("label\n1\n"), "at least one other column");
  EXPECT_CONTAINS(errorOf("a,label\n"), "at least one line of values, found none");
  EXPECT_CONTAINS(errorOf(""), "found none");
  EXPECT_CONTAINS(errorOf("a,label\n\"1,2\n"), "line 2: column 1: the closing quote is missing");
  EXPECT_CONTAINS(errorOf("a,label\n\"1\"x,2\n"), "text behind the closing quote");
}

TEST(CsvData, IsADataSet) {
  TemporaryFolder folder;
  std::string path = folder.write("x.csv", "label,p,q,r,s\n1,1,2,3,4\n0,5,6,7,8\n");
  auto source = openData(path + "?shape=1x2x2", Split::Train);
  ASSERT_TRUE(source) << source.error().message;
  EXPECT_EQ(describe((*source)->fields()[0]), "features: f32[1, 2, 2]");
  EXPECT_EQ(describe((*source)->fields()[1]), "label: i64[]");
  EXPECT_EQ(readField<float>(**source, 1, 0), (std::vector<float>{5, 6, 7, 8}));
  EXPECT_EQ(readField<int64_t>(**source, 0, 1)[0], 1);
  auto regression = openData("csv:" + folder.write("y", "1,0.5\n2,1\n") + "?label=1", Split::Train);
  ASSERT_TRUE(regression) << regression.error().message;
  EXPECT_EQ(describe((*regression)->fields()[1]), "label: f32[]");
  EXPECT_EQ(readField<float>(**regression, 0, 1)[0], 0.5f);
  EXPECT_CONTAINS(openError(path + "?shape=3"), "expected shape=AxBxC of 4 elements");
  EXPECT_CONTAINS(openError(path + "?shape=2x-2"), "found shape=2x-2");
  EXPECT_CONTAINS(openError(path + "?header=maybe"), "expected header=yes or header=no");
  EXPECT_CONTAINS(openError(path + "?separator=||"), "expected separator=CHARACTER");
}
