// The progress line: its text at several widths; silence where there is no terminal; a
// pseudoterminal that sees it drawn and removed.
#include "tools/support/ProgressBar.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fcntl.h>
#include <unistd.h>

using namespace nncc::tools;

TEST(ProgressBar, LeavesOutWhatDoesNotFit) {
  Progress progress{1, 10, 120, 480, 0.1234, 5432.4, 72};
  EXPECT_EQ(renderProgress(progress, 80),
            "epoch 2/10 [====>             ] 120/480  loss 0.1234  5,432 samples/s  1:12 left");
  EXPECT_EQ(renderProgress(progress, 50), "epoch 2/10 120/480  loss 0.1234  5,432 samples/s");
  EXPECT_EQ(renderProgress(progress, 47), "epoch 2/10 [===>         ] 120/480  loss 0.1234");
  EXPECT_EQ(renderProgress(progress, 18), "epoch 2/10 120/480");
  EXPECT_EQ(renderProgress(progress, 9), "epoch 2/1");
  for (int columns = 1; columns < 120; ++columns)
    EXPECT_LE(renderProgress(progress, columns).size(), size_t(columns));
}

TEST(ProgressBar, KnowsItsEndsAndLongTimes) {
  Progress progress{0, 1, 0, 4, std::nullopt, 0, -1};
  EXPECT_EQ(renderProgress(progress, 30), "epoch 1/1 [>             ] 0/4");
  progress.batch = 4;
  progress.secondsLeft = 3723;
  EXPECT_EQ(renderProgress(progress, 43), "epoch 1/1 [=============] 4/4  1:02:03 left");
  progress.epoch = 1; // past the end
  EXPECT_TRUE(renderProgress(progress, 43).starts_with("epoch 1/1 "));
}

TEST(ProgressBar, IsSilentWithoutATerminal) {
  std::FILE *file = std::tmpfile();
  {
    ProgressBar bar(file);
    EXPECT_FALSE(bar.isShown());
    bar.begin(1, 10, 0, 0);
    bar.update(0, 1, 32, 0.5);
  }
  EXPECT_EQ(std::ftell(file), 0);
  std::fclose(file);
}

TEST(ProgressBar, DrawsOnATerminalAndCleansUp) {
  int terminal = ::posix_openpt(O_RDWR | O_NOCTTY);
  ASSERT_GE(terminal, 0);
  ASSERT_EQ(::grantpt(terminal), 0);
  ASSERT_EQ(::unlockpt(terminal), 0);
  std::FILE *file = std::fopen(::ptsname(terminal), "w");
  ASSERT_TRUE(file);
  {
    ProgressBar bar(file);
    EXPECT_TRUE(bar.isShown());
    bar.begin(2, 10, 1, 4);
    bar.update(1, 5, 32, 0.5);
    bar.update(1, 6, 32, 0.25); // too soon after the other to be drawn
  }
  char buffer[1000];
  ssize_t got = ::read(terminal, buffer, sizeof buffer);
  std::string text(buffer, static_cast<size_t>(std::max<ssize_t>(got, 0)));
  EXPECT_TRUE(text.starts_with("\repoch 2/2 [")) << text;
  EXPECT_NE(text.find("5/10  loss 0.5"), std::string::npos) << text;
  EXPECT_EQ(text.find("0.25"), std::string::npos);
  EXPECT_TRUE(text.ends_with("\r\x1B[K")) << text;
  std::fclose(file);
  ::close(terminal);
}
