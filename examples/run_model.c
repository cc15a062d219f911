/* Loads a compiled model and runs it once, from C, with nothing but nncc.h and dlopen:
 *
 *     cc -Iruntime/include examples/run_model.c -o run_model -ldl
 *     ./run_model lenet.so
 *
 * It prints what the model takes and gives, sets every named dim (the batch) to its smallest value,
 * every float input to a ramp from 0 to 1, and prints the first values of each output. */
#include "nncc/nncc.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void fail(const char *what, const char *why) {
  fprintf(stderr, "run_model: %s: %s\n", what, why);
  exit(1);
}

/* A tensor of this type in zeroed memory. Of extents that depend on named dims, this program knows
 * the plain names. */
static DLTensor allocate(const nncc_model_info *model, const nncc_tensor_info *info) {
  DLTensor tensor;
  int64_t count = 1;
  int32_t i;
  memset(&tensor, 0, sizeof tensor);
  tensor.device.device_type = kDLCPU;
  tensor.dtype = info->dtype;
  tensor.ndim = info->rank;
  tensor.shape = calloc((size_t)info->rank + 1, sizeof *tensor.shape);
  for (i = 0; i < info->rank; ++i) {
    size_t dim;
    tensor.shape[i] = info->shape[i].value;
    for (dim = 0; dim < model->dim_count && tensor.shape[i] < 0; ++dim)
      if (strcmp(model->dims[dim].name, info->shape[i].text) == 0)
        tensor.shape[i] = model->dims[dim].min > 0 ? model->dims[dim].min : 1;
    if (tensor.shape[i] < 0)
      fail(info->name, "its shape is an expression over named dims");
    count *= tensor.shape[i];
  }
  tensor.data = calloc((size_t)count, (info->dtype.bits + 7u) / 8u);
  if (info->dtype.code == kDLFloat && info->dtype.bits == 32)
    for (i = 0; i < count; ++i)
      ((float *)tensor.data)[i] = (float)i / (float)count;
  return tensor;
}

int main(int argc, char **argv) {
  void *library;
  nncc_model_get_api_fn *get_api;
  const nncc_api *api;
  nncc_model *model;
  nncc_instance *instance;
  const nncc_model_info *info;
  DLTensor *inputs, *outputs;
  size_t i;

  if (argc != 2)
    fail("usage", "run_model MODEL.so");
  library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (!library)
    fail(argv[1], dlerror());
  *(void **)&get_api = dlsym(library, NNCC_MODEL_GET_API_SYMBOL);
  api = get_api ? get_api(NNCC_ABI_VERSION) : NULL;
  if (!api)
    fail(argv[1], "not a model of this version of nncc");

  if (api->create_model(api, NULL, &model) != NNCC_OK)
    fail("create_model", api->model_error(model));
  if (api->create_instance(model, NULL, &instance) != NNCC_OK)
    fail("create_instance", api->instance_error(instance));
  info = api->model_info(model);

  inputs = calloc(info->input_count, sizeof *inputs);
  outputs = calloc(info->output_count, sizeof *outputs);
  for (i = 0; i < info->input_count; ++i) {
    printf("input  %s: %s\n", info->inputs[i].name, info->inputs[i].type_text);
    inputs[i] = allocate(info, &info->inputs[i]);
  }
  for (i = 0; i < info->output_count; ++i)
    outputs[i] = allocate(info, &info->outputs[i]);

  if (api->run(instance, inputs, info->input_count, outputs, info->output_count, NULL) != NNCC_OK)
    fail("run", api->instance_error(instance));

  for (i = 0; i < info->output_count; ++i) {
    int value;
    printf("output %s: %s", info->outputs[i].name, info->outputs[i].type_text);
    if (info->outputs[i].dtype.code == kDLFloat && info->outputs[i].dtype.bits == 32)
      for (value = 0; value < 10 && value < outputs[i].shape[outputs[i].ndim - 1]; ++value)
        printf("%s%g", value ? " " : "\n  ", (double)((float *)outputs[i].data)[value]);
    printf("\n");
  }

  api->destroy_instance(instance);
  api->destroy_model(model);
  return dlclose(library);
}
