// Compiles and runs single kernels; see KernelHarness.h.

#include "test/unit/codegen/KernelHarness.h"

#include "codegen/cpu/CompileModule.h"
#include "codegen/cpu/EmitKernel.h"

#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <thread>

using namespace mlir;
using namespace nncc;
using namespace nncc::codegen;
using namespace nncc::codegen::test;

namespace {

constexpr const char *kSymbol = "kernel";

[[noreturn]] void stop(const std::string &message) {
  ADD_FAILURE() << message;
  // The test programs are built without exceptions, as LLVM is.
  std::abort();
}

template <typename T> T valueOrStop(llvm::Expected<T> value) {
  if (!value)
    stop(llvm::toString(value.takeError()));
  return std::move(*value);
}

struct Lowered {
  OwningOpRef<ModuleOp> source;
  EmittedKernel emitted;
  std::unique_ptr<llvm::LLVMContext> llvmContext = std::make_unique<llvm::LLVMContext>();
  std::unique_ptr<llvm::Module> module;
  CpuTarget target;
};

Lowered lower(MLIRContext &context, const std::string &text, StringRef level) {
  Lowered lowered;
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBuffer(text, "kernel.mlir"), llvm::SMLoc());
  SourceMgrDiagnosticHandler handler(sources, &context);
  lowered.source = parseSourceFile<ModuleOp>(sources, &context);
  if (!lowered.source)
    stop("the kernel does not parse");
  nn::KernelOp kernel;
  lowered.source->walk([&](nn::KernelOp op) { kernel = kernel ? kernel : op; });
  if (!kernel)
    stop("the module has no nn.kernel");

  lowered.target = valueOrStop(cpuTargetNamed(level));
  OwningOpRef<ModuleOp> module = ModuleOp::create(kernel.getLoc());
  if (Attribute dims = (*lowered.source)->getAttr(nn::NNDialect::kDimsAttr))
    (*module)->setAttr(nn::NNDialect::kDimsAttr, dims);
  FailureOr<EmittedKernel> emitted = emitKernel(kernel, kSymbol, *module, lowered.target);
  if (failed(emitted))
    stop("the kernel has no emitter");
  lowered.emitted = *emitted;
  if (failed(verify(*module)) || failed(lowerToLlvmDialect(*module)))
    stop("the emitted code does not lower");
  lowered.module = valueOrStop(
      translateAndOptimise(*module, *lowered.llvmContext, lowered.target, CompileOptions{}));
  return lowered;
}

std::unique_ptr<MLIRContext> makeContext() {
  auto context = std::make_unique<MLIRContext>(MLIRContext::Threading::DISABLED);
  context->loadDialect<nn::NNDialect, func::FuncDialect, scf::SCFDialect, arith::ArithDialect,
                       math::MathDialect, vector::VectorDialect, LLVM::LLVMDialect,
                       cf::ControlFlowDialect>();
  return context;
}

} // namespace

struct CompiledKernel::State {
  std::unique_ptr<MLIRContext> context = makeContext();
  OwningOpRef<ModuleOp> source;
  EmittedKernel emitted;
  std::unique_ptr<llvm::orc::LLJIT> jit;

  int64_t evaluate(nn::Dim dim, const std::vector<int64_t> &dims) const;
};

CompiledKernel::CompiledKernel(const std::string &text, StringRef level)
    : state(std::make_unique<State>()) {
  Lowered lowered = lower(*state->context, text, level);
  SmallVector<char, 0> object = valueOrStop(
      generateCode(*lowered.module, lowered.target, CompileOptions{}, MachineCode::Object));
  std::unique_ptr<llvm::orc::LLJIT> &jit = state->jit;
  jit = valueOrStop(llvm::orc::LLJITBuilder().create());
  jit->getMainJITDylib().addGenerator(
      valueOrStop(llvm::orc::DynamicLibrarySearchGenerator::GetForCurrentProcess(
          jit->getDataLayout().getGlobalPrefix())));
  llvm::cantFail(jit->addObjectFile(
      llvm::MemoryBuffer::getMemBufferCopy(StringRef(object.data(), object.size()), kSymbol)));
  function = valueOrStop(jit->lookup(kSymbol)).toPtr<rt::CpuKernel>();
  state->source = std::move(lowered.source);
  state->emitted = lowered.emitted;
}

CompiledKernel::~CompiledKernel() = default;

std::string test::assemblyOf(const std::string &text, StringRef level) {
  std::unique_ptr<MLIRContext> context = makeContext();
  Lowered lowered = lower(*context, text, level);
  SmallVector<char, 0> code = valueOrStop(
      generateCode(*lowered.module, lowered.target, CompileOptions{}, MachineCode::Assembly));
  return std::string(code.data(), code.size());
}

