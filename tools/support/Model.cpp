// Opening models; see Model.h.

#include "tools/support/Model.h"
#include "nncc/jit.h"
#include "runtime/DLPackBridge.h"
#include "runtime/File.h"
#include "support/CheckedSize.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <dlfcn.h>
#include <elf.h>
#include <filesystem>
#include <link.h>

using namespace nncc;
using namespace nncc::tools;

static Error errorOf(nncc_status status, const char *message) {
  std::string text = message ? message : "out of memory";
  switch (status) {
  case NNCC_USER_ERROR:
    return userError(text);
  case NNCC_ENVIRONMENT_ERROR:
    return environmentError(text);
  default:
    return internalError(text);
  }
}

/// The system's loader maps what the headers of a file promise and dies when it is not there, so
/// that is checked first.
static Result<void> checkSharedObject(const std::string &path) {
  auto mapped = rt::MappedFile::open(path);
  if (!mapped)
    return mapped.error();
  std::span<const std::byte> bytes = mapped->bytes();
  ElfW(Ehdr) header;
  if (bytes.size() < sizeof header || std::memcmp(bytes.data(), ELFMAG, SELFMAG) != 0)
    return userError("'" + path + "' is not a compiled model: it is not a shared object");
  std::memcpy(&header, bytes.data(), sizeof header);
  auto endOf = [](CheckedSize offset, CheckedSize size) {
    return (offset + size).getOr(INT64_MAX);
  };
  int64_t sizeBytes = static_cast<int64_t>(bytes.size());
  int64_t needed = endOf(header.e_phoff, CheckedSize(header.e_phnum) * sizeof(ElfW(Phdr)));
  for (size_t i = 0, count = needed <= sizeBytes ? header.e_phnum : 0; i < count; ++i) {
    ElfW(Phdr) segment;
    std::memcpy(&segment, bytes.data() + header.e_phoff + i * sizeof segment, sizeof segment);
    needed = std::max(needed, endOf(segment.p_offset, segment.p_filesz));
  }
  if (needed > sizeBytes)
    return userError("'" + path + "' is truncated: its segments need " + std::to_string(needed) +
                     " bytes, found " + std::to_string(sizeBytes) +
                     "; copy or compile the model again");
  return {};
}

static Result<Library> openLibrary(const std::string &path) {
  void *handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    return environmentError(dlerror());
  return Library(handle, dlclose);
}

/// Where libnncc_jit.so is: beside this program, in the build tree and when installed.
static Result<Library> openJit() {
  std::error_code code;
  std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", code);
  std::string looked;
  for (const char *folder :
       {"../lib", "../lib64", "../lib/x86_64-linux-gnu", "../lib/aarch64-linux-gnu"}) {
    auto path = (program.parent_path() / folder / "libnncc_jit.so").lexically_normal();
    if (std::filesystem::exists(path, code))
      return openLibrary(path);
    looked += "\n  " + path.string();
  }
  return environmentError("a model's text needs the compiler, libnncc_jit.so, which is not at" +
                          looked +
                          "\nInstall nncc with its compiler, or compile the model "
                          "elsewhere: nncc MODEL.nn -o MODEL.so");
}

