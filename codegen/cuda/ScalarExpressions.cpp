// Expressions of C++ from arith, math and scf ops; see ScalarCode.h.

#include "codegen/cuda/ScalarCode.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace nncc;
using namespace nncc::codegen;
using namespace nncc::codegen::cuda;

ScalarCode::Expression ScalarCode::binary(Operation *op, StringRef symbol, int precedence) {
  if (APInt rhs; precedence == Sum && isa<IndexType>(op->getResult(0).getType()) &&
                 matchPattern(op->getOperand(1), m_ConstantInt(&rhs)) && rhs.isNegative()) {
    symbol = symbol == "+" ? "-" : "+";
    return {operand(op->getOperand(0), Sum) + " " + symbol.str() + " " + llvm::toString(-rhs, 10, true), Sum};
  }
  // Left-associative: the right operand needs a tighter binding, but where grouping makes no difference.
  bool isAssociative = precedence == And || precedence == Or || (isa<arith::AddIOp, arith::MulIOp>(op) && isa<IndexType>(op->getResult(0).getType()));
  if (isAssociative && isa<arith::MulIOp>(op)) {
    Operation *right = op->getOperand(1).getDefiningOp();
    isAssociative = isa_and_present<arith::MulIOp>(right);
  }
  // "a || (b && c)" and "a & (b + c)" are in parentheses as every reader, and -Wall, wants them.
  auto side = [&](Value value, int least) {
    int own = expressionOf(value).precedence;
    bool mixes = precedence == Or ? own == And : precedence >= BitOr && precedence <= BitAnd && own < Unary;
    return operand(value, mixes && own != precedence ? Atom : least);
  };
  return {side(op->getOperand(0), precedence) + " " + symbol.str() + " " +
              side(op->getOperand(1), isAssociative ? precedence : precedence + 1),
          precedence};
}

ScalarCode::Expression ScalarCode::call(StringRef function, ValueRange arguments) {
  std::vector<std::string> texts;
  for (Value argument : arguments)
    texts.push_back(operand(argument, Ternary));
  return {(function + "(" + llvm::join(texts, ", ") + ")").str(), Atom};
}

ScalarCode::Expression ScalarCode::cast(Value from, Type to, StringRef first) {
  std::string inner = operand(from, Unary);
  if (!first.empty())
    inner = ("(" + first + ")").str() + inner;
  return {"(" + cppType(to, wideIndex) + ")" + inner, Unary};
}

/// A number as C++ spells it: 0.5f, 1e-05f, 3.0.
static std::string floatText(const APFloat &value, Type type) {
  bool isFloat = !type.isF64();
  if (value.isNaN())
    return isFloat ? "kNan" : "double(kNan)";
  if (value.isInfinity())
    return std::string(value.isNegative() ? "-" : "") + (isFloat ? "kInfinity" : "double(kInfinity)");
  char buffer[64];
  double number = value.convertToDouble();
  for (int digits = 1; digits <= 17; ++digits) {
    snprintf(buffer, sizeof buffer, "%.*g", digits, number);
    if (isFloat ? static_cast<float>(atof(buffer)) == static_cast<float>(number) : atof(buffer) == number)
      break;
  }
  std::string text = buffer;
  if (text.find_first_of(".e") == std::string::npos)
    text += ".0";
  return isFloat ? text + "f" : text;
}

/// What a formula leaves to fold: numbers that only this use of it knows.
Value ScalarCode::foldedOr(Value value) {
  Operation *op = value.getDefiningOp();
  if (op->getNumRegions() > 0 || isa<arith::ConstantOp, UnrealizedConversionCastOp>(op))
    return value;
  SmallVector<Attribute> constants;
  for (Value operand : op->getOperands()) {
    Attribute constant;
    matchPattern(foldedOr(operand), m_Constant(&constant));
    constants.push_back(constant);
  }
  SmallVector<OpFoldResult> results;
  if (failed(op->fold(constants, results)) || results.empty())
    return value;
  OpFoldResult result = results[cast<OpResult>(value).getResultNumber()];
  if (auto same = dyn_cast<Value>(result))
    return same == value ? value : foldedOr(same);
  auto constant = dyn_cast<TypedAttr>(cast<Attribute>(result));
  if (!constant)
    return value;
  OpBuilder::InsertionGuard guard(*this);
  setInsertionPoint(op);
  return arith::ConstantOp::create(*this, constant);
}

