// The weights of a compiled model, in the form in which its kernels read them: the model's own
// "prepare" runs once, here, in this process. And the model in this process itself, for the JIT.
#pragma once

#include "codegen/jit/JitModel.h"
#include "driver/Stages.h"

namespace nncc::driver {

/// Runs the model's "prepare" on this machine and returns what its "infer" reads, as a safetensors
/// image that is used where it lies. `parameters` is an image of the parameters, named `origin` in
/// messages. All weights that are missing or do not fit are listed in one user error.
Result<std::string> prepareWeights(const VariantCode &code, std::string_view parameters,
                                   const std::string &origin);

/// Whether this machine can run the code, and so prepare its weights.
bool runsHere(const VariantCode &code);

/// The model in this process: its code for this CPU, for CUDA devices, or both.
Result<std::unique_ptr<codegen::JitModel>>
loadInProcess(const VariantCode *code, const CudaCode *cuda, std::string_view weights);

/// What a descriptor says about a variant.
codegen::DescriptorVariant describeVariant(const VariantCode &code);
codegen::DescriptorCuda describeCuda(const CudaCode &code);

} // namespace nncc::driver
