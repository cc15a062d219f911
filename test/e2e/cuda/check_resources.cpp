// Compiles the kernels of models to machine code for every architecture that nncc serves, and holds what ptxas says of each against
// the kernel's budget (codegen/cuda/KernelCode.h) and against one golden file, so that a change shows in the diff.
//
//   check_resources --golden FILE [--update] [--cache FOLDER] (MODEL.nn | OPS.safetensors)...
//
// A .safetensors file holds op cases: model texts by name in its metadata. Of models every kernel is compiled, of op cases those
// of a kind (ops and precision) that no kernel before them has. Kernels with the same body are compiled once.
//
// Exit status: 0 as expected, 1 a kernel is over its budget or the golden file is out of date, 4 no NVRTC.

#include "codegen/cuda/DeviceHeader.h"
#include "driver/ImportModel.h"
#include "driver/Stages.h"
#include "runtime/File.h"
#include "runtime/Safetensors.h"
#include "runtime/cuda/KernelCache.h"
#include "tools/support/ExitStatus.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Path.h"

#include <fmt/format.h>

#include <atomic>
#include <cstdio>
#include <map>
#include <thread>

using namespace nncc;
using llvm::StringRef;
using llvm::Twine;
using rt::cuda::KernelResources;

namespace {

/// What a GPU of each generation since Turing runs; sm_90a is Hopper with its own instructions.
constexpr const char *kArchitectures[] = {"sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_90a", "sm_100", "sm_120"};
/// Name of a function in the text that stands for a kernel; a call gives it its own.
constexpr char kPlaceholder[] = "KERNEL";

struct Request {
  std::string golden, cache;
  bool update = false;
  std::vector<std::string> sources;
};

struct CheckedKernel {
  std::string name; ///< lenet/conv2d_bias_relu_kernel
  std::string body; ///< with kPlaceholder as its name, without comments
  int64_t threads = 0;
  codegen::cuda::KernelBudget budget;
  std::vector<KernelResources> resources; ///< by architecture
};

std::string replaceAll(StringRef text, StringRef from, StringRef to) {
  std::string result;
  for (size_t at; (at = text.find(from)) != StringRef::npos; text = text.drop_front(at + from.size()))
    result += (text.take_front(at) + to).str();
  return result + text.str();
}

std::string bodyOf(const codegen::cuda::CudaSource &source) {
  std::string body;
  llvm::SmallVector<StringRef> lines;
  StringRef(source.text).split(lines, '\n');
  for (StringRef line : lines)
    if (!line.ltrim().starts_with("//"))
      body += line.str() + "\n";
  return replaceAll(body, source.symbol, kPlaceholder);
}

/// "conv2d_bias_kernel" of "conv2d_bias_kernel_2".
StringRef withoutNumber(StringRef symbol) {
  StringRef stem = symbol.rtrim("0123456789");
  return stem.size() < symbol.size() && stem.ends_with("_") ? stem.drop_back() : symbol;
}

/// What tells the kinds of op cases apart: the fused ops, whether they are computed in tiles, and whether there are doubles or halves
/// among the arguments.
std::string kindOf(StringRef symbol, StringRef body) {
  size_t open = body.find((kPlaceholder + Twine("(")).str()), close = body.find(") {", open);
  StringRef parameters = body.slice(open, close);
  StringRef form = body.contains("_tile[") ? " in tiles" : "";
  return (withoutNumber(symbol) + form + (parameters.contains("double") ? " double" : parameters.contains("float16 ") ? " half" : "")).str();
}

class Collection {
public:
  Result<void> addModel(const std::string &path) {
    driver::ModelSource source;
    source.path = path;
    return add(source, llvm::sys::path::stem(path), /*isCase=*/false);
  }

  Result<void> addCases(const std::string &path) {
    auto file = rt::MappedFile::open(path);
    if (!file)
      return file.error();
    auto cases = rt::Safetensors::parse(file->bytes(), path);
    if (!cases)
      return cases.error();
    for (const auto &[name, text] : cases->metadata()) {
      driver::ModelSource source;
      source.path = name + (text.starts_with("module") ? ".mlir" : ".nn"); // see op_cases.py
      source.text = text;
      if (auto added = add(source, (llvm::sys::path::stem(path) + "/" + name).str(), /*isCase=*/true); !added)
        return added;
    }
    return {};
  }

  std::vector<CheckedKernel> kernels;

private:
  Result<void> add(const driver::ModelSource &source, StringRef name, bool isCase) {
    auto context = driver::createContext();
    auto imported = driver::importModel(*context, source);
    if (!imported)
      return imported.error();
    if (auto ran = driver::runPasses(*imported->module, driver::cudaPacking(), {}); !ran)
      return ran.error();
    auto compiled = driver::buildCudaProgram(*imported->module, {});
    if (!compiled) {
      if (!isCase || !StringRef(compiled.error().message).contains("for which there is no CUDA emitter"))
        return compiled.error();
      std::printf("left out: %s\n", StringRef(compiled.error().message).split('\n').first.str().c_str());
      return {};
    }
    for (const auto &[kernel, text] : llvm::zip_equal(compiled->program.kernels, compiled->sources)) {
      std::string body = bodyOf(text);
      bool isNewKind = kinds.insert(kindOf(kernel.symbol, body)).second;
      if ((isCase && !isNewKind) || !bodies.insert(body).second)
        continue;
      kernels.push_back({(name + "/" + kernel.symbol).str(), std::move(body), kernel.cuda->threadsPerBlock, text.budget, {}});
    }
    return {};
  }

