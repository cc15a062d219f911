// What the program that is killed while it saves puts into its checkpoints, for it and its test.
#pragma once

#include "runtime/data/Checkpoint.h"

#include <vector>

/// Two tensors whose elements follow from the step.
class SavedTensors {
public:
  static constexpr int64_t kRows = 300, kColumns = 500;

  explicit SavedTensors(int64_t step) : weight(kRows * kColumns), bias(kRows) {
    for (size_t i = 0; i < weight.size(); ++i)
      weight[i] = static_cast<float>(static_cast<int64_t>(i) * 7 + step);
    for (size_t i = 0; i < bias.size(); ++i)
      bias[i] = static_cast<float>(-step - static_cast<int64_t>(i));
  }

  std::vector<nncc::rt::SafetensorsSource> sources() const {
    return {{"weight", nncc::DType::F32, {kRows, kColumns}, std::as_bytes(std::span(weight))},
            {"bias", nncc::DType::F32, {kRows}, std::as_bytes(std::span(bias))}};
  }

private:
  std::vector<float> weight, bias;
};

inline nncc::data::TrainingState stateAt(int64_t step) {
  nncc::data::TrainingState state;
  state.model = "LeNet";
  state.identity = "abc123";
  state.position = {step / 10, step % 10};
  state.step = step;
  state.seed = UINT64_MAX - 1;
  return state;
}
