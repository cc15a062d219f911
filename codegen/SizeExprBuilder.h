// Dimensions of the compiler (affine expressions over named dims) as size expressions of the runtime.
#pragma once

#include "ir/Shape.h"
#include "runtime/SizeExpr.h"

namespace nncc::codegen {

/// `dim` over the dims array whose order `dimNames` gives; nothing for a null Dim (overflow) or a name that is not in it.
std::optional<rt::SizeExpr> toSizeExpr(nn::Dim dim, llvm::ArrayRef<std::string> dimNames);

} // namespace nncc::codegen
