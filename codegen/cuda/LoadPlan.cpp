// Which thread loads what, as code; see LoadPlan.h.

#include "codegen/cuda/LoadPlan.h"

using namespace mlir;
using namespace nncc::codegen;
using namespace nncc::codegen::cuda;

LoadPlace cuda::placeOf(KernelCode &code, const LoadPlan &plan, Value u) {
  Value thread = code.index("thread"), unitsAlong = code.size(plan.unitsAlong);
  if (plan.isRegular()) {
    Value across = code.div(thread, unitsAlong);
    if (plan.perThread > 1)
      across = code.add(across, code.mul(u, code.size(plan.threads / plan.unitsAlong)));
    return {code.mul(code.rem(thread, unitsAlong), code.size(plan.vector)), across};
  }
  Value unit = plan.perThread > 1 ? code.add(thread, code.mul(u, code.size(plan.threads))) : thread;
  return {code.mul(code.rem(unit, unitsAlong), code.size(plan.vector)), code.div(unit, unitsAlong)};
}

void LoadPlan::forLoads(KernelCode &code, function_ref<void()> write) const {
  if (!isLoop())
    return write();
  code.line("#pragma unroll");
  code.open("for (int u = 0; u < " + Twine(perThread) + "; ++u)");
  write();
  code.close();
}
