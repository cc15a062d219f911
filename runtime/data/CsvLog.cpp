// The log as CSV; see CsvLog.h.
#include "runtime/data/CsvLog.h"

#include "runtime/File.h"

#include <fmt/format.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <unistd.h>

using namespace nncc;
using namespace nncc::data;

/// Quotes what would be taken for more than one cell.
static std::string quoteCell(const std::string &text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos)
    return text;
  std::string quoted = "\"";
  for (char c : text)
    quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

/// The lines of the log at `path` whose steps lie before `fromStep`.
static Result<std::string> keptLines(const std::string &path, const std::string &header,
                                     int64_t fromStep) {
  Result<rt::MappedFile> file = rt::MappedFile::open(path);
  if (!file)
    return file.error();
  std::string_view text(reinterpret_cast<const char *>(file->bytes().data()), file->bytes().size());
  if (!text.starts_with(header))
    return userError(fmt::format("'{}' has other columns: expected {}found {}; log to another file",
                                 path, header, text.substr(0, text.find('\n'))));
  text.remove_prefix(header.size());
  std::string kept;
  while (!text.empty()) {
    size_t end = text.find('\n');
    if (end == std::string_view::npos)
      break; // cut off when the training was interrupted
    std::string_view line = text.substr(0, end + 1);
    int64_t step = 0;
    auto [stop, code] = std::from_chars(line.data(), line.data() + line.size(), step);
    if (code == std::errc() && *stop == ',' && step < fromStep)
      kept += line;
    text.remove_prefix(end + 1);
  }
  return kept;
}

Result<CsvLog> CsvLog::open(const std::string &path, const std::vector<std::string> &columns,
                            std::optional<int64_t> fromStep) {
  std::string contents = "step";
  for (const std::string &column : columns)
    contents += "," + quoteCell(column);
  contents += "\n";
  std::error_code code;
  if (fromStep && std::filesystem::exists(path, code)) {
    Result<std::string> kept = keptLines(path, contents, *fromStep);
    if (!kept)
      return kept.error();
    contents += *kept;
  }
  if (Result<void> written = rt::writeFileAtomically(path, contents); !written)
    return written.error();
  CsvLog log;
  log.filePath = path;
  log.columnCount = columns.size();
  log.descriptor = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (log.descriptor < 0)
    return userError(fmt::format("cannot write '{}': {}", path, std::strerror(errno)));
  return log;
}

CsvLog::CsvLog(CsvLog &&other) noexcept
    : filePath(std::move(other.filePath)), columnCount(other.columnCount),
      descriptor(std::exchange(other.descriptor, -1)) {}

CsvLog::~CsvLog() {
  if (descriptor >= 0)
    ::close(descriptor);
}

Result<void> CsvLog::add(int64_t step, std::span<const std::optional<double>> values) {
  if (values.size() != columnCount)
    return internalError(
        fmt::format("a line of {} values for a log of {} columns", values.size(), columnCount));
  std::string line = std::to_string(step);
  for (const std::optional<double> &value : values)
    line += value ? fmt::format(",{}", *value) : ",";
  line += "\n";
  for (size_t done = 0; done < line.size();) {
    ssize_t written = ::write(descriptor, line.data() + done, line.size() - done);
    if (written < 0 && errno == EINTR)
      continue;
    if (written < 0)
      return userError(fmt::format("cannot write '{}': {}", filePath, std::strerror(errno)));
    done += static_cast<size_t>(written);
  }
  return {};
}
