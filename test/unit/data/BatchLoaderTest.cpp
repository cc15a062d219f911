// Batches: what they hold against the data set read directly, the same for any number of threads
// and from any position, errors that come out with their sample, mismatches that are explained, and
// stopping at any time.
#include "runtime/data/BatchLoader.h"
#include "SourceTesting.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <numeric>
#include <set>
#include <thread>

using namespace nncc;
using namespace nncc::data;

namespace {

/// Samples whose contents follow from their number.
class CountingSource : public DataSource {
public:
  CountingSource(int64_t count, std::set<int64_t> damaged = {},
                 std::vector<int64_t> shape = {1, 4, 4})
      : DataSource("counting data", count,
                   {{"image", DType::U8, std::move(shape)}, {"label", DType::I64, {}}}),
        damaged(std::move(damaged)) {}

  Result<void> read(int64_t sample, std::span<const std::span<std::byte>> values) const override {
    ++reads;
    if (sample == slowSample)
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    if (damaged.contains(sample))
      return userError("file " + std::to_string(sample) + ".png is truncated");
    for (size_t i = 0; i < values[0].size(); ++i)
      values[0][i] = static_cast<std::byte>(sample * 3 + static_cast<int64_t>(i));
    int64_t label = sample % 300;
    if (!values[1].empty())
      std::memcpy(values[1].data(), &label, sizeof label);
    return {};
  }
  std::string locate(int64_t sample, size_t field) const override {
    return "sample " + std::to_string(sample) + " in 'counting'";
  }

  int64_t slowSample = -1;
  mutable std::atomic<int> reads = 0;

private:
  std::set<int64_t> damaged;
};

const std::vector<Field> kInputs = {{"image", DType::F32, {1, 4, 4}}, {"label", DType::I64, {}}};

/// Everything about a batch, to be compared.
struct Copy {
  BatchPosition position;
  bool isLast;
  std::vector<int64_t> samples;
  std::vector<std::vector<std::byte>> tensors;
  std::vector<std::vector<int64_t>> shapes;

  bool operator==(const Copy &) const = default;
};

Copy copyOf(const Batch &batch) {
  Copy copy{batch.position(),
            batch.isLastOfEpoch(),
            {batch.samples().begin(), batch.samples().end()},
            {},
            {}};
  for (const rt::TensorView &tensor : batch.tensors()) {
    int64_t sizeBytes = nncc::sizeBytesOf(tensor.dtype);
    for (int64_t extent : tensor.shape)
      sizeBytes *= extent;
    auto *bytes = static_cast<const std::byte *>(tensor.data);
    copy.tensors.emplace_back(bytes, bytes + sizeBytes);
    copy.shapes.emplace_back(tensor.shape.begin(), tensor.shape.end());
  }
  return copy;
}

std::unique_ptr<BatchLoader> open(std::shared_ptr<const DataSource> source,
                                  const BatchLoaderOptions &options,
                                  const std::vector<Field> &inputs = kInputs) {
  auto loader = BatchLoader::create(std::move(source), inputs, options);
  EXPECT_TRUE(loader) << loader.error().message;
  return loader ? std::move(*loader) : nullptr;
}

/// Up to `count` batches.
std::vector<Copy> take(BatchLoader &loader, int64_t count) {
  std::vector<Copy> batches;
  for (int64_t i = 0; i < count; ++i) {
    Result<std::optional<Batch>> batch = loader.next();
    EXPECT_TRUE(batch) << batch.error().message;
    if (!batch || !*batch)
      break;
    batches.push_back(copyOf(**batch));
  }
  return batches;
}

BatchLoaderOptions randomOptions() {
  BatchLoaderOptions options;
  options.batchSize = 7;
  options.seed = 3;
  options.binding.transforms.augment = *parseAugmentation("crop=4+1,flip,shift=1");
  options.binding.transforms.normalization = *parseNormalization("mean=0.5,std=0.25");
  options.binding.transforms.seed = 3;
  return options;
}

std::string errorOf(std::shared_ptr<const DataSource> source, const std::vector<Field> &inputs,
                    const BatchLoaderOptions &options = {}) {
  auto loader = BatchLoader::create(std::move(source), inputs, options);
  return loader ? "no error" : loader.error().message;
}

} // namespace

