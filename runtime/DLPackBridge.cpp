// DLPack tensors in and out.
#include "runtime/DLPackBridge.h"

#include <algorithm>
#include <memory>

namespace nncc::rt {
namespace {

bool isCompact(const DLTensor &tensor) {
  if (!tensor.strides)
    return true;
  if (std::find(tensor.shape, tensor.shape + tensor.ndim, 0) != tensor.shape + tensor.ndim)
    return true;
  int64_t expected = 1;
  for (int32_t d = tensor.ndim; d-- > 0;) {
    if (tensor.shape[d] != 1 && tensor.strides[d] != expected)
      return false;
    if (__builtin_mul_overflow(expected, tensor.shape[d], &expected))
      return false;
  }
  return true;
}

std::optional<MemoryPlace> placeOf(DLDevice device) {
  switch (device.device_type) {
  case kDLCPU:
    return MemoryPlace{};
  case kDLCUDAHost:
    return MemoryPlace{MemoryPlace::PinnedHost, 0};
  case kDLCUDA:
  case kDLCUDAManaged:
    return MemoryPlace{MemoryPlace::Cuda, device.device_id};
  default:
    return std::nullopt;
  }
}

/// What an allocated tensor owns; the tensor's shape points into it.
struct OwnedTensor {
  DLManagedTensorVersioned tensor{};
  std::vector<int64_t> shape;
  std::shared_ptr<void> memory;
};

void deleteOwned(DLManagedTensorVersioned *self) {
  delete static_cast<OwnedTensor *>(self->manager_ctx);
}

} // namespace

DLDataType toDLDataType(DType type) {
  auto make = [&](DLDataTypeCode code) {
    return DLDataType{static_cast<uint8_t>(code), static_cast<uint8_t>(sizeBytesOf(type) * 8), 1};
  };
  switch (type) {
  case DType::F32:
  case DType::F16:
  case DType::F64:
    return make(kDLFloat);
  case DType::BF16:
    return make(kDLBfloat);
  case DType::I8:
  case DType::I32:
  case DType::I64:
    return make(kDLInt);
  case DType::U8:
    return make(kDLUInt);
  case DType::Bool:
    return make(kDLBool);
  }
  return make(kDLOpaqueHandle);
}

std::optional<DType> fromDLDataType(DLDataType type) {
  for (int i = 0; i <= static_cast<int>(DType::Bool); ++i) {
    DLDataType candidate = toDLDataType(static_cast<DType>(i));
    if (candidate.code == type.code && candidate.bits == type.bits && candidate.lanes == type.lanes)
      return static_cast<DType>(i);
  }
  return std::nullopt;
}

Result<TensorView> viewOf(const DLTensor &tensor, const char *role, const std::string &name) {
  auto fail = [&](const std::string &what) {
    return userError(std::string(role) + " \"" + name + "\": " + what);
  };
  std::optional<MemoryPlace> place = placeOf(tensor.device);
  if (!place)
    return fail("expected a tensor in CPU or CUDA memory, found DLPack device type " +
                std::to_string(static_cast<int>(tensor.device.device_type)));
  if (tensor.ndim < 0 || (tensor.ndim > 0 && !tensor.shape))
    return fail("its shape is missing");
  std::optional<DType> dtype = fromDLDataType(tensor.dtype);
  if (!dtype)
    return fail("unknown DLPack element type (code " + std::to_string(tensor.dtype.code) + ", " +
                std::to_string(tensor.dtype.bits) + " bits, " + std::to_string(tensor.dtype.lanes) +
                " lanes)");
  if (!isCompact(tensor))
    return fail(
        "expected a compact row-major tensor, found other strides; make it contiguous first");
  TensorView view;
  view.dtype = *dtype;
  view.shape = {tensor.shape, static_cast<size_t>(tensor.ndim)};
  view.place = *place;
  view.data = tensor.data ? static_cast<char *>(tensor.data) + tensor.byte_offset : nullptr;
  return view;
}

DLManagedTensorVersioned *makeTensor(DType type, std::span<const int64_t> shape, void *data,
                                     DLDevice device, std::shared_ptr<void> memory) {
  auto owned = std::make_unique<OwnedTensor>();
  owned->memory = std::move(memory);
  owned->shape.assign(shape.begin(), shape.end());
  DLManagedTensorVersioned &tensor = owned->tensor;
  tensor.version = {DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION};
  tensor.manager_ctx = owned.get();
  tensor.deleter = &deleteOwned;
  tensor.dl_tensor.data = data;
  tensor.dl_tensor.device = device;
  tensor.dl_tensor.ndim = static_cast<int32_t>(shape.size());
  tensor.dl_tensor.dtype = toDLDataType(type);
  tensor.dl_tensor.shape = owned->shape.data();
  return &owned.release()->tensor;
}

Result<DLManagedTensorVersioned *> allocateTensor(DType type, std::span<const int64_t> shape,
                                                  int64_t sizeBytes, const Allocator &allocator) {
  Result<MemoryBlock> memory = MemoryBlock::allocate(static_cast<size_t>(sizeBytes), allocator);
  if (!memory)
    return memory.error();
  auto owner = std::make_shared<MemoryBlock>(std::move(*memory));
  void *data = owner->bytes();
  return makeTensor(type, shape, data, {kDLCPU, 0}, std::move(owner));
}

} // namespace nncc::rt
