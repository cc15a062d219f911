// Tunes a model and keeps what came out: the last step from measurements to a tuning file.
#pragma once

#include "runtime/cuda/CudaProgram.h"
#include "runtime/cuda/StepLibraries.h"

namespace nncc::rt::cuda {

/// Runs the plan as Tuner does and adds the choices to the file at `path`, which may hold those of
/// other devices, models and dims. What it has of this device with other versions of the libraries
/// goes.
Result<void> tuneModel(const CudaProgram &program, const BoundEntry &bound, const LaunchPlan &plan,
                       const LaunchTarget &target, StepLibraries &libraries,
                       const std::string &path);

} // namespace nncc::rt::cuda
