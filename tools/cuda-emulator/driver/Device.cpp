// What the emulated device says of itself: limits by compute capability, from the public tables of the CUDA
// programming guide.
#include "tools/cuda-emulator/driver/State.h"

namespace nncc::cuemu {
namespace {

struct Limits {
  int capability; ///< 10 * major + minor, the first that the row holds for
  int sharedPerMultiprocessor, sharedPerBlockOptIn;
  int threadsPerMultiprocessor, blocksPerMultiprocessor;
};

constexpr Limits limitsTable[] = {
    {75, 64 << 10, 64 << 10, 1024, 16},   {80, 164 << 10, 163 << 10, 2048, 32}, {86, 100 << 10, 99 << 10, 1536, 16},
    {87, 164 << 10, 163 << 10, 1536, 16}, {89, 100 << 10, 99 << 10, 1536, 24},  {90, 228 << 10, 227 << 10, 2048, 32},
    {120, 100 << 10, 99 << 10, 1536, 24},
};

const Limits &limitsOf(const Settings &settings) {
  int capability = 10 * settings.capabilityMajor + settings.capabilityMinor;
  const Limits *result = &limitsTable[0];
  for (const Limits &row : limitsTable)
    if (row.capability <= capability)
      result = &row;
  return *result;
}

} // namespace

int deviceAttribute(const Settings &settings, CUdevice_attribute attribute, bool &isKnown) {
  const Limits &limits = limitsOf(settings);
  isKnown = true;
  switch (attribute) {
  case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
  case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X:
  case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y:
    return 1024;
  case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z:
    return 64;
  case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X:
    return 2147483647;
  case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y:
  case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z:
    return 65535;
  case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK:
    return 48 << 10;
  case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
    return limits.sharedPerBlockOptIn;
  case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR:
    return limits.sharedPerMultiprocessor;
  case CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK:
    return settings.capabilityMajor >= 8 ? 1 << 10 : 0;
  case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR:
    return limits.threadsPerMultiprocessor;
  case CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR:
    return limits.blocksPerMultiprocessor;
  case CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY:
    return 64 << 10;
  case CU_DEVICE_ATTRIBUTE_WARP_SIZE:
    return 32;
  case CU_DEVICE_ATTRIBUTE_MAX_PITCH:
    return 2147483647;
  case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK:
  case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR:
    return 64 << 10;
  case CU_DEVICE_ATTRIBUTE_CLOCK_RATE:
    return 1000000; // kHz: one clock per nanosecond, as %clock counts
  case CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE:
    return 1000000;
  case CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH:
    return 256;
  case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE:
    return 4 << 20;
  case CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT:
    return 512;
  case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
    return settings.multiprocessorCount;
  case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
    return settings.capabilityMajor;
  case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
    return settings.capabilityMinor;
  case CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY:
  case CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS:
  case CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT:
  case CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING:
  case CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED:
  case CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED:
  case CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED:
    return 1;
  case CU_DEVICE_ATTRIBUTE_KERNEL_EXEC_TIMEOUT:
    return settings.timeLimitSeconds > 0;
  case CU_DEVICE_ATTRIBUTE_INTEGRATED:
  case CU_DEVICE_ATTRIBUTE_COMPUTE_MODE:
  case CU_DEVICE_ATTRIBUTE_ECC_ENABLED:
  case CU_DEVICE_ATTRIBUTE_PCI_BUS_ID:
  case CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID:
  case CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID:
  case CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY:
  case CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS:
  case CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH:
  case CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH:
    return 0;
  }
  isKnown = false;
  return 0;
}

} // namespace nncc::cuemu
