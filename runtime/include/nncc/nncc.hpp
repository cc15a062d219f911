// The C++20 interface of a compiled model: nncc.h with ownership and exceptions, header only. Link
// with libdl where the C library does not hold dlopen.
//
//   nncc::Model model = nncc::Model::load("lenet.so");
//   nncc::Instance instance = model.createInstance();
//   std::vector<nncc::Tensor> results = instance.run({nncc::Tensor::borrow(pixels, {1, 1, 28,
//   28})}); std::span<const float> logits = results[0].values<float>();
//
// A Model may be used by several threads, an Instance by one at a time. Everything keeps what it
// needs alive: results may outlive the instance, instances the model, and the library is closed
// when the last of them is gone.
#pragma once

#include "nncc/nncc.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <dlfcn.h>
#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace nncc {

/// What every function here throws.
class Exception : public std::runtime_error {
public:
  enum class Kind {
    User = NNCC_USER_ERROR,
    Environment = NNCC_ENVIRONMENT_ERROR,
    Internal = NNCC_INTERNAL_ERROR
  };

  Exception(Kind kind, const std::string &message) : std::runtime_error(message), errorKind(kind) {}

  /// Whose mistake it was: the caller's data, the machine's, or nncc's.
  Kind kind() const { return errorKind; }

private:
  Kind errorKind;
};

namespace detail {

inline void check(nncc_status status, const char *message) {
  if (status != NNCC_OK)
    throw Exception(static_cast<Exception::Kind>(status), message);
}

/// The DLPack type of a C++ element type. Half precision has none; pass its DLDataType.
template <typename T> constexpr DLDataType dataTypeOf() {
  constexpr uint8_t bits = sizeof(T) * 8;
  if constexpr (std::is_same_v<T, bool>)
    return {kDLBool, 8, 1};
  else if constexpr (std::is_floating_point_v<T>)
    return {kDLFloat, bits, 1};
  else if constexpr (std::is_signed_v<T>)
    return {kDLInt, bits, 1};
  else
    return {kDLUInt, bits, 1};
}

inline bool isSame(DLDataType a, DLDataType b) {
  return a.code == b.code && a.bits == b.bits && a.lanes == b.lanes;
}

} // namespace detail

/// A tensor, borrowed from the caller or owned, in CPU memory or on the model's CUDA device.
class Tensor {
public:
  /// The memory has to stay valid as long as the tensor.
  template <typename T> static Tensor borrow(T *data, std::vector<int64_t> shape) {
    using Element = std::remove_const_t<T>;
    return borrow(const_cast<Element *>(data), detail::dataTypeOf<Element>(), std::move(shape));
  }
  /// `device`: {kDLCUDA, 0} for memory of the first CUDA device, where `data` is an address.
  static Tensor borrow(void *data, DLDataType type, std::vector<int64_t> shape,
                       DLDevice device = {kDLCPU, 0}) {
    Tensor tensor;
    tensor.ownShape = std::move(shape);
    tensor.dl.data = data;
    tensor.dl.device = device;
    tensor.dl.ndim = static_cast<int32_t>(tensor.ownShape.size());
    tensor.dl.dtype = type;
    tensor.dl.shape = tensor.ownShape.data();
    return tensor;
  }

  /// Takes over a tensor that a library allocated; `library` holds the code of its deleter.
  static Tensor adopt(DLManagedTensorVersioned *managed, std::shared_ptr<const void> library = {}) {
    Tensor tensor;
    tensor.library = std::move(library);
    tensor.owned.reset(managed);
    tensor.dl = managed->dl_tensor;
    return tensor;
  }

  Tensor(Tensor &&) =
      default; // moving a vector keeps the address of its elements, so dl.shape stays right
  Tensor &operator=(Tensor &&) = default;

  const DLTensor &dlTensor() const { return dl; }
  std::span<const int64_t> shape() const { return {dl.shape, static_cast<size_t>(dl.ndim)}; }
  DLDataType type() const { return dl.dtype; }
  DLDevice device() const { return dl.device; }

  int64_t elementCount() const {
    int64_t count = 1;
    for (int64_t extent : shape())
      count *= extent;
    return count;
  }

