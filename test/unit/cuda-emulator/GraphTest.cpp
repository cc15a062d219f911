// Streams, events, capture, graphs.
#include "test/unit/cuda-emulator/Emulator.h"

namespace nncc::cuemu::test {
namespace {

class GraphTest : public EmulatorTest {
protected:
  void SetUp() override {
    EmulatorTest::SetUp();
    module = load(ptxModule(R"(.visible .entry scale(.param .u64 x, .param .u32 factor) {
.reg .b32 %r<4>; .reg .b64 %d<4>; ld.param.u64 %d1, [x]; ld.param.u32 %r1, [factor]; mov.u32 %r2, %tid.x; mul.wide.u32 %d2, %r2, 4;
add.u64 %d3, %d1, %d2; ld.global.u32 %r3, [%d3]; mul.lo.u32 %r3, %r3, %r1; st.global.u32 [%d3], %r3; ret; })"));
    scale = function(module, "scale");
    ASSERT_EQ(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  }

  CUresult launchScale(CUdeviceptr x, uint32_t factor, CUstream where) {
    void *parameters[] = {&x, &factor};
    return cuLaunchKernel(scale, 1, 1, 1, 4, 1, 1, 0, where, parameters, nullptr);
  }

  /// A graph that copies `host` in, scales by `factor`, and copies back.
  CUgraph capture(Buffer<uint32_t> &x, std::vector<uint32_t> &host, uint32_t factor) {
    CUgraph graph = nullptr;
    EXPECT_EQ(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), CUDA_SUCCESS);
    EXPECT_EQ(cuMemcpyHtoDAsync_v2(x.address, host.data(), 16, stream), CUDA_SUCCESS);
    EXPECT_EQ(launchScale(x.address, factor, stream), CUDA_SUCCESS);
    EXPECT_EQ(cuMemcpyDtoHAsync_v2(host.data(), x.address, 16, stream), CUDA_SUCCESS);
    EXPECT_EQ(cuStreamEndCapture(stream, &graph), CUDA_SUCCESS);
    return graph;
  }

