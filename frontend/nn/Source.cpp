// Reading source files, their UTF-8 check, and positions in them.
#include "frontend/nn/Source.h"

#include "frontend/nn/Diagnostic.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <sys/stat.h>

namespace nncc::frontend {

SourceFile::SourceFile(std::string path, std::string text)
    : filePath(std::move(path)), contents(std::move(text)) {
  lineStarts.push_back(0);
  uint32_t codePoints = 0;
  for (size_t i = 0; i <= contents.size(); ++i) {
    if (i % checkpointBytes == 0)
      checkpoints.push_back(codePoints);
    if (i == contents.size())
      break;
    codePoints += (static_cast<unsigned char>(contents[i]) & 0xC0) != 0x80;
    if (contents[i] == '\n')
      lineStarts.push_back(static_cast<uint32_t>(i + 1));
  }
}

/// Code points that begin before `offset`.
uint32_t SourceFile::codePointsBefore(uint32_t offset) const {
  size_t begin = offset / checkpointBytes * checkpointBytes;
  return checkpoints[offset / checkpointBytes] +
         static_cast<uint32_t>(countCodePoints(text().substr(begin, offset - begin)));
}

LineColumn SourceFile::lineColumn(uint32_t offset) const {
  offset = std::min<uint32_t>(offset, static_cast<uint32_t>(contents.size()));
  auto next = std::upper_bound(lineStarts.begin(), lineStarts.end(), offset);
  uint32_t line = static_cast<uint32_t>(next - lineStarts.begin());
  uint32_t start = lineStarts[line - 1];
  return {line, codePointsBefore(offset) - codePointsBefore(start) + 1};
}

std::string_view SourceFile::line(uint32_t number) const {
  if (number == 0 || number > lineStarts.size())
    return {};
  size_t begin = lineStarts[number - 1];
  size_t end = number < lineStarts.size() ? lineStarts[number] - 1 : contents.size();
  std::string_view result = text().substr(begin, end - begin);
  if (result.ends_with('\r'))
    result.remove_suffix(1);
  return result;
}

namespace {

struct FileCloser {
  void operator()(std::FILE *file) const { std::fclose(file); }
};

/// Reads a whole regular file; on failure leaves the reason.
bool readFile(const std::string &path, std::string &text, std::string &reason) {
  std::unique_ptr<std::FILE, FileCloser> file(std::fopen(path.c_str(), "rb"));
  if (!file) {
    reason = std::strerror(errno);
    return false;
  }
  struct stat status;
  if (fstat(fileno(file.get()), &status) == 0 && S_ISDIR(status.st_mode)) {
    reason = "is a directory";
    return false;
  }
  char buffer[1 << 16];
  size_t count;
  while ((count = std::fread(buffer, 1, sizeof(buffer), file.get())) > 0) {
    text.append(buffer, count);
    if (text.size() > SourceManager::maxFileBytes) {
      reason = fmt::format("is larger than {} MiB", SourceManager::maxFileBytes >> 20);
      return false;
    }
  }
  if (std::ferror(file.get())) {
    reason = std::strerror(errno);
    return false;
  }
  return true;
}

} // namespace

const SourceFile *SourceManager::load(const std::string &path, Diagnostics &diagnostics,
                                      SourceRange importedAt) {
  std::string text, reason;
  if (!readFile(path, text, reason)) {
    diagnostics.error(importedAt, fmt::format("cannot read '{}': {}", path, reason));
    return nullptr;
  }
  return add(path, std::move(text), diagnostics);
}

const SourceFile *SourceManager::add(std::string path, std::string text, Diagnostics &diagnostics) {
  files.push_back(std::make_unique<SourceFile>(std::move(path), std::move(text)));
  const SourceFile *file = files.back().get();
  if (file->text().size() > maxFileBytes) {
    diagnostics.error({},
                      fmt::format("'{}' is larger than {} MiB", file->path(), maxFileBytes >> 20));
    return nullptr;
  }
  size_t bad = findInvalidUtf8(file->text());
  if (bad != std::string_view::npos) {
    uint32_t at = static_cast<uint32_t>(bad);
    bool utf16 = file->text().starts_with("\xFF\xFE") || file->text().starts_with("\xFE\xFF");
    diagnostics.error({file, at, at + 1},
                      utf16
                          ? "this file is in UTF-16; save it as UTF-8"
                          : fmt::format("byte 0x{:02x} is not valid UTF-8; save the file as UTF-8",
                                        static_cast<unsigned char>(file->text()[bad])));
    return nullptr;
  }
  return file;
}

size_t findInvalidUtf8(std::string_view text) {
  auto byteAt = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  for (size_t i = 0; i < text.size();) {
    unsigned char first = byteAt(i);
    if (first < 0x80) {
      ++i;
      continue;
    }
    // The bounds of the second byte exclude over-long forms, surrogates and values above U+10FFFF.
    unsigned char low = 0x80, high = 0xBF;
    size_t length;
    if (first >= 0xC2 && first <= 0xDF) {
      length = 2;
    } else if (first >= 0xE0 && first <= 0xEF) {
      length = 3;
      if (first == 0xE0)
        low = 0xA0;
      if (first == 0xED)
        high = 0x9F;
    } else if (first >= 0xF0 && first <= 0xF4) {
      length = 4;
      if (first == 0xF0)
        low = 0x90;
      if (first == 0xF4)
        high = 0x8F;
    } else {
      return i;
    }
    if (i + length > text.size() || byteAt(i + 1) < low || byteAt(i + 1) > high)
      return i;
    for (size_t k = 2; k < length; ++k)
      if ((byteAt(i + k) & 0xC0) != 0x80)
        return i;
    i += length;
  }
  return std::string_view::npos;
}

size_t countCodePoints(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

} // namespace nncc::frontend
