// Transforms of one sample; see Transforms.h. Crops, flips and shifts all map an index of the
// result to one of the source, so that a chain of them is one map per axis and the pixels move
// once.
#include "runtime/data/Transforms.h"

#include "runtime/Tensor.h"
#include "runtime/data/Order.h"
#include "support/BFloat16.h"
#include "support/Philox.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>

using namespace nncc;
using namespace nncc::data;

namespace {

bool isFloat(DType dtype) { return dtype <= DType::F64; }

/// Where along an axis the result comes from: index i from `sign * i + offset` for i in [begin,
/// end), from nowhere (zero) elsewhere.
struct AxisMap {
  int64_t size;
  int64_t sign = 1;
  int64_t offset = 0;
  int64_t begin = 0;
  int64_t end;

  explicit AxisMap(int64_t size) : size(size), end(size) {}

  /// The window of `newSize` that starts at index `start`, which may lie outside.
  void window(int64_t start, int64_t newSize) {
    offset += sign * start;
    begin = std::clamp<int64_t>(begin - start, 0, newSize);
    end = std::clamp<int64_t>(end - start, begin, newSize);
    size = newSize;
  }

  void mirror() {
    offset += sign * (size - 1);
    sign = -sign;
    int64_t oldBegin = begin;
    begin = size - end;
    end = size - oldBegin;
  }
};

/// In [0, count).
int64_t below(int64_t count, uint32_t bits) {
  return static_cast<int64_t>(uint64_t(bits) * static_cast<uint64_t>(count) >> 32);
}

void applyStep(const AugmentStep &step, bool isRandom, const PhiloxCounter &bits, AxisMap &y,
               AxisMap &x) {
  switch (step.kind) {
  case AugmentStep::Crop: {
    int64_t spareY = y.size + 2 * step.padding - step.height;
    int64_t spareX = x.size + 2 * step.padding - step.width;
    y.window((isRandom ? below(spareY + 1, bits[0]) : spareY / 2) - step.padding, step.height);
    x.window((isRandom ? below(spareX + 1, bits[1]) : spareX / 2) - step.padding, step.width);
    return;
  }
  case AugmentStep::Flip:
    if (isRandom && toUnitInterval(bits[0]) < step.probability)
      x.mirror();
    return;
  case AugmentStep::Shift:
    if (isRandom) {
      y.window(below(2 * step.maxShift + 1, bits[0]) - step.maxShift, y.size);
      x.window(below(2 * step.maxShift + 1, bits[1]) - step.maxShift, x.size);
    }
    return;
  }
}

template <typename T> T load(const std::byte *from, int64_t index) {
  T value;
  std::memcpy(&value, from + static_cast<size_t>(index) * sizeof value, sizeof value);
  return value;
}

template <typename T> void store(std::byte *to, int64_t index, T value) {
  std::memcpy(to + static_cast<size_t>(index) * sizeof value, &value, sizeof value);
}

template <typename Number> Number loadFloating(DType dtype, const std::byte *from, int64_t i) {
  switch (dtype) {
  case DType::F32:
    return load<float>(from, i);
  case DType::F64:
    return static_cast<Number>(load<double>(from, i));
  case DType::F16:
    return static_cast<Number>(load<_Float16>(from, i));
  case DType::BF16:
    return fromBFloat16(load<uint16_t>(from, i));
  case DType::I8:
    return load<int8_t>(from, i);
  case DType::U8:
  case DType::Bool:
    return load<uint8_t>(from, i);
  case DType::I32:
    return static_cast<Number>(load<int32_t>(from, i));
  case DType::I64:
    return static_cast<Number>(load<int64_t>(from, i));
  }
  return 0;
}

template <typename Number> void storeFloating(DType dtype, std::byte *to, int64_t i, Number value) {
  switch (dtype) {
  case DType::F64:
    return store(to, i, static_cast<double>(value));
  case DType::F16:
    return store(to, i, static_cast<_Float16>(value));
  case DType::BF16:
    return store(to, i, toBFloat16(static_cast<float>(value)));
  default:
    return store(to, i, static_cast<float>(value));
  }
}

int64_t loadInteger(DType dtype, const std::byte *from, int64_t i) {
  switch (dtype) {
  case DType::I8:
    return load<int8_t>(from, i);
  case DType::I32:
    return load<int32_t>(from, i);
  case DType::I64:
    return load<int64_t>(from, i);
  default:
    return load<uint8_t>(from, i);
  }
}

/// False when the type does not hold the value.
bool storeInteger(DType dtype, std::byte *to, int64_t i, int64_t value) {
  auto storeAs = [&]<typename T>(T) {
    store(to, i, static_cast<T>(value));
    return value >= std::numeric_limits<T>::min() && value <= std::numeric_limits<T>::max();
  };
  switch (dtype) {
  case DType::I8:
    return storeAs(int8_t());
  case DType::I32:
    return storeAs(int32_t());
  case DType::I64:
    return storeAs(int64_t());
  case DType::Bool:
    return storeAs(uint8_t()) && value <= 1;
  default:
    return storeAs(uint8_t());
  }
}

/// Calls move(channel, to, from) for every element of the result that comes from the source, and
/// fill(channel, to, count) for rows of others. Offsets are in elements.
template <typename Move, typename Fill>
void walk(int64_t channels, int64_t sourceHeight, int64_t sourceWidth, const AxisMap &y,
          const AxisMap &x, Move move, Fill fill) {
  int64_t to = 0;
  for (int64_t channel = 0; channel < channels; ++channel)
    for (int64_t row = 0; row < y.size; ++row, to += x.size) {
      if (row < y.begin || row >= y.end) {
        fill(channel, to, x.size);
        continue;
      }
      int64_t sourceRow =
          (channel * sourceHeight + y.sign * row + y.offset) * sourceWidth + x.offset;
      fill(channel, to, x.begin);
      for (int64_t column = x.begin; column < x.end; ++column)
        move(channel, to + column, sourceRow + x.sign * column);
      fill(channel, to + x.end, x.size - x.end);
    }
}

} // namespace

