// A typed header for one model; see ModelHeader.h.

#include "driver/ModelHeader.h"
#include "runtime/Tensor.h"

#include <fmt/format.h>

#include <cctype>
#include <set>

using namespace nncc;

namespace {

/// A C++ identifier for a public name; `taken` keeps names of one scope apart.
std::string identifier(const std::string &name, std::set<std::string> &taken) {
  static const std::set<std::string> kReserved = {
      "auto",    "bool",   "break",    "case",    "char",   "class",    "const",
      "default", "delete", "do",       "double",  "else",   "enum",     "export",
      "extern",  "false",  "float",    "for",     "if",     "inline",   "int",
      "long",    "new",    "operator", "private", "public", "register", "return",
      "short",   "signed", "sizeof",   "static",  "struct", "switch",   "this",
      "true",    "try",    "union",    "using",   "void",   "while"};
  std::string out;
  for (char c : name)
    out += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  if (out.empty() || std::isdigit(static_cast<unsigned char>(out[0])) || kReserved.contains(out))
    out += "_";
  if (std::isdigit(static_cast<unsigned char>(out[0])))
    out = "_" + out;
  while (!taken.insert(out).second)
    out += "_";
  return out;
}

/// The C++ type of an element; nothing for half precision, which C++20 does not have.
const char *elementType(DType dtype) {
  switch (dtype) {
  case DType::F32:
    return "float";
  case DType::F64:
    return "double";
  case DType::I8:
    return "int8_t";
  case DType::U8:
    return "uint8_t";
  case DType::I32:
    return "int32_t";
  case DType::I64:
    return "int64_t";
  case DType::Bool:
    return "bool";
  case DType::F16:
  case DType::BF16:
    return nullptr;
  }
  return nullptr;
}

} // namespace

Result<std::string> driver::writeModelHeader(const rt::Program &program,
                                             const std::string &library) {
  const rt::EntryPoint *infer = program.findEntryPoint("infer");
  if (!infer)
    return internalError("the program has no entry point for inference");
  std::set<std::string> scope, members;
  std::string className = identifier(program.modelName, scope);
  std::vector<std::string> dimNames = program.dimNames(), dims;
  std::string parameters, arguments, comments;
  std::set<std::string> parameterScope = {"model", "instance", "results"};
  for (const std::string &name : dimNames)
    dims.push_back(identifier(name, parameterScope));
  for (uint32_t id : infer->inputs) {
    const rt::Buffer &buffer = program.buffers[id];
    std::string name = identifier(buffer.name, parameterScope), shape;
    for (const rt::SizeExpr &extent : buffer.shape)
      shape += (shape.empty() ? "" : ", ") + extent.toString(dims);
    const char *element = elementType(buffer.dtype);
    comments += fmt::format("  ///   {}: {}\n", name, rt::describeType(buffer, dimNames));
    parameters += (parameters.empty() ? "" : ", ");
    if (element) {
      parameters += fmt::format("std::span<const {}> {}", element, name);
      arguments += fmt::format("    inputs.push_back(borrow<{}>(\"{}\", {}, {{{}}}));\n", element,
                               buffer.name, name, shape);
    } else {
      parameters += fmt::format("nncc::Tensor {}", name);
      arguments += fmt::format("    inputs.push_back(std::move({}));\n", name);
    }
  }
  for (const std::string &dim : dims)
    parameters += (parameters.empty() ? "int64_t " : ", int64_t ") + dim;

  std::string fields, results;
  for (size_t i = 0; i < infer->outputs.size(); ++i) {
    const rt::Buffer &buffer = program.buffers[infer->outputs[i]];
    fields += fmt::format("    nncc::Tensor {}; ///< {}\n", identifier(buffer.name, members),
                          rt::describeType(buffer, dimNames));
    results += fmt::format("{}std::move(results[{}])", i ? ", " : "", i);
  }
  return fmt::format(
      R"(// Written by nncc --emit=header for the model {0}; compile the model again to change it.
#pragma once

#include <nncc/nncc.hpp>

#include <span>

class {0} {{
public:
  struct Outputs {{
{1}  }};

  explicit {0}(const std::string &library = "{2}", nncc::ModelOptions options = {{}})
      : model(nncc::Model::load(library, std::move(options))), instance(model.createInstance()) {{}}

  /// Borrows the inputs for the time of the call; each holds its elements in row-major order.
{3}  Outputs run({4}) {{
    std::vector<nncc::Tensor> inputs;
{5}    std::vector<nncc::Tensor> results = instance.run(inputs);
    return Outputs{{{6}}};
  }}

private:
  template <typename T>
  static nncc::Tensor borrow(const char *name, std::span<const T> values,
                             std::vector<int64_t> shape) {{
    nncc::Tensor tensor = nncc::Tensor::borrow(values.data(), std::move(shape));
    if (static_cast<int64_t>(values.size()) != tensor.elementCount())
      throw nncc::Exception(nncc::Exception::Kind::User,
                            std::string("input '") + name + "' needs " +
                                std::to_string(tensor.elementCount()) + " elements, not " +
                                std::to_string(values.size()));
    return tensor;
  }}

  nncc::Model model;
  nncc::Instance instance;
}};
)",
      className, fields, library, comments, parameters, arguments, results);
}
