// Batches assembled ahead by threads; see BatchLoader.h. All buffers are in one of four places:
// free, being filled, ready (both in `queue`, in the order of their positions) or lent. Threads
// take chunks of samples of the first buffer in the queue that has any left, so that the batch that
// is needed next gets all threads.
#include "runtime/data/BatchLoader.h"
#include "runtime/data/Order.h"
#include "support/CheckedSize.h"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>

using namespace nncc;
using namespace nncc::data;

namespace nncc::data {

struct BatchBuffer {
  std::vector<rt::MemoryBlock> blocks;      ///< one per input
  std::vector<std::vector<int64_t>> shapes; ///< of the tensors
  std::vector<rt::TensorView> tensors;
  std::vector<int64_t> samples;
  BatchPosition position;
  bool isLastOfEpoch = false;

  // Work that is left, under the state's mutex.
  size_t unclaimed = 0; ///< the first sample that no thread has taken
  int chunksInWork = 0;
  std::optional<Error> error; ///< of the sample that comes first among those that failed
  size_t errorAt = 0;

  bool isReady() const { return unclaimed == samples.size() && chunksInWork == 0; }
};

class BatchLoaderState : public std::enable_shared_from_this<BatchLoaderState> {
public:
  BatchLoaderState(std::shared_ptr<const DataSource> source, std::vector<InputBinding> bindings,
                   std::span<const Field> inputs, const BatchLoaderOptions &options)
      : source(std::move(source)), bindings(std::move(bindings)), options(options),
        position(options.start) {
    for (const Field &input : inputs)
      dtypes.push_back(input.dtype);
    int64_t count = this->source->sampleCount(), size = options.batchSize;
    batches = options.keepLast ? (count + size - 1) / size : count / size;
    constexpr int64_t kMaxChunk = 32;
    chunkSize = static_cast<size_t>(
        std::clamp<int64_t>(size / (4 * std::max(options.threads, 1)), 1, kMaxChunk));
  }

  Result<void> start() {
    for (int i = 0; i < std::max(options.prefetch, 1) + 1; ++i)
      if (Result<void> added = addBuffer(); !added)
        return added;
    try {
      for (int i = 0; i < options.threads; ++i)
        threads.emplace_back([this] { work(); });
    } catch (const std::system_error &error) {
      stop();
      return environmentError(fmt::format("cannot start {} threads for reading data: {}",
                                          options.threads, error.what()));
    }
    return {};
  }

  void stop() {
    {
      std::lock_guard lock(mutex);
      isStopping = true;
    }
    workChanged.notify_all();
    for (std::thread &thread : threads)
      thread.join();
    threads.clear();
  }

  Result<std::optional<Batch>> next() {
    std::unique_lock lock(mutex);
    if (failure)
      return *failure;
    if (queue.empty()) {
      if (orderFailure)
        return *orderFailure;
      if (isAtEnd())
        return std::optional<Batch>();
      if (free.empty()) // the caller holds all of them
        if (Result<void> added = addBuffer(); !added)
          return added.error();
      if (!beginBatch())
        return *orderFailure;
    }
    if (threads.empty())
      while (workOnce(lock, scratch)) {
      }
    batchReady.wait(lock, [&] { return queue.front()->isReady(); });
    BatchBuffer *buffer = queue.front();
    queue.pop_front();
    workChanged.notify_one();
    if (buffer->error) {
      failure = std::move(buffer->error);
      free.push_back(buffer);
      return *failure;
    }
    return std::optional(Batch(shared_from_this(), buffer));
  }

  void giveBack(BatchBuffer *buffer) {
    {
      std::lock_guard lock(mutex);
      free.push_back(buffer);
    }
    workChanged.notify_one();
  }

  int64_t batchesPerEpoch() const { return batches; }

private:
  bool isAtEnd() const { return options.endEpoch >= 0 && position.epoch >= options.endEpoch; }

  Result<void> addBuffer() {
    auto buffer = std::make_unique<BatchBuffer>();
    for (size_t i = 0; i < bindings.size(); ++i) {
      CheckedSize sizeBytes = CheckedSize(nncc::sizeBytesOf(dtypes[i])) * options.batchSize;
      std::vector<int64_t> shape = {options.batchSize};
      for (int64_t extent : bindings[i].shape) {
        sizeBytes *= extent;
        shape.push_back(extent);
      }
      if (!sizeBytes.valid())
        return userError(fmt::format("a batch of {} samples of {} would not fit in 63 bits; make "
                                     "it smaller",
                                     options.batchSize, rt::describeType("", bindings[i].shape)));
      Result<rt::MemoryBlock> block =
          rt::MemoryBlock::allocate(static_cast<size_t>(sizeBytes.getOr(0)), options.allocator);
      if (!block)
        return Error{block.error().kind,
                     block.error().message + fmt::format(" for a batch of {} samples; make the "
                                                         "batch or the prefetching smaller",
                                                         options.batchSize)};
      buffer->blocks.push_back(std::move(*block));
      buffer->shapes.push_back(std::move(shape));
    }
    free.push_back(buffer.get());
    buffers.push_back(std::move(buffer));
    return {};
  }

