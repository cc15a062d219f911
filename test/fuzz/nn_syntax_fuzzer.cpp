// libFuzzer harness of the .nn syntax: any bytes give a tree or one error; what parses prints to a text that parses and prints the
// same. Built with -DNNCC_BUILD_FUZZERS=ON; run it on examples/ as corpus.
#include "frontend/nn/Parser.h"
#include "frontend/nn/Printer.h"

#include <cstdlib>

using namespace nncc::frontend;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t sizeBytes) {
  SourceManager sources;
  Diagnostics diagnostics;
  const SourceFile *source =
      sources.add("fuzz.nn", std::string(reinterpret_cast<const char *>(data), sizeBytes), diagnostics);
  std::optional<File> file;
  if (source)
    file = parse(*source, diagnostics);
  if (!file) {
    if (diagnostics.render().empty())
      std::abort();
    return 0;
  }
  std::string once = print(*file);
  const SourceFile *printedSource = sources.add("printed.nn", once, diagnostics);
  std::optional<File> again = parse(*printedSource, diagnostics);
  if (!again || print(*again) != once)
    std::abort();
  return 0;
}
