// From calls of the program to launches of a library; see StepLibraries.h.

#include "runtime/cuda/StepLibraries.h"

#include <algorithm>

namespace nncc::rt::cuda {

/// What every address of the runtime's is a multiple of, but for offsets; a parameter that is trained
/// lies anywhere in a state.
static constexpr int64_t kBaseAlignmentBytes = 16;

/// The call for the dims at hand; nothing where a number overflows.
std::optional<BoundCall> StepLibraries::bind(const LibraryCall &call, const BoundEntry &bound,
                                             size_t index) const {
  bool isValid = true;
  BoundCall result{convertCall<int64_t>(call, [&](const char *, const SizeExpr &number) {
    CheckedSize value = number.evaluate(bound.dims);
    isValid &= value.valid();
    return value.getOr(0);
  })};
  if (!isValid)
    return std::nullopt;
  const Step &step = bound.entry->steps[index];
  auto align = [&](int32_t argument, int64_t offsetElements) {
    if (argument < 0)
      return;
    const BoundArg &arg = bound.args[bound.steps[index].firstArg + static_cast<size_t>(argument)];
    int64_t offset = (static_cast<int64_t>(bases[arg.buffer]) + arg.offsetBytes) |
                     offsetElements * sizeBytesOf(call.dtype) | kBaseAlignmentBytes;
    result.alignmentBytes = std::min(result.alignmentBytes, offset & -offset);
  };
  const auto *product = std::get_if<MatrixProduct<int64_t>>(&result.operation);
  align(call.x, product ? product->xOffset : 0);
  align(call.w, product ? product->wOffset : 0);
  align(call.bias, 0);
  if (!needsGate(result))
    align(call.residual, 0);
  align(static_cast<int32_t>(step.args.size()) - 1, product ? product->yOffset : 0);
  const BoundArg &weight = bound.args[bound.steps[index].firstArg + static_cast<size_t>(call.w)];
  BufferKind kind = program->buffers[weight.buffer].kind;
  if (weightsStay && (kind == BufferKind::Constant || kind == BufferKind::Parameter))
    result.weight = bases[weight.buffer] + static_cast<CUdeviceptr>(weight.offsetBytes);
  return result;
}

Result<std::unique_ptr<StepAlternative>> StepLibraries::make(LibrarySession &session,
                                                           const BoundCall &call,
                                                           const std::string &algorithm) {
  auto inner = session.make(withoutGate(call), algorithm);
  if (!inner)
    return inner;
  if (needsGate(call)) {
    auto gate = kernelOf(gates, call.dtype);
    return gate ? Result(makeGatedCall(std::move(*gate), call, std::move(*inner))) : gate.error();
  }
  if (isInResidueOrder(call)) {
    auto order = kernelOf(orders, call.dtype);
    return order ? Result(makeResidueCall(std::move(*order), call, std::move(*inner)))
                 : order.error();
  }
  return inner;
}

template <class Kernel>
Result<std::shared_ptr<const Kernel>>
StepLibraries::kernelOf(std::map<DType, std::shared_ptr<const Kernel>> &kernels, DType dtype) {
  std::shared_ptr<const Kernel> &kernel = kernels[dtype];
  if (!kernel) {
    auto created = Kernel::create(place.device, dtype);
    if (!created)
      return created.error();
    kernel = std::make_shared<const Kernel>(std::move(*created));
  }
  return kernel;
}

Result<LibrarySession *> StepLibraries::session(LibraryKind kind,
                                                std::shared_ptr<const KernelLibrary> library) {
  Used &mine = used[static_cast<size_t>(kind)];
  if (mine.failed)
    return *mine.failed;
  if (mine.session)
    return mine.session.get();
  if (!library) {
    auto loaded = KernelLibrary::get(kind);
    if (!loaded) {
      mine.failed = loaded.error();
      return loaded.error();
    }
    library = std::move(*loaded);
  }
  auto opened = library->open(place);
  if (!opened) {
    mine.failed = opened.error();
    return opened.error();
  }
  mine.library = std::move(library);
  mine.session = std::move(*opened);
  return mine.session.get();
}

Result<void> StepLibraries::choose(const KernelChoices &choices, const BoundEntry &bound,
                                   LaunchPlan &plan) {
  for (size_t step = 0; step < bound.steps.size(); ++step) {
    const Kernel &kernel = program->kernels[bound.steps[step].kernel];
    if (kernel.alternatives.empty())
      continue;
    auto found = choices.find(*program, bound.steps[step].kernel, bound.dims);
    if (!found)
      return found.error();
    const TunedKernel *choice = *found;
    if (!choice || choice->isTile())
      continue;
    // Of several calls of one library the algorithm's name tells which.
    auto call = kernel.alternatives.end();
    for (auto other = kernel.alternatives.begin(); other != kernel.alternatives.end(); ++other) {
      if (nameOf(libraryOf(*other)) != choice->use)
        continue;
      std::string prefix = algorithmPrefixOf(*other);
      bool isNamed = !prefix.empty() && choice->algorithm.starts_with(prefix);
      if (call == kernel.alternatives.end() || isNamed)
        call = other;
    }
    std::optional<BoundCall> boundCall;
    if (call != kernel.alternatives.end())
      boundCall = bind(*call, bound, step);
    if (!boundCall)
      return userError(describeKernel(kernel) + ": the tuning file asks for " + choice->use +
                       ", which has no function for it");
    if (boundCall->isEmpty())
      continue;
    auto opened = session(libraryOf(*call), choices.library(libraryOf(*call)));
    auto made = opened ? make(**opened, *boundCall, choice->algorithm) : opened.error();
    if (!made) {
      Error error = made.error();
      error.message = describeKernel(kernel) + ", as the tuning file asks: " + error.message;
      return error;
    }
    plan.use(step, std::move(*made), call->replacesParts);
  }
  return {};
}

std::vector<StepCandidate>
StepLibraries::candidates(const BoundEntry &bound, size_t step, std::vector<std::string> &notes) {
  std::vector<StepCandidate> found;
  const Kernel &kernel = program->kernels[bound.steps[step].kernel];
  for (const LibraryCall &call : kernel.alternatives) {
    std::optional<BoundCall> boundCall = bind(call, bound, step);
    if (!boundCall || boundCall->isEmpty())
      continue;
    LibraryKind kind = libraryOf(call);
    auto note = [&](const std::string &what) {
      notes.push_back(std::string(nameOf(kind)) + ": " + what);
    };
    auto opened = session(kind, nullptr);
    if (!opened) {
      note(opened.error().message);
      continue;
    }
    auto algorithms = (*opened)->algorithms(withoutGate(*boundCall));
    if (!algorithms) {
      note(algorithms.error().message);
      continue;
    }
    if (algorithms->empty())
      note("has no algorithm for this");
    for (const std::string &algorithm : *algorithms) {
      auto made = make(**opened, *boundCall, algorithm);
      if (made)
        found.push_back({nameOf(kind), algorithm, call.replacesParts, call.mayRoundToTf32, std::move(*made)});
      else
        note(made.error().message);
    }
  }
  return found;
}

std::map<std::string, std::string> StepLibraries::versions() const {
  std::map<std::string, std::string> result;
  for (LibraryKind kind : kLibraryKinds)
    if (const Used &mine = used[static_cast<size_t>(kind)]; mine.library)
      result[nameOf(kind)] = mine.library->version();
  return result;
}

} // namespace nncc::rt::cuda