  /// Puts a free buffer into the queue for the next position; false without memory for the order of
  /// its epoch. That is made here, under the mutex: nobody can go on without it.
  bool beginBatch() {
    try {
      beginBatchThrowing();
    } catch (const std::bad_alloc &) {
      orderFailure = environmentError(
          fmt::format("out of memory for the order of {} samples", source->sampleCount()));
      return false;
    }
    workChanged.notify_all();
    return true;
  }

  void beginBatchThrowing() {
    int64_t count = source->sampleCount();
    if (options.shuffle && orderEpoch != position.epoch) {
      order = shuffledOrder(count, options.seed, position.epoch);
      orderEpoch = position.epoch;
    }
    BatchBuffer *buffer = free.back();
    int64_t first = position.batch * options.batchSize;
    int64_t size = std::min(options.batchSize, count - first);
    buffer->samples.resize(static_cast<size_t>(size));
    for (int64_t i = 0; i < size; ++i)
      buffer->samples[static_cast<size_t>(i)] =
          options.shuffle ? order[static_cast<size_t>(first + i)] : first + i;
    buffer->tensors.clear();
    for (size_t i = 0; i < bindings.size(); ++i) {
      buffer->shapes[i][0] = size;
      buffer->tensors.push_back({dtypes[i], buffer->shapes[i], buffer->blocks[i].bytes(), {}});
    }
    buffer->position = position;
    buffer->isLastOfEpoch = position.batch + 1 == batches;
    buffer->unclaimed = 0;
    buffer->chunksInWork = 0;
    buffer->error.reset();
    free.pop_back();
    queue.push_back(buffer);
    position = buffer->isLastOfEpoch ? BatchPosition{position.epoch + 1, 0}
                                     : BatchPosition{position.epoch, position.batch + 1};
  }

  BatchBuffer *bufferWithWork() {
    for (BatchBuffer *buffer : queue)
      if (buffer->unclaimed < buffer->samples.size())
        return buffer;
    return nullptr;
  }

  bool canBegin() const {
    return !free.empty() && !isAtEnd() && !hasFailed && !orderFailure &&
           queue.size() < static_cast<size_t>(std::max(options.prefetch, 1));
  }

  void work() {
    std::vector<std::vector<std::byte>> ownScratch;
    std::unique_lock lock(mutex);
    for (;;) {
      workChanged.wait(lock, [&] { return isStopping || bufferWithWork() || canBegin(); });
      if (isStopping)
        return;
      if (!workOnce(lock, ownScratch))
        beginBatch();
    }
  }

  /// Reads a chunk of samples if there is one; the lock is released meanwhile.
  bool workOnce(std::unique_lock<std::mutex> &lock, std::vector<std::vector<std::byte>> &scratch) {
    BatchBuffer *buffer = bufferWithWork();
    if (!buffer)
      return false;
    size_t begin = buffer->unclaimed, end = std::min(begin + chunkSize, buffer->samples.size());
    buffer->unclaimed = end;
    ++buffer->chunksInWork;
    lock.unlock();
    size_t at = begin;
    Result<void> done;
    try {
      while (at < end && (done = assemble(*buffer, at, scratch)))
        ++at;
    } catch (const std::bad_alloc &) {
      done = environmentError("out of memory");
    } catch (const std::exception &error) {
      done = internalError(error.what());
    }
    lock.lock();
    --buffer->chunksInWork;
    if (!done && (!buffer->error || at < buffer->errorAt)) {
      buffer->error = done.error();
      buffer->errorAt = at;
    }
    if (!done) {
      buffer->unclaimed = buffer->samples.size(); // nobody will see this batch
      hasFailed = true;
    }
    if (buffer->isReady() && buffer == queue.front())
      batchReady.notify_one();
    return true;
  }

  Result<void> assemble(const BatchBuffer &buffer, size_t at,
                        std::vector<std::vector<std::byte>> &scratch) const {
    int64_t sample = buffer.samples[at];
    scratch.resize(bindings.size());
    std::vector<std::span<std::byte>> values(source->fields().size());
    std::vector<std::byte *> targets(bindings.size());
    for (size_t i = 0; i < bindings.size(); ++i) {
      const Field &field = source->fields()[bindings[i].field];
      size_t fieldBytes = static_cast<size_t>(sizeBytesOf(field));
      int64_t resultBytes = nncc::sizeBytesOf(dtypes[i]);
      for (int64_t extent : bindings[i].shape)
        resultBytes *= extent;
      targets[i] = buffer.blocks[i].bytes() + static_cast<int64_t>(at) * resultBytes;
      // A field that serves two inputs is read once.
      std::span<std::byte> &value = values[bindings[i].field];
      if (!value.empty())
        continue;
      if (!bindings[i].transform.isIdentity())
        scratch[i].resize(fieldBytes);
      value = bindings[i].transform.isIdentity() ? std::span(targets[i], fieldBytes)
                                                 : std::span(scratch[i]);
    }
    if (Result<void> read = source->read(sample, values); !read)
      return Error{read.error().kind, fmt::format("sample {}: {}", sample, read.error().message)};
    for (size_t i = 0; i < bindings.size(); ++i) {
      const std::byte *from = values[bindings[i].field].data();
      if (from == targets[i])
        continue;
      Result<void> applied =
          bindings[i].transform.apply(sample, buffer.position.epoch, from, targets[i]);
      if (!applied)
        return userError(fmt::format("{}: {}", source->locate(sample, bindings[i].field),
                                     applied.error().message));
    }
    return {};
  }

