// Signatures from their text, look-up, and the documentation table.
#include "frontend/nn/OpTable.h"

#include <fmt/format.h>

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/ErrorHandling.h"

namespace nncc::frontend {

namespace {

constexpr ArgKind allKinds[] = {ArgKind::Tensor, ArgKind::Tensors, ArgKind::Scalar, ArgKind::Int,
                                ArgKind::Ints,   ArgKind::Dims,    ArgKind::Float,  ArgKind::Bool,
                                ArgKind::String, ArgKind::Padding, ArgKind::DType};

llvm::StringRef ref(std::string_view text) { return {text.data(), text.size()}; }

std::vector<std::string> splitNames(std::string_view text) {
  std::vector<std::string> names;
  llvm::SmallVector<llvm::StringRef> parts;
  ref(text).split(parts, ',', -1, /*KeepEmpty=*/false);
  for (llvm::StringRef part : parts)
    names.push_back(part.trim().str());
  return names;
}

ArgKind kindNamed(llvm::StringRef name) {
  for (ArgKind kind : allKinds)
    if (ref(spellingOf(kind)) == name)
      return kind;
  llvm::report_fatal_error("unknown kind of argument in a signature: " + name);
}

} // namespace

std::string_view spellingOf(ArgKind kind) {
  switch (kind) {
  case ArgKind::Tensor:
    return "tensor";
  case ArgKind::Tensors:
    return "tensors";
  case ArgKind::Scalar:
    return "scalar";
  case ArgKind::Int:
    return "int";
  case ArgKind::Ints:
    return "ints";
  case ArgKind::Dims:
    return "dims";
  case ArgKind::Float:
    return "float";
  case ArgKind::Bool:
    return "bool";
  case ArgKind::String:
    return "string";
  case ArgKind::Padding:
    return "padding";
  case ArgKind::DType:
    return "dtype";
  }
  return "?";
}

OpInfo::OpInfo(const OpEntry &entry)
    : table(&entry), weightNames(splitNames(entry.weights)),
      resultNames(givesList() ? std::vector<std::string>() : splitNames(entry.results)) {
  for (const std::string &part : splitNames(entry.signature)) {
    auto [name, rest] = llvm::StringRef(part).split(':');
    auto [kind, fallback] = rest.split('=');
    kind = kind.trim();
    OpArgument argument;
    argument.name = name.trim().str();
    argument.optional = kind.consume_back("?");
    argument.kind = kindNamed(kind);
    if (rest.contains('='))
      argument.fallback = fallback.trim().str();
    args.push_back(std::move(argument));
  }
}

const OpArgument *OpInfo::find(std::string_view name) const {
  for (const OpArgument &argument : args)
    if (argument.name == name)
      return &argument;
  return nullptr;
}

const std::vector<OpInfo> &allOps() {
  static const std::vector<OpInfo> ops = [] {
    std::vector<OpInfo> result;
    for (auto family :
         {layerOps, poolOps, normOps, elementwiseOps, reductionOps, movementOps, sequenceOps})
      for (const OpEntry &entry : family())
        result.emplace_back(entry);
    return result;
  }();
  return ops;
}

const std::vector<OpInfo> &trainOps() {
  static const std::vector<OpInfo> ops(lossOps().begin(), lossOps().end());
  return ops;
}

const OpInfo *findTrainOp(std::string_view name) {
  for (const OpInfo &op : trainOps())
    if (op.entry().name == name)
      return &op;
  return nullptr;
}

const OpInfo *findOp(std::string_view name) {
  static const llvm::StringMap<const OpInfo *> index = [] {
    llvm::StringMap<const OpInfo *> result;
    for (const OpInfo &op : allOps())
      if (!result.try_emplace(op.name(), &op).second)
        llvm::report_fatal_error("two operations named " + llvm::StringRef(op.name()));
    return result;
  }();
  return index.lookup(ref(name));
}

std::string opTableMarkdown() {
  std::string out;
  std::string_view family;
  for (const OpInfo &op : allOps()) {
    const OpEntry &entry = op.entry();
    if (entry.family != family) {
      family = entry.family;
      out += fmt::format("\n### {}\n\n| Call | Parameters | Meaning |\n|---|---|---|\n", family);
    }
    std::string results = entry.results.empty() ? "" : fmt::format("{} = ", entry.results);
    std::string weights =
        entry.weights.empty() ? "" : fmt::format("`{}`", fmt::join(op.weights(), "`, `"));
    out += fmt::format("| `{}{}({})` | {} | {} |\n", results, entry.name, entry.signature, weights,
                       entry.summary);
  }
  return out;
}

} // namespace nncc::frontend
