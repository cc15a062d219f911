// The progress line; see ProgressBar.h.

#include "tools/support/ProgressBar.h"
#include "tools/support/Units.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <sys/ioctl.h>
#include <unistd.h>
#include <vector>

using namespace nncc;
using namespace nncc::tools;

/// "0:12", "1:02:03".
static std::string formatTime(double seconds) {
  constexpr double kLongest = 1e7;
  auto total = static_cast<int64_t>(std::lround(std::min(seconds, kLongest)));
  int64_t hours = total / 3600, minutes = total / 60 % 60, rest = total % 60;
  return hours > 0 ? fmt::format("{}:{:02}:{:02}", hours, minutes, rest)
                   : fmt::format("{}:{:02}", minutes, rest);
}

std::string tools::renderProgress(const Progress &progress, int columns) {
  constexpr size_t kSmallestBar = 12, kLargestBar = 40, kWithoutBar = 0;
  size_t width = static_cast<size_t>(std::max(columns, 1));
  std::string start =
      fmt::format("epoch {}/{}", std::min(progress.epoch + 1, progress.epochs), progress.epochs);
  std::string count = fmt::format("{}/{}", progress.batch, progress.batches);
  std::vector<std::string> parts;
  if (progress.loss)
    parts.push_back(fmt::format("  loss {:.4g}", *progress.loss));
  if (progress.samplesPerSecond > 0)
    parts.push_back(fmt::format("  {} samples/s", formatCount(static_cast<int64_t>(
                                                      std::lround(progress.samplesPerSecond)))));
  if (progress.secondsLeft >= 0)
    parts.push_back(fmt::format("  {} left", formatTime(progress.secondsLeft)));

  std::string end = " " + count;
  size_t used = start.size() + end.size();
  for (const std::string &part : parts) {
    if (used + part.size() > width)
      break;
    end += part;
    used += part.size();
  }
  size_t room = width > used ? width - used : 0;
  size_t bar = room >= kSmallestBar + 1 ? std::min(room - 1, kLargestBar) : kWithoutBar;
  if (bar == kWithoutBar)
    return (start + end).substr(0, width);
  size_t inside = bar - 2;
  double share =
      progress.batches > 0
          ? std::clamp(static_cast<double>(progress.batch) / static_cast<double>(progress.batches),
                       0.0, 1.0)
          : 0;
  auto filled = static_cast<size_t>(share * static_cast<double>(inside));
  std::string line = std::string(filled, '=');
  if (filled < inside)
    line += '>';
  line.resize(inside, ' ');
  return start + " [" + line + "]" + end;
}

ProgressBar::ProgressBar(std::FILE *stream)
    : stream(stream), isTerminal(stream && ::isatty(::fileno(stream)) == 1) {}

void ProgressBar::begin(int64_t epochs, int64_t batchesPerEpoch, int64_t epoch, int64_t batch) {
  progress = {};
  progress.epochs = epochs;
  progress.batches = batchesPerEpoch;
  firstBatch = epoch * batchesPerEpoch + batch;
  samplesDone = 0;
  started = Clock::now();
  drawn = {};
}

void ProgressBar::update(int64_t epoch, int64_t batchesDone, int64_t samples,
                         std::optional<double> loss) {
  constexpr std::chrono::milliseconds kDrawEvery(100);
  samplesDone += samples;
  Clock::time_point now = Clock::now();
  if (!isTerminal || (isDrawn && now - drawn < kDrawEvery))
    return;
  drawn = now;
  progress.epoch = epoch;
  progress.batch = batchesDone;
  progress.loss = loss;
  double seconds = std::chrono::duration<double>(now - started).count();
  int64_t total = progress.epochs * progress.batches;
  int64_t here = epoch * progress.batches + batchesDone;
  progress.samplesPerSecond = seconds > 0 ? static_cast<double>(samplesDone) / seconds : 0;
  progress.secondsLeft = here > firstBatch ? seconds * static_cast<double>(total - here) /
                                                 static_cast<double>(here - firstBatch)
                                           : -1;
  struct winsize window {};
  constexpr int kUsualColumns = 80;
  int columns = ::ioctl(::fileno(stream), TIOCGWINSZ, &window) == 0 && window.ws_col > 0
                    ? window.ws_col
                    : kUsualColumns;
  // A full last column would wrap the line on some terminals.
  std::fprintf(stream, "\r%s\x1B[K", renderProgress(progress, columns - 1).c_str());
  std::fflush(stream);
  isDrawn = true;
}

void ProgressBar::clear() {
  if (!isDrawn)
    return;
  std::fprintf(stream, "\r\x1B[K");
  std::fflush(stream);
  isDrawn = false;
}
