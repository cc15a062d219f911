// The compiled model as plain data: what the compiler hands to the runtime. codegen/ fills it, JSON
// carries it into model.so (ProgramJson.h), runtime/Session walks it. Nothing here points into the
// compiler, and nothing here knows LLVM.
#pragma once

#include "runtime/LibraryCall.h"
#include "runtime/SizeExpr.h"
#include "support/DType.h"
#include "support/Error.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nncc::rt {

/// A dimension that the caller chooses at run time, such as the batch.
struct NamedDim {
  std::string name;
  int64_t min = 1;
  int64_t max = INT64_MAX;
};

/// Every arena buffer and every constant starts on a multiple of this many bytes; what the caller
/// passes (inputs, outputs, parameters) is aligned to its element size only.
inline constexpr int64_t kBufferAlignmentBytes = 64;

enum class BufferKind : uint8_t {
  Input,     ///< borrowed from the caller for the run
  Output,    ///< written into memory that the caller provides or receives
  Parameter, ///< a weight in its public name, shape and layout
  State,     ///< kept from run to run (optimiser state, recurrent state)
  Constant,  ///< computed from parameters by the entry point "prepare" (packed weights)
  Arena,     ///< an intermediate; the planner gives it an offset in the arena
};

/// Values that an integer input may have; the model computes nothing sensible from others.
struct ValueRange {
  int64_t least = 0, greatest = 0;
  std::optional<int64_t> besides = {}; ///< allowed too: a label to ignore
  friend bool operator==(const ValueRange &, const ValueRange &) = default;
};

struct Buffer {
  BufferKind kind = BufferKind::Arena;
  DType dtype = DType::F32;
  std::string name;            ///< public name for all kinds but Arena
  std::vector<SizeExpr> shape; ///< logical shape
  SizeExpr sizeBytes;          ///< bytes in memory, padding included

  std::optional<ValueRange> range = {}; ///< Input
  double initialValue = 0;              ///< State: of every element, before the first run
  /// State: the parameters that lie in it one behind the other while the model is trained; or of the state `like`, to which it
  /// has an element for each element.
  std::vector<uint32_t> parts = {};
  std::optional<uint32_t> like = {};
};

/// A place in a buffer. Views and in-place results refer to the same buffer.
struct BufferRef {
  uint32_t buffer = 0;
  SizeExpr offsetBytes;
};

/// How a kernel is launched on a CUDA device. Its arguments are a pointer for each argument of the step,
/// a pointer to an int status word when `hasStatus`, then every named dim of the program in order, 32
/// bits wide, or 64 with `wideIndex`.
struct CudaLaunch {
  int64_t threadsPerBlock = 0;
  SizeExpr gridX = 1, gridY = 1, gridZ = 1;
  bool hasStatus = false;
  bool wideIndex = false;
};

using LibraryCall = LibraryCallOf<SizeExpr>;

/// The work of a kernel, cut into other tiles: kernels of the program that no step names.
struct TileVariant {
  std::string tile;    ///< "64 x 64 x 16, thread 8 x 4"; each of a kernel has another
  uint32_t kernel = 0; ///< takes the arguments of the step, or leaves parts of its sums in a workspace
  /// Adds up the parts. As of any such kernel, the workspace is the argument in front of the result.
  std::optional<uint32_t> finish = {};
  SizeExpr workspaceBytes = 0;
  /// The step adds up parts that the one before left in a workspace; the variant does the work of both.
  bool replacesParts = false;
};

struct Kernel {
  std::string name;      ///< readable, from the fused ops: conv2d_bias_relu_max_pool2d
  std::string symbol;    ///< unique in the program; the key in each target's kernel table
  std::string source;    ///< file:line:column of the model text that led here
  SizeExpr scratchBytes; ///< per thread
  std::optional<CudaLaunch> cuda = {}; ///< when the program is for a CUDA device
  /// Functions of NVIDIA's libraries that compute the same, for steps with one result.
  std::vector<LibraryCall> alternatives = {};
  /// To choose from on a device, likewise; of a model that was compiled with several tiles.
  std::vector<TileVariant> tiles = {};

  bool isTunable() const { return !alternatives.empty() || !tiles.empty(); }
};

struct Step {
  uint32_t kernel = 0;
  std::vector<BufferRef> args; ///< inputs, then results
  uint32_t resultCount = 1;    ///< the last `resultCount` args are written
  SizeExpr tasks;              ///< size of the flat range of independent tasks
  SizeExpr flops;              ///< useful floating-point operations, for profiles
  SizeExpr trafficBytes;       ///< bytes of arguments read and written, for profiles
};

struct EntryPoint {
  /// "prepare" (parameters to constants), "infer", "evaluate" (loss and metrics) or "train_step" (the same, with the update of
  /// parameters and states)
  std::string name;
  std::vector<uint32_t> inputs;
  std::vector<uint32_t> outputs;
  std::vector<Step> steps;
};

/// What the train section proposes to whoever makes the batches.
struct TrainDefaults {
  int64_t batch = 32, epochs = 1, seed = 0;
};

struct Program {
  std::string modelName;
  std::string buildId;
  std::optional<TrainDefaults> training; ///< of a model that can be trained
  std::vector<NamedDim> dims;
  std::vector<Buffer> buffers;
  std::vector<Kernel> kernels;
  std::vector<EntryPoint> entryPoints;

  const EntryPoint *findEntryPoint(std::string_view name) const {
    for (const EntryPoint &entry : entryPoints)
      if (entry.name == name)
        return &entry;
    return nullptr;
  }

  /// The names of `dims` in order, as SizeExpr::toString and parse take them.
  std::vector<std::string> dimNames() const {
    std::vector<std::string> names;
    for (const NamedDim &dim : dims)
      names.push_back(dim.name);
    return names;
  }
};

/// Checks what the runtime relies on: indices in range, well-formed expressions, unique public
/// names, every named dim that an entry point uses determined by the shape of one of its inputs. A failure
/// is an internal error: the compiler wrote the program.
Result<void> verifyProgram(const Program &program);

} // namespace nncc::rt
