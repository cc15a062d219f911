// Classifies handwritten digits with a compiled model, from C++, with nothing but nncc.hpp (and
// zlib, for the data):
//
//     nncc examples/lenet.nn --weights examples/lenet.safetensors -o lenet.so
//     classify_digits lenet.so test/data/mnist
//
// A third argument is a safetensors file with other weights for the same model, such as nncc-train writes.
// It draws one digit of each class with the model's answer, and counts how many of all digits are
// right.
#include "nncc/nncc.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <unistd.h>
#include <zlib.h>

namespace {

constexpr int kSide = 28, kPixels = kSide * kSide, kClasses = 10;

/// The bytes of a gzipped IDX file behind its header.
std::vector<uint8_t> readIdx(const std::string &path, size_t headerBytes) {
  gzFile file = gzopen(path.c_str(), "rb");
  if (!file)
    throw std::runtime_error("cannot open " + path);
  std::vector<uint8_t> bytes;
  uint8_t block[1 << 16];
  for (int count; (count = gzread(file, block, sizeof(block))) > 0;)
    bytes.insert(bytes.end(), block, block + count);
  gzclose(file);
  if (bytes.size() < headerBytes)
    throw std::runtime_error(path + " is too short");
  bytes.erase(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(headerBytes));
  return bytes;
}

struct Answer {
  int digit;
  double probability;
};

/// The largest of the softmax of one row of logits.
Answer answerOf(std::span<const float> logits) {
  auto best = std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (float logit : logits)
    sum += std::exp(double(logit) - double(*best));
  return {static_cast<int>(best - logits.begin()), 1 / sum};
}

/// One line of text for four rows of pixels: each character stands for 2x4 pixels, its upper and
/// lower half for 2x2 of them.
std::string drawLine(const float *image, int line) {
  static const char *const kHalves[] = {" ", "▄", "▀", "█"};
  std::string text;
  for (int column = 0; column < kSide; column += 2) {
    auto isInk = [&](int row) {
      const float *at = image + row * kSide + column;
      return (at[0] + at[1] + at[kSide] + at[kSide + 1]) / 4 > 0.35F;
    };
    text += kHalves[2 * isInk(4 * line) + isInk(4 * line + 2)];
  }
  return text;
}

/// Five digits side by side, each above what the model says about it.
void draw(std::span<const size_t> which, const float *images, std::span<const float> logits,
          std::span<const uint8_t> labels) {
  bool hasColour = isatty(STDOUT_FILENO);
  for (int line = 0; line < kSide / 4; ++line) {
    for (size_t digit : which)
      std::printf("  %s", drawLine(images + digit * kPixels, line).c_str());
    std::printf("\n");
  }
  for (size_t digit : which) {
    Answer answer = answerOf(logits.subspan(digit * kClasses, kClasses));
    bool isRight = answer.digit == labels[digit];
    std::printf("  %s%6d  %5.1f%%%s%s", hasColour ? (isRight ? "\033[32m" : "\033[31m") : "",
                answer.digit, 100 * answer.probability, isRight ? " " : "!",
                hasColour ? "\033[0m" : "");
  }
  std::printf("\n\n");
}

} // namespace

int main(int argc, char **argv) try {
  if (argc != 3 && argc != 4) {
    std::fprintf(stderr, "usage: classify_digits MODEL.so FOLDER [WEIGHTS.safetensors]\n");
    return 2;
  }
  std::string folder = argv[2];
  std::vector<uint8_t> pixels = readIdx(folder + "/digits1k-images-idx3-ubyte.gz", 16);
  std::vector<uint8_t> labels = readIdx(folder + "/digits1k-labels-idx1-ubyte.gz", 8);
  if (pixels.size() != labels.size() * kPixels)
    throw std::runtime_error("images and labels in " + folder + " do not belong together");
  std::vector<float> images(pixels.size());
  std::transform(pixels.begin(), pixels.end(), images.begin(),
                 [](uint8_t pixel) { return float(pixel) / 255; });

  // All digits in one call: the batch is whatever the input holds.
  nncc::ModelOptions options;
  options.weights = argc == 4 ? argv[3] : "";
  nncc::Instance model = nncc::Model::load(argv[1], options).createInstance();
  auto count = static_cast<int64_t>(labels.size());
  std::vector<nncc::Tensor> results =
      model.run({nncc::Tensor::borrow(images.data(), {count, 1, kSide, kSide})});
  std::span<const float> logits = results[0].values<float>();

  std::vector<size_t> first;
  for (int digit = 0; digit < kClasses; ++digit)
    for (size_t row = 0; row < labels.size() && first.size() <= size_t(digit); ++row)
      if (labels[row] == digit)
        first.push_back(row);
  if (first.size() != kClasses)
    throw std::runtime_error(folder + " lacks a digit of some class");
  draw(std::span(first).first(5), images.data(), logits, labels);
  draw(std::span(first).last(5), images.data(), logits, labels);

  int right = 0;
  for (size_t row = 0; row < labels.size(); ++row)
    right += answerOf(logits.subspan(row * kClasses, kClasses)).digit == labels[row];
  std::printf("accuracy: %.1f%% (%d of %zu)\n", 100.0 * right / double(labels.size()), right,
              labels.size());
  return 0;
} catch (const std::exception &error) {
  std::fprintf(stderr, "classify_digits: %s\n", error.what());
  return 1;
}
