/* Compiling a model in memory: the C interface of libnncc_jit.so, which brings the whole compiler
 * (and needs LLVM's libraries). What comes out is the nncc_api that a model.so would give.
 *
 *   nncc_jit_options options = {sizeof options};
 *   options.path = "lenet.nn";
 *   options.weights = "lenet.safetensors";
 *   nncc_jit_program *program;
 *   if (nncc_jit_compile(&options, &program) != NNCC_OK) puts(nncc_jit_error(program));
 *   const nncc_api *api = nncc_jit_api(program);
 */
#ifndef NNCC_JIT_H
#define NNCC_JIT_H

#include "nncc/nncc.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct nncc_jit_program nncc_jit_program;

typedef struct nncc_jit_options {
  uint32_t size;
  int32_t opt_level;   /* 0: the default, 3; 1..3 as -O1..-O3; -1: -O0 */
  const char *path;    /* the model's file; in messages, and where its imports are looked for */
  const char *text;    /* the model's text, or NULL: read from path */
  const char *weights; /* a safetensors file, or NULL: parameters start as the model says */
  const char *cpu;     /* a CPU level, or NULL: this machine */
  uint64_t seed;       /* of initialised parameters */
  const char *target;  /* "cpu", "cuda" or "cpu,cuda"; NULL: "cpu" */
  int32_t training;    /* if not 0: compile the train section too, as nncc --train does */
  int64_t memory_budget; /* bytes for intermediates of a training step, as nncc --memory-budget; 0: any */
  int64_t batch;         /* the batch for which that is planned; 0: the train section's */
  int32_t tiles;       /* CUDA: how many tiles of each matrix product and convolution there are for
                        * tune() to choose from; 0: 1; -1: those that are worth the time */
  const char *train_statements; /* what nncc --train=TEXT takes: a train section, or what changes in the
                                 * model's; or NULL. Its messages name it --train. Implies training */
} nncc_jit_options;

/* *program is set even when this fails (to NULL only without any memory): it then answers
 * nncc_jit_error and has to be destroyed. */
typedef nncc_status nncc_jit_compile_fn(const nncc_jit_options *options,
                                        nncc_jit_program **program);
/* Diagnostics with file, line, column and the text they point at. */
typedef const char *nncc_jit_error_fn(const nncc_jit_program *program);
/* Valid as long as the program; models and instances made through it have to be destroyed first. */
typedef const nncc_api *nncc_jit_api_fn(const nncc_jit_program *program);
typedef void nncc_jit_destroy_fn(nncc_jit_program *program);

#if defined(__GNUC__)
#define NNCC_JIT_PUBLIC __attribute__((visibility("default")))
#else
#define NNCC_JIT_PUBLIC
#endif

NNCC_JIT_PUBLIC nncc_jit_compile_fn nncc_jit_compile;
NNCC_JIT_PUBLIC nncc_jit_error_fn nncc_jit_error;
NNCC_JIT_PUBLIC nncc_jit_api_fn nncc_jit_api;
NNCC_JIT_PUBLIC nncc_jit_destroy_fn nncc_jit_destroy;

#ifdef __cplusplus
}
#endif

#endif /* NNCC_JIT_H */
