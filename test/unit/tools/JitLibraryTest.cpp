// libnncc_jit.so as programs without LLVM use it: by dlopen, and again after dlclose. MLIR keeps pointers to the names of the
// types it has seen, so the library may be closed but has to stay in memory.

#include "nncc/jit.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <dlfcn.h>
#include <string>

namespace {

/// The library, as long as this lives. What it lacks is null.
struct Library {
  ~Library() {
    if (handle)
      dlclose(handle);
  }
  template <class Function> Function *find(const char *name) {
    return handle ? reinterpret_cast<Function *>(dlsym(handle, name)) : nullptr;
  }
  bool isWhole() const { return compile && error && apiOf && destroy; }

  void *handle = dlopen(NNCC_JIT_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  nncc_jit_compile_fn *compile = find<nncc_jit_compile_fn>("nncc_jit_compile");
  nncc_jit_error_fn *error = find<nncc_jit_error_fn>("nncc_jit_error");
  nncc_jit_api_fn *apiOf = find<nncc_jit_api_fn>("nncc_jit_api");
  nncc_jit_destroy_fn *destroy = find<nncc_jit_destroy_fn>("nncc_jit_destroy");
};

/// Opens the library, compiles a model, destroys it and closes the library.
void compileOnce() {
  Library library;
  ASSERT_TRUE(library.isWhole()) << dlerror();
  nncc_jit_options options = {};
  options.size = sizeof options;
  options.path = "twice.nn";
  options.text = "nn 1\nmodel Twice(x: f32[N, 4]) {\n  return y = x + x\n}\n";
  nncc_jit_program *program = nullptr;
  EXPECT_EQ(library.compile(&options, &program), NNCC_OK) << library.error(program);
  EXPECT_NE(library.apiOf(program), nullptr);
  library.destroy(program);

  options.opt_level = 4;
  EXPECT_EQ(library.compile(&options, &program), NNCC_USER_ERROR);
  EXPECT_STREQ(library.error(program), "expected an opt_level of -1 to 3, found 4");
  library.destroy(program);
  options.size = 0;
  EXPECT_EQ(library.compile(&options, &program), NNCC_USER_ERROR);
  EXPECT_STREQ(library.error(program),
               "an options struct has size 0; set its size field to sizeof(the struct)");
  library.destroy(program);
}

} // namespace

TEST(JitLibrary, CanBeClosedAndOpenedAgain) {
  for (int round = 0; round < 3; ++round)
    compileOnce();
}

/// A train section beside the model's text.
TEST(JitLibrary, TakesTrainStatements) {
  Library library;
  ASSERT_TRUE(library.isWhole()) << dlerror();
  nncc_jit_options options = {};
  options.size = sizeof options;
  options.path = "line.nn";
  options.text = "nn 1\nmodel Line(x: f32[N, 4]) {\n  return y = linear(x, 1) as fc\n}\n";
  options.train_statements = "target t: f32[N, 1]; loss = mse(y, t)";
  nncc_jit_program *program = nullptr;
  EXPECT_EQ(library.compile(&options, &program), NNCC_USER_ERROR);
  EXPECT_STREQ(library.error(program), "--train:1:1: error: this train section has no 'optimizer = ...'\n"
                               "  target t: f32[N, 1]; loss = mse(y, t)\n"
                               "  ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~\n");
  library.destroy(program);

  options.train_statements = "target t: f32[N, 1]; loss = mse(y, t); optimizer = sgd(lr = 0.1)";
  ASSERT_EQ(library.compile(&options, &program), NNCC_OK) << library.error(program);
  const nncc_api *api = library.apiOf(program);
  nncc_model *model = nullptr;
  ASSERT_EQ(api->create_model(api, nullptr, &model), NNCC_OK);
  const nncc_model_info *info = api->model_info(model);
  ASSERT_EQ(info->train_input_count, 2u);
  EXPECT_STREQ(info->train_inputs[1].name, "t");
  ASSERT_EQ(info->train_output_count, 1u);
  EXPECT_STREQ(info->train_outputs[0].name, "loss");
  api->destroy_model(model);
  library.destroy(program);
}

/// The JIT and the model's own C interface, on the stand-in device.
TEST(JitLibrary, CompilesForACudaDevice) {
  setenv("NNCC_CUDA_DRIVER", NNCC_TEST_CUDA_DRIVER, 1);
  setenv("NNCC_CACHE_DIR", NNCC_TEST_KERNEL_CACHE, 1);
  Library library;
  ASSERT_TRUE(library.isWhole()) << dlerror();
  nncc_jit_options options = {};
  options.size = sizeof options;
  options.path = "twice.nn";
  options.text = "nn 1\nmodel Twice(x: f32[N, 4]) {\n  return y = x + x\n}\n";
  options.target = "cpu,gpu";
  nncc_jit_program *program = nullptr;
  EXPECT_EQ(library.compile(&options, &program), NNCC_USER_ERROR);
  EXPECT_STREQ(library.error(program), "unknown device 'gpu'; known: cpu, cuda");
  library.destroy(program);

  options.target = "cpu,cuda";
  ASSERT_EQ(library.compile(&options, &program), NNCC_OK) << library.error(program);
  const nncc_api *api = library.apiOf(program);
  for (const char *device : {"cpu", "cuda"}) {
    nncc_model_options modelOptions = {};
    modelOptions.size = sizeof modelOptions;
    modelOptions.device = device;
    nncc_model *model = nullptr;
    nncc_status status = api->create_model(api, &modelOptions, &model);
    std::string message = status == NNCC_OK ? "" : api->model_error(model);
    if (message.find("NVRTC") != std::string::npos) {
      api->destroy_model(model);
      library.destroy(program);
      GTEST_SKIP() << message;
    }
    ASSERT_EQ(status, NNCC_OK) << message;
    EXPECT_STREQ(api->model_info(model)->target, device);
    nncc_instance *instance = nullptr;
    ASSERT_EQ(api->create_instance(model, nullptr, &instance), NNCC_OK);
    float x[4] = {1, -2, 3, 0.5}, y[4] = {};
    int64_t shape[] = {1, 4};
    DLTensor in = {x, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, shape, nullptr, 0}, out = in;
    out.data = y;
    EXPECT_EQ(api->run(instance, &in, 1, &out, 1, nullptr), NNCC_OK)
        << api->instance_error(instance);
    for (int i = 0; i < 4; ++i)
      EXPECT_EQ(y[i], 2 * x[i]);
    api->destroy_instance(instance);
    api->destroy_model(model);
  }
  library.destroy(program);
}
