// Fills nncc_model_info from a Program.
#include "runtime/ModelInfo.h"

#include "runtime/DLPackBridge.h"
#include "runtime/TrainableMemory.h"

namespace nncc::rt {

ModelInfo::ModelInfo(const LoadedProgram &model, std::string targets) {
  const Program &program = model.program();
  std::vector<std::string> dimNames = program.dimNames();
  for (const NamedDim &dim : program.dims)
    dims.push_back({keep(dim.name), dim.min, dim.max});
  if (const EntryPoint *infer = program.findEntryPoint("infer")) {
    for (uint32_t id : infer->inputs)
      inputs.push_back(describe(program.buffers[id], dimNames));
    for (uint32_t id : infer->outputs)
      outputs.push_back(describe(program.buffers[id], dimNames));
    info.step_count = static_cast<uint32_t>(infer->steps.size());
  }
  if (const EntryPoint *step = program.findEntryPoint("train_step")) {
    info.train_step_count = static_cast<uint32_t>(step->steps.size());
    for (uint32_t id : step->inputs) {
      trainInputs.push_back(describe(program.buffers[id], dimNames));
      nncc_value_range &range = trainRanges.emplace_back();
      if (const std::optional<ValueRange> &given = program.buffers[id].range)
        range = {1, given->besides.has_value(), given->least, given->greatest, given->besides.value_or(0)};
    }
    for (uint32_t id : step->outputs)
      trainOutputs.push_back(describe(program.buffers[id], dimNames));
    TrainableMemory memory(program); // has to stay: the loop refers to what it holds
    for (const NamedTensor &tensor : memory.tensors()) {
      if (tensor.isParameter)
        continue;
      Buffer state;
      state.name = tensor.name;
      state.dtype = tensor.dtype;
      state.shape.assign(tensor.shape.begin(), tensor.shape.end());
      states.push_back(describe(state, dimNames));
    }
  }
  for (const Buffer &buffer : program.buffers)
    if (buffer.kind == BufferKind::Parameter)
      parameters.push_back(describe(buffer, dimNames));
  for (const Kernel &kernel : program.kernels)
    kernels.push_back({keep(kernel.name), keep(kernel.symbol), keep(kernel.source)});

  info.size = sizeof(info);
  info.name = keep(program.modelName);
  info.build_id = keep(program.buildId);
  info.target = model.target();
  info.cpu_level = keep(model.codeName());
  info.targets = keep(std::move(targets));
  info.dims = dims.data();
  info.dim_count = dims.size();
  info.inputs = inputs.data();
  info.input_count = inputs.size();
  info.outputs = outputs.data();
  info.output_count = outputs.size();
  info.parameters = parameters.data();
  info.parameter_count = parameters.size();
  info.kernels = kernels.data();
  info.kernel_count = kernels.size();
  info.train_inputs = trainInputs.data();
  info.train_input_count = trainInputs.size();
  info.train_outputs = trainOutputs.data();
  info.train_output_count = trainOutputs.size();
  info.states = states.data();
  info.state_count = states.size();
  info.train_ranges = trainRanges.data();
  TrainDefaults defaults = program.training.value_or(TrainDefaults());
  info.train_batch = defaults.batch;
  info.train_epochs = defaults.epochs;
  info.train_seed = defaults.seed;
}

nncc_tensor_info ModelInfo::describe(const Buffer &buffer, std::span<const std::string> dimNames) {
  std::vector<nncc_extent> &shape = shapes.emplace_back();
  for (const SizeExpr &extent : buffer.shape)
    shape.push_back(
        {extent.isConstant() ? extent.terms[0].value : -1, keep(extent.toString(dimNames))});
  nncc_tensor_info tensor{};
  tensor.name = keep(buffer.name);
  tensor.dtype_name = keep(std::string(nameOf(buffer.dtype)));
  tensor.type_text = keep(describeType(buffer, dimNames));
  tensor.dtype = toDLDataType(buffer.dtype);
  tensor.rank = static_cast<int32_t>(shape.size());
  tensor.shape = shape.data();
  return tensor;
}

} // namespace nncc::rt
