// Graphs: what a capture recorded, instantiated as a list of operations that a launch executes in order.
#include "tools/cuda-emulator/driver/State.h"

namespace nncc::cuemu {
namespace {

GraphNode *findNode(CUgraphNode handle) {
  auto entry = state().graphNodes.find(handle);
  return entry == state().graphNodes.end() ? nullptr : entry->second;
}

} // namespace

namespace calls {

CUresult cuGraphInstantiateWithFlags(CUgraphExec *handle, CUgraph graphHandle, unsigned long long) {
  Context *context = currentContext();
  if (!context)
    return CUDA_ERROR_INVALID_CONTEXT;
  Graph *graph = state().graphs.find(graphHandle);
  if (!handle || !graph)
    return CUDA_ERROR_INVALID_VALUE;
  auto exec = std::make_unique<GraphExec>();
  exec->context = context;
  for (auto &node : graph->nodes) {
    exec->operations.push_back(node->operation);
    exec->sources.push_back(node.get());
  }
  *handle = state().graphExecs.add(std::move(exec));
  return CUDA_SUCCESS;
}

CUresult cuGraphLaunch(CUgraphExec handle, CUstream stream) {
  GraphExec *exec = state().graphExecs.find(handle);
  if (!exec)
    return CUDA_ERROR_INVALID_VALUE;
  Stream *found = findStream(stream);
  if (!found)
    return CUDA_ERROR_INVALID_HANDLE;
  if (found->capture)
    return refuseWhileCapturing(*found); // a graph inside a graph is not supported
  for (const Operation &operation : exec->operations) {
    // The function may have been unloaded since.
    if (operation.type == CU_GRAPH_NODE_TYPE_KERNEL &&
        !state().functions.count(reinterpret_cast<CUfunction>(operation.kernel.function)))
      return CUDA_ERROR_INVALID_HANDLE;
    if (CUresult result = execute(*exec->context, operation); result != CUDA_SUCCESS) {
      exec->context->stickyError = result;
      return CUDA_SUCCESS;
    }
    if (exec->context->stickyError != CUDA_SUCCESS)
      break;
  }
  return CUDA_SUCCESS;
}

CUresult cuGraphUpload(CUgraphExec exec, CUstream stream) {
  if (!state().graphExecs.find(exec))
    return CUDA_ERROR_INVALID_VALUE;
  return findStream(stream) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuGraphExecDestroy(CUgraphExec exec) {
  return state().graphExecs.remove(exec) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGraphDestroy(CUgraph handle) {
  Graph *graph = state().graphs.find(handle);
  if (!graph)
    return CUDA_ERROR_INVALID_VALUE;
  for (auto &node : graph->nodes)
    state().graphNodes.erase(reinterpret_cast<CUgraphNode>(node.get()));
  state().graphs.remove(handle);
  return CUDA_SUCCESS;
}

CUresult cuGraphGetNodes(CUgraph handle, CUgraphNode *nodes, size_t *count) {
  Graph *graph = state().graphs.find(handle);
  if (!graph || !count)
    return CUDA_ERROR_INVALID_VALUE;
  size_t total = graph->nodes.size();
  for (size_t i = 0; nodes && i < *count; i++)
    nodes[i] = i < total ? reinterpret_cast<CUgraphNode>(graph->nodes[i].get()) : nullptr;
  if (!nodes || *count > total)
    *count = total;
  return CUDA_SUCCESS;
}

CUresult cuGraphNodeGetType(CUgraphNode handle, CUgraphNodeType *type) {
  GraphNode *node = findNode(handle);
  if (!node || !type)
    return CUDA_ERROR_INVALID_VALUE;
  *type = node->operation.type;
  return CUDA_SUCCESS;
}

CUresult cuGraphKernelNodeGetParams_v2(CUgraphNode handle, CUDA_KERNEL_NODE_PARAMS_v2 *params) {
  GraphNode *node = findNode(handle);
  if (!node || !params || node->operation.type != CU_GRAPH_NODE_TYPE_KERNEL)
    return CUDA_ERROR_INVALID_VALUE;
  KernelLaunch &launch = node->operation.kernel;
  node->parameterPointers.clear();
  for (const KernelParameter &parameter : launch.function->kernel->parameters)
    node->parameterPointers.push_back(launch.parameters.data() + parameter.offsetBytes);
  *params = {};
  params->func = reinterpret_cast<CUfunction>(launch.function);
  params->gridDimX = launch.grid[0];
  params->gridDimY = launch.grid[1];
  params->gridDimZ = launch.grid[2];
  params->blockDimX = launch.block[0];
  params->blockDimY = launch.block[1];
  params->blockDimZ = launch.block[2];
  params->sharedMemBytes = launch.dynamicSharedBytes;
  params->kernelParams = node->parameterPointers.data();
  return CUDA_SUCCESS;
}

CUresult cuGraphExecKernelNodeSetParams_v2(CUgraphExec execHandle, CUgraphNode handle,
                                           const CUDA_KERNEL_NODE_PARAMS_v2 *params) {
  GraphExec *exec = state().graphExecs.find(execHandle);
  GraphNode *node = findNode(handle);
  if (!exec || !node || !params)
    return CUDA_ERROR_INVALID_VALUE;
  for (size_t i = 0; i < exec->sources.size(); i++) {
    if (exec->sources[i] != node)
      continue;
    if (exec->operations[i].type != CU_GRAPH_NODE_TYPE_KERNEL)
      return CUDA_ERROR_INVALID_VALUE;
    auto function = state().functions.find(params->func);
    if (function == state().functions.end())
      return CUDA_ERROR_INVALID_HANDLE;
    KernelLaunch launch;
    launch.function = function->second;
    const unsigned grid[] = {params->gridDimX, params->gridDimY, params->gridDimZ};
    const unsigned block[] = {params->blockDimX, params->blockDimY, params->blockDimZ};
    std::copy(grid, grid + 3, launch.grid);
    std::copy(block, block + 3, launch.block);
    launch.dynamicSharedBytes = params->sharedMemBytes;
    if (CUresult result = checkLaunch(launch); result != CUDA_SUCCESS)
      return result;
    if (CUresult result = gatherParameters(*launch.function, params->kernelParams, params->extra, launch.parameters);
        result != CUDA_SUCCESS)
      return result;
    exec->operations[i].kernel = std::move(launch);
    return CUDA_SUCCESS;
  }
  return CUDA_ERROR_INVALID_VALUE;
}

// The new graph must have the same nodes in the same order; then its parameters replace the old ones.
CUresult cuGraphExecUpdate_v2(CUgraphExec execHandle, CUgraph graphHandle, CUgraphExecUpdateResultInfo *info) {
  GraphExec *exec = state().graphExecs.find(execHandle);
  Graph *graph = state().graphs.find(graphHandle);
  if (!exec || !graph || !info)
    return CUDA_ERROR_INVALID_VALUE;
  *info = {};
  if (exec->operations.size() != graph->nodes.size()) {
    info->result = CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
    return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
  }
  for (size_t i = 0; i < graph->nodes.size(); i++)
    if (graph->nodes[i]->operation.type != exec->operations[i].type) {
      info->result = CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED;
      info->errorNode = reinterpret_cast<CUgraphNode>(graph->nodes[i].get());
      return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
    }
  for (size_t i = 0; i < graph->nodes.size(); i++)
    exec->operations[i] = graph->nodes[i]->operation;
  return CUDA_SUCCESS;
}

} // namespace calls
} // namespace nncc::cuemu
