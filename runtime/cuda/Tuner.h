// Measures a model's kernels against other tiles of theirs and against what libraries offer in their
// place, on the device and with the data of one run. Takes the plan of a run whose inputs are on the device; leaves that run's
// results, and for each kernel with an alternative the faster of those that agree with it.
#pragma once

#include "runtime/cuda/StepLibraries.h"
#include "runtime/cuda/StepTiles.h"

namespace nncc::rt::cuda {

class Tuner {
public:
  Tuner(const Program &program, const BoundEntry &bound, const KernelChoices &choices,
        StepLibraries &libraries, const StepTiles &tiles, std::shared_ptr<const Device> device)
      : program(program), bound(bound), choices(choices), libraries(libraries), tiles(tiles),
        device(std::move(device)) {}

  /// Runs all steps by our own kernels, in order, and measures on the way.
  Result<std::vector<TunedKernel>> run(const LaunchPlan &plan, const LaunchTarget &target);

private:
  struct Attempt {
    const StepCandidate *candidate = nullptr; ///< null: the step's own kernel
    std::vector<double> microseconds;
    std::string problem;
  };
  /// Memory for each candidate and a result.
  Result<void> makeRoom(std::span<const StepCandidate> candidates, int64_t resultBytes);
  void choose(std::span<const Attempt> attempts, TunedKernel &tuned) const;
  Result<TunedKernel> tune(const LaunchPlan &plan, const LaunchTarget &target, size_t step);
  Result<void> launch(const LaunchPlan &plan, const LaunchTarget &target, size_t step,
                      const Attempt &attempt, CUdeviceptr result, bool replacesParts) const;
  Result<double> time(const LaunchPlan &plan, const LaunchTarget &target, size_t step,
                      const Attempt &attempt, CUdeviceptr result, bool replacesParts);
  /// What the attempt makes of bytes `begin` to `end` of the memory that begins with the step's
  /// result, if that was full of kUnwritten before.
  Result<std::vector<std::byte>> resultOf(const LaunchPlan &plan, const LaunchTarget &target,
                                          size_t step, const Attempt &attempt, bool replacesParts,
                                          size_t begin, size_t end);
  Result<void> synchronize(CUstream stream) const;
  static constexpr std::byte kUnwritten{0xff}; ///< of no number that a kernel writes

  const Program &program;
  const BoundEntry &bound;
  const KernelChoices &choices;
  StepLibraries &libraries;
  const StepTiles &tiles;
  std::shared_ptr<const Device> device;
  DeviceBlock workspace, scratch; ///< of candidates; in place of a result
  CUevent begin = nullptr, end = nullptr;
};

/// Why two results of a kernel do not agree, or "". Their largest difference may be a share of the
/// largest number.
std::string disagreement(DType type, bool mayRoundToTf32, std::span<const std::byte> expected,
                         std::span<const std::byte> found);

} // namespace nncc::rt::cuda
