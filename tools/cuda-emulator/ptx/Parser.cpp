// PTX text -> Module: recursive descent over PTX's declarations, statements and operands.
#include "tools/cuda-emulator/ptx/Parser.h"

#include "tools/cuda-emulator/ptx/Lexer.h"

namespace nncc::cuemu::ptx {
namespace {

class Parser {
public:
  explicit Parser(std::string_view text) : lexer(text) {
    current = lexer.next();
    ahead = lexer.next();
  }

  Module parse();

private:
  // Tokens.
  Token take() {
    Token token = current;
    current = ahead;
    ahead = lexer.next();
    return token;
  }
  bool accept(const char *punctuation) {
    if (!current.is(punctuation))
      return false;
    take();
    return true;
  }
  bool acceptDirective(const char *name) {
    if (!current.isDirective(name))
      return false;
    take();
    return true;
  }
  [[noreturn]] void fail(const std::string &message) const { throw PtxError(current.line, message); }
  [[noreturn]] void failExpected(const std::string &what) const {
    fail("expected " + what + ", found " +
         (current.kind == Token::Kind::End ? "the end of the text" : "'" + current.text + "'"));
  }
  void expect(const char *punctuation) {
    if (!accept(punctuation))
      failExpected(std::string("'") + punctuation + "'");
  }
  int64_t integer();
  std::string name(const char *what);

  // Declarations.
  void fileDirective(Module &module);
  void skipSection();
  Function function(bool isEntry, bool isExternal);
  void performanceDirectives(Function &function);
  std::vector<Variable> parameterList();
  Variable variable(Space space, bool isExternal);
  void initialiser(Variable &variable);
  Variable::Initial initialElement(Type type);

  // Bodies.
  void body(Function &function);
  void directiveStatement(Function &function);
  void registers(Function &function);
  void location();
  Instruction instruction();
  Operand operand();
  Operand simpleOperand();
  Operand address();
  std::vector<Operand> operandsUntil(const char *close);

