// A model.so from hand-made kernels and a hand-made descriptor, loaded again by dlopen: symbols,
// kernel tables of two variants, alignment of the weights, and what is left behind on failure.

#include "codegen/link/LinkShared.h"
#include "runtime/CpuLevel.h"
#include "runtime/ModelDescriptor.h"
#include "test/unit/driver/HandMadeModel.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <gtest/gtest.h>

#include <cstring>
#include <dlfcn.h>

using namespace nncc;
using namespace nncc::codegen;

namespace {

using Object = llvm::SmallVector<char, 0>;

/// A kernel "store" that writes `value` into its first argument.
std::string storeKernel(int value) {
  return "define i32 @store(ptr %args, ptr %dims, i64 %b, i64 %e, ptr %s) {\n"
         "  %p = load ptr, ptr %args\n"
         "  store i32 " +
         std::to_string(value) +
         ", ptr %p\n"
         "  ret i32 0\n"
         "}\n";
}

/// What nncc_rt's entry is in a real model, reduced to handing out the descriptor.
constexpr const char *kEntry = "@nncc_model_descriptor = external hidden constant i8\n"
                               "define ptr @nncc_model_get_api(i32 %version) {\n"
                               "  ret ptr @nncc_model_descriptor\n"
                               "}\n"
                               "define void @not_exported() { ret void }\n";

class LinkSharedTest : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("nncc-link", folder));
    auto named = cpuTargetNamed("native");
    ASSERT_TRUE(bool(named));
    target = *named;
  }
  void TearDown() override { llvm::sys::fs::remove_directories(folder); }

  Object compile(const std::string &ir, std::optional<size_t> variant = std::nullopt) {
    return test::compileIr(ir, target, variant);
  }

  std::string path(llvm::StringRef name) { return (folder + "/" + name).str(); }

  size_t filesInFolder() {
    std::error_code code;
    size_t count = 0;
    for (llvm::sys::fs::directory_iterator it(folder, code), end; it != end && !code;
         it.increment(code))
      ++count;
    return count;
  }

  llvm::SmallString<128> folder;
  CpuTarget target;
};

std::string_view view(const Object &object) { return {object.data(), object.size()}; }

TEST_F(LinkSharedTest, DescriptorArrivesWithKernelsOfBothVariants) {
  std::string weights(100, 'w');
  DescriptorContents contents{{{"one", "{}", {"store"}}, {"two", "{ }", {"store"}}}, weights, ""};
  auto descriptor = writeDescriptorObject(contents, target);
  ASSERT_TRUE(bool(descriptor));
  Object first = compile(storeKernel(11), 0), second = compile(storeKernel(22), 1);
  Object entry = compile(kEntry);

  auto linked = linkShared({{{"first", view(first)},
                             {"second", view(second)},
                             {"entry", view(entry)},
                             {"descriptor", view(*descriptor)}},
                            {NNCC_RUNTIME_ARCHIVE},
                            path("model.so")});
  ASSERT_TRUE(bool(linked)) << linked.error().message;
  EXPECT_EQ(filesInFolder(), 1u);

  void *library = dlopen(path("model.so").c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_TRUE(library) << dlerror();
  EXPECT_EQ(dlsym(library, "not_exported"), nullptr);
  EXPECT_EQ(dlsym(library, "nncc_model_descriptor"), nullptr);
  auto *get = reinterpret_cast<const rt::ModelDescriptor *(*)(uint32_t)>(
      dlsym(library, kModelEntrySymbol.data()));
  ASSERT_TRUE(get);
  const rt::ModelDescriptor &model = *get(1);
  EXPECT_EQ(model.version, rt::kModelDescriptorVersion);
  EXPECT_EQ(model.weightsBytes, weights.size());
  EXPECT_EQ(std::memcmp(model.weights, weights.data(), weights.size()), 0);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(model.weights) % 64, 0u);
  EXPECT_EQ(model.weightsFile, nullptr);
  ASSERT_EQ(model.variantCount, 2u);
  for (int i = 0; i < 2; ++i) {
    EXPECT_STREQ(model.variants[i].cpuLevel, contents.variants[i].cpuLevel.c_str());
    EXPECT_EQ(std::string_view(model.variants[i].programJson, model.variants[i].programJsonBytes),
              contents.variants[i].programJson);
    ASSERT_EQ(model.variants[i].kernelCount, 1u);
    EXPECT_STREQ(model.variants[i].kernels[0].symbol, "store");
    int32_t stored = 0;
    void *args[] = {&stored};
    EXPECT_EQ(model.variants[i].kernels[0].function(args, nullptr, 0, 1, nullptr), 0);
    EXPECT_EQ(stored, i == 0 ? 11 : 22);
  }
  dlclose(library);
}

