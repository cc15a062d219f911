/* The C interface of a compiled model. A model.so exports one symbol, nncc_model_get_api;
 * everything else is reached through the struct of functions that it returns. Models compiled in
 * memory come through the same struct. C99; nothing to link with but libdl: */
/* clang-format off */
/*
 *   void *library = dlopen("./lenet.so", RTLD_NOW);
 *   nncc_model_get_api_fn *get_api =
 *       (nncc_model_get_api_fn *)dlsym(library, NNCC_MODEL_GET_API_SYMBOL);
 *   const nncc_api *api = get_api(NNCC_ABI_VERSION);
 *   nncc_model *model;
 *   if (api->create_model(api, NULL, &model) != NNCC_OK)
 *     puts(api->model_error(model));
 *   nncc_instance *instance;
 *   if (api->create_instance(model, NULL, &instance) != NNCC_OK)
 *     puts(api->instance_error(instance));
 *   if (api->run(instance, &image, 1, &logits, 1, NULL) != NNCC_OK)
 *     puts(api->instance_error(instance));
 *
 * A model is immutable and may be used by any number of threads. An instance serves one call at a
 * time; use one per thread. Destroy instances and models before dlclose. Strings and arrays in a
 * struct that a function fills belong to the model or instance and live as long as it does.
 * Structs that begin with `size` grow at their end only: the caller sets size to the sizeof it was
 * compiled with, and neither side touches what lies beyond.
 */
/* clang-format on */
#ifndef NNCC_NNCC_H
#define NNCC_NNCC_H

#include <stddef.h>
#include <stdint.h>

#ifndef DLPACK_DLPACK_H_
#include "nncc/dlpack.h"
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define NNCC_ABI_VERSION 1u
#define NNCC_MODEL_GET_API_SYMBOL "nncc_model_get_api"

/* What a function returns: NNCC_OK, or whose mistake it was. */
typedef int32_t nncc_status;
enum {
  NNCC_OK = 0,
  NNCC_USER_ERROR = 1,        /* wrong data, arguments or files */
  NNCC_ENVIRONMENT_ERROR = 2, /* the CPU, a CUDA device or its libraries, threads or memory */
  NNCC_INTERNAL_ERROR = 3     /* a bug in nncc */
};

typedef struct nncc_api nncc_api;
typedef struct nncc_model nncc_model;
typedef struct nncc_instance nncc_instance;

/* Where large blocks of memory come from. Both functions or neither. */
typedef struct nncc_allocator {
  void *(*allocate)(void *context, size_t size_bytes, size_t alignment_bytes); /* NULL: no memory */
  void (*release)(void *context, void *block, size_t size_bytes);
  void *context;
} nncc_allocator;

/* The caller's threads: calls body(body_context, i) once for each i in [0, count), in any order, on
 * any thread, and returns when all calls have returned. count is at most `lanes`. */
typedef struct nncc_parallel_for {
  void (*run)(void *context, int64_t count, void (*body)(void *body_context, int64_t index),
              void *body_context);
  void *context;
  int32_t lanes; /* how many calls can run at the same time */
} nncc_parallel_for;

typedef struct nncc_model_options {
  uint32_t size;
  int32_t threads;                /* per instance; 0: one per usable core */
  const char *device;             /* "cpu", "cuda" or "cuda:1"; NULL: the CPU where the model has
                                     code for it, else the first CUDA device */
  const char *weights;            /* a safetensors file; NULL: what the model brings along */
  nncc_parallel_for parallel_for; /* if run is not NULL: instead of threads of nncc's own */
  nncc_allocator allocator;       /* if allocate is not NULL */
  void (*log)(void *context, const char *message); /* may be NULL */
  void *log_context;
  int32_t info_only; /* if not 0: load no weights; the model answers questions, but cannot make
                        instances */
  const char *tuning;      /* CUDA: a tuning file, as tune() writes it: which kernels cuBLASLt and
                              cuDNN do; NULL: the one that the model brings along, if any. One that
                              does not fit is left aside, with a warning to log */
  int32_t tuning_required; /* if not 0: that is an error, and so are dims that it does not know */
} nncc_model_options;

typedef struct nncc_instance_options {
  uint32_t size;
  int32_t threads;  /* 0: as the model's options say */
  int32_t training; /* if not 0: an instance with parameters of its own, which train_step changes;
                       the model has to be compiled with nncc --train */
} nncc_instance_options;

/* A dim that the caller chooses at run time. */
typedef struct nncc_dim_info {
  const char *name;
  int64_t min;
  int64_t max; /* INT64_MAX: unlimited */
} nncc_dim_info;

