// See StepMemory.h.

#include "passes/StepMemory.h"

#include "ir/Cost.h"
#include "runtime/Program.h"

using namespace mlir;
using namespace nncc;
using namespace nncc::passes;

DimValues::DimValues(func::FuncOp step) : context(step.getContext()) {
  auto module = step->getParentOfType<ModuleOp>();
  int64_t batch = rt::TrainDefaults().batch;
  if (auto settings = module->getAttrOfType<DictionaryAttr>(nn::NNDialect::kTrainAttr))
    if (auto given = settings.getAs<IntegerAttr>("batch"))
      batch = given.getInt();
  if (auto dims = module->getAttrOfType<ArrayAttr>(nn::NNDialect::kDimsAttr))
    for (auto dim : dims.getAsRange<nn::DimAttr>())
      values[dim.getName()] = dim.getMin();
  for (BlockArgument argument : step.getArguments()) {
    nn::Shape shape = nn::shapeOf(argument.getType());
    auto symbol = shape.empty() ? nn::Dim() : shape.front();
    if (auto named = dyn_cast_if_present<AffineSymbolExpr>(symbol))
      values[nn::dimName(context, named.getPosition())] = batch;
  }
}

std::optional<int64_t> DimValues::evaluate(nn::Dim dim) const {
  if (!dim)
    return std::nullopt;
  SmallVector<AffineExpr> replacements;
  bool isKnown = true;
  dim.walk([&](AffineExpr part) {
    auto symbol = dyn_cast<AffineSymbolExpr>(part);
    if (!symbol)
      return;
    while (replacements.size() <= symbol.getPosition())
      replacements.push_back(getAffineConstantExpr(0, context));
    auto value = values.find(nn::dimName(context, symbol.getPosition()));
    isKnown &= value != values.end();
    if (isKnown)
      replacements[symbol.getPosition()] = getAffineConstantExpr(value->second, context);
  });
  return isKnown ? nn::constantOf(dim.replaceSymbols(replacements)) : std::nullopt;
}

int64_t DimValues::bytesOf(Type tensorType) const {
  return evaluate(nn::sizeBytesOf(cast<RankedTensorType>(tensorType))).value_or(INT64_MAX);
}

std::string DimValues::describe() const {
  SmallVector<StringRef> names(values.keys());
  llvm::sort(names);
  std::string text;
  for (StringRef name : names)
    text += (text.empty() ? "" : ", ") + name.str() + " = " + std::to_string(values.lookup(name));
  return text.empty() ? "fixed size" : text;
}