TEST(BatchLoader, HoldsTheSamplesInTheOrderOfTheData) {
  auto source = std::make_shared<CountingSource>(10);
  BatchLoaderOptions options;
  options.batchSize = 4;
  options.shuffle = false;
  options.endEpoch = 2;
  std::unique_ptr<BatchLoader> loader = open(source, options);
  EXPECT_EQ(loader->batchesPerEpoch(), 3);
  std::vector<Copy> batches = take(*loader, 100);
  ASSERT_EQ(batches.size(), 6u);
  for (size_t b = 0; b < 6; ++b) {
    const Copy &batch = batches[b];
    EXPECT_EQ(batch.position, (BatchPosition{int64_t(b / 3), int64_t(b % 3)}));
    EXPECT_EQ(batch.isLast, b % 3 == 2);
    size_t size = b % 3 == 2 ? 2 : 4;
    EXPECT_EQ(batch.shapes[0], (std::vector<int64_t>{int64_t(size), 1, 4, 4}));
    EXPECT_EQ(batch.shapes[1], (std::vector<int64_t>{int64_t(size)}));
    auto *floats = reinterpret_cast<const float *>(batch.tensors[0].data());
    auto *labels = reinterpret_cast<const int64_t *>(batch.tensors[1].data());
    for (size_t i = 0; i < size; ++i) {
      size_t sample = b % 3 * 4 + i;
      EXPECT_EQ(labels[i], int64_t(sample));
      for (size_t p = 0; p < 16; ++p)
        EXPECT_EQ(floats[i * 16 + p], static_cast<float>(sample * 3 + p) / 255);
    }
  }
  EXPECT_TRUE(take(*loader, 1).empty());
}

TEST(BatchLoader, AnEpochTakesEverySampleOnce) {
  auto source = std::make_shared<CountingSource>(100);
  BatchLoaderOptions options = randomOptions();
  for (bool keepLast : {true, false}) {
    options.keepLast = keepLast;
    options.endEpoch = 2;
    std::unique_ptr<BatchLoader> loader = open(source, options);
    EXPECT_EQ(loader->batchesPerEpoch(), keepLast ? 15 : 14);
    std::vector<Copy> batches = take(*loader, 100);
    ASSERT_EQ(batches.size(), keepLast ? 30u : 28u);
    std::vector<int64_t> seen[2];
    for (const Copy &batch : batches)
      seen[batch.position.epoch].insert(seen[batch.position.epoch].end(), batch.samples.begin(),
                                        batch.samples.end());
    EXPECT_NE(seen[0], seen[1]);
    for (std::vector<int64_t> &samples : seen) {
      EXPECT_EQ(samples.size(), keepLast ? 100u : 98u);
      EXPECT_EQ(std::set(samples.begin(), samples.end()).size(), samples.size());
    }
  }
}

TEST(BatchLoader, ThreadsAndPrefetchingChangeNothing) {
  auto source = std::make_shared<CountingSource>(100);
  source->slowSample = 42;
  BatchLoaderOptions options = randomOptions();
  options.endEpoch = 3;
  options.threads = 0;
  std::vector<Copy> expected = take(*open(source, options), 100);
  ASSERT_EQ(expected.size(), 45u);
  for (int threads : {1, 2, 8})
    for (int prefetch : {1, 5}) {
      options.threads = threads;
      options.prefetch = prefetch;
      EXPECT_EQ(take(*open(source, options), 100), expected) << threads << " " << prefetch;
    }
}

TEST(BatchLoader, GoesOnFromEveryPosition) {
  auto source = std::make_shared<CountingSource>(30);
  BatchLoaderOptions options = randomOptions();
  options.endEpoch = 2;
  std::vector<Copy> expected = take(*open(source, options), 100);
  ASSERT_EQ(expected.size(), 10u);
  for (size_t i = 0; i < expected.size(); ++i) {
    options.start = expected[i].position;
    EXPECT_EQ(take(*open(source, options), 100),
              std::vector<Copy>(expected.begin() + static_cast<std::ptrdiff_t>(i), expected.end()));
  }
  options.start = {0, 0};
  std::unique_ptr<BatchLoader> loader = open(source, options);
  for (size_t i = 0; i + 1 < expected.size(); ++i) {
    auto batch = loader->next();
    ASSERT_TRUE(batch && *batch);
    EXPECT_EQ((*batch)->nextPosition(), expected[i + 1].position);
  }
}

TEST(BatchLoader, TheAugmentationOfASampleIsTheSameInAnyBatch) {
  auto source = std::make_shared<CountingSource>(30);
  BatchLoaderOptions options = randomOptions();
  options.endEpoch = 1;
  auto bySample = [&](int64_t batchSize) {
    options.batchSize = batchSize;
    std::map<int64_t, std::vector<std::byte>> images;
    for (const Copy &batch : take(*open(source, options), 100))
      for (size_t i = 0; i < batch.samples.size(); ++i)
        images[batch.samples[i]] = {batch.tensors[0].begin() + std::ptrdiff_t(i * 64),
                                    batch.tensors[0].begin() + std::ptrdiff_t(i * 64 + 64)};
    return images;
  };
  EXPECT_EQ(bySample(1), bySample(30));
  EXPECT_EQ(bySample(4).size(), 30u);
}

