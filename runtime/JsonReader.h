// Reading of values from a Program JSON document, for those who read its parts. A value that is not what was expected is noted
// with its place in the document, the first such counts, and reading goes on with a harmless one.
#pragma once

#include "runtime/Program.h"

#include <nlohmann/json.hpp>

namespace nncc::rt {

using Json = nlohmann::ordered_json;

class JsonReader {
public:
  /// A value of the document and how to get there; the root's path is empty.
  struct Node {
    const Json *json;
    std::string path;
  };

  void fail(const Node &node, const std::string &what) {
    if (problem.empty())
      problem = node.path.empty() ? what : node.path + ": " + what;
  }

  void failType(const Node &node, const char *expected) {
    fail(node, std::string("expected ") + expected + ", found " + node.json->type_name());
  }

  static bool has(const Node &node, const char *key) {
    return node.json->is_object() && node.json->contains(key);
  }

  Node child(const Node &node, const char *key) {
    std::string path = node.path.empty() ? key : node.path + "." + key;
    if (has(node, key))
      return {&(*node.json)[key], std::move(path)};
    fail(node, std::string("expected an object with the field \"") + key + "\"");
    return {&null, std::move(path)};
  }

  template <typename Visit> void forEach(const Node &node, const char *key, Visit visit) {
    Node list = child(node, key);
    if (!list.json->is_array())
      return failType(list, "an array");
    for (size_t i = 0; i < list.json->size() && problem.empty(); ++i)
      visit(Node{&(*list.json)[i], list.path + "[" + std::to_string(i) + "]"});
  }

  std::string readString(const Node &node, const char *key) {
    Node value = child(node, key);
    if (const std::string *text = value.json->get_ptr<const std::string *>())
      return *text;
    failType(value, "a string");
    return "";
  }

  int64_t toInteger(const Node &node) {
    bool fits = node.json->is_number_integer() &&
                !(node.json->is_number_unsigned() && node.json->get<uint64_t>() > INT64_MAX);
    if (fits)
      return node.json->get<int64_t>();
    failType(node, "a 64-bit integer");
    return 0;
  }

  int64_t readInteger(const Node &node, const char *key) { return toInteger(child(node, key)); }

  double readNumber(const Node &node, const char *key) {
    Node value = child(node, key);
    if (value.json->is_number())
      return value.json->get<double>();
    fail(value, "expected a number");
    return 0;
  }

  uint32_t toIndex(const Node &node) {
    int64_t value = toInteger(node);
    if (value < 0 || value > UINT32_MAX)
      fail(node, "expected an index, found " + std::to_string(value));
    return static_cast<uint32_t>(value);
  }

  SizeExpr toExpr(const Node &node) {
    const std::string *text = node.json->get_ptr<const std::string *>();
    if (!text)
      return toInteger(node);
    std::optional<SizeExpr> expr = SizeExpr::parse(*text, dimNames);
    if (!expr)
      fail(node, "cannot read the size expression \"" + *text + "\"");
    return expr.value_or(0);
  }

  SizeExpr readExprOrZero(const Node &node, const char *key) {
    return has(node, key) ? toExpr(child(node, key)) : SizeExpr(0);
  }

  DType readDType(const Node &node) {
    std::string name = readString(node, "dtype");
    std::optional<DType> type = dtypeNamed(name);
    if (!type)
      fail(node, "unknown dtype \"" + name + "\"");
    return type.value_or(DType::F32);
  }

protected:
  std::vector<std::string> dimNames; ///< of size expressions
  std::string problem;               ///< the first, or empty

private:
  const Json null;
};

inline Json writeSizeExpr(const SizeExpr &expr, const std::vector<std::string> &dimNames) {
  return expr.isConstant() ? Json(expr.terms[0].value) : Json(expr.toString(dimNames));
}

} // namespace nncc::rt