  llvm::StringSet<> kinds, bodies;
};

//===----------------------------------------------------------------------===//
// Compilation
//===----------------------------------------------------------------------===//

std::string toText(const KernelResources &r) {
  return fmt::format("{} {} {} {} {}", r.registers, r.spillStoreBytes, r.spillLoadBytes, r.stackBytes, r.sharedBytes);
}

std::optional<KernelResources> fromText(const std::string &text) {
  KernelResources r;
  int count = std::sscanf(text.c_str(), "%d %d %d %d %d", &r.registers, &r.spillStoreBytes, &r.spillLoadBytes, &r.stackBytes,
                          &r.sharedBytes);
  return count == 5 ? std::optional(r) : std::nullopt;
}

/// Fills the resources of all kernels: those that the cache lacks are compiled, several in one file, since NVRTC needs longer to start
/// than for a kernel.
class Compilation {
public:
  Compilation(std::vector<CheckedKernel> &kernels, const rt::cuda::Nvrtc &nvrtc, const std::string &cacheFolder)
      : kernels(kernels), nvrtc(nvrtc), header(codegen::cuda::deviceHeader().str()) {
    if (!cacheFolder.empty())
      cache.emplace(cacheFolder);
  }

  Result<void> run() {
    constexpr size_t kKernelsPerFile = 8;
    struct File {
      size_t architecture;
      std::vector<size_t> kernels;
    };
    std::vector<File> files;
    for (size_t architecture = 0; architecture < std::size(kArchitectures); ++architecture) {
      File file{architecture, {}};
      for (size_t i = 0; i < kernels.size(); ++i) {
        kernels[i].resources.resize(std::size(kArchitectures));
        std::optional<std::string> known = cache ? cache->find(keyOf(i, architecture)) : std::nullopt;
        std::optional<KernelResources> resources = known ? fromText(*known) : std::nullopt;
        if (resources)
          kernels[i].resources[architecture] = *resources;
        else
          file.kernels.push_back(i);
        if (file.kernels.size() == kKernelsPerFile || (i + 1 == kernels.size() && !file.kernels.empty()))
          files.push_back(std::exchange(file, {architecture, {}}));
      }
    }
    std::vector<Result<void>> results(files.size());
    std::atomic<size_t> next = 0;
    auto work = [&] {
      for (size_t i; (i = next++) < files.size();)
        results[i] = compile(files[i].architecture, files[i].kernels);
    };
    std::vector<std::thread> threads(std::max(1u, std::thread::hardware_concurrency()) - 1);
    for (std::thread &thread : threads)
      thread = std::thread(work);
    work();
    for (std::thread &thread : threads)
      thread.join();
    for (Result<void> &result : results)
      if (!result)
        return result;
    return {};
  }

private:
  std::string keyOf(size_t kernel, size_t architecture) const {
    return rt::cuda::KernelCache::keyOf(header + kernels[kernel].body, std::string("resources ") + kArchitectures[architecture],
                                        nvrtc.describe());
  }

  Result<void> compile(size_t architecture, const std::vector<size_t> &indices) {
    std::string source = header;
    for (size_t i : indices)
      source += fmt::format("namespace n{} {{\n{}}}\n", i, replaceAll(kernels[i].body, kPlaceholder, fmt::format("kernel_{}", i)));
    auto compiled = nvrtc.compile(source, kernels[indices.front()].name, kArchitectures[architecture]);
    if (!compiled)
      return compiled.error();
    for (size_t i : indices) {
      std::string function = fmt::format("kernel_{}", i);
      auto found = llvm::find_if(compiled->resources, [&](const KernelResources &r) { return r.function == function; });
      if (found == compiled->resources.end() || found->registers == 0)
        return internalError(fmt::format("NVRTC says nothing of {} for {}:\n{}", kernels[i].name, kArchitectures[architecture], compiled->log));
      kernels[i].resources[architecture] = *found;
      if (cache)
        if (auto stored = cache->store(keyOf(i, architecture), toText(*found)); !stored)
          return stored;
    }
    return {};
  }