TEST(BatchLoader, AnErrorComesInPlaceOfItsBatch) {
  auto source = std::make_shared<CountingSource>(40, std::set<int64_t>{17, 18, 33});
  for (int threads : {0, 1, 4}) {
    BatchLoaderOptions options;
    options.batchSize = 8;
    options.shuffle = false;
    options.threads = threads;
    std::unique_ptr<BatchLoader> loader = open(source, options);
    EXPECT_EQ(take(*loader, 2).size(), 2u);
    for (int again : {1, 2}) {
      Result<std::optional<Batch>> batch = loader->next();
      ASSERT_FALSE(batch) << again;
      EXPECT_EQ(batch.error().kind, ErrorKind::User);
      EXPECT_EQ(batch.error().message, "sample 17: file 17.png is truncated");
    }
  }
}

TEST(BatchLoader, NamesTheSampleWhoseValueDoesNotFit) {
  auto source = std::make_shared<CountingSource>(300);
  BatchLoaderOptions options;
  options.batchSize = 300;
  options.shuffle = false;
  std::unique_ptr<BatchLoader> loader =
      open(source, options, {{"label", DType::U8, {}}, {"image", DType::U8, {16}}});
  Result<std::optional<Batch>> batch = loader->next();
  ASSERT_FALSE(batch);
  EXPECT_EQ(batch.error().message,
            "sample 256 in 'counting': 256 of field 'label' does not fit in u8");
}

TEST(BatchLoader, StopsAtAnyTime) {
  auto source = std::make_shared<CountingSource>(1000);
  for (int batches = 0; batches < 6; ++batches)
    for (int delayUs : {0, 50, 500}) {
      BatchLoaderOptions options;
      options.batchSize = 16;
      options.threads = 3;
      std::unique_ptr<BatchLoader> loader = open(source, options);
      EXPECT_EQ(take(*loader, batches).size(), size_t(batches));
      std::this_thread::sleep_for(std::chrono::microseconds(delayUs));
    }
}

TEST(BatchLoader, BatchesOutliveTheLoader) {
  BatchLoaderOptions options;
  options.batchSize = 2;
  options.shuffle = false;
  options.prefetch = 1;
  std::vector<Batch> held;
  {
    std::unique_ptr<BatchLoader> loader = open(std::make_shared<CountingSource>(20), options);
    for (int i = 0; i < 10; ++i) { // more than there are buffers at the start
      auto batch = loader->next();
      ASSERT_TRUE(batch && *batch);
      held.push_back(std::move(**batch));
    }
  }
  for (int64_t i = 0; i < 10; ++i)
    EXPECT_EQ(static_cast<const int64_t *>(held[size_t(i)].tensors()[1].data)[1], 2 * i + 1);
}

