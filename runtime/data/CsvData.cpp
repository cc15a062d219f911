// Data sets in CSV files: "features", the numbers of a line, and "label".
#include "runtime/File.h"
#include "runtime/data/ArraySource.h"
#include "runtime/data/Csv.h"
#include "runtime/data/Formats.h"
#include "support/CheckedSize.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

using namespace nncc;
using namespace nncc::data;

static bool recognises(const Probe &probe, Split) {
  bool isText = std::none_of(probe.head.begin(), probe.head.end(), [](char c) {
    return static_cast<unsigned char>(c) < ' ' && c != '\n' && c != '\r' && c != '\t';
  });
  return !probe.isFolder && isText && !probe.head.empty() &&
         (probe.path.ends_with(".csv") || probe.path.ends_with(".tsv"));
}

/// "1x28x28"
static std::optional<std::vector<int64_t>> parseShape(std::string_view text) {
  std::vector<int64_t> shape;
  for (;;) {
    size_t end = text.find('x');
    std::string_view word = text.substr(0, end);
    int64_t extent = 0;
    auto [stop, code] = std::from_chars(word.data(), word.data() + word.size(), extent);
    if (code != std::errc() || stop != word.data() + word.size() || extent < 1 ||
        extent > INT32_MAX || shape.size() >= 8)
      return std::nullopt;
    shape.push_back(extent);
    if (end == std::string_view::npos)
      return shape;
    text.remove_prefix(end + 1);
  }
}

static Result<std::unique_ptr<DataSource>> open(const DataSpec &spec, Split) {
  if (spec.paths.size() != 1)
    return userError(spec.text + ": expected one CSV file");
  const std::string &path = spec.paths[0];
  CsvOptions options;
  options.label = spec.option("label");
  if (auto header = spec.option("header")) {
    if (*header != "yes" && *header != "no")
      return userError(fmt::format("{}: expected header=yes or header=no", spec.text));
    options.hasHeader = *header == "yes";
  }
  if (auto separator = spec.option("separator")) {
    if (separator->size() != 1 && *separator != "tab")
      return userError(fmt::format("{}: expected separator=CHARACTER or separator=tab", spec.text));
    options.separator = *separator == "tab" ? '\t' : (*separator)[0];
  }
  Result<rt::MappedFile> file = rt::MappedFile::open(path);
  if (!file)
    return file.error();
  Result<CsvTable> parsed = parseCsv(
      {reinterpret_cast<const char *>(file->bytes().data()), file->bytes().size()}, options, path);
  if (!parsed)
    return parsed.error();
  auto table = std::make_shared<CsvTable>(std::move(*parsed));
  int64_t columns = static_cast<int64_t>(table->features.size()) / table->rowCount;
  std::vector<int64_t> shape = {columns};
  if (auto text = spec.option("shape")) {
    std::optional<std::vector<int64_t>> given = parseShape(*text);
    CheckedSize count = 1;
    for (int64_t extent : given.value_or(std::vector<int64_t>()))
      count *= extent;
    if (!given || count.getOr(-1) != columns)
      return userError(
          fmt::format("{}: expected shape=AxBxC of {} elements, the columns without the "
                      "label, found shape={}",
                      spec.text, columns, *text));
    shape = *given;
  }
  std::vector<ArrayField> fields = {{{"features", DType::F32, shape}, DType::F32}};
  ArrayPart part{table->rowCount,
                 {{path, reinterpret_cast<const std::byte *>(table->features.data()),
                   columns * static_cast<int64_t>(sizeof(float))}}};
  if (!table->labels.empty()) {
    fields.push_back({{"label", DType::I64, {}}, DType::I64});
    part.columns.push_back({path, reinterpret_cast<const std::byte *>(table->labels.data()),
                            static_cast<int64_t>(sizeof(int64_t))});
  } else if (table->hasLabel) {
    fields.push_back({{"label", DType::F32, {}}, DType::F32});
    part.columns.push_back({path, reinterpret_cast<const std::byte *>(table->targets.data()),
                            static_cast<int64_t>(sizeof(float))});
  }
  std::vector<std::string> classNames = table->classNames;
  return makeArraySource("data '" + path + "'", std::move(fields), {std::move(part)}, {table},
                         std::move(classNames));
}

const Format data::kCsvFormat = {"csv",
                                 "a table of numbers, one column of it the label",
                                 "csv:iris.csv?label=species, csv:digits.csv?label=0&shape=1x28x28",
                                 {"label", "header", "separator", "shape"},
                                 recognises,
                                 open};
