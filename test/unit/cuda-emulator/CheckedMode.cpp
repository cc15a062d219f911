// Sets the environment before the driver is initialised: checked mode, and reports into a file that the tests
// read. The seed is left to whoever runs the program.
#include "test/unit/cuda-emulator/CheckedMode.h"

#include <unistd.h>

namespace nncc::cuemu::test {

const std::string &reportPath() {
  static const std::string path = ::testing::TempDir() + "cuda-emulator-report-" + std::to_string(getpid());
  return path;
}

namespace {

class Environment : public ::testing::Environment {
public:
  void SetUp() override {
    setenv("CUDA_EMULATOR_MODE", "checked", 1);
    setenv("CUDA_EMULATOR_REPORT", reportPath().c_str(), 1);
  }
  void TearDown() override { std::remove(reportPath().c_str()); }
};

[[maybe_unused]] const auto *environment = ::testing::AddGlobalTestEnvironment(new Environment);

} // namespace
} // namespace nncc::cuemu::test
