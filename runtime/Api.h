// The C interface for one model descriptor: the bridge from include/nncc/nncc.h to Instance and
// LoadedProgram.
#pragma once

#include "nncc/nncc.h"
#include "runtime/ModelDescriptor.h"

namespace nncc::rt {

/// The functions, bound to this descriptor. The descriptor must outlive all that is created through
/// them. A model.so returns the struct from nncc_model_get_api; the JIT keeps it beside the
/// descriptor that it filled.
nncc_api makeApi(const ModelDescriptor &descriptor);

} // namespace nncc::rt