  std::vector<CheckedKernel> &kernels;
  const rt::cuda::Nvrtc &nvrtc;
  std::string header;
  std::optional<rt::cuda::KernelCache> cache;
};

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

/// One line per violation.
std::string checkBudgets(const std::vector<CheckedKernel> &kernels) {
  std::string violations;
  for (const CheckedKernel &kernel : kernels)
    for (auto [architecture, used] : llvm::zip_equal(kArchitectures, kernel.resources)) {
      auto check = [&](const char *what, int64_t value, int64_t most) {
        if (value > most)
          violations += fmt::format("{} on {}: {} {}, its budget is {}\n", kernel.name, architecture, value, what, most);
      };
      check("registers", used.registers, kernel.budget.registers);
      check("bytes of shared memory", used.sharedBytes, kernel.budget.sharedBytes);
      check("bytes of spill stores", used.spillStoreBytes, 0);
      check("bytes of spill loads", used.spillLoadBytes, 0);
      check("bytes of stack", used.stackBytes, kernel.budget.stackBytes);
    }
  return violations;
}

/// One line per kernel, sorted, so that a change of one kernel is a change of one line. The shared memory of a kernel is the same
/// everywhere.
std::string printGolden(const std::vector<CheckedKernel> &kernels, const rt::cuda::Nvrtc &nvrtc) {
  std::string text = fmt::format("# NVRTC {}.{}; written by check_resources --update\n", nvrtc.major(), nvrtc.minor());
  text += "# threads per block, bytes of shared memory; registers per thread on each architecture (budget)\n";
  text += fmt::format("{:<72} {:>7} {:>6}", "# kernel", "threads", "shared");
  for (const char *architecture : kArchitectures)
    text += fmt::format(" {:>6}", architecture);
  text += " budget\n";
  std::map<std::string, std::string> lines;
  for (const CheckedKernel &kernel : kernels) {
    std::string &line = lines[kernel.name];
    line = fmt::format("{:<72} {:>7} {:>6}", kernel.name, kernel.threads, kernel.resources.front().sharedBytes);
    for (const KernelResources &used : kernel.resources)
      line += fmt::format(" {:>6}", used.registers);
    line += fmt::format(" {:>6}\n", kernel.budget.registers);
  }
  for (const auto &[name, line] : lines)
    text += line;
  return text;
}

/// The lines that only one of two texts has, as diff marks them.
std::string difference(StringRef expected, StringRef found) {
  llvm::SmallVector<StringRef> old, now;
  expected.split(old, '\n');
  found.split(now, '\n');
  llvm::StringSet<> oldLines, newLines;
  oldLines.insert(old.begin(), old.end());
  newLines.insert(now.begin(), now.end());
  std::string text;
  for (StringRef line : old)
    if (!newLines.contains(line))
      text += ("- " + line + "\n").str();
  for (StringRef line : now)
    if (!oldLines.contains(line))
      text += ("+ " + line + "\n").str();
  return text;
}

Result<int> run(const Request &request, const std::string &command) {
  auto nvrtc = rt::cuda::Nvrtc::get();
  if (!nvrtc)
    return nvrtc.error();
  Collection collection;
  for (const std::string &source : request.sources) {
    bool isCases = StringRef(source).ends_with(".safetensors");
    if (auto added = isCases ? collection.addCases(source) : collection.addModel(source); !added)
      return added.error();
  }
  std::vector<CheckedKernel> &kernels = collection.kernels;
  if (auto compiled = Compilation(kernels, **nvrtc, request.cache).run(); !compiled)
    return compiled.error();
  std::string violations = checkBudgets(kernels);
  if (!violations.empty())
    std::printf("Over their budgets (codegen/cuda/KernelCode.h says what that is):\n%s", violations.c_str());
  std::printf("%zu kernels, %zu architectures, NVRTC %s\n", kernels.size(), std::size(kArchitectures), (*nvrtc)->describe().c_str());

  std::string text = printGolden(kernels, **nvrtc);
  if (request.update) {
    if (auto written = rt::writeFileAtomically(request.golden, text); !written)
      return written.error();
    return violations.empty() ? 0 : 1;
  }
  auto golden = rt::MappedFile::open(request.golden);
  if (!golden)
    return golden.error();
  StringRef expected(reinterpret_cast<const char *>(golden->bytes().data()), golden->bytes().size());
  StringRef version = StringRef(text).split(';').first;
  if (!expected.starts_with(version)) {
    std::printf("%s was written by another NVRTC, so only the budgets were checked\n", request.golden.c_str());
    return violations.empty() ? 0 : 1;
  }
  if (expected == text)
    return violations.empty() ? 0 : 1;
  std::printf("%s is out of date; where the change is meant, write it anew:\n  %s --update\n%s", request.golden.c_str(),
              command.c_str(), difference(expected, text).c_str());
  return 1;
}

} // namespace

int main(int argc, char **argv) {
  Request request;
  std::string command = argv[0];
  for (int i = 1; i < argc; ++i) {
    std::string argument = argv[i];
    command += " " + argument;
    if (argument == "--update")
      request.update = true;
    else if ((argument == "--golden" || argument == "--cache") && i + 1 < argc)
      command += std::string(" ") + ((argument == "--golden" ? request.golden : request.cache) = argv[++i]);
    else
      request.sources.push_back(argument);
  }
  auto status = run(request, command);
  if (status)
    return *status;
  std::fprintf(stderr, "check_resources: %s\n", status.error().message.c_str());
  return static_cast<int>(tools::exitStatusOf(status.error().kind));
}
