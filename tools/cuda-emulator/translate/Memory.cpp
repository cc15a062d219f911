// ld and st in every state space, prefetches, and the computation of addresses with the check that
// checked mode puts before each access.
#include "tools/cuda-emulator/translate/FunctionTranslator.h"

#include <cstddef>

using namespace llvm;

namespace nncc::cuemu {

void FunctionTranslator::addMemoryHandlers(Table &table) {
  table["ld"] = table["ldu"] = &FunctionTranslator::load;
  table["st"] = &FunctionTranslator::store;
  table["prefetch"] = table["prefetchu"] = table["applypriority"] = &FunctionTranslator::noEffect;
  table["griddepcontrol"] = table["setmaxnreg"] = table["pmevent"] = &FunctionTranslator::noEffect;
  table["createpolicy"] = &FunctionTranslator::createPolicy;
  table["atom"] = table["red"] = &FunctionTranslator::atomic;
  table["membar"] = table["fence"] = &FunctionTranslator::fence;
  table["cp"] = &FunctionTranslator::copyAsync;
}

FunctionTranslator::MemoryModes FunctionTranslator::takeMemoryModes(Modifiers &m) {
  MemoryModes modes;
  std::string order = m.takeOneOf({"weak", "relaxed", "acquire", "release", "acq_rel", "volatile", "mmio"});
  modes.isVolatile = order == "volatile" || order == "mmio";
  modes.acquires = order == "acquire" || order == "acq_rel";
  modes.releases = order == "release" || order == "acq_rel";
  modes.isAtomic = modes.acquires || modes.releases || order == "relaxed";
  m.takeOneOf({"cta", "cluster", "gpu", "sys"});
  std::string space = m.takeOneOf({"global", "shared", "shared::cta", "local", "const", "param",
                                   "param::entry", "param::func"});
  if (space == "global")
    modes.space = Space::Global;
  else if (space.rfind("shared", 0) == 0)
    modes.space = Space::Shared;
  else if (space == "local")
    modes.space = Space::Local;
  else if (space == "const")
    modes.space = Space::Const;
  else if (space.rfind("param", 0) == 0)
    modes.space = Space::Param;
  // Where a cache keeps the line has no effect here.
  m.takeOneOf({"ca", "cg", "cs", "lu", "cv", "wb", "wt"});
  m.take("nc");
  m.take("unified");
  m.takeOneOf({"L1::evict_normal", "L1::evict_unchanged", "L1::evict_first", "L1::evict_last", "L1::no_allocate"});
  m.take("L2::cache_hint");
  m.takeOneOf({"L2::evict_normal", "L2::evict_first", "L2::evict_last"});
  m.takeOneOf({"L2::64B", "L2::128B", "L2::256B"});
  std::string vector = m.takeOneOf({"v2", "v4", "v8"});
  if (!vector.empty())
    modes.vectorSize = vector[1] - '0';
  return modes;
}

Value *FunctionTranslator::pointer(const Operand &address, Space space) {
  if (address.kind != Operand::Kind::Address)
    fail("expected an address in '" + current->fullName() + "'");
  llvm::Type *byte = builder.getInt8Ty();
  Value *base = nullptr;
  Symbol *symbol = address.name.empty() ? nullptr : &lookUp(address.name);
  if (symbol && symbol->kind == Symbol::Kind::Memory) {
    if (symbol->windowOffset) {
      Value *shared = contextField(offsetof(ThreadContext, shared), builder.getPtrTy());
      base = builder.CreateGEP(byte, shared, builder.CreateZExt(symbol->windowOffset, builder.getInt64Ty()));
    } else {
      base = symbol->pointer;
    }
    return builder.CreateConstGEP1_64(byte, base, static_cast<uint64_t>(address.integer));
  }
  if (!symbol)
    base = builder.getInt64(0);
  else if (symbol->slot->getAllocatedType()->getPrimitiveSizeInBits() == 64)
    base = toInt(readRaw(*symbol, 64));
  else if (space == Space::Shared)
    base = builder.CreateZExt(toInt(readRaw(*symbol, 32)), builder.getInt64Ty());
  else
    fail("an address outside shared memory needs a 64-bit register");
  Value *start = space == Space::Shared
                     ? builder.CreateGEP(byte, contextField(offsetof(ThreadContext, shared), builder.getPtrTy()), base)
                     : builder.CreateIntToPtr(base, builder.getPtrTy());
  return builder.CreateConstGEP1_64(byte, start, static_cast<uint64_t>(address.integer));
}

Value *FunctionTranslator::checkedPointer(const Operand &address, Space space, int sizeBytes, uint32_t flags) {
  Value *result = pointer(address, space);
  if (!parent.options.checked || space == Space::Param)
    return result;
  if (space == Space::Shared)
    flags |= AccessShared;
  else if (space == Space::Global || space == Space::Const)
    flags |= AccessGlobal;
  else if (space == Space::Local)
    flags |= AccessLocal;
  call("emuCheckAccess", builder.getVoidTy(),
       {context(), result, builder.getInt32(static_cast<uint32_t>(sizeBytes)), builder.getInt32(flags), site()});
  return result;
}

void FunctionTranslator::load(Modifiers &m) {
  MemoryModes modes = takeMemoryModes(m);
  Type type = m.takeType();
  expectOperands(2, 3);
  const Operand &to = operand(0);
  bool isVector = to.kind == Operand::Kind::Vector;
  size_t count = isVector ? to.elements.size() : 1;
  if (count != static_cast<size_t>(modes.vectorSize))
    fail("'" + current->fullName() + "' loads " + std::to_string(modes.vectorSize) + " values into " +
         std::to_string(count) + " registers");
  int sizeBytes = ptx::bitWidth(type) / 8 * modes.vectorSize;
  uint32_t flags = (modes.isVolatile || modes.isAtomic ? AccessVolatile : 0) | (modes.acquires ? AccessAcquire : 0);
  Value *address = checkedPointer(operand(1), modes.space, sizeBytes, flags);
  if (modes.isVolatile || modes.isAtomic)
    call("emuYield", builder.getVoidTy(), {context()}); // it may be a wait for another thread
  llvm::Type *elementType = llvmType(type);
  if (!isVector) {
    LoadInst *value = builder.CreateAlignedLoad(elementType, address, Align(static_cast<uint64_t>(sizeBytes)),
                                                modes.isVolatile);
    if (modes.isAtomic && sizeBytes <= 8)
      value->setAtomic(modes.acquires ? AtomicOrdering::Acquire : AtomicOrdering::Monotonic);
    write(to, type, value);
    return;
  }
  // Byte-aligned for the host's sake: a misaligned vector access is a report in checked mode, not a fault.
  auto *vectorType = FixedVectorType::get(elementType, static_cast<unsigned>(count));
  Value *vector = builder.CreateAlignedLoad(vectorType, address, Align(1), modes.isVolatile);
  for (size_t i = 0; i < count; i++)
    write(to.elements[i], type, builder.CreateExtractElement(vector, i));
}

void FunctionTranslator::store(Modifiers &m) {
  MemoryModes modes = takeMemoryModes(m);
  Type type = m.takeType();
  expectOperands(2, 3);
  const Operand &from = operand(1);
  bool isVector = from.kind == Operand::Kind::Vector;
  size_t count = isVector ? from.elements.size() : 1;
  if (count != static_cast<size_t>(modes.vectorSize))
    fail("'" + current->fullName() + "' stores " + std::to_string(modes.vectorSize) + " values from " +
         std::to_string(count) + " registers");
  int sizeBytes = ptx::bitWidth(type) / 8 * modes.vectorSize;
  uint32_t flags = AccessWrite | (modes.isVolatile || modes.isAtomic ? AccessVolatile : 0) |
                   (modes.releases ? AccessRelease : 0);
  Value *address = checkedPointer(operand(0), modes.space, sizeBytes, flags);
  if (!isVector) {
    StoreInst *stored = builder.CreateAlignedStore(read(from, type), address,
                                                   Align(static_cast<uint64_t>(sizeBytes)), modes.isVolatile);
    if (modes.isAtomic && sizeBytes <= 8)
      stored->setAtomic(modes.releases ? AtomicOrdering::Release : AtomicOrdering::Monotonic);
    return;
  }
  Value *vector = PoisonValue::get(FixedVectorType::get(llvmType(type), static_cast<unsigned>(count)));
  for (size_t i = 0; i < count; i++)
    vector = builder.CreateInsertElement(vector, read(from.elements[i], type), i);
  builder.CreateAlignedStore(vector, address, Align(1), modes.isVolatile);
}

// Hints to caches and schedulers.
void FunctionTranslator::noEffect(Modifiers &m) { m.takeAll(); }

// createpolicy: an opaque value that only cache hints read.
void FunctionTranslator::createPolicy(Modifiers &m) {
  m.takeAll();
  expectOperands(1, 4);
  write(operand(0), Type::B64, builder.getInt64(0));
}

} // namespace nncc::cuemu
