// Reading and writing the elements of a kernel's tensors; see ElementAccess.h.

#include "codegen/cpu/ElementAccess.h"

#include "runtime/KernelAbi.h"

#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/LoopInvariantCodeMotionUtils.h"

using namespace mlir;
using namespace nncc;
using namespace nncc::codegen;

Type codegen::wideType(Type type) {
  Type element = getElementTypeOrSelf(type);
  if (!element.isF16() && !element.isBF16())
    return type;
  Type wide = Float32Type::get(type.getContext());
  if (auto vector = dyn_cast<VectorType>(type))
    return vector.clone(wide);
  return wide;
}

Value codegen::widen(KernelBuilder &b, Value value) {
  Type wide = wideType(value.getType());
  return wide == value.getType() ? value : b.createOrFold<arith::ExtFOp>(wide, value);
}

Value codegen::applyChain(KernelBuilder &b, const nn::Chain &chain, Value root,
                          function_ref<Value(Value)> read) {
  return chain.apply(b, b.getLoc(), root, read, [&](Value value) { return widen(b, value); });
}

Value codegen::elementOffset(KernelBuilder &b, const TensorView &view, ValueRange index) {
  if (nn::isPacked(view.type))
    return b.packedOffset(cast<nn::EncodingAttr>(view.type.getEncoding()).getPack(), index);
  Value elements = b.i64(0);
  for (auto [position, stride] : llvm::zip(index, view.strides))
    elements = b.add(elements, b.mul(position, stride));
  return elements;
}

unsigned codegen::widestElementBits(nn::KernelOp kernel) {
  bool computes = false;
  unsigned bits = 8;
  auto visit = [&](Type type) {
    Type element = cast<RankedTensorType>(type).getElementType();
    if (computes)
      element = wideType(element);
    bits = std::max(bits, element.getIntOrFloatBitWidth());
  };
  for (Operation &op : kernel.getBlock().without_terminator())
    computes |= isa<nn::ElementwiseOpInterface>(op);
  for (BlockArgument argument : kernel.getBlock().getArguments())
    visit(argument.getType());
  for (Operation &op : kernel.getBlock().without_terminator())
    for (Type type : op.getResultTypes())
      visit(type);
  return bits;
}

unsigned codegen::narrowestElementBits(nn::KernelOp kernel) {
  unsigned bits = 64;
  auto visit = [&](TypeRange types) {
    for (Type type : types)
      bits = std::min(bits, std::max(8u, cast<RankedTensorType>(type).getElementTypeBitWidth()));
  };
  visit(kernel.getBlock().getArgumentTypes());
  visit(kernel.getResultTypes());
  return bits;
}

void codegen::hoistInvariants(scf::ForOp loop) {
  moveLoopInvariantCode(
      {&loop.getRegion()},
      [&](Value value, Region *) { return loop.isDefinedOutsideOfLoop(value); },
      [](Operation *op, Region *) { return isa<LLVM::LoadOp>(op) || isPure(op); },
      [&](Operation *op, Region *) { loop.moveOutOfLoop(op); });
}

/// Addresses of `lanes` elements `stride` elements apart.
static Value lanePointers(KernelBuilder &b, Value pointer, Type storage, Value stride, int64_t lanes) {
  SmallVector<int64_t> numbers = llvm::to_vector(llvm::seq<int64_t>(0, lanes));
  auto type = VectorType::get({lanes}, b.getI64Type());
  Value steps = arith::ConstantOp::create(b, DenseElementsAttr::get(type, ArrayRef<int64_t>(numbers)));
  steps = arith::MulIOp::create(b, steps, vector::BroadcastOp::create(b, type, stride));
  return LLVM::GEPOp::create(b, VectorType::get({lanes}, b.pointerType()), storage, pointer,
                             ArrayRef<LLVM::GEPArg>{steps});
}

static Value allLanes(KernelBuilder &b, int64_t lanes) {
  auto type = VectorType::get({lanes}, b.getI1Type());
  return arith::ConstantOp::create(b, DenseElementsAttr::get(type, true));
}

/// The first block of the function that is being written: what stands here is seen everywhere.
static Block *entryOf(KernelBuilder &b) {
  Operation *parent = b.getInsertionBlock()->getParentOp();
  auto function = dyn_cast<func::FuncOp>(parent);
  return &(function ? function : parent->getParentOfType<func::FuncOp>()).front();
}

