// Checkpoints: what comes back, differences from a model all at once, damage of every kind, disks
// without space, and a program that is killed while it saves.
#include "runtime/data/Checkpoint.h"
#include "CheckpointSaver.h"
#include "SourceTesting.h"
#include "test/unit/runtime/TemporaryFolder.h"

#include <csignal>
#include <random>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace nncc;
using namespace nncc::data;

namespace {

Result<void> saveStep(const std::string &path, int64_t step, bool isBest = false) {
  return saveCheckpoint(path, SavedTensors(step).sources(), stateAt(step), isBest);
}

/// The step of a checkpoint whose contents are those of that step; -1 when it cannot be opened.
int64_t stepOf(const std::string &path) {
  Result<Checkpoint> checkpoint = Checkpoint::open(path);
  if (!checkpoint)
    return -1;
  int64_t step = checkpoint->state().step;
  SavedTensors expected(step);
  for (const rt::SafetensorsSource &source : expected.sources()) {
    const rt::SafetensorsEntry *entry = checkpoint->tensors().find(source.name);
    EXPECT_TRUE(entry && std::equal(entry->data.begin(), entry->data.end(), source.data.begin(),
                                    source.data.end()));
  }
  return step;
}

std::string errorOf(const std::string &path) {
  Result<Checkpoint> checkpoint = Checkpoint::open(path);
  return checkpoint ? "no error" : checkpoint.error().message;
}

} // namespace

TEST(Checkpoint, KeepsStateAndTensors) {
  TemporaryFolder folder;
  std::string path = folder / "lenet.safetensors";
  TrainingState state = stateAt(37);
  state.best = 0.9875;
  state.more = {{"optimizer", "adam \"quoted\""}, {"lr", "0.1"}};
  SavedTensors tensors(37);
  ASSERT_TRUE(saveCheckpoint(path, tensors.sources(), state, false));
  Result<Checkpoint> checkpoint = openLastCheckpoint(path);
  ASSERT_TRUE(checkpoint) << checkpoint.error().message;
  const TrainingState &read = checkpoint->state();
  EXPECT_EQ(read.model, "LeNet");
  EXPECT_EQ(read.identity, "abc123");
  EXPECT_EQ(read.position, (BatchPosition{3, 7}));
  EXPECT_EQ(read.step, 37);
  EXPECT_EQ(read.seed, UINT64_MAX - 1);
  EXPECT_EQ(read.best, 0.9875);
  EXPECT_EQ(read.more, state.more);
  EXPECT_EQ(stepOf(path), 37);
  EXPECT_EQ(folder.fileCount(), 1u);
}

TEST(Checkpoint, KeepsTheLastThePreviousAndTheBest) {
  TemporaryFolder folder;
  std::string path = folder / "run.1/lenet.safetensors";
  std::filesystem::create_directory(folder / "run.1");
  CheckpointFiles files(path);
  EXPECT_EQ(files.previous, folder / "run.1/lenet.previous.safetensors");
  EXPECT_EQ(CheckpointFiles(folder / "run.1/lenet").best, folder / "run.1/lenet.best");
  for (int64_t step = 1; step <= 5; ++step)
    ASSERT_TRUE(saveStep(path, step, step == 2));
  EXPECT_EQ(stepOf(files.last), 5);
  EXPECT_EQ(stepOf(files.previous), 4);
  EXPECT_EQ(stepOf(files.best), 2);
  ASSERT_TRUE(saveStep(path, 6, true));
  EXPECT_EQ(stepOf(files.best), 6);
  size_t count = 0;
  for (auto &entry : std::filesystem::directory_iterator(folder / "run.1"))
    count += entry.is_regular_file();
  EXPECT_EQ(count, 3u);
}

TEST(Checkpoint, AnOldOneBehindASymbolicLinkIsKept) {
  TemporaryFolder folder;
  std::string path = folder / "a.safetensors";
  std::filesystem::create_symlink(folder / "real.safetensors", path);
  ASSERT_TRUE(saveStep(folder / "real.safetensors", 1));
  ASSERT_TRUE(saveStep(path, 2));
  EXPECT_EQ(stepOf(folder / "real.safetensors"), 2);
  EXPECT_EQ(stepOf(path), 2);
  EXPECT_EQ(stepOf(CheckpointFiles(path).previous), 1);
}

