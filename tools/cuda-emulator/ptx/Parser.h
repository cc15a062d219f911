// PTX text -> Module. Throws PtxError at the first fault. An unknown directive is a fault: what is not
// understood is not executed.
#pragma once

#include "tools/cuda-emulator/ptx/Ast.h"

#include <string_view>

namespace nncc::cuemu::ptx {

Module parseModule(std::string_view text);

} // namespace nncc::cuemu::ptx
