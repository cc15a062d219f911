// Branches, calls, returns, barriers.
#include "tools/cuda-emulator/translate/FunctionTranslator.h"

using namespace llvm;

namespace nncc::cuemu {

void FunctionTranslator::addControlHandlers(Table &table) {
  table["bra"] = &FunctionTranslator::branch;
  table["brx"] = &FunctionTranslator::branchIndexed;
  table["ret"] = table["exit"] = &FunctionTranslator::returnOrExit;
  table["trap"] = table["brkpt"] = &FunctionTranslator::trap;
  table["call"] = &FunctionTranslator::callFunction;
  table["bar"] = table["barrier"] = &FunctionTranslator::barrier;
}

void FunctionTranslator::branch(Modifiers &m) {
  m.take("uni");
  expectOperands(1);
  BasicBlock *target = label(operand(0).name);
  if (!current->guard) {
    builder.CreateBr(target);
    return;
  }
  Operand predicate;
  predicate.kind = Operand::Kind::Name;
  predicate.name = current->guard->predicate;
  predicate.negated = current->guard->negated;
  BasicBlock *next = newBlock("next");
  builder.CreateCondBr(readPredicate(predicate), target, next);
  builder.SetInsertPoint(next);
}

void FunctionTranslator::branchIndexed(Modifiers &m) {
  m.require("idx", {"idx"});
  m.take("uni");
  expectOperands(2);
  auto list = branchTargets.find(operand(1).name);
  if (list == branchTargets.end())
    fail("'" + operand(1).name + "' is not a list of branch targets");
  // An index out of range is undefined; it goes to the last target.
  SwitchInst *jump = builder.CreateSwitch(read(operand(0), Type::U32), label(list->second.back()));
  for (size_t i = 0; i + 1 < list->second.size(); i++)
    jump->addCase(builder.getInt32(static_cast<uint32_t>(i)), label(list->second[i]));
}

void FunctionTranslator::returnOrExit(Modifiers &m) {
  m.take("uni");
  expectOperands(0);
  leaveFrame();
  if (m.opcode() == "exit" && !function.isEntry)
    call("emuExit", builder.getVoidTy(), {context()}); // does not come back
  builder.CreateRetVoid();
}

void FunctionTranslator::trap(Modifiers &) {
  expectOperands(0);
  call("emuTrap", builder.getVoidTy(), {context(), site()}); // does not come back
  leaveFrame();
  builder.CreateRetVoid();
}

// call{.uni} (results), function, (arguments); without results or arguments the lists are left out.
void FunctionTranslator::callFunction(Modifiers &m) {
  m.take("uni");
  expectOperands(1, 4);
  size_t next = 0;
  const Operand *results = nullptr, *arguments = nullptr;
  if (operand(0).kind == Operand::Kind::List)
    results = &operand(next++);
  if (next >= current->operands.size() || operand(next).kind != Operand::Kind::Name)
    fail("expected the name of a function in a call");
  const std::string &name = operand(next++).name;
  if (next < current->operands.size() && operand(next).kind == Operand::Kind::List)
    arguments = &operand(next++);
  if (next != current->operands.size())
    fail("calls through pointers are not supported");
  auto target = parent.functions.find(name);
  if (target == parent.functions.end())
    fail("call of '" + name + "', which is not declared");
  if (!target->second.llvm) {
    if (!callBuiltin(name, results, arguments))
      fail("call of external function '" + name + "', which has no body in this module");
    return;
  }
  const ptx::Function &callee = *target->second.ptx;
  size_t resultCount = results ? results->elements.size() : 0;
  size_t argumentCount = arguments ? arguments->elements.size() : 0;
  if (resultCount != callee.results.size() || argumentCount != callee.parameters.size())
    fail("call of '" + name + "' with " + std::to_string(resultCount) + " results and " +
         std::to_string(argumentCount) + " arguments, but it has " + std::to_string(callee.results.size()) +
         " and " + std::to_string(callee.parameters.size()));
  SmallVector<Value *, 8> values = {context()};
  auto add = [&](const Operand &each) {
    Symbol &symbol = lookUp(each.name);
    if (symbol.kind != Symbol::Kind::Memory || !symbol.pointer)
      fail("argument '" + each.name + "' of a call must be a .param variable");
    values.push_back(symbol.pointer);
  };
  for (size_t i = 0; i < resultCount; i++)
    add(results->elements[i]);
  for (size_t i = 0; i < argumentCount; i++)
    add(arguments->elements[i]);
  builder.CreateCall(target->second.llvm, values);
}

// The functions that the CUDA headers declare and the driver provides.
bool FunctionTranslator::callBuiltin(const std::string &name, const Operand *results, const Operand *arguments) {
  auto argument = [&](size_t index, llvm::Type *type) -> Value * {
    if (!arguments || index >= arguments->elements.size())
      fail("too few arguments in the call of '" + name + "'");
    return builder.CreateLoad(type, lookUp(arguments->elements[index].name).pointer);
  };
  llvm::Type *pointerType = builder.getPtrTy();
  if (name == "vprintf") {
    Value *printed = call("emuPrintf", builder.getInt32Ty(), {context(), argument(0, pointerType), argument(1, pointerType)});
    if (results)
      builder.CreateStore(printed, lookUp(results->elements.at(0).name).pointer);
    return true;
  }
  if (name == "__assertfail") {
    call("emuAssertFail", builder.getVoidTy(),
         {context(), argument(0, pointerType), argument(1, pointerType), argument(2, builder.getInt32Ty()),
          argument(3, pointerType), site()});
    return true;
  }
  return false;
}

// bar.sync a{, b}; barrier{.cta}.sync{.aligned}; .arrive; .red.{popc.u32, and.pred, or.pred}; bar.warp.sync.
void FunctionTranslator::barrier(Modifiers &m) {
  bool isBar = m.opcode() == "bar";
  if (isBar && m.take("warp")) {
    m.require("sync", {"sync"});
    expectOperands(1);
    call("emuWarpSync", builder.getVoidTy(), {context(), read(operand(0), Type::U32), site()});
    return;
  }
  m.take("cta");
  std::string kind = m.require("sync, arrive or red", {"sync", "arrive", "red"});
  Value *aligned = builder.getInt32(m.take("aligned") || isBar);
  auto countOr0 = [&](size_t index) -> Value * {
    return index < current->operands.size() ? read(operand(index), Type::U32) : builder.getInt32(0);
  };
  if (kind == "sync") {
    expectOperands(1, 2);
    call("emuBarrier", builder.getVoidTy(), {context(), read(operand(0), Type::U32), countOr0(1), aligned, site()});
  } else if (kind == "arrive") {
    expectOperands(2);
    call("emuBarrierArrive", builder.getVoidTy(),
         {context(), read(operand(0), Type::U32), read(operand(1), Type::U32), site()});
  } else {
    std::string op = m.require("popc, and, or", {"popc", "and", "or"});
    m.takeType();
    expectOperands(3, 4);
    bool hasCount = current->operands.size() == 4;
    ReduceOp reduce = op == "popc" ? ReduceOp::PopulationCount : op == "and" ? ReduceOp::And : ReduceOp::Or;
    Value *predicate = builder.CreateZExt(readPredicate(operand(hasCount ? 3 : 2)), builder.getInt32Ty());
    Value *result = call("emuBarrierReduce", builder.getInt32Ty(),
                         {context(), read(operand(1), Type::U32), hasCount ? countOr0(2) : builder.getInt32(0),
                          builder.getInt32(static_cast<uint32_t>(reduce)), predicate, site()});
    if (op == "popc")
      write(operand(0), Type::U32, result);
    else
      writePredicate(operand(0), builder.CreateICmpNE(result, builder.getInt32(0)));
  }
}

} // namespace nncc::cuemu
