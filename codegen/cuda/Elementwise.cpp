// Kernels that compute each result element by itself: elementwise chains, movements and mixtures of both. One thread per element,
// or per 16 bytes of result where operands and result lie side by side in memory.

#include "codegen/LoopDims.h"
#include "codegen/cuda/EmitKernel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace nncc;
using namespace nncc::codegen;
using namespace nncc::codegen::cuda;

namespace {

constexpr int64_t kThreads = 256;
constexpr int64_t kVectorBytes = 16;

class ElementwiseEmitter {
public:
  ElementwiseEmitter(KernelCode &code, bool isAligned)
      : code(code), kernel(code.kernel), type(cast<RankedTensorType>(code.storedValue(0).getType())) {
    planLoops();
    if (isAligned)
      planLanes();
  }

  EmittedKernel emit();

private:
  void planLoops();
  void planLanes();
  /// The stored elements fill the result, in the order of its memory.
  bool isWhole(unsigned result) { return code.storedValue(result) == kernel.getTerminator()->getOperand(result); }
  SmallVector<Value> resultIndex(Value number);
  void storeElement(Value number, ArrayRef<Value> index);
  void storeLanes(Value number, ArrayRef<Value> index);
  Value isOutside(ArrayRef<Value> index);

  KernelCode &code;
  nn::KernelOp kernel;
  RankedTensorType type; ///< of what is stored as the first result; the others have its shape
  SmallVector<LoopDim> loops;
  int64_t lanes = 1;
  int laneDim = -1;
};

} // namespace

void ElementwiseEmitter::planLoops() {
  MLIRContext *context = code.getContext();
  if (nn::isPacked(type)) {
    nn::PackLoopsAttr pack = cast<nn::EncodingAttr>(type.getEncoding()).getPack();
    for (size_t loop = 0; loop < pack.loopCount(); ++loop)
      loops.push_back({nn::constantDim(context, pack.extent(loop)), static_cast<unsigned>(pack.dim(loop)), pack.step(loop)});
    return;
  }
  SmallVector<RankedTensorType> leaves = {type};
  bool flattens = true;
  for (unsigned result = 0; result < kernel.getNumResults(); ++result) {
    flattens &= collectLeaves(code.storedValue(result), {}, leaves);
    leaves.push_back(cast<RankedTensorType>(code.storedValue(result).getType()));
    flattens &= isWhole(result);
  }
  loops = loopsOver(type, [&](int64_t outer, int64_t inner) { return flattens && canFlatten(leaves, type, outer, inner); });
}

/// Vectors where a row is a whole number of them and every operand gives them whole.
void ElementwiseEmitter::planLanes() {
  if (loops.empty() || nn::isPacked(type))
    return;
  int64_t widestBytes = 1;
  auto visit = [&](Type tensor) {
    widestBytes = std::max<int64_t>(widestBytes, cast<RankedTensorType>(tensor).getElementTypeBitWidth() / 8);
  };
  for (Type operand : kernel.getBlock().getArgumentTypes())
    visit(operand);
  for (Type result : kernel.getResultTypes())
    visit(result);
  int64_t wanted = kVectorBytes / widestBytes;
  if (loops.back().extent.getLargestKnownDivisor() % wanted != 0)
    return;
  for (unsigned result = 0; result < kernel.getNumResults(); ++result)
    if (!isWhole(result) || code.storedValue(result).getType() != type || !readsContiguously(code.storedValue(result), loops.back().dim))
      return;
  lanes = wanted;
  laneDim = loops.back().dim;
}

/// What the index along a dimension is called: by its role where the memory order tells it, which only images have.
static std::string indexName(RankedTensorType type, int64_t dim) {
  static constexpr const char *kImage[][5] = {{"n", "c", "w"}, {"n", "c", "h", "w"}, {"n", "c", "d", "h", "w"}};
  int64_t rank = type.getRank();
  if (rank == 2 && !nn::isPacked(type))
    return dim == 0 ? "row" : "column";
  if (rank >= 3 && rank <= 5 && !nn::isPacked(type) && !nn::isRowMajor(type) && nn::orderOf(type) == nn::channelsLastOrder(rank))
    return kImage[rank - 3][dim];
  return "i" + std::to_string(dim);
}

/// The logical index of element `number` of the result in memory.
SmallVector<Value> ElementwiseEmitter::resultIndex(Value number) {
  int64_t rank = type.getRank();
  SmallVector<Value> index(rank, code.size(0));
  SmallVector<Value> extents;
  for (const LoopDim &loop : loops)
    extents.push_back(code.dim(loop.extent));
  SmallVector<Value> positions = code.delinearize(number, extents);
  for (auto [loop, position] : llvm::zip(loops, positions))
    index[loop.dim] = code.add(index[loop.dim], code.mul(position, code.size(loop.step)));
  // A dimension without a loop of its own is part of another's.
  if (loops.size() > 1)
    for (int64_t dim = 0; dim < rank; ++dim)
      code.suggest(index[dim], indexName(type, dim));
  return index;
}

