// The exit statuses of all programs, and which one an error leads to.
#pragma once

#include "support/Error.h"

namespace nncc::tools {

enum ExitStatus : int {
  kDone = 0,
  kBadInput = 1,    ///< the model or the data is wrong
  kUsage = 2,       ///< the command line is wrong
  kMismatch = 3,    ///< a comparison failed
  kEnvironment = 4, ///< a file, a library, the device or memory
  kBug = 70,        ///< a bug in nncc (EX_SOFTWARE)
};

inline ExitStatus exitStatusOf(ErrorKind kind) {
  switch (kind) {
  case ErrorKind::User:
    return kBadInput;
  case ErrorKind::Environment:
    return kEnvironment;
  case ErrorKind::Internal:
    return kBug;
  }
  return kBug;
}

} // namespace nncc::tools
