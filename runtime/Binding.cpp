// Matching of the caller's tensors against the declared types, and evaluation of every expression
// of an entry point.
#include "runtime/Binding.h"

#include <algorithm>
#include <optional>

namespace nncc::rt {
namespace {

// A fork and join costs about 0.1 us and moves the arguments' cache lines; a sleeping thread takes
// about 20 us to wake. These are estimates of serial time from which a step, and a whole run, is
// worth more than one thread.
constexpr double kFlopsPerNs = 50;
constexpr double kBytesPerNs = 10;
constexpr double kMinParallelStepNs = 3'000;
constexpr double kMinParallelRunNs = 60'000;

double estimateNs(const BoundStep &step) {
  return static_cast<double>(step.flops) / kFlopsPerNs +
         static_cast<double>(step.trafficBytes) / kBytesPerNs;
}

/// "N = 1..64", "N >= 1"
std::string describeRange(const NamedDim &dim) {
  if (dim.max == INT64_MAX)
    return dim.name + " >= " + std::to_string(dim.min);
  return dim.name + " = " + std::to_string(dim.min) + ".." + std::to_string(dim.max);
}

/// The dims that the shape of a buffer names, in order of appearance: "N = 1..64, T >= 1".
std::string describeRanges(const Program &program, const Buffer &buffer) {
  std::string text;
  std::vector<bool> seen(program.dims.size());
  for (const SizeExpr &extent : buffer.shape)
    for (const SizeExpr::Term &term : extent.terms)
      if (term.op == SizeExpr::Op::Dim && !seen[static_cast<size_t>(term.value)]) {
        seen[static_cast<size_t>(term.value)] = true;
        text += (text.empty() ? "" : ", ") +
                describeRange(program.dims[static_cast<size_t>(term.value)]);
      }
  return text;
}

class DimBinder {
public:
  DimBinder(const Program &program, const EntryPoint &entry)
      : program(program), entry(entry), names(program.dimNames()), values(program.dims.size()),
        sources(program.dims.size()) {}

  Result<std::vector<int64_t>> run(std::span<const TensorView> inputs) {
    if (inputs.size() != entry.inputs.size())
      return wrongCount(inputs.size());
    // Extents that compute from named dims come last, when all of those are known.
    for (size_t i = 0; i < inputs.size(); ++i)
      if (Result<void> bound = checkTypeAndBind(bufferOf(i), inputs[i]); !bound)
        return bound.error();
    std::vector<int64_t> dims;
    // verifyProgram: every dim that the entry point uses stands alone in some input.
    for (size_t i = 0; i < values.size(); ++i)
      dims.push_back(values[i].value_or(program.dims[i].min));
    for (size_t i = 0; i < inputs.size(); ++i)
      if (Result<void> checked = checkComputedExtents(bufferOf(i), inputs[i], dims); !checked)
        return checked.error();
    return dims;
  }

private:
  const Buffer &bufferOf(size_t input) const { return program.buffers[entry.inputs[input]]; }

  Error wrongCount(size_t found) const {
    std::string text = "model '" + program.modelName + "' takes " +
                       std::to_string(entry.inputs.size()) +
                       (entry.inputs.size() == 1 ? " input (" : " inputs (");
    for (size_t i = 0; i < entry.inputs.size(); ++i)
      text += (i ? ", " : "") + bufferOf(i).name + ": " + describeType(bufferOf(i), names);
    return userError(text + "), found " + std::to_string(found));
  }

  Error mismatch(const Buffer &buffer, const TensorView &input, const std::string &reason) const {
    std::string ranges = describeRanges(program, buffer);
    return userError("input \"" + buffer.name + "\": expected " + describeType(buffer, names) +
                     (ranges.empty() ? "" : " with " + ranges) + ", found " +
                     describeType(nameOf(input.dtype), input.shape) + "; " + reason);
  }

  Result<void> checkTypeAndBind(const Buffer &buffer, const TensorView &input) {
    if (input.dtype != buffer.dtype)
      return mismatch(buffer, input,
                      "the element type must be " + std::string(nameOf(buffer.dtype)));
    if (input.shape.size() != buffer.shape.size())
      return mismatch(buffer, input, "the rank must be " + std::to_string(buffer.shape.size()));
    for (size_t d = 0; d < input.shape.size(); ++d)
      if (buffer.shape[d].isConstant() && buffer.shape[d] != SizeExpr(input.shape[d]))
        return mismatch(buffer, input,
                        "dim " + std::to_string(d) + " must be " + buffer.shape[d].toString(names));
    for (size_t d = 0; d < input.shape.size(); ++d) {
      const std::vector<SizeExpr::Term> &terms = buffer.shape[d].terms;
      if (terms.size() != 1 || terms[0].op != SizeExpr::Op::Dim)
        continue;
      size_t index = static_cast<size_t>(terms[0].value);
      const NamedDim &dim = program.dims[index];
      int64_t found = input.shape[d];
      if (found < dim.min || found > dim.max)
        return mismatch(buffer, input,
                        "dim " + std::to_string(d) + " must be in the range " + describeRange(dim));
      if (values[index] && *values[index] != found)
        return mismatch(buffer, input,
                        "dim " + std::to_string(d) + " must be " + dim.name + " = " +
                            std::to_string(*values[index]) + " as in input \"" + sources[index] +
                            "\"");
      if (!values[index]) {
        values[index] = found;
        sources[index] = buffer.name;
      }
    }
    return {};
  }