TEST_F(LinkSharedTest, WeightsBesideTheModelAreNamedAndEmptyTablesAreNull) {
  auto descriptor = writeDescriptorObject({{{"one", "{}", {}}}, "", "model.weights"}, target);
  ASSERT_TRUE(bool(descriptor));
  Object entry = compile(kEntry);
  auto linked = linkShared({{{"entry", view(entry)}, {"descriptor", view(*descriptor)}},
                            {NNCC_RUNTIME_ARCHIVE},
                            path("model.so")});
  ASSERT_TRUE(bool(linked)) << linked.error().message;
  void *library = dlopen(path("model.so").c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_TRUE(library) << dlerror();
  auto *get = reinterpret_cast<const rt::ModelDescriptor *(*)(uint32_t)>(
      dlsym(library, kModelEntrySymbol.data()));
  const rt::ModelDescriptor &model = *get(1);
  EXPECT_EQ(model.weights, nullptr);
  EXPECT_EQ(model.weightsBytes, 0u);
  EXPECT_STREQ(model.weightsFile, "model.weights");
  EXPECT_EQ(model.variants[0].kernelCount, 0u);
  dlclose(library);
}

TEST_F(LinkSharedTest, ModelRunsThroughTheRealEntry) {
  auto descriptor = writeDescriptorObject(
      {{{rt::hostCpuLevel(), rt::writeProgramJson(test::twiceProgram()), {"twice"}}}, "", ""},
      target);
  ASSERT_TRUE(bool(descriptor));
  Object kernels = compile(test::kTwiceKernel, 0);
  auto linked = linkShared({{{"kernels", view(kernels)}, {"descriptor", view(*descriptor)}},
                            {NNCC_ENTRY_ARCHIVE, NNCC_RUNTIME_ARCHIVE},
                            path("twice.so")});
  ASSERT_TRUE(bool(linked)) << linked.error().message;
  void *library = dlopen(path("twice.so").c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_TRUE(library) << dlerror();
  auto *getApi =
      reinterpret_cast<nncc_model_get_api_fn *>(dlsym(library, kModelEntrySymbol.data()));
  ASSERT_TRUE(getApi);
  test::expectTwice(getApi(NNCC_ABI_VERSION));
  EXPECT_EQ(getApi(NNCC_ABI_VERSION + 1), nullptr);
  dlclose(library);
}

TEST_F(LinkSharedTest, FailureNamesTheReasonAndLeavesNothing) {
  auto descriptor = writeDescriptorObject({{{"one", "{}", {"missing"}}}, "", ""}, target);
  ASSERT_TRUE(bool(descriptor));
  Object entry = compile(kEntry);
  std::vector<LinkObject> objects = {{"entry", view(entry)}, {"descriptor", view(*descriptor)}};
#ifndef NNCC_SANITIZED
  auto undefined = linkShared({objects, {NNCC_RUNTIME_ARCHIVE}, path("model.so")});
  ASSERT_FALSE(undefined);
  EXPECT_NE(undefined.error().message.find("missing.v0"), std::string::npos)
      << undefined.error().message;
  EXPECT_EQ(filesInFolder(), 0u);
#endif
  auto unwritable = linkShared({objects, {NNCC_RUNTIME_ARCHIVE}, path("no/such/folder/model.so")});
  ASSERT_FALSE(unwritable);
  EXPECT_EQ(unwritable.error().kind, ErrorKind::User);
  EXPECT_NE(unwritable.error().message.find("no/such/folder/model.so"), std::string::npos);

  auto noArchive = linkShared({objects, {path("libnothing.a")}, path("model.so")});
  ASSERT_FALSE(noArchive);
  EXPECT_NE(noArchive.error().message.find("libnothing.a"), std::string::npos);
  EXPECT_EQ(filesInFolder(), 0u);
}

} // namespace
