// Walks @prepare and @infer and writes down buffers, kernels and steps; see ProgramBuilder.h.

#include "codegen/ProgramBuilder.h"

#include "codegen/SizeExprBuilder.h"
#include "codegen/cpu/EmitKernel.h"
#include "ir/Cost.h"
#include "ir/View.h"
#include "passes/Passes.h"
#include "runtime/ProgramJson.h"

#include "mlir/IR/AsmState.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/xxhash.h"

using namespace mlir;
using namespace nncc;
using namespace nncc::codegen;

namespace {

RankedTensorType tensorTypeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

/// "lenet.nn:12:7", the first place in a file that the location knows.
std::string sourceOf(Location loc) {
  auto place = LocationAttr(loc).findInstanceOf<FileLineColLoc>();
  if (!place)
    return "";
  return place.getFilename().str() + ":" + std::to_string(place.getLine()) + ":" +
         std::to_string(place.getColumn());
}

/// A text that two kernels share exactly when one function serves both: the name, the types of the arguments and the ops.
std::string kernelKey(nn::KernelOp kernel) {
  std::string text;
  llvm::raw_string_ostream os(text);
  AsmState state(kernel, OpPrintingFlags().useLocalScope());
  os << kernel.getKernelName() << "(";
  llvm::interleaveComma(kernel.getBlock().getArgumentTypes(), os);
  os << ")";
  for (Operation &op : kernel.getBlock()) {
    os << "\n";
    op.print(os, state);
  }
  return text;
}

class ProgramBuilder {
public:
  ProgramBuilder(ModuleOp model, KernelTarget &target) : model(model), target(target) {}

  FailureOr<rt::Program> build();

private:
  LogicalResult addDims();
  LogicalResult addParameters();
  LogicalResult addStates();
  FailureOr<uint32_t> stateNamed(func::FuncOp function, StringRef name);
  LogicalResult addEntryPoint(func::FuncOp function);
  LogicalResult addArguments(func::FuncOp function, rt::EntryPoint &entry);
  LogicalResult addResultBuffers(func::FuncOp function, rt::EntryPoint &entry);
  LogicalResult addStep(nn::KernelOp kernel, rt::EntryPoint &entry);
  FailureOr<uint32_t> addKernel(nn::KernelOp kernel, bool isAligned);
  LogicalResult setLaunch(Location loc, rt::Kernel &kernel, const CudaLaunch &launch);
  LogicalResult setAlternatives(Location loc, rt::Kernel &kernel, ArrayRef<LibraryCall> calls);
  LogicalResult addFinish(nn::KernelOp kernel, const KernelPlan::Finish &finish, rt::EntryPoint &entry);
  std::string uniqueSymbol(StringRef name);

  FailureOr<uint32_t> addBuffer(Location loc, rt::BufferKind kind, RankedTensorType type, StringRef name);
  /// Where `value` lies. Views lie where their source does.
  FailureOr<rt::BufferRef> bufferOf(Value value);
  FailureOr<rt::SizeExpr> sizeExpr(Location loc, nn::Dim dim, StringRef what);

  ModuleOp model;
  KernelTarget &target;
  rt::Program program;
  std::vector<std::string> dimNames;
  llvm::StringMap<uint32_t> parameters, constants, states;
  llvm::DenseMap<uint32_t, int64_t> offsetsInStates; ///< of parameters, in bytes
  llvm::DenseMap<Value, rt::BufferRef> places; ///< of the entry point at hand
  llvm::StringMap<uint32_t> kernelsByKey;
  std::vector<KernelPlan> plans;               ///< per kernel of the program
  /// Taken names. The lowering declares functions of C's math library in the same module, and ops have their names.
  llvm::StringSet<> symbols = {"ceil", "cos",   "erf",   "exp",   "expm1", "floor", "fmod", "log",  "log1p",
                               "pow",  "round", "rsqrt", "sin",   "sqrt",  "tan",   "tanh", "trunc"};
};

} // namespace

