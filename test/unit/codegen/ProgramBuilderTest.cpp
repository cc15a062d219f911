// The Program that comes out of kernels: buffers, steps, sizes for a batch, shared code, views and in-place results. Expected
// numbers are counted by hand from the shapes.

#include "codegen/ProgramBuilder.h"

#include "codegen/cpu/KernelBuilder.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

using namespace nncc;

namespace {

class ProgramBuilderTest : public testing::Test {
protected:
  ProgramBuilderTest() {
    context.loadDialect<nn::NNDialect, mlir::func::FuncDialect, mlir::scf::SCFDialect, mlir::vector::VectorDialect,
                        mlir::LLVM::LLVMDialect>();
  }

  /// The program of `text`; the first error, if any, is in `error`.
  std::optional<rt::Program> build(const std::string &text) {
    mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &diagnostic) {
      if (error.empty())
        error = diagnostic.str();
      return mlir::success();
    });
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context, "model.mlir");
    if (!module)
      return std::nullopt;
    auto target = codegen::cpuTargetNamed("x86-64-v3");
    if (!target) {
      llvm::consumeError(target.takeError());
      return std::nullopt;
    }
    auto compiled = codegen::buildProgram(*module, *target);
    if (failed(compiled))
      return std::nullopt;
    kernels = std::move(compiled->kernels);
    return std::move(compiled->program);
  }

  static int64_t at(const rt::SizeExpr &expr, int64_t n) {
    int64_t dims[] = {n};
    return expr.evaluate(dims).get().value_or(-1);
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> kernels;
  std::string error;
};

/// Products with equal code, one with a residual. The packed weight is a constant.
const char *const kProducts = R"(
!packed = tensor<8x8xf32, #nn.enc<[], pack = <[0, 1, 16], [1, 8, 1], [0, 16, 1]>>>
!rows = tensor<?x8xf32, #nn.enc<[N]>>
module @Small attributes {nn.dims = [#nn.dim<"N", 1, 64>]} {
  nn.parameter @fc.weight : tensor<8x8xf32>
  nn.parameter @fc.bias : tensor<8xf32>
  func.func @infer(%x: !rows {nn.name = "x"}, %w: !packed {nn.constant = "fc.weight.packed"}) -> (!rows {nn.name = "y"}) {
    %b = nn.get_parameter @fc.bias : tensor<8xf32>
    %0 = nn.kernel "matmul_bias" (%a0 = %x : !rows, %a1 = %w : !packed, %a2 = %b : tensor<8xf32>) -> !rows {
      %m = nn.matmul %a0, %a1 bias %a2 {transpose_rhs} : (!rows, !packed, tensor<8xf32>) -> !rows
      nn.yield %m : !rows
    }
    %1 = nn.kernel "matmul_bias" (%a0 = %0 : !rows, %a1 = %w : !packed, %a2 = %b : tensor<8xf32>) -> !rows {
      %m = nn.matmul %a0, %a1 bias %a2 {transpose_rhs} : (!rows, !packed, tensor<8xf32>) -> !rows
      nn.yield %m : !rows
    }
    %2 = nn.kernel "matmul_add" (%a0 = %1 : !rows, %a1 = %w : !packed, %a2 = %0 : !rows) -> !rows attributes {in_place = 2 : i64} {
      %m = nn.matmul %a0, %a1 {transpose_rhs} : (!rows, !packed) -> !rows
      %r = nn.add %m, %a2 : (!rows, !rows) -> !rows
      nn.yield %r : !rows
    }
    %3 = nn.kernel "matmul_bias" (%a0 = %2 : !rows, %a1 = %w : !packed, %a2 = %b : tensor<8xf32>) -> !rows {
      %m = nn.matmul %a0, %a1 bias %a2 {transpose_rhs} : (!rows, !packed, tensor<8xf32>) -> !rows
      nn.yield %m : !rows
    }
    return %3 : !rows
  }
}
)";

