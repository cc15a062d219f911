// The walk over one function's statements: scopes, registers, labels, guards. What instructions do stands
// in the other files of this folder.
#include "tools/cuda-emulator/translate/FunctionTranslator.h"

#include <cstddef>

using namespace llvm;

namespace nncc::cuemu {

FunctionTranslator::FunctionTranslator(ModuleTranslator &parent, const ptx::Function &function,
                                       llvm::Function *llvmFunction, Kernel *kernel)
    : parent(parent), function(function), llvmFunction(llvmFunction), kernel(kernel),
      builder(llvmFunction->getContext()) {}

const FunctionTranslator::Table &FunctionTranslator::handlers() {
  static const Table table = [] {
    Table handlers;
    addIntegerHandlers(handlers);
    addBitHandlers(handlers);
    addFloatHandlers(handlers);
    addMoveHandlers(handlers);
    addMemoryHandlers(handlers);
    addControlHandlers(handlers);
    addWarpHandlers(handlers);
    addMatrixHandlers(handlers);
    return handlers;
  }();
  return table;
}

void FunctionTranslator::fail(const std::string &message) const {
  throw ptx::PtxError(currentLine, message);
}

void FunctionTranslator::translate() {
  currentLine = function.line;
  // The entry block holds the slots of registers and stays open until the end.
  entryBlock = newBlock("entry");
  builder.SetInsertPoint(entryBlock);
  scopes.emplace_back();
  declareParameters();
  countRegisterUses();
  createLabels();
  BasicBlock *start = newBlock("start");
  builder.SetInsertPoint(start);
  for (const ptx::Statement &each : function.body)
    statement(each);
  finishWithReturn();
  builder.SetInsertPoint(entryBlock);
  builder.CreateBr(start);
}

BasicBlock *FunctionTranslator::newBlock(const char *name) {
  return BasicBlock::Create(builder.getContext(), name, llvmFunction);
}

// Kernels read parameters from the launch's buffer; device functions get a pointer to each parameter and
// result in the caller's frame.
void FunctionTranslator::declareParameters() {
  auto declare = [&](const ptx::Variable &variable, Value *pointer) {
    Symbol symbol;
    symbol.kind = Symbol::Kind::Memory;
    symbol.type = variable.type;
    symbol.space = Space::Param;
    symbol.pointer = pointer;
    symbol.sizeBytes = variable.sizeBytes();
    scopes.back().names[variable.name] = symbol;
  };
  if (function.isEntry) {
    Value *buffer = contextField(offsetof(ThreadContext, parameters), builder.getPtrTy());
    for (size_t i = 0; i < function.parameters.size(); i++)
      declare(function.parameters[i],
              builder.CreateConstGEP1_64(builder.getInt8Ty(), buffer,
                                         static_cast<uint64_t>(kernel->parameters[i].offsetBytes)));
    return;
  }
  unsigned argument = 1;
  for (const ptx::Variable &variable : function.results)
    declare(variable, llvmFunction->getArg(argument++));
  for (const ptx::Variable &variable : function.parameters)
    declare(variable, llvmFunction->getArg(argument++));
}

void FunctionTranslator::createLabels() {
  for (const ptx::Statement &each : function.body) {
    if (each.kind == ptx::Statement::Kind::Label &&
        !labels.emplace(each.label, newBlock("label")).second)
      throw ptx::PtxError(each.line, "label '" + each.label + "' is defined twice");
    if (each.kind == ptx::Statement::Kind::BranchTargets)
      branchTargets[each.label] = each.targets;
  }
}

// Registers of .b32 and .b64 type may hold floats. A slot of the type that most uses have keeps
// conversions between register files out of loops.
void FunctionTranslator::countRegisterUses() {
  for (const ptx::Statement &each : function.body) {
    if (each.kind != ptx::Statement::Kind::Instruction)
      continue;
    std::vector<Type> types;
    for (const std::string &modifier : each.instruction.modifiers)
      if (Type type = ptx::parseType(modifier); type != Type::None)
        types.push_back(type);
    if (types.empty())
      continue;
    auto vote = [&](const Operand &operand, Type type) {
      int weight = type == Type::F32 || type == Type::F64                    ? 1
                   : ptx::isSigned(type) || type == Type::U32 || type == Type::U64 ? -1
                                                                             : 0;
      if (operand.kind == Operand::Kind::Name)
        floatVotes[operand.name] += weight;
      for (const Operand &element : operand.elements)
        if (element.kind == Operand::Kind::Name)
          floatVotes[element.name] += weight;
    };
    for (size_t i = 0; i < each.instruction.operands.size(); i++)
      vote(each.instruction.operands[i], i == 0 ? types.front() : types.back());
  }
}

void FunctionTranslator::statement(const ptx::Statement &statement) {
  currentLine = statement.line;
  switch (statement.kind) {
  case ptx::Statement::Kind::Instruction:
    instruction(statement.instruction);
    return;
  case ptx::Statement::Kind::Label: {
    BasicBlock *block = labels.at(statement.label);
    if (!builder.GetInsertBlock()->getTerminator())
      builder.CreateBr(block);
    builder.SetInsertPoint(block);
    return;
  }
  case ptx::Statement::Kind::Registers:
    if (statement.registers.count >= 0)
      scopes.back().ranges.push_back(statement.registers);
    else
      scopes.back().names[statement.registers.name] =
          makeRegister(statement.registers.type, statement.registers.name);
    return;
  case ptx::Statement::Kind::Variable:
    declareVariable(statement.variable);
    return;
  case ptx::Statement::Kind::BlockBegin:
    scopes.emplace_back();
    return;
  case ptx::Statement::Kind::BlockEnd:
    scopes.pop_back();
    return;
  case ptx::Statement::Kind::BranchTargets:
    return;
  }
}

void FunctionTranslator::instruction(const ptx::Instruction &instruction) {
  auto entry = handlers().find(instruction.opcode);
  if (entry == handlers().end())
    fail("unknown instruction '" + instruction.fullName() + "'");
  current = &instruction;
  Modifiers modifiers(instruction);
  // A guarded branch is one conditional branch; see branch().
  if (!instruction.guard || instruction.opcode == "bra") {
    (this->*entry->second)(modifiers);
  } else {
    Operand predicate;
    predicate.kind = Operand::Kind::Name;
    predicate.name = instruction.guard->predicate;
    predicate.negated = instruction.guard->negated;
    BasicBlock *guarded = newBlock("guarded");
    BasicBlock *rest = newBlock("rest");
    builder.CreateCondBr(readPredicate(predicate), guarded, rest);
    builder.SetInsertPoint(guarded);
    (this->*entry->second)(modifiers);
    if (!builder.GetInsertBlock()->getTerminator())
      builder.CreateBr(rest);
    builder.SetInsertPoint(rest);
  }
  modifiers.finish();
  // What follows a jump is reached by a label only; it gets a block of its own that LLVM removes.
  if (builder.GetInsertBlock()->getTerminator())
    builder.SetInsertPoint(newBlock("unreached"));
}

void FunctionTranslator::declareVariable(const ptx::Variable &variable) {
  Symbol symbol;
  symbol.kind = Symbol::Kind::Memory;
  symbol.type = variable.type;
  symbol.space = variable.space;
  symbol.sizeBytes = variable.sizeBytes();
  switch (variable.space) {
  case Space::Shared: {
    if (variable.isArray && variable.elementCount == 0) {
      symbol.windowOffset =
          contextField(offsetof(ThreadContext, dynamicSharedOffset), builder.getInt32Ty());
      break;
    }
    SharedVariable placed;
    if (kernel) {
      placed = parent.placeShared(variable, kernel->sharedWindowBytes);
      kernel->staticSharedBytes = placed.sizeBytes +
          (kernel->staticSharedBytes + std::max<int64_t>(variable.alignBytes, 1) - 1) /
              std::max<int64_t>(variable.alignBytes, 1) * std::max<int64_t>(variable.alignBytes, 1);
      kernel->shared.push_back(placed);
    } else {
      placed = parent.commonShared.at(function.name + "/" + variable.name);
    }
    symbol.windowOffset = builder.getInt32(static_cast<uint32_t>(placed.offsetBytes));
    break;
  }
  case Space::Local:
  case Space::Param: {
    // Frames are made once, in the entry block, also for declarations inside loops.
    IRBuilder<>::InsertPointGuard guard(builder);
    builder.SetInsertPoint(entryBlock);
    auto bytes = static_cast<uint64_t>(std::max<int64_t>(symbol.sizeBytes, 1));
    AllocaInst *slot = builder.CreateAlloca(ArrayType::get(builder.getInt8Ty(), bytes));
    slot->setAlignment(Align(static_cast<uint64_t>(std::max<int64_t>(variable.alignBytes, 16))));
    symbol.pointer = slot;
    if (variable.space == Space::Local) {
      if (kernel)
        kernel->localBytes += symbol.sizeBytes;
      if (parent.options.checked) {
        call("emuEnterFrame", builder.getVoidTy(), {context(), slot, builder.getInt64(bytes)});
        localVariables.push_back(slot);
      }
    }
    break;
  }
  default:
    fail("variable '" + variable.name + "' of this state space inside a function is not supported");
  }
  scopes.back().names[variable.name] = symbol;
}

void FunctionTranslator::leaveFrame() {
  for (AllocaInst *slot : localVariables)
    call("emuLeaveFrame", builder.getVoidTy(), {context(), slot});
}

void FunctionTranslator::finishWithReturn() {
  if (builder.GetInsertBlock()->getTerminator())
    return;
  leaveFrame();
  builder.CreateRetVoid();
}

FunctionTranslator::Symbol FunctionTranslator::makeRegister(Type type, const std::string &name) {
  llvm::Type *slotType = llvmType(type);
  auto votes = floatVotes.find(name);
  if (votes != floatVotes.end() && votes->second > 0) {
    if (type == Type::B32)
      slotType = builder.getFloatTy();
    else if (type == Type::B64)
      slotType = builder.getDoubleTy();
  }
  IRBuilder<>::InsertPointGuard guard(builder);
  builder.SetInsertPoint(entryBlock);
  Symbol symbol;
  symbol.type = type;
  symbol.slot = builder.CreateAlloca(slotType);
  builder.CreateStore(Constant::getNullValue(slotType), symbol.slot);
  return symbol;
}

// The innermost scope that declares the name. A register of a range (%r<10>) is made at its first use.
FunctionTranslator::Symbol *FunctionTranslator::find(const std::string &name) {
  size_t digits = name.size();
  while (digits > 0 && std::isdigit(static_cast<unsigned char>(name[digits - 1])))
    digits--;
  for (auto scope = scopes.rbegin(); scope != scopes.rend(); ++scope) {
    if (auto entry = scope->names.find(name); entry != scope->names.end())
      return &entry->second;
    if (digits == name.size() || name.size() - digits > 9)
      continue;
    for (const ptx::RegisterDeclaration &range : scope->ranges)
      if (name.compare(0, digits, range.name) == 0 && digits == range.name.size() &&
          std::stoi(name.substr(digits)) < range.count)
        return &(scope->names[name] = makeRegister(range.type, name));
  }
  // Variables of the module.
  Symbol symbol;
  symbol.kind = Symbol::Kind::Memory;
  if (auto variable = parent.variables.find(name); variable != parent.variables.end()) {
    symbol.space = Space::Global;
    symbol.pointer = builder.CreateIntToPtr(builder.getInt64(variable->second), builder.getPtrTy());
  } else if (auto shared = parent.commonShared.find(name); shared != parent.commonShared.end()) {
    symbol.space = Space::Shared;
    symbol.windowOffset = builder.getInt32(static_cast<uint32_t>(shared->second.offsetBytes));
  } else if (parent.dynamicShared.count(name)) {
    symbol.space = Space::Shared;
    // In the entry block, so that the value reaches every use.
    IRBuilder<>::InsertPointGuard guard(builder);
    builder.SetInsertPoint(entryBlock);
    symbol.windowOffset =
        contextField(offsetof(ThreadContext, dynamicSharedOffset), builder.getInt32Ty());
  } else {
    return nullptr;
  }
  return &(scopes.front().names[name] = symbol);
}

FunctionTranslator::Symbol &FunctionTranslator::lookUp(const std::string &name) {
  if (Symbol *symbol = find(name))
    return *symbol;
  fail("'" + name + "' is not declared");
}

BasicBlock *FunctionTranslator::label(const std::string &name) {
  auto entry = labels.find(name);
  if (entry == labels.end())
    fail("label '" + name + "' is not defined in this function");
  return entry->second;
}

} // namespace nncc::cuemu
