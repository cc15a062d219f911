// mma.sync, ldmatrix, stmatrix, movmatrix: the operands go to the runtime as arrays of registers.
#include "tools/cuda-emulator/translate/FunctionTranslator.h"

#include "tools/cuda-emulator/exec/MatrixOps.h"

using namespace llvm;

namespace nncc::cuemu {

void FunctionTranslator::addMatrixHandlers(Table &table) {
  table["mma"] = &FunctionTranslator::matrixMultiply;
  table["ldmatrix"] = &FunctionTranslator::loadMatrix;
  table["stmatrix"] = &FunctionTranslator::storeMatrix;
  table["movmatrix"] = &FunctionTranslator::moveMatrix;
}

// An array in the frame that holds the registers of a vector operand.
Value *FunctionTranslator::fragment(const Operand &operand, bool isFilled) {
  bool isVector = operand.kind == Operand::Kind::Vector;
  size_t count = isVector ? operand.elements.size() : 1;
  AllocaInst *array = nullptr;
  {
    IRBuilder<>::InsertPointGuard guard(builder);
    builder.SetInsertPoint(entryBlock);
    array = builder.CreateAlloca(ArrayType::get(builder.getInt32Ty(), count));
  }
  for (size_t i = 0; isFilled && i < count; i++)
    builder.CreateStore(read(isVector ? operand.elements[i] : operand, Type::B32),
                        builder.CreateConstGEP1_64(builder.getInt32Ty(), array, i));
  return array;
}

void FunctionTranslator::matrixMultiply(Modifiers &m) {
  m.require("sync", {"sync"});
  m.require("aligned", {"aligned"});
  MatrixShape shape;
  std::string name = m.require("a shape", {"m16n8k4", "m16n8k8", "m16n8k16", "m16n8k32"});
  shape.k = static_cast<uint32_t>(std::stoi(name.substr(6)));
  m.require("row", {"row"});
  m.require("col", {"col"});
  shape.saturate = m.take("satfinite");
  std::string types[4];
  for (std::string &type : types)
    type = m.require("an operand type", {"f32", "f16", "bf16", "tf32", "s8", "u8", "s32"});
  const auto &[d, a, b, c] = types;
  bool isInteger = a == "s8" || a == "u8";
  bool isLegal = false;
  if (a == "f16" && b == "f16") {
    shape.element = MatrixElement::F16;
    shape.halfAccumulators = d == "f16";
    isLegal = (shape.k == 8 || shape.k == 16) && (d == "f16" || d == "f32") && c == d;
  } else if (a == "bf16" && b == "bf16") {
    shape.element = MatrixElement::BF16;
    isLegal = (shape.k == 8 || shape.k == 16) && d == "f32" && c == "f32";
  } else if (a == "tf32" && b == "tf32") {
    shape.element = MatrixElement::TF32;
    isLegal = (shape.k == 4 || shape.k == 8) && d == "f32" && c == "f32";
  } else if (isInteger && (b == "s8" || b == "u8")) {
    shape.element = MatrixElement::I8;
    shape.unsignedA = a == "u8";
    shape.unsignedB = b == "u8";
    isLegal = (shape.k == 16 || shape.k == 32) && d == "s32" && c == "s32";
  }
  if (!isLegal || (shape.saturate && !isInteger))
    m.fail("'" + current->fullName() + "' is not supported");
  expectOperands(4);
  const uint32_t counts[4] = {shape.registersC(), shape.registersA(), shape.registersB(), shape.registersC()};
  for (size_t i = 0; i < 4; i++) {
    size_t found = operand(i).kind == Operand::Kind::Vector ? operand(i).elements.size() : 1;
    if (found != counts[i])
      fail("operand " + std::to_string(i + 1) + " of '" + current->fullName() + "' has " + std::to_string(counts[i]) +
           " registers, found " + std::to_string(found));
  }
  AllocaInst *pointers = nullptr;
  {
    IRBuilder<>::InsertPointGuard guard(builder);
    builder.SetInsertPoint(entryBlock);
    pointers = builder.CreateAlloca(ArrayType::get(builder.getPtrTy(), 4));
  }
  Value *result = fragment(operand(0), false);
  Value *arrays[4] = {result, fragment(operand(1), true), fragment(operand(2), true), fragment(operand(3), true)};
  for (size_t i = 0; i < 4; i++)
    builder.CreateStore(arrays[i], builder.CreateConstGEP1_64(builder.getPtrTy(), pointers, i));
  call("emuMatrixMultiply", builder.getVoidTy(), {context(), builder.getInt32(shape.pack()), pointers, site()});
  for (size_t i = 0; i < counts[0]; i++) {
    const Operand &to = operand(0).kind == Operand::Kind::Vector ? operand(0).elements[i] : operand(0);
    write(to, Type::B32, builder.CreateLoad(builder.getInt32Ty(), builder.CreateConstGEP1_64(builder.getInt32Ty(), result, i)));
  }
}

// ldmatrix.sync.aligned.m8n8.x{1,2,4}{.trans}{.shared}.b16 r, [row].
void FunctionTranslator::loadMatrix(Modifiers &m) {
  m.require("sync", {"sync"});
  m.require("aligned", {"aligned"});
  m.require("m8n8", {"m8n8"});
  std::string count = m.require("x1, x2 or x4", {"x1", "x2", "x4"});
  bool isTransposed = m.take("trans");
  bool isShared = !m.takeOneOf({"shared", "shared::cta"}).empty();
  m.require("b16", {"b16"});
  expectOperands(2);
  auto matrices = static_cast<uint32_t>(count[1] - '0');
  const Operand &to = operand(0);
  size_t found = to.kind == Operand::Kind::Vector ? to.elements.size() : 1;
  if (found != matrices)
    fail("'" + current->fullName() + "' has " + std::to_string(matrices) + " results, found " + std::to_string(found));
  Value *row = pointer(operand(1), isShared ? Space::Shared : Space::Generic);
  Value *results = fragment(to, false);
  call("emuLoadMatrix", builder.getVoidTy(),
       {context(), builder.getInt32(matrices), builder.getInt32(isTransposed), row, results, site()});
  for (size_t i = 0; i < matrices; i++)
    write(to.kind == Operand::Kind::Vector ? to.elements[i] : to, Type::B32,
          builder.CreateLoad(builder.getInt32Ty(), builder.CreateConstGEP1_64(builder.getInt32Ty(), results, i)));
}

void FunctionTranslator::storeMatrix(Modifiers &m) {
  m.require("sync", {"sync"});
  m.require("aligned", {"aligned"});
  m.require("m8n8", {"m8n8"});
  std::string count = m.require("x1, x2 or x4", {"x1", "x2", "x4"});
  bool isTransposed = m.take("trans");
  bool isShared = !m.takeOneOf({"shared", "shared::cta"}).empty();
  m.require("b16", {"b16"});
  expectOperands(2);
  auto matrices = static_cast<uint32_t>(count[1] - '0');
  size_t found = operand(1).kind == Operand::Kind::Vector ? operand(1).elements.size() : 1;
  if (found != matrices)
    fail("'" + current->fullName() + "' has " + std::to_string(matrices) + " values, found " + std::to_string(found));
  Value *row = pointer(operand(0), isShared ? Space::Shared : Space::Generic);
  call("emuStoreMatrix", builder.getVoidTy(),
       {context(), builder.getInt32(matrices), builder.getInt32(isTransposed), row, fragment(operand(1), true), site()});
}

// movmatrix.sync.aligned.m8n8.trans.b16 d, a: the 8x8 matrix transposed.
void FunctionTranslator::moveMatrix(Modifiers &m) {
  for (const char *name : {"sync", "aligned", "m8n8", "trans", "b16"})
    m.require(name, {name});
  expectOperands(2);
  Value *result = fragment(operand(0), false);
  call("emuMoveMatrix", builder.getVoidTy(), {context(), read(operand(1), Type::B32), result, site()});
  write(operand(0), Type::B32, builder.CreateLoad(builder.getInt32Ty(), result));
}

} // namespace nncc::cuemu
