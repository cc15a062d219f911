// nn ops by short names; see TensorBuilder.h.

#include "ir/TensorBuilder.h"

using namespace mlir;
using namespace nncc;
using namespace nncc::nn;

SmallVector<int64_t> nn::dimsBetween(int64_t begin, int64_t end) {
  return llvm::to_vector(llvm::seq<int64_t>(begin, end));
}

Value TensorBuilder::scalar(Value like, double value) {
  Type element = typeOf(like).getElementType();
  auto type = RankedTensorType::get({1}, element);
  return nn::ConstantOp::create(*this, DenseElementsAttr::get(type, getFloatAttr(element, value)));
}

Value TensorBuilder::zeros(RankedTensorType type) {
  Type element = type.getElementType();
  auto one = RankedTensorType::get(SmallVector<int64_t>(type.getRank(), 1), element);
  Value zero = nn::ConstantOp::create(*this, DenseElementsAttr::get(one, getFloatAttr(element, 0.0)));
  return expand(zero, type);
}

Value TensorBuilder::sumKept(Value x, ArrayRef<int64_t> axes) {
  return axes.empty() ? x : create<nn::ReduceSumOp>(x, axes, /*keepdims=*/true);
}

Value TensorBuilder::sum(Value x, ArrayRef<int64_t> axes) {
  return axes.empty() ? x : create<nn::ReduceSumOp>(x, axes, /*keepdims=*/false);
}

Value TensorBuilder::sumTo(Value gradient, RankedTensorType type) {
  RankedTensorType from = typeOf(gradient);
  int64_t lead = from.getRank() - type.getRank();
  SmallVector<int64_t> axes = dimsBetween(0, lead);
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    if (nn::constantOf(nn::dimOf(type, dim)) == 1 && nn::constantOf(nn::dimOf(from, dim + lead)) != 1)
      axes.push_back(dim + lead);
  return reshape(sum(gradient, axes), type);
}

Value TensorBuilder::reshape(Value x, RankedTensorType type) {
  if (nn::sameLogicalType(x.getType(), type))
    return x;
  return create<nn::ReshapeOp>(type, x);
}

Value TensorBuilder::reshape(Value x, ArrayRef<nn::Dim> shape) {
  return reshape(x, *nn::tensorType(std::nullopt, shape, typeOf(x).getElementType()));
}

Value TensorBuilder::expand(Value x, RankedTensorType type) {
  if (nn::sameLogicalType(x.getType(), type))
    return x;
  return create<nn::ExpandOp>(type, x);
}

Value TensorBuilder::count(Value x, ArrayRef<int64_t> axes) {
  RankedTensorType type = typeOf(x);
  SmallVector<nn::Dim> dims;
  for (int64_t axis : axes)
    dims.push_back(nn::dimOf(type, axis));
  if (std::optional<int64_t> known = nn::constantOf(nn::product(dims, getContext())))
    return scalar(x, static_cast<double>(*known));
  // A dimension is no value in this dialect, but a sum of ones along it is.
  SmallVector<nn::Dim> open;
  double known = 1;
  for (nn::Dim dim : dims)
    if (std::optional<int64_t> extent = nn::constantOf(dim))
      known *= static_cast<double>(*extent);
    else
      open.push_back(dim);
  Value ones = expand(scalar(x, 1.0), *nn::tensorType(std::nullopt, open, type.getElementType()));
  Value sum = sumKept(ones, dimsBetween(0, open.size()));
  return known == 1 ? sum : mul(sum, known);
}

Value TensorBuilder::alongDim(Value x, int64_t dim, int64_t rank) {
  if (dim + 1 == rank)
    return x;
  SmallVector<nn::Dim> shape(rank - dim, nn::constantDim(getContext(), 1));
  shape[0] = nn::dimOf(typeOf(x), 0);
  return reshape(x, shape);
}

Value TensorBuilder::transpose(Value x, ArrayRef<int64_t> permutation) {
  return create<nn::TransposeOp>(x, permutation);
}

Value TensorBuilder::swapLastTwo(Value x) {
  SmallVector<int64_t> permutation = dimsBetween(0, rankOf(x));
  std::swap(permutation[permutation.size() - 1], permutation[permutation.size() - 2]);
  return transpose(x, permutation);
}

Value TensorBuilder::contractAlong(Value x, int64_t dim, Value matrix) {
  int64_t rank = rankOf(x);
  bool isLast = dim == rank - 1;
  SmallVector<int64_t> there = dimsBetween(0, rank), back = there;
  there.erase(there.begin() + dim);
  there.push_back(dim);
  back.pop_back();
  back.insert(back.begin() + dim, rank - 1);
  Value rows = isLast ? x : transpose(x, there);
  Value product = create<nn::MatmulOp>(rows, matrix, Value(), /*transpose_lhs=*/false, /*transpose_rhs=*/false);
  return isLast ? product : transpose(product, back);
}

Value TensorBuilder::positions(Value like, nn::Dim extent) {
  // An index is no value in this dialect, but a running sum of ones is one more than it.
  Value ones = expand(scalar(like, 1.0), *nn::tensorType(std::nullopt, {extent}, typeOf(like).getElementType()));
  Value counts = create<nn::LinearScanOp>(ones, ones, Value(), getI64IntegerAttr(0), mlir::UnitAttr());
  return sub(counts, scalar(like, 1.0));
}
