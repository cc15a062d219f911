// Shapes of everyday networks; see Cases.h.

#include "tools/nncc-bench/Cases.h"

#include <fmt/format.h>

using namespace nncc::tools;

static BenchmarkCase conv(const char *group, const char *name, int channels, int size,
                          const std::string &arguments, double goal) {
  return {group, name,
          fmt::format("nn 1\nmodel Bench(x: f32[1, {0}, {1}, {1}]) {{\n  return y = conv2d(x, {2}, "
                      "bias = false) as conv\n}}\n",
                      channels, size, arguments),
          goal};
}

static BenchmarkCase single(const char *group, const char *name, const char *type,
                            const std::string &body, double goal) {
  return {group, name,
          fmt::format("nn 1\nmodel Bench(x: {}) {{\n{}  return y = x\n}}\n", type, body), goal};
}

const std::vector<BenchmarkCase> &nncc::tools::benchmarkCases() {
  static const std::vector<BenchmarkCase> cases = {
      conv("conv", "3x3 64 @ 56x56", 64, 56, "64, kernel = 3, padding = 1", 0.85),
      conv("conv", "3x3 128 @ 28x28", 128, 28, "128, kernel = 3, padding = 1", 0.85),
      conv("conv", "3x3 256 @ 14x14", 256, 14, "256, kernel = 3, padding = 1", 0.85),
      conv("conv", "3x3 512 @ 7x7", 512, 7, "512, kernel = 3, padding = 1", 0.75),
      conv("conv", "1x1 256 -> 64 @ 56x56", 256, 56, "64, kernel = 1", 0.85),
      conv("conv", "7x7 stride 2 stem @ 224x224", 3, 224, "64, kernel = 7, stride = 2, padding = 3",
           0.75),
      single("gemm", "128 x 768 x 768", "f32[128, 768]",
             "  x = linear(x, 768, bias = false) as fc\n", 0.85),
      single("gemm", "MLP 256 x 1024^3", "f32[256, 1024]",
             "  x = relu(linear(x, 1024) as fc1)\n  x = relu(linear(x, 1024) as fc2)\n"
             "  x = linear(x, 1024) as fc3\n",
             0.85),
      conv("depthwise", "3x3 144 @ 56x56", 144, 56, "144, kernel = 3, padding = 1, groups = 144",
           0.5),
      conv("depthwise", "3x3 960 @ 7x7", 960, 7, "960, kernel = 3, padding = 1, groups = 960", 0.5),
      single("other", "softmax 12x128x128", "f32[12, 128, 128]", "  x = softmax(x, axis = -1)\n",
             0),
      single("other", "layer_norm 128x768", "f32[128, 768]", "  x = layer_norm(x) as norm\n", 0),
      single("other", "erf 128x3072", "f32[128, 3072]", "  x = erf(x)\n", 0),
  };
  return cases;
}
