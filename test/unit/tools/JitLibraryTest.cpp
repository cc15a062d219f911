// libnncc_jit.so as programs without LLVM use it: by dlopen, and again after dlclose. MLIR keeps pointers to the names of the
// types it has seen, so the library may be closed but has to stay in memory.

#include "nncc/jit.h"

#include <gtest/gtest.h>

#include <dlfcn.h>

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