Result<Model> Model::open(const std::string &path, const ModelOptions &options) {
  Model opened;
  std::error_code code;
  if (options.text.empty() && !std::filesystem::exists(path, code))
    return userError("cannot open " + path + ": no such file");

  if (path.ends_with(".so")) {
    if (auto checked = checkSharedObject(path); !checked)
      return checked.error();
    // dlopen takes a name without a slash for a library of the system.
    auto library = openLibrary(path.find('/') == std::string::npos ? "./" + path : path);
    if (!library)
      return userError("cannot load " + path + ": " + library.error().message);
    opened.library = *library;
    auto *getApi =
        reinterpret_cast<nncc_model_get_api_fn *>(dlsym(library->get(), NNCC_MODEL_GET_API_SYMBOL));
    if (!getApi)
      return userError(path + " is not a compiled model: it has no " NNCC_MODEL_GET_API_SYMBOL);
    opened.functions = getApi(NNCC_ABI_VERSION);
    if (!opened.functions)
      return userError(path + " was compiled by another version of nncc; compile it again");
  } else {
    auto library = openJit();
    if (!library)
      return library.error();
    opened.library = *library;
    auto *compile =
        reinterpret_cast<nncc_jit_compile_fn *>(dlsym(library->get(), "nncc_jit_compile"));
    auto *destroy =
        reinterpret_cast<nncc_jit_destroy_fn *>(dlsym(library->get(), "nncc_jit_destroy"));
    auto *error = reinterpret_cast<nncc_jit_error_fn *>(dlsym(library->get(), "nncc_jit_error"));
    auto *api = reinterpret_cast<nncc_jit_api_fn *>(dlsym(library->get(), "nncc_jit_api"));
    if (!compile || !destroy || !error || !api)
      return environmentError("libnncc_jit.so does not belong to this program; reinstall nncc");
    nncc_jit_options jitOptions{};
    jitOptions.size = sizeof jitOptions;
    jitOptions.path = path.c_str();
    jitOptions.text = options.text.empty() ? nullptr : options.text.c_str();
    jitOptions.weights = options.weights.empty() ? nullptr : options.weights.c_str();
    jitOptions.seed = options.seed;
    jitOptions.training = options.training;
    jitOptions.train_statements = options.trainStatements.empty() ? nullptr : options.trainStatements.c_str();
    jitOptions.memory_budget = options.memoryBudgetBytes;
    jitOptions.batch = options.batch;
    jitOptions.tiles = options.compilesTiles ? -1 : 1;
    jitOptions.target = options.device.starts_with("cuda") ? "cuda" : "cpu";
    nncc_jit_program *program = nullptr;
    nncc_status status = compile(&jitOptions, &program);
    // The library has to stay until its program is gone.
    opened.compiled = std::shared_ptr<void>(program, [destroy, keep = *library](void *old) {
      destroy(static_cast<nncc_jit_program *>(old));
    });
    if (status != NNCC_OK)
      return errorOf(status, error(program));
    opened.functions = api(program);
  }
  if (auto created = opened.create(options); !created)
    return created.error();
  return opened;
}

Result<void> Model::create(const ModelOptions &options) {
  nncc_model_options modelOptions{};
  modelOptions.size = sizeof modelOptions;
  modelOptions.threads = options.threads;
  // The compiler has taken the weights in already when it compiled in memory.
  modelOptions.weights = options.weights.empty() || compiled ? nullptr : options.weights.c_str();
  modelOptions.info_only = options.infoOnly;
  modelOptions.tuning = options.tuning.empty() ? nullptr : options.tuning.c_str();
  modelOptions.tuning_required = options.tuningRequired;
  modelOptions.device = options.device.empty() ? nullptr : options.device.c_str();
  if (options.log) {
    modelOptions.log = [](void *context, const char *message) {
      (*static_cast<const std::function<void(const std::string &)> *>(context))(message);
    };
    modelOptions.log_context = const_cast<std::function<void(const std::string &)> *>(&options.log);
  }
  nncc_model *created = nullptr;
  nncc_status status = functions->create_model(functions, &modelOptions, &created);
  model = std::shared_ptr<nncc_model>(
      created, [api = functions, keepLibrary = library, keepProgram = compiled](nncc_model *old) {
        api->destroy_model(old);
      });
  return status == NNCC_OK ? Result<void>() : errorOf(status, functions->model_error(created));
}

Result<Instance> Instance::create(const Model &model, int threads, bool trains) {
  Instance made(model);
  nncc_instance_options options{};
  options.size = sizeof options;
  options.threads = threads;
  options.training = trains;
  nncc_instance *created = nullptr;
  nncc_status status = model.api().create_instance(model.get(), &options, &created);
  made.instance = std::shared_ptr<nncc_instance>(
      created, [keep = model](nncc_instance *old) { keep.api().destroy_instance(old); });
  if (auto checked = made.check(status); !checked)
    return checked.error();
  return made;
}

Result<void> Instance::check(nncc_status status) const {
  return status == NNCC_OK ? Result<void>()
                           : errorOf(status, model.api().instance_error(instance.get()));
}

Result<void> Instance::run(std::span<const DLTensor> inputs, std::span<const DLTensor> outputs) {
  return check(model.api().run(instance.get(), inputs.data(), inputs.size(), outputs.data(),
                               outputs.size(), nullptr));
}

Result<void> Instance::tune(std::span<const DLTensor> inputs, std::span<const DLTensor> outputs,
                            const std::string &path) {
  if (model.api().size < offsetof(nncc_api, tune) + sizeof(nncc_api::tune))
    return userError("the model was compiled by an nncc that cannot tune; compile it again");
  return check(model.api().tune(instance.get(), inputs.data(), inputs.size(), outputs.data(),
                                outputs.size(), path.c_str()));
}