FailureOr<rt::Program> ProgramBuilder::build() {
  program.modelName = model.getSymName().value_or("model").str();
  if (auto settings = model->getAttrOfType<DictionaryAttr>(nn::NNDialect::kTrainAttr);
      settings && model.lookupSymbol(passes::kTrainStepFunction)) {
    rt::TrainDefaults &training = program.training.emplace();
    for (auto [name, number] : {std::pair("batch", &training.batch), {"epochs", &training.epochs}, {"seed", &training.seed}})
      if (auto given = settings.getAs<IntegerAttr>(name))
        *number = given.getInt();
  }
  if (failed(addDims()) || failed(addParameters()) || failed(addStates()))
    return failure();
  for (StringRef name :
       {passes::kPrepareFunction, passes::kInferFunction, passes::kEvaluateFunction, passes::kTrainStepFunction})
    if (auto function = model.lookupSymbol<func::FuncOp>(name))
      if (failed(addEntryPoint(function)))
        return failure();

  // The build is known by everything that decides how prepared constants look: the program, the kernels and the target.
  std::string text = rt::writeProgramJson(program) + target.identity();
  SmallVector<StringRef> keys(kernelsByKey.keys());
  llvm::sort(keys);
  for (StringRef key : keys)
    text += key;
  program.buildId = llvm::utohexstr(llvm::xxh3_64bits(text), true);

  if (Result<void> verified = rt::verifyProgram(program); !verified)
    return model.emitError(verified.error().message);
  return std::move(program);
}

LogicalResult ProgramBuilder::addDims() {
  auto dims = model->getAttrOfType<ArrayAttr>(nn::NNDialect::kDimsAttr);
  if (!dims)
    return success();
  for (auto dim : dims.getAsRange<nn::DimAttr>()) {
    program.dims.push_back({dim.getName().str(), dim.getMin(), dim.getMax()});
    dimNames.push_back(dim.getName().str());
  }
  return success();
}

LogicalResult ProgramBuilder::addParameters() {
  for (auto parameter : model.getOps<nn::ParameterOp>()) {
    auto type = cast<RankedTensorType>(parameter.getType());
    FailureOr<uint32_t> buffer =
        addBuffer(parameter.getLoc(), rt::BufferKind::Parameter, type, parameter.getSymName());
    if (failed(buffer))
      return failure();
    parameters[parameter.getSymName()] = *buffer;
  }
  return success();
}

LogicalResult ProgramBuilder::addStates() {
  for (auto state : model.getOps<nn::StateOp>()) {
    FailureOr<uint32_t> id =
        addBuffer(state.getLoc(), rt::BufferKind::State, state.getTensorType(), state.getSymName());
    if (failed(id))
      return failure();
    states[state.getSymName()] = *id;
    rt::Buffer &buffer = program.buffers[*id];
    buffer.initialValue = state.getInit().convertToDouble();
    int64_t offsetBytes = 0;
    if (std::optional<ArrayAttr> parts = state.getParts())
      for (auto name : parts->getAsRange<FlatSymbolRefAttr>()) {
        uint32_t part = parameters.lookup(name.getValue());
        buffer.parts.push_back(part);
        offsetsInStates[part] = offsetBytes;
        offsetBytes += program.buffers[part].sizeBytes.terms[0].value; // parameter_c1: a constant
      }
  }
  for (auto state : model.getOps<nn::StateOp>())
    if (FlatSymbolRefAttr like = state.getLikeAttr())
      program.buffers[states.lookup(state.getSymName())].like = states.lookup(like.getValue());
  return success();
}

/// The buffer of a state, which is a parameter or an nn.state.
FailureOr<uint32_t> ProgramBuilder::stateNamed(func::FuncOp function, StringRef name) {
  for (const llvm::StringMap<uint32_t> *map : {&states, &parameters})
    if (auto found = map->find(name); found != map->end())
      return found->second;
  return function.emitOpError("reads or writes the state '") << name << "', which the module does not have";
}

