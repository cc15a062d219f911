// What the CPU emitters know of the machine they write for: vector width, register count and the micro-kernel tile that follows
// from them, and the LLVM target machine behind it.
#pragma once

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace llvm {
class TargetMachine;
}

namespace nncc::codegen {

struct CpuTarget {
  std::string level;    ///< native, x86-64-v2, x86-64-v3, x86-64-v4, aarch64
  std::string triple;
  std::string cpu;      ///< LLVM's -mcpu
  std::string features; ///< LLVM's -mattr
  std::string tuneCpu;  ///< LLVM's -mtune; empty = as cpu
  unsigned vectorBytes = 16;
  unsigned vectorRegisters = 16;
  int64_t l1Bytes = 32 << 10;
  int64_t l2Bytes = 512 << 10;

  /// Elements of one vector register.
  int64_t lanes(unsigned elementBits) const { return vectorBytes * 8 / elementBits; }

  /// Rows of the contraction micro-kernel. Six row pointers, the panel pointer and the loop counters fit into 16 general
  /// registers, and with tileVectors() columns six rows hide the latency of the FMA units on every target.
  int64_t tileRows() const { return 6; }
  /// Vector registers per row: accumulators, one row of the panel and one broadcast must stay in registers
  /// (6 * v + v + 1 <= registers).
  int64_t tileVectors() const { return vectorRegisters >= 32 ? 4 : 2; }
};

/// The levels that --cpu accepts, for messages and help.
llvm::ArrayRef<llvm::StringRef> knownCpuLevels();

/// The target for a level; an error names the level and the known ones, or what LLVM lacks.
llvm::Expected<CpuTarget> cpuTargetNamed(llvm::StringRef level);

/// A target machine for position-independent code at -O3.
llvm::Expected<std::unique_ptr<llvm::TargetMachine>> createTargetMachine(const CpuTarget &target);

} // namespace nncc::codegen