//===----------------------------------------------------------------------===//
// KernelOperands
//===----------------------------------------------------------------------===//

KernelOperands::KernelOperands(KernelBuilder &b, nn::KernelOp kernel) : b(b), kernel(kernel) {
  unsigned argument = 0;
  for (BlockArgument operand : kernel.getBlock().getArguments())
    views[operand] = b.view(cast<RankedTensorType>(operand.getType()), b.argument(argument++));
  for (Operation &op : kernel.getBlock()) {
    if (!nn::isStridedMovement(&op))
      continue;
    std::optional<nn::StridedView> view = nn::stridedViewOf(op.getResult(0));
    if (view && isa<BlockArgument>(view->source))
      views[op.getResult(0)] = strided(op.getResult(0), views[view->source].pointer, *view);
  }
  for (unsigned index = 0; index < kernel.getNumResults(); ++index) {
    auto type = cast<RankedTensorType>(kernel.getResult(index).getType());
    Value stored = nn::storedValue(kernel, index), pointer = b.argument(argument++);
    if (stored == kernel.getTerminator()->getOperand(index))
      results.push_back(b.view(type, pointer));
    else
      results.push_back(strided(stored, pointer, nn::storedView(kernel, index)));
  }
}

TensorView KernelOperands::strided(Value tensor, Value pointer, const nn::StridedView &place) {
  TensorView view = b.view(cast<RankedTensorType>(tensor.getType()), pointer);
  view.pointer = b.offset(pointer, view.storage(), b.dim(place.offset));
  for (auto [stride, dim] : llvm::zip(view.strides, place.strides))
    stride = b.dim(dim);
  return view;
}

/// Puts a constant into the module as read-only data and returns its address.
static Value constantPointer(KernelBuilder &b, nn::ConstantOp constant) {
  auto elements = cast<DenseElementsAttr>(constant.getValue());
  auto type = cast<RankedTensorType>(elements.getType());
  Type element = type.getElementType();
  Type storage = element;
  if (auto integer = dyn_cast<IntegerType>(element)) {
    storage = b.getIntegerType(std::max(8u, integer.getWidth()));
    unsigned width = storage.getIntOrFloatBitWidth();
    elements = elements.mapValues(storage, [&](const APInt &value) { return value.zextOrTrunc(width); });
  }
  int64_t count = type.getNumElements();
  auto flat = elements.reshape(RankedTensorType::get({count}, storage));
  // A point keeps it apart from the names of kernels, one of which is "constant".
  std::string name = "constant." + std::to_string(llvm::range_size(b.module.getOps<LLVM::GlobalOp>()));
  LLVM::GlobalOp global;
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(b.module.getBody());
    global = LLVM::GlobalOp::create(b, LLVM::LLVMArrayType::get(storage, count), /*isConstant=*/true,
                                    LLVM::Linkage::Private, name, flat);
  }
  return LLVM::AddressOfOp::create(b, global);
}

const TensorView &KernelOperands::view(Value tensor) {
  auto found = views.find(tensor);
  if (found != views.end())
    return found->second;
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(entryOf(b));
  Value pointer = constantPointer(b, tensor.getDefiningOp<nn::ConstantOp>());
  return views[tensor] = b.view(cast<RankedTensorType>(tensor.getType()), pointer);
}

Value codegen::constantElement(KernelBuilder &b, Attribute element) {
  auto attr = cast<TypedAttr>(element);
  if (auto integer = dyn_cast<IntegerAttr>(attr))
    attr = b.getIntegerAttr(b.getIntegerType(integer.getType().getIntOrFloatBitWidth()), integer.getValue());
  return arith::ConstantOp::create(b, attr);
}

Value codegen::fromStorage(KernelBuilder &b, Type element, Value value) {
  if (!element.isInteger(1))
    return value;
  Value zero = arith::ConstantOp::create(b, b.getZeroAttr(value.getType()));
  return arith::CmpIOp::create(b, arith::CmpIPredicate::ne, value, zero);
}

Value codegen::toStorage(KernelBuilder &b, Type storage, Value value) {
  auto vector = dyn_cast<VectorType>(value.getType());
  Type stored = vector ? Type(vector.clone(storage)) : storage;
  if (value.getType() == stored)
    return value;
  if (isa<FloatType>(storage))
    return arith::TruncFOp::create(b, stored, value);
  return arith::ExtUIOp::create(b, stored, value);
}

