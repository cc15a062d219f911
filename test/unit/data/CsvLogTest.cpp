// The table of a training: its lines, and going on in one.
#include "runtime/data/CsvLog.h"
#include "SourceTesting.h"
#include "test/unit/runtime/TemporaryFolder.h"

using namespace nncc;
using namespace nncc::data;

namespace {

const std::vector<std::string> kColumns = {"loss", "accuracy, top 1"};

void add(CsvLog &log, int64_t step, std::optional<double> loss, std::optional<double> accuracy) {
  std::vector<std::optional<double>> values = {loss, accuracy};
  Result<void> added = log.add(step, values);
  ASSERT_TRUE(added) << added.error().message;
}

} // namespace

TEST(CsvLog, WritesALineAtOnce) {
  TemporaryFolder folder;
  std::string path = folder.write("log.csv", "from before\n");
  Result<CsvLog> log = CsvLog::open(path, kColumns);
  ASSERT_TRUE(log) << log.error().message;
  add(*log, 10, 0.5, std::nullopt);
  add(*log, 20, 0.1, 0.75);
  EXPECT_EQ(TemporaryFolder::read(path), "step,loss,\"accuracy, top 1\"\n10,0.5,\n20,0.1,0.75\n");
}

TEST(CsvLog, GoesOnAtAStep) {
  TemporaryFolder folder;
  std::string header = "step,loss,\"accuracy, top 1\"\n";
  std::string path =
      folder.write("log.csv", header + "10,1,2\n20,3,4\n30,5,6\nnonsense\n25,0,0\n40,7");
  Result<CsvLog> log = CsvLog::open(path, kColumns, 30);
  ASSERT_TRUE(log) << log.error().message;
  add(*log, 30, 9, 8);
  EXPECT_EQ(TemporaryFolder::read(path), header + "10,1,2\n20,3,4\n25,0,0\n30,9,8\n");
  EXPECT_TRUE(CsvLog::open(folder / "new.csv", kColumns, 30));
  Result<CsvLog> other = CsvLog::open(path, {"loss"}, 30);
  ASSERT_FALSE(other);
  EXPECT_CONTAINS(other.error().message, "has other columns: expected step,loss\n");
}

TEST(CsvLog, NamesTheProblem) {
  TemporaryFolder folder;
  Result<CsvLog> log = CsvLog::open(folder / "none/log.csv", kColumns);
  ASSERT_FALSE(log);
  EXPECT_CONTAINS(log.error().message, "No such file or directory");
}
