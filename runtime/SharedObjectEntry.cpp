// The one symbol that a model.so exports. A library of its own (nncc_model_entry), since a program
// that runs models by JIT links nncc_rt too but has no descriptor.
#include "runtime/Api.h"

extern "C" {

extern __attribute__((visibility("hidden"))) const nncc::rt::ModelDescriptor nncc_model_descriptor;

__attribute__((visibility("default"))) const nncc_api *nncc_model_get_api(uint32_t abiVersion) {
  static const nncc_api api = nncc::rt::makeApi(nncc_model_descriptor);
  return abiVersion == NNCC_ABI_VERSION ? &api : nullptr;
}

} // extern "C"
