// nncc: compiles a model to a shared object, or stops after any stage and shows what is there. This
// file is the command line; the stages are in driver/.

#include "driver/CompileModel.h"
#include "driver/CudaReport.h"
#include "driver/ModelGraph.h"
#include "driver/ModelHeader.h"
#include "driver/ModelSummary.h"
#include "driver/StepReport.h"
#include "driver/WriteModel.h"
#include "runtime/File.h"
#include "runtime/cuda/Nvrtc.h"
#include "tools/support/ExitStatus.h"
#include "tools/support/Units.h"

#include "mlir/IR/AsmState.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/PrettyStackTrace.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Signals.h"
#include "llvm/Support/TimeProfiler.h"
#include "llvm/Support/raw_ostream.h"

#include <csignal>
#include <unistd.h>

namespace cl = llvm::cl;
using namespace nncc;
using namespace nncc::driver;
using tools::ExitStatus;

namespace {

enum class Emit { SharedObject, Nn, Ir, Kernels, Llvm, Assembly, Object, Cuda, Ptx, Cubin, Header, Dot, Summary };

cl::OptionCategory category("nncc options");

cl::opt<std::string> inputPath(cl::Positional, cl::desc("MODEL.nn"), cl::cat(category));
cl::opt<std::string> outputPath("o", cl::desc("Where the result goes; - is standard output"),
                                cl::value_desc("file"), cl::cat(category));
cl::opt<Emit> emitKind(
    "emit", cl::desc("What to make:"), cl::init(Emit::SharedObject), cl::cat(category),
    cl::values(clEnumValN(Emit::SharedObject, "so", "shared object, the default"),
               clEnumValN(Emit::Nn, "nn", "the model's text, formatted"),
               clEnumValN(Emit::Ir, "ir", "the imported model as nn ops"),
               clEnumValN(Emit::Kernels, "kernels", "the fused kernels"),
               clEnumValN(Emit::Llvm, "llvm", "LLVM IR of the kernels"),
               clEnumValN(Emit::Assembly, "asm", "assembly of the kernels"),
               clEnumValN(Emit::Object, "obj", "object file of the kernels"),
               clEnumValN(Emit::Cuda, "cuda", "CUDA C++ of the kernels, one file that nvcc compiles"),
               clEnumValN(Emit::Ptx, "ptx", "PTX of the kernels, by NVRTC"),
               clEnumValN(Emit::Cubin, "cubin", "machine code of the kernels for a GPU, by NVRTC"),
               clEnumValN(Emit::Header, "header", "C++ header with typed inputs and outputs"),
               clEnumValN(Emit::Dot, "dot", "graph for Graphviz"),
               clEnumValN(Emit::Summary, "summary", "table of layers")));
cl::list<std::string> gpuArchitectures(
    "arch", cl::CommaSeparated, cl::value_desc("sm_90,..."), cl::cat(category),
    cl::desc("GPUs to hold machine code for in the shared object, beside what is compiled when it is "
             "loaded; for --emit=ptx and --emit=cubin one, sm_80 by default"));
cl::opt<std::string> targetNames("target", cl::value_desc("cpu|cuda|cpu,cuda"), cl::init("cpu"),
                                 cl::cat(category),
                                 cl::desc("Devices that the model can run on (default cpu)"));
cl::opt<codegen::cuda::Fp32> fp32("fp32", cl::init(codegen::cuda::Fp32::Exact), cl::cat(category),
                                   cl::desc("How CUDA kernels multiply f32 matrices:"));
cl::opt<std::string> tuningPath("tuning", cl::value_desc("F.json"), cl::cat(category),
                                cl::desc("Put a tuning file (nncc-run --tune) into the shared object: which CUDA kernels "
                                         "take which tiles, and which cuBLASLt and cuDNN do"));
cl::opt<uint32_t> tileCount("tiles", cl::value_desc("n"), cl::init(0), cl::cat(category),
                            cl::desc("How many tiles of each matrix product and convolution CUDA code has, for nncc-run --tune to "
                                     "choose from (default 1; 4 with --tuning)"));
cl::opt<uint32_t> tileRank("tile-rank", cl::value_desc("n"), cl::init(0), cl::Hidden, cl::cat(category),
                           cl::desc("Take the n-th best tile by the model for matrix products of CUDA kernels"));
cl::list<std::string>
    cpuNames("cpu", cl::CommaSeparated, cl::cat(category), cl::value_desc("level,..."),
             cl::desc("CPU levels: native (the default), x86-64-v2, x86-64-v3, x86-64-v4, aarch64; "
                      "with several, the model chooses when it is loaded"));
cl::opt<char> optLevel("O", cl::Prefix, cl::desc("Optimisation level, -O0 to -O3"), cl::init('3'),
                       cl::cat(category));
cl::opt<std::string> weightsPath("weights", cl::value_desc("W.safetensors"), cl::cat(category),
                                 cl::desc("The weights; without them parameters start as the model "
                                          "says"));
cl::opt<WeightsMode> weightsMode(
    "weights-mode", cl::desc("Where the weights go:"), cl::init(WeightsMode::Auto),
    cl::cat(category),
    cl::values(clEnumValN(WeightsMode::Auto, "auto", "into the shared object up to 64 MiB"),
               clEnumValN(WeightsMode::Embed, "embed", "into the shared object"),
               clEnumValN(WeightsMode::External, "external",
                          "into a file beside it, mapped at load")));
cl::list<std::string> fixedDims("dim", cl::value_desc("name=value"), cl::cat(category),
                                cl::desc("Fix a named dim, as in --dim batch=8"));
cl::opt<std::string> trainStatements(
    "train", cl::ValueOptional, cl::value_desc("TEXT|@FILE"), cl::cat(category),
    cl::desc("Compile the train section too: the model then trains as well as infers. TEXT is such a section, or "
             "what changes in the model's: 'target label: i64[N]; loss = cross_entropy(logits, label); optimizer = adamw()'"));
bool isTraining() { return trainStatements.getNumOccurrences() != 0; }
cl::opt<std::string> memoryBudget("memory-budget", cl::value_desc("bytes"), cl::cat(category),
                                  cl::desc("Let intermediates of a training step, at the batch of the train section, take at most "
                                           "512M (or K or G): values are computed again rather than kept"));
cl::opt<uint64_t> seed("seed", cl::desc("Seed of initialised parameters"), cl::init(0),
                       cl::cat(category));
cl::opt<bool> report("report", cl::desc("Print memory and kernels of the compiled model"),
                     cl::cat(category));
cl::opt<std::string> timeTracePath("time-trace", cl::value_desc("F.json"), cl::cat(category),
                                   cl::desc("Write where the compiler spent its time, for "
                                            "ui.perfetto.dev"));
cl::opt<std::string> dumpFolder("dump-phases", cl::value_desc("folder"), cl::cat(category),
                                cl::desc("Write the IR after each pass into numbered files"));
cl::opt<bool> quiet("q", cl::desc("Print errors only"), cl::cat(category));
cl::opt<bool> verbose("v", cl::desc("Print what was written"), cl::cat(category));

/// --color=auto|always|never; LLVM has a flag of that name with other values, which this sets.
enum class Color { Auto, Always, Never };

struct CommandLine {
  std::vector<const char *> arguments;
  Color color = Color::Auto;
};

std::optional<CommandLine> takeColor(int argc, char **argv) {
  CommandLine line;
  for (int i = 0; i < argc; ++i) {
    llvm::StringRef argument(argv[i]);
    if (i == 0 || !(argument.consume_front("--color=") || argument.consume_front("-color="))) {
      line.arguments.push_back(argv[i]);
      continue;
    }
    if (argument != "auto" && argument != "always" && argument != "never") {
      llvm::errs() << "nncc: --color takes auto, always or never, not '" << argument << "'\n";
      return std::nullopt;
    }
    line.color = argument == "always"  ? Color::Always
                 : argument == "never" ? Color::Never
                                       : Color::Auto;
    if (line.color != Color::Auto)
      line.arguments.push_back(line.color == Color::Always ? "--color=true" : "--color=false");
  }
  return line;
}

bool isColored(Color color) {
  if (color != Color::Auto)
    return color == Color::Always;
  return isatty(STDERR_FILENO) && !llvm::sys::Process::GetEnv("NO_COLOR");
}

class Driver {
public:
  explicit Driver(std::string self, bool color) : self(std::move(self)), color(color) {}