LogicalResult ProgramBuilder::addEntryPoint(func::FuncOp function) {
  places.clear();
  rt::EntryPoint entry;
  entry.name = function.getName().str();
  if (failed(addArguments(function, entry)) || failed(addResultBuffers(function, entry)))
    return failure();
  for (Operation &op : function.getBody().front().without_terminator()) {
    if (auto kernel = dyn_cast<nn::KernelOp>(op)) {
      if (failed(addStep(kernel, entry)))
        return failure();
    } else if (!isa<nn::GetParameterOp>(op) && !nn::isView(&op) && !op.use_empty()) {
      return op.emitOpError("is neither a kernel nor a view; form-kernels must run before");
    }
  }
  program.entryPoints.push_back(std::move(entry));
  return success();
}

LogicalResult ProgramBuilder::addArguments(func::FuncOp function, rt::EntryPoint &entry) {
  for (BlockArgument argument : function.getArguments()) {
    unsigned index = argument.getArgNumber();
    if (auto name = function.getArgAttrOfType<StringAttr>(index, passes::kConstantAttr)) {
      auto constant = constants.find(name.getValue());
      if (constant == constants.end())
        return function.emitOpError("reads the constant '") << name.getValue() << "', which @prepare does not return";
      places[argument] = {constant->second, 0};
      continue;
    }
    if (auto name = function.getArgAttrOfType<StringAttr>(index, nn::NNDialect::kStateAttr)) {
      FailureOr<uint32_t> state = stateNamed(function, name);
      if (failed(state))
        return failure();
      places[argument] = {*state, 0};
      continue;
    }
    auto name = function.getArgAttrOfType<StringAttr>(index, nn::NNDialect::kNameAttr);
    FailureOr<uint32_t> buffer =
        addBuffer(argument.getLoc(), rt::BufferKind::Input, tensorTypeOf(argument),
                  name ? name.getValue() : StringRef("input" + std::to_string(index)));
    if (failed(buffer))
      return failure();
    if (auto range = function.getArgAttrOfType<DenseI64ArrayAttr>(index, nn::NNDialect::kRangeAttr)) {
      ArrayRef<int64_t> values = range.asArrayRef();
      program.buffers[*buffer].range = {values[0], values[1], values.size() > 2 ? std::optional(values[2]) : std::nullopt};
    }
    places[argument] = {*buffer, 0};
    entry.inputs.push_back(*buffer);
  }
  return success();
}

/// What the entry point returns is written straight into its output or constant.
LogicalResult ProgramBuilder::addResultBuffers(func::FuncOp function, rt::EntryPoint &entry) {
  Operation *returned = function.getBody().front().getTerminator();
  for (OpOperand &operand : returned->getOpOperands()) {
    unsigned index = operand.getOperandNumber();
    Value source = nn::wholeViewedValue(operand.get());
    if (!source.getDefiningOp<nn::KernelOp>() || places.contains(source))
      return function.emitOpError("returns, as result ")
             << index << ", what no kernel writes for it alone; form-kernels must run before";
    auto constant = function.getResultAttrOfType<StringAttr>(index, passes::kConstantAttr);
    auto name = function.getResultAttrOfType<StringAttr>(index, nn::NNDialect::kNameAttr);
    std::string publicName = constant ? constant.str() : name ? name.str() : "output" + std::to_string(index);
    auto state = function.getResultAttrOfType<StringAttr>(index, nn::NNDialect::kStateAttr);
    FailureOr<uint32_t> buffer =
        state ? stateNamed(function, state) :
        addBuffer(source.getLoc(), constant ? rt::BufferKind::Constant : rt::BufferKind::Output,
                  tensorTypeOf(operand.get()), publicName);
    if (failed(buffer))
      return failure();
    if (constant)
      constants[publicName] = *buffer;
    places[source] = {*buffer, 0};
    // The kernels that fill it part by part, too.
    for (auto kernel = source.getDefiningOp<nn::KernelOp>(); kernel && kernel.getInPlace();) {
      Value before = kernel.getInputs()[*kernel.getInPlace()];
      places[before] = {*buffer, 0};
      kernel = before.getDefiningOp<nn::KernelOp>();
    }
    if (!state)
      entry.outputs.push_back(*buffer);
  }
  return success();
}

