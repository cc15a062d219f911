// Runs the model that the build compiled, on numbers whose result is known.
#include "nncc/nncc.hpp"

#include <array>
#include <cstdio>

int main() {
  const std::array<float, 6> x = {-1, 0, 1, 2, -3, 0.5F};
  nncc::Instance instance = nncc::Model::load(NET).createInstance();
  std::vector<nncc::Tensor> results = instance.run({nncc::Tensor::borrow(x.data(), {2, 3})});
  for (float value : results[0].values<float>())
    std::printf("%g ", static_cast<double>(value));
}
