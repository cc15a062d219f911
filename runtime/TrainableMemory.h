// How the memory of an instance that trains lies, for any device: which buffers of the Program it has for itself, and the names under
// which a caller reads and writes parameters and states. Takes a verified Program.
#pragma once

#include "runtime/Program.h"

namespace nncc::rt {

/// A tensor that a caller knows by name: a parameter, a state, or a parameter's part of a state.
struct NamedTensor {
  std::string name; ///< "fc1.weight", "train.step", "train.momentum_buffer.fc1.weight"
  DType dtype = DType::F32;
  std::vector<int64_t> shape;
  uint32_t buffer = 0; ///< that holds it while the model is trained
  int64_t offsetBytes = 0;
  int64_t sizeBytes = 0;
  bool isParameter = false;
  uint32_t parameter = 0; ///< of one: its own buffer, which entry points but "train_step" name
};

class TrainableMemory {
public:
  explicit TrainableMemory(const Program &program);

  /// Parameters in the order of the program, then states.
  const std::vector<NamedTensor> &tensors() const { return named; }
  const NamedTensor *find(std::string_view name) const;

  /// States, parameters that lie in no state, and constants: they need memory of their own.
  const std::vector<uint32_t> &owned() const { return ownedBuffers; }

private:
  std::vector<NamedTensor> named;
  std::vector<uint32_t> ownedBuffers;
};

/// The contents of a state before the first run.
std::vector<std::byte> initialContents(const Buffer &state);

} // namespace nncc::rt
