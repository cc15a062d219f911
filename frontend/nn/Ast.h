// The syntax tree of the .nn language, as the parser builds it and the printer and the elaborator
// read it. Plain data: every node has its range in the text, literals keep their spelling, and
// statements and list items keep their comments, so that printing a tree loses nothing but the
// author's spacing. Names are not resolved here.
#pragma once

#include "frontend/nn/Source.h"
#include "support/DType.h"

#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace nncc::frontend {

// Trivia --------------------------------------------------------------------------------------

/// A comment line, '#' included.
struct CommentLine {
  std::string text;
  bool blankBefore = false;
};

/// What surrounds a statement, a declaration or an item of a bracketed list.
struct Trivia {
  std::vector<CommentLine> leading; // on lines of their own, before it
  std::string trailing;             // behind it on its last line
  bool blankBefore = false; // an empty line separates it from what precedes (comments included)
};

struct Identifier {
  std::string name;
  SourceRange range;
};

// Expressions ---------------------------------------------------------------------------------

struct Expr;
using ExprPtr = std::unique_ptr<Expr>;

/// Items between brackets, with what the printer needs to lay them out.
template <typename T> struct ItemList {
  struct Entry {
    T value;
    Trivia trivia;
  };
  std::vector<Entry> entries;
  std::vector<CommentLine> dangling; // comments between the last item and the closing bracket
  bool trailingComma = false;        // the author asks for one item a line
};

struct IntLiteral {
  int64_t value;
  std::string spelling;
};

struct FloatLiteral {
  double value;
  std::string spelling;
};

struct BoolLiteral {
  bool value;
};

struct StringLiteral {
  std::string value;
};

struct NoneLiteral {};

struct NameRef {
  std::string name;
};

struct ListLiteral {
  ItemList<ExprPtr> items;
};

/// `base.name`
struct Member {
  ExprPtr base;
  Identifier name;
};

/// One item between the brackets of `x[0, 1:-1, ::2]`.
struct SubscriptItem {
  bool isSlice = false;
  ExprPtr start; // the index itself when not a slice; any of the three may be absent in one
  ExprPtr stop;
  ExprPtr step;
};

struct Subscript {
  ExprPtr base;
  std::vector<SubscriptItem> items;
};

enum class UnaryOp : uint8_t { Negate, Not };

struct Unary {
  UnaryOp op;
  ExprPtr operand;
};

enum class BinaryOp : uint8_t {
  Or,
  And,
  Equal,
  NotEqual,
  Less,
  LessEqual,
  Greater,
  GreaterEqual,
  Add,
  Subtract,
  Multiply,
  Divide,
  FloorDivide,
  Modulo,
  MatMul,
  Power,
};

struct Binary {
  BinaryOp op;
  ExprPtr lhs;
  ExprPtr rhs;
  SourceRange opRange;
};

/// A parameter path after `as`: text and holes. `as .` is the one piece ".".
struct Path {
  struct Piece {
    std::string text; // empty for a hole
    ExprPtr hole;
  };
  std::vector<Piece> pieces;
  SourceRange range;

  bool isHere() const { return pieces.size() == 1 && pieces[0].text == "."; }
};

struct Argument {
  std::optional<Identifier> name;
  ExprPtr value;
};

/// `callee(arguments) as path`. The callee is a name or a dotted name (`init.normal`).
struct Call {
  Identifier callee;
  ItemList<Argument> arguments;
  std::optional<Path> path;
};

struct Expr {
  SourceRange range;
  /// Nodes on the longest way down to a leaf; bounded by the parser, so that every recursion over a
  /// tree is.
  uint32_t height = 1;
  std::variant<IntLiteral, FloatLiteral, BoolLiteral, StringLiteral, NoneLiteral, NameRef,
               ListLiteral, Member, Subscript, Unary, Binary, Call>
      node;
};

/// `f32[N, 3, 224, 224]`
struct TypeExpr {
  DType dtype;
  std::vector<ExprPtr> dims;
  SourceRange range;
};

// Statements ----------------------------------------------------------------------------------

struct Statement;

struct Body {
  std::string openComment; // behind the '{'
  std::vector<Statement> statements;
  std::vector<CommentLine> dangling; // after the last statement
};

/// `a, b = value`; the name `_` drops a result.
struct Assign {
  std::vector<Identifier> targets;
  ExprPtr value;
};

struct ReturnItem {
  std::optional<Identifier> name;
  ExprPtr value;
};

struct Return {
  std::vector<ReturnItem> items;
};

/// `repeat 3 {}`, `repeat i in 0..2 {}` (both ends included) or `repeat width in [64, 128] {}`.
struct Repeat {
  std::optional<Identifier> index;
  ExprPtr first; // the count, the first number of the range, or the list
  ExprPtr last;  // null unless a range
  Body body;
};

struct If {
  struct Branch {
    ExprPtr condition;
    Body body;
  };
  std::vector<Branch> branches;
  std::optional<Body> otherwise;
};

/// `param name: type = initialiser as path`
struct ParamStatement {
  Identifier name;
  TypeExpr type;
  ExprPtr init;
  std::optional<Path> path;
};

/// `target name: type`, in a train section: what the data holds beside the model's inputs.
struct Target {
  Identifier name;
  TypeExpr type;
};

/// `metric name = value`, in a train section.
struct Metric {
  Identifier name;
  ExprPtr value;
};

struct Statement {
  SourceRange range;
  Trivia trivia;
  std::variant<Assign, Return, Repeat, If, ParamStatement, Target, Metric> node;
};

// Declarations --------------------------------------------------------------------------------

struct Import {
  std::string path;
  SourceRange pathRange;
};

struct ConstDecl {
  Identifier name;
  ExprPtr value;
};

/// `dim N = 1..64`; without `last` the range has no upper end.
struct DimDecl {
  Identifier name;
  ExprPtr first;
  ExprPtr last;
};

struct BlockParameter {
  Identifier name;
  ExprPtr defaultValue; // may be null
};

struct BlockDecl {
  Identifier name;
  ItemList<BlockParameter> parameters;
  Body body;
};

struct ModelInput {
  Identifier name;
  TypeExpr type;
};

struct ModelDecl {
  Identifier name;
  ItemList<ModelInput> inputs;
  Body body;
};

struct TrainDecl {
  Body body;
};

struct Declaration {
  SourceRange range;
  Trivia trivia;
  std::variant<Import, ConstDecl, DimDecl, BlockDecl, ModelDecl, TrainDecl> node;
};

/// The version of the language that this compiler reads, as it stands in the first line of a file:
/// `nn 1`.
inline constexpr int64_t languageVersion = 1;

struct File {
  const SourceFile *source = nullptr;
  Trivia header; // around `nn 1`
  std::vector<Declaration> declarations;
  std::vector<CommentLine> dangling;
};

/// How an operator is written and how tightly it binds (higher is tighter). One table for the
/// parser and the printer.
struct BinaryOpInfo {
  std::string_view spelling;
  int precedence;
};
BinaryOpInfo infoOf(BinaryOp op);

/// Precedences of what is not a binary operator.
inline constexpr int precedenceOfNot = 3;
inline constexpr int precedenceOfComparison = 4;
inline constexpr int precedenceOfNegate = 7;
inline constexpr int precedenceOfPower = 8;
inline constexpr int precedenceOfPostfix = 9;

} // namespace nncc::frontend