void KernelOperands::store(unsigned index, ValueRange position, Value value, int laneDim, Value mask) {
  store(results[index], position, value, laneDim, mask);
}

void KernelOperands::store(const TensorView &view, ValueRange index, Value value, int laneDim,
                           Value mask) {
  Type storage = view.storage();
  Value pointer = b.offset(view.pointer, storage, elementOffset(b, view, index));
  auto vector = dyn_cast<VectorType>(value.getType());
  if (!vector || isConstantIntValue(view.strides[laneDim], 1)) {
    storeAt(view, pointer, value, mask);
    return;
  }
  value = toStorage(b, storage, value);
  int64_t lanes = vector.getNumElements();
  LLVM::masked_scatter::create(b, b.toMemory(value), lanePointers(b, pointer, storage, view.strides[laneDim], lanes),
                               mask ? mask : allLanes(b, lanes), storage.getIntOrFloatBitWidth() / 8);
}

void KernelOperands::storeAt(const TensorView &view, Value pointer, Value value, Value mask) {
  value = toStorage(b, view.storage(), value);
  if (isa<VectorType>(value.getType()))
    b.storeVector(value, pointer, mask);
  else
    b.store(value, pointer);
}

void KernelOperands::reportOutOfRange(Value isBad) {
  auto i32 = b.getI32Type();
  if (!statusPointer) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(entryOf(b));
    statusPointer = LLVM::AllocaOp::create(b, b.pointerType(), i32, b.i64(1), 4);
    b.store(arith::ConstantOp::create(b, b.getI32IntegerAttr(rt::KernelOk)), statusPointer);
  }
  b.branch(isBad, [&] {
    b.store(arith::ConstantOp::create(b, b.getI32IntegerAttr(rt::KernelIndexOutOfRange)), statusPointer);
  });
}

Value KernelOperands::status() {
  return statusPointer ? b.load(b.getI32Type(), statusPointer) : Value();
}

bool KernelOperands::isStatus(Operation *access) {
  return statusPointer && llvm::is_contained(access->getOperands(), statusPointer);
}

//===----------------------------------------------------------------------===//
// ElementReader
//===----------------------------------------------------------------------===//

Value ElementReader::splat(Value scalar) {
  return vector::BroadcastOp::create(b, VectorType::get({lanes}, scalar.getType()), scalar);
}

ElementReader::Key ElementReader::keyOf(Value tensor, ArrayRef<Value> index, int laneDim) {
  Key key = {{tensor.getAsOpaquePointer(), laneDim}};
  for (Value position : index) {
    APInt constant;
    if (matchPattern(position, m_ConstantInt(&constant)))
      key.emplace_back(nullptr, constant.getSExtValue());
    else
      key.emplace_back(position.getAsOpaquePointer(), 0);
  }
  return key;
}

Value ElementReader::read(Value tensor, ArrayRef<Value> index, int laneDim) {
  Value value = evaluate(tensor, index, laneDim);
  return lanes > 1 && !isa<VectorType>(value.getType()) ? splat(value) : value;
}

Value ElementReader::readWide(Value tensor, ArrayRef<Value> index, int laneDim) {
  return widen(b, read(tensor, index, laneDim));
}

Value ElementReader::evaluate(Value tensor, ArrayRef<Value> index, int laneDim) {
  if (Value value = bound.lookup(tensor))
    return value;
  Key key = keyOf(tensor, index, laneDim);
  auto found = known.find(key);
  if (found != known.end())
    return found->second;
  Value value = compute(tensor, index, laneDim);
  known[key] = value;
  return value;
}

Value ElementReader::compute(Value tensor, ArrayRef<Value> index, int laneDim) {
  if (std::optional<Attribute> constant = nn::splatConstant(tensor))
    return constantElement(b, *constant);
  Operation *op = tensor.getDefiningOp();
  if (operands.isInMemory(tensor))
    return readMemory(operands.view(tensor), index, laneDim);
  if (auto elementwise = dyn_cast<nn::ElementwiseOpInterface>(op))
    return computeElementwise(elementwise, index, laneDim);
  if (lanes > 1 && laneDim >= 0 && !movesLanes(op, laneDim))
    return computeLanes(tensor, index, laneDim);
  return computeMovement(cast<nn::MovementOpInterface>(op), index, laneDim);
}

