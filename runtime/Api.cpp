// The functions of nncc.h. Each turns C arguments into the runtime's types, keeps the error text in
// the handle and lets no exception out.
#include "runtime/Api.h"

#include "runtime/DLPackBridge.h"
#include "runtime/Instance.h"
#include "runtime/ModelInfo.h"

#include <algorithm>
#include <cstring>
#include <new>

using namespace nncc;
using namespace nncc::rt;

struct nncc_model {
  std::shared_ptr<const LoadedProgram> program;
  std::unique_ptr<ModelInfo> info;
  ThreadOptions threads;
  Allocator allocator;
  std::string error;
};

struct nncc_instance {
  std::unique_ptr<Instance> instance;
  const EntryPoint *infer = nullptr, *trainStep = nullptr, *evaluate = nullptr;
  std::string error;
};

namespace {

/// Writes as much of `value` as the caller's version of the struct has.
template <typename T> Result<void> writeSized(T *target, T value) {
  if (target->size == 0)
    return userError("a struct to be filled has size 0; set its size field to sizeof(the struct)");
  value.size = static_cast<uint32_t>(std::min<size_t>(target->size, sizeof(T)));
  std::memcpy(target, &value, value.size);
  return {};
}

/// As rt::guarded, for calls that need an instance that works.
template <typename Body> nncc_status guardedCall(nncc_instance *self, Body body) {
  if (!self)
    return NNCC_USER_ERROR; // with nowhere to leave a text
  return guarded(self->error, [&]() -> Result<void> {
    return self->instance ? body() : userError("the instance could not be created");
  });
}

nncc_status createModel(const nncc_api *api, const nncc_model_options *given, nncc_model **model) {
  *model = new (std::nothrow) nncc_model;
  if (!*model)
    return NNCC_ENVIRONMENT_ERROR;
  return guarded((*model)->error, [&]() -> Result<void> {
    Result<nncc_model_options> read = readSized(given);
    if (!read)
      return read.error();
    const nncc_model_options &options = *read;
    if (options.threads < 0)
      return userError("expected a number of threads >= 0, found " +
                       std::to_string(options.threads));
    if (!options.allocator.allocate != !options.allocator.release)
      return userError("expected both functions of the allocator or neither, found only " +
                       std::string(options.allocator.allocate ? "allocate" : "release"));
    if (options.parallel_for.run && options.parallel_for.lanes < 1)
      return userError("expected a parallel_for with lanes >= 1, found " +
                       std::to_string(options.parallel_for.lanes));
    nncc_model &self = **model;
    self.threads.threads = options.threads;
    self.threads.caller = {options.parallel_for.run, options.parallel_for.context,
                           options.parallel_for.lanes};
    self.allocator = {options.allocator.allocate, options.allocator.release,
                      options.allocator.context};
    LoadOptions load;
    load.device = options.device ? options.device : "";
    load.weightsPath = options.weights ? options.weights : "";
    load.skipWeights = options.info_only != 0;
    load.tuningPath = options.tuning ? options.tuning : "";
    load.tuningRequired = options.tuning_required != 0;
    load.threads = self.threads;
    load.allocator = self.allocator;
    load.log = {options.log, options.log_context};
    Result<std::shared_ptr<const LoadedProgram>> program =
        LoadedProgram::load(*static_cast<const ModelDescriptor *>(api->module), load);
    if (!program)
      return program.error();
    self.program = std::move(*program);
    self.info = std::make_unique<ModelInfo>(
        *self.program, describeTargets(*static_cast<const ModelDescriptor *>(api->module)));
    return {};
  });
}

void destroyModel(nncc_model *model) { delete model; }

const char *modelError(const nncc_model *model) {
  return model ? model->error.c_str() : "out of memory";
}

const nncc_model_info *modelInfo(const nncc_model *model) {
  return model && model->info ? &model->info->get() : nullptr;
}

nncc_status createInstance(const nncc_model *model, const nncc_instance_options *given,
                           nncc_instance **instance) {
  *instance = new (std::nothrow) nncc_instance;
  if (!*instance)
    return NNCC_ENVIRONMENT_ERROR;
  return guarded((*instance)->error, [&]() -> Result<void> {
    Result<nncc_instance_options> read = readSized(given);
    if (!read)
      return read.error();
    const nncc_instance_options &options = *read;
    if (!model || !model->program)
      return userError("the model was not loaded");
    if (options.threads < 0)
      return userError("expected a number of threads >= 0, found " +
                       std::to_string(options.threads));
    ThreadOptions threads = model->threads;
    if (options.threads > 0) {
      threads.threads = options.threads;
      threads.caller.lanes = std::min<int>(threads.caller.lanes, options.threads);
    }
    nncc_instance &self = **instance;
    self.infer = model->program->program().findEntryPoint("infer");
    if (!self.infer)
      return internalError("the model has no entry point 'infer'");
    Result<std::unique_ptr<Instance>> created =
        model->program->createInstance(threads, model->allocator, options.training != 0);
    if (!created)
      return created.error();
    self.trainStep = model->program->program().findEntryPoint("train_step");
    self.evaluate = model->program->program().findEntryPoint("evaluate");
    self.instance = std::move(*created);
    return {};
  });
}

void destroyInstance(nncc_instance *instance) { delete instance; }

const char *instanceError(const nncc_instance *instance) {
  return instance ? instance->error.c_str() : "out of memory";
}

nncc_status plan(nncc_instance *self, const int64_t *dims, size_t dimCount,
                 nncc_plan_info *target) {
  return guardedCall(self, [&]() -> Result<void> {
    Result<const BoundEntry *> bound = self->instance->bind(*self->infer, {dims, dimCount});
    if (!bound)
      return bound.error();
    const MemoryPlan &memory = (*bound)->memory;
    nncc_plan_info info{};
    info.lanes = self->instance->lanes();
    info.workspace_bytes = self->instance->workspaceBytes(**bound);
    info.arena_bytes = memory.arenaBytes;
    info.sum_bytes = memory.sumBytes;
    info.lower_bound_bytes = memory.lowerBoundBytes;
    info.scratch_bytes_per_lane = (*bound)->scratchBytesPerLane;
    return writeSized(target, info);
  });
}

/// Views of the caller's tensors. Names beyond the model's own are of no account: the number is
/// checked later.
Result<std::vector<TensorView>> viewAll(const nncc_instance &self, const DLTensor *tensors,
                                        size_t count, const std::vector<uint32_t> &ids,
                                        const char *role) {
  const Program &program = self.instance->model().program();
  std::vector<TensorView> views;
  for (size_t i = 0; i < count; ++i) {
    Result<TensorView> view =
        viewOf(tensors[i], role, i < ids.size() ? program.buffers[ids[i]].name : "");
    if (!view)
      return view.error();
    views.push_back(*view);
  }
  return views;
}

/// What both kinds of run are given.
struct RunRequest {
  nncc_run_options options;
  std::vector<TensorView> inputs;

