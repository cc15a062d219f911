// Frame and elements of a CUDA kernel; see KernelCode.h.

#include "codegen/cuda/KernelCode.h"

#include "codegen/LoopDims.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"

#include <numeric>

using namespace mlir;
using namespace nncc;
using namespace nncc::codegen;
using namespace nncc::codegen::cuda;

static constexpr llvm::StringLiteral kDivisorAttr = "divisor";

/// The value of a dimension when every named dim is at its largest; nothing when that leaves 63 bits. A dim without an upper end
/// counts as `unlimited`; as 1 where the runtime refuses a run whose tensors do not fit the index type of a kernel.
static std::optional<int64_t> largestValue(nn::Dim dim, ModuleOp module, int64_t unlimited = 1) {
  auto list = module->getAttrOfType<ArrayAttr>(nn::NNDialect::kDimsAttr);
  MLIRContext *context = dim.getContext();
  AffineExpr bounded = dim.replace([&]() {
    llvm::DenseMap<AffineExpr, AffineExpr> map;
    if (list)
      for (auto named : list.getAsRange<nn::DimAttr>())
        map[nn::namedDim(context, named.getName())] =
            getAffineConstantExpr(named.getMax() == INT64_MAX ? unlimited : named.getMax(), context);
    return map;
  }());
  return bounded ? nn::constantOf(bounded) : std::nullopt;
}

bool cuda::needsWideIndex(nn::KernelOp kernel, ModuleOp module) {
  auto isLarge = [&](Type type) {
    std::optional<int64_t> bound = 1;
    for (nn::Dim dim : nn::shapeOf(type)) {
      std::optional<int64_t> extent = largestValue(dim, module);
      bound = bound && extent ? (CheckedSize(*bound) * *extent).get() : std::nullopt;
      if (!bound || *bound > INT32_MAX)
        return true;
    }
    std::optional<int64_t> stored = largestValue(nn::storedElements(llvm::cast<RankedTensorType>(type)), module);
    return !stored || *stored > INT32_MAX;
  };
  for (Type type : kernel.getBlock().getArgumentTypes())
    if (isLarge(type))
      return true;
  for (Operation &op : kernel.getBlock().without_terminator())
    for (Type type : op.getResultTypes())
      if (isLarge(type))
        return true;
  return false;
}

std::string cuda::describeTensor(RankedTensorType type) {
  std::string text = nn::describe(type);
  if (nn::isPacked(type))
    return text + ", packed";
  if (nn::isRowMajor(type))
    return text;
  SmallVector<int64_t> order = nn::orderOf(type);
  if (order == nn::channelsLastOrder(order.size()))
    return text + ", channels last";
  std::string dims = llvm::join(llvm::map_range(order, [](int64_t dim) { return std::to_string(dim); }), ", ");
  return text + ", order " + dims;
}

KernelCode::KernelCode(nn::KernelOp kernel, StringRef symbol, ModuleOp module, const CudaOptions &options)
    : ScalarCode(kernel.getLoc(), needsWideIndex(kernel, module)), kernel(kernel), options(options),
      symbol(symbol), module(module) {
  auto numbered = [](StringRef letter, size_t index, size_t count) {
    return count == 1 ? letter.str() : letter.str() + std::to_string(index);
  };
  auto arguments = kernel.getBlock().getArguments();
  for (auto [index, argument] : llvm::enumerate(arguments))
    operandNames[argument] = numbered("x", index, arguments.size());
  for (size_t index = 0; index < kernel.getNumResults(); ++index)
    resultNames.push_back(numbered("y", index, kernel.getNumResults()));
  reserve({kLane});
  auto isDouble = [](Type type) { return llvm::cast<RankedTensorType>(type).getElementType().isF64(); };
  if (llvm::any_of(kernel.getBlock().getArgumentTypes(), isDouble) || llvm::any_of(kernel.getResultTypes(), isDouble))
    registers = 96;
  source.reopen(); // what is written stands in the function's body
}

bool KernelCode::mayExceed(nn::Dim dim, int64_t limit) const {
  std::optional<int64_t> largest = largestValue(dim, module, INT32_MAX);
  return !largest || *largest > limit;
}

std::unique_ptr<KernelCode> KernelCode::finisher() const {
  return std::make_unique<KernelCode>(kernel, symbol + "_sum", module, options);
}

void KernelCode::nameOperand(Value blockArgument, StringRef name) {
  if (isa<BlockArgument>(blockArgument))
    operandNames[blockArgument] = name.str();
}

std::string KernelCode::pointerOf(Value blockArgument) const { return operandNames.lookup(blockArgument); }

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

Memory KernelCode::memoryOf(const nn::StridedView &view, StringRef pointer) {
  Memory memory{pointer.str(), dim(view.offset), {}};
  for (nn::Dim stride : view.strides)
    memory.strides.push_back(dim(stride));
  return memory;
}

