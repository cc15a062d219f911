// CPU levels and their LLVM target machines; see CpuTarget.h.

#include "codegen/cpu/CpuTarget.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"

#include <mutex>

using namespace llvm;
using namespace nncc::codegen;

static constexpr StringRef kLevels[] = {"native", "x86-64-v2", "x86-64-v3", "x86-64-v4", "aarch64"};

ArrayRef<StringRef> nncc::codegen::knownCpuLevels() { return kLevels; }

static void initializeTargetsOnce() {
  static std::once_flag once;
  std::call_once(once, [] {
    InitializeAllTargetInfos();
    InitializeAllTargets();
    InitializeAllTargetMCs();
    InitializeAllAsmPrinters();
    InitializeAllAsmParsers();
  });
}

/// Vector registers by the widest unit of the features at hand.
static void setVectorUnit(CpuTarget &target, bool avx2, bool avx512) {
  target.vectorBytes = avx512 ? 64 : avx2 ? 32 : 16;
  target.vectorRegisters = avx512 ? 32 : 16;
}

static CpuTarget nativeTarget() {
  CpuTarget target;
  target.level = "native";
  target.triple = sys::getProcessTriple();
  target.cpu = sys::getHostCPUName().str();
  StringMap<bool> features = sys::getHostCPUFeatures();
  SmallVector<std::string> list;
  for (const auto &feature : features)
    list.push_back((feature.second ? "+" : "-") + feature.first().str());
  llvm::sort(list);
  target.features = join(list, ",");
  if (Triple(target.triple).isAArch64()) {
    target.vectorBytes = 16;
    target.vectorRegisters = 32;
  } else {
    setVectorUnit(target, features.lookup("avx2") && features.lookup("fma"),
                  features.lookup("avx512f") && features.lookup("avx512vl") &&
                      features.lookup("avx512bw") && features.lookup("avx512dq"));
  }
  return target;
}

Expected<CpuTarget> nncc::codegen::cpuTargetNamed(StringRef level) {
  if (level == "native")
    return nativeTarget();
  CpuTarget target;
  target.level = level.str();
  if (level == "aarch64") {
    target.triple = "aarch64-unknown-linux-gnu";
    target.cpu = "generic";
    target.features = "+neon";
    target.vectorBytes = 16;
    target.vectorRegisters = 32;
    return target;
  }
  if (!is_contained(kLevels, level))
    return createStringError("unknown CPU level '" + level.str() + "'; known: " + join(knownCpuLevels(), ", "));
  target.triple = "x86_64-unknown-linux-gnu";
  target.cpu = level.str();
  setVectorUnit(target, level != "x86-64-v2", level == "x86-64-v4");
  return target;
}

Expected<std::unique_ptr<TargetMachine>>
nncc::codegen::createTargetMachine(const CpuTarget &target) {
  initializeTargetsOnce();
  Triple triple(target.triple);
  std::string error;
  const Target *found = TargetRegistry::lookupTarget(triple, error);
  if (!found)
    return createStringError("this LLVM has no code generator for " + target.triple + ": " + error);
  TargetOptions options;
  options.AllowFPOpFusion = FPOpFusion::Standard;
  std::unique_ptr<TargetMachine> machine(
      found->createTargetMachine(triple, target.cpu, target.features, options, Reloc::PIC_,
                                 std::nullopt, CodeGenOptLevel::Aggressive));
  if (!machine)
    return createStringError("LLVM cannot create a target machine for " + target.triple);
  return machine;
}
