// What code for this machine's CPU may use: the features of the level that the model is marked
// with, and no other, since a CPU of that level need not have them.

#include "codegen/cpu/CpuTarget.h"
#include "runtime/CpuLevel.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/Target/TargetMachine.h"

#include <gtest/gtest.h>

using namespace llvm;
using namespace nncc::codegen;

namespace {

std::string enabledFeatures(const TargetMachine &machine, ArrayRef<StringRef> names) {
  std::vector<std::string> enabled;
  for (StringRef name : names)
    if (machine.getMCSubtargetInfo()->checkFeatures(("+" + name).str()))
      enabled.push_back(name.str());
  return join(enabled, " ");
}

TEST(CpuTargetTest, NativeUsesTheFeaturesOfTheHostLevelAndNoOther) {
  std::string level = nncc::rt::hostCpuLevel();
  auto native = createTargetMachine(cantFail(cpuTargetNamed("native")));
  ASSERT_TRUE(static_cast<bool>(native));

  auto [base, extras] = StringRef(level).split('+');
  CpuTarget plain;
  plain.triple = (*native)->getTargetTriple().str();
  plain.cpu = base == "aarch64" ? "generic" : base.str();
  std::vector<std::string> features;
  for (StringRef extra : llvm::split(extras, '+'))
    if (!extra.empty())
      features.push_back("+" + extra.str());
  plain.features = join(features, ",");
  auto expected = createTargetMachine(plain);
  ASSERT_TRUE(static_cast<bool>(expected));

  // Features that CPUs of one level have or lack, by LLVM's names.
  StringRef names[] = {"avx",         "avx2",        "fma",        "f16c",       "bmi2",
                       "movbe",       "sse4a",       "pclmul",     "vaes",       "gfni",
                       "vpclmulqdq",  "avxvnni",     "avxifma",    "xop",        "fma4",
                       "avx512f",     "avx512vl",    "avx512bf16", "avx512vnni", "avx512fp16",
                       "avx512vbmi2", "avx512bitalg"};
  EXPECT_EQ(enabledFeatures(**native, names), enabledFeatures(**expected, names)) << level;
}

} // namespace