ScalarCode::Expression ScalarCode::compute(Value value) {
  if (Value folded = foldedOr(value); folded != value)
    return expressionOf(folded);
  Operation *op = value.getDefiningOp();
  Type type = value.getType();
  bool isBool = type.isInteger(1);
  // The suffix that libm's functions take for single precision.
  std::string f = type.isF64() ? "" : "f";
  using arith::CmpFPredicate;
  using arith::CmpIPredicate;

  if (auto leaf = dyn_cast<UnrealizedConversionCastOp>(op)) {
    if (auto text = leaf->getAttrOfType<StringAttr>(kAtomAttr))
      return {text.str(), Atom};
    Type element = cast<TypeAttr>(leaf->getAttr("element")).getValue();
    std::string place = leaf->getAttrOfType<StringAttr>(kPointerAttr).str() + "[" + operand(leaf.getInputs()[0], Ternary) + "]";
    if (element.isF16() || element.isBF16())
      return {"to_float(" + place + ")", Atom};
    if (element.isInteger(1))
      return {place + " != 0", Equality};
    return {place, Atom};
  }
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    if (auto number = dyn_cast<FloatAttr>(constant.getValue())) {
      std::string text = floatText(number.getValue(), type);
      return {text, text[0] == '-' ? Unary : Atom};
    }
    APInt number = cast<IntegerAttr>(constant.getValue()).getValue();
    if (isBool)
      return {number.isZero() ? "false" : "true", Atom};
    if (number.isMinSignedValue() && number.getBitWidth() >= 32)
      return {number.getBitWidth() == 32 ? "(-2147483647 - 1)" : "(-9223372036854775807LL - 1)", Atom};
    std::string text = llvm::toString(number, 10, /*Signed=*/true);
    if (type.isInteger(64))
      text += "LL";
    return {text, number.isNegative() ? Unary : Atom};
  }

  auto unsignedOperand = [&](Value of) {
    std::string type = cppType(IntegerType::get(getContext(), of.getType().getIntOrFloatBitWidth(), IntegerType::Unsigned), wideIndex);
    return "(" + type + ")" + operand(of, Unary);
  };
  auto unsignedBinary = [&](StringRef symbol, int precedence) -> Expression {
    if (isa<IndexType>(type))
      return binary(op, symbol, precedence);
    return {unsignedOperand(op->getOperand(0)) + " " + symbol.str() + " " + unsignedOperand(op->getOperand(1)), precedence};
  };
  auto unsignedCall = [&](StringRef function) -> Expression {
    return {(function + "(" + unsignedOperand(op->getOperand(0)) + ", " + unsignedOperand(op->getOperand(1)) + ")").str(), Atom};
  };
  auto compareIntegers = [&](CmpIPredicate predicate) -> Expression {
    switch (predicate) {
    case CmpIPredicate::eq:
      return binary(op, "==", Equality);
    case CmpIPredicate::ne:
      return binary(op, "!=", Equality);
    case CmpIPredicate::slt:
      return binary(op, "<", Relation);
    case CmpIPredicate::sle:
      return binary(op, "<=", Relation);
    case CmpIPredicate::sgt:
      return binary(op, ">", Relation);
    case CmpIPredicate::sge:
      return binary(op, ">=", Relation);
    default:
      break;
    }
    StringRef symbol = predicate == CmpIPredicate::ult   ? "<"
                       : predicate == CmpIPredicate::ule ? "<="
                       : predicate == CmpIPredicate::ugt ? ">"
                                                         : ">=";
    Value lhs = op->getOperand(0), rhs = op->getOperand(1);
    if (isa<IndexType>(lhs.getType())) {
      // 0 <= lhs < rhs in one comparison.
      std::string cast = wideIndex ? "(unsigned long long)" : "(unsigned)";
      std::string right = matchPattern(rhs, m_Constant()) ? operand(rhs, Unary) : cast + operand(rhs, Unary);
      return {cast + operand(lhs, Unary) + " " + symbol.str() + " " + right, Relation};
    }
    return {unsignedOperand(lhs) + " " + symbol.str() + " " + unsignedOperand(rhs), Relation};
  };
  auto compareFloats = [&](CmpFPredicate predicate) -> Expression {
    switch (predicate) {
    case CmpFPredicate::OEQ:
      return binary(op, "==", Equality);
    case CmpFPredicate::UNE:
      return binary(op, "!=", Equality);
    case CmpFPredicate::OLT:
      return binary(op, "<", Relation);
    case CmpFPredicate::OLE:
      return binary(op, "<=", Relation);
    case CmpFPredicate::OGT:
      return binary(op, ">", Relation);
    case CmpFPredicate::OGE:
      return binary(op, ">=", Relation);
    case CmpFPredicate::UNO:
      return {operand(op->getOperand(0), Equality) + " != " + operand(op->getOperand(0), Equality + 1) + " || " +
                  operand(op->getOperand(1), Equality) + " != " + operand(op->getOperand(1), Equality + 1),
              Or};
    case CmpFPredicate::ULT:
      return {"!(" + binary(op, ">=", Relation).text + ")", Unary};
    case CmpFPredicate::ULE:
      return {"!(" + binary(op, ">", Relation).text + ")", Unary};
    case CmpFPredicate::UGT:
      return {"!(" + binary(op, "<=", Relation).text + ")", Unary};
    case CmpFPredicate::UGE:
      return {"!(" + binary(op, "<", Relation).text + ")", Unary};
    default:
      llvm::report_fatal_error("a comparison that no formula uses");
    }
  };

  return llvm::TypeSwitch<Operation *, Expression>(op)
      // Arithmetic
      .Case<arith::AddIOp, arith::AddFOp>([&](auto) { return binary(op, "+", Sum); })
      .Case<arith::SubIOp, arith::SubFOp>([&](auto) { return binary(op, "-", Sum); })
      .Case<arith::MulIOp, arith::MulFOp>([&](auto) { return binary(op, "*", Product); })
      .Case<arith::DivSIOp, arith::DivFOp>([&](auto) { return binary(op, "/", Product); })
      .Case<arith::DivUIOp>([&](auto) { return unsignedBinary("/", Product); })
      .Case<arith::RemSIOp>([&](auto) { return binary(op, "%", Product); })
      .Case<arith::RemUIOp>([&](auto) { return unsignedBinary("%", Product); })
      .Case<arith::FloorDivSIOp>([&](auto) -> Expression {
        // Of sizes, which are not negative.
        return isa<IndexType>(type) ? binary(op, "/", Product) : call("floor_div", op->getOperands());
      })
      .Case<arith::CeilDivSIOp>([&](auto) { return call("ceil_div", op->getOperands()); })
      .Case<arith::RemFOp>([&](auto) { return call("fmod" + f, op->getOperands()); })
      .Case<arith::NegFOp>([&](auto) -> Expression { return {"-" + operand(op->getOperand(0), Unary), Unary}; })
      .Case<arith::MinSIOp>([&](auto) { return call("min", op->getOperands()); })
      .Case<arith::MaxSIOp>([&](auto) { return call("max", op->getOperands()); })
      .Case<arith::MinUIOp>([&](auto) { return isBool ? binary(op, "&&", And) : unsignedCall("min"); })
      .Case<arith::MaxUIOp>([&](auto) { return isBool ? binary(op, "||", Or) : unsignedCall("max"); })
      .Case<arith::MinimumFOp>([&](auto) { return call("minimum", op->getOperands()); })
      .Case<arith::MaximumFOp>([&](auto) { return call("maximum", op->getOperands()); })
      .Case<arith::MinNumFOp>([&](auto) { return call("fmin" + f, op->getOperands()); })
      .Case<arith::MaxNumFOp>([&](auto) { return call("fmax" + f, op->getOperands()); })
      .Case<math::FmaOp>([&](auto) { return call("fma" + f, op->getOperands()); })
      // Bits
      .Case<arith::AndIOp>([&](auto) { return isBool ? binary(op, "&&", And) : binary(op, "&", BitAnd); })
      .Case<arith::OrIOp>([&](auto) { return isBool ? binary(op, "||", Or) : binary(op, "|", BitOr); })
      .Case<arith::XOrIOp>([&](auto) -> Expression {
        if (!isBool)
          return binary(op, "^", BitXor);
        if (matchPattern(op->getOperand(1), m_One()))
          return {"!" + operand(op->getOperand(0), Unary), Unary};
        return binary(op, "!=", Equality);
      })
      .Case<arith::ShLIOp>([&](auto) { return binary(op, "<<", Shift); })
      .Case<arith::ShRSIOp>([&](auto) { return binary(op, ">>", Shift); })
      .Case<arith::ShRUIOp>([&](auto) { return unsignedBinary(">>", Shift); })
      // Comparison and choice
      .Case<arith::CmpIOp>([&](auto compare) { return compareIntegers(compare.getPredicate()); })
      .Case<arith::CmpFOp>([&](auto compare) { return compareFloats(compare.getPredicate()); })
      .Case<arith::SelectOp>([&](auto select) -> Expression {
        return {operand(select.getCondition(), Or) + " ? " + operand(select.getTrueValue(), Or) + " : " +
                    operand(select.getFalseValue(), Ternary),
                Ternary};
      })
      // Conversion. Half precision is a storage type: it has been widened by the load and is rounded by the store.
      .Case<arith::ExtFOp, arith::TruncFOp>([&](auto) -> Expression {
        if (type.isF16() || type.isBF16())
          return call(type.isF16() ? "to_float16" : "to_bfloat16", op->getOperands());
        Type from = op->getOperand(0).getType();
        if (from.isF16() || from.isBF16())
          return call("to_float", op->getOperands());
        return this->cast(op->getOperand(0), type);
      })
      .Case<arith::SIToFPOp, arith::FPToSIOp, arith::ExtSIOp, arith::TruncIOp, arith::IndexCastOp>(
          [&](auto) -> Expression {
            if (isBool)
              return {"(" + operand(op->getOperand(0), BitAnd) + " & 1) != 0", Equality};
            return this->cast(op->getOperand(0), type);
          })
      .Case<arith::UIToFPOp, arith::ExtUIOp, arith::IndexCastUIOp>([&](auto) -> Expression {
        if (op->getOperand(0).getType().isInteger(1))
          return this->cast(op->getOperand(0), type);
        return {"(" + cppType(type, wideIndex) + ")" + unsignedOperand(op->getOperand(0)), Unary};
      })
      .Case<arith::FPToUIOp>([&](auto) {
        return this->cast(op->getOperand(0), type,
                          cppType(IntegerType::get(getContext(), type.getIntOrFloatBitWidth(), IntegerType::Unsigned), wideIndex));
      })
      .Case<arith::BitcastOp>([&](auto) -> Expression {
        return call("bits_as<" + cppType(type, wideIndex) + ">", op->getOperands());
      })
      // Functions
      .Case<math::AbsFOp>([&](auto) { return call("fabs" + f, op->getOperands()); })
      .Case<math::AbsIOp>([&](auto) { return call(type.isInteger(64) ? "llabs" : "abs", op->getOperands()); })
      .Case<math::ExpOp>([&](auto) { return call("exp" + f, op->getOperands()); })
      .Case<math::ExpM1Op>([&](auto) { return call("expm1" + f, op->getOperands()); })
      .Case<math::LogOp>([&](auto) { return call("log" + f, op->getOperands()); })
      .Case<math::Log1pOp>([&](auto) { return call("log1p" + f, op->getOperands()); })
      .Case<math::SqrtOp>([&](auto) { return call("sqrt" + f, op->getOperands()); })
      .Case<math::RsqrtOp>([&](auto) { return call("rsqrt" + f, op->getOperands()); })
      .Case<math::TanhOp>([&](auto) { return call("tanh" + f, op->getOperands()); })
      .Case<math::ErfOp>([&](auto) { return call("erf" + f, op->getOperands()); })
      .Case<math::SinOp>([&](auto) { return callWithAngle("sin" + f, op->getOperands()); })
      .Case<math::CosOp>([&](auto) { return callWithAngle("cos" + f, op->getOperands()); })
      .Case<math::TanOp>([&](auto) { return callWithAngle("tan" + f, op->getOperands()); })
      .Case<math::PowFOp>([&](auto) { return call("pow" + f, op->getOperands()); })
      .Case<math::FloorOp>([&](auto) { return call("floor" + f, op->getOperands()); })
      .Case<math::CeilOp>([&](auto) { return call("ceil" + f, op->getOperands()); })
      .Case<math::RoundEvenOp>([&](auto) { return call("rint" + f, op->getOperands()); })
      .Case<scf::IfOp>([&](auto) { return computeIf(op, cast<OpResult>(value).getResultNumber()); })
      .Default([&](Operation *) -> Expression {
        llvm::report_fatal_error("no C++ for " + op->getName().getStringRef());
      });
}