Result<Transform> Transform::create(const Field &from, DType wanted,
                                    const TransformOptions &options) {
  Transform transform;
  transform.field = from;
  transform.wanted = wanted;
  transform.options = options;
  transform.resultShape = from.shape;
  const Normalization &normalization = options.normalization;
  if (isFloat(from.dtype) && !isFloat(wanted))
    return userError(fmt::format("{} holds floats, which do not become {}; convert the data",
                                 describe(from), nncc::nameOf(wanted)));
  if (normalization.isGiven() && !isFloat(wanted))
    return userError(fmt::format("{} becomes {}, so it cannot be normalised; leave that out",
                                 describe(from), nncc::nameOf(wanted)));
  float divisor = normalization.divisor != 0                       ? normalization.divisor
                  : from.dtype == DType::U8 && !from.shape.empty() ? 255.0f
                                                                   : 1.0f;
  transform.channels = from.shape.empty() ? 1 : from.shape[0];
  size_t channels = static_cast<size_t>(transform.channels);
  auto perChannel = [&](const std::vector<float> &given, float otherwise) {
    return given.size() == channels
               ? given
               : std::vector<float>(channels, given.empty() ? otherwise : given[0]);
  };
  for (const std::vector<float> *given : {&normalization.mean, &normalization.std})
    if (given->size() > 1 && given->size() != channels)
      return userError(
          fmt::format("expected one mean and std or one for each of the {} channels of "
                      "{}, found {}",
                      channels, describe(from), given->size()));
  transform.mean = perChannel(normalization.mean, 0);
  transform.std = perChannel(normalization.std, 1);
  transform.isArithmetic = isFloat(wanted) && (divisor != 1 || normalization.isGiven());
  transform.options.normalization.divisor = divisor;

  if (!options.augment.empty()) {
    if (from.shape.size() != 3)
      return userError(fmt::format("only images, fields of shape [channels, height, width], can be "
                                   "augmented, found {}",
                                   describe(from)));
    for (const AugmentStep &step : options.augment) {
      if (step.kind != AugmentStep::Crop)
        continue;
      int64_t &height = transform.resultShape[1], &width = transform.resultShape[2];
      if (step.height > height + 2 * step.padding || step.width > width + 2 * step.padding)
        return userError(fmt::format(
            "a crop of {} x {} does not fit into an image of {} x {} with {} pixels around it; "
            "crop less or pad more",
            step.height, step.width, height, width, step.padding));
      height = step.height;
      width = step.width;
    }
  }
  transform.isCopy = from.dtype == wanted && !transform.isArithmetic && options.augment.empty();
  if (from.dtype == DType::U8 && wanted == DType::F32)
    for (size_t channel = 0; channel < channels && channels <= 64; ++channel)
      for (int value = 0; value < 256; ++value)
        transform.byteToFloat.push_back(
            (static_cast<float>(value) / divisor - transform.mean[channel]) /
            transform.std[channel]);
  return transform;
}

