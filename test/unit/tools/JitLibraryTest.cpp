// libnncc_jit.so as programs without LLVM use it: by dlopen, and again after dlclose. MLIR keeps pointers to the names of the
// types it has seen, so the library may be closed but has to stay in memory.

#include "nncc/jit.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <dlfcn.h>
#include <string>

namespace {

/// Opens the library, compiles a model, destroys it and closes the library.
void compileOnce() {
  void *library = dlopen(NNCC_JIT_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  auto *compile = reinterpret_cast<nncc_jit_compile_fn *>(dlsym(library, "nncc_jit_compile"));
  auto *error = reinterpret_cast<nncc_jit_error_fn *>(dlsym(library, "nncc_jit_error"));
  auto *api = reinterpret_cast<nncc_jit_api_fn *>(dlsym(library, "nncc_jit_api"));
  auto *destroy = reinterpret_cast<nncc_jit_destroy_fn *>(dlsym(library, "nncc_jit_destroy"));
  ASSERT_TRUE(compile && error && api && destroy);
  nncc_jit_options options = {};
  options.size = sizeof options;
  options.path = "twice.nn";
  options.text = "nn 1\nmodel Twice(x: f32[N, 4]) {\n  return y = x + x\n}\n";
  nncc_jit_program *program = nullptr;
  EXPECT_EQ(compile(&options, &program), NNCC_OK) << error(program);
  EXPECT_NE(api(program), nullptr);
  destroy(program);

  options.opt_level = 4;
  EXPECT_EQ(compile(&options, &program), NNCC_USER_ERROR);
  EXPECT_STREQ(error(program), "expected an opt_level of -1 to 3, found 4");
  destroy(program);
  options.size = 0;
  EXPECT_EQ(compile(&options, &program), NNCC_USER_ERROR);
  EXPECT_STREQ(error(program),
               "an options struct has size 0; set its size field to sizeof(the struct)");
  destroy(program);
  dlclose(library);
}

} // namespace

TEST(JitLibrary, CanBeClosedAndOpenedAgain) {
  for (int round = 0; round < 3; ++round)
    compileOnce();
}

/// A train section beside the model's text.
TEST(JitLibrary, TakesTrainStatements) {
  void *library = dlopen(NNCC_JIT_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  auto *compile = reinterpret_cast<nncc_jit_compile_fn *>(dlsym(library, "nncc_jit_compile"));
  auto *error = reinterpret_cast<nncc_jit_error_fn *>(dlsym(library, "nncc_jit_error"));
  auto *apiOf = reinterpret_cast<nncc_jit_api_fn *>(dlsym(library, "nncc_jit_api"));
  auto *destroy = reinterpret_cast<nncc_jit_destroy_fn *>(dlsym(library, "nncc_jit_destroy"));
  nncc_jit_options options = {};
  options.size = sizeof options;
  options.path = "line.nn";
  options.text = "nn 1\nmodel Line(x: f32[N, 4]) {\n  return y = linear(x, 1) as fc\n}\n";
  options.train_statements = "target t: f32[N, 1]; loss = mse(y, t)";
  nncc_jit_program *program = nullptr;
  EXPECT_EQ(compile(&options, &program), NNCC_USER_ERROR);
  EXPECT_STREQ(error(program), "--train:1:1: error: this train section has no 'optimizer = ...'\n"
                               "  target t: f32[N, 1]; loss = mse(y, t)\n"
                               "  ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~\n");
  destroy(program);

  options.train_statements = "target t: f32[N, 1]; loss = mse(y, t); optimizer = sgd(lr = 0.1)";
  ASSERT_EQ(compile(&options, &program), NNCC_OK) << error(program);
  const nncc_api *api = apiOf(program);
  nncc_model *model = nullptr;
  ASSERT_EQ(api->create_model(api, nullptr, &model), NNCC_OK);
  const nncc_model_info *info = api->model_info(model);
  ASSERT_EQ(info->train_input_count, 2u);
  EXPECT_STREQ(info->train_inputs[1].name, "t");
  ASSERT_EQ(info->train_output_count, 1u);
  EXPECT_STREQ(info->train_outputs[0].name, "loss");
  api->destroy_model(model);
  destroy(program);
  dlclose(library);
}

/// The JIT and the model's own C interface, on the stand-in device.
TEST(JitLibrary, CompilesForACudaDevice) {
  setenv("NNCC_CUDA_DRIVER", NNCC_TEST_CUDA_DRIVER, 1);
  setenv("NNCC_CACHE_DIR", NNCC_TEST_KERNEL_CACHE, 1);
  void *library = dlopen(NNCC_JIT_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  auto *compile = reinterpret_cast<nncc_jit_compile_fn *>(dlsym(library, "nncc_jit_compile"));
  auto *error = reinterpret_cast<nncc_jit_error_fn *>(dlsym(library, "nncc_jit_error"));
  auto *apiOf = reinterpret_cast<nncc_jit_api_fn *>(dlsym(library, "nncc_jit_api"));
  auto *destroy = reinterpret_cast<nncc_jit_destroy_fn *>(dlsym(library, "nncc_jit_destroy"));
  nncc_jit_options options = {};
  options.size = sizeof options;
  options.path = "twice.nn";
  options.text = "nn 1\nmodel Twice(x: f32[N, 4]) {\n  return y = x + x\n}\n";
  options.target = "cpu,gpu";
  nncc_jit_program *program = nullptr;
  EXPECT_EQ(compile(&options, &program), NNCC_USER_ERROR);
  EXPECT_STREQ(error(program), "unknown device 'gpu'; known: cpu, cuda");
  destroy(program);

  options.target = "cpu,cuda";
  ASSERT_EQ(compile(&options, &program), NNCC_OK) << error(program);
  const nncc_api *api = apiOf(program);
  for (const char *device : {"cpu", "cuda"}) {
    nncc_model_options modelOptions = {};
    modelOptions.size = sizeof modelOptions;
    modelOptions.device = device;
    nncc_model *model = nullptr;
    nncc_status status = api->create_model(api, &modelOptions, &model);
    std::string message = status == NNCC_OK ? "" : api->model_error(model);
    if (message.find("NVRTC") != std::string::npos) {
      api->destroy_model(model);
      destroy(program);
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
  destroy(program);
  dlclose(library);
}