ScalarCode::Expression ScalarCode::callWithAngle(StringRef function, ValueRange arguments) {
  constexpr int64_t kRemainderBytes = 32;
  stackBytes = kRemainderBytes;
  return call(function, arguments);
}

/// A branch that only computes a value is a choice between two expressions; the one not taken is not evaluated.
ScalarCode::Expression ScalarCode::computeIf(Operation *op, unsigned result) {
  auto branch = cast<scf::IfOp>(op);
  std::string condition = operand(branch.getCondition(), Or);
  // Taken before the arms are written: they must not call a variable of their own by it.
  std::string name = nameInBlock("v");
  // Variables that an arm needs belong to the arm alone.
  auto arm = [&](Block *block) -> std::pair<Expression, std::string> {
    Expression yielded;
    std::string statements = capture([&] { yielded = expressionOf(block->getTerminator()->getOperand(result)); });
    return {yielded, statements};
  };
  auto [then, thenStatements] = arm(branch.thenBlock());
  auto [otherwise, otherStatements] = arm(branch.elseBlock());
  auto tight = [](const Expression &expression, int precedence) {
    return expression.precedence < precedence ? "(" + expression.text + ")" : expression.text;
  };
  if (thenStatements.empty() && otherStatements.empty()) {
    names.erase(scopes.back().names.pop_back_val());
    return {condition + " ? " + tight(then, Or) + " : " + tight(otherwise, Ternary), Ternary};
  }
  source.line(cppType(op->getResult(result).getType(), wideIndex) + " " + name + ";");
  auto writeArm = [&](const std::string &statements, const Expression &yielded) {
    source.append(statements);
    source.line(name + " = " + yielded.text + ";");
  };
  source.open("if (" + condition + ")");
  writeArm(thenStatements, then);
  source.close(" else {");
  source.reopen();
  writeArm(otherStatements, otherwise);
  source.close();
  return {name, Atom};
}