TEST_F(ProgramBuilderTest, WritesBuffersStepsAndSharedKernels) {
  // Without @prepare, the packed weight is an input.
  std::string text = kProducts;
  std::string constantArgument = "%w: !packed {nn.constant = \"fc.weight.packed\"}";
  text.replace(text.find(constantArgument), constantArgument.size(), "%w: !packed {nn.name = \"w\"}");
  std::optional<rt::Program> program = build(text);
  ASSERT_TRUE(program) << error;

  EXPECT_EQ(program->modelName, "Small");
  EXPECT_FALSE(program->buildId.empty());
  ASSERT_EQ(program->dims.size(), 1u);
  EXPECT_EQ(program->dims[0].max, 64);
  EXPECT_EQ(program->buffers[0].name, "fc.weight");
  EXPECT_EQ(program->buffers[1].kind, rt::BufferKind::Parameter);

  const rt::EntryPoint *infer = program->findEntryPoint("infer");
  ASSERT_TRUE(infer);
  ASSERT_EQ(infer->inputs.size(), 2u);
  ASSERT_EQ(infer->outputs.size(), 1u);
  const rt::Buffer &x = program->buffers[infer->inputs[0]], &w = program->buffers[infer->inputs[1]];
  EXPECT_EQ(x.name, "x");
  EXPECT_EQ(at(x.sizeBytes, 7), 7 * 8 * 4);
  // One panel of 16 columns, 8 rows each: padding included.
  EXPECT_EQ(at(w.sizeBytes, 7), 16 * 8 * 4);
  EXPECT_EQ(program->buffers[infer->outputs[0]].name, "y");

  // Three of the four steps run the same code.
  ASSERT_EQ(infer->steps.size(), 4u);
  ASSERT_EQ(program->kernels.size(), 2u);
  EXPECT_EQ(infer->steps[0].kernel, infer->steps[1].kernel);
  EXPECT_EQ(infer->steps[0].kernel, infer->steps[3].kernel);
  EXPECT_EQ(program->kernels[0].symbol, "matmul_bias");
  EXPECT_EQ(program->kernels[1].symbol, "matmul_add");
  EXPECT_EQ(program->kernels[0].source.substr(0, 11), "model.mlir:");
  for (const rt::Kernel &kernel : program->kernels)
    EXPECT_TRUE(kernels->lookupSymbol(kernel.symbol)) << kernel.symbol;

  // 2 * 7 * 8 * 8 for the product, 7 * 8 for the bias; x, y, the panel and the bias are touched.
  EXPECT_EQ(at(infer->steps[0].flops, 7), 2 * 7 * 8 * 8 + 7 * 8);
  EXPECT_EQ(at(infer->steps[0].trafficBytes, 7), 4 * (2 * 7 * 8 + 16 * 8 + 8));
  EXPECT_GE(at(infer->steps[0].tasks, 7), 1);

  // The sum overwrites the residual; the last product writes the output itself.
  EXPECT_EQ(infer->steps[2].args.back().buffer, infer->steps[2].args[2].buffer);
  EXPECT_EQ(infer->steps[2].args[2].buffer, infer->steps[0].args.back().buffer);
  EXPECT_EQ(infer->steps[3].args.back().buffer, infer->outputs[0]);
  EXPECT_EQ(program->buffers[infer->steps[1].args.back().buffer].kind, rt::BufferKind::Arena);
}

TEST_F(ProgramBuilderTest, ViewsShareTheirSourcesBuffer) {
  // With one channel, channels-last and row-major are the same memory.
  std::optional<rt::Program> program = build(R"(
!image = tensor<?x1x4x4xf32, #nn.enc<[N]>>
!last = tensor<?x1x4x4xf32, #nn.enc<[N], order = [0, 2, 3, 1]>>
!weight = tensor<1x1x1x1xf32, #nn.enc<[], pack = <[0, 1, 1], [0, 1, 8], [2, 1, 1], [3, 1, 1], [1, 1, 1], [0, 8, 1]>>>
module attributes {nn.dims = [#nn.dim<"N", 1, 64>]} {
  func.func @infer(%x: !image {nn.name = "x"}, %w: !weight {nn.name = "w"}) -> (!image {nn.name = "y"}) {
    %v = nn.reorder %x : !image to !last
    %0 = nn.kernel "conv2d" (%a = %v : !last, %b = %w : !weight) -> !last {
      %c = nn.conv %a, %b {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_begin = array<i64: 0, 0>,
                           pads_end = array<i64: 0, 0>, groups = 1 : i64} : (!last, !weight) -> !last
      nn.yield %c : !last
    }
    %1 = nn.reorder %0 : !last to !image
    return %1 : !image
  }
})");
  ASSERT_TRUE(program) << error;
  const rt::EntryPoint *infer = program->findEntryPoint("infer");
  ASSERT_EQ(infer->steps.size(), 1u);
  EXPECT_EQ(infer->steps[0].args.front().buffer, infer->inputs[0]);
  EXPECT_EQ(infer->steps[0].args.back().buffer, infer->outputs[0]);
}

TEST_F(ProgramBuilderTest, ReportsConstantsThatNobodyPrepares) {
  EXPECT_FALSE(build(kProducts));
  EXPECT_NE(error.find("reads the constant 'fc.weight.packed', which @prepare does not return"), std::string::npos) << error;
}

TEST_F(ProgramBuilderTest, ReportsOpsOutsideKernels) {
  EXPECT_FALSE(build(R"(
module {
  func.func @infer(%x: tensor<4xf32> {nn.name = "x"}) -> (tensor<4xf32> {nn.name = "y"}) {
    %0 = nn.relu %x : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
})"));
  EXPECT_NE(error.find("form-kernels must run before"), std::string::npos) << error;
}

} // namespace
