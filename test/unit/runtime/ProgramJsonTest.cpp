// ProgramJson: a program survives writing and reading; hostile documents are refused with the place
// of the problem.
#include "runtime/ProgramJson.h"

#include <gtest/gtest.h>

#include <random>

using namespace nncc;
using namespace nncc::rt;

namespace {

Program smallProgram() {
  SizeExpr n = SizeExpr::dim(0);
  Program program;
  program.modelName = "Small";
  program.buildId = "0123abcd";
  program.dims = {{"N", 1, 64}};
  program.buffers = {
      {BufferKind::Input, DType::F32, "image", {n, 1, 28, 28}, n * 3136},
      {BufferKind::Constant, DType::BF16, "fc.weight.packed", {10, 784}, 15680},
      {BufferKind::Arena, DType::F32, "", {n, 784}, n * 3136},
      {BufferKind::Output, DType::I64, "label", {n}, n * 8},
  };
  program.kernels = {{"linear_relu", "linear_relu_0", "small.nn:3:5", 4096},
                     {"argmax", "argmax_1", "", 0}};
  Step linear{0,         {{0, 0}, {1, 0}, {2, 0}},
              1,         SizeExpr::binary(SizeExpr::Op::CeilDiv, n, 8),
              n * 15680, n * 6272};
  Step argmax{1, {{2, n * 4}, {3, 0}}, 1, n, 0, 0};
  program.entryPoints = {{"infer", {0}, {3}, {linear, argmax}}};
  return program;
}

std::string replaced(std::string text, const std::string &from, const std::string &to) {
  size_t position = text.find(from);
  EXPECT_NE(position, std::string::npos) << from;
  return text.replace(position, from.size(), to);
}

void expectRefused(const std::string &text, const std::string &message) {
  Result<Program> result = readProgramJson(text);
  ASSERT_FALSE(result) << message;
  EXPECT_NE(result.error().message.find(message), std::string::npos) << result.error().message;
}

} // namespace

TEST(ProgramJson, KeepsEveryField) {
  Program before = smallProgram();
  std::string text = writeProgramJson(before);
  Result<Program> after = readProgramJson(text);
  ASSERT_TRUE(after) << after.error().message;
  EXPECT_EQ(writeProgramJson(*after), text);
  EXPECT_EQ(after->modelName, "Small");
  EXPECT_EQ(after->buildId, "0123abcd");
  EXPECT_EQ(after->dims[0].max, 64);
  EXPECT_EQ(after->buffers[0].shape, before.buffers[0].shape);
  EXPECT_EQ(after->buffers[1].dtype, DType::BF16);
  EXPECT_EQ(after->buffers[2].kind, BufferKind::Arena);
  EXPECT_EQ(after->kernels[0].source, "small.nn:3:5");
  EXPECT_EQ(after->kernels[0].scratchBytes, SizeExpr(4096));
  const Step &linear = after->entryPoints[0].steps[0];
  EXPECT_EQ(linear.tasks, before.entryPoints[0].steps[0].tasks);
  EXPECT_EQ(linear.flops, before.entryPoints[0].steps[0].flops);
  EXPECT_EQ(after->entryPoints[0].steps[1].args[0].offsetBytes, SizeExpr::dim(0) * 4);
}

/// What a library may do instead of the first kernel: a product, or a convolution.
Program programWithAlternatives() {
  Program program = smallProgram();
  for (Kernel &kernel : program.kernels)
    kernel.cuda = CudaLaunch{32, 1, 1, 1};
  int64_t next = 2; // every number another one
  auto number = [&](const char *, int64_t) { return SizeExpr(next++); };
  LibraryCallOf<int64_t> blank;
  LibraryCall product = convertCall<SizeExpr>(blank, number);
  std::get<MatrixProduct<SizeExpr>>(product.operation).rows = SizeExpr::dim(0);
  product.dtype = DType::BF16;
  product.mayRoundToTf32 = product.transposed = product.transposedX = true;
  product.x = 0;
  product.w = 1;
  product.activation = LibraryActivation::GeluTanh;
  blank.operation = Convolution<int64_t>();
  LibraryCall convolution = convertCall<SizeExpr>(blank, number);
  convolution.x = 1;
  convolution.w = 0;
  convolution.bias = convolution.residual = 1;
  convolution.activation = LibraryActivation::Relu;
  LibraryCall gradients[] = {convertCall<SizeExpr>(blank, number), convertCall<SizeExpr>(blank, number)};
  gradients[0].pass = ConvolutionPass::DataGradient;
  gradients[1].pass = ConvolutionPass::WeightGradient;
  for (LibraryCall &gradient : gradients) {
    gradient.x = 0;
    gradient.w = 1;
    gradient.gate = 1;
  }
  program.kernels[0].alternatives = {product, convolution, gradients[0], gradients[1]};
  return program;
}

