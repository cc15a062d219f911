// Writes contraction micro-kernels; see MicroKernel.h.

#include "codegen/cpu/MicroKernel.h"

#include "codegen/cpu/ElementAccess.h"

#include "mlir/IR/AsmState.h"
#include "llvm/Support/xxhash.h"

using namespace mlir;
using namespace nncc;
using namespace nncc::codegen;

Type codegen::accumulatorType(Type element) {
  if (element.isF16() || element.isBF16())
    return Float32Type::get(element.getContext());
  return element;
}

SmallVector<Value> codegen::pointerOperands(const nn::Chain &chain) {
  SmallVector<Value> operands;
  for (Value value : chain.operands())
    if (!nn::splatConstant(value))
      operands.push_back(value);
  return operands;
}

/// A text that is equal for two chains exactly when their micro-kernels can be one function.
static std::string chainKey(const MicroKernelSpec &spec) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << spec.element << "," << spec.stored << (spec.hasBias ? ",bias;" : ";");
  llvm::DenseMap<Value, std::string> names;
  names[spec.chain->getRoot()] = "root";
  for (auto [index, value] : llvm::enumerate(spec.chain->operands())) {
    if (auto constant = nn::splatConstant(value)) {
      std::string number;
      llvm::raw_string_ostream(number) << *constant;
      names[value] = number;
      continue;
    }
    auto access = nn::accessOf(cast<RankedTensorType>(value.getType()), spec.chainType, spec.channelDim);
    names[value] = "x" + std::to_string(index) + "a" + std::to_string(static_cast<int>(*access));
  }
  for (auto [index, op] : llvm::enumerate(spec.chain->operations())) {
    os << op->getName() << op->getAttrDictionary() << "(";
    for (Value operand : op->getOperands())
      os << names[operand] << ",";
    os << ")" << cast<RankedTensorType>(op->getResult(0).getType()).getElementType() << ";";
    names[op->getResult(0)] = "v" + std::to_string(index);
  }
  return text;
}

/// "mk_6x16_bias_relu_1f2e3d4c": readable in profiles and disassembly, unique by the hash of the chain.
static std::string functionName(KernelBuilder &b, const MicroKernelSpec &spec) {
  int64_t columns = spec.vectors * b.target.lanes(accumulatorType(spec.element).getIntOrFloatBitWidth());
  std::string name = "mk_" + std::to_string(spec.rows) + "x" + std::to_string(columns);
  if (spec.hasBias)
    name += "_bias";
  for (Operation *op : spec.chain->operations())
    name += "_" + op->getName().stripDialect().str();
  if (spec.masked)
    name += "_tail";
  return name + "_" + llvm::utohexstr(llvm::xxh3_64bits(chainKey(spec)) & 0xffffffff, true);
}

namespace {

/// Emission of one micro-kernel body.
struct MicroKernelEmitter {
  KernelBuilder &b;
  const MicroKernelSpec &spec;
  Type accumulator = accumulatorType(spec.element);
  int64_t lanes = b.target.lanes(accumulator.getIntOrFloatBitWidth());
  VectorType vectorType = VectorType::get({lanes}, accumulator);

  Value widen(Value value) {
    Type to = isa<VectorType>(value.getType()) ? Type(vectorType) : accumulator;
    return value.getType() == to ? value : arith::ExtFOp::create(b, to, value);
  }

  Value splat(Value scalar) { return vector::BroadcastOp::create(b, vectorType, scalar); }

  Value multiplyAdd(Value x, Value y, Value sum) {
    if (isa<FloatType>(accumulator))
      return vector::FMAOp::create(b, x, y, sum);
    return arith::AddIOp::create(b, sum, arith::MulIOp::create(b, x, y));
  }

  Value columnPointer(Value row, Type element, int64_t vector) {
    return b.offset(row, element, b.i64(vector * lanes));
  }

