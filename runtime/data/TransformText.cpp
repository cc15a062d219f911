// The textual forms of augmentation and normalisation; see Transforms.h.
#include "runtime/data/Transforms.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <optional>

using namespace nncc;
using namespace nncc::data;

namespace {

template <typename T> std::optional<T> parseNumber(std::string_view text) {
  T value{};
  auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || end != text.data() + text.size())
    return std::nullopt;
  return value;
}

std::vector<std::string_view> splitAtCommas(std::string_view text) {
  std::vector<std::string_view> parts;
  for (;;) {
    size_t end = text.find(',');
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos)
      return parts;
    text.remove_prefix(end + 1);
  }
}

/// "28", "28x24", "28+4", "28x24+4".
std::optional<AugmentStep> parseCrop(std::string_view text) {
  constexpr int64_t kMaxPixels = 1 << 20;
  AugmentStep step;
  size_t plus = text.find('+'), times = text.substr(0, plus).find('x');
  std::string_view size = text.substr(0, plus);
  auto height = parseNumber<int64_t>(size.substr(0, times));
  auto width =
      times == std::string_view::npos ? height : parseNumber<int64_t>(size.substr(times + 1));
  auto padding = plus == std::string_view::npos ? std::optional<int64_t>(0)
                                                : parseNumber<int64_t>(text.substr(plus + 1));
  auto inRange = [](std::optional<int64_t> value, int64_t least) {
    return value && *value >= least && *value <= kMaxPixels;
  };
  if (!inRange(height, 1) || !inRange(width, 1) || !inRange(padding, 0))
    return std::nullopt;
  step.height = *height;
  step.width = *width;
  step.padding = *padding;
  return step;
}

} // namespace

Result<std::vector<AugmentStep>> data::parseAugmentation(const std::string &text) {
  constexpr int64_t kMaxShift = 1 << 20;
  auto bad = [&](std::string_view item) {
    return userError(fmt::format("'{}': expected crop=SIZE[+PADDING], crop=HxW[+PADDING], flip, "
                                 "flip=PROBABILITY or shift=PIXELS, separated by commas, found "
                                 "'{}'",
                                 text, item));
  };
  std::vector<AugmentStep> steps;
  for (std::string_view item : splitAtCommas(text)) {
    size_t equals = item.find('=');
    std::string_view name = item.substr(0, equals);
    std::string_view value =
        equals == std::string_view::npos ? std::string_view() : item.substr(equals + 1);
    AugmentStep step;
    if (name == "crop") {
      std::optional<AugmentStep> crop = parseCrop(value);
      if (!crop)
        return bad(item);
      step = *crop;
    } else if (name == "flip") {
      step.kind = AugmentStep::Flip;
      auto probability = equals == std::string_view::npos ? std::optional(step.probability)
                                                          : parseNumber<float>(value);
      if (!probability || !(*probability >= 0 && *probability <= 1))
        return bad(item);
      step.probability = *probability;
    } else if (name == "shift") {
      step.kind = AugmentStep::Shift;
      auto shift = parseNumber<int64_t>(value);
      if (!shift || *shift < 0 || *shift > kMaxShift)
        return bad(item);
      step.maxShift = *shift;
    } else {
      return bad(item);
    }
    steps.push_back(step);
  }
  return steps;
}

Result<Normalization> data::parseNormalization(const std::string &text) {
  auto bad = [&](const std::string &what) {
    return userError(fmt::format("'{}': expected mean=VALUE[,VALUE...],std=VALUE[,VALUE...] or "
                                 "divisor=VALUE, separated by commas; {}",
                                 text, what));
  };
  Normalization result;
  std::vector<float> divisor;
  std::vector<float> *values = nullptr;
  for (std::string_view item : splitAtCommas(text)) {
    size_t equals = item.find('=');
    if (equals != std::string_view::npos) {
      std::string_view name = item.substr(0, equals);
      values = name == "mean"      ? &result.mean
               : name == "std"     ? &result.std
               : name == "divisor" ? &divisor
                                   : nullptr;
      if (!values)
        return bad(fmt::format("found '{}'", item));
      if (!values->empty())
        return bad(fmt::format("'{}' is given twice", name));
      item.remove_prefix(equals + 1);
    }
    auto value = parseNumber<float>(item);
    if (!values || !value || !std::isfinite(*value))
      return bad(fmt::format("'{}' is not a number", item));
    if (values != &result.mean && !(*value > 0))
      return bad(fmt::format("{} is not above 0", item));
    values->push_back(*value);
  }
  if (divisor.size() > 1)
    return bad("the divisor is one number");
  if (!divisor.empty())
    result.divisor = divisor[0];
  return result;
}