Result<std::vector<std::shared_ptr<DLManagedTensorVersioned>>> Instance::run(std::span<const DLTensor> inputs) {
  std::vector<DLManagedTensorVersioned *> outputs(model.info().output_count);
  if (auto ran = check(model.api().run_allocate(instance.get(), inputs.data(), inputs.size(), outputs.data(), outputs.size(), nullptr));
      !ran)
    return ran.error();
  std::vector<std::shared_ptr<DLManagedTensorVersioned>> owned;
  for (DLManagedTensorVersioned *output : outputs)
    owned.emplace_back(output, [keep = model](DLManagedTensorVersioned *old) { old->deleter(old); });
  return owned;
}

/// Loss and metrics are f32 or f64.
Result<std::vector<double>> Instance::numbersOf(const Entry &entry, std::span<const DLTensor> inputs) {
  const nncc_model_info &info = model.info();
  std::vector<double> numbers(info.train_output_count);
  std::vector<DLTensor> outputs(numbers.size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    outputs[i].data = &numbers[i];
    outputs[i].device = {kDLCPU, 0};
    outputs[i].dtype = info.train_outputs[i].dtype;
  }
  if (auto ran = check(entry(instance.get(), inputs.data(), inputs.size(), outputs.data(), outputs.size())); !ran)
    return ran.error();
  for (size_t i = 0; i < numbers.size(); ++i)
    if (outputs[i].dtype.bits == 32) {
      float value = 0;
      std::memcpy(&value, &numbers[i], sizeof value);
      numbers[i] = value;
    }
  return numbers;
}

Result<std::vector<double>> Instance::trainStep(std::span<const DLTensor> inputs) {
  return numbersOf([&](auto... tensors) { return model.api().train_step(tensors..., nullptr); }, inputs);
}

Result<std::vector<double>> Instance::evaluate(std::span<const DLTensor> inputs) {
  return numbersOf([&](auto... tensors) { return model.api().evaluate(tensors..., nullptr); }, inputs);
}

Result<void> Instance::tuneTraining(std::span<const DLTensor> inputs, const std::string &path) {
  if (model.api().size < offsetof(nncc_api, tune_training) + sizeof(nncc_api::tune_training))
    return userError("the model was compiled by an nncc that cannot tune training; compile it again");
  auto tuned = numbersOf([&](auto... tensors) { return model.api().tune_training(tensors..., path.c_str()); }, inputs);
  return tuned ? Result<void>() : tuned.error();
}

Result<void> Instance::getTensor(const std::string &name, rt::HostTensor &to) {
  DLTensor view{};
  view.data = to.data.data();
  view.device = {kDLCPU, 0};
  view.ndim = static_cast<int32_t>(to.shape.size());
  view.dtype = rt::toDLDataType(to.dtype);
  view.shape = to.shape.data();
  return check(model.api().get_tensor(instance.get(), name.c_str(), &view));
}

Result<void> Instance::setTensor(const std::string &name, const DLTensor &from) {
  return check(model.api().set_tensor(instance.get(), name.c_str(), &from));
}

Result<void> Instance::setFiniteCheck(bool on) { return check(model.api().set_finite_check(instance.get(), on)); }

Result<nncc_plan_info> Instance::plan(std::span<const int64_t> dims) {
  nncc_plan_info plan{};
  plan.size = sizeof plan;
  if (auto checked = check(model.api().plan(instance.get(), dims.data(), dims.size(), &plan));
      !checked)
    return checked.error();
  return plan;
}

Result<void> Instance::setProfiling(bool on) {
  return check(model.api().set_profiling(instance.get(), on));
}

Result<std::vector<nncc_step_profile>> Instance::profile() { return profileOf(model.info().step_count); }

Result<std::vector<nncc_step_profile>> Instance::trainStepProfile() {
  if (model.info().size < offsetof(nncc_model_info, train_step_count) + sizeof(nncc_model_info::train_step_count))
    return userError("the model was compiled by an nncc that does not profile training; compile it again");
  return profileOf(model.info().train_step_count);
}

Result<std::vector<nncc_step_profile>> Instance::profileOf(size_t stepCount) {
  std::vector<nncc_step_profile> steps(stepCount);
  for (size_t i = 0; i < steps.size(); ++i) {
    steps[i].size = sizeof steps[i];
    if (auto checked = check(model.api().step_profile(instance.get(), i, &steps[i])); !checked)
      return checked.error();
  }
  return steps;
}
