// Models as graphs; see ModelGraph.h.

#include "driver/ModelGraph.h"
#include "driver/ModelSummary.h"
#include "ir/NN.h"
#include "ir/Shape.h"
#include "passes/Passes.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/TypeSwitch.h"

#include <fmt/format.h>

using namespace nncc;

static std::string escapeHtml(llvm::StringRef text) {
  std::string out;
  for (char c : text)
    switch (c) {
    case '&':
      out += "&amp;";
      break;
    case '<':
      out += "&lt;";
      break;
    case '>':
      out += "&gt;";
      break;
    default:
      out += c;
    }
  return out;
}

/// Where most of the time goes stands out; what only moves data stays pale.
static const char *colorOf(mlir::Operation *op) {
  if (mlir::isa<nn::KernelOp>(op))
    return "#dbe7f5";
  if (mlir::isa<nn::ElementwiseOpInterface>(op))
    return "#fdf1d0";
  if (mlir::isa<nn::ConvOp, nn::MatmulOp>(op))
    return "#cfe3c8";
  return "#eeeeee";
}

std::string driver::drawModel(mlir::ModuleOp module) {
  std::string text = "digraph model {\n"
                     "  graph [rankdir=TB, nodesep=0.3, ranksep=0.35]\n"
                     "  node [shape=box, style=\"rounded,filled\", color=\"#888888\", "
                     "fontname=\"Helvetica\", fontsize=11]\n"
                     "  edge [color=\"#666666\", arrowsize=0.7]\n";
  auto infer = module.lookupSymbol<mlir::func::FuncOp>(passes::kInferFunction);
  if (!infer)
    return text + "}\n";
  llvm::DenseMap<mlir::Value, std::string> nodes;
  auto addNode = [&](const std::string &id, const char *color, llvm::StringRef title,
                     llvm::StringRef layer, llvm::StringRef type) {
    text += fmt::format("  {} [fillcolor=\"{}\", label=<<b>{}</b>", id, color, escapeHtml(title));
    if (!layer.empty())
      text += "<br/>" + escapeHtml(layer);
    if (!type.empty())
      text += "<br/><font point-size=\"9\">" + escapeHtml(type) + "</font>";
    text += ">]\n";
  };
  for (auto [index, argument] : llvm::enumerate(infer.getArguments())) {
    auto name = infer.getArgAttrOfType<mlir::StringAttr>(index, "nn.name");
    if (!name) // constants that passes made of the weights
      continue;
    nodes[argument] = fmt::format("input{}", index);
    addNode(nodes[argument], "#ffffff", name.getValue(), "input", nn::describe(argument.getType()));
  }
  int number = 0;
  for (mlir::Operation &op : infer.getBody().front()) {
    bool isReturn = op.hasTrait<mlir::OpTrait::ReturnLike>();
    if (mlir::isa<nn::GetParameterOp, nn::ConstantOp>(op))
      continue;
    std::string id = fmt::format("op{}", number++);
    if (!isReturn) {
      auto kernel = mlir::dyn_cast<nn::KernelOp>(op);
      addNode(id, colorOf(&op), kernel ? kernel.getKernelName() : op.getName().stripDialect(),
              layerName(&op), nn::describe(op.getResult(0).getType()));
      for (mlir::Value result : op.getResults())
        nodes[result] = id;
    }
    for (auto [index, operand] : llvm::enumerate(op.getOperands())) {
      auto source = nodes.find(operand);
      if (source == nodes.end())
        continue;
      std::string target = id;
      if (isReturn) {
        auto name = infer.getResultAttrOfType<mlir::StringAttr>(index, "nn.name");
        target = fmt::format("output{}", index);
        addNode(target, "#ffffff", name ? name.getValue() : "output", "output", "");
      }
      text += fmt::format("  {} -> {}\n", source->second, target);
    }
  }
  return text + "}\n";
}
