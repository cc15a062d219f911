// Expressions: on one line where they fit; otherwise their brackets open over several lines, one
// item each, outermost first.
#include "frontend/nn/Lexer.h"
#include "frontend/nn/PrinterImpl.h"

#include <algorithm>

namespace nncc::frontend {

namespace {

int precedenceOf(const Expr &expr) {
  if (auto *unary = std::get_if<Unary>(&expr.node))
    return unary->op == UnaryOp::Not ? precedenceOfNot : precedenceOfNegate;
  if (auto *binary = std::get_if<Binary>(&expr.node))
    return infoOf(binary->op).precedence;
  return precedenceOfPostfix;
}

/// The least precedences that the operands of a binary operator have without parentheses.
std::pair<int, int> operandPrecedences(BinaryOp op) {
  int precedence = infoOf(op).precedence;
  if (op == BinaryOp::Power)
    return {precedence + 1, precedenceOfNegate}; // right associative; 2 ** -x needs none
  if (precedence == precedenceOfComparison)
    return {precedence + 1, precedence + 1}; // comparisons do not chain
  return {precedence, precedence + 1};
}

/// Lays out one expression tree. `flat` means on one line whatever its length.
class Layout {
public:
  explicit Layout(bool flat) : flat(flat) {}

  std::string expr(const Expr &expr, Placement place, int precedence) {
    bool parens = precedenceOf(expr) < precedence;
    if (parens) {
      ++place.before;
      ++place.after;
    }
    std::string text =
        std::visit([&](const auto &node) { return this->node(node, place); }, expr.node);
    return parens ? "(" + text + ")" : text;
  }

private:
  std::string node(const IntLiteral &literal, Placement) { return literal.spelling; }
  std::string node(const FloatLiteral &literal, Placement) { return literal.spelling; }
  std::string node(const BoolLiteral &literal, Placement) {
    return literal.value ? "true" : "false";
  }
  std::string node(const StringLiteral &literal, Placement) { return escape(literal.value); }
  std::string node(const NoneLiteral &, Placement) { return "none"; }
  std::string node(const NameRef &name, Placement) { return name.name; }

  std::string node(const ListLiteral &list, Placement place) {
    return items(list.items, '[', ']', place, [](const ExprPtr &item) { return item.get(); });
  }

  std::string node(const Member &member, Placement place) {
    place.after += 1 + member.name.name.size();
    return expr(*member.base, place, precedenceOfPostfix) + "." + member.name.name;
  }

  std::string node(const Subscript &subscript, Placement place) {
    std::string index = "[";
    for (const SubscriptItem &item : subscript.items) {
      if (index.size() > 1)
        index += ", ";
      index += slice(item);
    }
    index += "]";
    place.after += index.size();
    return expr(*subscript.base, place, precedenceOfPostfix) + index;
  }

  std::string slice(const SubscriptItem &item) {
    std::string text;
    if (item.start)
      text += printFlat(*item.start);
    if (item.isSlice)
      text += ":";
    if (item.stop)
      text += printFlat(*item.stop);
    if (item.step)
      text += ":" + printFlat(*item.step);
    return text;
  }

  std::string node(const Unary &unary, Placement place) {
    std::string op = unary.op == UnaryOp::Not ? "not " : "-";
    int precedence = unary.op == UnaryOp::Not ? precedenceOfNot : precedenceOfNegate;
    place.before += op.size();
    return op + expr(*unary.operand, place, precedence);
  }

  std::string node(const Binary &binary, Placement place) {
    auto [left, right] = operandPrecedences(binary.op);
    std::string op = " " + std::string(infoOf(binary.op).spelling) + " ";
    // The left side is laid out as if it ended the line up to the operator; the right side starts
    // where it ended.
    Placement leftPlace = place;
    leftPlace.after = op.size();
    std::string text = expr(*binary.lhs, leftPlace, left) + op;
    place.before = lastLineWidth(text, place.before);
    return text + expr(*binary.rhs, place, right);
  }