typedef struct nncc_extent {
  int64_t value;    /* -1 when it depends on named dims */
  const char *text; /* "28", "N", "N*2" */
} nncc_extent;

typedef struct nncc_tensor_info {
  const char *name;
  const char *dtype_name; /* "f32" */
  const char *type_text;  /* "f32[N, 1, 28, 28]" */
  DLDataType dtype;
  int32_t rank;
  const nncc_extent *shape;
} nncc_tensor_info;

/* The values that an integer tensor may hold: labels, say. */
typedef struct nncc_value_range {
  int32_t is_limited; /* 0: any */
  int32_t has_besides;
  int64_t least, greatest;
  int64_t besides; /* allowed too: a label that is ignored */
} nncc_value_range;

typedef struct nncc_kernel_info {
  const char *name;   /* from the fused operations: "conv2d_bias_relu_max_pool2d" */
  const char *symbol; /* unique in the model */
  const char *source; /* file:line:column of the model's text, or "" */
} nncc_kernel_info;

typedef struct nncc_model_info {
  uint32_t size;
  uint32_t step_count; /* of a run */
  const char *name;
  const char *build_id;
  const char *target;    /* "cpu" or "cuda": where the model runs */
  const char *cpu_level; /* what the code in use is made for: "x86-64-v3", "sm_80" */
  const nncc_dim_info *dims;
  size_t dim_count;
  const nncc_tensor_info *inputs;
  size_t input_count;
  const nncc_tensor_info *outputs;
  size_t output_count;
  const nncc_tensor_info *parameters; /* those that a weights file has to hold */
  size_t parameter_count;
  const nncc_kernel_info *kernels;
  size_t kernel_count;
  const char *targets; /* all that the model was compiled for: "cpu (x86-64-v3), cuda (by NVRTC)" */
  const nncc_tensor_info *train_inputs; /* of train_step and evaluate: the inputs, then the targets */
  size_t train_input_count;             /* 0: the model was not compiled for training */
  const nncc_tensor_info *train_outputs; /* the loss, then the metrics; one number each */
  size_t train_output_count;
  const nncc_tensor_info *states; /* what get_tensor and set_tensor know besides the parameters: the
                                     step counter, the learning rate, the optimizer's moments */
  size_t state_count;
  const nncc_value_range *train_ranges; /* one per train input */
  int64_t train_batch;                  /* what the train section proposes: samples a step, passes */
  int64_t train_epochs;                 /* over the data, the seed of the order and of dropout */
  int64_t train_seed;
  uint32_t train_step_count; /* steps of a train_step, for step_profile */
} nncc_model_info;

/* Memory of one run for given dims. */
typedef struct nncc_plan_info {
  uint32_t size;
  int32_t lanes;             /* threads that the instance uses; 1 on a CUDA device */
  int64_t workspace_bytes;   /* arena and scratch memory of all lanes, on the model's device */
  int64_t arena_bytes;       /* intermediates, with sharing */
  int64_t sum_bytes;         /* intermediates, without sharing */
  int64_t lower_bound_bytes; /* the largest set of intermediates alive at one time */
  int64_t scratch_bytes_per_lane;
} nncc_plan_info;

typedef struct nncc_run_options {
  uint32_t size;
  uint32_t output_device; /* run_allocate: kDLCPU, kDLCUDA, or 0: where the first input is */
  void *workspace; /* 64-byte aligned memory of plan()'s workspace_bytes on the model's device, or
                      NULL: the instance's own */
  size_t workspace_bytes;
  void *stream; /* CUDA: a CUstream whose work so far has to be done before the run begins, for
                   tensors that it writes; NULL: they are written already */
} nncc_run_options;

/* One step of the profiled calls since set_profiling: of run, train_step or evaluate, whichever was
 * called last. */
typedef struct nncc_step_profile {
  uint32_t size;
  uint32_t kernel; /* index in nncc_model_info.kernels */
  int64_t calls;
  int64_t total_ns;
  int64_t min_ns;
  int64_t last_start_ns; /* since the beginning of the last run */
  int64_t last_ns;
  int64_t tasks;
  int64_t flops;
  int64_t traffic_bytes;
} nncc_step_profile;

struct nncc_api {
  uint32_t size;    /* of this struct, in the library */
  uint32_t version; /* NNCC_ABI_VERSION of the library */
  const void *module;