  /// Multiplies step k of every row with one panel row and adds to `sums`.
  void multiplyStep(ArrayRef<Value> rows, Value k, Value panelRow, MutableArrayRef<Value> sums) {
    VectorType loaded = VectorType::get({lanes}, spec.element);
    SmallVector<Value> weights;
    for (int64_t v = 0; v < spec.vectors; ++v)
      weights.push_back(widen(b.loadVector(loaded, columnPointer(panelRow, spec.element, v))));
    for (int64_t r = 0; r < spec.rows; ++r) {
      Value x = splat(widen(b.load(spec.element, b.offset(rows[r], spec.element, k))));
      for (int64_t v = 0; v < spec.vectors; ++v) {
        Value &sum = sums[r * spec.vectors + v];
        sum = multiplyAdd(x, weights[v], sum);
      }
    }
  }

  /// Accumulators after the K loop, row by row.
  SmallVector<Value> contract(Value table, Value tableStride, Value taps, Value run, Value panel,
                              Value bias, ArrayRef<Value> masks) {
    // Two FMA units of four cycles' latency want eight independent sums. A low tile gets them by taking several steps of K at
    // once, each into accumulators of its own.
    constexpr int64_t kIndependentSums = 8;
    int64_t tile = spec.rows * spec.vectors;
    int64_t steps = (kIndependentSums + tile - 1) / tile;
    Value zero = arith::ConstantOp::create(b, b.getZeroAttr(vectorType));
    SmallVector<Value> carried(steps * tile, zero);
    for (int64_t v = 0; spec.hasBias && v < spec.vectors; ++v) {
      Value start = widen(b.loadVector(VectorType::get({lanes}, spec.element),
                                       columnPointer(bias, spec.element, v), masks[v]));
      for (int64_t r = 0; r < spec.rows; ++r)
        carried[r * spec.vectors + v] = start;
    }
    carried.push_back(panel);

    Value panelRow = b.i64(spec.vectors * lanes);
    Value wholeSteps = b.sub(run, b.rem(run, b.i64(steps)));
    carried = b.loopCarried(b.i64(0), taps, b.i64(1), carried, [&](Value tap, ValueRange outer) {
      SmallVector<Value> rows;
      Value firstRow = b.mul(tap, tableStride);
      for (int64_t r = 0; r < spec.rows; ++r)
        rows.push_back(b.load(b.pointerType(),
                              b.offset(table, b.pointerType(), b.add(firstRow, b.i64(r)))));
      auto multiply = [&](Value begin, Value end, int64_t stride, ValueRange start) {
        return b.loopCarried(begin, end, b.i64(stride), start, [&](Value k, ValueRange sums) {
          SmallVector<Value> next(sums);
          for (int64_t step = 0; step < stride; ++step) {
            multiplyStep(rows, b.add(k, b.i64(step)), next.back(),
                         MutableArrayRef<Value>(next).slice(step * tile, tile));
            next.back() = b.offset(next.back(), spec.element, panelRow);
          }
          return next;
        });
      };
      SmallVector<Value> sums = multiply(b.i64(0), wholeSteps, steps, outer);
      return steps == 1 ? sums : multiply(wholeSteps, run, 1, sums);
    });

    SmallVector<Value> sums(ArrayRef<Value>(carried).take_front(tile));
    for (int64_t i = tile; i < steps * tile; ++i) {
      Value &sum = sums[i % tile];
      sum = isa<FloatType>(accumulator) ? Value(arith::AddFOp::create(b, sum, carried[i]))
                                        : Value(arith::AddIOp::create(b, sum, carried[i]));
    }
    return sums;
  }

  /// True for the first `valid` columns of vector `v`.
  Value columnMask(Value valid, int64_t v) {
    SmallVector<int32_t> numbers;
    for (int64_t lane = 0; lane < lanes; ++lane)
      numbers.push_back(v * lanes + lane);
    auto type = VectorType::get({lanes}, b.getI32Type());
    Value columns = arith::ConstantOp::create(b, DenseElementsAttr::get(type, ArrayRef<int32_t>(numbers)));
    Value limit = vector::BroadcastOp::create(b, type, arith::TruncIOp::create(b, b.getI32Type(), valid));
    return arith::CmpIOp::create(b, arith::CmpIPredicate::slt, columns, limit);
  }