  /// The elements in row-major order.
  template <typename T> std::span<const T> values() const {
    if (!detail::isSame(dl.dtype, detail::dataTypeOf<T>()))
      throw Exception(Exception::Kind::User, "the tensor holds elements of another type");
    if (dl.device.device_type != kDLCPU && dl.device.device_type != kDLCUDAHost)
      throw Exception(Exception::Kind::User, "the tensor is not in CPU memory");
    const char *data = static_cast<const char *>(dl.data) + dl.byte_offset;
    return {reinterpret_cast<const T *>(data), static_cast<size_t>(elementCount())};
  }

private:
  struct Delete {
    void operator()(DLManagedTensorVersioned *tensor) const {
      if (tensor->deleter)
        tensor->deleter(tensor);
    }
  };

  Tensor() = default;

  std::shared_ptr<const void> library; // before `owned`: destroyed after it
  std::unique_ptr<DLManagedTensorVersioned, Delete> owned;
  std::vector<int64_t> ownShape;
  DLTensor dl{};
};

struct ModelOptions {
  int threads = 0;                 ///< per instance; 0: one per usable core
  std::string device{};            ///< "cpu", "cuda", "cuda:1"; empty: the model's own choice
  std::string weights{};           ///< a safetensors file; empty: what the model brings along
  nncc_parallel_for parallelFor{}; ///< if its function is set: instead of threads of nncc's own
  nncc_allocator allocator{};
  std::function<void(std::string_view)> log{};
  bool infoOnly = false; ///< load no weights; such a model answers questions only
  std::string tuning{};  ///< CUDA: a tuning file; empty: the one that the model brings along
  bool tuningRequired = false; ///< fail where it does not fit, instead of running nncc's kernels
};

struct RunOptions {
  uint32_t outputDevice = 0; ///< of allocated results: kDLCPU, kDLCUDA; 0: where the first input is
  void *stream = nullptr;    ///< CUDA: a CUstream that still has to write the tensors
};

/// One stream of runs.
class Instance {
public:
  /// Runs the model and allocates the results.
  std::vector<Tensor> run(std::span<const Tensor> inputs, const RunOptions &options = {}) {
    std::vector<DLManagedTensorVersioned *> results(outputCount);
    std::vector<DLTensor> in = dlTensors(inputs);
    nncc_run_options given = convert(options);
    check(api->run_allocate(handle.get(), in.data(), in.size(), results.data(), results.size(),
                            &given));
    std::vector<Tensor> tensors;
    tensors.reserve(results.size());
    for (DLManagedTensorVersioned *result : results)
      tensors.push_back(Tensor::adopt(result, library));
    return tensors;
  }
  std::vector<Tensor> run(std::initializer_list<Tensor> inputs, const RunOptions &options = {}) {
    return run(std::span<const Tensor>(inputs.begin(), inputs.size()), options);
  }

  /// Runs the model into memory of the caller.
  void run(std::span<const Tensor> inputs, std::span<const Tensor> outputs,
           const RunOptions &options = {}) {
    std::vector<DLTensor> in = dlTensors(inputs), out = dlTensors(outputs);
    nncc_run_options given = convert(options);
    check(api->run(handle.get(), in.data(), in.size(), out.data(), out.size(), &given));
  }

  /// On a CUDA device: runs the model, measures which kernels a library does faster for these dims,
  /// and adds that to the tuning file.
  void tune(std::span<const Tensor> inputs, std::span<const Tensor> outputs,
            const std::string &path) {
    if (api->size < offsetof(nncc_api, tune) + sizeof(api->tune))
      throw Exception(Exception::Kind::User, "this model was compiled by an nncc that cannot tune");
    std::vector<DLTensor> in = dlTensors(inputs), out = dlTensors(outputs);
    check(api->tune(handle.get(), in.data(), in.size(), out.data(), out.size(), path.c_str()));
  }

  /// The memory that a run needs for these values of the named dims.
  nncc_plan_info plan(std::span<const int64_t> dims) {
    nncc_plan_info info{};
    info.size = sizeof(info);
    check(api->plan(handle.get(), dims.data(), dims.size(), &info));
    return info;
  }

