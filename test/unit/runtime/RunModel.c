/* A C99 program that knows nothing but nncc.h: runs the test model on one row of four times -1. */
#include "nncc/nncc.h"

#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv) {
  void *library = argc == 2 ? dlopen(argv[1], RTLD_NOW) : NULL;
  nncc_model_get_api_fn *get_api;
  const nncc_api *api;
  nncc_model *model;
  nncc_instance *instance;
  float image[4] = {-1, -1, -1, -1}, logits[3], picked[1];
  int64_t index[1] = {0}, image_shape[2] = {1, 4}, index_shape[1] = {1}, logits_shape[2] = {1, 3};
  DLTensor inputs[2] = {{0}}, outputs[2] = {{0}};
  if (!library)
    return 2;
  *(void **)&get_api = dlsym(library, NNCC_MODEL_GET_API_SYMBOL);
  api = get_api(NNCC_ABI_VERSION);

  inputs[0].data = image;
  inputs[0].device.device_type = kDLCPU;
  inputs[0].ndim = 2;
  inputs[0].dtype.code = kDLFloat;
  inputs[0].dtype.bits = 32;
  inputs[0].dtype.lanes = 1;
  inputs[0].shape = image_shape;
  outputs[0] = inputs[0];
  outputs[0].data = logits;
  outputs[0].shape = logits_shape;
  outputs[1] = inputs[0];
  outputs[1].data = picked;
  outputs[1].ndim = 1;
  outputs[1].shape = index_shape;
  inputs[1] = outputs[1];
  inputs[1].data = index;
  inputs[1].dtype.code = kDLInt;
  inputs[1].dtype.bits = 64;

  if (api->create_model(api, NULL, &model) != NNCC_OK) {
    puts(api->model_error(model));
    return 1;
  }
  if (api->create_instance(model, NULL, &instance) != NNCC_OK ||
      api->run(instance, inputs, 2, outputs, 2, NULL) != NNCC_OK) {
    puts(api->instance_error(instance));
    return 1;
  }
  printf("%s %.3f %.3f %.3f\n", api->model_info(model)->name, logits[0], logits[1], logits[2]);
  api->destroy_instance(instance);
  api->destroy_model(model);
  return dlclose(library);
}
