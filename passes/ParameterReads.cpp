// Merges the reads of each parameter; see ParameterReads.h.

#include "passes/ParameterReads.h"

using namespace mlir;
using namespace nncc;

llvm::MapVector<StringAttr, nn::GetParameterOp> passes::mergeParameterReads(Block &body) {
  llvm::MapVector<StringAttr, nn::GetParameterOp> reads;
  for (auto get : llvm::make_early_inc_range(body.getOps<nn::GetParameterOp>())) {
    auto [it, isNew] = reads.insert({get.getNameAttr().getAttr(), get});
    if (isNew)
      continue;
    it->second->moveBefore(&body, body.begin());
    get.getResult().replaceAllUsesWith(it->second.getResult());
    get.erase();
  }
  return reads;
}
