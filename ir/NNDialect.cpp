// Registers the nn dialect and keeps the table of named dims of a context: one number per name, so that a dimension is a plain
// affine expression over symbols and MLIR's own simplification works on it.

#include "ir/NNDialect.h"
#include "ir/ConstantFolding.h"
#include "ir/NN.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/OpImplementation.h"

using namespace mlir;
using namespace nncc::nn;

#include "ir/NNDialect.cpp.inc"
#include "ir/NNInterfaces.cpp.inc"

namespace {

/// Layouts get a name at the top of the text, `tensor<64x3x3x64xf32, #packed>`: spelt out they would hide the op behind its types.
/// Named dims alone are short enough to stay in place.
struct LayoutAliases : OpAsmDialectInterface {
  using OpAsmDialectInterface::OpAsmDialectInterface;

  AliasResult getAlias(Attribute attribute, raw_ostream &os) const override {
    auto encoding = dyn_cast<EncodingAttr>(attribute);
    if (!encoding || (!encoding.getPack() && encoding.getOrder().empty()))
      return AliasResult::NoAlias;
    ArrayRef<int64_t> order = encoding.getOrder();
    if (encoding.getPack())
      os << "packed";
    else
      os << (order == ArrayRef<int64_t>(channelsLastOrder(order.size())) ? "channels_last" : "order");
    return AliasResult::FinalAlias;
  }
};

} // namespace

void NNDialect::initialize() {
  registerAttributes();
  addOperations<
#define GET_OP_LIST
#include "ir/NNOps.cpp.inc"
      >();
  addInterfaces<DimNames, ConstantFolding, LayoutAliases>();
}

Operation *NNDialect::materializeConstant(OpBuilder &builder, Attribute value, Type type,
                                          Location loc) {
  auto elements = dyn_cast<ElementsAttr>(value);
  if (!elements || elements.getShapedType() != type)
    return nullptr;
  return ConstantOp::create(builder, loc, elements);
}

unsigned DimNames::numberOf(StringRef name) {
  std::lock_guard<std::mutex> lock(mutex);
  auto [it, isNew] = numbers.try_emplace(name, names.size());
  if (isNew)
    names.push_back(it->first());
  return it->second;
}

StringRef DimNames::nameOf(unsigned number) const {
  std::lock_guard<std::mutex> lock(mutex);
  return number < names.size() ? names[number] : StringRef("?");
}
