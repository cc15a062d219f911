// Reading and writing operands: registers of any width, constants, special registers, addresses of
// variables.
#include "tools/cuda-emulator/translate/FunctionTranslator.h"

#include <bit>
#include <cstddef>

using namespace llvm;

namespace nncc::cuemu {

void FunctionTranslator::expectOperands(size_t least, size_t most) {
  size_t count = current->operands.size();
  if (count < least || count > std::max(least, most))
    fail("'" + current->fullName() + "' takes " + std::to_string(least) +
         (most > least ? " to " + std::to_string(most) : "") + " operands, found " +
         std::to_string(count));
}

llvm::Type *FunctionTranslator::llvmType(Type type) {
  if (type == Type::F32)
    return builder.getFloatTy();
  if (type == Type::F64)
    return builder.getDoubleTy();
  return intType(ptx::bitWidth(type));
}

Value *FunctionTranslator::toInt(Value *value) {
  if (value->getType()->isIntegerTy())
    return value;
  if (value->getType()->isPointerTy())
    return builder.CreatePtrToInt(value, builder.getInt64Ty());
  return builder.CreateBitCast(value, intType(static_cast<int>(value->getType()->getPrimitiveSizeInBits())));
}

// Reinterprets a value as `type` of the same width.
Value *FunctionTranslator::toBits(Value *value, llvm::Type *type) {
  return value->getType() == type ? value : builder.CreateBitCast(value, type);
}

Value *FunctionTranslator::constant(Type type, int64_t value) {
  return ConstantInt::get(intType(ptx::bitWidth(type)), static_cast<uint64_t>(value), false, true);
}

Value *FunctionTranslator::readRaw(const Symbol &symbol, int bits) {
  llvm::Type *slotType = symbol.slot->getAllocatedType();
  auto slotBits = static_cast<int>(slotType->getPrimitiveSizeInBits());
  if (slotBits < bits)
    fail("a register of " + std::to_string(slotBits) + " bits where '" + current->fullName() +
         "' needs " + std::to_string(bits));
  Value *value = builder.CreateLoad(slotType, symbol.slot);
  return slotBits == bits ? value : builder.CreateTrunc(toInt(value), intType(bits));
}

Value *FunctionTranslator::read(const Operand &operand, Type type) {
  int bits = ptx::bitWidth(type);
  switch (operand.kind) {
  case Operand::Kind::Integer:
    return toBits(constant(type, operand.integer), llvmType(type));
  case Operand::Kind::Float32:
    if (bits == 64)
      return toBits(ConstantFP::get(builder.getDoubleTy(),
                                    std::bit_cast<float>(static_cast<uint32_t>(operand.integer))),
                    llvmType(type));
    return toBits(constant(type, operand.integer), llvmType(type));
  case Operand::Kind::Float64:
    if (type == Type::F32)
      return ConstantFP::get(builder.getFloatTy(), std::bit_cast<double>(operand.integer));
    return toBits(constant(type, operand.integer), llvmType(type));
  case Operand::Kind::Name: {
    if (operand.name == "WARP_SZ")
      return constant(type, 32);
    Symbol *symbol = find(operand.name);
    if (symbol && symbol->kind == Symbol::Kind::Register)
      return toBits(readRaw(*symbol, bits), llvmType(type));
    if (symbol)
      return builder.CreateAdd(addressOf(*symbol, bits), constant(type, operand.integer));
    if (operand.name[0] != '%')
      fail("'" + operand.name + "' is not declared");
    return toBits(builder.CreateZExtOrTrunc(specialRegister(operand.name), intType(bits)),
                  llvmType(type));
  }
  default:
    fail("this operand form is not allowed in '" + current->fullName() + "'");
  }
}

Value *FunctionTranslator::readPredicate(const Operand &operand) {
  Value *value = nullptr;
  if (operand.kind == Operand::Kind::Integer) {
    value = builder.getInt1(operand.integer != 0);
  } else if (operand.kind == Operand::Kind::Name) {
    Symbol &symbol = lookUp(operand.name);
    if (symbol.kind != Symbol::Kind::Register || symbol.type != Type::Pred)
      fail("'" + operand.name + "' is not a predicate");
    value = builder.CreateLoad(builder.getInt1Ty(), symbol.slot);
  } else {
    fail("expected a predicate in '" + current->fullName() + "'");
  }
  return operand.negated ? builder.CreateNot(value) : value;
}

void FunctionTranslator::write(const Operand &operand, Type type, Value *value) {
  if (operand.kind == Operand::Kind::Sink)
    return;
  if (operand.kind != Operand::Kind::Name)
    fail("the result of '" + current->fullName() + "' must be a register");
  Symbol &symbol = lookUp(operand.name);
  if (symbol.kind != Symbol::Kind::Register)
    fail("the result of '" + current->fullName() + "' must be a register");
  llvm::Type *slotType = symbol.slot->getAllocatedType();
  auto slotBits = static_cast<int>(slotType->getPrimitiveSizeInBits());
  auto bits = static_cast<int>(value->getType()->getPrimitiveSizeInBits());
  if (slotBits < bits)
    fail("a register of " + std::to_string(slotBits) + " bits for a result of " +
         std::to_string(bits) + " in '" + current->fullName() + "'");
  if (slotBits > bits)
    value = ptx::isSigned(type) ? builder.CreateSExt(toInt(value), intType(slotBits))
                                : builder.CreateZExt(toInt(value), intType(slotBits));
  builder.CreateStore(toBits(value, slotType), symbol.slot);
}

void FunctionTranslator::writePredicate(const Operand &operand, Value *value) {
  if (operand.kind == Operand::Kind::Sink)
    return;
  write(operand, Type::Pred, value);
}

// A field of the thread's context. None changes while the thread runs, so loads may be merged and moved.
Value *FunctionTranslator::contextField(size_t offsetBytes, llvm::Type *type) {
  Value *field = builder.CreateConstGEP1_64(builder.getInt8Ty(), context(), offsetBytes);
  LoadInst *load = builder.CreateLoad(type, field);
  load->setMetadata(LLVMContext::MD_invariant_load, MDNode::get(builder.getContext(), {}));
  return load;
}

Value *FunctionTranslator::addressOf(const Symbol &symbol, int bits) {
  Value *address =
      symbol.windowOffset ? symbol.windowOffset : builder.CreatePtrToInt(symbol.pointer, builder.getInt64Ty());
  if (!symbol.windowOffset && bits < 64)
    fail("an address outside shared memory needs 64 bits");
  return builder.CreateZExtOrTrunc(address, intType(bits));
}

CallInst *FunctionTranslator::call(StringRef helper, llvm::Type *result, ArrayRef<Value *> arguments) {
  SmallVector<llvm::Type *, 8> types;
  for (Value *argument : arguments)
    types.push_back(argument->getType());
  FunctionCallee callee =
      parent.llvmModule.getOrInsertFunction(helper, FunctionType::get(result, types, false));
  return builder.CreateCall(callee, arguments);
}

Value *FunctionTranslator::site() {
  return builder.getInt32(parent.addSite(*current, function.name));
}

Value *FunctionTranslator::specialRegister(const std::string &name) {
  auto field = [&](size_t offsetBytes) { return contextField(offsetBytes, builder.getInt32Ty()); };
  static const std::unordered_map<std::string, size_t> fields = {
      {"%laneid", offsetof(ThreadContext, lane)},
      {"%warpid", offsetof(ThreadContext, warp)},
      {"%smid", offsetof(ThreadContext, multiprocessor)},
      {"%nsmid", offsetof(ThreadContext, multiprocessorCount)},
      {"%dynamic_smem_size", offsetof(ThreadContext, dynamicSharedBytes)},
  };
  if (auto entry = fields.find(name); entry != fields.end())
    return field(entry->second);
  static const std::unordered_map<std::string, size_t> triples = {
      {"%tid", offsetof(ThreadContext, tid)},
      {"%ntid", offsetof(ThreadContext, ntid)},
      {"%ctaid", offsetof(ThreadContext, ctaid)},
      {"%nctaid", offsetof(ThreadContext, nctaid)},
  };
  if (name.size() > 2 && name[name.size() - 2] == '.')
    if (auto entry = triples.find(name.substr(0, name.size() - 2)); entry != triples.end())
      switch (name.back()) {
      case 'x':
      case 'y':
      case 'z':
        return field(entry->second + 4 * static_cast<size_t>(name.back() - 'x'));
      case 'w':
        return builder.getInt32(0);
      default:
        break;
      }
  if (name == "%nwarpid") {
    Value *threads = builder.CreateMul(
        builder.CreateMul(field(offsetof(ThreadContext, ntid)), field(offsetof(ThreadContext, ntid) + 4)),
        field(offsetof(ThreadContext, ntid) + 8));
    return builder.CreateLShr(builder.CreateAdd(threads, builder.getInt32(31)), 5);
  }
  if (name == "%gridid")
    return contextField(offsetof(ThreadContext, gridId), builder.getInt64Ty());
  if (name.rfind("%lanemask_", 0) == 0) {
    Value *lane = field(offsetof(ThreadContext, lane));
    Value *own = builder.CreateShl(builder.getInt32(1), lane);
    Value *below = builder.CreateSub(own, builder.getInt32(1));
    std::string which = name.substr(10);
    if (which == "eq")
      return own;
    if (which == "lt")
      return below;
    if (which == "le")
      return builder.CreateOr(below, own);
    if (which == "ge")
      return builder.CreateNot(below);
    if (which == "gt")
      return builder.CreateNot(builder.CreateOr(below, own));
  }
  if (name == "%clock" || name == "%clock64" || name == "%clock_hi") {
    Value *clock = call("emuClock", builder.getInt64Ty(), {});
    return name == "%clock_hi" ? builder.CreateLShr(clock, 32) : clock;
  }
  if (name == "%globaltimer" || name == "%globaltimer_lo" || name == "%globaltimer_hi") {
    Value *time = call("emuNanoseconds", builder.getInt64Ty(), {});
    return name == "%globaltimer_hi" ? builder.CreateLShr(time, 32) : time;
  }
  // Without clusters, every block is a cluster of its own.
  if (name == "%is_explicit_cluster" || name == "%cluster_ctarank" || name.rfind("%cluster_ctaid.", 0) == 0)
    return builder.getInt32(0);
  if (name == "%cluster_nctarank" || name.rfind("%cluster_nctaid.", 0) == 0)
    return builder.getInt32(1);
  fail("unknown register '" + name + "'");
}

} // namespace nncc::cuemu
