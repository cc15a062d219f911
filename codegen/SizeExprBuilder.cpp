// See SizeExprBuilder.h.

#include "codegen/SizeExprBuilder.h"

using namespace mlir;
using namespace nncc;
using namespace nncc::codegen;

static rt::SizeExpr::Op opOf(AffineExprKind kind) {
  switch (kind) {
  case AffineExprKind::Add:
    return rt::SizeExpr::Op::Add;
  case AffineExprKind::Mul:
    return rt::SizeExpr::Op::Mul;
  case AffineExprKind::FloorDiv:
    return rt::SizeExpr::Op::FloorDiv;
  case AffineExprKind::CeilDiv:
    return rt::SizeExpr::Op::CeilDiv;
  case AffineExprKind::Mod:
    return rt::SizeExpr::Op::Mod;
  default:
    llvm_unreachable("not a binary expression");
  }
}

std::optional<rt::SizeExpr> codegen::toSizeExpr(nn::Dim dim, ArrayRef<std::string> dimNames) {
  if (!dim)
    return std::nullopt;
  if (auto constant = nn::constantOf(dim))
    return rt::SizeExpr(*constant);
  if (auto symbol = dyn_cast<AffineSymbolExpr>(dim)) {
    auto it = llvm::find(dimNames, nn::dimName(dim.getContext(), symbol.getPosition()).str());
    if (it == dimNames.end())
      return std::nullopt;
    return rt::SizeExpr::dim(it - dimNames.begin());
  }
  auto binary = dyn_cast<AffineBinaryOpExpr>(dim);
  if (!binary)
    return std::nullopt;
  std::optional<rt::SizeExpr> lhs = toSizeExpr(binary.getLHS(), dimNames);
  std::optional<rt::SizeExpr> rhs = toSizeExpr(binary.getRHS(), dimNames);
  if (!lhs || !rhs)
    return std::nullopt;
  return rt::SizeExpr::binary(opOf(dim.getKind()), *lhs, *rhs);
}
