// From a data set to batches for a model: threads read, transform and assemble samples ahead into
// buffers of the caller's kind of memory. What a batch holds is a function of the options and of
// its position (epoch, index) alone: not of the number of threads, and not of where the loader
// started, so a training that stops at a position goes on from there bit for bit.
#pragma once

#include "runtime/Memory.h"
#include "runtime/Tensor.h"
#include "runtime/data/InputBinding.h"

#include <memory>
#include <optional>

namespace nncc::data {

struct BatchPosition {
  int64_t epoch = 0;
  int64_t batch = 0; ///< in the epoch

  bool operator==(const BatchPosition &) const = default;
};

struct BatchLoaderOptions {
  int64_t batchSize = 1;
  bool shuffle = true; ///< else in the order of the data set
  uint64_t seed = 0;   ///< of the order
  /// When the last samples of an epoch do not fill a batch: a smaller one, or none.
  bool keepLast = true;
  int threads = 2;       ///< 0: next() does the work
  int prefetch = 3;      ///< batches that are ready ahead, at most
  BatchPosition start;   ///< the first batch to be had
  int64_t endEpoch = -1; ///< the first epoch not to be had; -1: without end
  BindingOptions binding;
  rt::Allocator allocator; ///< of the batches' memory
};

class BatchLoaderState;
struct BatchBuffer;

/// A batch, lent: its memory is used for another one when this is destroyed. It may outlive the
/// loader.
class Batch {
public:
  Batch(Batch &&) noexcept;
  Batch &operator=(Batch &&) noexcept;
  ~Batch();

  BatchPosition position() const;
  bool isLastOfEpoch() const;
  /// Where training goes on after this batch.
  BatchPosition nextPosition() const;

  /// The first extent of all tensors: the batch size but for a smaller last batch.
  int64_t sampleCount() const;
  /// Their numbers in the data set.
  std::span<const int64_t> samples() const;
  /// In the order of the inputs.
  std::span<const rt::TensorView> tensors() const;

private:
  friend class BatchLoaderState;
  Batch(std::shared_ptr<BatchLoaderState> state, BatchBuffer *buffer);

  std::shared_ptr<BatchLoaderState> state;
  BatchBuffer *buffer = nullptr;
};

class BatchLoader {
public:
  /// `inputs` are the model's as bindInputs() takes them.
  static Result<std::unique_ptr<BatchLoader>> create(std::shared_ptr<const DataSource> source,
                                                     std::span<const Field> inputs,
                                                     const BatchLoaderOptions &options);

  /// Stops the threads; those that read a sample finish it first.
  ~BatchLoader();

  int64_t batchesPerEpoch() const;

  /// The next batch, waiting for it if need be; nothing at the end. For one thread at a time. An
  /// error of a thread comes out here, in place of the batch that it concerns and of all later
  /// ones, and names the sample.
  Result<std::optional<Batch>> next();

private:
  BatchLoader(std::shared_ptr<BatchLoaderState> state);
  std::shared_ptr<BatchLoaderState> state;
};

} // namespace nncc::data