  /// Applies the chain to every accumulator and stores the tile.
  void finish(ArrayRef<Value> sums, Value out, Value outStride, Value fullStride,
              ArrayRef<Value> masks, ValueRange operands) {
    llvm::DenseMap<Value, Value> pointers;
    for (auto [value, pointer] : llvm::zip(pointerOperands(*spec.chain), operands))
      pointers[value] = pointer;
    // Scalars and per-channel vectors are the same for every row.
    llvm::DenseMap<std::pair<Value, int64_t>, Value> shared;

    for (int64_t r = 0; r < spec.rows; ++r) {
      for (int64_t v = 0; v < spec.vectors; ++v) {
        auto read = [&](Value operand) -> Value {
          auto type = cast<RankedTensorType>(operand.getType());
          Type element = type.getElementType(), storage = storageType(element);
          auto storedVector = VectorType::get({lanes}, storage);
          auto splat = [&](Value scalar) -> Value {
            return vector::BroadcastOp::create(b, VectorType::get({lanes}, scalar.getType()), scalar);
          };
          if (auto constant = nn::splatConstant(operand))
            return splat(constantElement(b, *constant));
          nn::Access access = *nn::accessOf(type, spec.chainType, spec.channelDim);
          if (access == nn::Access::Full) {
            Value place = b.add(b.mul(fullStride, b.i64(r)), b.i64(v * lanes));
            return fromStorage(b, element,
                               b.loadVector(storedVector, b.offset(pointers[operand], storage, place), masks[v]));
          }
          bool perChannel = access == nn::Access::PerChannel;
          Value &cached = shared[{operand, perChannel ? v : 0}];
          if (!cached && perChannel)
            cached = fromStorage(b, element,
                                 b.loadVector(storedVector, columnPointer(pointers[operand], storage, v), masks[v]));
          else if (!cached)
            cached = splat(fromStorage(b, element, b.load(storage, pointers[operand])));
          return cached;
        };
        Value value = applyChain(b, *spec.chain, sums[r * spec.vectors + v], read);
        value = toStorage(b, spec.stored, value);
        Value place = b.add(b.mul(outStride, b.i64(r)), b.i64(v * lanes));
        b.storeVector(value, b.offset(out, spec.stored, place), masks[v]);
      }
    }
  }
};

} // namespace

static func::FuncOp createMicroKernel(KernelBuilder &b, const MicroKernelSpec &spec, StringRef name) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(b.module.getBody());
  Type pointer = b.pointerType(), i64Type = b.getI64Type();
  SmallVector<Type> inputs = {pointer, i64Type, i64Type, i64Type, pointer,
                              pointer, i64Type, i64Type, i64Type};
  if (spec.hasBias)
    inputs.push_back(pointer);
  inputs.append(pointerOperands(*spec.chain).size(), pointer);
  auto function = func::FuncOp::create(b, name, b.getFunctionType(inputs, {}));
  function.setPrivate();
  function->setAttr("passthrough", b.getStrArrayAttr({"noinline"}));
  Block *entry = function.addEntryBlock();
  b.setInsertionPointToStart(entry);
  MicroKernelEmitter emitter{b, spec};
  ValueRange args = entry->getArguments();
  ValueRange pointers = args.drop_front(9);
  Value bias = spec.hasBias ? pointers.front() : Value();
  SmallVector<Value> masks(spec.vectors);
  if (spec.masked)
    for (int64_t v = 0; v < spec.vectors; ++v)
      masks[v] = emitter.columnMask(args[8], v);
  SmallVector<Value> sums =
      emitter.contract(args[0], args[1], args[2], args[3], args[4], bias, masks);
  emitter.finish(sums, args[5], args[6], args[7], masks,
                 spec.hasBias ? pointers.drop_front() : pointers);
  func::ReturnOp::create(b);
  return function;
}

void codegen::callMicroKernel(KernelBuilder &b, const MicroKernelSpec &spec,
                              const MicroKernelArgs &args) {
  std::string name = functionName(b, spec);
  auto function = b.module.lookupSymbol<func::FuncOp>(name);
  if (!function)
    function = createMicroKernel(b, spec, name);
  SmallVector<Value> operands = {args.table, args.tableStride, args.taps,
                                 args.run,   args.panel,       args.out,
                                 args.outStride, args.fullStride, args.valid};
  if (spec.hasBias)
    operands.push_back(args.bias);
  operands.append(args.operands);
  func::CallOp::create(b, function, operands);
}
