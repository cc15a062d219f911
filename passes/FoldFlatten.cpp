// Lets a channels-last image flow into a linear layer as it lies. Flatten asks for row-major order, so AssignLayouts puts a
// reorder before it; where a matrix product with a parameter weight follows, the rows of the weight are permuted instead, once, in
// @prepare. Runs right after AssignLayouts, whose reorders it removes.

#include "passes/ParameterValues.h"
#include "passes/Passes.h"

#include "ir/View.h"

namespace nncc::passes {
#define GEN_PASS_DEF_FOLDFLATTEN
#include "passes/Passes.h.inc"
} // namespace nncc::passes

using namespace mlir;
using namespace nncc;
using namespace nncc::passes;

namespace {

RankedTensorType tensorTypeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

/// The image [N, C, spatial...] behind reorder and reshape to [N, C * spatial], if that is what `flat` is.
nn::ReorderOp flattenedReorder(Value flat) {
  auto reshape = flat.getDefiningOp<nn::ReshapeOp>();
  auto reorder = reshape ? reshape.getX().getDefiningOp<nn::ReorderOp>() : nn::ReorderOp();
  if (!reorder || nn::isView(reorder))
    return {};
  RankedTensorType image = tensorTypeOf(reorder.getInput()), row = tensorTypeOf(flat);
  bool isFlatten = row.getRank() == 2 && image.getRank() > 2 && nn::isRowMajor(tensorTypeOf(reorder)) &&
                   !nn::isPacked(image) && nn::orderOf(image).front() == 0 &&
                   nn::dimOf(row, 0) == nn::dimOf(image, 0) && !ShapedType::isDynamic(row.getDimSize(1)) &&
                   llvm::none_of(image.getShape().drop_front(), ShapedType::isDynamic);
  return isFlatten ? reorder : nn::ReorderOp();
}

struct FoldFlattenPass : passes::impl::FoldFlattenBase<FoldFlattenPass> {
  void runOnOperation() override {
    ParameterValues parameterValues;
    getOperation().walk([&](nn::MatmulOp matmul) {
      nn::ReorderOp reorder = flattenedReorder(matmul.getLhs());
      if (reorder && !matmul.getTransposeLhs() && tensorTypeOf(matmul.getRhs()).getRank() == 2 &&
          parameterValues.contains(matmul.getRhs()))
        fold(matmul, reorder);
    });
  }

  void fold(nn::MatmulOp matmul, nn::ReorderOp reorder) {
    OpBuilder builder(matmul);
    Location loc = reorder.getLoc();
    RankedTensorType image = tensorTypeOf(reorder.getInput()), row = tensorTypeOf(matmul.getLhs());
    SmallVector<int64_t> order = nn::orderOf(image);

    // The image as rows in the sequence of its memory: views only.
    nn::Shape logical = nn::shapeOf(image), inMemory;
    for (int64_t dim : order)
      inMemory.push_back(logical[dim]);
    auto memoryType = *nn::tensorType(std::nullopt, inMemory, image.getElementType());
    Value rows = nn::TransposeOp::create(builder, loc, memoryType, reorder.getInput(),
                                         builder.getDenseI64ArrayAttr(order));
    matmul.getLhsMutable().assign(nn::ReshapeOp::create(builder, loc, row, rows));

    // The weight's K dimension in the same sequence: split into C and spatial, permuted, joined again.
    RankedTensorType weight = tensorTypeOf(matmul.getRhs());
    unsigned k = matmul.getTransposeRhs() ? 1 : 0;
    SmallVector<int64_t> split, permutation, permuted;
    auto appendImageDims = [&] {
      unsigned first = split.size();
      llvm::append_range(split, image.getShape().drop_front());
      for (int64_t dim : ArrayRef<int64_t>(order).drop_front())
        permutation.push_back(first + dim - 1);
    };
    if (k == 0)
      appendImageDims();
    permutation.push_back(split.size());
    split.push_back(weight.getDimSize(1 - k));
    if (k == 1)
      appendImageDims();
    for (int64_t dim : permutation)
      permuted.push_back(split[dim]);
    Type element = weight.getElementType();
    Value value = nn::ReshapeOp::create(builder, loc, RankedTensorType::get(split, element), matmul.getRhs());
    value = nn::TransposeOp::create(builder, loc, RankedTensorType::get(permuted, element), value,
                                    builder.getDenseI64ArrayAttr(permutation));
    matmul.getRhsMutable().assign(nn::ReshapeOp::create(builder, loc, weight, value));
  }
};

} // namespace