std::optional<Memory> KernelCode::memoryOf(Value tensor) {
  std::optional<nn::StridedView> view = nn::stridedViewOf(tensor);
  if (!view || !isa<BlockArgument>(view->source))
    return std::nullopt;
  return memoryOf(*view, pointerOf(view->source));
}

Memory KernelCode::resultMemory(unsigned result) { return memoryOf(nn::storedView(kernel, result), resultNames[result]); }

Value KernelCode::placeIn(const Memory &memory, ValueRange index) {
  Value place = memory.offset;
  for (auto [position, stride] : llvm::zip(index, memory.strides))
    place = add(place, mul(position, stride));
  return place;
}

Value KernelCode::offsetOf(RankedTensorType type, ValueRange index) {
  if (nn::isPacked(type))
    return packedOffset(llvm::cast<nn::EncodingAttr>(type.getEncoding()).getPack(), index);
  // Horner's rule over the dimensions from the outermost: ((n * H + h) * W + w) * C + c.
  Value offset = size(0);
  for (int64_t position : nn::orderOf(type))
    offset = add(mul(offset, dim(nn::dimOf(type, position))), index[position]);
  return offset;
}

Value KernelCode::read(Value tensor, ArrayRef<Value> index, int laneDim) {
  if (Value value = bound.lookup(tensor))
    return value;
  return compute(tensor, index, laneDim);
}

Value KernelCode::multiple(const Twine &text, int64_t divisor) {
  Value value = index(text);
  value.getDefiningOp()->setAttr(kDivisorAttr, getI64IntegerAttr(divisor));
  return value;
}

/// A number that divides the position, whatever its variables are; 0 for the position 0.
static int64_t knownDivisor(Value position) {
  Operation *op = position.getDefiningOp();
  APInt number;
  if (matchPattern(position, m_ConstantInt(&number)))
    return number.abs().getSExtValue();
  auto of = [&](unsigned operand) { return knownDivisor(op->getOperand(operand)); };
  return llvm::TypeSwitch<Operation *, int64_t>(op)
      .Case<arith::MulIOp>([&](auto) { return (CheckedSize(of(0)) * of(1)).getOr(1); })
      .Case<arith::AddIOp, arith::SubIOp, arith::MinSIOp, arith::MaxSIOp>([&](auto) { return std::gcd(of(0), of(1)); })
      .Case<arith::SelectOp>([&](auto) { return std::gcd(of(1), of(2)); })
      // a % b is a less some multiples of b.
      .Case<arith::RemUIOp>([&](auto) { return std::gcd(of(0), of(1)); })
      .Case<arith::DivUIOp, arith::FloorDivSIOp>([&](auto) -> int64_t {
        bool isKnown = matchPattern(op->getOperand(1), m_ConstantInt(&number)) && !number.isZero();
        return isKnown && of(0) % number.getSExtValue() == 0 ? of(0) / number.getSExtValue() : 1;
      })
      .Case<UnrealizedConversionCastOp>([&](auto leaf) -> int64_t {
        auto divisor = leaf->template getAttrOfType<IntegerAttr>(kDivisorAttr);
        return divisor ? divisor.getInt() : 1;
      })
      .Default([](Operation *) { return 1; });
}

Value KernelCode::readMemory(Type element, StringRef pointer, Value offset, int laneDim) {
  if (lanes == 1)
    return load(element, pointer, offset);
  // Elements side by side that need not begin at a whole vector: in rows of odd length, behind a slice.
  if (laneDim >= 0 && knownDivisor(offset) % lanes != 0)
    return load(element, pointer, add(offset, index(kLane)));
  // Both forms are loaded in front of the loop over the lanes.
  readInBranch |= isInBranch();
  std::string place = print(offset);
  auto &[known, block] = loaded[(pointer + "[" + place + "]" + (laneDim < 0 ? "" : " lanes")).str()];
  if (known && isOpen(block))
    return known;
  block = currentBlock();
  std::string name = freshName((pointer + (laneDim < 0 ? "_one" : "_v")).str());
  if (laneDim < 0) {
    Value one = load(element, pointer, offset);
    line("const " + cppType(one.getType(), wideIndex) + " " + name + " = " + print(one) + ";");
    return known = atom(one.getType(), name);
  }
  line("const auto " + name + " = load<" + Twine(lanes) + ">(" + pointer + (place == "0" ? "" : " + " + place) + ");");
  return known = load(element, name + ".at", index(kLane));
}

