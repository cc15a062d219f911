// CSV from any bytes: no crash, and a table whose parts agree.
#include "runtime/data/Csv.h"

#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string_view text(reinterpret_cast<const char *>(data), size);
  for (const char *label : {"", "0", "none"}) {
    nncc::data::CsvOptions options;
    if (*label)
      options.label = label;
    nncc::Result<nncc::data::CsvTable> table = nncc::data::parseCsv(text, options, "fuzz");
    if (!table)
      continue;
    size_t rows = static_cast<size_t>(table->rowCount);
    size_t labels = table->labels.size() + table->targets.size();
    if (rows == 0 || table->features.size() % rows != 0 || table->features.empty() ||
        table->lineNumbers.size() != rows || labels != (table->hasLabel ? rows : 0))
      std::abort();
  }
  return 0;
}