/// Elements of a packed layout outside the logical extents are zero.
Value ElementwiseEmitter::isOutside(ArrayRef<Value> index) {
  Value outside;
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    int64_t last = 0;
    for (const LoopDim &loop : loops)
      if (loop.dim == dim)
        last += (*nn::constantOf(loop.extent) - 1) * loop.step;
    std::optional<int64_t> extent = nn::constantOf(nn::dimOf(type, dim));
    if (extent && last < *extent)
      continue;
    Value beyond = code.createOrFold<arith::CmpIOp>(arith::CmpIPredicate::sge, index[dim], code.dim(nn::dimOf(type, dim)));
    outside = outside ? arith::OrIOp::create(code, outside, beyond).getResult() : beyond;
  }
  return outside;
}

void ElementwiseEmitter::storeElement(Value number, ArrayRef<Value> index) {
  if (nn::isPacked(type)) {
    if (Value outside = isOutside(index)) {
      code.open("if (" + code.print(outside) + ")");
      code.line(code.resultPointer(0) + "[" + code.print(number) + "] = {};");
      code.line("return;");
      code.close();
    }
    code.store(0, number, code.read(code.storedValue(0), index));
    return;
  }
  // Everything is read before anything is written: a result may share the buffer of an operand.
  SmallVector<Value> values;
  for (unsigned result = 0; result < kernel.getNumResults(); ++result) {
    values.push_back(code.read(code.storedValue(result), index));
    if (kernel.getNumResults() > 1)
      code.declare(values.back(), "value");
  }
  for (auto [result, value] : llvm::enumerate(values)) {
    bool isInOrder = isWhole(result) && code.storedValue(result).getType() == type;
    code.store(result, isInOrder ? number : code.placeIn(code.resultMemory(result), index), value);
  }
}

void ElementwiseEmitter::storeLanes(Value number, ArrayRef<Value> index) {
  code.lanes = lanes;
  SmallVector<Value> values;
  for (unsigned result = 0; result < kernel.getNumResults(); ++result)
    values.push_back(code.read(code.storedValue(result), index, laneDim));
  std::string element = storageType(type.getElementType(), code.wideIndex), count = std::to_string(lanes);
  SmallVector<std::string> vectors;
  for (unsigned result = 0; result < kernel.getNumResults(); ++result) {
    vectors.push_back(code.freshName(code.resultPointer(result) + "_v"));
    code.line("Vector<" + element + ", " + count + "> " + vectors.back() + ";");
  }
  code.line("#pragma unroll");
  code.open("for (int " + KernelCode::kLane + " = 0; " + KernelCode::kLane + " < " + count + "; ++" + KernelCode::kLane + ")");
  for (auto [vector, value] : llvm::zip(vectors, values)) {
    std::string text = code.stored(type.getElementType(), value);
    code.line(vector + ".at[" + KernelCode::kLane + "] = " + text + ";");
  }
  code.close();
  for (auto [result, vector] : llvm::enumerate(vectors))
    code.line("store(" + code.resultPointer(result) + " + " + code.print(number) + ", " + vector + ");");
}

EmittedKernel ElementwiseEmitter::emit() {
  nn::Dim elements = nn::storedElements(type);
  std::string count = code.print(code.dim(elements));
  std::string thread = code.wideIndex ? "blockIdx.x * (long long)blockDim.x + threadIdx.x" : "blockIdx.x * blockDim.x + threadIdx.x";
  std::string each = lanes == 1 ? thread : "(" + thread + ") * " + std::to_string(lanes);
  code.note(lanes == 1 ? "a thread computes one element of the result"
                       : "a thread computes " + Twine(lanes) + " elements of the result, side by side in memory");
  std::string name = code.freshName("i");
  code.line("const " + code.indexType() + " " + name + " = " + each + ";");
  Value number = code.multiple(name, lanes);
  code.line("if (" + name + " >= " + count + ")");
  code.line("  return;");
  SmallVector<Value> index = resultIndex(number);
  if (lanes == 1)
    storeElement(number, index);
  else
    storeLanes(number, index);
  return code.finish({kThreads, elements.ceilDiv(kThreads * lanes)});
}

FailureOr<EmittedKernel> cuda::emitElementwise(KernelCode &code, bool isAligned) {
  for (unsigned result = 0; result < code.kernel.getNumResults(); ++result)
    if (nn::shapeOf(code.storedValue(result).getType()) != nn::shapeOf(code.storedValue(0).getType()))
      return code.kernel.emitOpError("has results of different shapes, for which there is no CUDA emitter");
  return ElementwiseEmitter(code, isAligned).emit();
}