Value KernelCode::compute(Value tensor, ArrayRef<Value> index, int laneDim) {
  auto type = llvm::cast<RankedTensorType>(tensor.getType());
  if (std::optional<Attribute> splat = nn::splatConstant(tensor)) {
    auto attr = llvm::cast<TypedAttr>(*splat);
    if (auto integer = dyn_cast<IntegerAttr>(attr))
      attr = getIntegerAttr(getIntegerType(integer.getType().getIntOrFloatBitWidth()), integer.getValue());
    else if (auto number = dyn_cast<FloatAttr>(attr); number.getType().getIntOrFloatBitWidth() == 16)
      attr = getFloatAttr(getF32Type(), number.getValueAsDouble());
    return arith::ConstantOp::create(*this, attr);
  }
  Operation *op = tensor.getDefiningOp();
  if (!op)
    return readMemory(type.getElementType(), pointerOf(tensor), offsetOf(type, index), laneDim);
  if (auto constant = dyn_cast<nn::ConstantOp>(op))
    return readMemory(type.getElementType(), constantArray(constant), offsetOf(type, index), laneDim);

  if (auto elementwise = dyn_cast<nn::ElementwiseOpInterface>(op)) {
    SmallVector<Value> values;
    for (Value operand : op->getOperands()) {
      auto operandType = llvm::cast<RankedTensorType>(operand.getType());
      int64_t lead = type.getRank() - operandType.getRank();
      SmallVector<Value> position;
      int lane = laneDim >= lead ? laneDim - lead : -1;
      for (int64_t dim = 0; dim < operandType.getRank(); ++dim) {
        bool isBroadcast = operandType.getDimSize(dim) == 1 && type.getDimSize(dim + lead) != 1;
        position.push_back(isBroadcast ? size(0) : index[dim + lead]);
        if (isBroadcast && lane == dim)
          lane = -1;
      }
      values.push_back(read(operand, position, lane));
    }
    Value result = elementwise.buildScalar(*this, getLoc(), values);
    // A cast to half precision ends there; the value goes on widened.
    if (result.getType().isF16() || result.getType().isBF16())
      result = arith::ExtFOp::create(*this, getF32Type(), result);
    return result;
  }
  auto load = [&](unsigned operand, ValueRange position) {
    return read(op->getOperand(operand), SmallVector<Value>(position), operandLane(op, operand, laneDim));
  };
  auto extent = [&](nn::Dim dim) { return this->dim(dim); };
  auto report = [&](Value isOutOfRange) { reportOutOfRange(isOutOfRange); };
  nn::MovementAccess access{*this, getLoc(), sizeType, index, load, extent, report};
  return llvm::cast<nn::MovementOpInterface>(op).buildElement(access);
}

void KernelCode::reportOutOfRange(Value isBad) {
  hasStatus = true;
  statementIf(isBad, "*status = kIndexOutOfRange");
}

std::string KernelCode::stored(Type element, Value value) {
  if (element.isF16() || element.isBF16())
    return std::string(element.isF16() ? "to_float16(" : "to_bfloat16(") + print(value) + ")";
  return print(value);
}

void KernelCode::store(unsigned result, Value offset, Value value) {
  Type element = llvm::cast<RankedTensorType>(kernel.getResult(result).getType()).getElementType();
  if (lanes == 1) {
    std::string text = stored(element, value);
    line(resultNames[result] + "[" + print(offset) + "] = " + text + ";");
    return;
  }
  std::string vector = freshName(resultNames[result] + "_v");
  line("Vector<" + storageType(element, wideIndex) + ", " + Twine(lanes) + "> " + vector + ";");
  forLanes([&] {
    std::string text = stored(element, value);
    line(vector + ".at[" + kLane + "] = " + text + ";");
  });
  line("store(" + resultNames[result] + " + " + print(offset) + ", " + vector + ");");
}

void KernelCode::forLanes(function_ref<void()> write) {
  if (lanes == 1)
    return write();
  line("#pragma unroll");
  open("for (int " + kLane + " = 0; " + kLane + " < " + Twine(lanes) + "; ++" + kLane + ")");
  write();
  close();
}

/// A table in front of the function.
std::string KernelCode::constantArray(nn::ConstantOp constant) {
  std::string &name = constantNames[constant];
  if (!name.empty())
    return name;
  name = symbol + "_table" + (constantNames.size() > 1 ? std::to_string(constantNames.size()) : "");
  auto elements = llvm::cast<DenseElementsAttr>(constant.getValue());
  Type element = elements.getElementType();
  std::vector<std::string> numbers;
  for (Attribute attr : elements.getValues<Attribute>()) {
    TypedAttr typed = llvm::cast<TypedAttr>(attr);
    if (auto integer = dyn_cast<IntegerAttr>(attr)) {
      numbers.push_back(llvm::toString(integer.getValue(), 10, !integer.getType().isUnsignedInteger() && !integer.getType().isInteger(1)));
    } else if (element.isF16() || element.isBF16()) {
      numbers.push_back("{" + std::to_string(llvm::cast<FloatAttr>(typed).getValue().bitcastToAPInt().getZExtValue()) + "}");
    } else {
      Value number = arith::ConstantOp::create(*this, typed);
      numbers.push_back(print(number));
    }
  }
  before.line("__device__ const " + storageType(element, wideIndex) + " " + name + "[] = {" + llvm::join(numbers, ", ") + "};");
  return name;
}

