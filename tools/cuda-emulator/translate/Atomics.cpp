// atom, red, fences and cp.async.
#include "tools/cuda-emulator/translate/FunctionTranslator.h"

using namespace llvm;

namespace nncc::cuemu {

Value *FunctionTranslator::compareAndSwapLoop(int bits, Value *pointer, AtomicOrdering ordering,
                                              function_ref<Value *(Value *)> update) {
  IntegerType *type = intType(bits);
  Value *initial = builder.CreateAlignedLoad(type, pointer, Align(static_cast<uint64_t>(bits / 8)));
  BasicBlock *before = builder.GetInsertBlock(), *loop = newBlock("cas"), *done = newBlock("done");
  builder.CreateBr(loop);
  builder.SetInsertPoint(loop);
  PHINode *expected = builder.CreatePHI(type, 2);
  expected->addIncoming(initial, before);
  Value *desired = update(expected);
  Value *result = builder.CreateAtomicCmpXchg(pointer, expected, desired, MaybeAlign(static_cast<uint64_t>(bits / 8)),
                                              ordering, AtomicOrdering::Monotonic);
  Value *found = builder.CreateExtractValue(result, 0);
  expected->addIncoming(found, builder.GetInsertBlock());
  builder.CreateCondBr(builder.CreateExtractValue(result, 1), done, loop);
  builder.SetInsertPoint(done);
  return found;
}

Value *FunctionTranslator::atomicOperation(const std::string &op, Type type, Value *pointer, Value *value,
                                           AtomicOrdering ordering) {
  bool isSignedType = ptx::isSigned(type);
  int bits = ptx::bitWidth(type);
  if (is16Bit(type)) {
    return compareAndSwapLoop(bits, pointer, ordering, [&](Value *old) {
      return mapHalves(type, {old, value}, [&](ArrayRef<Value *> in) -> Value * {
        if (op == "add")
          return builder.CreateFAdd(in[0], in[1]);
        if (op == "min" || op == "max")
          return builder.CreateBinaryIntrinsic(op == "min" ? Intrinsic::minimumnum : Intrinsic::maximumnum, in[0], in[1]);
        fail("operation ." + op + " is not allowed for type ." + std::string(ptx::typeName(type)));
      });
    });
  }
  static const std::unordered_map<std::string, AtomicRMWInst::BinOp> operations = {
      {"and", AtomicRMWInst::And},        {"or", AtomicRMWInst::Or},         {"xor", AtomicRMWInst::Xor},
      {"exch", AtomicRMWInst::Xchg},      {"add", AtomicRMWInst::Add},       {"inc", AtomicRMWInst::UIncWrap},
      {"dec", AtomicRMWInst::UDecWrap},   {"min", AtomicRMWInst::UMin},      {"max", AtomicRMWInst::UMax}};
  AtomicRMWInst::BinOp operation = operations.at(op);
  if (isSignedType && op == "min")
    operation = AtomicRMWInst::Min;
  if (isSignedType && op == "max")
    operation = AtomicRMWInst::Max;
  if (ptx::isFloat(type)) {
    if (op == "add")
      operation = AtomicRMWInst::FAdd;
    else if (op != "exch")
      fail("operation ." + op + " is not allowed for type ." + std::string(ptx::typeName(type)));
  }
  return builder.CreateAtomicRMW(operation, pointer, value, MaybeAlign(static_cast<uint64_t>(bits / 8)), ordering);
}

void FunctionTranslator::atomic(Modifiers &m) {
  bool isReduction = m.opcode() == "red";
  if (isReduction && m.take("async"))
    m.fail("red.async is not supported");
  MemoryModes modes = takeMemoryModes(m);
  if (modes.vectorSize != 1)
    m.fail("vector atomics are not supported");
  std::string op = m.require("an operation", {"and", "or", "xor", "exch", "add", "inc", "dec", "min", "max", "cas"});
  m.take("noftz");
  Type type = m.takeType();
  int bits = ptx::bitWidth(type);
  if (bits > 64)
    m.unsupportedType(type);
  size_t first = isReduction ? 0 : 1;
  expectOperands(first + (op == "cas" ? 3 : 2), first + (op == "cas" ? 4 : 3));
  uint32_t flags = AccessWrite | AccessAtomic | (modes.acquires ? AccessAcquire : 0) | (modes.releases ? AccessRelease : 0);
  Value *address = checkedPointer(operand(first), modes.space, bits / 8, flags);
  AtomicOrdering ordering = modes.acquires && modes.releases ? AtomicOrdering::AcquireRelease
                            : modes.acquires                 ? AtomicOrdering::Acquire
                            : modes.releases                 ? AtomicOrdering::Release
                                                             : AtomicOrdering::Monotonic;
  if (op == "cas" || op == "exch")
    call("emuYield", builder.getVoidTy(), {context()}); // it may be a lock that another thread holds
  Value *old = nullptr;
  if (op == "cas") {
    Value *expected = toInt(read(operand(first + 1), type)), *desired = toInt(read(operand(first + 2), type));
    Value *result = builder.CreateAtomicCmpXchg(address, expected, desired, MaybeAlign(static_cast<uint64_t>(bits / 8)),
                                                ordering, AtomicOrdering::Monotonic);
    old = builder.CreateExtractValue(result, 0);
  } else {
    old = atomicOperation(op, type, address, read(operand(first + 1), type), ordering);
  }
  if (!isReduction)
    write(operand(0), type, toBits(old, llvmType(type)));
}

// Every fence is as strong as the strongest.
void FunctionTranslator::fence(Modifiers &m) {
  m.takeAll();
  builder.CreateFence(AtomicOrdering::SequentiallyConsistent);
  if (parent.options.checked)
    call("emuFence", builder.getVoidTy(), {context(), site()});
}

// cp.async.{ca,cg}, cp.async.commit_group, cp.async.wait_group N, cp.async.wait_all. In plain mode the copy
// is done where it is issued, which is one of the orders that a device may choose.
void FunctionTranslator::copyAsync(Modifiers &m) {
  if (!m.take("async"))
    fail("unknown instruction '" + current->fullName() + "'");
  bool isChecked = parent.options.checked;
  if (m.take("commit_group")) {
    if (isChecked)
      call("emuCopyCommit", builder.getVoidTy(), {context()});
    return;
  }
  if (m.take("wait_all")) {
    if (isChecked) {
      call("emuCopyCommit", builder.getVoidTy(), {context()});
      call("emuCopyWait", builder.getVoidTy(), {context(), builder.getInt32(0)});
    }
    return;
  }
  if (m.take("wait_group")) {
    expectOperands(1);
    if (isChecked)
      call("emuCopyWait", builder.getVoidTy(), {context(), read(operand(0), Type::U32)});
    return;
  }
  std::string cache = m.require("ca or cg", {"ca", "cg"});
  m.require("shared", {"shared", "shared::cta"});
  m.require("global", {"global"});
  m.take("L2::cache_hint");
  m.takeOneOf({"L2::64B", "L2::128B", "L2::256B"});
  expectOperands(3, 5);
  const Operand &size = operand(2);
  bool isLegal = size.kind == Operand::Kind::Integer && (size.integer == 16 || (cache == "ca" && (size.integer == 4 || size.integer == 8)));
  if (!isLegal)
    fail("cp.async." + cache + " copies " + (cache == "cg" ? "16" : "4, 8 or 16") + " bytes");
  Value *to = pointer(operand(0), Space::Shared), *from = pointer(operand(1), Space::Global);
  Value *sizeBytes = builder.getInt32(static_cast<uint32_t>(size.integer)), *sourceBytes = sizeBytes;
  if (current->operands.size() > 3) {
    // Either the number of bytes to read, the rest being zero, or a predicate that skips the reading.
    const Operand &source = operand(3);
    Symbol *symbol = source.kind == Operand::Kind::Name ? find(source.name) : nullptr;
    sourceBytes = symbol && symbol->type == Type::Pred
                      ? builder.CreateSelect(readPredicate(source), builder.getInt32(0), sizeBytes)
                      : read(source, Type::U32);
  }
  if (!isChecked && sourceBytes == sizeBytes) {
    builder.CreateMemCpy(to, Align(1), from, Align(1), static_cast<uint64_t>(size.integer));
    return;
  }
  call("emuCopyAsync", builder.getVoidTy(), {context(), to, from, sizeBytes, sourceBytes, site()});
}

} // namespace nncc::cuemu
