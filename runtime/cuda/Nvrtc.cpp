// Calls NVRTC; see Nvrtc.h.

#include "runtime/cuda/Nvrtc.h"

#include "runtime/cuda/Library.h"

#include <algorithm>
#include <cctype>

namespace nncc::rt::cuda {

namespace {

using Program = struct OpaqueProgram *;
using Status = int; // 0: done

} // namespace

struct Nvrtc::Functions {
  Status (*version)(int *, int *);
  Status (*architectureCount)(int *);
  Status (*architectures)(int *);
  Status (*create)(Program *, const char *, const char *, int, const char *const *, const char *const *);
  Status (*destroy)(Program *);
  Status (*compile)(Program, int, const char *const *);
  Status (*logSize)(Program, size_t *);
  Status (*log)(Program, char *);
  Status (*cubinSize)(Program, size_t *);
  Status (*cubin)(Program, char *);
  Status (*ptxSize)(Program, size_t *);
  Status (*ptx)(Program, char *);
  const char *(*message)(Status);
};

Result<std::shared_ptr<const Nvrtc>> Nvrtc::get() {
  LibrarySearch search;
  search.title = "NVRTC, the CUDA run-time compiler,";
  search.variable = "NNCC_NVRTC";
  search.names = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so", "/usr/local/cuda/lib64/libnvrtc.so"};
  search.advice = "Install the CUDA toolkit 12 or later, or run tools/setup --nvrtc";
  auto library = Library::open(search);
  if (!library)
    return library.error();
  auto table = std::make_shared<Functions>();
  Functions &functions = *table;
  for (auto found : {library->find("nvrtcVersion", functions.version),
                     library->find("nvrtcGetNumSupportedArchs", functions.architectureCount),
                     library->find("nvrtcGetSupportedArchs", functions.architectures),
                     library->find("nvrtcCreateProgram", functions.create),
                     library->find("nvrtcDestroyProgram", functions.destroy),
                     library->find("nvrtcCompileProgram", functions.compile),
                     library->find("nvrtcGetProgramLogSize", functions.logSize),
                     library->find("nvrtcGetProgramLog", functions.log),
                     library->find("nvrtcGetCUBINSize", functions.cubinSize),
                     library->find("nvrtcGetCUBIN", functions.cubin),
                     library->find("nvrtcGetPTXSize", functions.ptxSize),
                     library->find("nvrtcGetPTX", functions.ptx),
                     library->find("nvrtcGetErrorString", functions.message)})
    if (!found)
      return found.error();
  std::shared_ptr<Nvrtc> nvrtc(new Nvrtc);
  nvrtc->functions = std::move(table);
  nvrtc->file = library->file();
  if (Status status = functions.version(&nvrtc->majorVersion, &nvrtc->minorVersion))
    return environmentError("NVRTC does not tell its version: nvrtcVersion returned " + std::string(functions.message(status)));
  constexpr int kOldestMajor = 12;
  if (nvrtc->majorVersion < kOldestMajor)
    return environmentError("NVRTC " + nvrtc->describe() + " is too old; nncc needs version " + std::to_string(kOldestMajor) +
                            " or later. " + search.advice + ", or set " + search.variable + " to the library's path");
  return std::shared_ptr<const Nvrtc>(std::move(nvrtc));
}

std::string Nvrtc::describe() const {
  return std::to_string(majorVersion) + "." + std::to_string(minorVersion) + " (" + file + ")";
}

std::vector<int> Nvrtc::supportedArchitectures() const {
  int count = 0;
  if (functions->architectureCount(&count) != 0 || count <= 0)
    return {};
  std::vector<int> numbers(count);
  if (functions->architectures(numbers.data()) != 0)
    return {};
  return numbers;
}

int Nvrtc::bestArchitecture(int capability) const {
  int best = -1;
  for (int known : supportedArchitectures())
    if (known <= capability)
      best = std::max(best, known);
  return best;
}

int architectureNumber(std::string_view architecture) {
  for (std::string_view prefix : {"sm_", "compute_"})
    if (architecture.starts_with(prefix)) {
      std::string digits(architecture.substr(prefix.size()));
      if (!digits.empty() && (digits.back() == 'a' || digits.back() == 'f'))
        digits.pop_back();
      bool isNumber = !digits.empty() && digits.size() < 5 &&
                      std::all_of(digits.begin(), digits.end(), [](unsigned char c) { return std::isdigit(c); });
      return isNumber ? std::stoi(digits) : -1;
    }
  return -1;
}

Result<CompiledImage> Nvrtc::compile(const std::string &source, const std::string &name,
                                     const std::string &architecture) const {
  std::vector<int> known = supportedArchitectures();
  if (std::find(known.begin(), known.end(), architectureNumber(architecture)) == known.end()) {
    std::string list;
    for (int number : known)
      list += (list.empty() ? "sm_" : ", sm_") + std::to_string(number);
    return environmentError("'" + architecture + "' is no architecture that NVRTC " + describe() + " compiles for; it knows " + list +
                            ". Name one of them, or set NNCC_NVRTC to an NVRTC that knows it");
  }
  Program program = nullptr;
  if (Status status = functions->create(&program, source.c_str(), (name + ".cu").c_str(), 0, nullptr, nullptr))
    return environmentError("NVRTC: " + std::string(functions->message(status)));
  struct Guard {
    const Functions *functions;
    Program *program;
    ~Guard() { functions->destroy(program); }
  } guard{functions.get(), &program};

  std::string target = "--gpu-architecture=" + architecture;
  bool isPtx = architecture.starts_with("compute_");
  std::vector<const char *> options = {target.c_str(), "--std=c++17"};
  if (!isPtx)
    options.push_back("--ptxas-options=-v");
  Status status = functions->compile(program, static_cast<int>(options.size()), options.data());

  auto read = [&](auto sizeOf, auto contents) {
    size_t size = 0;
    std::string text;
    if (sizeOf(program, &size) == 0 && size > 0) {
      text.resize(size);
      contents(program, text.data());
    }
    return text;
  };
  auto readText = [&](auto sizeOf, auto contents) {
    std::string text = read(sizeOf, contents);
    while (!text.empty() && text.back() == '\0')
      text.pop_back();
    return text;
  };
  CompiledImage compiled;
  compiled.log = readText(functions->logSize, functions->log);
  if (status)
    return internalError("NVRTC cannot compile the kernel '" + name + "' for " + architecture + ": " +
                         functions->message(status) + "\n" + compiled.log);
  compiled.image = isPtx ? readText(functions->ptxSize, functions->ptx) : read(functions->cubinSize, functions->cubin);
  if (compiled.image.empty())
    return internalError("NVRTC compiled the kernel '" + name + "' for " + architecture + " to nothing");
  if (!isPtx)
    compiled.resources = readResources(compiled.log);
  return compiled;
}

/// The number in front of `unit`, or 0.
static int numberBefore(std::string_view line, std::string_view unit) {
  size_t end = line.find(unit);
  if (end == std::string_view::npos)
    return 0;
  size_t begin = end;
  while (begin > 0 && std::isdigit(static_cast<unsigned char>(line[begin - 1])))
    --begin;
  return begin == end ? 0 : std::atoi(std::string(line.substr(begin, end - begin)).c_str());
}

std::vector<KernelResources> readResources(std::string_view log) {
  // ptxas info    : Compiling entry function 'name' for 'sm_80'
  // ptxas info    : Function properties for name
  //     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
  // ptxas info    : Used 12 registers, used 1 barriers, 8704 bytes smem, 372 bytes cmem[0]
  std::vector<KernelResources> all;
  while (!log.empty()) {
    size_t end = log.find('\n');
    std::string_view line = log.substr(0, end);
    log = end == std::string_view::npos ? std::string_view() : log.substr(end + 1);
    constexpr std::string_view kEntry = "Compiling entry function '";
    if (size_t at = line.find(kEntry); at != std::string_view::npos) {
      std::string_view name = line.substr(at + kEntry.size());
      all.push_back({std::string(name.substr(0, name.find('\''))), 0, 0, 0, 0, 0});
    }
    if (all.empty())
      continue;
    if (line.find("bytes stack frame") != std::string_view::npos) {
      all.back().stackBytes = numberBefore(line, " bytes stack frame");
      all.back().spillStoreBytes = numberBefore(line, " bytes spill stores");
      all.back().spillLoadBytes = numberBefore(line, " bytes spill loads");
    }
    if (line.find(" registers") != std::string_view::npos) {
      all.back().registers = numberBefore(line, " registers");
      all.back().sharedBytes = numberBefore(line, " bytes smem");
    }
  }
  return all;
}

} // namespace nncc::rt::cuda