LogicalResult ProgramBuilder::addStep(nn::KernelOp kernel, rt::EntryPoint &entry) {
  rt::Step step;
  step.resultCount = kernel.getNumResults();
  auto addArgument = [&](Value value) -> LogicalResult {
    FailureOr<rt::BufferRef> place = bufferOf(value);
    if (failed(place))
      return failure();
    step.args.push_back(*place);
    return success();
  };
  for (Value input : kernel.getInputs())
    if (failed(addArgument(input)))
      return failure();
  if (std::optional<uint64_t> operand = kernel.getInPlace())
    places[kernel.getResult(0)] = step.args[*operand];
  for (Value result : kernel.getResults()) {
    if (!places.contains(result)) {
      FailureOr<uint32_t> buffer = addBuffer(kernel.getLoc(), rt::BufferKind::Arena, tensorTypeOf(result), "");
      if (failed(buffer))
        return failure();
      places[result] = {*buffer, 0};
    }
    if (failed(addArgument(result)))
      return failure();
  }
  bool isAligned = !target.needsAlignment() || llvm::all_of(step.args, [&](const rt::BufferRef &place) {
                     constexpr int64_t kVectorBytes = 16;
                     // While it is trained, a parameter lies somewhere in a state.
                     int64_t inState = offsetsInStates.lookup(place.buffer);
                     return place.offsetBytes.isConstant() && (place.offsetBytes.terms[0].value + inState) % kVectorBytes == 0;
                   });
  FailureOr<uint32_t> index = addKernel(kernel, isAligned);
  if (failed(index))
    return failure();
  step.kernel = *index;
  step.tasks = 0;
  if (nn::Dim count = plans[*index].tasks) {
    FailureOr<rt::SizeExpr> tasks = sizeExpr(kernel.getLoc(), count, "the number of tasks");
    if (failed(tasks))
      return failure();
    step.tasks = *tasks;
  }
  FailureOr<rt::SizeExpr> flops = sizeExpr(kernel.getLoc(), nn::flopsOf(kernel), "the number of operations");
  FailureOr<rt::SizeExpr> traffic = sizeExpr(kernel.getLoc(), nn::trafficBytesOf(kernel), "the memory traffic");
  if (failed(flops) || failed(traffic))
    return failure();
  step.flops = *flops;
  step.trafficBytes = *traffic;
  entry.steps.push_back(std::move(step));
  return plans[*index].finish ? addFinish(kernel, *plans[*index].finish, entry) : success();
}

/// Makes the last step write to a workspace instead of its results, and adds one behind it that turns the workspace into them.
LogicalResult ProgramBuilder::addFinish(nn::KernelOp kernel, const KernelPlan::Finish &finish, rt::EntryPoint &entry) {
  rt::Step &parts = entry.steps.back();
  FailureOr<rt::SizeExpr> elements = sizeExpr(kernel.getLoc(), finish.workspaceElements, "the size of a workspace");
  FailureOr<rt::SizeExpr> bytes = sizeExpr(kernel.getLoc(), finish.workspaceElements * sizeBytesOf(DType::F32), "the size of a workspace");
  if (failed(elements) || failed(bytes))
    return failure();
  rt::Buffer workspace;
  workspace.dtype = DType::F32;
  workspace.shape = {*elements};
  workspace.sizeBytes = *bytes;
  rt::BufferRef place{static_cast<uint32_t>(program.buffers.size()), 0};
  program.buffers.push_back(std::move(workspace));

  rt::Step last = parts;
  auto firstResult = [](rt::Step &step) { return step.args.end() - step.resultCount; };
  last.kernel = parts.kernel + 1; // as addKernel numbers them
  last.args.insert(firstResult(last), place);
  last.flops = 0;
  last.trafficBytes = *bytes;
  parts.args.erase(firstResult(parts), parts.args.end());
  parts.args.push_back(place);
  parts.resultCount = 1;
  entry.steps.push_back(std::move(last));
  return success();
}

