// The last stage on the way to a file: the shared object, and its weights beside it.
#pragma once

#include "driver/CompileModel.h"
#include "support/Error.h"

#include <string>

namespace nncc::driver {

enum class WeightsMode { Auto, Embed, External };

/// With WeightsMode::Auto, weights above this size lie beside the shared object.
inline constexpr size_t kMaxEmbeddedBytes = size_t(64) << 20;

struct ModelFiles {
  std::string output; ///< of the shared object
  std::string self;   ///< path of the running program, beside which the runtime lies
  WeightsMode weightsMode = WeightsMode::Auto;
};

/// Writes the shared object and, beside it, the weights when they stay outside ("lenet.weights" for
/// "lenet.so"). Nothing is left behind on failure.
Result<void> writeSharedObject(const CompiledModel &model, const ModelFiles &files);

/// Path of the weights of a shared object that stay outside.
std::string weightsPathFor(const std::string &output);

} // namespace nncc::driver
