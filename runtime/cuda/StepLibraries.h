// One instance's use of libraries: evaluates the calls of its program for the dims at hand, opens a
// session with a library when the first call needs it, and makes launches of them: those that were
// chosen for a run, or all that there are for tuning.
#pragma once

#include "runtime/cuda/GatedCall.h"
#include "runtime/cuda/KernelChoices.h"
#include "runtime/cuda/LaunchPlan.h"
#include "runtime/cuda/ResidueOrder.h"

namespace nncc::rt::cuda {

class StepLibraries {
public:
  StepLibraries() = default;
  /// `bases`: per buffer, where a parameter, constant or state lies, else 0. `weightsStay`:
  /// parameters and constants are the same in all runs. All of it outlives this.
  StepLibraries(const Program &program, SessionPlace place, std::span<const CUdeviceptr> bases,
                bool weightsStay)
      : program(&program), place(std::move(place)), bases(bases), weightsStay(weightsStay) {}

  /// Puts the libraries that were chosen into the plan.
  Result<void> choose(const KernelChoices &choices, const BoundEntry &bound, LaunchPlan &plan);

  /// All of a step; what is left out and why goes to `notes`.
  std::vector<StepCandidate> candidates(const BoundEntry &bound, size_t step,
                                        std::vector<std::string> &notes);
  /// Of a library that was asked for candidates and is there.
  std::map<std::string, std::string> versions() const;

private:
  std::optional<BoundCall> bind(const LibraryCall &call, const BoundEntry &bound,
                                size_t step) const;
  /// The whole call by an algorithm, with what the library leaves to us.
  Result<std::unique_ptr<StepAlternative>> make(LibrarySession &session, const BoundCall &call,
                                                const std::string &algorithm);
  /// One of the runtime's own for elements of a type, made when it is first needed.
  template <class Kernel>
  Result<std::shared_ptr<const Kernel>>
  kernelOf(std::map<DType, std::shared_ptr<const Kernel>> &kernels, DType dtype);
  Result<LibrarySession *> session(LibraryKind kind, std::shared_ptr<const KernelLibrary> library);

  const Program *program = nullptr;
  SessionPlace place;
  std::span<const CUdeviceptr> bases;
  bool weightsStay = true;
  struct Used {
    std::shared_ptr<const KernelLibrary> library;
    std::unique_ptr<LibrarySession> session;
    std::optional<Error> failed;
  };
  Used used[std::size(kLibraryKinds)];
  std::map<DType, std::shared_ptr<const GradientGate>> gates;
  std::map<DType, std::shared_ptr<const ResidueOrder>> orders;
};

} // namespace nncc::rt::cuda
