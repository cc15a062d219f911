// Instructions in which the threads of a warp take part together. The runtime (exec/WarpOps.cpp) waits for
// the lanes that the member mask names.
#include "tools/cuda-emulator/translate/FunctionTranslator.h"

using namespace llvm;

namespace nncc::cuemu {

void FunctionTranslator::addWarpHandlers(Table &table) {
  table["shfl"] = &FunctionTranslator::shuffle;
  table["vote"] = &FunctionTranslator::vote;
  table["match"] = &FunctionTranslator::match;
  table["redux"] = &FunctionTranslator::redux;
  table["activemask"] = &FunctionTranslator::activeMask;
  table["elect"] = &FunctionTranslator::electOne;
  table["nanosleep"] = &FunctionTranslator::nanosleep;
}

// shfl.sync.mode.b32 d{|p}, a, b, c, mask.
void FunctionTranslator::shuffle(Modifiers &m) {
  m.require("sync (forms without it are not supported)", {"sync"});
  std::string name = m.require("a mode", {"up", "down", "bfly", "idx"});
  m.takeType();
  expectOperands(5);
  ShuffleMode mode = name == "up"     ? ShuffleMode::Up
                     : name == "down" ? ShuffleMode::Down
                     : name == "bfly" ? ShuffleMode::Butterfly
                                      : ShuffleMode::Index;
  Value *result = call("emuShuffle", builder.getInt64Ty(),
                       {context(), builder.getInt32(static_cast<uint32_t>(mode)), read(operand(1), Type::B32),
                        read(operand(2), Type::B32), read(operand(3), Type::B32), read(operand(4), Type::B32), site()});
  const Operand &to = operand(0);
  bool isPair = to.kind == Operand::Kind::Pair;
  write(isPair ? to.elements[0] : to, Type::B32, builder.CreateTrunc(result, builder.getInt32Ty()));
  if (isPair)
    writePredicate(to.elements[1], builder.CreateTrunc(builder.CreateLShr(result, 32), builder.getInt1Ty()));
}

// vote.sync.{all,any,uni}.pred and vote.sync.ballot.b32.
void FunctionTranslator::vote(Modifiers &m) {
  m.require("sync (forms without it are not supported)", {"sync"});
  std::string name = m.require("a mode", {"all", "any", "uni", "ballot"});
  m.takeType();
  expectOperands(3);
  VoteMode mode = name == "all"   ? VoteMode::All
                  : name == "any" ? VoteMode::Any
                  : name == "uni" ? VoteMode::Uniform
                                  : VoteMode::Ballot;
  Value *predicate = builder.CreateZExt(readPredicate(operand(1)), builder.getInt32Ty());
  Value *result = call("emuVote", builder.getInt32Ty(),
                       {context(), builder.getInt32(static_cast<uint32_t>(mode)), predicate,
                        read(operand(2), Type::B32), site()});
  if (mode == VoteMode::Ballot)
    write(operand(0), Type::B32, result);
  else
    writePredicate(operand(0), builder.CreateICmpNE(result, builder.getInt32(0)));
}

// match.any.sync.type d, a, mask and match.all.sync.type d|p, a, mask.
void FunctionTranslator::match(Modifiers &m) {
  bool isAll = m.require("any or all", {"any", "all"}) == "all";
  m.require("sync", {"sync"});
  Type type = m.takeType();
  expectOperands(3);
  Value *value = builder.CreateZExt(read(operand(1), type), builder.getInt64Ty());
  Value *result = call("emuMatch", builder.getInt64Ty(),
                       {context(), builder.getInt32(static_cast<uint32_t>(isAll ? MatchMode::All : MatchMode::Any)),
                        value, read(operand(2), Type::B32), site()});
  const Operand &to = operand(0);
  bool isPair = to.kind == Operand::Kind::Pair;
  write(isPair ? to.elements[0] : to, Type::B32, builder.CreateTrunc(result, builder.getInt32Ty()));
  if (isPair)
    writePredicate(to.elements[1], builder.CreateTrunc(builder.CreateLShr(result, 32), builder.getInt1Ty()));
}

void FunctionTranslator::redux(Modifiers &m) {
  m.require("sync", {"sync"});
  std::string name = m.require("an operation", {"add", "min", "max", "and", "or", "xor"});
  Type type = m.takeType();
  if (ptx::isFloat(type))
    m.unsupportedType(type);
  expectOperands(3);
  bool isSignedType = ptx::isSigned(type);
  ReduceOp op = name == "add"   ? ReduceOp::Add
                : name == "and" ? ReduceOp::And
                : name == "or"  ? ReduceOp::Or
                : name == "xor" ? ReduceOp::Xor
                : name == "min" ? (isSignedType ? ReduceOp::MinSigned : ReduceOp::MinUnsigned)
                                : (isSignedType ? ReduceOp::MaxSigned : ReduceOp::MaxUnsigned);
  write(operand(0), type,
        call("emuRedux", builder.getInt32Ty(),
             {context(), builder.getInt32(static_cast<uint32_t>(op)), read(operand(1), type),
              read(operand(2), Type::B32), site()}));
}

void FunctionTranslator::activeMask(Modifiers &m) {
  m.takeType();
  expectOperands(1);
  write(operand(0), Type::B32, call("emuActiveMask", builder.getInt32Ty(), {context()}));
}

// elect.sync d|p, mask: the leader is the lowest lane of the mask.
void FunctionTranslator::electOne(Modifiers &m) {
  m.require("sync", {"sync"});
  expectOperands(2);
  Value *mask = read(operand(1), Type::B32);
  call("emuVote", builder.getInt32Ty(),
       {context(), builder.getInt32(static_cast<uint32_t>(VoteMode::Any)), builder.getInt32(1), mask, site()});
  Value *leader = builder.CreateBinaryIntrinsic(Intrinsic::cttz, mask, builder.getFalse());
  const Operand &to = operand(0);
  if (to.kind != Operand::Kind::Pair)
    fail("elect.sync gives a lane and a predicate: d|p");
  write(to.elements[0], Type::B32, leader);
  writePredicate(to.elements[1], builder.CreateICmpEQ(leader, specialRegister("%laneid")));
}

void FunctionTranslator::nanosleep(Modifiers &m) {
  m.takeType();
  expectOperands(1);
  call("emuNanosleep", builder.getVoidTy(), {context(), read(operand(0), Type::U32)});
}

} // namespace nncc::cuemu