FailureOr<uint32_t> ProgramBuilder::addKernel(nn::KernelOp kernel, bool isAligned) {
  std::string key = kernelKey(kernel);
  if (!isAligned)
    key += "\nunaligned";
  if (auto known = kernelsByKey.find(key); known != kernelsByKey.end())
    return known->second;
  std::string symbol = uniqueSymbol(target.symbolFor(kernel.getKernelName()));
  FailureOr<KernelPlan> plan = target.emit(kernel, symbol, isAligned);
  if (failed(plan))
    return failure();
  rt::Kernel entry{kernel.getKernelName().str(), symbol, sourceOf(kernel.getLoc()), 0};
  auto set = [&](rt::SizeExpr &to, nn::Dim dim, StringRef what) -> LogicalResult {
    if (!dim)
      return success();
    FailureOr<rt::SizeExpr> expr = sizeExpr(kernel.getLoc(), dim, what);
    if (succeeded(expr))
      to = *expr;
    return expr;
  };
  if (failed(set(entry.scratchBytes, plan->scratchBytes, "the scratch memory")))
    return failure();
  if (plan->cuda && failed(setLaunch(kernel.getLoc(), entry, *plan->cuda)))
    return failure();
  // Of two kernels it is the second that makes the results.
  if (!plan->finish && failed(setAlternatives(kernel.getLoc(), entry, plan->alternatives)))
    return failure();
  uint32_t index = program.kernels.size();
  program.kernels.push_back(entry);
  plans.push_back(*plan);
  entry.alternatives.clear();
  // Adds a kernel that stands behind this one in the target's list.
  auto addOther = [&](StringRef otherSymbol, const CudaLaunch &launch) -> FailureOr<uint32_t> {
    entry.symbol = otherSymbol.str();
    if (failed(setLaunch(kernel.getLoc(), entry, launch)))
      return failure();
    program.kernels.push_back(entry);
    plans.emplace_back();
    return program.kernels.size() - 1;
  };
  uint32_t last = index;
  if (plan->finish) {
    FailureOr<uint32_t> finish = addOther(plan->finish->symbol, plan->finish->launch);
    if (failed(finish) || failed(setAlternatives(kernel.getLoc(), program.kernels[*finish], plan->alternatives)))
      return failure();
    last = *finish;
  }
  for (const KernelPlan::Tile &tile : plan->tiles) {
    FailureOr<uint32_t> first = addOther(tile.symbol, tile.launch);
    if (failed(first))
      return failure();
    rt::TileVariant variant{tile.tile, *first};
    variant.replacesParts = plan->finish.has_value();
    if (tile.finish) {
      FailureOr<uint32_t> second = addOther(tile.finish->symbol, tile.finish->launch);
      if (failed(second) || failed(set(variant.workspaceBytes, tile.finish->workspaceElements * sizeBytesOf(DType::F32), "the size of a workspace")))
        return failure();
      variant.finish = *second;
    }
    program.kernels[last].tiles.push_back(std::move(variant));
  }
  kernelsByKey[key] = index;
  return index;
}

LogicalResult ProgramBuilder::setLaunch(Location loc, rt::Kernel &kernel, const CudaLaunch &launch) {
  kernel.cuda = rt::CudaLaunch{launch.threads, 1, 1, 1, launch.hasStatus, launch.wideIndex};
  for (auto [to, dim] : {std::pair(&kernel.cuda->gridX, launch.gridX), std::pair(&kernel.cuda->gridY, launch.gridY),
                         std::pair(&kernel.cuda->gridZ, launch.gridZ)}) {
    if (!dim)
      continue;
    FailureOr<rt::SizeExpr> expr = sizeExpr(loc, dim, "the grid");
    if (failed(expr))
      return failure();
    *to = *expr;
  }
  return success();
}

LogicalResult ProgramBuilder::setAlternatives(Location loc, rt::Kernel &kernel, ArrayRef<LibraryCall> calls) {
  bool isWhole = true;
  for (const LibraryCall &call : calls)
    kernel.alternatives.push_back(rt::convertCall<rt::SizeExpr>(call, [&](const char *name, nn::Dim dim) {
      FailureOr<rt::SizeExpr> expr = sizeExpr(loc, dim, name);
      isWhole &= succeeded(expr);
      return succeeded(expr) ? *expr : rt::SizeExpr();
    }));
  return success(isWhole);
}

std::string ProgramBuilder::uniqueSymbol(StringRef name) {
  std::string symbol = name.str();
  for (unsigned number = 2; !symbols.insert(symbol).second; ++number)
    symbol = name.str() + "_" + std::to_string(number);
  return symbol;
}

