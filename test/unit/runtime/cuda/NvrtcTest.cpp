// NVRTC by dlopen: PTX and machine code without a driver, what is reported when the library, the architecture or the source is
// wrong, and the reading of ptxas' log.
#include "runtime/cuda/Library.h"
#include "runtime/cuda/Nvrtc.h"

#include <gtest/gtest.h>

using namespace nncc;
using namespace nncc::rt::cuda;

#define REQUIRE_NVRTC(name)                                                                                            \
  auto loaded = Nvrtc::get();                                                                                          \
  if (!loaded)                                                                                                         \
    GTEST_SKIP() << loaded.error().message;                                                                            \
  const Nvrtc &name = **loaded

static const std::string kScale = "extern \"C\" __global__ void scale(float *x, float by) { x[threadIdx.x] *= by; }";

TEST(Nvrtc, CompilesToPtxAndMachineCode) {
  REQUIRE_NVRTC(nvrtc);
  EXPECT_GE(nvrtc.major(), 12);
  auto ptx = nvrtc.compile(kScale, "scale", "compute_80");
  ASSERT_TRUE(ptx) << ptx.error().message;
  EXPECT_NE(ptx->image.find(".visible .entry scale("), std::string::npos);
  auto cubin = nvrtc.compile(kScale, "scale", "sm_80");
  ASSERT_TRUE(cubin) << cubin.error().message;
  EXPECT_EQ(cubin->image.substr(0, 4), "\177ELF");
  ASSERT_EQ(cubin->resources.size(), 1u);
  EXPECT_EQ(cubin->resources[0].function, "scale");
  EXPECT_GT(cubin->resources[0].registers, 0);
  EXPECT_EQ(cubin->resources[0].spillStoreBytes, 0);
}

TEST(Nvrtc, NamesAnUnknownArchitectureAndTheKnownOnes) {
  REQUIRE_NVRTC(nvrtc);
  for (const char *architecture : {"sm_12345", "sm_", "gfx90a", "sm_1x", ""}) {
    auto compiled = nvrtc.compile(kScale, "scale", architecture);
    ASSERT_FALSE(compiled) << architecture;
    EXPECT_EQ(compiled.error().kind, ErrorKind::Environment);
    EXPECT_NE(compiled.error().message.find("'" + std::string(architecture) + "'"), std::string::npos);
    EXPECT_NE(compiled.error().message.find("sm_80"), std::string::npos);
  }
}

TEST(Nvrtc, ShowsTheCompilersLogWhenSourceIsWrong) {
  REQUIRE_NVRTC(nvrtc);
  auto compiled = nvrtc.compile("__global__ void f() { nothing; }", "broken", "sm_80");
  ASSERT_FALSE(compiled);
  EXPECT_EQ(compiled.error().kind, ErrorKind::Internal);
  EXPECT_NE(compiled.error().message.find("identifier \"nothing\" is undefined"), std::string::npos)
      << compiled.error().message;
}

TEST(Library, TellsWhereItLookedAndWhatToDo) {
  auto library = Library::open({"A library", "NNCC_TEST_NO_SUCH_VARIABLE", {"libno-such-thing.so.1", "/no/such/file.so"}, "Install it"});
  ASSERT_FALSE(library);
  EXPECT_EQ(library.error().kind, ErrorKind::Environment);
  for (const char *part : {"A library cannot be loaded", "libno-such-thing.so.1", "/no/such/file.so", "Install it, or set NNCC_TEST_NO_SUCH_VARIABLE"})
    EXPECT_NE(library.error().message.find(part), std::string::npos) << library.error().message;
}

TEST(Library, TheVariableIsTheOnlyPlace) {
  setenv("NNCC_TEST_LIBRARY", "/no/such/file.so", 1);
  auto library = Library::open({"A library", "NNCC_TEST_LIBRARY", {"libc.so.6"}, "Install it"});
  EXPECT_FALSE(library);
  unsetenv("NNCC_TEST_LIBRARY");
  EXPECT_TRUE(Library::open({"A library", "NNCC_TEST_LIBRARY", {"libc.so.6"}, "Install it"}));
}

TEST(Library, NamesAMissingFunction) {
  auto library = Library::open({"The C library", "NNCC_TEST_NO_SUCH_VARIABLE", {"libc.so.6"}, ""});
  ASSERT_TRUE(library);
  void (*function)() = nullptr;
  auto found = library->find("no_such_function", function);
  ASSERT_FALSE(found);
  EXPECT_NE(found.error().message.find("no_such_function"), std::string::npos);
}

TEST(ReadResources, OfSeveralFunctions) {
  // The form of ptxas 13.0.
  auto all = readResources("ptxas info    : 0 bytes gmem\n"
                           "ptxas info    : Compiling entry function 'first' for 'sm_80'\n"
                           "ptxas info    : Function properties for first\n"
                           "    8 bytes stack frame, 4 bytes spill stores, 12 bytes spill loads\n"
                           "ptxas info    : Used 40 registers, used 1 barriers, 8704 bytes smem, 372 bytes cmem[0]\n"
                           "ptxas info    : Compiling entry function 'second' for 'sm_80'\n"
                           "ptxas info    : Function properties for second\n"
                           "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
                           "ptxas info    : Used 9 registers, 372 bytes cmem[0]\n");
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].function, "first");
  EXPECT_EQ(all[0].registers, 40);
  EXPECT_EQ(all[0].stackBytes, 8);
  EXPECT_EQ(all[0].spillStoreBytes, 4);
  EXPECT_EQ(all[0].spillLoadBytes, 12);
  EXPECT_EQ(all[0].sharedBytes, 8704);
  EXPECT_EQ(all[1].function, "second");
  EXPECT_EQ(all[1].registers, 9);
  EXPECT_EQ(all[1].sharedBytes, 0);
}
