// Between DLPack tensors and the runtime's TensorView: types, devices and layouts are checked here.
#pragma once

#include "nncc/nncc.h"
#include "runtime/Memory.h"
#include "runtime/Tensor.h"

#include <memory>
#include <optional>

namespace nncc::rt {

DLDataType toDLDataType(DType type);
/// Nothing for a type that nncc does not know.
std::optional<DType> fromDLDataType(DLDataType type);

/// `role` and `name` ("input", "image") stand in the message of a user error: memory of another
/// kind than MemoryPlace knows, a type that nncc does not know, a tensor that is not compact.
Result<TensorView> viewOf(const DLTensor &tensor, const char *role, const std::string &name);

/// A tensor over `data`, whose deleter drops `memory`.
DLManagedTensorVersioned *makeTensor(DType type, std::span<const int64_t> shape, void *data,
                                     DLDevice device, std::shared_ptr<void> memory);

/// An uninitialised tensor on the CPU whose deleter gives its memory back to the allocator.
Result<DLManagedTensorVersioned *> allocateTensor(DType type, std::span<const int64_t> shape,
                                                  int64_t sizeBytes, const Allocator &allocator);

} // namespace nncc::rt