  /// Of an instance made by Model::createTrainer: computes the loss and the metrics of a batch, in
  /// this order, and updates the parameters. `inputs`: the model's, then the targets.
  std::vector<double> trainStep(std::span<const Tensor> inputs) {
    return runNumbers([&](auto... tensors) { return api->train_step(tensors..., nullptr); }, inputs);
  }
  std::vector<double> trainStep(std::initializer_list<Tensor> inputs) {
    return trainStep(std::span<const Tensor>(inputs.begin(), inputs.size()));
  }
  /// The same numbers as inference computes them; changes nothing.
  std::vector<double> evaluate(std::span<const Tensor> inputs) {
    return runNumbers([&](auto... tensors) { return api->evaluate(tensors..., nullptr); }, inputs);
  }
  std::vector<double> evaluate(std::initializer_list<Tensor> inputs) {
    return evaluate(std::span<const Tensor>(inputs.begin(), inputs.size()));
  }

  /// As `tune`, for trainStep and evaluate; returns what evaluate does. Parameters and states stay.
  std::vector<double> tuneTraining(std::span<const Tensor> inputs, const std::string &path) {
    if (api->size < offsetof(nncc_api, tune_training) + sizeof(api->tune_training))
      throw Exception(Exception::Kind::User,
                      "this model was compiled by an nncc that cannot tune training");
    return runNumbers(
        [&](auto... tensors) { return api->tune_training(tensors..., path.c_str()); }, inputs);
  }

  /// A parameter or state by its name, to and from CPU memory.
  void getTensor(const std::string &name, Tensor &to) {
    check(api->get_tensor(handle.get(), name.c_str(), &to.dlTensor()));
  }
  void setTensor(const std::string &name, const Tensor &from) {
    check(api->set_tensor(handle.get(), name.c_str(), &from.dlTensor()));
  }
  /// All parameters and states, as a safetensors file.
  void saveState(const std::string &path) { check(api->save_state(handle.get(), path.c_str())); }
  void loadState(const std::string &path) { check(api->load_state(handle.get(), path.c_str())); }

  /// From then on a run throws at the first kernel that makes NaN or an infinity, and names it.
  void setFiniteCheck(bool isOn) { check(api->set_finite_check(handle.get(), isOn)); }

  void setProfiling(bool isOn) { check(api->set_profiling(handle.get(), isOn)); }

  /// One entry per step of a run, in their order.
  std::vector<nncc_step_profile> profile() {
    std::vector<nncc_step_profile> steps(stepCount);
    for (size_t i = 0; i < steps.size(); ++i) {
      steps[i].size = sizeof(nncc_step_profile);
      check(api->step_profile(handle.get(), i, &steps[i]));
    }
    return steps;
  }

private:
  friend class Model;

  /// The results of train_step or evaluate: f32 or f64 numbers. `run` takes the tensors.
  template <typename Run> std::vector<double> runNumbers(Run run, std::span<const Tensor> inputs) {
    std::vector<DLTensor> in = dlTensors(inputs), out(resultTypes.size());
    std::vector<double> numbers(resultTypes.size());
    for (size_t i = 0; i < out.size(); ++i) {
      out[i].data = &numbers[i];
      out[i].device = {kDLCPU, 0};
      out[i].dtype = resultTypes[i];
    }
    check(run(handle.get(), in.data(), in.size(), out.data(), out.size()));
    for (size_t i = 0; i < numbers.size(); ++i)
      if (resultTypes[i].bits == 32) {
        float value;
        std::memcpy(&value, &numbers[i], sizeof(value));
        numbers[i] = value;
      }
    return numbers;
  }

  static nncc_run_options convert(const RunOptions &options) {
    nncc_run_options given{};
    given.size = sizeof(given);
    given.output_device = options.outputDevice;
    given.stream = options.stream;
    return given;
  }

  static std::vector<DLTensor> dlTensors(std::span<const Tensor> tensors) {
    std::vector<DLTensor> result;
    result.reserve(tensors.size());
    for (const Tensor &tensor : tensors)
      result.push_back(tensor.dlTensor());
    return result;
  }

