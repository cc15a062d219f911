// --report for models that train: the memory of a training step over time.
#pragma once

#include "driver/Stages.h"

namespace nncc::driver {

/// Arena bytes, the bytes alive at each stretch of the step, the largest of them at the peak with the lines of the model they come
/// from, and what is computed again to save memory. At the batch of the train section.
Result<std::string> reportTrainStep(const rt::Program &program, const StepNotes &notes);

} // namespace nncc::driver
