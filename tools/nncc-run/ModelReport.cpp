// Descriptions of models and results; see ModelReport.h.

#include "tools/nncc-run/ModelReport.h"
#include "tools/nncc-run/Compare.h"
#include "tools/support/TextTable.h"
#include "tools/support/Units.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cstring>

using namespace nncc;
using namespace nncc::tools;

static int64_t elementCount(const nncc_tensor_info &tensor) {
  int64_t count = 1;
  for (int32_t d = 0; d < tensor.rank; ++d)
    count *= tensor.shape[d].value;
  return count;
}

static std::string rangeOf(const nncc_dim_info &dim) {
  return dim.max == INT64_MAX ? fmt::format("{} or more", dim.min)
                              : fmt::format("{}..{}", dim.min, dim.max);
}

std::string tools::renderInfo(const nncc_model_info &info) {
  using enum TextTable::Align;
  std::string text =
      fmt::format("{}\n  compiled for {}\n  runs on {} ({}), build {}\n  {} kernels, {} steps a run\n",
                  info.name, info.targets, info.target, info.cpu_level, info.build_id,
                  info.kernel_count, info.step_count);
  TextTable tensors({{"", Left}, {"name", Left}, {"type", Left}});
  for (size_t i = 0; i < info.dim_count; ++i)
    tensors.addRow({"dim", info.dims[i].name, rangeOf(info.dims[i])});
  for (size_t i = 0; i < info.input_count; ++i)
    tensors.addRow({"input", info.inputs[i].name, info.inputs[i].type_text});
  for (size_t i = 0; i < info.output_count; ++i)
    tensors.addRow({"output", info.outputs[i].name, info.outputs[i].type_text});
  text += "\n" + tensors.render(2);

  if (info.parameter_count) {
    TextTable parameters({{"parameter", Left}, {"type", Left}, {"elements"}});
    int64_t total = 0;
    for (size_t i = 0; i < info.parameter_count; ++i) {
      int64_t count = elementCount(info.parameters[i]);
      total += count;
      parameters.addRow(
          {info.parameters[i].name, info.parameters[i].type_text, formatCount(count)});
    }
    parameters.addRule();
    parameters.addRow({"total", "", formatCount(total)});
    text += "\n" + parameters.render(2);
  }
  return text;
}

static nlohmann::json toJson(const nncc_tensor_info *tensors, size_t count) {
  nlohmann::json list = nlohmann::json::array();
  for (size_t i = 0; i < count; ++i) {
    nlohmann::json shape = nlohmann::json::array();
    for (int32_t d = 0; d < tensors[i].rank; ++d)
      if (tensors[i].shape[d].value >= 0)
        shape.push_back(tensors[i].shape[d].value);
      else
        shape.push_back(tensors[i].shape[d].text);
    list.push_back({{"name", tensors[i].name}, {"dtype", tensors[i].dtype_name}, {"shape", shape}});
  }
  return list;
}

nlohmann::json tools::toJson(const nncc_model_info &info) {
  nlohmann::json dims = nlohmann::json::array();
  for (size_t i = 0; i < info.dim_count; ++i)
    dims.push_back(
        {{"name", info.dims[i].name}, {"min", info.dims[i].min}, {"max", info.dims[i].max}});
  return {{"name", info.name},
          {"build_id", info.build_id},
          {"target", info.target},
          {"cpu_level", info.cpu_level},
          {"targets", info.targets},
          {"dims", dims},
          {"inputs", ::toJson(info.inputs, info.input_count)},
          {"outputs", ::toJson(info.outputs, info.output_count)},
          {"parameters", ::toJson(info.parameters, info.parameter_count)}};
}

/// Integers with all their digits, which a double does not hold for 64 bits.
static std::string elementText(const rt::HostTensor &tensor, int64_t index) {
  if (tensor.dtype == DType::I64) {
    int64_t value;
    std::memcpy(&value, tensor.data.data() + index * sizeof value, sizeof value);
    return std::to_string(value);
  }
  double value = elementAt(tensor, index);
  bool isFloat = tensor.dtype <= DType::F64;
  return isFloat ? fmt::format("{:.6g}", value) : std::to_string(static_cast<int64_t>(value));
}

std::string tools::renderTensor(const std::string &name, const rt::HostTensor &tensor) {
  constexpr int64_t kShown = 10;
  int64_t count = static_cast<int64_t>(tensor.data.size()) / sizeBytesOf(tensor.dtype);
  std::string text = fmt::format("{}: {} =", name, typeOf(tensor));
  for (int64_t i = 0; i < std::min(count, kShown); ++i)
    text += " " + elementText(tensor, i);
  return text + (count > kShown ? " …\n" : "\n");
}