TEST(Checkpoint, ListsAllDifferencesAtOnce) {
  TemporaryFolder folder;
  std::string path = folder / "a.safetensors";
  ASSERT_TRUE(saveStep(path, 1));
  Result<Checkpoint> checkpoint = Checkpoint::open(path);
  ASSERT_TRUE(checkpoint);
  EXPECT_TRUE(checkpoint->check("LeNet", "abc123",
                                std::vector<ExpectedTensor>{{"bias", DType::F32, {300}},
                                                            {"weight", DType::F32, {300, 500}}}));
  Result<void> checked = checkpoint->check(
      "AlexNet", "def",
      std::vector<ExpectedTensor>{{"weight", DType::F16, {300, 501}}, {"scale", DType::I64, {}}});
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().message,
            "'" + path +
                "' does not fit the model:\n"
                "  it is of the model 'LeNet', expected 'AlexNet'\n"
                "  its architecture is abc123, expected def\n"
                "  'weight' is f32[300, 500], expected f16[300, 501]\n"
                "  'scale' is missing, expected i64[]\n"
                "  'bias', f32[300], is not expected\n"
                "Take the model that it was saved from, or start a new training");
}

TEST(Checkpoint, DamageIsSeenAndThePreviousOneOffered) {
  TemporaryFolder folder;
  std::string path = folder / "a.safetensors";
  ASSERT_TRUE(saveStep(path, 11));
  ASSERT_TRUE(saveStep(path, 12));
  std::string whole = TemporaryFolder::read(path);
  std::string offer = "\nThe checkpoint before it is whole (epoch 1, batch 1, step 11): continue "
                      "from '" +
                      CheckpointFiles(path).previous + "'";
  auto lastError = [&](const std::string &contents) {
    std::filesystem::remove(path); // it shares its contents with no other name
    folder.write("a.safetensors", contents);
    Result<Checkpoint> checkpoint = openLastCheckpoint(path);
    return checkpoint ? "no error" : checkpoint.error().message;
  };
  for (size_t size : {size_t(0), size_t(7), size_t(100), whole.size() / 2, whole.size() - 1}) {
    std::string message = lastError(whole.substr(0, size));
    EXPECT_CONTAINS(message, offer);
    EXPECT_CONTAINS(message, "'" + path + "' is not a valid safetensors file");
  }
  for (size_t at : {whole.size() - 1, whole.size() - 600'000, whole.size() / 2}) {
    std::string damaged = whole;
    damaged[at] ^= 4;
    std::string message = lastError(damaged);
    EXPECT_CONTAINS(message, "is damaged: its tensors have the checksum");
    EXPECT_CONTAINS(message, offer);
  }
  std::filesystem::remove(path);
  Result<Checkpoint> missing = openLastCheckpoint(path);
  ASSERT_FALSE(missing);
  EXPECT_CONTAINS(missing.error().message, "No such file");
  EXPECT_CONTAINS(missing.error().message, offer);
  // Nothing is offered where there is nothing.
  folder.write("a.previous.safetensors", "x");
  EXPECT_EQ(openLastCheckpoint(path).error().message.find("continue"), std::string::npos);
}

TEST(Checkpoint, RefusesWhatIsNone) {
  TemporaryFolder folder;
  std::string path = folder / "a.safetensors";
  auto write = [&](const std::map<std::string, std::string> &metadata) {
    ASSERT_TRUE(rt::writeSafetensors(path, {}, metadata, rt::SafetensorsAlignment::Start));
  };
  write({});
  EXPECT_CONTAINS(errorOf(path), "is not a checkpoint: expected nncc.training and nncc.xxh3");
  write({{"nncc.training", "hello"}, {"nncc.xxh3", ""}});
  EXPECT_CONTAINS(errorOf(path), "it is not a JSON object");
  write({{"nncc.training", "{\"model\": 3}"}, {"nncc.xxh3", ""}});
  EXPECT_CONTAINS(errorOf(path), "'model' is missing or of another type");
  std::string state = R"({"model":"m","identity":"i","epoch":0,"batch":0,"step":1,"seed":2,)";
  write({{"nncc.training", state + R"("rng":"mt19937","more":{}})"}, {"nncc.xxh3", ""}});
  EXPECT_CONTAINS(errorOf(path), "expected the random generator philox4x32-10, found mt19937");
  write({{"nncc.training", state + R"("rng":"philox4x32-10","more":{}})"}, {"nncc.xxh3", ""}});
  // XXH3 of nothing, as its authors' vectors have it.
  EXPECT_CONTAINS(errorOf(path), "have the checksum 2d06800538d394c2, expected ");
}

TEST(Checkpoint, ADiskWithoutSpaceLeavesTheOldOne) {
  TemporaryFolder folder;
  std::string path = folder / "a.safetensors";
  ASSERT_TRUE(saveStep(path, 1));
  ASSERT_TRUE(saveStep(path, 2, true));
  int64_t sizeBytes = static_cast<int64_t>(std::filesystem::file_size(path));
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  for (int64_t room : {int64_t(0), int64_t(100), int64_t(300'000), sizeBytes - 1}) {
    rlimit limit = {static_cast<rlim_t>(room), before.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
    Result<void> saved = saveStep(path, 3, true);
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
    ASSERT_FALSE(saved);
    EXPECT_CONTAINS(saved.error().message, "cannot write '" + path + "': File too large");
    EXPECT_CONTAINS(saved.error().message,
                    "the checkpoint needs " + std::to_string(sizeBytes) + " bytes");
    EXPECT_CONTAINS(saved.error().message,
                    "'" + path + "' from before is whole (epoch 0, batch 2, step 2)");
    EXPECT_EQ(stepOf(path), 2);
    EXPECT_EQ(stepOf(CheckpointFiles(path).previous), 1);
    EXPECT_EQ(stepOf(CheckpointFiles(path).best), 2);
    EXPECT_EQ(folder.fileCount(), 3u);
  }
  EXPECT_TRUE(saveStep(path, 3));
  Result<void> nowhere = saveStep(folder / "none/a.safetensors", 3);
  ASSERT_FALSE(nowhere);
  EXPECT_CONTAINS(nowhere.error().message, "No such file or directory");
}

TEST(Checkpoint, AKillAtAnyMomentLosesAtMostOneSave) {
  constexpr int kKills = 100;
  constexpr int kLongestUs = 20'000;
  TemporaryFolder folder;
  std::string path = folder / "a.safetensors";
  CheckpointFiles files(path);
  std::mt19937 random(1);
  int64_t done = 0, between = 0;
  ASSERT_TRUE(saveStep(path, done));
  for (int kill = 0; kill < kKills; ++kill) {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    std::string first = std::to_string(done + 1);
    pid_t child = fork();
    if (child == 0) {
      dup2(ends[1], STDOUT_FILENO);
      close(ends[0]);
      execl(NNCC_TEST_CHECKPOINT_SAVER, "checkpoint_saver", path.c_str(), first.c_str(), nullptr);
      _exit(127);
    }
    close(ends[1]);
    // The first save tells that it runs; from then on any moment will do.
    int64_t saved = 0;
    ASSERT_EQ(read(ends[0], &saved, sizeof saved), ssize_t(sizeof saved));
    usleep(random() % kLongestUs);
    ASSERT_EQ(::kill(child, SIGKILL), 0);
    do
      done = saved;
    while (read(ends[0], &saved, sizeof saved) == sizeof saved);
    close(ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status)) << "the program ended by itself";

    int64_t last = stepOf(path), previous = stepOf(files.previous);
    ASSERT_TRUE(last == done || last == done + 1) << last << " after the save of " << done;
    ASSERT_GE(previous, done - 1);
    if (done >= 3) // every third step is the best
      ASSERT_GE(stepOf(files.best), done - done % 3);
    ASSERT_LE(folder.fileCount(), 5u) << "what a killed program leaves piles up";
    between += last == done + 1 || folder.fileCount() > 3;
    done = last;
  }
  EXPECT_GT(between, 5) << "hardly any kill came in the middle of a save";
}
