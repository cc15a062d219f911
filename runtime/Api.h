// The C interface for one model descriptor: the bridge from include/nncc/nncc.h to Instance and
// LoadedProgram; and the conventions of that interface, for libraries that offer more of it.
#pragma once

#include "nncc/nncc.h"
#include "runtime/ModelDescriptor.h"
#include "support/Error.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <new>
#include <string>

namespace nncc::rt {

constexpr nncc_status statusOf(ErrorKind kind) {
  switch (kind) {
  case ErrorKind::User:
    return NNCC_USER_ERROR;
  case ErrorKind::Environment:
    return NNCC_ENVIRONMENT_ERROR;
  case ErrorKind::Internal:
    break;
  }
  return NNCC_INTERNAL_ERROR;
}

/// A caller's struct as this library knows it: fields that the caller's version has not got are
/// zero.
template <typename T> Result<T> readSized(const T *given) {
  T value{};
  if (!given)
    return value;
  if (given->size == 0)
    return userError("an options struct has size 0; set its size field to sizeof(the struct)");
  std::memcpy(&value, given, std::min<size_t>(given->size, sizeof(T)));
  return value;
}

/// Runs `body`, which returns a Result<void>, and keeps the text of its error. Behind every function
/// of the C interface: no exception leaves it, not even one of the caller's own callbacks.
template <typename Body> nncc_status guarded(std::string &errorText, Body body) noexcept {
  constexpr const char *kNoMemory = "out of memory"; // short enough for a string to need none
  try {
    try {
      Result<void> result = body();
      if (result)
        return NNCC_OK;
      errorText = std::move(result.error().message);
      return statusOf(result.error().kind);
    } catch (const std::bad_alloc &) {
      errorText = kNoMemory;
      return NNCC_ENVIRONMENT_ERROR;
    } catch (const std::exception &exception) {
      errorText = exception.what();
    } catch (...) {
      errorText = "an exception of an unknown type was thrown";
    }
    return NNCC_INTERNAL_ERROR;
  } catch (const std::bad_alloc &) { // by the text of the error
    errorText = kNoMemory;
    return NNCC_ENVIRONMENT_ERROR;
  }
}

/// The functions, bound to this descriptor. The descriptor must outlive all that is created through
/// them. A model.so returns the struct from nncc_model_get_api; the JIT keeps it beside the
/// descriptor that it filled.
nncc_api makeApi(const ModelDescriptor &descriptor);

} // namespace nncc::rt
