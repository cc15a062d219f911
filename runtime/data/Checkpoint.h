// Checkpoints of a training: safetensors files that other programs read too, with the state of the
// training as JSON and a checksum in their metadata. A save that is interrupted at any moment, by a
// kill, a power failure or a full disk, leaves the checkpoint from before.
#pragma once

#include "runtime/File.h"
#include "runtime/Safetensors.h"
#include "runtime/data/BatchLoader.h"

namespace nncc::data {

/// What a training needs besides its tensors to go on where it was.
struct TrainingState {
  std::string model;      ///< its name
  std::string identity;   ///< of its architecture, in any spelling; it must not change in between
  BatchPosition position; ///< of the next batch
  int64_t step = 0;       ///< updates done
  /// Of all random choices: these are counter-based, so that nothing else of the generator is kept.
  uint64_t seed = 0;
  std::optional<double> best;              ///< value of the metric that chooses the best checkpoint
  std::map<std::string, std::string> more; ///< the trainer's own
};

/// What checkpoints are called, given the name of the last: "lenet.safetensors",
/// "lenet.previous.safetensors", "lenet.best.safetensors".
struct CheckpointFiles {
  explicit CheckpointFiles(const std::string &path);

  std::string last, previous, best;
};

struct ExpectedTensor {
  std::string name;
  DType dtype = DType::F32;
  std::vector<int64_t> shape;
};

/// A checkpoint, mapped. Its tensors point into the file.
class Checkpoint {
public:
  /// A user error when the file is none, is truncated or fails its checksum.
  static Result<Checkpoint> open(const std::string &path);

  const std::string &path() const { return filePath; }
  const TrainingState &state() const { return trainingState; }
  const rt::Safetensors &tensors() const { return contents; }

  /// One user error that lists every difference: another model or architecture, and tensors that
  /// are missing, not expected, or of another shape or type.
  Result<void> check(const std::string &model, const std::string &identity,
                     std::span<const ExpectedTensor> expected) const;

private:
  Checkpoint() = default;

  std::string filePath;
  rt::MappedFile file;
  rt::Safetensors contents;
  TrainingState trainingState;
};

/// Opens the last checkpoint. Where that is damaged or missing, but the one before it is whole, the
/// error says so and names it.
Result<Checkpoint> openLastCheckpoint(const std::string &path);

/// Saves the last checkpoint, which becomes the previous one, and, if `isBest`, the best one. When
/// it returns without an error everything is on disk. An error says how many bytes were needed and
/// which checkpoint is still there.
Result<void> saveCheckpoint(const std::string &path, std::span<const rt::SafetensorsSource> tensors,
                            const TrainingState &state, bool isBest);

} // namespace nncc::data
