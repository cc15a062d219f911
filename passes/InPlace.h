// Which operands a kernel may overwrite with its result, as far as the kernel itself decides: PlanBuffers takes such an operand where
// nobody reads it later, and who plans memory before it has to expect that.
#pragma once

#include "ir/NN.h"

namespace nncc::passes {

/// The operand has the result's elements, place by place, and the kernel reads it only at the index at which it writes, before it
/// writes there.
bool mayOverwrite(nn::KernelOp kernel, unsigned operand);

} // namespace nncc::passes
