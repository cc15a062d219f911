// Source text of the .nn language: a file's bytes, checked to be UTF-8, and the way from a byte
// offset to the line and column that people and editors count. Every token, syntax node and
// diagnostic refers to its text through SourceRange. Free of MLIR, so that editors' tools and
// fuzzers link the syntax alone.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace nncc::frontend {

class Diagnostics;

/// Line and column as shown to people: both start at 1, columns count characters (code points), a
/// tab is one.
struct LineColumn {
  uint32_t line = 1;
  uint32_t column = 1;
  bool operator==(const LineColumn &) const = default;
};

class SourceFile {
public:
  SourceFile(std::string path, std::string text);

  const std::string &path() const { return filePath; }
  std::string_view text() const { return contents; }

  LineColumn lineColumn(uint32_t offset) const;

  /// The text of a line (counted from 1) without its end-of-line characters.
  std::string_view line(uint32_t number) const;

private:
  uint32_t codePointsBefore(uint32_t offset) const;

  std::string filePath;
  std::string contents;
  std::vector<uint32_t> lineStarts;
  /// Code points before every `checkpointBytes`-th byte, so that a column is found in constant time
  /// even where a generated text is one line of megabytes.
  static constexpr size_t checkpointBytes = 1024;
  std::vector<uint32_t> checkpoints;
};

/// A stretch of one file. The file outlives all ranges into it (SourceManager owns it).
struct SourceRange {
  const SourceFile *file = nullptr;
  uint32_t begin = 0;
  uint32_t end = 0;

  bool valid() const { return file != nullptr; }
  LineColumn start() const { return file->lineColumn(begin); }
  std::string_view text() const { return file->text().substr(begin, end - begin); }

  /// From the start of this range to the end of the other one.
  SourceRange to(SourceRange last) const { return {file, begin, last.end}; }
};

/// Owns the files of one compilation.
class SourceManager {
public:
  /// A file larger than this is refused: no model's text is, and offsets stay within 32 bits.
  static constexpr size_t maxFileBytes = size_t(64) << 20;

  /// Reads a file. Reports to `diagnostics` and returns null when it cannot be read or is not
  /// UTF-8. `importedAt` is the place that asked for the file, where there is one.
  const SourceFile *load(const std::string &path, Diagnostics &diagnostics,
                         SourceRange importedAt = {});

  /// Takes text that did not come from a file (tests, fuzzers, standard input); the same checks.
  const SourceFile *add(std::string path, std::string text, Diagnostics &diagnostics);

private:
  std::vector<std::unique_ptr<SourceFile>> files;
};

/// The offset of the first byte that does not belong to well-formed UTF-8, or npos.
size_t findInvalidUtf8(std::string_view text);

/// The number of code points in well-formed UTF-8.
size_t countCodePoints(std::string_view text);

} // namespace nncc::frontend