Value ElementReader::computeMovement(nn::MovementOpInterface op, ArrayRef<Value> index, int laneDim) {
  Block *block = b.getInsertionBlock();
  // Where elements of several operands meet, or are computed with, all of them are widened: some may have been already.
  bool meets = isa<nn::ConcatOp, nn::PadOp, nn::ResizeOp, nn::ResizeGradientOp, nn::ShiftOp, nn::MaxPoolGradientOp,
                   nn::AvgPoolGradientOp>(op.getOperation());
  auto load = [&](unsigned operand, ValueRange position) {
    // What is computed inside a branch is not known outside of it.
    bool isInBranch = b.getInsertionBlock() != block;
    auto before = isInBranch ? known : std::map<Key, Value>();
    Value value = evaluate(op->getOperand(operand), SmallVector<Value>(position),
                           operandLane(op, operand, laneDim));
    if (meets)
      value = widen(b, value);
    if (isInBranch)
      known = std::move(before);
    return value;
  };
  auto extent = [&](nn::Dim dim) { return b.dim(dim); };
  auto report = [&](Value isOutOfRange) { operands.reportOutOfRange(isOutOfRange); };
  nn::MovementAccess access{b, b.getLoc(), b.getI64Type(), index, load, extent, report};
  return op.buildElement(access);
}

/// Lane by lane, for vectors whose elements come from anywhere.
Value ElementReader::computeLanes(Value tensor, ArrayRef<Value> index, int laneDim) {
  Value vector;
  for (int64_t lane = 0; lane < lanes; ++lane) {
    SmallVector<Value> position(index);
    position[laneDim] = b.add(index[laneDim], b.i64(lane));
    // A lane that is masked out may lie outside; the first lane never does.
    if (mask && lane > 0)
      position[laneDim] = b.select(vector::ExtractOp::create(b, mask, lane), position[laneDim],
                                   index[laneDim]);
    Value element = ElementReader(operands).read(tensor, position);
    if (!vector)
      vector = splat(element);
    else
      vector = vector::InsertOp::create(b, element, vector, lane);
  }
  return vector;
}

Value ElementReader::computeElementwise(nn::ElementwiseOpInterface op, ArrayRef<Value> index,
                                        int laneDim) {
  auto resultType = cast<RankedTensorType>(op->getResult(0).getType());
  SmallVector<Value> values;
  bool isVector = false;
  for (Value operand : op->getOperands()) {
    auto type = cast<RankedTensorType>(operand.getType());
    int lead = resultType.getRank() - type.getRank();
    SmallVector<Value> position;
    int lane = laneDim >= lead ? laneDim - lead : -1;
    for (int dim = 0; dim < type.getRank(); ++dim) {
      bool isBroadcast = type.getDimSize(dim) == 1 && resultType.getDimSize(dim + lead) != 1;
      position.push_back(isBroadcast ? b.i64(0) : index[dim + lead]);
      if (isBroadcast && lane == dim)
        lane = -1;
    }
    values.push_back(widen(b, evaluate(operand, position, lane)));
    isVector |= isa<VectorType>(values.back().getType());
  }
  if (isVector)
    for (Value &value : values)
      if (!isa<VectorType>(value.getType()))
        value = splat(value);
  return op.buildScalar(b, b.getLoc(), values);
}

Value ElementReader::readMemory(const TensorView &view, ArrayRef<Value> index, int laneDim) {
  Type storage = view.storage();
  Value pointer = b.offset(view.pointer, storage, elementOffset(b, view, index));
  Value value;
  if (lanes == 1 || laneDim < 0) {
    value = b.load(storage, pointer);
  } else if (auto type = VectorType::get({lanes}, storage);
             isConstantIntValue(view.strides[laneDim], 1) && !nn::isPacked(view.type)) {
    value = b.loadVector(type, pointer, mask);
  } else {
    assert(!nn::isPacked(view.type) && "lanes of a packed layout have no common stride");
    Type inMemory = b.memoryType(type);
    Value zero = arith::ConstantOp::create(b, b.getZeroAttr(inMemory));
    value = LLVM::masked_gather::create(
        b, inMemory, lanePointers(b, pointer, storage, view.strides[laneDim], lanes),
        mask ? mask : allLanes(b, lanes), zero, storage.getIntOrFloatBitWidth() / 8);
    value = b.fromMemory(type, value);
  }
  return fromStorage(b, view.type.getElementType(), value);
}
