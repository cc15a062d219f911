// The outermost layer of a program: exceptions of libraries become errors, and an error the message for its user.
#pragma once

#include "support/Error.h"

#include <fmt/format.h>

#include <cstdio>
#include <new>
#include <stdexcept>
#include <system_error>

namespace nncc::tools {

/// What `run`, which returns a Result, returns; what it throws becomes an error.
template <typename Run> auto guarded(Run run) -> decltype(run()) {
  try {
    return run();
  } catch (const std::system_error &error) { // fmt::print
    return userError(fmt::format("cannot write to standard output: {}", error.code().message()));
  } catch (const std::bad_alloc &) {
    return environmentError("out of memory");
  } catch (const std::length_error &) {
    return environmentError("out of memory");
  } catch (const std::exception &exception) {
    return internalError(exception.what());
  }
}

/// Diagnostics of a compilation come with their own place and severity.
inline void printError(const std::string &message, bool isColored) {
  bool isRendered = message.find(": error: ") != std::string::npos;
  fmt::print(stderr, "{}{}\n", isRendered ? "" : isColored ? "\033[1;31merror:\033[0m " : "error: ", message);
}

} // namespace nncc::tools