//===----------------------------------------------------------------------===//
// The whole function
//===----------------------------------------------------------------------===//

void KernelCode::declareShared(Type element, const Twine &array, int64_t elements, bool isAligned, StringRef comment) {
  bool isHalf = element.isF16() || element.isBF16();
  std::string type = isHalf ? storageType(element, wideIndex) : cppType(element, wideIndex);
  line("__shared__ " + Twine(isAligned ? "__align__(16) " : "") + type + " " + array + ";" + (comment.empty() ? "" : " // ") + comment);
  int64_t bits = element.isIndex() ? (wideIndex ? 64 : 32) : element.getIntOrFloatBitWidth();
  sharedBytes += elements * std::max<int64_t>(bits / 8, 1);
}

EmittedKernel KernelCode::finish(CudaLaunch launch) {
  launch.hasStatus = hasStatus;
  launch.wideIndex = wideIndex;
  std::string body = source.take();

  SourceWriter text;
  text.line("// " + kernel.getKernelName());
  for (const std::string &note : notes)
    text.line("//   " + note);
  std::vector<std::pair<std::string, std::string>> tensors;
  std::vector<std::string> parameters;
  for (BlockArgument argument : kernel.getBlock().getArguments()) {
    auto type = llvm::cast<RankedTensorType>(argument.getType());
    tensors.emplace_back(operandNames[argument], describeTensor(type));
    parameters.push_back("const " + storageType(type.getElementType(), wideIndex) + " *__restrict__ " + operandNames[argument]);
  }
  bool isInPlace = kernel.getInPlace().has_value();
  if (workspace != Workspace::None) {
    tensors.emplace_back("parts", "f32, a result of each part for each element");
    parameters.push_back((workspace == Workspace::Read ? "const " : "") + std::string("float *__restrict__ parts"));
  }
  for (auto [index, resultType] : llvm::enumerate(kernel.getResultTypes())) {
    if (workspace == Workspace::Written)
      break;
    auto type = llvm::cast<RankedTensorType>(resultType);
    tensors.emplace_back(resultNames[index], describeTensor(type));
    parameters.push_back(storageType(type.getElementType(), wideIndex) + (isInPlace ? " *" : " *__restrict__ ") + resultNames[index]);
  }
  // A result in an operand's place must not be promised to be apart from it.
  if (isInPlace)
    for (std::string &parameter : parameters)
      if (size_t at = parameter.find("__restrict__ "); at != std::string::npos)
        parameter.erase(at, sizeof("__restrict__ ") - 1);
  size_t width = 0;
  for (auto &[name, type] : tensors)
    width = std::max(width, name.size());
  for (auto &[name, type] : tensors)
    text.line("//   " + name + std::string(width - name.size() + 2, ' ') + type);

  if (hasStatus)
    parameters.push_back("int *__restrict__ status");
  if (auto list = module->getAttrOfType<ArrayAttr>(nn::NNDialect::kDimsAttr))
    for (auto named : list.getAsRange<nn::DimAttr>())
      parameters.push_back("const " + indexType() + " " + dimParameter(named.getName()));
  // Of a multiprocessor, on every architecture; registers are handed out to warps in units of 8 a thread.
  constexpr int64_t kRegisters = 65536, kThreads = 1024, kUnit = 8, kMostPerThread = 255;
  int64_t blocks = std::max<int64_t>(1, std::min(kThreads, kRegisters / int64_t(llvm::alignTo(registers, kUnit))) / launch.threads);
  int64_t most = std::min(kMostPerThread, kRegisters / (blocks * launch.threads) / kUnit * kUnit);
  std::string signature = "extern \"C\" __global__ void __launch_bounds__(" + std::to_string(launch.threads) + ", " + std::to_string(blocks) + ")";
  text.line(signature);
  std::string head = symbol + "(";
  std::string indent(head.size(), ' ');
  std::string current = head;
  for (auto [index, parameter] : llvm::enumerate(parameters)) {
    bool isLast = index + 1 == parameters.size();
    std::string piece = parameter + (isLast ? ") {" : ",");
    if (current.size() + piece.size() + 1 > 120 && current != head && current != indent) {
      text.line(current);
      current = indent;
    }
    current += (current.back() == '(' || current == indent ? "" : " ") + piece;
  }
  text.line(current);
  return {symbol, before.text() + text.take() + body + "}\n", launch, {most, sharedBytes, stackBytes}};
}