  std::shared_ptr<const DataSource> source;
  std::vector<InputBinding> bindings;
  std::vector<DType> dtypes; ///< of the inputs
  BatchLoaderOptions options;
  int64_t batches = 0;
  size_t chunkSize = 1;

  std::mutex mutex;
  std::condition_variable workChanged; ///< for the threads
  std::condition_variable batchReady;  ///< for next()
  bool isStopping = false;
  bool hasFailed = false;            ///< a batch in the queue is an error: none is begun after it
  std::optional<Error> failure;      ///< what next() returned, and returns again
  std::optional<Error> orderFailure; ///< no batch can be begun after those in the queue
  std::vector<std::unique_ptr<BatchBuffer>> buffers;
  std::vector<BatchBuffer *> free;
  std::deque<BatchBuffer *> queue;
  BatchPosition position; ///< of the next batch to be begun
  std::vector<int64_t> order;
  int64_t orderEpoch = -1;
  std::vector<std::vector<std::byte>> scratch; ///< of next()
  std::vector<std::thread> threads;
};

} // namespace nncc::data

Batch::Batch(std::shared_ptr<BatchLoaderState> state, BatchBuffer *buffer)
    : state(std::move(state)), buffer(buffer) {}

Batch::Batch(Batch &&other) noexcept
    : state(std::move(other.state)), buffer(std::exchange(other.buffer, nullptr)) {}

Batch &Batch::operator=(Batch &&other) noexcept {
  std::swap(state, other.state);
  std::swap(buffer, other.buffer);
  return *this;
}

Batch::~Batch() {
  if (buffer)
    state->giveBack(buffer);
}

BatchPosition Batch::position() const { return buffer->position; }
bool Batch::isLastOfEpoch() const { return buffer->isLastOfEpoch; }
BatchPosition Batch::nextPosition() const {
  return buffer->isLastOfEpoch ? BatchPosition{buffer->position.epoch + 1, 0}
                               : BatchPosition{buffer->position.epoch, buffer->position.batch + 1};
}
int64_t Batch::sampleCount() const { return static_cast<int64_t>(buffer->samples.size()); }
std::span<const int64_t> Batch::samples() const { return buffer->samples; }
std::span<const rt::TensorView> Batch::tensors() const { return buffer->tensors; }

Result<std::unique_ptr<BatchLoader>> BatchLoader::create(std::shared_ptr<const DataSource> source,
                                                         std::span<const Field> inputs,
                                                         const BatchLoaderOptions &options) {
  if (options.batchSize < 1)
    return userError(
        fmt::format("expected a batch of at least 1 sample, found {}", options.batchSize));
  Result<std::vector<InputBinding>> bindings = bindInputs(*source, inputs, options.binding);
  if (!bindings)
    return bindings.error();
  std::string origin = source->origin();
  int64_t count = source->sampleCount();
  auto state =
      std::make_shared<BatchLoaderState>(std::move(source), std::move(*bindings), inputs, options);
  if (state->batchesPerEpoch() == 0)
    return userError(fmt::format("{} has {} samples, less than a batch of {}, and smaller batches "
                                 "are dropped; make the batch smaller",
                                 origin, count, options.batchSize));
  if (options.start.epoch < 0 || options.start.batch < 0 ||
      options.start.batch >= state->batchesPerEpoch())
    return userError(fmt::format("cannot go on at batch {} of epoch {}: an epoch has {} batches of "
                                 "{}; take the data and the batch size from before",
                                 options.start.batch, options.start.epoch, state->batchesPerEpoch(),
                                 options.batchSize));
  if (Result<void> started = state->start(); !started)
    return started.error();
  return std::unique_ptr<BatchLoader>(new BatchLoader(std::move(state)));
}

BatchLoader::BatchLoader(std::shared_ptr<BatchLoaderState> state) : state(std::move(state)) {}
BatchLoader::~BatchLoader() { state->stop(); }
int64_t BatchLoader::batchesPerEpoch() const { return state->batchesPerEpoch(); }
Result<std::optional<Batch>> BatchLoader::next() { return state->next(); }
