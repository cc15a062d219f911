// Which machine code this CPU can run. A level is spelled base[+feature...]: the base is a
// microarchitecture level of the psABI
// ("x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4") or "aarch64"; features are spelled as LLVM
// spells them. "--cpu=native" code is marked with hostCpuLevel() of the machine that compiled it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace nncc::rt {

/// The highest base level of this machine, plus every further feature that codegen/ may use:
/// "x86-64-v4+avx512bf16+avx512vnni".
std::string hostCpuLevel();

/// How good code for this level is expected to be on this machine: higher is better. Nothing when
/// it would not run.
std::optional<int> rankOnHost(std::string_view level);

} // namespace nncc::rt
