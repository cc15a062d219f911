// Tables of models; see ModelSummary.h.

#include "driver/ModelSummary.h"
#include "codegen/SizeExprBuilder.h"
#include "ir/Cost.h"
#include "ir/NN.h"
#include "passes/Passes.h"
#include "runtime/MemoryPlan.h"
#include "tools/support/TextTable.h"
#include "tools/support/Units.h"

#include "llvm/ADT/StringSet.h"

#include <fmt/format.h>

using namespace nncc;
using namespace nncc::tools;
using enum TextTable::Align;

namespace {

/// The named dims of a module, each at its smallest value.
struct SmallestDims {
  explicit SmallestDims(mlir::ModuleOp module) {
    auto dims = module->getAttrOfType<mlir::ArrayAttr>(nn::NNDialect::kDimsAttr);
    if (!dims)
      return;
    for (auto dim : dims.getAsRange<nn::DimAttr>()) {
      names.push_back(dim.getName().str());
      values.push_back(dim.getMin());
    }
  }

  int64_t evaluate(nn::Dim dim) const {
    std::optional<rt::SizeExpr> expr = codegen::toSizeExpr(dim, names);
    return expr ? expr->evaluate(values).getOr(0) : 0;
  }

  /// "N = 1"
  std::string text() const {
    std::string list;
    for (size_t i = 0; i < names.size(); ++i)
      list += fmt::format("{}{} = {}", i ? ", " : "", names[i], values[i]);
    return list;
  }

  std::vector<std::string> names;
  std::vector<int64_t> values;
};

} // namespace

std::string driver::layerName(mlir::Operation *op) {
  for (mlir::Value operand : op->getOperands()) {
    auto parameter = operand.getDefiningOp<nn::GetParameterOp>();
    if (!parameter)
      continue;
    llvm::StringRef name = parameter.getName();
    auto [layer, member] = name.rsplit('.');
    return (member.empty() ? name : layer).str();
  }
  return "";
}

std::string driver::summarizeModel(mlir::ModuleOp imported) {
  SmallestDims dims(imported);
  llvm::StringMap<int64_t> elements;
  int64_t parameterBytes = 0, allParameters = 0;
  for (auto parameter : imported.getOps<nn::ParameterOp>()) {
    auto type = mlir::cast<mlir::RankedTensorType>(parameter.getType());
    elements[parameter.getSymName()] = type.getNumElements();
    allParameters += type.getNumElements();
    parameterBytes += dims.evaluate(nn::sizeBytesOf(type));
  }

  TextTable table(
      {{"#"}, {"layer", Left, 40}, {"kind", Left}, {"output", Left}, {"parameters"}, {"FLOPs"}});
  auto infer = imported.lookupSymbol<mlir::func::FuncOp>(passes::kInferFunction);
  if (!infer)
    return "no model\n";
  for (auto [index, argument] : llvm::enumerate(infer.getArguments())) {
    auto name = infer.getArgAttrOfType<mlir::StringAttr>(index, "nn.name");
    table.addRow({"", name ? name.str() : "", "input", nn::describe(argument.getType()), "", ""});
  }
  int64_t number = 0;
  double allFlops = 0;
  llvm::StringSet<> counted; // a parameter that several layers share counts for the first
  for (mlir::Operation &op : infer.getBody().front()) {
    if (op.getNumResults() == 0 || mlir::isa<nn::GetParameterOp, nn::ConstantOp>(op))
      continue;
    int64_t own = 0;
    for (mlir::Value operand : op.getOperands())
      if (auto parameter = operand.getDefiningOp<nn::GetParameterOp>();
          parameter && counted.insert(parameter.getName()).second)
        own += elements.lookup(parameter.getName());
    nn::Dim flops = nn::flopsOf(&op);
    double opFlops = flops ? static_cast<double>(dims.evaluate(flops)) : 0;
    allFlops += opFlops;
    table.addRow({std::to_string(++number), layerName(&op), op.getName().stripDialect().str(),
                  nn::describe(op.getResult(0).getType()), own ? formatCount(own) : "",
                  opFlops > 0 ? formatShortCount(opFlops) : ""});
  }
  table.addRule();
  table.addRow({"", fmt::format("{} layers", number), "", "", formatCount(allParameters),
                formatShortCount(allFlops)});
  std::string text = imported.getSymName() ? imported.getSymName()->str() + "\n\n" : "";
  text += table.render(2);
  text += fmt::format("\n  {} of parameters", formatBytes(double(parameterBytes)));
  if (!dims.names.empty())
    text += fmt::format("; FLOPs for {}", dims.text());
  return text + "; a multiply-add counts as two\n";
}