FailureOr<uint32_t> ProgramBuilder::addBuffer(Location loc, rt::BufferKind kind, RankedTensorType type,
                                              StringRef name) {
  std::optional<DType> dtype = nn::dtypeOf(type.getElementType());
  if (!dtype)
    return emitError(loc, "element type ") << type.getElementType() << " has no counterpart at run time";
  rt::Buffer buffer;
  buffer.kind = kind;
  buffer.dtype = *dtype;
  buffer.name = name.str();
  for (nn::Dim dim : nn::shapeOf(type)) {
    FailureOr<rt::SizeExpr> extent = sizeExpr(loc, dim, "a dimension");
    if (failed(extent))
      return failure();
    buffer.shape.push_back(*extent);
  }
  FailureOr<rt::SizeExpr> bytes = sizeExpr(loc, nn::sizeBytesOf(type), "a tensor's size");
  if (failed(bytes))
    return failure();
  buffer.sizeBytes = *bytes;
  program.buffers.push_back(std::move(buffer));
  return program.buffers.size() - 1;
}

FailureOr<rt::BufferRef> ProgramBuilder::bufferOf(Value value) {
  Value source = nn::viewedValue(value);
  // A type without a counterpart at run time is reported where its buffer is made.
  std::optional<DType> dtype = nn::dtypeOf(tensorTypeOf(value).getElementType());
  nn::Dim offset = nn::viewOffset(value) * (dtype ? sizeBytesOf(*dtype) : 1);
  FailureOr<rt::SizeExpr> offsetBytes = sizeExpr(value.getLoc(), offset, "a view's offset");
  if (failed(offsetBytes))
    return failure();
  if (auto parameter = source.getDefiningOp<nn::GetParameterOp>())
    return rt::BufferRef{parameters.lookup(parameter.getName()), *offsetBytes};
  if (auto place = places.find(source); place != places.end())
    return rt::BufferRef{place->second.buffer, place->second.offsetBytes + *offsetBytes};
  return emitError(value.getLoc(), "a kernel reads a value that has no buffer");
}

FailureOr<rt::SizeExpr> ProgramBuilder::sizeExpr(Location loc, nn::Dim dim, StringRef what) {
  if (std::optional<rt::SizeExpr> expr = toSizeExpr(dim, dimNames))
    return *expr;
  if (!dim)
    return emitError(loc, what) << " exceeds 2^63 - 1";
  return emitError(loc, what) << " depends on a dim that nn.dims does not list: "
                              << nn::toString(dim, model.getContext());
}

FailureOr<rt::Program> codegen::buildProgram(ModuleOp model, KernelTarget &target) {
  return ProgramBuilder(model, target).build();
}

namespace {

/// Kernel functions for the CPU, in one module.
class CpuKernels : public KernelTarget {
public:
  CpuKernels(ModuleOp kernels, const CpuTarget &target) : kernels(kernels), target(target) {}

  FailureOr<KernelPlan> emit(nn::KernelOp kernel, StringRef symbol, bool) override {
    FailureOr<EmittedKernel> code = emitKernel(kernel, symbol, kernels, target);
    if (failed(code))
      return failure();
    return KernelPlan{code->tasks, code->scratchBytes, std::nullopt};
  }
  std::string identity() const override { return target.level + target.cpu; }

private:
  ModuleOp kernels;
  const CpuTarget &target;
};

} // namespace

FailureOr<CompiledKernels> codegen::buildProgram(ModuleOp model, const CpuTarget &target) {
  CompiledKernels compiled;
  compiled.kernels = ModuleOp::create(model.getLoc());
  if (Attribute dims = model->getAttr(nn::NNDialect::kDimsAttr))
    (*compiled.kernels)->setAttr(nn::NNDialect::kDimsAttr, dims);
  CpuKernels kernels(*compiled.kernels, target);
  FailureOr<rt::Program> program = buildProgram(model, kernels);
  if (failed(program))
    return failure();
  compiled.program = std::move(*program);
  return std::move(compiled);
}