  Result<void> checkComputedExtents(const Buffer &buffer, const TensorView &input,
                                    std::span<const int64_t> dims) const {
    for (size_t d = 0; d < input.shape.size(); ++d) {
      std::optional<int64_t> expected = buffer.shape[d].evaluate(dims).get();
      if (expected == input.shape[d])
        continue;
      std::string value = expected ? std::to_string(*expected) : "a number in 63 bits";
      return mismatch(buffer, input,
                      "dim " + std::to_string(d) + " must be " + buffer.shape[d].toString(names) +
                          " = " + value);
    }
    return {};
  }

  const Program &program;
  const EntryPoint &entry;
  std::vector<std::string> names;
  std::vector<std::optional<int64_t>> values;
  std::vector<std::string> sources; ///< the input that gave each value
};

} // namespace

Result<std::vector<int64_t>> bindDims(const Program &program, const EntryPoint &entry,
                                      std::span<const TensorView> inputs) {
  return DimBinder(program, entry).run(inputs);
}

Result<BoundEntry> bindEntry(const Program &program, const EntryPoint &entry,
                             std::span<const CpuKernel> kernels, std::span<const int64_t> dims) {
  Result<MemoryPlan> memory = planMemory(program, entry, dims);
  if (!memory)
    return memory.error();
  BoundEntry bound;
  bound.entry = &entry;
  bound.dims.assign(dims.begin(), dims.end());
  bound.memory = std::move(*memory);

  bool valid = true;
  auto evaluate = [&](const SizeExpr &expr) {
    std::optional<int64_t> value = expr.evaluate(dims).get();
    valid &= value.has_value() && *value >= 0;
    return value.value_or(0);
  };
  double parallelNs = 0;
  for (const Step &step : entry.steps) {
    BoundStep item{};
    item.function = kernels.empty() ? nullptr : kernels[step.kernel];
    item.kernel = step.kernel;
    item.firstArg = static_cast<uint32_t>(bound.args.size());
    item.taskCount = evaluate(step.tasks);
    // Only profiles show these two, so an overflow in them is no reason to refuse the run.
    item.flops = std::max<int64_t>(0, step.flops.evaluate(dims).getOr(0));
    item.trafficBytes = std::max<int64_t>(0, step.trafficBytes.evaluate(dims).getOr(0));
    bool isKnown = item.flops != 0 || item.trafficBytes != 0;
    item.isParallel = item.taskCount > 1 && (!isKnown || estimateNs(item) >= kMinParallelStepNs);
    if (item.isParallel)
      parallelNs += isKnown ? estimateNs(item) : kMinParallelRunNs;
    for (const BufferRef &ref : step.args)
      bound.args.push_back({ref.buffer, evaluate(ref.offsetBytes)});
    CheckedSize scratch = roundUp(CheckedSize(evaluate(program.kernels[step.kernel].scratchBytes)),
                                  kBufferAlignmentBytes);
    valid &= scratch.valid();
    bound.scratchBytesPerLane = std::max(bound.scratchBytesPerLane, scratch.getOr(0));
    bound.steps.push_back(item);
  }
  if (parallelNs < kMinParallelRunNs)
    for (BoundStep &step : bound.steps)
      step.isParallel = false;
  for (uint32_t id : entry.outputs) {
    std::vector<int64_t> shape;
    for (const SizeExpr &extent : program.buffers[id].shape)
      shape.push_back(evaluate(extent));
    bound.outputShapes.push_back(std::move(shape));
  }
  if (!valid)
    return userError("model '" + program.modelName +
                     "': a size does not fit in 63 bits; use smaller inputs");
  return bound;
}

Result<void> checkOutputs(const Program &program, const BoundEntry &bound,
                          std::span<const TensorView> outputs) {
  const std::vector<uint32_t> &ids = bound.entry->outputs;
  if (outputs.size() != ids.size())
    return userError("model '" + program.modelName + "' gives " + std::to_string(ids.size()) +
                     (ids.size() == 1 ? " output" : " outputs") + ", found room for " +
                     std::to_string(outputs.size()));
  for (size_t i = 0; i < ids.size(); ++i) {
    const Buffer &buffer = program.buffers[ids[i]];
    const std::vector<int64_t> &shape = bound.outputShapes[i];
    if (outputs[i].dtype != buffer.dtype ||
        !std::equal(shape.begin(), shape.end(), outputs[i].shape.begin(), outputs[i].shape.end()))
      return userError("output \"" + buffer.name + "\": expected " +
                       describeType(nameOf(buffer.dtype), shape) + ", found " +
                       describeType(nameOf(outputs[i].dtype), outputs[i].shape));
  }
  return {};
}

} // namespace nncc::rt
