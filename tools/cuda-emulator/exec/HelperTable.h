// The functions that translated code calls, by the names under which it calls them.
#pragma once

#include <span>

namespace nncc::cuemu {

struct Helper {
  const char *name;
  void *address;
};

std::span<const Helper> helperTable();

} // namespace nncc::cuemu
