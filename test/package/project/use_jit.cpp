// A model compiled by this program: the product of a row and a column.

#include <nncc/jit.hpp>

int main() {
  nncc::Model model =
      nncc::compileText("nn 1\nmodel M(a: f32[1, 4], b: f32[4, 1]) {\n  return y = a @ b\n}\n");
  float x[] = {1, 2, 3, 4};
  nncc::Instance instance = model.createInstance();
  std::vector<nncc::Tensor> inputs;
  inputs.push_back(nncc::Tensor::borrow(x, {1, 4}));
  inputs.push_back(nncc::Tensor::borrow(x, {4, 1}));
  if (instance.run(inputs)[0].values<float>()[0] != 30)
    return 1;
  try {
    nncc::compileText("nn 1\nmodel M(x: f32[4]) {\n  return y = x * z\n}\n", "bad.nn");
    return 2;
  } catch (const nncc::Exception &error) {
    return std::string(error.what()).find("bad.nn:3:18") == std::string::npos ? 3 : 0;
  }
}
