// The exit statuses of all programs, and which one an error leads to. What the user named (models,
// data, weights, outputs that cannot be written, a full disk) counts as his input and ends with 1;
// what no other arguments would mend (libraries, memory, threads, the device) with 4.
#pragma once

#include "support/Error.h"

namespace nncc::tools {

enum ExitStatus : int {
  kDone = 0,
  kBadInput = 1,    ///< the model or the data is wrong, or an output cannot be written
  kUsage = 2,       ///< the command line is wrong
  kMismatch = 3,    ///< a comparison failed
  kEnvironment = 4, ///< a library, the device, threads or memory
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
