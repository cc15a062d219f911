/* Trains a model of digits from C, with nothing but nncc.h and dlopen (and zlib, for the data):
 *
 *     nncc examples/lenet.nn --train -o lenet.so
 *     cc -Iruntime/include examples/train_model.c -o train_model -ldl -lz
 *     ./train_model lenet.so test/data/mnist/digits1k lenet.state.safetensors
 *
 * Four of five digits train it, batch by batch in the order of the file; the others are classified
 * by the same instance after each epoch. The last argument receives parameters and optimizer, from
 * which load_state goes on. */
#include "nncc/nncc.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { kPixels = 28 * 28, kClasses = 10, kBatch = 20, kEpochs = 8 };

static void fail(const char *what, const char *why) {
  fprintf(stderr, "train_model: %s: %s\n", what, why);
  exit(1);
}

/* The bytes behind the header of an IDX file, at most `most`. */
static unsigned char *read_idx(const char *stem, const char *suffix, int header, int most, int *count) {
  char path[4096];
  unsigned char *bytes = malloc((size_t)(header + most));
  gzFile file;
  snprintf(path, sizeof path, "%s-%s", stem, suffix);
  file = gzopen(path, "rb");
  if (!file || !bytes)
    fail(path, "cannot be opened");
  *count = gzread(file, bytes, (unsigned)(header + most)) - header;
  gzclose(file);
  return bytes + header;
}

static DLTensor tensor(void *data, uint8_t code, uint8_t bits, int64_t *shape, int32_t rank) {
  DLTensor result;
  memset(&result, 0, sizeof result);
  result.data = data;
  result.device.device_type = kDLCPU;
  result.ndim = rank;
  result.dtype.code = code;
  result.dtype.bits = bits;
  result.dtype.lanes = 1;
  result.shape = shape;
  return result;
}

/* States that hold one f64. Which ones there are depends on the model's train section: a schedule
 * counts in epochs, so it is told how long they are. */
static void set_number(const nncc_api *api, nncc_model *model, nncc_instance *instance, const char *name, double value) {
  DLTensor from = tensor(&value, kDLFloat, 64, NULL, 0);
  const nncc_model_info *info = api->model_info(model);
  size_t i;
  for (i = 0; i < info->state_count; ++i)
    if (strcmp(info->states[i].name, name) == 0 && api->set_tensor(instance, name, &from) != NNCC_OK)
      fail("set_tensor", api->instance_error(instance));
}

int main(int argc, char **argv) {
  void *library = argc == 4 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
  nncc_model_get_api_fn *get_api;
  const nncc_api *api;
  nncc_model *model;
  nncc_instance *instance;
  nncc_instance_options options;
  unsigned char *pixels, *digits;
  float *images;
  int64_t *labels;
  int count, bytes, epoch, i, first;

  if (!library)
    fail("usage: train_model MODEL.so DIGITS STATE.safetensors", argc == 4 ? dlerror() : "three arguments");
  *(void **)&get_api = dlsym(library, NNCC_MODEL_GET_API_SYMBOL);
  api = get_api ? get_api(NNCC_ABI_VERSION) : NULL;
  if (!api)
    fail(argv[1], "not a model of this version of nncc");
  if (api->create_model(api, NULL, &model) != NNCC_OK)
    fail("create_model", api->model_error(model));
  if (api->model_info(model)->train_input_count != 2 || api->model_info(model)->train_output_count != 2)
    fail(argv[1], "expected a model compiled with nncc --train, with an image, a label, a loss and a metric");

  memset(&options, 0, sizeof options);
  options.size = sizeof options;
  options.training = 1;
  if (api->create_instance(model, &options, &instance) != NNCC_OK)
    fail("create_instance", api->instance_error(instance));

  digits = read_idx(argv[2], "labels-idx1-ubyte.gz", 8, 100000, &count);
  pixels = read_idx(argv[2], "images-idx3-ubyte.gz", 16, count * kPixels, &bytes);
  if (count < 2 * kBatch || bytes != count * kPixels)
    fail(argv[2], "images and labels do not belong together");
  images = malloc((size_t)bytes * sizeof *images);
  labels = malloc((size_t)count * sizeof *labels);
  if (!images || !labels)
    fail(argv[2], "out of memory");
  for (i = 0; i < bytes; ++i)
    images[i] = (float)pixels[i] / 255;
  for (i = 0; i < count; ++i)
    labels[i] = digits[i];
  first = count / 5 * 4; /* of those that are held back */
  set_number(api, model, instance, "train.epochs", kEpochs);
  set_number(api, model, instance, "train.steps_per_epoch", first / kBatch);

  for (epoch = 1; epoch <= kEpochs; ++epoch) {
    int64_t image_shape[4] = {kBatch, 1, 28, 28}, label_shape[1] = {kBatch};
    float loss, accuracy, sum = 0;
    DLTensor inputs[2], results[2];
    results[0] = tensor(&loss, kDLFloat, 32, NULL, 0);
    results[1] = tensor(&accuracy, kDLFloat, 32, NULL, 0);
    for (i = 0; i + kBatch <= first; i += kBatch) {
      inputs[0] = tensor(images + i * kPixels, kDLFloat, 32, image_shape, 4);
      inputs[1] = tensor(labels + i, kDLInt, 64, label_shape, 1);
      if (api->train_step(instance, inputs, 2, results, 2, NULL) != NNCC_OK)
        fail("train_step", api->instance_error(instance));
      sum += loss;
    }
    image_shape[0] = label_shape[0] = count - first; /* any batch will do */
    inputs[0] = tensor(images + first * kPixels, kDLFloat, 32, image_shape, 4);
    inputs[1] = tensor(labels + first, kDLInt, 64, label_shape, 1);
    if (api->evaluate(instance, inputs, 2, results, 2, NULL) != NNCC_OK)
      fail("evaluate", api->instance_error(instance));
    printf("epoch %d  loss %.4f  held back: loss %.4f, %.1f%% right\n", epoch, (double)sum / (first / kBatch), (double)loss,
           100 * (double)accuracy);
  }
  if (api->save_state(instance, argv[3]) != NNCC_OK)
    fail("save_state", api->instance_error(instance));

  api->destroy_instance(instance);
  api->destroy_model(model);
  return dlclose(library);
}