TEST(ProgramJson, KeepsEveryFieldOfAlternatives) {
  Program before = programWithAlternatives();
  std::string text = writeProgramJson(before);
  Result<Program> after = readProgramJson(text);
  ASSERT_TRUE(after) << after.error().message;
  EXPECT_EQ(writeProgramJson(*after), text);
  ASSERT_EQ(after->kernels[0].alternatives.size(), 4u);
  for (size_t i = 0; i < 4; ++i) {
    const LibraryCall &was = before.kernels[0].alternatives[i], &is = after->kernels[0].alternatives[i];
    std::vector<SizeExpr> numbers[2];
    for (auto [call, list] : {std::pair(&was, &numbers[0]), {&is, &numbers[1]}})
      convertCall<int>(*call, [&](const char *, const SizeExpr &number) {
        list->push_back(number);
        return 0;
      });
    EXPECT_EQ(numbers[0], numbers[1]);
    EXPECT_GT(numbers[0].size(), 12u);
    EXPECT_EQ(is.operation.index(), i ? 1u : 0u);
    EXPECT_EQ(std::tuple(is.dtype, is.mayRoundToTf32, is.transposed, is.transposedX, is.pass, is.replacesParts, is.activation),
              std::tuple(was.dtype, was.mayRoundToTf32, was.transposed, was.transposedX, was.pass, was.replacesParts, was.activation));
    EXPECT_EQ(std::tuple(is.x, is.w, is.bias, is.residual, is.gate), std::tuple(was.x, was.w, was.bias, was.residual, was.gate));
  }
}

TEST(ProgramJson, RefusesAlternativesThatCannotBe) {
  std::string text = writeProgramJson(programWithAlternatives());
  expectRefused(replaced(text, "\"computes\":\"matmul\"", "\"computes\":\"fft\""),
                "kernels[0].alternatives[0]: expected \"matmul\", \"conv2d\" or one of its gradients, found \"fft\"");
  expectRefused(replaced(text, "\"rows\":\"N\"", "\"rows\":\"M\""), "alternatives[0].rows");
  expectRefused(replaced(text, "\"matmul\",\"dtype\":\"bf16\"", "\"matmul\",\"dtype\":\"i32\""), "alternative: no library takes i32");
  expectRefused(replaced(text, "\"gelu_tanh\"", "\"gelu\""), "unknown activation \"gelu\"");
  expectRefused(replaced(text, "\"x\":0,\"w\":1", "\"x\":0"), "alternative: has no operands");
  expectRefused(replaced(text, "\"bias\":1", "\"bias\":2"), "alternative: operand out of range");
  expectRefused(replaced(text, "\"gate\":1", "\"gate\":2"), "alternative: operand out of range");
  expectRefused(replaced(text, "\"tf32\":true", "\"tf32\":true,\"replacesParts\":true"), "there is no step before");
}

/// The first kernel has two other tiles, of which one makes its result in two kernels.
Program programWithTiles() {
  Program program = smallProgram();
  for (const char *symbol : {"linear_relu_tile2", "linear_relu_tile3", "linear_relu_tile3_sum"})
    program.kernels.push_back({"linear_relu", symbol, "", 0});
  for (Kernel &kernel : program.kernels)
    kernel.cuda = CudaLaunch{32, 1, 1, 1};
  program.kernels[0].tiles = {{"64 x 64", 2}, {"32 x 32, 2 parts", 3, 4, SizeExpr::dim(0) * 80}};
  return program;
}

TEST(ProgramJson, KeepsEveryFieldOfTiles) {
  Program before = programWithTiles();
  before.entryPoints[0].steps[1].kernel = 0; // a step behind another one
  before.entryPoints[0].steps[0].kernel = 1;
  before.kernels[0].tiles[1].replacesParts = true;
  std::string text = writeProgramJson(before);
  Result<Program> after = readProgramJson(text);
  ASSERT_TRUE(after) << after.error().message;
  EXPECT_EQ(writeProgramJson(*after), text);
  const std::vector<TileVariant> &tiles = after->kernels[0].tiles;
  ASSERT_EQ(tiles.size(), 2u);
  EXPECT_EQ(std::tuple(tiles[0].tile, tiles[0].kernel, tiles[0].finish, tiles[0].replacesParts), std::tuple("64 x 64", 2u, std::nullopt, false));
  EXPECT_EQ(std::tuple(tiles[1].tile, tiles[1].kernel, tiles[1].finish, tiles[1].replacesParts), std::tuple("32 x 32, 2 parts", 3u, 4u, true));
  EXPECT_EQ(tiles[1].workspaceBytes, SizeExpr::dim(0) * 80);
}