  Result<void> run();

private:
  ModelSource source() const;
  Result<void> write(llvm::StringRef contents, llvm::StringRef extension) const;
  std::string pathFor(llvm::StringRef extension) const;
  Result<void> emitImported();
  Result<void> emitLowered();
  Result<void> emitCuda(mlir::ModuleOp module);
  Result<void> emitSharedObject();
  PassOptions passOptions() const;

  std::string self;
  bool color;
  std::vector<std::pair<std::string, int64_t>> dims;
  std::vector<std::string> cpus;
  Targets targets;
  std::unique_ptr<mlir::MLIRContext> context;
};

/// "batch=8"
std::optional<std::pair<std::string, int64_t>> parseDim(llvm::StringRef text) {
  auto [name, value] = text.split('=');
  int64_t number = 0;
  if (name.empty() || value.getAsInteger(10, number) || number < 1)
    return std::nullopt;
  return std::pair(name.str(), number);
}

ModelSource Driver::source() const {
  ModelSource source;
  source.path = inputPath;
  source.fixedDims = dims;
  source.color = color;
  source.training = isTraining();
  source.trainStatements = trainStatements;
  return source;
}

PassOptions Driver::passOptions() const {
  PassOptions options;
  options.configure = [](mlir::PassManager &passes) {
    return mlir::applyPassManagerCLOptions(passes);
  };
  options.dumpFolder = dumpFolder;
  options.memoryBudgetBytes = memoryBudget.empty() ? 0 : *tools::parseBytes(memoryBudget);
  return options;
}

/// The path of a result: -o, or the model's name with another extension in the current folder.
std::string Driver::pathFor(llvm::StringRef extension) const {
  return !outputPath.empty() ? outputPath
                             : (llvm::sys::path::stem(inputPath) + "." + extension).str();
}

Result<void> writeToStdout(llvm::StringRef text) {
  llvm::outs() << text;
  llvm::outs().flush();
  if (!llvm::outs().has_error())
    return {};
  std::string reason = llvm::outs().error().message();
  llvm::outs().clear_error(); // which would end the program later
  return userError("cannot write to standard output: " + reason);
}

/// Text goes to standard output unless -o names a file.
Result<void> Driver::write(llvm::StringRef contents, llvm::StringRef extension) const {
  bool toFile = !extension.empty() || (!outputPath.empty() && outputPath != "-");
  if (!toFile || outputPath == "-")
    return writeToStdout(contents);
  return rt::writeFileAtomically(pathFor(extension), {contents.data(), contents.size()});
}

std::string print(mlir::ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream os(text);
  constexpr int64_t kShownElements = 16; // weights of more elements would drown the ops
  module->print(os, mlir::OpPrintingFlags().elideLargeElementsAttrs(kShownElements));
  return text + "\n";
}

Result<void> Driver::emitImported() {
  auto imported = importModel(*context, source());
  if (!imported)
    return imported.error();
  if (!quiet)
    llvm::errs() << imported->warnings;
  mlir::ModuleOp module = *imported->module;
  if (emitKind == Emit::Summary)
    return write(summarizeModel(module), "");
  if (emitKind == Emit::Dot)
    return write(drawModel(module), "");
  return write(print(module), "");
}

/// Kernels, LLVM IR, assembly or object of the first CPU, or the header of its program.
Result<void> Driver::emitLowered() {
  auto imported = importModel(*context, source());
  if (!imported)
    return imported.error();
  if (!quiet)
    llvm::errs() << imported->warnings;
  mlir::ModuleOp module = *imported->module;
  if (emitKind == Emit::Cuda || emitKind == Emit::Ptx || emitKind == Emit::Cubin)
    return emitCuda(module);
  auto target = findTarget(cpus.front());
  if (!target)
    return target.error();
  passes::Packing packing =
      targets.cpu || emitKind != Emit::Kernels ? packingFor(*target) : cudaPacking();
  if (auto ran = runPasses(module, packing, passOptions()); !ran)
    return ran.error();
  if (emitKind == Emit::Kernels)
    return write(print(module), "");
  auto compiled = driver::buildProgram(module, *target);
  if (!compiled)
    return compiled.error();
  if (emitKind == Emit::Header) {
    auto header =
        writeModelHeader(compiled->program, (llvm::sys::path::stem(inputPath) + ".so").str());
    return header ? write(*header, "") : header.error();
  }
  unsigned level = optLevel - '0';
  auto kernels = translateKernels(*compiled->kernels, *target, level, 0);
  if (!kernels)
    return kernels.error();
  if (emitKind == Emit::Llvm) {
    std::string text;
    llvm::raw_string_ostream os(text);
    kernels->module->print(os, nullptr);
    return write(text, "");
  }
  bool isObject = emitKind == Emit::Object;
  auto code = generateMachineCode(*kernels->module, *target, level,
                                  isObject ? CodeKind::Object : CodeKind::Assembly);
  if (!code)
    return code.error();
  return write({code->data(), code->size()}, isObject ? "o" : "");
}

/// The one that --arch names first, for what is shown of one architecture.
std::string gpuArchitecture() { return gpuArchitectures.empty() ? "sm_80" : gpuArchitectures.front(); }

/// The kernels for a CUDA device: their source, or what NVRTC makes of it.
Result<void> Driver::emitCuda(mlir::ModuleOp module) {
  if (auto ran = runPasses(module, cudaPacking(), passOptions()); !ran)
    return ran.error();
  auto compiled = buildCudaProgram(module, {fp32, tileRank, 1});
  if (!compiled)
    return compiled.error();
  std::string source = codegen::cuda::printCudaFile(compiled->program, compiled->sources);
  if (emitKind == Emit::Cuda)
    return write(source, "");
  auto nvrtc = rt::cuda::Nvrtc::get();
  if (!nvrtc)
    return nvrtc.error();
  std::string architecture = gpuArchitecture();
  llvm::StringRef number(architecture);
  bool isPtx = emitKind == Emit::Ptx;
  if (isPtx && number.consume_front("sm_"))
    architecture = "compute_" + number.str();
  auto image = (*nvrtc)->compile(source, compiled->program.modelName, architecture);
  return image ? write(image->image, isPtx ? "" : "cubin") : image.error();
}

/// Text and images of the kernels.
size_t sizeOf(const CudaCode &code) {
  size_t bytes = code.contents.header.size();
  for (const codegen::DescriptorCudaKernel &kernel : code.contents.kernels) {
    bytes += kernel.source.size();
    for (const std::string &image : kernel.images)
      bytes += image.size();
  }
  return bytes;
}

Result<void> Driver::emitSharedObject() {
  CompileRequest request;
  request.source = source();
  request.cpus = targets.cpu ? cpus : std::vector<std::string>();
  request.forCuda = targets.cuda;
  request.gpuArchitectures.assign(gpuArchitectures.begin(), gpuArchitectures.end());
  uint32_t tiles = tileCount.getNumOccurrences() ? tileCount : tuningPath.empty() ? 1 : codegen::cuda::kTilesToTune;
  request.cudaOptions = {fp32, tileRank, tiles};
  request.tuningPath = tuningPath;
  request.optLevel = optLevel - '0';
  request.weights = {weightsPath, seed};
  request.passes = passOptions();
  auto compiled = compileModel(*context, request);
  if (!compiled)
    return compiled.error();
  if (!quiet)
    llvm::errs() << compiled->warnings;
  ModelFiles files{pathFor("so"), self, weightsMode};
  // Linking resets all flags: lld is a program with flags of its own.
  bool printReport = report, printPath = verbose, trains = isTraining();
  std::string architecture = gpuArchitecture();
  if (auto written = writeSharedObject(*compiled, files); !written)
    return written.error();
  if (printPath)
    llvm::errs() << "wrote " << files.output << "\n";
  if (!printReport)
    return {};
  bool onCpu = !compiled->variants.empty();
  const rt::Program &program = onCpu ? compiled->variants.front().program : compiled->cuda->program;
  size_t codeBytes = onCpu ? compiled->variants.front().object.size() : sizeOf(*compiled->cuda);
  auto text = reportMemory(program, codeBytes, compiled->weights.size());
  if (!text)
    return text.error();
  if (trains) {
    auto step = reportTrainStep(program, onCpu ? compiled->variants.front().stepNotes : compiled->cuda->stepNotes);
    if (!step)
      return step.error();
    *text += "\n" + *step;
  }
  if (compiled->cuda) {
    auto kernels = reportCudaKernels(compiled->cuda->program, compiled->cuda->sources, architecture);
    if (!kernels)
      return kernels.error();
    *text += "\n" + *kernels;
  }
  return writeToStdout(*text);
}

Result<void> Driver::run() {
  for (const std::string &text : fixedDims)
    dims.push_back(*parseDim(text));
  cpus.assign(cpuNames.begin(), cpuNames.end());
  if (cpus.empty())
    cpus = {"native"};
  targets = *parseTargets(targetNames);
  context = createContext();
  switch (emitKind) {
  case Emit::Nn: {
    auto text = formatModel(source());
    return text ? write(*text, "") : text.error();
  }
  case Emit::Ir:
  case Emit::Dot:
  case Emit::Summary:
    return emitImported();
  case Emit::Kernels:
  case Emit::Llvm:
  case Emit::Assembly:
  case Emit::Object:
  case Emit::Cuda:
  case Emit::Ptx:
  case Emit::Cubin:
  case Emit::Header:
    return emitLowered();
  case Emit::SharedObject:
    return emitSharedObject();
  }
  return internalError("unknown kind of output");
}

/// Mistakes of the command line that llvm::cl does not see.
std::optional<std::string> findUsageMistake() {
  if (inputPath.empty())
    return "no model given";
  auto targets = parseTargets(targetNames);
  if (!targets)
    return "--target: " + targets.error().message;
  if (emitKind == Emit::SharedObject && !gpuArchitectures.empty() && !targets->cuda)
    return "--arch is for GPUs; say --target=cpu,cuda to compile for one";
  if (tileCount.getNumOccurrences() && (emitKind != Emit::SharedObject || !targets->cuda || tileCount == 0))
    return "--tiles says how many tiles, 1 or more, CUDA kernels in a shared object have; it goes with --target=cuda";
  if (emitKind != Emit::SharedObject && gpuArchitectures.size() > 1)
    return "--arch: the output is for one architecture, found " +
           std::to_string(gpuArchitectures.size());
  if (emitKind == Emit::Nn && !trainStatements.empty())
    return "--emit=nn prints the model's text as it is; what --train=... says is no part of it";
  if (!memoryBudget.empty() && !isTraining())
    return "--memory-budget is for a training step: say --train too";
  if (!memoryBudget.empty() && !tools::parseBytes(memoryBudget))
    return "--memory-budget " + memoryBudget + ": expected a number of bytes, or of K, M or G, as in 512M";
  if (optLevel < '0' || optLevel > '3')
    return std::string("-O") + optLevel.getValue() + ": expected -O0, -O1, -O2 or -O3";
  for (const std::string &dim : fixedDims)
    if (!parseDim(dim))
      return "--dim " + dim + ": expected name=value with a positive value";
  for (const std::string &cpu : cpuNames)
    if (!llvm::is_contained(codegen::knownCpuLevels(), cpu))
      return "--cpu: unknown level '" + cpu +
             "'; known: " + llvm::join(codegen::knownCpuLevels(), ", ");
  return std::nullopt;
}

void exitAsBug(void *) {
  constexpr char kMessage[] = "nncc: internal error: this is a bug in nncc; please report it with "
                              "the lines above and the model\n";
  [[maybe_unused]] ssize_t written = ::write(STDERR_FILENO, kMessage, sizeof kMessage - 1);
  _exit(tools::kBug);
}

void printVersion(llvm::raw_ostream &os) {
  os << "nncc " NNCC_VERSION " (LLVM " LLVM_VERSION_STRING ")\n";
}

} // namespace

