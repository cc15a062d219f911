// MemoryPlan: lifetimes from the steps, views and in-place results by buffer id, errors for dims
// that overflow.
#include "runtime/MemoryPlan.h"

#include <gtest/gtest.h>

using namespace nncc;
using namespace nncc::rt;

namespace {

Buffer arenaBuffer(SizeExpr size) { return {BufferKind::Arena, DType::F32, "", {}, size}; }

Step step(std::vector<BufferRef> args) {
  Step s;
  s.args = std::move(args);
  return s;
}

// image -> a -> b -> c -> logits; b is written in place by the third step, c is a view into the
// middle of b.
Program chain() {
  Program program;
  program.modelName = "chain";
  program.dims = {{"N", 1, INT64_MAX}};
  SizeExpr n = SizeExpr::dim(0);
  program.buffers = {{BufferKind::Input, DType::F32, "image", {n}, n * 4},
                     {BufferKind::Output, DType::F32, "logits", {n}, n * 4},
                     arenaBuffer(n * 256),
                     arenaBuffer(n * 512),
                     arenaBuffer(n * 128)};
  program.kernels = {{"k", "k", "", 0}};
  program.entryPoints = {{"infer",
                          {0},
                          {1},
                          {step({{0, 0}, {2, 0}}), step({{2, 0}, {3, 0}}), step({{3, 0}, {3, 0}}),
                           step({{3, n * 128}, {4, 0}}), step({{4, 0}, {1, 0}})}}};
  return program;
}

} // namespace

TEST(MemoryPlan, ReusesMemoryOnceABufferIsDead) {
  Program program = chain();
  ASSERT_TRUE(verifyProgram(program));
  int64_t dims[] = {3};
  Result<MemoryPlan> plan = planMemory(program, program.entryPoints[0], dims);
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(plan->sizesBytes, (std::vector<int64_t>{12, 12, 768, 1536, 384}));
  EXPECT_EQ(plan->arenaOffsetsBytes[0], -1);
  EXPECT_EQ(plan->arenaOffsetsBytes[1], -1);
  EXPECT_EQ(plan->sumBytes, 768 + 1536 + 384);
  EXPECT_EQ(plan->lowerBoundBytes, 768 + 1536);
  EXPECT_EQ(plan->arenaBytes, 768 + 1536); // the last buffer takes the place of the first
  EXPECT_EQ(plan->arenaOffsetsBytes[4], plan->arenaOffsetsBytes[2]);
}

// "prepare" runs without dims; a buffer of "infer" may then have no sensible size.
TEST(MemoryPlan, LooksAtBuffersInUseOnly) {
  Program program = chain();
  program.buffers.push_back(arenaBuffer(SizeExpr::dim(0) - 3));
  int64_t dims[] = {1};
  Result<MemoryPlan> plan = planMemory(program, program.entryPoints[0], dims);
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(plan->sizesBytes[5], 0);
  EXPECT_EQ(plan->arenaOffsetsBytes[5], -1);
}

TEST(MemoryPlan, ReportsDimsThatOverflow) {
  Program program = chain();
  int64_t dims[] = {INT64_MAX / 100};
  Result<MemoryPlan> plan = planMemory(program, program.entryPoints[0], dims);
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().kind, ErrorKind::User);
  EXPECT_NE(plan.error().message.find("N = 92233720368547758"), std::string::npos)
      << plan.error().message;
}

TEST(MemoryPlan, ReportsAReferenceOutsideItsBuffer) {
  Program program = chain();
  program.entryPoints[0].steps[3].args[0].offsetBytes = 100000;
  int64_t dims[] = {1};
  Result<MemoryPlan> plan = planMemory(program, program.entryPoints[0], dims);
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().kind, ErrorKind::Internal);
  EXPECT_NE(plan.error().message.find("step 3"), std::string::npos) << plan.error().message;
}
