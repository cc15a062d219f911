// How a function reports that it could not do its work: a Result holds either the value or an
// Error, which says in one message what was expected, what was found and what to do, and whose
// mistake it is. Used by the runtime, the file formats and the tools; the compiler's passes use
// MLIR diagnostics instead. Header only, free of LLVM and of exceptions.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>

namespace nncc {

enum class ErrorKind : uint8_t {
  User,        ///< the model, the data, the arguments or the files that they name are wrong
  Environment, ///< a library, the device, threads or memory are not as needed
  Internal,    ///< a bug in nncc
};

struct Error {
  ErrorKind kind = ErrorKind::Internal;
  std::string message;
};

inline Error userError(std::string message) { return {ErrorKind::User, std::move(message)}; }
inline Error environmentError(std::string message) {
  return {ErrorKind::Environment, std::move(message)};
}
inline Error internalError(std::string message) {
  return {ErrorKind::Internal, std::move(message)};
}

template <typename T> class [[nodiscard]] Result {
public:
  Result(T value) : state(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state(std::in_place_index<1>, std::move(error)) {}

  explicit operator bool() const { return state.index() == 0; }
  T &operator*() { return *std::get_if<0>(&state); }
  const T &operator*() const { return *std::get_if<0>(&state); }
  T *operator->() { return std::get_if<0>(&state); }
  const T *operator->() const { return std::get_if<0>(&state); }

  /// The error of a failed result; not to be called on a successful one.
  Error &error() { return *std::get_if<1>(&state); }
  const Error &error() const { return *std::get_if<1>(&state); }

private:
  std::variant<T, Error> state;
};

template <> class [[nodiscard]] Result<void> {
public:
  Result() = default;
  Result(Error error) : failed(true), failure(std::move(error)) {}

  explicit operator bool() const { return !failed; }
  Error &error() { return failure; }
  const Error &error() const { return failure; }

private:
  bool failed = false;
  Error failure;
};

} // namespace nncc
