// IDX files (the format of MNIST), plain or compressed by gzip. Leaves native byte order.
#pragma once

#include "runtime/HostTensor.h"
#include "support/Error.h"

#include <string>

namespace nncc::data {

Result<rt::HostTensor> readIdx(const std::string &path);

} // namespace nncc::data