  Lexer lexer;
  Token current, ahead;
  SourceLocation source;
};

int64_t Parser::integer() {
  bool isNegative = accept("-");
  if (current.kind != Token::Kind::Integer)
    failExpected("an integer");
  int64_t value = take().integer;
  return isNegative ? -value : value;
}

std::string Parser::name(const char *what) {
  if (current.kind != Token::Kind::Word && current.kind != Token::Kind::Register)
    failExpected(what);
  return take().text;
}

Module Parser::parse() {
  Module module;
  while (current.kind != Token::Kind::End) {
    if (acceptDirective(".version")) {
      size_t dot = current.text.find('.');
      if (current.kind != Token::Kind::Float64 || dot == std::string::npos)
        failExpected("a version number such as 8.0");
      module.versionMajor = std::stoi(current.text);
      module.versionMinor = std::stoi(current.text.substr(dot + 1));
      take();
    } else if (acceptDirective(".target")) {
      module.target = name("a target such as sm_80");
      while (accept(","))
        name("a target option");
    } else if (acceptDirective(".address_size")) {
      module.addressSize = static_cast<int>(integer());
      if (module.addressSize != 64)
        fail("address size " + std::to_string(module.addressSize) + " is not supported; only 64 is");
    } else if (current.isDirective(".file")) {
      fileDirective(module);
    } else if (current.isDirective(".section")) {
      skipSection();
    } else {
      bool isExternal = false;
      for (;;) {
        if (acceptDirective(".extern"))
          isExternal = true;
        else if (!acceptDirective(".visible") && !acceptDirective(".weak") && !acceptDirective(".common"))
          break;
      }
      if (acceptDirective(".entry"))
        module.functions.push_back(function(true, isExternal));
      else if (acceptDirective(".func"))
        module.functions.push_back(function(false, isExternal));
      else if (acceptDirective(".global"))
        module.variables.push_back(variable(Space::Global, isExternal));
      else if (acceptDirective(".const"))
        module.variables.push_back(variable(Space::Const, isExternal));
      else if (acceptDirective(".shared"))
        module.variables.push_back(variable(Space::Shared, isExternal));
      else if (current.kind == Token::Kind::Directive)
        fail("unknown directive '" + current.text + "'");
      else
        failExpected("a directive");
    }
  }
  if (module.versionMajor == 0)
    throw PtxError(1, "expected .version: this is not a PTX text");
  if (module.target.empty())
    throw PtxError(1, "expected .target: this is not a PTX text");
  return module;
}

void Parser::fileDirective(Module &module) {
  take();
  auto index = static_cast<size_t>(integer());
  if (current.kind != Token::Kind::String)
    failExpected("a file name");
  if (index >= 65536)
    fail("file index " + std::to_string(index) + " is out of range");
  if (module.files.size() <= index)
    module.files.resize(index + 1);
  module.files[index] = take().text;
  while (accept(","))
    integer();
}

// Debug information (.section .debug_str { ... }) has no effect on execution.
void Parser::skipSection() {
  take();
  take();
  expect("{");
  for (int depth = 1; depth > 0;) {
    if (current.kind == Token::Kind::End)
      failExpected("'}'");
    Token token = take();
    depth += token.is("{") - token.is("}");
  }
}

Function Parser::function(bool isEntry, bool isExternal) {
  Function result;
  result.isEntry = isEntry;
  result.line = current.line;
  source = {};
  if (!isEntry && current.is("("))
    result.results = parameterList();
  result.name = name("a function name");
  if (current.is("("))
    result.parameters = parameterList();
  performanceDirectives(result);
  if (accept(";")) {
    result.isDeclaration = true;
    return result;
  }
  if (isExternal)
    fail("an external function has no body");
  body(result);
  return result;
}

void Parser::performanceDirectives(Function &function) {
  auto three = [&](int(&values)[3]) {
    values[0] = static_cast<int>(integer());
    values[1] = values[2] = 1;
    for (int i = 1; i < 3 && accept(","); i++)
      values[i] = static_cast<int>(integer());
  };
  for (;;) {
    if (acceptDirective(".maxntid")) {
      three(function.maxThreads);
    } else if (acceptDirective(".reqntid")) {
      three(function.requiredThreads);
    } else if (acceptDirective(".minnctapersm") || acceptDirective(".maxnctapersm")) {
      integer();
    } else if (acceptDirective(".maxnreg")) {
      function.maxRegisters = static_cast<int>(integer());
    } else if (acceptDirective(".pragma")) {
      take();
      expect(";");
    } else if (!acceptDirective(".noreturn")) {
      break;
    }
  }
  if (current.kind == Token::Kind::Directive)
    fail("unknown directive '" + current.text + "'");
}

std::vector<Variable> Parser::parameterList() {
  std::vector<Variable> parameters;
  expect("(");
  while (!accept(")")) {
    if (!parameters.empty())
      expect(",");
    if (acceptDirective(".reg")) {
      // A register as a parameter: the same as a .param of its type.
    } else if (!acceptDirective(".param")) {
      failExpected(".param");
    }
    parameters.push_back(variable(Space::Param, false));
  }
  return parameters;
}

// What follows the space of a declaration: alignment, vector size, type, name, dimensions, value. The
// ';' belongs to it, except in a parameter list.
Variable Parser::variable(Space space, bool isExternal) {
  Variable result;
  result.space = space;
  result.isExternal = isExternal;
  result.line = current.line;
  while (current.kind == Token::Kind::Directive) {
    std::string directive = take().text;
    if (directive == ".align") {
      result.alignBytes = integer();
    } else if (directive == ".v2" || directive == ".v4") {
      result.vectorSize = directive[2] - '0';
    } else if (directive == ".ptr") {
      // What a pointer parameter points to: no effect on execution.
      if (!acceptDirective(".global") && !acceptDirective(".shared") && !acceptDirective(".const"))
        acceptDirective(".local");
      if (acceptDirective(".align"))
        integer();
    } else if (Type type = parseType(directive.substr(1)); type != Type::None) {
      result.type = type;
    } else {
      throw PtxError(result.line, "unknown directive '" + directive + "' in a declaration");
    }
  }
  result.name = name("a variable name");
  if (result.type == Type::None)
    throw PtxError(result.line, "variable '" + result.name + "' has no type");
  while (accept("[")) {
    result.isArray = true;
    if (current.is("]"))
      result.elementCount = 0;
    else if (__builtin_mul_overflow(result.elementCount, integer(), &result.elementCount) ||
             result.elementCount < 0 || result.elementCount > (int64_t{1} << 40))
      fail("array '" + result.name + "' is too large");
    expect("]");
  }
  if (accept("="))
    initialiser(result);
  if (space != Space::Param || current.is(";"))
    expect(";");
  return result;
}

void Parser::initialiser(Variable &variable) {
  if (!accept("{")) {
    variable.initial.push_back(initialElement(variable.type));
    return;
  }
  int depth = 1;
  while (depth > 0) {
    if (accept("{")) {
      depth++;
    } else if (accept("}")) {
      depth--;
    } else if (!accept(",")) {
      variable.initial.push_back(initialElement(variable.type));
    }
  }
  if (variable.isArray && variable.elementCount == 0)
    variable.elementCount = static_cast<int64_t>(variable.initial.size());
}

Variable::Initial Parser::initialElement(Type type) {
  Variable::Initial element;
  if (current.kind == Token::Kind::Float32 || current.kind == Token::Kind::Float64) {
    Token token = take();
    element.bits = token.integer;
    return element;
  }
  if (current.kind == Token::Kind::Word) {
    element.symbol = take().text;
    if (element.symbol == "generic") {
      element.genericAddress = true;
      expect("(");
      element.symbol = name("a variable name");
      expect(")");
    }
    if (accept("+"))
      element.bits = integer();
    return element;
  }
  element.bits = integer();
  return element;
}

void Parser::body(Function &function) {
  expect("{");
  for (int depth = 1;;) {
    Statement statement;
    statement.line = current.line;
    if (accept("{")) {
      depth++;
      statement.kind = Statement::Kind::BlockBegin;
      function.body.push_back(statement);
    } else if (accept("}")) {
      if (--depth == 0)
        return;
      statement.kind = Statement::Kind::BlockEnd;
      function.body.push_back(statement);
    } else if (current.kind == Token::Kind::Directive) {
      directiveStatement(function);
    } else if (current.kind == Token::Kind::Word && ahead.is(":")) {
      statement.label = take().text;
      take();
      if (acceptDirective(".branchtargets")) {
        statement.kind = Statement::Kind::BranchTargets;
        do
          statement.targets.push_back(name("a label"));
        while (accept(","));
        expect(";");
      } else if (current.isDirective(".callprototype") || current.isDirective(".calltargets")) {
        fail("calls through pointers are not supported");
      } else {
        statement.kind = Statement::Kind::Label;
      }
      function.body.push_back(std::move(statement));
    } else if (current.kind == Token::Kind::Word || current.is("@")) {
      statement.kind = Statement::Kind::Instruction;
      statement.instruction = instruction();
      function.body.push_back(std::move(statement));
    } else if (!accept(";")) {
      failExpected("an instruction");
    }
  }
}

void Parser::directiveStatement(Function &function) {
  Statement statement;
  statement.line = current.line;
  statement.kind = Statement::Kind::Variable;
  if (acceptDirective(".reg")) {
    registers(function);
    return;
  }
  if (current.isDirective(".loc")) {
    location();
    return;
  }
  if (acceptDirective(".pragma")) {
    take();
    expect(";");
    return;
  }
  if (acceptDirective(".shared"))
    statement.variable = variable(Space::Shared, false);
  else if (acceptDirective(".local"))
    statement.variable = variable(Space::Local, false);
  else if (acceptDirective(".param"))
    statement.variable = variable(Space::Param, false);
  else if (acceptDirective(".global"))
    statement.variable = variable(Space::Global, false);
  else if (acceptDirective(".const"))
    statement.variable = variable(Space::Const, false);
  else
    fail("unknown directive '" + current.text + "'");
  function.body.push_back(std::move(statement));
}

void Parser::registers(Function &function) {
  if (current.kind != Token::Kind::Directive)
    failExpected("a register type");
  Type type = parseType(current.text.substr(1));
  if (type == Type::None)
    fail("unknown register type '" + current.text + "'");
  take();
  do {
    Statement statement;
    statement.kind = Statement::Kind::Registers;
    statement.line = current.line;
    statement.registers.type = type;
    statement.registers.name = name("a register name");
    if (accept("<")) {
      statement.registers.count = static_cast<int>(integer());
      expect(">");
    }
    function.body.push_back(std::move(statement));
  } while (accept(","));
  expect(";");
}

void Parser::location() {
  take();
  source.file = static_cast<int>(integer());
  source.line = static_cast<int>(integer());
  integer();
  // `, function_name label, inlined_at file line column`: the position inside the inlined function is the
  // one to report.
  while (accept(",")) {
    std::string key = name("function_name or inlined_at");
    if (key == "function_name") {
      name("a label");
      if (accept("+"))
        integer();
    } else if (key == "inlined_at") {
      integer();
      integer();
      integer();
    } else {
      fail("unknown attribute '" + key + "' of .loc");
    }
  }
}

Instruction Parser::instruction() {
  Instruction result;
  result.line = current.line;
  result.source = source;
  if (accept("@")) {
    Guard guard;
    guard.negated = accept("!");
    guard.predicate = name("a predicate register");
    result.guard = guard;
  }
  std::string word = name("an instruction");
  for (size_t begin = 0; begin <= word.size();) {
    size_t end = std::min(word.find('.', begin), word.size());
    std::string part = word.substr(begin, end - begin);
    if (begin == 0)
      result.opcode = part;
    else
      result.modifiers.push_back(part);
    begin = end + 1;
  }
  if (!current.is(";"))
    do
      result.operands.push_back(operand());
    while (accept(","));
  expect(";");
  return result;
}

Operand Parser::operand() {
  Operand first = simpleOperand();
  if (!accept("|"))
    return first;
  Operand pair;
  pair.kind = Operand::Kind::Pair;
  pair.elements = {first, simpleOperand()};
  return pair;
}

Operand Parser::simpleOperand() {
  Operand result;
  if (accept("{")) {
    result.kind = Operand::Kind::Vector;
    result.elements = operandsUntil("}");
    return result;
  }
  if (accept("(")) {
    result.kind = Operand::Kind::List;
    result.elements = operandsUntil(")");
    return result;
  }
  if (accept("["))
    return address();
  if (accept("!")) {
    result.kind = Operand::Kind::Name;
    result.negated = true;
    result.name = name("a predicate register");
    return result;
  }
  switch (current.kind) {
  case Token::Kind::Float32:
    result.kind = Operand::Kind::Float32;
    result.integer = take().integer;
    return result;
  case Token::Kind::Float64:
    result.kind = Operand::Kind::Float64;
    result.integer = take().integer;
    return result;
  case Token::Kind::Word:
  case Token::Kind::Register:
    result.name = take().text;
    result.kind = result.name == "_" ? Operand::Kind::Sink : Operand::Kind::Name;
    if (accept("+"))
      result.integer = integer();
    else if (current.is("-"))
      result.integer = integer();
    return result;
  default:
    result.integer = integer();
    return result;
  }
}

Operand Parser::address() {
  Operand result;
  result.kind = Operand::Kind::Address;
  if (current.kind == Token::Kind::Word || current.kind == Token::Kind::Register) {
    result.name = take().text;
    if (accept("+") || current.is("-"))
      result.integer = integer();
  } else {
    result.integer = integer();
  }
  expect("]");
  return result;
}

std::vector<Operand> Parser::operandsUntil(const char *close) {
  std::vector<Operand> operands;
  while (!accept(close)) {
    if (!operands.empty())
      expect(",");
    operands.push_back(operand());
  }
  return operands;
}

} // namespace

Module parseModule(std::string_view text) { return Parser(text).parse(); }

} // namespace nncc::cuemu::ptx