  std::string node(const Call &call, Placement place) {
    std::string path = call.path ? " as " + printPath(*call.path) : "";
    place.before += call.callee.name.size();
    place.after += path.size();
    return call.callee.name +
           items(call.arguments, '(', ')', place,
                 [](const Argument &argument) { return argument.value.get(); }) +
           path;
  }

  template <typename T, typename ExprOf>
  std::string items(const ItemList<T> &list, char open, char close, Placement place,
                    ExprOf exprOf) {
    auto item = [&](const T &value, Placement itemPlace, bool onOneLine) {
      std::string name;
      if constexpr (std::is_same_v<T, Argument>)
        if (value.name)
          name = value.name->name + " = ";
      itemPlace.before += name.size();
      return name + Layout(flat || onOneLine).expr(*exprOf(value), itemPlace, 0);
    };
    if (!flat)
      return layoutItems(list, open, close, place, item,
                         [&](const T &value) { return mustBreakLine(*exprOf(value)); });
    std::string text(1, open);
    for (const auto &entry : list.entries)
      text += (text.size() > 1 ? ", " : "") + item(entry.value, place, true);
    return text + close;
  }

  bool flat;
};

bool anyItemBreaks(const ItemList<ExprPtr> &list) {
  return std::any_of(list.entries.begin(), list.entries.end(),
                     [](const auto &entry) { return mustBreakLine(*entry.value); });
}

bool anyItemBreaks(const ItemList<Argument> &list) {
  return std::any_of(list.entries.begin(), list.entries.end(),
                     [](const auto &entry) { return mustBreakLine(*entry.value.value); });
}

template <typename T> bool listBreaks(const ItemList<T> &list) {
  if (!list.dangling.empty() || (list.trailingComma && !list.entries.empty()))
    return true;
  for (const auto &entry : list.entries)
    if (!entry.trivia.leading.empty() || !entry.trivia.trailing.empty())
      return true;
  return anyItemBreaks(list);
}

struct BreakFinder {
  bool operator()(const ListLiteral &list) const { return listBreaks(list.items); }
  bool operator()(const Call &call) const { return listBreaks(call.arguments); }
  bool operator()(const Member &member) const { return mustBreakLine(*member.base); }
  bool operator()(const Subscript &subscript) const { return mustBreakLine(*subscript.base); }
  bool operator()(const Unary &unary) const { return mustBreakLine(*unary.operand); }
  bool operator()(const Binary &binary) const {
    return mustBreakLine(*binary.lhs) || mustBreakLine(*binary.rhs);
  }
  bool operator()(const auto &) const { return false; }
};

} // namespace

bool mustBreakLine(const Expr &expr) { return std::visit(BreakFinder(), expr.node); }

std::string layout(const Expr &expr, Placement place, int precedence) {
  return Layout(false).expr(expr, place, precedence);
}

std::string printFlat(const Expr &expr) { return Layout(true).expr(expr, {}, 0); }

std::string printPath(const Path &path) {
  std::string text;
  for (const Path::Piece &piece : path.pieces)
    text += piece.hole ? "{" + printFlat(*piece.hole) + "}" : piece.text;
  return text;
}

std::string layoutType(const TypeExpr &type) {
  std::string text(nameOf(type.dtype));
  if (type.dims.empty())
    return text;
  text += "[";
  for (const ExprPtr &dim : type.dims)
    text += (&dim == &type.dims.front() ? "" : ", ") + printFlat(*dim);
  return text + "]";
}

size_t lastLineWidth(const std::string &text, size_t before) {
  size_t newline = text.rfind('\n');
  return newline == std::string::npos ? before + text.size() : text.size() - newline - 1;
}

void appendComments(std::string &out, const std::vector<CommentLine> &lines, size_t indent,
                    bool atStart) {
  for (const CommentLine &line : lines) {
    if (line.blankBefore && !(atStart && &line == &lines.front()))
      out += '\n';
    out += std::string(indent, ' ') + line.text + '\n';
  }
}

} // namespace nncc::frontend
