// setp, set, selp, slct.
#include "tools/cuda-emulator/translate/FunctionTranslator.h"

using namespace llvm;

namespace nncc::cuemu {
namespace {

constexpr std::initializer_list<std::string_view> comparisons = {
    "eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs",
    "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"};

CmpInst::Predicate floatPredicate(const std::string &name) {
  static const std::unordered_map<std::string, CmpInst::Predicate> predicates = {
      {"eq", CmpInst::FCMP_OEQ},  {"ne", CmpInst::FCMP_ONE},  {"lt", CmpInst::FCMP_OLT},
      {"le", CmpInst::FCMP_OLE},  {"gt", CmpInst::FCMP_OGT},  {"ge", CmpInst::FCMP_OGE},
      {"equ", CmpInst::FCMP_UEQ}, {"neu", CmpInst::FCMP_UNE}, {"ltu", CmpInst::FCMP_ULT},
      {"leu", CmpInst::FCMP_ULE}, {"gtu", CmpInst::FCMP_UGT}, {"geu", CmpInst::FCMP_UGE},
      {"num", CmpInst::FCMP_ORD}, {"nan", CmpInst::FCMP_UNO}};
  auto entry = predicates.find(name);
  return entry == predicates.end() ? CmpInst::BAD_FCMP_PREDICATE : entry->second;
}

CmpInst::Predicate integerPredicate(const std::string &name, bool isSigned) {
  if (name == "eq")
    return CmpInst::ICMP_EQ;
  if (name == "ne")
    return CmpInst::ICMP_NE;
  if (name == "lt")
    return isSigned ? CmpInst::ICMP_SLT : CmpInst::ICMP_ULT;
  if (name == "le")
    return isSigned ? CmpInst::ICMP_SLE : CmpInst::ICMP_ULE;
  if (name == "gt")
    return isSigned ? CmpInst::ICMP_SGT : CmpInst::ICMP_UGT;
  if (name == "ge")
    return isSigned ? CmpInst::ICMP_SGE : CmpInst::ICMP_UGE;
  if (name == "lo")
    return CmpInst::ICMP_ULT;
  if (name == "ls")
    return CmpInst::ICMP_ULE;
  if (name == "hi")
    return CmpInst::ICMP_UGT;
  if (name == "hs")
    return CmpInst::ICMP_UGE;
  return CmpInst::BAD_ICMP_PREDICATE;
}

} // namespace

Value *FunctionTranslator::compareValues(const std::string &comparison, Type type, Value *a, Value *b) {
  CmpInst::Predicate predicate =
      ptx::isFloat(type) ? floatPredicate(comparison) : integerPredicate(comparison, ptx::isSigned(type));
  if (predicate == CmpInst::BAD_FCMP_PREDICATE || predicate == CmpInst::BAD_ICMP_PREDICATE)
    fail("comparison ." + comparison + " is not allowed for type ." + ptx::typeName(type));
  return builder.CreateCmp(predicate, a, b);
}

Value *FunctionTranslator::compare(const std::string &comparison, Type type, const Operand &left,
                                   const Operand &right, bool flush) {
  Value *a = read(left, type), *b = read(right, type);
  if (is16Bit(type)) {
    a = halfToFloat(type, a);
    b = halfToFloat(type, b);
  } else if (flush) {
    a = flushSubnormal(a);
    b = flushSubnormal(b);
  }
  return compareValues(comparison, type, a, b);
}

Value *FunctionTranslator::combine(const std::string &boolean, Value *left, Value *right) {
  if (boolean == "and")
    return builder.CreateAnd(left, right);
  if (boolean == "or")
    return builder.CreateOr(left, right);
  return builder.CreateXor(left, right);
}

// setp.CmpOp{.BoolOp}.type p{|q}, a, b{, c}: p = (a op b) bool c, q = !(a op b) bool c. For packed types
// p and q are the results of the two lanes.
void FunctionTranslator::setPredicate(Modifiers &m) {
  std::string comparison = m.require("a comparison", comparisons);
  std::string boolean = m.takeOneOf({"and", "or", "xor"});
  bool flush = m.take("ftz");
  Type type = m.takeType();
  expectOperands(boolean.empty() ? 3 : 4);
  const Operand &destination = operand(0);
  bool isPair = destination.kind == Operand::Kind::Pair;
  Value *first = nullptr, *second = nullptr;
  if (type == Type::F16x2 || type == Type::BF16x2) {
    if (!isPair)
      fail("a comparison of packed values gives two predicates: p|q");
    Value *a = read(operand(1), type), *b = read(operand(2), type);
    auto lane = [&](uint64_t index) {
      auto half = [&](Value *packed) {
        return halfToFloat(type, builder.CreateTrunc(builder.CreateLShr(packed, 16 * index), builder.getInt16Ty()));
      };
      return compareValues(comparison, type, half(a), half(b));
    };
    first = lane(0);
    second = lane(1);
  } else {
    first = compare(comparison, type, operand(1), operand(2), flush);
    second = builder.CreateNot(first);
  }
  if (!boolean.empty()) {
    Value *other = readPredicate(operand(3));
    first = combine(boolean, first, other);
    second = combine(boolean, second, other);
  }
  writePredicate(isPair ? destination.elements[0] : destination, first);
  if (isPair)
    writePredicate(destination.elements[1], second);
}

// set.CmpOp{.BoolOp}.dtype.stype: all ones or 1.0 where true, else 0.
void FunctionTranslator::set(Modifiers &m) {
  std::string comparison = m.require("a comparison", comparisons);
  std::string boolean = m.takeOneOf({"and", "or", "xor"});
  bool flush = m.take("ftz");
  Type to = m.takeType(), from = m.takeType();
  expectOperands(boolean.empty() ? 3 : 4);
  auto result = [&](Value *isTrue, Type lane) -> Value * {
    if (!boolean.empty())
      isTrue = combine(boolean, isTrue, readPredicate(operand(3)));
    if (lane == Type::F32)
      return builder.CreateUIToFP(isTrue, builder.getFloatTy());
    if (lane == Type::F16)
      return builder.CreateSelect(isTrue, builder.getInt16(0x3c00), builder.getInt16(0));
    if (lane == Type::BF16)
      return builder.CreateSelect(isTrue, builder.getInt16(0x3f80), builder.getInt16(0));
    return builder.CreateSExt(isTrue, intType(ptx::bitWidth(lane)));
  };
  if (from == Type::F16x2 || from == Type::BF16x2) {
    Type lane = to == Type::F16x2 ? Type::F16 : to == Type::BF16x2 ? Type::BF16 : Type::U16;
    Value *packed = mapHalfBits(from, {read(operand(1), from), read(operand(2), from)}, [&](ArrayRef<Value *> in) {
      return result(compareValues(comparison, from, halfToFloat(from, in[0]), halfToFloat(from, in[1])), lane);
    });
    write(operand(0), to, packed);
    return;
  }
  write(operand(0), to, result(compare(comparison, from, operand(1), operand(2), flush), to));
}

void FunctionTranslator::select(Modifiers &m) {
  Type type = m.takeType();
  expectOperands(4);
  write(operand(0), type,
        builder.CreateSelect(readPredicate(operand(3)), read(operand(1), type), read(operand(2), type)));
}

// slct d, a, b, c: a where c >= 0, else b; NaN selects b.
void FunctionTranslator::selectBySign(Modifiers &m) {
  bool flush = m.take("ftz");
  Type type = m.takeType(), selector = m.takeType();
  expectOperands(4);
  Value *c = read(operand(3), selector);
  if (flush)
    c = flushSubnormal(c);
  Value *isFirst = compareValues("ge", selector, c, Constant::getNullValue(c->getType()));
  write(operand(0), type, builder.CreateSelect(isFirst, read(operand(1), type), read(operand(2), type)));
}

} // namespace nncc::cuemu
