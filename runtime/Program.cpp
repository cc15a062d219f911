// The consistency check of a Program, run by the compiler on what it made and by the runtime on
// what it loads, so that the walk over the steps needs no checks of its own.
#include "runtime/Program.h"

#include "support/CheckedSize.h"

#include <algorithm>
#include <set>

namespace nncc::rt {
namespace {

class Verifier {
public:
  explicit Verifier(const Program &program) : program(program) {}

  Result<void> run() {
    checkDims();
    for (size_t i = 0; i < program.buffers.size(); ++i)
      checkBuffer(program.buffers[i], "buffer " + std::to_string(i));
    checkKernels();
    std::set<std::string> entryNames;
    for (const EntryPoint &entry : program.entryPoints) {
      require(entryNames.insert(entry.name).second,
              "entry point '" + entry.name + "' is defined twice");
      checkEntryPoint(entry);
    }
    if (!problem.empty())
      return internalError("program of model '" + program.modelName + "' is not valid: " + problem);
    return {};
  }

private:
  // Keeps the first problem; later ones are often its consequences.
  void require(bool condition, const std::string &what) {
    if (!condition && problem.empty())
      problem = what;
  }

  void checkExpr(const SizeExpr &expr, const std::string &what) {
    require(expr.wellFormed(program.dims.size()), what + " is malformed");
  }

  void checkDims() {
    std::set<std::string> names;
    for (const NamedDim &dim : program.dims) {
      require(names.insert(dim.name).second, "dim '" + dim.name + "' is defined twice");
      require(dim.min >= 0 && dim.min <= dim.max, "dim '" + dim.name + "' has an empty range");
    }
  }

  void checkBuffer(const Buffer &buffer, const std::string &what) {
    checkExpr(buffer.sizeBytes, what + ": sizeBytes");
    for (const SizeExpr &extent : buffer.shape)
      checkExpr(extent, what + ": shape");
    require(buffer.kind == BufferKind::Arena || !buffer.name.empty(), what + " has no name");
    checkParts(buffer, what);
    bool isFixed = buffer.kind == BufferKind::Parameter || buffer.kind == BufferKind::Constant ||
                   buffer.kind == BufferKind::State;
    if (!isFixed)
      return;
    require(buffer.sizeBytes.isConstant(),
            what + ": size of '" + buffer.name + "' depends on named dims");
    require(fixedNames.insert(buffer.name).second, "the name '" + buffer.name + "' is used twice");
  }

  /// Parts lie in the memory of the state, which is the parts' and no other's.
  void checkParts(const Buffer &buffer, const std::string &what) {
    bool isState = buffer.kind == BufferKind::State;
    require(isState || (buffer.parts.empty() && !buffer.like), what + ": only a state has parts");
    CheckedSize partBytes = 0;
    for (uint32_t id : buffer.parts) {
      bool isParameter = id < program.buffers.size() && program.buffers[id].kind == BufferKind::Parameter;
      require(isParameter && placedParameters.insert(id).second, what + ": a part is no parameter, or in two states");
      if (isParameter)
        partBytes += program.buffers[id].sizeBytes.isConstant() ? program.buffers[id].sizeBytes.terms[0].value : -1;
    }
    if (!buffer.parts.empty() && buffer.sizeBytes.isConstant())
      require(partBytes.get() == buffer.sizeBytes.terms[0].value, what + ": its parts do not fill it");
    if (buffer.like)
      require(*buffer.like < program.buffers.size() && !program.buffers[*buffer.like].parts.empty() &&
                  program.buffers[*buffer.like].shape == buffer.shape,
              what + ": 'like' is no state with parts and as many elements");
  }

  void checkKernels() {
    std::set<std::string> symbols;
    for (const Kernel &kernel : program.kernels) {
      require(symbols.insert(kernel.symbol).second,
              "kernel symbol '" + kernel.symbol + "' is used twice");
      checkExpr(kernel.scratchBytes, "kernel '" + kernel.name + "': scratchBytes");
      if (!kernel.cuda)
        continue;
      constexpr int64_t kMostThreads = 1024;
      require(kernel.cuda->threadsPerBlock > 0 && kernel.cuda->threadsPerBlock <= kMostThreads,
              "kernel '" + kernel.name + "': a block has 1 to 1024 threads");
      for (const SizeExpr *grid : {&kernel.cuda->gridX, &kernel.cuda->gridY, &kernel.cuda->gridZ})
        checkExpr(*grid, "kernel '" + kernel.name + "': grid");
      for (const LibraryCall &call : kernel.alternatives)
        convertCall<int>(call, [&](const char *name, const SizeExpr &number) {
          checkExpr(number, "kernel '" + kernel.name + "': alternative: " + name);
          return 0;
        });
      for (const TileVariant &variant : kernel.tiles)
        checkTile(kernel, variant);
    }
  }

