// Compiles a model inside this program and runs it: no model.so, no second step. Needs
// libnncc_jit.so.
//
//   jit_model [lenet.nn lenet.safetensors]
//
// Without arguments it compiles the few lines below.

#include <nncc/jit.hpp>

#include <cstdio>
#include <exception>

static const char *const kModel = R"(nn 1
model Scores(x: f32[N, 3], w: f32[3, 2]) {
  return y = relu(x @ w)
}
)";

static int64_t sizeOf(const nncc_extent &extent) { return extent.value < 0 ? 1 : extent.value; }

int main(int argc, char **argv) {
  try {
    nncc::Model model = argc > 2 ? nncc::compile(argv[1], {.weights = argv[2]})
                                 : nncc::compileText(kModel, "scores.nn");
    // Every input is all ones, named dims are 1.
    std::vector<std::vector<float>> values;
    std::vector<nncc::Tensor> inputs;
    for (size_t i = 0; i < model.info().input_count; ++i) {
      const nncc_tensor_info &input = model.info().inputs[i];
      std::vector<int64_t> shape;
      int64_t count = 1;
      for (int32_t d = 0; d < input.rank; ++d) {
        shape.push_back(sizeOf(input.shape[d]));
        count *= shape.back();
      }
      values.emplace_back(count, 1.0f);
      inputs.push_back(nncc::Tensor::borrow(values.back().data(), std::move(shape)));
    }

    nncc::Instance instance = model.createInstance();
    std::vector<nncc::Tensor> outputs = instance.run(inputs);
    std::printf("%s, compiled for %s: %s =", model.info().name, model.info().cpu_level,
                model.info().outputs[0].name);
    for (float value : outputs[0].values<float>())
      std::printf(" %g", value);
    std::printf("\n");
    return 0;
  } catch (const std::exception &error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
