// The test model of TestModel.h with code for CUDA devices beside that for the CPU, and the
// stand-in driver that runs it.
#pragma once

#include "TestModel.h"

#include <string>
#include <vector>

namespace testmodel {

class CudaModel {
public:
  /// With tiles, `linear` has three others: "whole", "in parts", which makes its result in two kernels, and "double", whose result
  /// is twice what it should be.
  explicit CudaModel(std::string weights = parameterImage(), bool hasTiles = false);

  /// For both targets; only for CUDA devices.
  const nncc::rt::ModelDescriptor &descriptor() const { return both.descriptor; }
  nncc::rt::ModelDescriptor withoutCpu() const;

  /// Puts code made ahead of time for `architecture` into the model: PTX, which the stand-in driver
  /// takes in the place of machine code.
  void compileAhead(const char *architecture);

private:
  Model both;
  std::string json;
  std::vector<nncc::rt::ModelCudaKernel> kernels;
  std::vector<std::string> texts;
  std::vector<nncc::rt::ModelImage> images;
  const char *architecture = nullptr;
  nncc::rt::ModelCuda cuda;
};

/// Sets the environment so that the runtime finds the stand-in driver and a kernel cache for tests.
/// Why there are no kernels to run, or "" when all is there.
std::string prepareStandIn();

} // namespace testmodel
