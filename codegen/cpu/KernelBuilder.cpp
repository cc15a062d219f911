// The pen of the CPU emitters; see KernelBuilder.h.

#include "codegen/cpu/KernelBuilder.h"

#include "runtime/KernelAbi.h"

using namespace mlir;
using namespace nncc;
using namespace nncc::codegen;

Type TensorView::storage() const { return storageType(type.getElementType()); }

Type codegen::storageType(Type element) {
  if (auto integer = dyn_cast<IntegerType>(element))
    return IntegerType::get(element.getContext(), std::max(8u, integer.getWidth()));
  return element;
}

func::FuncOp KernelBuilder::beginKernel(StringRef symbol) {
  Type pointer = pointerType();
  Type i64Type = getI64Type();
  auto type = getFunctionType({pointer, pointer, i64Type, i64Type, pointer}, {getI32Type()});
  setInsertionPointToEnd(module.getBody());
  function = func::FuncOp::create(*this, symbol, type);
  for (unsigned argument : {0u, 1u, 4u})
    function.setArgAttr(argument, LLVM::LLVMDialect::getNoCaptureAttrName(), getUnitAttr());
  Block *entry = function.addEntryBlock();
  setInsertionPointToStart(entry);
  argsPointer = entry->getArgument(0);
  dimsPointer = entry->getArgument(1);
  beginTask = entry->getArgument(2);
  endTask = entry->getArgument(3);
  scratch = entry->getArgument(4);
  dimCache.clear();
  argumentCache.clear();
  return function;
}

void KernelBuilder::endKernel(Value status) {
  if (!status)
    status = arith::ConstantOp::create(*this, getI32IntegerAttr(rt::KernelOk));
  func::ReturnOp::create(*this, status);
}

Type KernelBuilder::pointerType() { return LLVM::LLVMPointerType::get(getContext()); }

Value KernelBuilder::argument(unsigned index) {
  Value &cached = argumentCache[index];
  if (!cached) {
    OpBuilder::InsertionGuard guard(*this);
    setInsertionPointToStart(&function.front());
    cached = load(pointerType(), offset(argsPointer, pointerType(), i64(index)));
  }
  return cached;
}

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