  Instance(std::shared_ptr<const void> library, const nncc_api *api, const nncc_model *model,
           int threads, bool trains)
      : library(std::move(library)), api(api), handle(nullptr, api->destroy_instance) {
    nncc_instance_options options{sizeof(nncc_instance_options), threads, trains};
    nncc_instance *instance = nullptr;
    nncc_status status = api->create_instance(model, &options, &instance);
    handle.reset(instance);
    check(status);
    const nncc_model_info *info = api->model_info(model);
    outputCount = info->output_count;
    stepCount = info->step_count;
    for (size_t i = 0; i < info->train_output_count; ++i)
      resultTypes.push_back(info->train_outputs[i].dtype);
  }

  void check(nncc_status status) const { detail::check(status, api->instance_error(handle.get())); }

  std::shared_ptr<const void> library; // before `handle`: closed after it
  const nncc_api *api;
  std::unique_ptr<nncc_instance, void (*)(nncc_instance *)> handle;
  size_t outputCount = 0;
  size_t stepCount = 0;
  std::vector<DLDataType> resultTypes; ///< of train_step and evaluate
};

/// A loaded model. Immutable.
class Model {
public:
  /// Loads a model.so. A path without a slash means a file in the current folder.
  static Model load(const std::string &path, ModelOptions options = {}) {
    std::string file = path.find('/') == std::string::npos ? "./" + path : path;
    void *opened = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!opened)
      throw Exception(Exception::Kind::Environment, dlerror());
    std::shared_ptr<const void> library(
        opened, [](const void *open) { dlclose(const_cast<void *>(open)); });
    auto *getApi =
        reinterpret_cast<nncc_model_get_api_fn *>(dlsym(opened, NNCC_MODEL_GET_API_SYMBOL));
    if (!getApi)
      throw Exception(Exception::Kind::User, "'" + path + "' is not a model compiled by nncc");
    const nncc_api *api = getApi(NNCC_ABI_VERSION);
    if (!api)
      throw Exception(Exception::Kind::User,
                      "'" + path + "' does not offer version " + std::to_string(NNCC_ABI_VERSION) +
                          " of the interface; compile the model with a matching nncc");
    return Model(api, std::move(options), std::move(library));
  }

  /// A model that is in memory already. `library` owns what api points to.
  Model(const nncc_api *api, ModelOptions options = {}, std::shared_ptr<const void> library = {})
      : library(std::move(library)), api(api), log(std::make_unique<Log>(std::move(options.log))),
        handle(nullptr, api->destroy_model) {
    nncc_model_options given{};
    given.size = sizeof(given);
    given.threads = options.threads;
    given.device = options.device.empty() ? nullptr : options.device.c_str();
    given.weights = options.weights.empty() ? nullptr : options.weights.c_str();
    given.parallel_for = options.parallelFor;
    given.allocator = options.allocator;
    given.log = *log ? &writeLog : nullptr;
    given.log_context = log.get();
    given.info_only = options.infoOnly;
    given.tuning = options.tuning.empty() ? nullptr : options.tuning.c_str();
    given.tuning_required = options.tuningRequired;
    nncc_model *model = nullptr;
    nncc_status status = api->create_model(api, &given, &model);
    handle.reset(model);
    detail::check(status, api->model_error(model));
  }

  const nncc_model_info &info() const { return *api->model_info(handle.get()); }

  /// threads = 0: as the model's options say.
  Instance createInstance(int threads = 0) const {
    return Instance(library, api, handle.get(), threads, false);
  }

  /// An instance with parameters of its own, which Instance::trainStep changes. The model has to be
  /// compiled with nncc --train.
  Instance createTrainer(int threads = 0) const {
    return Instance(library, api, handle.get(), threads, true);
  }

private:
  using Log = std::function<void(std::string_view)>;

  static void writeLog(void *context, const char *message) {
    (*static_cast<Log *>(context))(message);
  }

  std::shared_ptr<const void> library; // before `handle`: closed after it
  const nncc_api *api;
  std::unique_ptr<Log> log;
  std::unique_ptr<nncc_model, void (*)(nncc_model *)> handle;
};

} // namespace nncc
