// The header that nncc wrote for product.nn, and the model that it compiled.

#include "product.hpp"

int main() {
  Product model(PRODUCT_MODEL);
  const float x[] = {1, 2, 3, 4, 5, 6, 7, 8};
  const float w[] = {2, 0, 0, 0, 0, 2, 0, 0, 0, 0, 2, 0, 0, 0, 0, 2};
  Product::Outputs outputs = model.run(x, w, 2);
  for (int i = 0; i < 8; ++i)
    if (outputs.y.values<float>()[i] != 2 * x[i])
      return 1;
  try {
    model.run(std::span(x, 7), w, 2);
    return 2;
  } catch (const nncc::Exception &) {
    return 0;
  }
}
