// The objects behind the driver's handles, and the one state of the process that holds them. A handle is
// the address of its object; every handle that comes in is looked up among the living ones, so that a stale
// one is an error and not a crash. All of it is guarded by one lock, which Exports.cpp takes.
#pragma once

#include "support/CudaDriver.h"
#include "tools/cuda-emulator/driver/Settings.h"
#include "tools/cuda-emulator/exec/Checker.h"
#include "tools/cuda-emulator/exec/DeviceMemory.h"
#include "tools/cuda-emulator/translate/Translation.h"

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

namespace nncc::cuemu {

using namespace cuda;

/// The living objects of one kind, by handle.
template <typename Object, typename Handle> class Registry {
public:
  Handle add(std::unique_ptr<Object> object) {
    auto handle = reinterpret_cast<Handle>(object.get());
    objects.emplace(handle, std::move(object));
    return handle;
  }
  Object *find(Handle handle) const {
    auto entry = objects.find(handle);
    return entry == objects.end() ? nullptr : entry->second.get();
  }
  bool remove(Handle handle) { return objects.erase(handle) > 0; }
  template <typename Predicate> void removeIf(Predicate predicate) {
    std::erase_if(objects, [&](const auto &entry) { return predicate(*entry.second); });
  }
  static Handle handleOf(const Object *object) { return reinterpret_cast<Handle>(const_cast<Object *>(object)); }
  auto begin() const { return objects.begin(); }
  auto end() const { return objects.end(); }

private:
  std::unordered_map<Handle, std::unique_ptr<Object>> objects;
};

struct Device {
  int ordinal = 0;
  std::unique_ptr<DeviceMemory> memory;
  std::unique_ptr<Checker> checker; ///< in checked mode
  CUcontext primary = nullptr;
  int primaryReferences = 0;
  unsigned primaryFlags = 0;
};

struct Context {
  Device *device = nullptr;
  unsigned flags = 0;
  /// A kernel's fault: every later call in the context returns it.
  CUresult stickyError = CUDA_SUCCESS;
};

struct Function;

struct Module {
  Context *context = nullptr;
  std::unique_ptr<TranslatedModule> code;
  std::vector<std::pair<std::string, uint64_t>> variables; ///< names and addresses
  std::vector<std::unique_ptr<Function>> functions;
};

struct Function {
  Module *module = nullptr;
  const Kernel *kernel = nullptr;
  int maxDynamicSharedBytes = 48 << 10;
  int carveout = -1;
};

/// A kernel with everything that its launch needs.
struct KernelLaunch {
  Function *function = nullptr;
  unsigned grid[3] = {1, 1, 1}, block[3] = {1, 1, 1};
  unsigned dynamicSharedBytes = 0;
  std::vector<uint8_t> parameters;
};

/// What a stream executes or a graph records.
struct Operation {
  CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
  KernelLaunch kernel;            ///< of a kernel
  std::function<CUresult()> run;  ///< of the others
};

struct GraphNode {
  Operation operation;
  std::vector<void *> parameterPointers; ///< handed out by cuGraphKernelNodeGetParams
};

struct Graph {
  std::vector<std::unique_ptr<GraphNode>> nodes; ///< in an order that executes correctly
};

struct GraphExec {
  Context *context = nullptr;
  std::vector<Operation> operations;
  std::vector<const GraphNode *> sources; ///< the graph's nodes, by position
};

/// A capture that is under way, shared by the streams that take part.
struct Capture {
  struct Stream *origin = nullptr;
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  bool isInvalid = false;
  std::unique_ptr<Graph> graph;
};

struct Stream {
  Context *context = nullptr;
  unsigned flags = 0;
  int priority = 0;
  std::shared_ptr<Capture> capture;
  bool isJoined = true; ///< a stream that forked off a capture has been waited for since its last operation
};

struct Event {
  Context *context = nullptr;
  unsigned flags = 0;
  bool isRecorded = false;
  std::chrono::steady_clock::time_point time;
  std::shared_ptr<Capture> capture; ///< of its last record
  Stream *recordedIn = nullptr;     ///< the capturing stream
};

struct State {
  std::recursive_mutex mutex;
  bool isInitialised = false;
  Settings settings;
  std::vector<std::unique_ptr<Device>> devices;
  Registry<Context, CUcontext> contexts;
  Registry<Module, CUmodule> modules;
  Registry<Stream, CUstream> streams;
  Registry<Event, CUevent> events;
  Registry<Graph, CUgraph> graphs;
  Registry<GraphExec, CUgraphExec> graphExecs;
  std::unordered_map<CUfunction, Function *> functions;
  std::unordered_map<CUgraphNode, GraphNode *> graphNodes;
  uint64_t launches = 0;
};

State &state();

/// The contexts that this host thread has pushed; the last is current.
std::vector<CUcontext> &contextStack();
/// The current context, or nullptr.
Context *currentContext();
/// Removes what belongs to a context and gives its memory back.
void destroyContext(CUcontext context);

int deviceAttribute(const Settings &settings, CUdevice_attribute attribute, bool &isKnown);

// --- Streams and captures (Capture.cpp).
/// The stream of a handle; the default streams are one object per context with a null handle. nullptr for a
/// handle that is not alive.
Stream *findStream(CUstream handle);
/// Records the operation if the stream captures, else executes it now: a stream is always up to date.
CUresult submit(CUstream stream, Operation operation);
/// Runs an operation.
CUresult execute(Context &context, const Operation &operation);
CUresult runKernel(Context &context, const KernelLaunch &launch);
/// For calls that a capture in global mode forbids.
bool isGlobalCaptureActive();
/// An error, and an end to the capture, if the stream captures: for calls that wait for it.
CUresult refuseWhileCapturing(Stream &stream);

/// The exported function of a name without version, or nullptr.
void *exportedFunction(const std::string &name);

/// Copies parameters from cuLaunchKernel's two forms; an error if they do not fit the kernel.
CUresult gatherParameters(const Function &function, void **parameters, void **extra, std::vector<uint8_t> &buffer);
CUresult checkLaunch(const KernelLaunch &launch);

// The functions of support/CudaDriverFunctions.h, behind the exported ones.
namespace calls {
#define X(name, parameters, arguments) CUresult name parameters;
NNCC_CUDA_FUNCTIONS(X)
#undef X
} // namespace calls

} // namespace nncc::cuemu
