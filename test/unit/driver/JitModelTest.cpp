// A hand-made model linked into this process and run through the C interface.

#include "codegen/jit/JitModel.h"
#include "runtime/Api.h"
#include "runtime/CpuLevel.h"
#include "test/unit/driver/HandMadeModel.h"

using namespace nncc;
using namespace nncc::codegen;

namespace {

DescriptorContents twiceContents() {
  return {{{rt::hostCpuLevel(), rt::writeProgramJson(test::twiceProgram()), {"twice"}}}, "", ""};
}

TEST(JitModelTest, ModelRunsThroughTheSameInterface) {
  auto target = llvm::cantFail(cpuTargetNamed("native"));
  auto object = test::compileIr(test::kTwiceKernel, target, 0);
  auto model = JitModel::create(twiceContents(), {object.data(), object.size()});
  ASSERT_TRUE(bool(model)) << model.error().message;
  nncc_api api = rt::makeApi((*model)->descriptor());
  test::expectTwice(&api);
}

TEST(JitModelTest, KernelWithoutCodeIsABug) {
  auto target = llvm::cantFail(cpuTargetNamed("native"));
  auto object = test::compileIr("define i32 @other() { ret i32 0 }", target, 0);
  auto model = JitModel::create(twiceContents(), {object.data(), object.size()});
  ASSERT_FALSE(bool(model));
  EXPECT_EQ(model.error().kind, ErrorKind::Internal);
  EXPECT_NE(model.error().message.find("twice.v0"), std::string::npos) << model.error().message;
}

} // namespace
