// Measurement of alternatives; see Tuner.h. The candidates of a kernel take turns, so that what
// changes meanwhile (clocks, heat) is the same for all; medians leave out what else disturbs.
// Results of a candidate go to memory of its own, so that the run goes on with ours.

#include "runtime/cuda/Tuner.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstring>

namespace nncc::rt::cuda {
namespace {

/// Turns of each candidate, as many as there is time for.
constexpr int kLeastRounds = 3, kMostRounds = 11;
constexpr double kSecondsPerCandidate = 0.1;
/// What is faster by this factor is worth a departure from the kernel as it is.
constexpr double kLeastGain = 1.03;

double toDouble(DType type, const std::byte *bytes) {
  auto read = [&](auto value) {
    std::memcpy(&value, bytes, sizeof value);
    return value;
  };
  switch (type) {
  case DType::F64:
    return read(double());
  case DType::BF16:
    return std::bit_cast<float>(uint32_t(read(uint16_t())) << 16);
  case DType::F16: {
    uint16_t bits = read(uint16_t());
    int exponent = bits >> 10 & 31, fraction = bits & 1023;
    double size = exponent == 31 ? (fraction ? NAN : INFINITY)
                  : exponent     ? std::ldexp(1024 + fraction, exponent - 25)
                                 : std::ldexp(fraction, -24);
    return bits >> 15 ? -size : size;
  }
  default:
    return read(float());
  }
}

/// Of the largest number: what the order of a sum makes out, and the rounding of operands to TF32.
double toleranceOf(DType type, bool mayRoundToTf32) {
  switch (type) {
  case DType::F64:
    return 1e-11;
  case DType::F16:
    return 4e-3;
  case DType::BF16:
    return 3e-2;
  default:
    return mayRoundToTf32 ? 5e-3 : 2e-5;
  }
}

double medianOf(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

} // namespace

std::string disagreement(DType type, bool mayRoundToTf32, std::span<const std::byte> expected,
                         std::span<const std::byte> found) {
  auto size = static_cast<size_t>(sizeBytesOf(type));
  double largest = 0, worst = 0;
  size_t place = 0;
  if (!isCallType(type)) // integers are exact
    return std::ranges::equal(expected, found) ? "" : "its result differs from nncc's";
  for (size_t at = 0; at + size <= expected.size(); at += size) {
    double a = toDouble(type, &expected[at]), b = toDouble(type, &found[at]);
    if (a == b || (std::isnan(a) && std::isnan(b)))
      continue;
    double difference = std::isfinite(a) && std::isfinite(b) ? std::abs(a - b) : INFINITY;
    if (difference > worst) {
      worst = difference;
      place = at / size;
    }
  }
  for (size_t at = 0; worst > 0 && at + size <= expected.size(); at += size)
    if (double a = std::abs(toDouble(type, &expected[at])); std::isfinite(a))
      largest = std::max(largest, a);
  if (worst <= toleranceOf(type, mayRoundToTf32) * largest)
    return "";
  return "its result differs from nncc's by " + std::to_string(worst) + " at element " +
         std::to_string(place) + ", where the largest is " + std::to_string(largest);
}

Result<void> Tuner::synchronize(CUstream stream) const {
  if (CUresult code = device->driver().cuStreamSynchronize(stream))
    return device->failure(code, "cuStreamSynchronize", "a kernel failed while tuning");
  return {};
}

Result<void> Tuner::launch(const LaunchPlan &plan, const LaunchTarget &target, size_t step,
                           const Attempt &attempt, CUdeviceptr result, bool replacesParts) const {
  if (attempt.candidate)
    return plan.launchAlternative(*attempt.candidate->alternative, step, target, result);
  if (replacesParts)
    if (auto launched = plan.launchKernel(step - 1, target); !launched)
      return launched;
  return plan.launchKernel(step, target, result);
}

Result<double> Tuner::time(const LaunchPlan &plan, const LaunchTarget &target, size_t step,
                           const Attempt &attempt, CUdeviceptr result, bool replacesParts) {
  const Driver &driver = device->driver();
  auto record = [&](CUevent event) -> Result<void> {
    if (CUresult code = driver.cuEventRecord(event, target.stream))
      return device->failure(code, "cuEventRecord", "cannot take the time of a kernel");
    return {};
  };
  if (auto recorded = record(begin); !recorded)
    return recorded.error();
  if (auto launched = launch(plan, target, step, attempt, result, replacesParts); !launched)
    return launched.error();
  if (auto recorded = record(end); !recorded)
    return recorded.error();
  if (auto done = synchronize(target.stream); !done)
    return done.error();
  float milliseconds = 0;
  if (CUresult code = driver.cuEventElapsedTime(&milliseconds, begin, end))
    return device->failure(code, "cuEventElapsedTime", "cannot take the time of a kernel");
  return milliseconds * 1e3;
}

Result<std::vector<std::byte>> Tuner::resultOf(const LaunchPlan &plan, const LaunchTarget &target,
                                               size_t step, const Attempt &attempt,
                                               bool replacesParts, size_t begin, size_t end) {
  const Driver &driver = device->driver();
  if (CUresult code = driver.cuMemsetD8Async(
          scratch.address() + begin, std::to_integer<unsigned char>(kUnwritten), end - begin,
          target.stream))
    return device->failure(code, "cuMemsetD8Async", "cannot clear a result while tuning");
  if (auto launched = launch(plan, target, step, attempt, scratch.address(), replacesParts);
      !launched)
    return launched.error();
  std::vector<std::byte> bytes(end - begin);
  CUresult code = driver.cuMemcpyDtoHAsync_v2(bytes.data(), scratch.address() + begin, bytes.size(),
                                              target.stream);
  auto done =
      synchronize(target.stream); // also after a failure: what was begun writes into `bytes`
  if (code)
    return device->failure(code, "cuMemcpyDtoHAsync", "cannot read a result while tuning");
  return done ? Result<std::vector<std::byte>>(std::move(bytes)) : done.error();
}

Result<void> Tuner::makeRoom(std::span<const StepCandidate> candidates, int64_t resultBytes) {
  int64_t workspaceBytes = 0;
  for (const StepCandidate &candidate : candidates)
    workspaceBytes = std::max(workspaceBytes, candidate.alternative->workspaceBytes());
  for (auto [block, bytes, role] :
       {std::tuple(&workspace, workspaceBytes, "an alternative's workspace"),
        {&scratch, resultBytes, "a result"}})
    if (block->sizeBytes() < bytes) {
      *block = DeviceBlock();
      auto allocated = DeviceBlock::allocate(device, bytes, role);
      if (!allocated)
        return allocated.error();
      *block = std::move(*allocated);
    }
  return {};
}

/// How a candidate is called in times and notes.
static std::string nameOf(const StepCandidate &candidate) {
  return candidate.use == "nncc" ? "nncc, " + candidate.algorithm : candidate.use;
}

void Tuner::choose(std::span<const Attempt> attempts, TunedKernel &tuned) const {
  tuned.use = "nncc";
  double ours = medianOf(attempts[0].microseconds), best = ours / kLeastGain;
  tuned.microseconds["nncc"] = ours;
  for (const Attempt &attempt : attempts) {
    if (!attempt.candidate)
      continue;
    const StepCandidate &candidate = *attempt.candidate;
    if (!attempt.problem.empty()) {
      bool isLibrary = candidate.use != "nncc";
      tuned.notes.push_back(nameOf(candidate) +
                            (isLibrary ? ", algorithm " + candidate.algorithm : "") + ": " +
                            attempt.problem);
      continue;
    }
    double median = medianOf(attempt.microseconds);
    auto [known, isFirst] = tuned.microseconds.emplace(nameOf(candidate), median);
    known->second = std::min(known->second, median);
    if (median < best) {
      best = median;
      tuned.use = candidate.use;
      tuned.algorithm = candidate.algorithm;
    }
  }
}

Result<TunedKernel> Tuner::tune(const LaunchPlan &plan, const LaunchTarget &given, size_t step) {
  uint32_t number = bound.steps[step].kernel;
  TunedKernel tuned;
  tuned.identity = choices.identity(number);
  tuned.name = program.kernels[number].name;
  tuned.dims = namedDims(program, bound.dims);
  std::vector<StepCandidate> candidates = tiles.candidates(bound, step, tuned.notes);
  for (StepCandidate &candidate : libraries.candidates(bound, step, tuned.notes))
    candidates.push_back(std::move(candidate));
  const BoundArg &result =
      bound.args[bound.steps[step].firstArg + bound.entry->steps[step].args.size() - 1];
  int64_t resultBytes = bound.memory.sizesBytes[result.buffer] - result.offsetBytes;
  if (auto made = makeRoom(candidates, resultBytes); !made)
    return made.error();
  LaunchTarget target = given;
  target.workspace = workspace.address();

  bool replacesParts = !candidates.empty() && candidates.front().replacesParts; // as all of them
  std::vector<Attempt> attempts(1);
  for (const StepCandidate &candidate : candidates)
    attempts.push_back({&candidate, {}, ""});
  auto expected = resultOf(plan, target, step, attempts[0], replacesParts, 0,
                           static_cast<size_t>(resultBytes));
  if (!expected)
    return expected.error();
  // A step of training writes a small part of what holds all gradients; nothing else is compared.
  auto isWritten = [](std::byte value) { return value != kUnwritten; };
  auto writtenBegin = std::find_if(expected->begin(), expected->end(), isWritten);
  auto writtenEnd =
      std::find_if(expected->rbegin(), std::make_reverse_iterator(writtenBegin), isWritten).base();
  auto size = static_cast<size_t>(sizeBytesOf(program.buffers[result.buffer].dtype));
  size_t first = static_cast<size_t>(writtenBegin - expected->begin()) / size * size;
  size_t last = (static_cast<size_t>(writtenEnd - expected->begin()) + size - 1) / size * size;
  *expected = {expected->begin() + static_cast<ptrdiff_t>(first),
               expected->begin() + static_cast<ptrdiff_t>(last)};
  for (size_t i = 1; i < attempts.size(); ++i) {
    auto found = resultOf(plan, target, step, attempts[i], replacesParts, first, last);
    attempts[i].problem = found ? disagreement(program.buffers[result.buffer].dtype,
                                               candidates[i - 1].mayRoundToTf32, *expected, *found)
                                : found.error().message;
  }
  using Clock = std::chrono::steady_clock;
  auto end =
      Clock::now() + std::chrono::duration<double>(kSecondsPerCandidate * double(attempts.size()));
  for (int round = 0; round < kMostRounds && (round < kLeastRounds || Clock::now() < end); ++round)
    for (Attempt &attempt : attempts) {
      if (!attempt.problem.empty())
        continue;
      auto microseconds = time(plan, target, step, attempt, scratch.address(), replacesParts);
      if (microseconds)
        attempt.microseconds.push_back(*microseconds);
      else if (!attempt.candidate)
        return microseconds.error();
      else
        attempt.problem = microseconds.error().message;
    }
  choose(attempts, tuned);
  return tuned;
}

Result<std::vector<TunedKernel>> Tuner::run(const LaunchPlan &plan, const LaunchTarget &target) {
  const Driver &driver = device->driver();
  struct Events {
    const Driver &driver;
    CUevent *events[2];
    ~Events() {
      for (CUevent *event : events)
        if (*event)
          driver.cuEventDestroy_v2(std::exchange(*event, nullptr));
    }
  } events{driver, {&begin, &end}};
  for (CUevent *event : events.events)
    if (CUresult code = driver.cuEventCreate(event, CU_EVENT_DEFAULT)) {
      *event = nullptr;
      return device->failure(code, "cuEventCreate", "cannot take the time of kernels");
    }
  std::vector<TunedKernel> result;
  for (size_t step = 0; step < bound.steps.size(); ++step) {
    uint32_t number = bound.steps[step].kernel;
    auto isSame = [&](const TunedKernel &tuned) {
      return tuned.identity == choices.identity(number);
    };
    // Before the step itself, which may write over one of its operands.
    if (program.kernels[number].isTunable() &&
        std::none_of(result.begin(), result.end(), isSame)) {
      auto tuned = tune(plan, target, step);
      if (!tuned)
        return tuned.error();
      result.push_back(std::move(*tuned));
    }
    if (auto launched = plan.launchKernel(step, target); !launched)
      return launched.error();
  }
  return result;
}

} // namespace nncc::rt::cuda
