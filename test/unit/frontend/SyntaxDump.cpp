// S-expressions of syntax trees, and the texts that the tests share.
#include "SyntaxDump.h"

#include "frontend/nn/Lexer.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace nncc::frontend {

namespace {

std::string dumpOptional(const ExprPtr &expr) { return expr ? dump(*expr) : "-"; }

std::string dumpPath(const std::optional<Path> &path) {
  if (!path)
    return "-";
  std::string out = "(path";
  for (const Path::Piece &piece : path->pieces)
    out += piece.hole ? " {" + dump(*piece.hole) + "}" : " " + piece.text;
  return out + ")";
}

std::string dumpType(const TypeExpr &type) {
  std::string out = fmt::format("({}", nameOf(type.dtype));
  for (const ExprPtr &dim : type.dims)
    out += " " + dump(*dim);
  return out + ")";
}

std::string dumpBody(const Body &body);

struct ExprDump {
  std::string operator()(const IntLiteral &v) { return fmt::to_string(v.value); }
  std::string operator()(const FloatLiteral &v) { return fmt::format("{:a}", v.value); }
  std::string operator()(const BoolLiteral &v) { return v.value ? "#t" : "#f"; }
  std::string operator()(const StringLiteral &v) { return "'" + v.value + "'"; }
  std::string operator()(const NoneLiteral &) { return "#none"; }
  std::string operator()(const NameRef &v) { return v.name; }
  std::string operator()(const ListLiteral &v) {
    std::string out = "(list";
    for (const auto &entry : v.items.entries)
      out += " " + dump(*entry.value);
    return out + ")";
  }
  std::string operator()(const Member &v) {
    return "(. " + dump(*v.base) + " " + v.name.name + ")";
  }
  std::string operator()(const Subscript &v) {
    std::string out = "(at " + dump(*v.base);
    for (const SubscriptItem &item : v.items)
      out += item.isSlice ? fmt::format(" ({} : {} : {})", dumpOptional(item.start),
                                        dumpOptional(item.stop), dumpOptional(item.step))
                          : " " + dump(*item.start);
    return out + ")";
  }
  std::string operator()(const Unary &v) {
    return (v.op == UnaryOp::Not ? "(not " : "(neg ") + dump(*v.operand) + ")";
  }
  std::string operator()(const Binary &v) {
    return fmt::format("({} {} {})", infoOf(v.op).spelling, dump(*v.lhs), dump(*v.rhs));
  }
  std::string operator()(const Call &v) {
    std::string out = "(call " + v.callee.name;
    for (const auto &entry : v.arguments.entries)
      out +=
          " " + (entry.value.name ? entry.value.name->name + "=" : "") + dump(*entry.value.value);
    if (v.path)
      out += " as " + dumpPath(v.path);
    return out + ")";
  }
};

struct StatementDump {
  std::string operator()(const Assign &v) {
    std::string out = "(set";
    for (const Identifier &target : v.targets)
      out += " " + target.name;
    return out + " " + dump(*v.value) + ")";
  }
  std::string operator()(const Return &v) {
    std::string out = "(return";
    for (const ReturnItem &item : v.items)
      out += " " + (item.name ? item.name->name + "=" : "") + dump(*item.value);
    return out + ")";
  }
  std::string operator()(const Repeat &v) {
    return fmt::format("(repeat {} {} {} {})", v.index ? v.index->name : "-", dump(*v.first),
                       dumpOptional(v.last), dumpBody(v.body));
  }
  std::string operator()(const If &v) {
    std::string out = "(if";
    for (const If::Branch &branch : v.branches)
      out += " " + dump(*branch.condition) + " " + dumpBody(branch.body);
    return out + (v.otherwise ? " else " + dumpBody(*v.otherwise) : "") + ")";
  }
  std::string operator()(const ParamStatement &v) {
    return fmt::format("(param {} {} {} {})", v.name.name, dumpType(v.type), dump(*v.init),
                       dumpPath(v.path));
  }
  std::string operator()(const Target &v) {
    return "(target " + v.name.name + " " + dumpType(v.type) + ")";
  }
  std::string operator()(const Metric &v) {
    return "(metric " + v.name.name + " " + dump(*v.value) + ")";
  }
};

std::string dumpBody(const Body &body) {
  std::string out = "{";
  for (const Statement &statement : body.statements)
    out += std::visit(StatementDump(), statement.node);
  return out + "}";
}

struct DeclarationDump {
  std::string operator()(const Import &v) { return "(import '" + v.path + "')"; }
  std::string operator()(const ConstDecl &v) {
    return "(const " + v.name.name + " " + dump(*v.value) + ")";
  }
  std::string operator()(const DimDecl &v) {
    return fmt::format("(dim {} {} {})", v.name.name, dump(*v.first), dumpOptional(v.last));
  }
  std::string operator()(const BlockDecl &v) {
    std::string out = "(block " + v.name.name + " (";
    for (const auto &entry : v.parameters.entries)
      out += entry.value.name.name + "=" + dumpOptional(entry.value.defaultValue) + " ";
    return out + ") " + dumpBody(v.body) + ")";
  }
  std::string operator()(const ModelDecl &v) {
    std::string out = "(model " + v.name.name + " (";
    for (const auto &entry : v.inputs.entries)
      out += entry.value.name.name + ":" + dumpType(entry.value.type) + " ";
    return out + ") " + dumpBody(v.body) + ")";
  }
  std::string operator()(const TrainDecl &v) { return "(train " + dumpBody(v.body) + ")"; }
};

std::string readText(const std::filesystem::path &path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

} // namespace

std::string dump(const Expr &expr) { return std::visit(ExprDump(), expr.node); }

std::string dump(const File &file) {
  std::string out;
  for (const Declaration &declaration : file.declarations)
    out += std::visit(DeclarationDump(), declaration.node) + "\n";
  return out;
}

std::vector<std::string> commentsOf(const std::string &text) {
  SourceManager sources;
  Diagnostics diagnostics;
  TokenStream stream;
  std::vector<std::string> comments;
  if (lex(*sources.add("comments.nn", text, diagnostics), stream, diagnostics))
    for (const Comment &comment : stream.comments)
      comments.emplace_back(comment.range.text());
  return comments;
}

std::unique_ptr<Parsed> parseText(const std::string &text) {
  auto parsed = std::make_unique<Parsed>();
  const SourceFile *source = parsed->sources.add("test.nn", text, parsed->diagnostics);
  if (source)
    parsed->file = parse(*source, parsed->diagnostics);
  return parsed;
}

std::vector<std::pair<std::string, std::string>> exampleTexts() {
  const std::filesystem::path root = NNCC_SOURCE_DIR;
  std::vector<std::pair<std::string, std::string>> result;
  for (const auto &entry : std::filesystem::directory_iterator(root / "examples"))
    if (entry.path().extension() == ".nn")
      result.emplace_back(entry.path().filename().string(), readText(entry.path()));
  std::sort(result.begin(), result.end());

  std::string manual = readText(root / "docs" / "language.md");
  const std::string open = "\n```nn\n", close = "\n```\n";
  for (size_t at = manual.find(open); at != std::string::npos; at = manual.find(open, at)) {
    at += open.size();
    size_t end = manual.find(close, at);
    size_t line = std::count(manual.begin(), manual.begin() + at, '\n') + 1;
    result.emplace_back(fmt::format("language.md:{}", line), manual.substr(at, end - at + 1));
    at = end;
  }
  return result;
}

} // namespace nncc::frontend