/// "lenet.nn:9:12" of a longer path.
static std::string fileName(const std::string &source) {
  return source.substr(source.rfind('/') + 1);
}

static int64_t blocksOf(const rt::CudaLaunch &launch, llvm::ArrayRef<int64_t> dims) {
  return launch.gridX.evaluate(dims).getOr(0) * launch.gridY.evaluate(dims).getOr(0) *
         launch.gridZ.evaluate(dims).getOr(0);
}

/// "cuBLASLt, cuDNN": the libraries that can do a kernel.
static std::string alternativesOf(const rt::Kernel &kernel) {
  bool has[2] = {};
  for (const rt::LibraryCall &call : kernel.alternatives)
    has[std::holds_alternative<rt::Convolution<rt::SizeExpr>>(call.operation)] = true;
  return std::string(has[0] ? "cuBLASLt" : "") + (has[0] && has[1] ? ", " : "") +
         (has[1] ? "cuDNN" : "");
}

Result<std::string> driver::reportMemory(const rt::Program &program, size_t codeBytes,
                                         size_t weightsBytes) {
  const rt::EntryPoint *infer = program.findEntryPoint(passes::kInferFunction.str());
  if (!infer)
    return internalError("the program has no entry point for inference");
  std::vector<int64_t> dims;
  std::string at;
  for (const rt::NamedDim &dim : program.dims) {
    at += fmt::format("{}{} = {}", at.empty() ? "" : ", ", dim.name, dim.min);
    dims.push_back(dim.min);
  }
  auto plan = rt::planMemory(program, *infer, dims);
  if (!plan)
    return plan.error();

  std::string text = fmt::format("{}{}\n", program.modelName, at.empty() ? "" : " at " + at);
  auto line = [&](std::string_view name, double bytes, const std::string &note) {
    text += fmt::format("  {:<14}{:>10}  {}\n", name, formatBytes(bytes), note);
  };
  double bound = double(plan->lowerBoundBytes);
  line("arena", double(plan->arenaBytes),
       bound > 0 ? fmt::format("{} bytes, {:.1f}% above the lower bound", plan->arenaBytes,
                               100 * (double(plan->arenaBytes) / bound - 1))
                 : "no intermediates");
  line("lower bound", bound, "largest set of intermediates alive at one step");
  line("sum", double(plan->sumBytes), "all intermediates without sharing");
  line("weights", double(weightsBytes), "");
  line("code", double(codeBytes), "");

  bool isCuda = !program.kernels.empty() && program.kernels[0].cuda;
  TextTable table({{"#"},
                   {"kernel", Left, 48},
                   {"source", Left, 32},
                   {isCuda ? "blocks" : "tasks"},
                   {"FLOPs"},
                   isCuda ? TextTable::Column{"or by", Left} : TextTable::Column{"scratch"}});
  double allFlops = 0;
  for (const auto &[index, step] : llvm::enumerate(infer->steps)) {
    const rt::Kernel &kernel = program.kernels[step.kernel];
    double flops = double(step.flops.evaluate(dims).getOr(0));
    allFlops += flops;
    table.addRow({std::to_string(index + 1), kernel.name, fileName(kernel.source),
                  formatCount(isCuda ? blocksOf(*kernel.cuda, dims)
                                     : step.tasks.evaluate(dims).getOr(0)),
                  formatShortCount(flops),
                  isCuda ? alternativesOf(kernel)
                         : formatBytes(double(kernel.scratchBytes.evaluate(dims).getOr(0)))});
  }
  table.addRule();
  table.addRow({"",
                fmt::format("{} steps, {} kernels", infer->steps.size(), program.kernels.size()),
                "", "", formatShortCount(allFlops), ""});
  return text + "\n" + table.render(2);
}