TEST(ProgramJson, RefusesTilesThatCannotBe) {
  Program program = programWithTiles();
  std::string text = writeProgramJson(program);
  ASSERT_TRUE(readProgramJson(text));
  expectRefused(replaced(text, "\"64 x 64\",\"kernel\":2", "\"64 x 64\",\"kernel\":9"), "tile 64 x 64: is not a CUDA kernel that stands for no others");
  expectRefused(replaced(text, "\"kernel\":2", "\"kernel\":0"), "tile 64 x 64: is not a CUDA kernel that stands for no others");
  expectRefused(replaced(text, "\"finish\":4", "\"finish\":5"), "tile 32 x 32, 2 parts: is not a CUDA kernel that stands for no others");
  expectRefused(replaced(text, "\"32 x 32, 2 parts\"", "\"64 x 64\""), "tile 64 x 64: stands there twice");
  expectRefused(replaced(text, "\"workspaceBytes\":\"N*80\"", "\"workspaceBytes\":\"M*80\""), "workspaceBytes");
  expectRefused(replaced(text, "\"kernel\":2", "\"kernel\":2,\"replacesParts\":true"), "there are no parts to replace");
  program.kernels[2].cuda->hasStatus = true;
  expectRefused(writeProgramJson(program), "tile 64 x 64: reports to a status word");
  program.kernels[2].cuda->hasStatus = false;
  program.entryPoints[0].steps[0].resultCount = 2;
  expectRefused(writeProgramJson(program), "tile 64 x 64: expected one result");
}

TEST(ProgramJson, GivesEachStepALine) {
  std::string text = writeProgramJson(smallProgram());
  EXPECT_NE(
      text.find(
          "{\"kernel\":0,\"args\":[0,1,2],\"results\":1,\"tasks\":\"ceildiv(N, 8)\",\"flops\":"
          "\"N*15680\",\"trafficBytes\":\"N*6272\"},\n"),
      std::string::npos)
      << text;
}

TEST(ProgramJson, NamesTheVersionItExpects) {
  std::string text = writeProgramJson(smallProgram());
  expectRefused(replaced(text, "\"version\": 1", "\"version\": 2"), "expected version 1, found 2");
  expectRefused(replaced(text, "nncc program", "other"), "expected the format \"nncc program\"");
}

TEST(ProgramJson, NamesThePlaceOfAProblem) {
  std::string text = writeProgramJson(smallProgram());
  expectRefused(replaced(text, "\"kernel\":1", "\"kernel\":\"x\""),
                "entryPoints[0].steps[1].kernel: expected a 64-bit integer, found string");
  expectRefused(replaced(text, "\"kernel\":1", "\"kernel\":7"),
                "step 1: kernel index out of range");
  expectRefused(replaced(text, "\"N*15680\"", "\"Q*15680\""),
                "entryPoints[0].steps[0].flops: cannot read the size expression \"Q*15680\"");
  expectRefused(replaced(text, "\"bf16\"", "\"bf17\""), "buffers[1]: unknown dtype \"bf17\"");
  expectRefused(replaced(text, "\"arena\"", "\"arenas\""),
                "buffers[2]: unknown buffer kind \"arenas\"");
  expectRefused(replaced(text, "\"min\":1", "\"mni\":1"),
                "dims[0]: expected an object with the field \"min\"");
  expectRefused(replaced(text, "\"min\":1", "\"min\":99999999999999999999"), "dims[0].min");
  expectRefused(replaced(text, "[2,\"N*4\"]", "[2]"), "expected [buffer, offset]");
  expectRefused("", "not valid JSON");
  expectRefused("[1,2", "not valid JSON");
  expectRefused("[]", "expected an object with the field \"format\"");
  expectRefused(std::string(100000, '['), "not valid JSON");
}

TEST(ProgramJson, RefusesADimThatNoInputDetermines) {
  Program program = smallProgram();
  program.dims.push_back({"T", 1, 8});
  // One that the entry point does not use is another's.
  EXPECT_TRUE(readProgramJson(writeProgramJson(program)));
  program.entryPoints[0].steps[0].tasks = SizeExpr::dim(1);
  expectRefused(writeProgramJson(program), "no input has 'T' alone as one of its dims");
}

// Single-byte damage anywhere either still reads as a valid program or is refused; it never
// crashes.
TEST(ProgramJson, SurvivesDamage) {
  std::string text = writeProgramJson(smallProgram());
  std::mt19937 random(3);
  int refused = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string damaged = text;
    for (int k = 0; k < 1 + i % 3; ++k)
      damaged[random() % damaged.size()] = static_cast<char>(random());
    refused += !readProgramJson(damaged);
  }
  EXPECT_GT(refused, 1000);
}