  CUmodule module = nullptr;
  CUfunction scale = nullptr;
  CUstream stream = nullptr;
};

TEST_F(GraphTest, replaysWhatWasCaptured) {
  Buffer<uint32_t> x(4);
  std::vector<uint32_t> host = {1, 2, 3, 4};
  CUgraph graph = capture(x, host, 10);
  EXPECT_EQ(host, (std::vector<uint32_t>{1, 2, 3, 4})); // nothing runs while it is captured
  CUgraphExec exec = nullptr;
  ASSERT_EQ(cuGraphInstantiateWithFlags(&exec, graph, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphDestroy(graph), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphLaunch(exec, stream), CUDA_SUCCESS);
  EXPECT_EQ(host, (std::vector<uint32_t>{10, 20, 30, 40}));
  EXPECT_EQ(cuGraphLaunch(exec, stream), CUDA_SUCCESS);
  EXPECT_EQ(host, (std::vector<uint32_t>{100, 200, 300, 400}));
  EXPECT_EQ(cuGraphExecDestroy(exec), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphLaunch(exec, stream), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(GraphTest, kernelNodesCanBeChanged) {
  Buffer<uint32_t> x(4);
  std::vector<uint32_t> host = {1, 2, 3, 4};
  CUgraph graph = capture(x, host, 10);
  size_t count = 0;
  ASSERT_EQ(cuGraphGetNodes(graph, nullptr, &count), CUDA_SUCCESS);
  ASSERT_EQ(count, 3u);
  std::vector<CUgraphNode> nodes(count);
  ASSERT_EQ(cuGraphGetNodes(graph, nodes.data(), &count), CUDA_SUCCESS);
  CUgraphNodeType type;
  ASSERT_EQ(cuGraphNodeGetType(nodes[1], &type), CUDA_SUCCESS);
  ASSERT_EQ(type, CU_GRAPH_NODE_TYPE_KERNEL);
  CUDA_KERNEL_NODE_PARAMS_v2 params;
  ASSERT_EQ(cuGraphKernelNodeGetParams_v2(nodes[1], &params), CUDA_SUCCESS);
  EXPECT_EQ(params.func, scale);
  EXPECT_EQ(params.blockDimX, 4u);
  EXPECT_EQ(*static_cast<uint32_t *>(params.kernelParams[1]), 10u);
  CUgraphExec exec = nullptr;
  ASSERT_EQ(cuGraphInstantiateWithFlags(&exec, graph, 0), CUDA_SUCCESS);
  uint32_t factor = 3;
  void *parameters[] = {params.kernelParams[0], &factor};
  params.kernelParams = parameters;
  params.blockDimX = 2;
  ASSERT_EQ(cuGraphExecKernelNodeSetParams_v2(exec, nodes[1], &params), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphLaunch(exec, stream), CUDA_SUCCESS);
  EXPECT_EQ(host, (std::vector<uint32_t>{3, 6, 3, 4}));
  params.blockDimX = 2000;
  EXPECT_EQ(cuGraphExecKernelNodeSetParams_v2(exec, nodes[1], &params), CUDA_ERROR_INVALID_VALUE);

  // Update from a graph of the same form, and not from another.
  std::vector<uint32_t> other = {5, 5, 5, 5};
  CUgraph same = capture(x, other, 2);
  CUgraphExecUpdateResultInfo info;
  EXPECT_EQ(cuGraphExecUpdate_v2(exec, same, &info), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphLaunch(exec, stream), CUDA_SUCCESS);
  EXPECT_EQ(other, (std::vector<uint32_t>{10, 10, 10, 10}));
  CUgraph shorter = nullptr;
  ASSERT_EQ(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
  ASSERT_EQ(cuStreamEndCapture(stream, &shorter), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphExecUpdate_v2(exec, shorter, &info), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
  EXPECT_EQ(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
}

TEST_F(GraphTest, captureFollowsEventsIntoOtherStreams) {
  CUstream side = nullptr;
  CUevent fork = nullptr, join = nullptr;
  ASSERT_EQ(cuStreamCreate(&side, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  ASSERT_EQ(cuEventCreate(&fork, CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
  ASSERT_EQ(cuEventCreate(&join, CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
  Buffer<uint32_t> x(std::vector<uint32_t>{1, 1, 1, 1});
  for (bool isJoined : {false, true}) {
    ASSERT_EQ(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), CUDA_SUCCESS);
    ASSERT_EQ(cuEventRecord(fork, stream), CUDA_SUCCESS);
    ASSERT_EQ(cuStreamWaitEvent(side, fork, 0), CUDA_SUCCESS);
    ASSERT_EQ(launchScale(x.address, 2, side), CUDA_SUCCESS);
    CUstreamCaptureStatus status;
    ASSERT_EQ(cuStreamIsCapturing(side, &status), CUDA_SUCCESS);
    EXPECT_EQ(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
    if (isJoined) {
      ASSERT_EQ(cuEventRecord(join, side), CUDA_SUCCESS);
      ASSERT_EQ(cuStreamWaitEvent(stream, join, 0), CUDA_SUCCESS);
    }
    CUgraph graph = nullptr;
    EXPECT_EQ(cuStreamEndCapture(stream, &graph), isJoined ? CUDA_SUCCESS : CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
    EXPECT_EQ(graph != nullptr, isJoined);
  }
}

TEST_F(GraphTest, whatACaptureForbidsEndsIt) {
  ASSERT_EQ(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
  CUdeviceptr memory = 0;
  EXPECT_EQ(cuMemAlloc_v2(&memory, 16), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  EXPECT_EQ(cuStreamSynchronize(stream), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  CUgraph graph = nullptr;
  EXPECT_EQ(cuStreamEndCapture(stream, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  EXPECT_EQ(cuStreamEndCapture(stream, &graph), CUDA_ERROR_ILLEGAL_STATE);
  EXPECT_EQ(cuStreamBeginCapture_v2(nullptr, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
}

TEST_F(GraphTest, eventsMeasureTime) {
  CUevent start = nullptr, end = nullptr;
  ASSERT_EQ(cuEventCreate(&start, CU_EVENT_DEFAULT), CUDA_SUCCESS);
  ASSERT_EQ(cuEventCreate(&end, CU_EVENT_DEFAULT), CUDA_SUCCESS);
  float milliseconds = -1;
  EXPECT_EQ(cuEventElapsedTime(&milliseconds, start, end), CUDA_ERROR_INVALID_HANDLE); // not recorded
  ASSERT_EQ(cuEventRecord(start, stream), CUDA_SUCCESS);
  ASSERT_EQ(cuEventRecord(end, stream), CUDA_SUCCESS);
  EXPECT_EQ(cuEventQuery(end), CUDA_SUCCESS);
  EXPECT_EQ(cuEventElapsedTime(&milliseconds, start, end), CUDA_SUCCESS);
  EXPECT_GE(milliseconds, 0.0f);
  EXPECT_LT(milliseconds, 10000.0f);
}

TEST_F(GraphTest, hostFunctionsRunInTheirTurn) {
  int value = 1;
  EXPECT_EQ(cuLaunchHostFunc(stream, [](void *data) { *static_cast<int *>(data) = 2; }, &value), CUDA_SUCCESS);
  EXPECT_EQ(value, 2);
}

} // namespace
} // namespace nncc::cuemu::test