TEST(BatchLoader, PrefetchesNoMoreThanAsked) {
  auto source = std::make_shared<CountingSource>(1000);
  BatchLoaderOptions options;
  options.batchSize = 10;
  options.prefetch = 2;
  std::unique_ptr<BatchLoader> loader = open(source, options);
  for (int i = 0; i < 200 && source->reads < 20; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(source->reads, 20);
}

TEST(BatchLoader, TakesMemoryFromTheCaller) {
  struct Counter {
    int64_t blocks = 0, bytes = 0;
  } counter;
  BatchLoaderOptions options;
  options.batchSize = 4;
  options.prefetch = 2;
  options.allocator = {[](void *context, size_t sizeBytes, size_t alignmentBytes) {
                         ++static_cast<Counter *>(context)->blocks;
                         static_cast<Counter *>(context)->bytes += int64_t(sizeBytes);
                         return std::aligned_alloc(alignmentBytes, sizeBytes);
                       },
                       [](void *context, void *block, size_t sizeBytes) {
                         --static_cast<Counter *>(context)->blocks;
                         std::free(block);
                       },
                       &counter};
  {
    std::unique_ptr<BatchLoader> loader = open(std::make_shared<CountingSource>(20), options);
    EXPECT_EQ(counter.blocks, 3 * 2);
    EXPECT_EQ(counter.bytes, 3 * (4 * 16 * 4 + 64)); // whole cache lines
    take(*loader, 10);
  }
  EXPECT_EQ(counter.blocks, 0);
  options.allocator.allocate = [](void *, size_t, size_t) -> void * { return nullptr; };
  EXPECT_CONTAINS(errorOf(std::make_shared<CountingSource>(20), kInputs, options),
                  "for a batch of 4 samples; make the batch or the prefetching smaller");
}

TEST(BatchLoader, InputsFindTheirFields) {
  auto source = std::make_shared<CountingSource>(20);
  BatchLoaderOptions options;
  options.batchSize = 20;
  options.shuffle = false;
  auto shapesOf = [&](const std::vector<Field> &inputs) {
    std::vector<Copy> batches = take(*open(source, options, inputs), 1);
    return batches.at(0).shapes;
  };
  using Shapes = std::vector<std::vector<int64_t>>;
  EXPECT_EQ(shapesOf({{"target", DType::I32, {}}, {"x", DType::F32, {16}}}),
            (Shapes{{20}, {20, 16}}));
  EXPECT_EQ(shapesOf({{"image", DType::F16, {4, 4}}}), (Shapes{{20, 4, 4}}));
  EXPECT_EQ(shapesOf({{"image", DType::F32, {-1, 4, -1}}}), (Shapes{{20, 1, 4, 4}}));
  EXPECT_EQ(shapesOf({{"image", DType::F32, {1, 1, 4, 1, 4}}}), (Shapes{{20, 1, 1, 4, 1, 4}}));
  EXPECT_EQ(shapesOf({{"image", DType::U8, {-1}}}), (Shapes{{20, 16}}));
  options.binding.fieldOf = {{"a", "label"}, {"b", "label"}};
  std::vector<Copy> twice =
      take(*open(source, options, {{"a", DType::I64, {1}}, {"b", DType::I64, {}}}), 1);
  EXPECT_EQ(twice.at(0).tensors[0], twice.at(0).tensors[1]);
  EXPECT_EQ(twice.at(0).shapes[0], (std::vector<int64_t>{20, 1}));
}

TEST(BatchLoader, ExplainsWhatDoesNotFit) {
  auto source = std::make_shared<CountingSource>(20);
  EXPECT_EQ(
      errorOf(source, {{"image", DType::F32, {3, 32, 32}}}),
      "input 'image' of the model is f32[3, 32, 32] for each sample, but field 'image' of "
      "counting data is u8[1, 4, 4]; the data has 1 channel, the model takes 3: change one of "
      "them");
  EXPECT_CONTAINS(errorOf(source, {{"image", DType::F32, {1, 8, 8}}}),
                  "crop or resize the images, or change the model's input");
  auto lastSource =
      std::make_shared<CountingSource>(20, std::set<int64_t>(), std::vector<int64_t>{8, 4, 3});
  EXPECT_CONTAINS(errorOf(lastSource, {{"image", DType::F32, {3, 8, 4}}}),
                  "the data has its channels last: write it as [N, channels, height, width]");
  EXPECT_CONTAINS(
      errorOf(source, {{"x", DType::F32, {5}}}),
      "the model's input 'x', f32[5] for each sample, has the name of no field, and none "
      "that is left fits it; say which field it takes. counting data has\n  image: "
      "u8[1, 4, 4]\n  label: i64[]");
  EXPECT_CONTAINS(errorOf(source, {{"a", DType::I64, {}}, {"b", DType::I64, {}}}),
                  "the model's inputs 'a' and 'b' have the name of no field, and both fit 'label'");
  BatchLoaderOptions options;
  options.binding.fieldOf = {{"image", "picture"}};
  EXPECT_CONTAINS(errorOf(source, kInputs, options), "image=picture: counting data has no field");
  options.binding.fieldOf = {{"photo", "image"}};
  EXPECT_CONTAINS(errorOf(source, kInputs, options),
                  "photo=image: the model has no input 'photo'; it has image, label");
  options.binding.fieldOf = {};
  options.binding.transforms.augment = *parseAugmentation("crop=3");
  EXPECT_CONTAINS(errorOf(source, kInputs, options), "is u8[1, 4, 4], cropped to [1, 3, 3]");
  EXPECT_CONTAINS(errorOf(source, {{"label", DType::I64, {}}}, options), "nothing to normalise");
  options.binding.transformedInput = "pixels";
  EXPECT_CONTAINS(errorOf(source, kInputs, options), "the model has no input 'pixels' to be");
}

TEST(BatchLoader, RefusesSizesAndPositionsThatAreNone) {
  auto source = std::make_shared<CountingSource>(20);
  BatchLoaderOptions options;
  options.batchSize = 0;
  EXPECT_CONTAINS(errorOf(source, kInputs, options), "at least 1 sample, found 0");
  options.batchSize = 21;
  options.keepLast = false;
  EXPECT_CONTAINS(errorOf(source, kInputs, options), "has 20 samples, less than a batch of 21");
  options.batchSize = 10;
  options.start = {0, 2};
  EXPECT_CONTAINS(errorOf(source, kInputs, options),
                  "cannot go on at batch 2 of epoch 0: an epoch has 2 batches of 10");
  options.start = {};
  options.batchSize = INT64_MAX / 8;
  options.keepLast = true;
  EXPECT_CONTAINS(errorOf(source, kInputs, options), "make it smaller");
}
