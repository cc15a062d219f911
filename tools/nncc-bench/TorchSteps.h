// PyTorch's training steps, measured in a process of its own that waits between them, so that they can be timed by turns with ours.
#pragma once

#include "support/Error.h"

#include <cstdio>
#include <memory>
#include <string>
#include <sys/types.h>

namespace nncc::tools {

class TorchSteps {
public:
  /// Starts `python` with torch_steps.py; an environment error when it cannot, or has no PyTorch.
  static Result<TorchSteps> start(const std::string &python, const std::string &model, int batch, int threads);

  /// Time of one step.
  Result<double> stepNs();

  const std::string &version() const { return torchVersion; }

private:
  struct Process {
    pid_t id = 0;
    std::FILE *to = nullptr, *from = nullptr;
    ~Process();
  };

  Result<std::string> readLine();

  std::unique_ptr<Process> process;
  std::string torchVersion;
};

} // namespace nncc::tools
