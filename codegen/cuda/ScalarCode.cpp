// Blocks, names and variables of the code; see ScalarCode.h. What an op is as an expression stands in ScalarExpressions.cpp.

#include "codegen/cuda/ScalarCode.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace nncc;
using namespace nncc::codegen;
using namespace nncc::codegen::cuda;

std::string cuda::cppType(Type element, bool wideIndex) {
  if (isa<IndexType>(element))
    return wideIndex ? "long long" : "int";
  if (element.isF32())
    return "float";
  if (element.isF64())
    return "double";
  if (element.isF16())
    return "float16";
  if (element.isBF16())
    return "bfloat16";
  auto integer = llvm::cast<IntegerType>(element);
  std::string sign = integer.isUnsigned() ? "unsigned " : "";
  switch (integer.getWidth()) {
  case 1:
    return "bool";
  case 8:
    return sign.empty() ? "signed char" : "unsigned char";
  case 16:
    return sign + "short";
  case 32:
    return sign + "int";
  default:
    return sign + "long long";
  }
}

std::string cuda::dimParameter(StringRef name) {
  // The code's own names begin with a small letter, and no word of C++ is a single capital or a capital and small letters.
  return llvm::isUpper(name.front()) ? name.str() : ("dim_" + name).str();
}

std::string cuda::storageType(Type element, bool wideIndex) {
  return element.isInteger(1) ? "unsigned char" : cppType(element, wideIndex);
}

ScalarCode::ScalarCode(Location loc, bool wideIndex)
    : SizeBuilder(loc, OpBuilder(loc.getContext()), IndexType::get(loc.getContext())), wideIndex(wideIndex),
      scratch(std::make_unique<Block>()) {
  setInsertionPointToEnd(scratch.get());
  beginBlock();
}

ScalarCode::~ScalarCode() = default;

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

Value ScalarCode::atom(Type type, const Twine &text) {
  auto op = UnrealizedConversionCastOp::create(*this, type, ValueRange());
  op->setAttr(kAtomAttr, getStringAttr(text));
  return op.getResult(0);
}

Value ScalarCode::dim(nn::Dim dim) {
  return sizeOf(dim, [&](StringRef name) { return index(dimParameter(name)); });
}

Value ScalarCode::load(Type element, StringRef pointer, Value offset) {
  // Half precision is widened as it is read; ui8 and i1 are signless numbers to the formulas.
  Type type = element;
  if (element.isF16() || element.isBF16())
    type = getF32Type();
  else if (auto integer = dyn_cast<IntegerType>(element))
    type = getIntegerType(integer.getWidth());
  auto op = UnrealizedConversionCastOp::create(*this, type, offset);
  op->setAttr(kPointerAttr, getStringAttr(pointer));
  op->setAttr("element", TypeAttr::get(element));
  return op.getResult(0);
}

Value ScalarCode::constant(Type type, double value) {
  if (isa<FloatType>(type))
    return arith::ConstantOp::create(*this, getFloatAttr(type, value));
  return arith::ConstantOp::create(*this, getIntegerAttr(type, static_cast<int64_t>(value)));
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

void ScalarCode::beginBlock() {
  scopes.emplace_back();
  blockNumbers.push_back(blockCount++);
}

void ScalarCode::endBlock() {
  Scope ended = scopes.pop_back_val();
  for (Value value : ended.values)
    known.erase(value);
  for (const std::string &name : ended.names)
    names.erase(name);
  blockNumbers.pop_back();
}

void ScalarCode::open(const Twine &text) {
  source.open(text);
  beginBlock();
}

void ScalarCode::close(const Twine &behind) {
  endBlock();
  source.close(behind);
}

std::string ScalarCode::capture(function_ref<void()> write) {
  SourceWriter outside = std::move(source);
  source = SourceWriter();
  source.setLevel(outside.level() + 1);
  beginBlock();
  write();
  endBlock();
  std::string lines = source.take();
  source = std::move(outside);
  return lines;
}

void ScalarCode::remember(Value value, Expression expression) {
  known[value] = std::move(expression);
  scopes.back().values.push_back(value);
}

void ScalarCode::reserve(ArrayRef<StringRef> hints) {
  for (StringRef hint : hints)
    names.insert(hint);
}

std::string ScalarCode::freshName(StringRef hint) {
  std::string name = hint.str();
  for (unsigned number = 2; !names.insert(name).second; ++number)
    name = (hint + Twine(number)).str();
  return name;
}

std::string ScalarCode::nameInBlock(StringRef hint) {
  std::string name = freshName(hint);
  scopes.back().names.push_back(name);
  return name;
}

std::string ScalarCode::openLoop(StringRef hint, function_ref<std::string(const std::string &)> head) {
  std::string name = freshName(hint);
  open(head(name));
  scopes.back().names.push_back(name);
  return name;
}

std::string ScalarCode::print(Value value, bool tight) { return operand(value, tight ? Atom : Ternary); }

/// A name or a number, for which a variable would be of no use.
bool ScalarCode::isPlain(const Expression &expression) {
  return expression.precedence == Atom &&
         llvm::all_of(expression.text, [](char c) { return llvm::isAlnum(c) || c == '_' || c == '-'; });
}

std::string ScalarCode::declare(Value value, StringRef hint) {
  const Expression &expression = expressionOf(value);
  if (isPlain(expression))
    return expression.text;
  std::string name = nameInBlock(hint);
  source.line("const " + cppType(value.getType(), wideIndex) + " " + name + " = " + expression.text + ";");
  remember(value, {name, Atom});
  return name;
}

void ScalarCode::statementIf(Value condition, const Twine &statement) {
  source.line("if (" + print(condition) + ") " + statement + ";");
}

std::string ScalarCode::operand(Value value, int precedence) {
  const Expression &expression = expressionOf(value);
  return expression.precedence < precedence ? "(" + expression.text + ")" : expression.text;
}

static bool isUsedAgain(Value value) {
  // Uses within one formula count; a value is cheap to repeat when it is an atom or a constant.
  return !value.use_empty() && !value.hasOneUse();
}

const ScalarCode::Expression &ScalarCode::expressionOf(Value value) {
  auto found = known.find(value);
  if (found != known.end())
    return found->second;
  Expression expression = compute(value);
  bool isCheap = expression.precedence == Atom && value.getDefiningOp() &&
                 (isa<arith::ConstantOp>(value.getDefiningOp()) || value.getDefiningOp()->hasAttr(kAtomAttr));
  auto suggestion = suggestions.find(value);
  bool isSuggested = suggestion != suggestions.end() && !isPlain(expression);
  if (isSuggested || (!isCheap && isUsedAgain(value))) {
    std::string hint = isa<IndexType>(value.getType()) ? "i" : value.getType().isInteger(1) ? "is" : "v";
    std::string name = nameInBlock(isSuggested ? suggestion->second : hint);
    source.line("const " + cppType(value.getType(), wideIndex) + " " + name + " = " + expression.text + ";");
    expression = {name, Atom};
  }
  remember(value, std::move(expression));
  return known.find(value)->second;
}
