// The kernel cache: entries come back as they were stored, damaged ones not at all, and processes may share the folder.
#include "runtime/cuda/KernelCache.h"

#include "test/unit/runtime/TemporaryFolder.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sys/wait.h>
#include <unistd.h>

using namespace nncc;
using namespace nncc::rt::cuda;

TEST(KernelCache, FindsWhatWasStored) {
  TemporaryFolder folder;
  KernelCache cache(folder / "made/when/needed");
  std::string key = KernelCache::keyOf("source", "sm_80", "13.0");
  EXPECT_FALSE(cache.find(key));
  std::string image("\177ELF\0machine code", 17);
  ASSERT_TRUE(cache.store(key, image));
  EXPECT_EQ(cache.find(key), image);
  ASSERT_TRUE(cache.store(key, "another"));
  EXPECT_EQ(cache.find(key), "another");
}

TEST(KernelCache, KeysDifferInEveryPart) {
  std::string key = KernelCache::keyOf("source", "sm_80", "13.0");
  EXPECT_EQ(key.size(), 32u);
  EXPECT_EQ(key, KernelCache::keyOf("source", "sm_80", "13.0"));
  EXPECT_NE(key, KernelCache::keyOf("source ", "sm_80", "13.0"));
  EXPECT_NE(key, KernelCache::keyOf("source", "sm_8", "013.0"));
  EXPECT_NE(key, KernelCache::keyOf("source", "sm_80", "13.1"));
}

TEST(KernelCache, ADamagedEntryIsNone) {
  TemporaryFolder folder;
  KernelCache cache(folder / "");
  std::string key = KernelCache::keyOf("source", "sm_80", "13.0"), image(1000, 'x');
  ASSERT_TRUE(cache.store(key, image));
  std::string whole;
  {
    std::ifstream file(cache.pathOf(key), std::ios::binary);
    whole.assign(std::istreambuf_iterator<char>(file), {});
  }
  auto rewrite = [&](const std::string &bytes) { std::ofstream(cache.pathOf(key), std::ios::binary) << bytes; };
  for (size_t length = 0; length < whole.size(); ++length) {
    rewrite(whole.substr(0, length));
    ASSERT_FALSE(cache.find(key)) << length;
  }
  for (size_t at = 0; at < whole.size(); ++at) {
    std::string flipped = whole;
    flipped[at] ^= 1;
    rewrite(flipped);
    ASSERT_FALSE(cache.find(key)) << at;
  }
  rewrite(whole + "x");
  EXPECT_FALSE(cache.find(key));
  rewrite(whole);
  EXPECT_EQ(cache.find(key), image);
}

TEST(KernelCache, AFolderThatCannotBeMadeIsReported) {
  TemporaryFolder folder;
  std::string file = folder.write("file", "");
  auto stored = KernelCache(file + "/below").store("key", "image");
  ASSERT_FALSE(stored);
  EXPECT_EQ(stored.error().kind, ErrorKind::Environment);
  EXPECT_NE(stored.error().message.find(file + "/below"), std::string::npos);
}

TEST(KernelCache, SixteenProcessesShareAFolder) {
  TemporaryFolder folder;
  KernelCache cache(folder / "shared");
  // Everyone writes and reads the same few entries; whatever is read must be one of the two whole images of its key.
  auto work = [&](int process) {
    for (int round = 0; round < 10; ++round) {
      std::string key = KernelCache::keyOf(std::to_string(round % 4), "sm_80", "13.0");
      std::string image(5000 + round % 4, char('a' + process % 2));
      if (!cache.store(key, image))
        return 1;
      std::optional<std::string> found = cache.find(key);
      if (!found || found->size() != image.size() || found->find_first_not_of((*found)[0]) != std::string::npos)
        return 2;
    }
    return 0;
  };
  std::vector<pid_t> children;
  for (int process = 0; process < 16; ++process) {
    pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0)
      _exit(work(process));
    children.push_back(child);
  }
  for (pid_t child : children) {
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 0);
  }
}

TEST(KernelCache, CompilesOnlyOnce) {
  auto nvrtc = Nvrtc::get();
  if (!nvrtc)
    GTEST_SKIP() << nvrtc.error().message;
  TemporaryFolder folder;
  KernelCache cache(folder / "kernels");
  std::string source = "extern \"C\" __global__ void f(int *x) { *x = 1; }";
  auto first = compileCached(**nvrtc, &cache, source, "f", "sm_80");
  ASSERT_TRUE(first) << first.error().message;
  std::string key = KernelCache::keyOf(source, "sm_80", (*nvrtc)->describe());
  EXPECT_EQ(cache.find(key), first->image);
  EXPECT_FALSE(first->isFromCache);
  // What stands in the cache is taken without asking the compiler.
  ASSERT_TRUE(cache.store(key, "from the cache"));
  auto second = compileCached(**nvrtc, &cache, source, "f", "sm_80");
  ASSERT_TRUE(second);
  EXPECT_EQ(second->image, "from the cache");
  EXPECT_TRUE(second->isFromCache);
}
