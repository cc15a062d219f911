// bf16 conversions by integer arithmetic: few CPUs have an instruction, LLVM calls a function that
// only newer versions of libgcc have on the others, and the instruction loses denormals.
#pragma once

#include "mlir/Pass/Pass.h"

namespace nncc::codegen {

/// Runs before the first canonicalisation, which would join the conversion with the one before it
/// (integer to f32 to bf16) into one that no CPU has.
std::unique_ptr<mlir::Pass> createExpandBfloatPass();

} // namespace nncc::codegen
