// The way of an operation: executed at once, or recorded by the capture that its stream takes part in.
#include "tools/cuda-emulator/driver/State.h"

namespace nncc::cuemu {

Stream *findStream(CUstream handle) {
  if (handle && handle != legacyStream() && handle != perThreadStream())
    return state().streams.find(handle);
  Context *context = currentContext();
  if (!context)
    return nullptr;
  // The default streams of a process differ in what they wait for, which makes no difference to a stream
  // that is always idle.
  static std::unordered_map<Context *, Stream> defaults;
  Stream &stream = defaults[context];
  stream.context = context;
  return &stream;
}

bool isGlobalCaptureActive() {
  for (auto &[handle, stream] : state().streams)
    if (stream->capture && stream->capture->mode == CU_STREAM_CAPTURE_MODE_GLOBAL)
      return true;
  return false;
}

CUresult refuseWhileCapturing(Stream &stream) {
  if (!stream.capture)
    return CUDA_SUCCESS;
  stream.capture->isInvalid = true;
  return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

CUresult execute(Context &context, const Operation &operation) {
  return operation.type == CU_GRAPH_NODE_TYPE_KERNEL ? runKernel(context, operation.kernel)
         : operation.run                             ? operation.run()
                                                     : CUDA_SUCCESS;
}

CUresult submit(CUstream handle, Operation operation) {
  Stream *stream = findStream(handle);
  if (!stream)
    return CUDA_ERROR_INVALID_HANDLE;
  if (!stream->capture) {
    // The legacy stream waits for all blocking streams, also for one that captures.
    if (!handle || handle == legacyStream())
      for (auto &[other, each] : state().streams)
        if (each->capture && !(each->flags & CU_STREAM_NON_BLOCKING)) {
          each->capture->isInvalid = true;
          return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
        }
    return execute(*stream->context, operation);
  }
  if (stream->capture->isInvalid)
    return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  auto node = std::make_unique<GraphNode>();
  node->operation = std::move(operation);
  stream->capture->graph->nodes.push_back(std::move(node));
  stream->isJoined = stream == stream->capture->origin;
  return CUDA_SUCCESS;
}

namespace calls {

CUresult cuStreamBeginCapture_v2(CUstream handle, CUstreamCaptureMode mode) {
  Stream *stream = findStream(handle);
  if (!stream)
    return CUDA_ERROR_INVALID_HANDLE;
  if (!handle || handle == legacyStream())
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  if (mode < CU_STREAM_CAPTURE_MODE_GLOBAL || mode > CU_STREAM_CAPTURE_MODE_RELAXED)
    return CUDA_ERROR_INVALID_VALUE;
  if (stream->capture)
    return CUDA_ERROR_ILLEGAL_STATE;
  stream->capture = std::make_shared<Capture>();
  stream->capture->origin = stream;
  stream->capture->mode = mode;
  stream->capture->graph = std::make_unique<Graph>();
  stream->isJoined = true;
  return CUDA_SUCCESS;
}

CUresult cuStreamEndCapture(CUstream handle, CUgraph *graph) {
  Stream *stream = findStream(handle);
  if (!stream)
    return CUDA_ERROR_INVALID_HANDLE;
  if (!graph)
    return CUDA_ERROR_INVALID_VALUE;
  *graph = nullptr;
  if (!stream->capture)
    return CUDA_ERROR_ILLEGAL_STATE;
  std::shared_ptr<Capture> capture = stream->capture;
  if (capture->origin != stream)
    return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
  bool isUnjoined = false;
  for (auto &[other, each] : state().streams)
    if (each->capture == capture) {
      isUnjoined |= !each->isJoined;
      each->capture.reset();
    }
  stream->capture.reset();
  for (auto &[eventHandle, event] : state().events)
    if (event->capture == capture)
      event->recordedIn = nullptr;
  if (capture->isInvalid)
    return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  if (isUnjoined)
    return CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
  for (auto &node : capture->graph->nodes)
    state().graphNodes[reinterpret_cast<CUgraphNode>(node.get())] = node.get();
  *graph = state().graphs.add(std::move(capture->graph));
  return CUDA_SUCCESS;
}

CUresult cuStreamIsCapturing(CUstream handle, CUstreamCaptureStatus *status) {
  Stream *stream = findStream(handle);
  if (!stream)
    return CUDA_ERROR_INVALID_HANDLE;
  if (!status)
    return CUDA_ERROR_INVALID_VALUE;
  *status = !stream->capture              ? CU_STREAM_CAPTURE_STATUS_NONE
            : stream->capture->isInvalid ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
                                         : CU_STREAM_CAPTURE_STATUS_ACTIVE;
  return CUDA_SUCCESS;
}

} // namespace calls
} // namespace nncc::cuemu
