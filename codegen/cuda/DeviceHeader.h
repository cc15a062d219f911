// What kernels may use without writing it themselves: device/nncc_device.cuh, whole or as much of it as some code needs.
#pragma once

#include "llvm/ADT/StringRef.h"

#include <string>

namespace nncc::codegen::cuda {

/// The text of device/nncc_device.cuh. The runtime compiles every kernel behind it, so that a kernel's place in the cache does not
/// depend on its neighbours.
llvm::StringRef deviceHeader();

/// The parts of it that `code` uses, and what those use in turn, in the header's order: what a reader of `code` has to know.
std::string deviceHeaderFor(llvm::StringRef code);

} // namespace nncc::codegen::cuda
