// Streams and events. Operations are executed when they are submitted, so a stream is always idle and an
// event's time is that of its record.
#include "tools/cuda-emulator/driver/State.h"

namespace nncc::cuemu::calls {

CUresult cuStreamCreate(CUstream *stream, unsigned flags) { return cuStreamCreateWithPriority(stream, flags, 0); }

CUresult cuStreamCreateWithPriority(CUstream *stream, unsigned flags, int priority) {
  Context *context = currentContext();
  if (!context)
    return CUDA_ERROR_INVALID_CONTEXT;
  if (!stream || flags > CU_STREAM_NON_BLOCKING)
    return CUDA_ERROR_INVALID_VALUE;
  auto created = std::make_unique<Stream>();
  created->context = context;
  created->flags = flags;
  created->priority = priority;
  *stream = state().streams.add(std::move(created));
  return CUDA_SUCCESS;
}

CUresult cuStreamDestroy_v2(CUstream handle) {
  Stream *stream = state().streams.find(handle);
  if (!stream)
    return CUDA_ERROR_INVALID_HANDLE;
  if (stream->capture)
    stream->capture->isInvalid = true;
  state().streams.remove(handle);
  return CUDA_SUCCESS;
}

CUresult cuStreamSynchronize(CUstream handle) {
  Stream *stream = findStream(handle);
  if (!stream)
    return currentContext() ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_INVALID_CONTEXT;
  return refuseWhileCapturing(*stream);
}

CUresult cuStreamQuery(CUstream handle) { return cuStreamSynchronize(handle); }

CUresult cuStreamWaitEvent(CUstream handle, CUevent eventHandle, unsigned flags) {
  Stream *stream = findStream(handle);
  Event *event = state().events.find(eventHandle);
  if (!stream || !event)
    return CUDA_ERROR_INVALID_HANDLE;
  if (flags != 0)
    return CUDA_ERROR_INVALID_VALUE;
  if (!event->capture)
    return stream->capture && event->isRecorded ? CUDA_ERROR_STREAM_CAPTURE_ISOLATION : CUDA_SUCCESS;
  if (stream->capture && stream->capture != event->capture) {
    stream->capture->isInvalid = event->capture->isInvalid = true;
    return CUDA_ERROR_STREAM_CAPTURE_MERGE;
  }
  // The waiting stream takes part in the capture from here on; the recorded one has been waited for.
  if (!stream->capture) {
    stream->capture = event->capture;
    stream->isJoined = false;
  }
  if (event->recordedIn && event->recordedIn != stream)
    event->recordedIn->isJoined = true;
  return CUDA_SUCCESS;
}

CUresult cuEventCreate(CUevent *event, unsigned flags) {
  Context *context = currentContext();
  if (!context)
    return CUDA_ERROR_INVALID_CONTEXT;
  if (!event || flags > 7)
    return CUDA_ERROR_INVALID_VALUE;
  auto created = std::make_unique<Event>();
  created->context = context;
  created->flags = flags;
  *event = state().events.add(std::move(created));
  return CUDA_SUCCESS;
}

CUresult cuEventRecord(CUevent handle, CUstream streamHandle) {
  Event *event = state().events.find(handle);
  Stream *stream = findStream(streamHandle);
  if (!event || !stream)
    return CUDA_ERROR_INVALID_HANDLE;
  event->capture = stream->capture;
  event->recordedIn = stream->capture ? stream : nullptr;
  event->isRecorded = !stream->capture;
  event->time = std::chrono::steady_clock::now();
  return CUDA_SUCCESS;
}

CUresult cuEventSynchronize(CUevent handle) {
  Event *event = state().events.find(handle);
  if (!event)
    return CUDA_ERROR_INVALID_HANDLE;
  return event->capture ? CUDA_ERROR_CAPTURED_EVENT : CUDA_SUCCESS;
}

CUresult cuEventQuery(CUevent handle) { return cuEventSynchronize(handle); }

CUresult cuEventElapsedTime(float *milliseconds, CUevent startHandle, CUevent endHandle) {
  Event *start = state().events.find(startHandle), *end = state().events.find(endHandle);
  if (!start || !end || !start->isRecorded || !end->isRecorded ||
      (start->flags | end->flags) & CU_EVENT_DISABLE_TIMING)
    return CUDA_ERROR_INVALID_HANDLE;
  if (!milliseconds)
    return CUDA_ERROR_INVALID_VALUE;
  *milliseconds = std::chrono::duration<float, std::milli>(end->time - start->time).count();
  return CUDA_SUCCESS;
}

CUresult cuEventElapsedTime_v2(float *milliseconds, CUevent start, CUevent end) {
  return cuEventElapsedTime(milliseconds, start, end);
}

CUresult cuEventDestroy_v2(CUevent handle) {
  return state().events.remove(handle) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

} // namespace nncc::cuemu::calls
