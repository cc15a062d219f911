// CPU levels and their LLVM target machines; see CpuTarget.h.

#include "codegen/cpu/CpuTarget.h"

#include "runtime/CpuLevel.h"

#include "llvm/ADT/STLExtras.h"
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

/// Code may use what hostCpuLevel() names and nothing else: the model is marked with that level, so
/// a CPU that lacks part of it refuses the model at load. Whatever else this CPU has is not used;
/// the code is only scheduled for it.
static CpuTarget nativeTarget() {
  SmallVector<StringRef> parts;
  std::string level = nncc::rt::hostCpuLevel();
  StringRef(level).split(parts, '+');
  CpuTarget target;
  if (is_contained(kLevels, parts[0]))
    target = cantFail(cpuTargetNamed(parts[0]));
  else
    target.cpu = parts[0].str();
  target.level = "native";
  target.triple = sys::getProcessTriple();
  target.tuneCpu = sys::getHostCPUName().str();
  for (StringRef feature : ArrayRef(parts).drop_front())
    target.features += (target.features.empty() ? "+" : ",+") + feature.str();
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
