// A labelled batch of random images, the same for a step whenever it is asked for.
#pragma once

#include "nncc/nncc.hpp"

#include <cstdint>
#include <functional>
#include <numeric>
#include <random>
#include <vector>

namespace nncc::test {

struct ImageBatch {
  /// `shape`: of all images, the batch first.
  ImageBatch(int step, std::vector<int64_t> shape, int64_t classes)
      : shape(std::move(shape)), label(static_cast<size_t>(this->shape[0])) {
    image.resize(static_cast<size_t>(
        std::accumulate(this->shape.begin(), this->shape.end(), int64_t(1), std::multiplies<>())));
    std::mt19937_64 random(static_cast<uint64_t>(step));
    std::uniform_real_distribution<float> number(-1, 1);
    for (float &pixel : image)
      pixel = number(random);
    for (int64_t &value : label)
      value = static_cast<int64_t>(random() % static_cast<uint64_t>(classes));
  }
  std::vector<Tensor> inputs() const {
    std::vector<Tensor> tensors;
    tensors.push_back(Tensor::borrow(image.data(), shape));
    tensors.push_back(Tensor::borrow(label.data(), {shape[0]}));
    return tensors;
  }

  std::vector<int64_t> shape;
  std::vector<float> image;
  std::vector<int64_t> label;
};

} // namespace nncc::test