int64_t CompiledKernel::State::evaluate(nn::Dim dim, const std::vector<int64_t> &dims) const {
  // Each symbol stands for a named dim; its value is found by the dim's place in nn.dims.
  SmallVector<AffineExpr> symbols;
  auto list = source.get()->getAttrOfType<ArrayAttr>(nn::NNDialect::kDimsAttr);
  for (size_t i = 0; i < dims.size(); ++i) {
    nn::Dim name = nn::namedDim(context.get(), cast<nn::DimAttr>(list[i]).getName());
    unsigned position = cast<AffineSymbolExpr>(name).getPosition();
    while (symbols.size() <= position)
      symbols.push_back(nn::constantDim(context.get(), 0));
    symbols[position] = nn::constantDim(context.get(), dims[i]);
  }
  std::optional<int64_t> value =
      nn::constantOf(simplifyAffineExpr(dim.replaceSymbols(symbols), 0, 0));
  EXPECT_TRUE(value.has_value()) << nn::toString(dim, context.get()) << " is not bound";
  return value.value_or(0);
}

int64_t CompiledKernel::tasks(const std::vector<int64_t> &dims) const {
  return state->evaluate(state->emitted.tasks, dims);
}

int64_t CompiledKernel::scratchBytes(const std::vector<int64_t> &dims) const {
  return state->evaluate(state->emitted.scratchBytes, dims);
}

int32_t CompiledKernel::runWhole(std::vector<void *> args, const std::vector<int64_t> &dims) const {
  std::unique_ptr<uint8_t, void (*)(void *)> scratch(
      static_cast<uint8_t *>(std::aligned_alloc(64, (scratchBytes(dims) + 127) / 64 * 64)),
      std::free);
  return function(args.data(), dims.data(), 0, tasks(dims), scratch.get());
}

int32_t CompiledKernel::run(std::vector<void *> args, const std::vector<int64_t> &dims,
                            unsigned seed) const {
  std::mt19937 random(seed);
  std::vector<std::pair<int64_t, int64_t>> pieces;
  int64_t end = tasks(dims);
  for (int64_t begin = 0; begin < end;) {
    int64_t next = std::min<int64_t>(end, begin + 1 + random() % 3);
    pieces.emplace_back(begin, next);
    begin = next;
  }
  std::shuffle(pieces.begin(), pieces.end(), random);

  int32_t status[2] = {rt::KernelOk, rt::KernelOk};
  auto work = [&](size_t rank) {
    Buffer<uint8_t> scratch((scratchBytes(dims) + 63) / 64 * 64);
    for (size_t i = rank; i < pieces.size(); i += 2) {
      int32_t result =
          function(args.data(), dims.data(), pieces[i].first, pieces[i].second, scratch.data());
      if (status[rank] == rt::KernelOk)
        status[rank] = result;
    }
  };
  std::thread other(work, 1);
  work(0);
  other.join();
  return status[0] != rt::KernelOk ? status[0] : status[1];
}

std::vector<float> test::randomFloats(size_t count, unsigned seed, float low, float high) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> distribution(low, high);
  std::vector<float> values(count);
  for (float &value : values)
    value = distribution(random);
  return values;
}

template <typename T>
void test::expectNear(const std::vector<T> &got, const std::vector<T> &want, double absolute,
                      double relative) {
  ASSERT_EQ(got.size(), want.size());
  int shown = 0;
  for (size_t i = 0; i < got.size() && shown < 10; ++i) {
    double a = static_cast<double>(got[i]), b = static_cast<double>(want[i]);
    bool same = a == b || (std::isnan(a) && std::isnan(b)) ||
                std::abs(a - b) <= absolute + relative * std::abs(b);
    if (same)
      continue;
    ++shown;
    ADD_FAILURE() << "element " << i << ": got " << a << ", want " << b;
  }
}

template void test::expectNear(const std::vector<float> &, const std::vector<float> &, double, double);
template void test::expectNear(const std::vector<double> &, const std::vector<double> &, double, double);
template void test::expectNear(const std::vector<_Float16> &, const std::vector<_Float16> &, double, double);
template void test::expectNear(const std::vector<int8_t> &, const std::vector<int8_t> &, double, double);
template void test::expectNear(const std::vector<uint8_t> &, const std::vector<uint8_t> &, double, double);
template void test::expectNear(const std::vector<int32_t> &, const std::vector<int32_t> &, double, double);
template void test::expectNear(const std::vector<int64_t> &, const std::vector<int64_t> &, double, double);
