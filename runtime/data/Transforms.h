// What a field goes through on its way into a batch: a change of type, normalisation, and, in
// training, random crops, flips and shifts. Every random choice is a function of (seed, epoch,
// sample, step), so that results depend neither on threads nor on batches nor on where a training
// was resumed.
#pragma once

#include "runtime/data/DataSource.h"

namespace nncc::data {

/// value -> (value / divisor - mean) / std. One mean and std for all channels (the first extent of
/// a sample) or one for each.
struct Normalization {
  float divisor = 0; ///< 0: 255 for u8 fields that have a shape, else 1
  std::vector<float> mean;
  std::vector<float> std;

  bool isGiven() const { return divisor != 0 || !mean.empty() || !std.empty(); }
};

struct AugmentStep {
  enum Kind : uint8_t {
    Crop,  ///< a random window of height x width, of the image in a frame of zeros
    Flip,  ///< left becomes right, with the given probability
    Shift, ///< by up to maxShift pixels in each direction; zeros come in
  };
  Kind kind = Crop;
  int64_t height = 0, width = 0, padding = 0;
  float probability = 0.5f;
  int64_t maxShift = 0;
};

struct TransformOptions {
  Normalization normalization;
  std::vector<AugmentStep> augment; ///< in this order; for fields [channels, height, width]
  /// False for evaluation: crops take the centre, nothing is flipped or shifted.
  bool isRandom = true;
  uint64_t seed = 0;
};

/// "crop=28+4,flip,shift=2": crop=SIZE, HxW, each with +PADDING or without; flip or
/// flip=PROBABILITY; shift=PIXELS.
Result<std::vector<AugmentStep>> parseAugmentation(const std::string &text);

/// "mean=0.1307,std=0.3081", or with a value per channel "mean=0.5,0.4,0.4,std=0.2,0.2,0.2";
/// divisor=1 takes 8-bit values as they are.
Result<Normalization> parseNormalization(const std::string &text);

/// Made once for a field, used by all threads.
class Transform {
public:
  /// A user error when the steps do not fit the field, or its elements cannot become `wanted`:
  /// integers become anything, floats only floats.
  static Result<Transform> create(const Field &from, DType wanted, const TransformOptions &options);

  /// Of a sample afterwards.
  const std::vector<int64_t> &shape() const { return resultShape; }

  /// Nothing to do: a sample can be read to where it has to go.
  bool isIdentity() const { return isCopy; }

  /// Takes and leaves the bytes of one sample. A user error for an integer that `wanted` does not
  /// hold; it names the value and not the sample.
  Result<void> apply(int64_t sample, int64_t epoch, const std::byte *from, std::byte *to) const;

private:
  Transform() = default;

  Field field;
  DType wanted = DType::F32;
  TransformOptions options;
  std::vector<int64_t> resultShape;
  bool isCopy = false;
  bool isArithmetic = false; ///< normalised; implies a float result
  int64_t channels = 1;
  std::vector<float> mean, std;   ///< per channel
  std::vector<float> byteToFloat; ///< 256 per channel, from u8 to f32
};

} // namespace nncc::data