int main(int argc, char **argv) {
  llvm::setBugReportMsg("");
  llvm::InitLLVM init(argc, argv);
  llvm::sys::AddSignalHandler(exitAsBug, nullptr);
  std::signal(SIGXFSZ, SIG_IGN); // a write beyond the limit on file sizes then fails with EFBIG
  std::optional<CommandLine> line = takeColor(argc, argv);
  if (!line)
    return tools::kUsage;

  mlir::registerAsmPrinterCLOptions();
  mlir::registerPassManagerCLOptions();
  for (const codegen::cuda::Fp32Name &known : codegen::cuda::kFp32Names)
    fp32.getParser().addLiteralOption(known.name, known.value, known.help);
  cl::SetVersionPrinter(printVersion);
  cl::HideUnrelatedOptions(category);
  if (!cl::ParseCommandLineOptions(static_cast<int>(line->arguments.size()), line->arguments.data(),
                                   "nncc compiles neural networks\n", &llvm::errs()))
    return tools::kUsage;
  if (auto mistake = findUsageMistake()) {
    llvm::errs() << "nncc: " << *mistake << "; nncc --help lists the flags\n";
    return tools::kUsage;
  }

  std::string self =
      llvm::sys::fs::getMainExecutable(argv[0], reinterpret_cast<void *>(&printVersion));
  if (!timeTracePath.empty())
    llvm::timeTraceProfilerInitialize(/*TimeTraceGranularity=*/100, "nncc");
  bool color = isColored(line->color);
  std::string tracePath = timeTracePath;
  Result<void> result = Driver(self, color).run();
  if (!tracePath.empty()) {
    llvm::SmallString<0> buffer;
    llvm::raw_svector_ostream os(buffer);
    llvm::timeTraceProfilerWrite(os);
    llvm::timeTraceProfilerCleanup();
    if (auto written = rt::writeFileAtomically(tracePath, {buffer.data(), buffer.size()});
        result && !written)
      result = written.error();
  }
  if (result)
    return tools::kDone;
  const std::string &message = result.error().message;
  // Diagnostics of a model come with their place and severity.
  if (message.find("error: ") == std::string::npos &&
      message.find("error:\033[0m") == std::string::npos)
    llvm::errs() << (color ? "\033[1mnncc: \033[31merror:\033[0m " : "nncc: error: ");
  llvm::errs() << message << (llvm::StringRef(message).ends_with("\n") ? "" : "\n");
  return tools::exitStatusOf(result.error().kind);
}
