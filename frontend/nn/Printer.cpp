// Statements and declarations. Each is text without its first line's indentation and without a last
// newline; `Printer` puts comments and empty lines around it.
#include "frontend/nn/Lexer.h"
#include "frontend/nn/PrinterImpl.h"

#include <fmt/format.h>

namespace nncc::frontend {

namespace {

class Printer {
public:
  std::string file(const File &file);

private:
  void surround(const Trivia &trivia, const std::string &text, size_t indent, bool first,
                bool blankBefore);
  void statements(const Body &body, size_t indent);
  std::string body(const Body &body, size_t indent);
  std::string expr(const Expr &expr, size_t indent, const std::string &before, size_t after = 0) {
    return layout(expr, Placement{indent, lastLineWidth(before, indent), after});
  }

  std::string node(const Assign &assign, size_t indent);
  std::string node(const Return &result, size_t indent);
  std::string node(const Repeat &repeat, size_t indent);
  std::string node(const If &branches, size_t indent);
  std::string node(const ParamStatement &param, size_t indent);
  std::string node(const Target &target, size_t indent);
  std::string node(const Metric &metric, size_t indent);

  std::string node(const Import &import) { return "import " + escape(import.path); }
  std::string node(const ConstDecl &constant);
  std::string node(const DimDecl &dim);
  std::string node(const BlockDecl &block);
  std::string node(const ModelDecl &model);
  std::string node(const TrainDecl &train) { return "train " + body(train.body, 0); }

  std::string out;
};

/// Blocks, models and train sections stand apart from their neighbours.
bool standsApart(const Declaration &declaration) {
  return std::holds_alternative<BlockDecl>(declaration.node) ||
         std::holds_alternative<ModelDecl>(declaration.node) ||
         std::holds_alternative<TrainDecl>(declaration.node);
}

std::string Printer::file(const File &file) {
  surround(file.header, fmt::format("nn {}", languageVersion), 0, true, false);
  bool apart = false;
  for (const Declaration &declaration : file.declarations) {
    bool blank = apart || standsApart(declaration);
    surround(declaration.trivia,
             std::visit([&](const auto &node) { return this->node(node); }, declaration.node), 0,
             false, blank);
    apart = standsApart(declaration);
  }
  appendComments(out, file.dangling, 0, false);
  return std::move(out);
}

/// `blankBefore` asks for an empty line before the comments even where the author left none.
void Printer::surround(const Trivia &trivia, const std::string &text, size_t indent, bool first,
                       bool blankBefore) {
  bool commented = !trivia.leading.empty();
  bool authorsBlank = commented ? trivia.leading.front().blankBefore : trivia.blankBefore;
  if (blankBefore && !authorsBlank && !first)
    out += '\n';
  appendComments(out, trivia.leading, indent, first);
  if (trivia.blankBefore && (commented || !first))
    out += '\n';
  out += std::string(indent, ' ') + text;
  if (!trivia.trailing.empty())
    out += "  " + trivia.trailing;
  out += '\n';
}

void Printer::statements(const Body &body, size_t indent) {
  bool first = true;
  for (const Statement &statement : body.statements) {
    std::string text =
        std::visit([&](const auto &node) { return this->node(node, indent); }, statement.node);
    surround(statement.trivia, text, indent, first, false);
    first = false;
  }
  appendComments(out, body.dangling, indent, first);
}

/// `{ ... }`, its last line at `indent`.
std::string Printer::body(const Body &body, size_t indent) {
  if (body.statements.empty() && body.dangling.empty() && body.openComment.empty())
    return "{}";
  Printer inner;
  inner.statements(body, indent + indentWidth);
  std::string comment = body.openComment.empty() ? "" : "  " + body.openComment;
  return "{" + comment + "\n" + inner.out + std::string(indent, ' ') + "}";
}

std::string Printer::node(const Assign &assign, size_t indent) {
  std::string text;
  for (const Identifier &target : assign.targets)
    text += (text.empty() ? "" : ", ") + target.name;
  text += " = ";
  return text + expr(*assign.value, indent, text);
}

std::string Printer::node(const Return &result, size_t indent) {
  std::string text = "return ";
  for (const ReturnItem &item : result.items) {
    bool last = &item == &result.items.back();
    if (item.name)
      text += item.name->name + " = ";
    text += expr(*item.value, indent, text, last ? 0 : 1);
    if (!last)
      text += ", ";
  }
  return text;
}

std::string Printer::node(const Repeat &repeat, size_t indent) {
  std::string text = "repeat ";
  if (repeat.index)
    text += repeat.index->name + " in ";
  text += expr(*repeat.first, indent, text, 2);
  if (repeat.last) {
    text += "..";
    text += expr(*repeat.last, indent, text, 2);
  }
  return text + " " + body(repeat.body, indent);
}

std::string Printer::node(const If &branches, size_t indent) {
  std::string text;
  for (const If::Branch &branch : branches.branches) {
    text += text.empty() ? "if " : " else if ";
    text += expr(*branch.condition, indent, text, 2);
    text += " " + body(branch.body, indent);
  }
  if (branches.otherwise)
    text += " else " + body(*branches.otherwise, indent);
  return text;
}

std::string Printer::node(const ParamStatement &param, size_t indent) {
  std::string text = fmt::format("param {}: {} = ", param.name.name, layoutType(param.type));
  std::string path = param.path ? " as " + printPath(*param.path) : "";
  return text + expr(*param.init, indent, text, path.size()) + path;
}

std::string Printer::node(const Target &target, size_t) {
  return fmt::format("target {}: {}", target.name.name, layoutType(target.type));
}

std::string Printer::node(const Metric &metric, size_t indent) {
  std::string text = fmt::format("metric {} = ", metric.name.name);
  return text + expr(*metric.value, indent, text);
}

std::string Printer::node(const ConstDecl &constant) {
  std::string text = fmt::format("const {} = ", constant.name.name);
  return text + expr(*constant.value, 0, text);
}

std::string Printer::node(const DimDecl &dim) {
  return fmt::format("dim {} = {}..{}", dim.name.name, printFlat(*dim.first),
                     dim.last ? printFlat(*dim.last) : "");
}

std::string Printer::node(const BlockDecl &block) {
  std::string head = "block " + block.name.name;
  auto item = [](const BlockParameter &parameter, Placement place, bool flat) {
    if (!parameter.defaultValue)
      return parameter.name.name;
    std::string text = parameter.name.name + " = ";
    place.before += text.size();
    return text +
           (flat ? printFlat(*parameter.defaultValue) : layout(*parameter.defaultValue, place));
  };
  auto mustBreak = [](const BlockParameter &parameter) {
    return parameter.defaultValue && mustBreakLine(*parameter.defaultValue);
  };
  head += layoutItems(block.parameters, '(', ')', Placement{0, head.size(), 2}, item, mustBreak);
  return head + " " + body(block.body, 0);
}

std::string Printer::node(const ModelDecl &model) {
  std::string head = "model " + model.name.name;
  auto item = [](const ModelInput &input, Placement, bool) {
    return fmt::format("{}: {}", input.name.name, layoutType(input.type));
  };
  head += layoutItems(model.inputs, '(', ')', Placement{0, head.size(), 2}, item,
                      [](const ModelInput &) { return false; });
  return head + " " + body(model.body, 0);
}

} // namespace

std::string print(const File &file) { return Printer().file(file); }

} // namespace nncc::frontend