  /* *model is set even when this fails (to NULL only without any memory): it then answers
   * model_error and has to be destroyed. options may be NULL. */
  nncc_status (*create_model)(const nncc_api *api, const nncc_model_options *options,
                              nncc_model **model);
  void (*destroy_model)(nncc_model *model); /* instances keep what they need */
  const char *(*model_error)(const nncc_model *model);
  const nncc_model_info *(*model_info)(
      const nncc_model *model); /* NULL for a model that failed to load */

  /* As create_model: *instance is set even when this fails. */
  nncc_status (*create_instance)(const nncc_model *model, const nncc_instance_options *options,
                                 nncc_instance **instance);
  void (*destroy_instance)(nncc_instance *instance);
  const char *(*instance_error)(const nncc_instance *instance); /* of the last call that failed */

  /* dims: one value per named dim, in the order of nncc_model_info.dims. */
  nncc_status (*plan)(nncc_instance *instance, const int64_t *dims, size_t dim_count,
                      nncc_plan_info *plan);

  /* Borrows the tensors for the time of the call, at whose end the outputs are written. Inputs and
   * outputs in the order of nncc_model_info; in CPU memory or, where the model runs on a CUDA
   * device, in that device's; compact row-major; no output may share memory with an input or another
   * output. options may be NULL. */
  nncc_status (*run)(nncc_instance *instance, const DLTensor *inputs, size_t input_count,
                     const DLTensor *outputs, size_t output_count, const nncc_run_options *options);

  /* As run, but allocates the outputs; each has to be given back by its deleter, which outlives
   * instance and model but not the library. On failure all are NULL. */
  nncc_status (*run_allocate)(nncc_instance *instance, const DLTensor *inputs, size_t input_count,
                              DLManagedTensorVersioned **outputs, size_t output_count,
                              const nncc_run_options *options);

  /* Switching on clears the profile. */
  nncc_status (*set_profiling)(nncc_instance *instance, int32_t on);
  nncc_status (*step_profile)(nncc_instance *instance, size_t step, nncc_step_profile *profile);

  /* As run, on a CUDA device; measures on the way, for the dims of these inputs, which kernels a
   * library (cuBLASLt, cuDNN) does faster, and adds what it found to the tuning file `path`. */
  nncc_status (*tune)(nncc_instance *instance, const DLTensor *inputs, size_t input_count,
                      const DLTensor *outputs, size_t output_count, const char *path);

  /* Training, on an instance that was created for it. Tensors as for run, in the order of
   * nncc_model_info's train_inputs and train_outputs. train_step computes loss and metrics of a
   * batch, with the parameters as they are before the step, and updates the parameters; evaluate
   * computes them as inference does and changes nothing. run on such an instance infers with the
   * parameters of the moment. A label out of range is an error that names its sample; nothing has
   * changed then. */
  nncc_status (*train_step)(nncc_instance *instance, const DLTensor *inputs, size_t input_count,
                            const DLTensor *outputs, size_t output_count,
                            const nncc_run_options *options);
  nncc_status (*evaluate)(nncc_instance *instance, const DLTensor *inputs, size_t input_count,
                          const DLTensor *outputs, size_t output_count,
                          const nncc_run_options *options);
  /* Copies a parameter or state by its name, to and from CPU memory. */
  nncc_status (*get_tensor)(nncc_instance *instance, const char *name, const DLTensor *to);
  nncc_status (*set_tensor)(nncc_instance *instance, const char *name, const DLTensor *from);
  /* All parameters and states as a safetensors file, which appears complete or not at all. Loading
   * changes nothing when a tensor is missing or does not fit. */
  nncc_status (*save_state)(nncc_instance *instance, const char *path);
  nncc_status (*load_state)(nncc_instance *instance, const char *path);

  /* Switched on, a run ends with an error at the first kernel that makes NaN or an infinity, and the
   * error names it: for finding out, since it is slow. What a train_step had updated by then stays. */
  nncc_status (*set_finite_check)(nncc_instance *instance, int32_t on);

  /* As tune, for train_step and evaluate and the dims of a batch, on an instance that was created
   * for training. The outputs are those of evaluate. Parameters and states stay as they are. */
  nncc_status (*tune_training)(nncc_instance *instance, const DLTensor *inputs, size_t input_count,
                               const DLTensor *outputs, size_t output_count, const char *path);
};

/* The exported function's type. Returns NULL for a version that the library does not know. */
typedef const nncc_api *nncc_model_get_api_fn(uint32_t abi_version);

#ifdef __cplusplus
}
#endif

#endif /* NNCC_NNCC_H */