  void checkTile(const Kernel &kernel, const TileVariant &variant) {
    std::string where = "kernel '" + kernel.name + "': tile " + variant.tile;
    checkExpr(variant.workspaceBytes, where + ": workspaceBytes");
    for (std::optional<uint32_t> id : {std::optional(variant.kernel), variant.finish}) {
      if (!id)
        continue;
      require(*id < program.kernels.size() && program.kernels[*id].cuda &&
                  program.kernels[*id].tiles.empty(),
              where + ": is not a CUDA kernel that stands for no others");
      if (problem.empty())
        require(!program.kernels[*id].cuda->hasStatus, where + ": reports to a status word");
    }
    require(std::count_if(kernel.tiles.begin(), kernel.tiles.end(),
                          [&](const TileVariant &other) { return other.tile == variant.tile; }) == 1,
            where + ": stands there twice");
  }

  void checkEntryPoint(const EntryPoint &entry) {
    std::string where = "entry point '" + entry.name + "'";
    for (uint32_t id : entry.inputs)
      require(id < program.buffers.size(), where + ": input is not a buffer");
    for (uint32_t id : entry.outputs)
      require(id < program.buffers.size(), where + ": output is not a buffer");
    for (size_t i = 0; i < entry.steps.size(); ++i)
      checkStep(entry.steps[i], i, where + " step " + std::to_string(i));
    if (problem.empty() && entry.name != "prepare")
      checkDimsAreDetermined(entry, where);
  }

  void checkStep(const Step &step, size_t index, const std::string &where) {
    require(step.kernel < program.kernels.size(), where + ": kernel index out of range");
    require(step.resultCount <= step.args.size(), where + ": more results than arguments");
    for (const BufferRef &ref : step.args) {
      require(ref.buffer < program.buffers.size(), where + ": buffer index out of range");
      checkExpr(ref.offsetBytes, where + ": offsetBytes");
    }
    checkExpr(step.tasks, where + ": tasks");
    checkExpr(step.flops, where + ": flops");
    checkExpr(step.trafficBytes, where + ": trafficBytes");
    if (!problem.empty())
      return;
    for (const TileVariant &variant : program.kernels[step.kernel].tiles) {
      std::string what = where + ": tile " + variant.tile;
      require(step.resultCount == 1, what + ": expected one result");
      require(!variant.replacesParts || (index > 0 && step.args.size() >= 2),
              what + ": there are no parts to replace");
    }
    for (const LibraryCall &call : program.kernels[step.kernel].alternatives) {
      std::string what = where + ": alternative";
      int64_t operandCount = static_cast<int64_t>(step.args.size()) - step.resultCount;
      require(isCallType(call.dtype),
              what + ": no library takes " + std::string(nameOf(call.dtype)));
      require(step.resultCount == 1, what + ": expected one result");
      require(call.x >= 0 && call.w >= 0, what + ": has no operands");
      for (int32_t operand : {call.x, call.w, call.bias, call.residual, call.gate})
        require(operand >= -1 && operand < operandCount, what + ": operand out of range");
      require(!call.replacesParts || index > 0, what + ": there is no step before");
    }
  }

  void checkDimsAreDetermined(const EntryPoint &entry, const std::string &where) {
    std::set<int64_t> used;
    auto use = [&](const SizeExpr &expr) {
      for (int64_t dim = 0; dim < static_cast<int64_t>(program.dims.size()); ++dim)
        if (expr.dependsOn(dim))
          used.insert(dim);
    };
    for (const std::vector<uint32_t> *ids : {&entry.inputs, &entry.outputs})
      for (uint32_t id : *ids)
        for (const SizeExpr &extent : program.buffers[id].shape)
          use(extent);
    for (const Step &step : entry.steps) {
      use(step.tasks);
      for (const BufferRef &ref : step.args) {
        use(ref.offsetBytes);
        use(program.buffers[ref.buffer].sizeBytes);
      }
    }
    for (int64_t dim : used) {
      SizeExpr plain = SizeExpr::dim(dim);
      bool found = std::any_of(entry.inputs.begin(), entry.inputs.end(), [&](uint32_t id) {
        const std::vector<SizeExpr> &shape = program.buffers[id].shape;
        return std::find(shape.begin(), shape.end(), plain) != shape.end();
      });
      require(found,
              where + ": no input has '" + program.dims[dim].name + "' alone as one of its dims");
    }
  }

  const Program &program;
  std::set<std::string> fixedNames;
  std::set<uint32_t> placedParameters; ///< parts of states
  std::string problem;
};

} // namespace

Result<void> verifyProgram(const Program &program) { return Verifier(program).run(); }

} // namespace nncc::rt