Value KernelBuilder::dim(nn::Dim dim) {
  if (auto constant = nn::constantOf(dim))
    return i64(*constant);
  Value &cached = dimCache[dim];
  if (cached)
    return cached;
  OpBuilder::InsertionGuard guard(*this);
  setInsertionPointToStart(&function.front());
  // A symbol's place in the dims array is its place in the module's nn.dims list.
  auto list = module->getAttrOfType<ArrayAttr>(nn::NNDialect::kDimsAttr);
  Value value = sizeOf(dim, [&](StringRef name) {
    int64_t position = 0;
    for (Attribute entry : list) {
      if (cast<nn::DimAttr>(entry).getName() == name)
        break;
      ++position;
    }
    assert(position < static_cast<int64_t>(list.size()) && "a dim that nn.dims does not list");
    return load(getI64Type(), offset(dimsPointer, getI64Type(), i64(position)));
  });
  dimCache[dim] = value;
  return value;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

Value KernelBuilder::offset(Value pointer, Type element, Value elements) {
  APInt constant;
  if (matchPattern(elements, m_ConstantInt(&constant)) && constant.isZero())
    return pointer;
  return LLVM::GEPOp::create(*this, pointerType(), element, pointer,
                             ArrayRef<LLVM::GEPArg>{elements});
}

Type KernelBuilder::memoryType(Type type) {
  if (!getElementTypeOrSelf(type).isBF16())
    return type;
  auto vector = dyn_cast<VectorType>(type);
  return vector ? Type(vector.clone(getIntegerType(16))) : getIntegerType(16);
}

Value KernelBuilder::toMemory(Value value) {
  Type type = memoryType(value.getType());
  return type == value.getType() ? value : arith::BitcastOp::create(*this, type, value);
}

Value KernelBuilder::fromMemory(Type type, Value value) {
  return type == value.getType() ? value : arith::BitcastOp::create(*this, type, value);
}

Value KernelBuilder::load(Type type, Value pointer, unsigned alignBytes) {
  return fromMemory(type, LLVM::LoadOp::create(*this, memoryType(type), pointer, alignBytes));
}

void KernelBuilder::store(Value value, Value pointer, unsigned alignBytes) {
  LLVM::StoreOp::create(*this, toMemory(value), pointer, alignBytes);
}

Value KernelBuilder::loadVector(VectorType type, Value pointer, Value mask) {
  unsigned alignBytes = type.getElementTypeBitWidth() / 8;
  if (!mask)
    return load(type, pointer, alignBytes);
  Type inMemory = memoryType(type);
  Value zero = arith::ConstantOp::create(*this, getZeroAttr(inMemory));
  return fromMemory(type, LLVM::MaskedLoadOp::create(*this, inMemory, pointer, mask, zero, alignBytes));
}

void KernelBuilder::storeVector(Value value, Value pointer, Value mask) {
  unsigned alignBytes = cast<VectorType>(value.getType()).getElementTypeBitWidth() / 8;
  if (!mask)
    return store(value, pointer, alignBytes);
  LLVM::MaskedStoreOp::create(*this, toMemory(value), pointer, mask, alignBytes);
}

Value KernelBuilder::zeros(int64_t sizeBytes) {
  std::string name = "nncc_zeros_" + std::to_string(sizeBytes);
  auto global = module.lookupSymbol<LLVM::GlobalOp>(name);
  if (!global) {
    OpBuilder::InsertionGuard guard(*this);
    setInsertionPointToStart(module.getBody());
    auto type = LLVM::LLVMArrayType::get(getI8Type(), sizeBytes);
    global = LLVM::GlobalOp::create(*this, type, /*isConstant=*/true, LLVM::Linkage::Internal, name,
                                    Attribute(), /*alignment=*/64);
    Block *initializer = createBlock(&global.getInitializerRegion());
    setInsertionPointToStart(initializer);
    LLVM::ReturnOp::create(*this, ValueRange{LLVM::ZeroOp::create(*this, type)});
  }
  return LLVM::AddressOfOp::create(*this, pointerType(), global.getSymName());
}

TensorView KernelBuilder::view(RankedTensorType type, Value pointer) {
  TensorView view;
  view.pointer = pointer;
  view.type = type;
  for (nn::Dim extent : nn::shapeOf(type))
    view.extents.push_back(dim(extent));
  view.strides.resize(type.getRank());
  Value stride = i64(1);
  SmallVector<int64_t> order = nn::orderOf(type);
  for (int64_t position : llvm::reverse(order)) {
    view.strides[position] = stride;
    stride = mul(stride, view.extents[position]);
  }
  return view;
}

Value KernelBuilder::elementPointer(const TensorView &view, ValueRange indices) {
  Value elements = i64(0);
  for (auto [index, stride] : llvm::zip(indices, view.strides))
    elements = add(elements, mul(index, stride));
  return offset(view.pointer, view.storage(), elements);
}

//===----------------------------------------------------------------------===//
// Control
//===----------------------------------------------------------------------===//

scf::ForOp KernelBuilder::loop(Value begin, Value end, Value step, Body body) {
  auto loop = scf::ForOp::create(*this, begin, end, step);
  OpBuilder::InsertionGuard guard(*this);
  setInsertionPointToStart(loop.getBody());
  body(loop.getInductionVar());
  return loop;
}

scf::ForOp KernelBuilder::loop(Value begin, Value end, Body body) {
  return loop(begin, end, i64(1), body);
}

SmallVector<Value> KernelBuilder::loopCarried(Value begin, Value end, Value step, ValueRange init,
                                              CarriedBody body) {
  auto loop = scf::ForOp::create(*this, begin, end, step, init);
  OpBuilder::InsertionGuard guard(*this);
  setInsertionPointToStart(loop.getBody());
  SmallVector<Value> next = body(loop.getInductionVar(), loop.getRegionIterArgs());
  // With carried values the builder leaves the terminator to us.
  setInsertionPointToEnd(loop.getBody());
  scf::YieldOp::create(*this, next);
  return loop.getResults();
}

void KernelBuilder::branch(Value condition, function_ref<void()> then,
                           function_ref<void()> otherwise) {
  auto op = scf::IfOp::create(*this, condition, /*withElseRegion=*/static_cast<bool>(otherwise));
  OpBuilder::InsertionGuard guard(*this);
  setInsertionPointToStart(op.thenBlock());
  then();
  if (otherwise) {
    setInsertionPointToStart(op.elseBlock());
    otherwise();
  }
}

Value KernelBuilder::floatConstant(Type type, double value) {
  TypedAttr attr = getFloatAttr(getElementTypeOrSelf(type), value);
  if (auto vector = dyn_cast<VectorType>(type))
    attr = SplatElementsAttr::get(vector, attr);
  return arith::ConstantOp::create(*this, attr);
}
