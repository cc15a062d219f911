// The test model as a model.so: what the compiler's generated object defines, written by hand.
#include "TestModel.h"

#include <cstring>

extern "C" __attribute__((visibility("hidden"))) nncc::rt::ModelDescriptor nncc_model_descriptor;
nncc::rt::ModelDescriptor nncc_model_descriptor;

namespace {

// A generated object has its data at link time; here it is made when the library is loaded, and
// goes with it: what is reachable from an unloaded library alone counts as leaked.
testmodel::Model *model = nullptr;

__attribute__((constructor)) void makeModel() {
  model = new testmodel::Model(testmodel::parameterImage());
  nncc_model_descriptor = model->descriptor;
}

__attribute__((destructor)) void deleteModel() { delete model; }

} // namespace