  Instance::RunArguments with(std::span<const TensorView> outputs) const {
    auto *workspace = static_cast<std::byte *>(options.workspace);
    return {inputs, outputs, {workspace, workspace ? options.workspace_bytes : 0}, options.stream};
  }
};

Result<RunRequest> readRequest(const nncc_instance &self, const EntryPoint &entry,
                               const DLTensor *inputs, size_t inputCount,
                               const nncc_run_options *given) {
  Result<nncc_run_options> options = readSized(given);
  if (!options)
    return options.error();
  Result<std::vector<TensorView>> views =
      viewAll(self, inputs, inputCount, entry.inputs, "input");
  if (!views)
    return views.error();
  return RunRequest{*options, std::move(*views)};
}

/// Where outputs are allocated: as the options say, else where the first input is.
Result<MemoryPlace> placeOfOutputs(const RunRequest &request) {
  switch (request.options.output_device) {
  case 0:
    if (!request.inputs.empty() && request.inputs[0].place.kind == MemoryPlace::Cuda)
      return request.inputs[0].place;
    return MemoryPlace{};
  case kDLCPU:
    return MemoryPlace{};
  case kDLCUDA: // of the instance
    return MemoryPlace{MemoryPlace::Cuda, -1};
  default:
    return userError("expected an output_device of 0, kDLCPU or kDLCUDA, found " +
                     std::to_string(request.options.output_device));
  }
}

Result<void> runEntry(nncc_instance &self, const EntryPoint &entry, const DLTensor *inputs,
                      size_t inputCount, const DLTensor *outputs, size_t outputCount,
                      const nncc_run_options *given) {
  Result<RunRequest> request = readRequest(self, entry, inputs, inputCount, given);
  if (!request)
    return request.error();
  Result<std::vector<TensorView>> out = viewAll(self, outputs, outputCount, entry.outputs, "output");
  if (!out)
    return out.error();
  return self.instance->run(entry, request->with(*out));
}

nncc_status run(nncc_instance *self, const DLTensor *inputs, size_t inputCount,
                const DLTensor *outputs, size_t outputCount, const nncc_run_options *given) {
  return guardedCall(self, [&] {
    return runEntry(*self, *self->infer, inputs, inputCount, outputs, outputCount, given);
  });
}

Result<void> tuneEntry(nncc_instance &self, const EntryPoint &entry, const DLTensor *inputs,
                       size_t inputCount, const DLTensor *outputs, size_t outputCount,
                       const char *path) {
  if (!path || !*path)
    return userError("expected the path of a tuning file");
  Result<RunRequest> request = readRequest(self, entry, inputs, inputCount, nullptr);
  if (!request)
    return request.error();
  Result<std::vector<TensorView>> out = viewAll(self, outputs, outputCount, entry.outputs, "output");
  if (!out)
    return out.error();
  return self.instance->tune(entry, request->with(*out), path);
}

nncc_status tune(nncc_instance *self, const DLTensor *inputs, size_t inputCount,
                 const DLTensor *outputs, size_t outputCount, const char *path) {
  return guardedCall(self, [&] {
    return tuneEntry(*self, *self->infer, inputs, inputCount, outputs, outputCount, path);
  });
}

Error notForTraining() {
  return userError(
      "this instance does not train; create it with nncc_instance_options.training = 1");
}

nncc_status trainStep(nncc_instance *self, const DLTensor *inputs, size_t inputCount,
                      const DLTensor *outputs, size_t outputCount, const nncc_run_options *given) {
  return guardedCall(self, [&]() -> Result<void> {
    if (!self->instance->trains())
      return notForTraining();
    return runEntry(*self, *self->trainStep, inputs, inputCount, outputs, outputCount, given);
  });
}

nncc_status evaluate(nncc_instance *self, const DLTensor *inputs, size_t inputCount,
                     const DLTensor *outputs, size_t outputCount, const nncc_run_options *given) {
  return guardedCall(self, [&]() -> Result<void> {
    if (!self->instance->trains())
      return notForTraining();
    return runEntry(*self, *self->evaluate, inputs, inputCount, outputs, outputCount, given);
  });
}

nncc_status tuneTraining(nncc_instance *self, const DLTensor *inputs, size_t inputCount,
                         const DLTensor *outputs, size_t outputCount, const char *path) {
  return guardedCall(self, [&]() -> Result<void> {
    if (!self->instance->trains())
      return notForTraining();
    Result<void> done =
        tuneEntry(*self, *self->trainStep, inputs, inputCount, outputs, outputCount, path);
    return done ? tuneEntry(*self, *self->evaluate, inputs, inputCount, outputs, outputCount, path)
                : done;
  });
}

nncc_status getTensor(nncc_instance *self, const char *name, const DLTensor *to) {
  return guardedCall(self, [&]() -> Result<void> {
    Result<TensorView> view = viewOf(*to, "tensor", name);
    return view ? self->instance->getTensor(name, *view) : Result<void>(view.error());
  });
}

nncc_status setTensor(nncc_instance *self, const char *name, const DLTensor *from) {
  return guardedCall(self, [&]() -> Result<void> {
    Result<TensorView> view = viewOf(*from, "tensor", name);
    return view ? self->instance->setTensor(name, *view) : Result<void>(view.error());
  });
}

nncc_status saveState(nncc_instance *self, const char *path) {
  return guardedCall(self, [&] {
    const Program &program = self->instance->model().program();
    return self->instance->saveState(path, {{"nncc.model", program.modelName}});
  });
}

nncc_status loadState(nncc_instance *self, const char *path) {
  return guardedCall(self, [&] { return self->instance->loadState(path); });
}

nncc_status setFiniteCheck(nncc_instance *self, int32_t on) {
  return guardedCall(self, [&]() -> Result<void> {
    self->instance->setFiniteCheck(on != 0);
    return {};
  });
}

struct DeleteTensor {
  void operator()(DLManagedTensorVersioned *tensor) const { tensor->deleter(tensor); }
};
using TensorHolder = std::unique_ptr<DLManagedTensorVersioned, DeleteTensor>;

nncc_status runAllocate(nncc_instance *self, const DLTensor *inputs, size_t inputCount,
                        DLManagedTensorVersioned **outputs, size_t outputCount,
                        const nncc_run_options *given) {
  std::fill_n(outputs, outputCount, nullptr);
  return guardedCall(self, [&]() -> Result<void> {
    Result<RunRequest> request = readRequest(*self, *self->infer, inputs, inputCount, given);
    if (!request)
      return request.error();
    Result<const BoundEntry *> bound = self->instance->bindInputs(*self->infer, request->inputs);
    if (!bound)
      return bound.error();
    Result<MemoryPlace> place = placeOfOutputs(*request);
    if (!place)
      return place.error();
    const Program &program = self->instance->model().program();
    std::vector<TensorHolder> holders;
    std::vector<TensorView> views;
    for (size_t i = 0; i < self->infer->outputs.size(); ++i) {
      uint32_t id = self->infer->outputs[i];
      Result<DLManagedTensorVersioned *> tensor =
          self->instance->allocateOutput(program.buffers[id].dtype, (*bound)->outputShapes[i],
                                         (*bound)->memory.sizesBytes[id], *place);
      if (!tensor)
        return tensor.error();
      holders.emplace_back(*tensor);
      Result<TensorView> view = viewOf((*tensor)->dl_tensor, "output", program.buffers[id].name);
      if (!view)
        return view.error();
      views.push_back(*view);
    }
    if (outputCount != holders.size())
      return userError("model '" + program.modelName + "' gives " + std::to_string(holders.size()) +
                       " outputs, found room for " + std::to_string(outputCount));
    Result<void> ran = self->instance->run(*self->infer, request->with(views));
    for (size_t i = 0; ran && i < holders.size(); ++i)
      outputs[i] = holders[i].release();
    return ran;
  });
}

nncc_status setProfiling(nncc_instance *self, int32_t on) {
  return guardedCall(self, [&]() -> Result<void> {
    self->instance->setProfiling(on != 0);
    return {};
  });
}

nncc_status stepProfile(nncc_instance *self, size_t step, nncc_step_profile *target) {
  return guardedCall(self, [&]() -> Result<void> {
    const BoundEntry *bound = self->instance->lastBinding();
    std::span<const StepTimes> times;
    if (bound)
      times = self->instance->timesOf(*bound->entry);
    if (times.empty())
      return userError("there is no profile; call set_profiling and run first");
    if (step >= times.size())
      return userError("the last call had " + std::to_string(times.size()) +
                       " steps, there is no step " + std::to_string(step));
    const BoundStep &boundStep = bound->steps[step];
    nncc_step_profile profile{};
    profile.kernel = boundStep.kernel;
    profile.calls = times[step].calls;
    profile.total_ns = times[step].totalNs;
    profile.min_ns = times[step].calls ? times[step].minNs : 0;
    profile.last_start_ns = times[step].lastStartNs;
    profile.last_ns = times[step].lastNs;
    profile.tasks = boundStep.taskCount;
    profile.flops = boundStep.flops;
    profile.traffic_bytes = boundStep.trafficBytes;
    return writeSized(target, profile);
  });
}

} // namespace

nncc_api nncc::rt::makeApi(const ModelDescriptor &descriptor) {
  nncc_api api{};
  api.size = sizeof(nncc_api);
  api.version = NNCC_ABI_VERSION;
  api.module = &descriptor;
  api.create_model = &createModel;
  api.destroy_model = &destroyModel;
  api.model_error = &modelError;
  api.model_info = &modelInfo;
  api.create_instance = &createInstance;
  api.destroy_instance = &destroyInstance;
  api.instance_error = &instanceError;
  api.plan = &plan;
  api.run = &run;
  api.run_allocate = &runAllocate;
  api.set_profiling = &setProfiling;
  api.step_profile = &stepProfile;
  api.tune = &tune;
  api.train_step = &trainStep;
  api.evaluate = &evaluate;
  api.get_tensor = &getTensor;
  api.set_tensor = &setTensor;
  api.save_state = &saveState;
  api.load_state = &loadState;
  api.set_finite_check = &setFiniteCheck;
  api.tune_training = &tuneTraining;
  return api;
}