Result<void> Transform::apply(int64_t sample, int64_t epoch, const std::byte *from,
                              std::byte *to) const {
  if (isCopy) {
    std::memcpy(to, from, static_cast<size_t>(sizeBytesOf(field)));
    return {};
  }
  bool isImage = field.shape.size() == 3;
  int64_t sourceHeight = isImage ? field.shape[1] : 1;
  int64_t sourceWidth = isImage ? field.shape[2] : elementCountOf(field) / channels;
  AxisMap y(sourceHeight), x(sourceWidth);
  PhiloxKey key = {static_cast<uint32_t>(options.seed), static_cast<uint32_t>(options.seed >> 32)};
  for (size_t i = 0; i < options.augment.size(); ++i)
    applyStep(
        options.augment[i], options.isRandom,
        philox4x32({static_cast<uint32_t>(sample), static_cast<uint32_t>(sample >> 32),
                    static_cast<uint32_t>(epoch),
                    static_cast<uint32_t>(RandomUse::Augment) << 16 | static_cast<uint32_t>(i)},
                   key),
        y, x);

  if (!byteToFloat.empty()) {
    auto *bytes = reinterpret_cast<const uint8_t *>(from);
    auto *floats = reinterpret_cast<float *>(to); // aligned: a tensor of floats
    walk(
        channels, sourceHeight, sourceWidth, y, x,
        [&](int64_t channel, int64_t toIndex, int64_t fromIndex) {
          floats[toIndex] = byteToFloat[static_cast<size_t>(channel * 256 + bytes[fromIndex])];
        },
        [&](int64_t channel, int64_t toIndex, int64_t count) {
          std::fill_n(floats + toIndex, count, byteToFloat[static_cast<size_t>(channel) * 256]);
        });
    return {};
  }
  if (!isFloat(wanted)) {
    int64_t unfit = 0;
    bool fits = true;
    walk(
        channels, sourceHeight, sourceWidth, y, x,
        [&](int64_t, int64_t toIndex, int64_t fromIndex) {
          int64_t value = loadInteger(field.dtype, from, fromIndex);
          if (!storeInteger(wanted, to, toIndex, value) && fits) {
            fits = false;
            unfit = value;
          }
        },
        [&](int64_t, int64_t toIndex, int64_t count) {
          for (int64_t i = 0; i < count; ++i)
            storeInteger(wanted, to, toIndex + i, 0);
        });
    if (!fits)
      return userError(fmt::format("{} of field '{}' does not fit in {}", unfit, field.name,
                                   nncc::nameOf(wanted)));
    return {};
  }
  auto applyIn = [&]<typename Number>(Number) {
    auto normalise = [&](int64_t channel, Number value) {
      if (!isArithmetic)
        return value;
      return (value / Number(options.normalization.divisor) -
              Number(mean[static_cast<size_t>(channel)])) /
             Number(std[static_cast<size_t>(channel)]);
    };
    walk(
        channels, sourceHeight, sourceWidth, y, x,
        [&](int64_t channel, int64_t toIndex, int64_t fromIndex) {
          storeFloating<Number>(
              wanted, to, toIndex,
              normalise(channel, loadFloating<Number>(field.dtype, from, fromIndex)));
        },
        [&](int64_t channel, int64_t toIndex, int64_t count) {
          for (int64_t i = 0; i < count; ++i)
            storeFloating<Number>(wanted, to, toIndex + i, normalise(channel, 0));
        });
  };
  if (wanted == DType::F64)
    applyIn(double());
  else
    applyIn(float());
  return {};
}
