// A model for the tests of linking and JIT that no part of the compiler had a hand in: its kernel
// is LLVM IR typed here, its Program is filled field by field. y = x + x for x: f32[N, 4], one task
// per row.
#pragma once

#include "codegen/cpu/CompileModule.h"
#include "codegen/link/WriteObject.h"
#include "nncc/nncc.h"
#include "runtime/ProgramJson.h"

#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Target/TargetMachine.h"

#include <gtest/gtest.h>

namespace nncc::test {

inline constexpr const char *kTwiceKernel = R"(
define i32 @twice(ptr %args, ptr %dims, i64 %begin, i64 %end, ptr %scratch) {
entry:
  %x = load ptr, ptr %args
  %ySlot = getelementptr ptr, ptr %args, i64 1
  %y = load ptr, ptr %ySlot
  br label %head
head:
  %i = phi i64 [ %begin, %entry ], [ %next, %body ]
  %more = icmp slt i64 %i, %end
  br i1 %more, label %body, label %done
body:
  %from = getelementptr <4 x float>, ptr %x, i64 %i
  %to = getelementptr <4 x float>, ptr %y, i64 %i
  %row = load <4 x float>, ptr %from, align 4
  %sum = fadd <4 x float> %row, %row
  store <4 x float> %sum, ptr %to, align 4
  %next = add i64 %i, 1
  br label %head
done:
  ret i32 0
}
)";

inline rt::Program twiceProgram() {
  rt::SizeExpr n = rt::SizeExpr::dim(0);
  rt::Program program;
  program.modelName = "Twice";
  program.buildId = "test";
  program.dims = {{"N", 1, 64}};
  program.buffers = {{rt::BufferKind::Input, DType::F32, "x", {n, 4}, n * 16},
                     {rt::BufferKind::Output, DType::F32, "y", {n, 4}, n * 16}};
  program.kernels = {{"add", "twice", "twice.nn:1:1", 0}};
  program.entryPoints = {{"infer", {0}, {1}, {{0, {{0, 0}, {1, 0}}, 1, n, n * 4, n * 32}}}};
  return program;
}

inline llvm::SmallVector<char, 0> compileIr(const std::string &ir, const codegen::CpuTarget &target,
                                            std::optional<size_t> variant = std::nullopt) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic diagnostic;
  auto module = llvm::parseAssemblyString(ir, diagnostic, context);
  EXPECT_TRUE(module) << diagnostic.getMessage().str();
  auto machine = llvm::cantFail(codegen::createTargetMachine(target));
  module->setDataLayout(machine->createDataLayout());
  module->setTargetTriple(machine->getTargetTriple());
  if (variant)
    codegen::nameVariant(*module, *variant);
  return llvm::cantFail(codegen::generateCode(*module, target, {}, codegen::MachineCode::Object));
}

/// Runs a Twice model of three rows through the C interface.
inline void expectTwice(const nncc_api *api) {
  nncc_model *model = nullptr;
  ASSERT_EQ(api->create_model(api, nullptr, &model), NNCC_OK) << api->model_error(model);
  EXPECT_STREQ(api->model_info(model)->name, "Twice");
  nncc_instance *instance = nullptr;
  ASSERT_EQ(api->create_instance(model, nullptr, &instance), NNCC_OK);
  float x[12], y[12];
  for (int i = 0; i < 12; ++i)
    x[i] = i - 5.5f;
  int64_t shape[] = {3, 4};
  DLTensor tensors[2]{};
  for (int i = 0; i < 2; ++i) {
    tensors[i].data = i ? y : x;
    tensors[i].device = {kDLCPU, 0};
    tensors[i].ndim = 2;
    tensors[i].dtype = {kDLFloat, 32, 1};
    tensors[i].shape = shape;
  }
  ASSERT_EQ(api->run(instance, &tensors[0], 1, &tensors[1], 1, nullptr), NNCC_OK)
      << api->instance_error(instance);
  for (int i = 0; i < 12; ++i)
    EXPECT_EQ(y[i], 2 * i - 11);
  api->destroy_instance(instance);
  api->destroy_model(model);
}

} // namespace nncc::test
