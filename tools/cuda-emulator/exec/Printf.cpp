// printf of the device: the format with arguments that lie one behind the other, each aligned to its size.
// The text goes to the standard output of the process, which is where the driver puts it.
#include "tools/cuda-emulator/exec/ThreadContext.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>

namespace nncc::cuemu {
namespace {

template <typename T> T takeArgument(const uint8_t *&cursor) {
  auto address = reinterpret_cast<uintptr_t>(cursor);
  cursor += (sizeof(T) - address % sizeof(T)) % sizeof(T);
  T value;
  std::memcpy(&value, cursor, sizeof(value));
  cursor += sizeof(T);
  return value;
}

template <typename T> void append(std::string &text, const std::string &format, T value) {
  char buffer[512];
  int length = std::snprintf(buffer, sizeof(buffer), format.c_str(), value);
  text.append(buffer, static_cast<size_t>(std::min<int>(std::max(length, 0), sizeof(buffer) - 1)));
}

} // namespace

extern "C" int32_t emuPrintf(ThreadContext *, const char *format, const void *arguments) {
  auto *cursor = static_cast<const uint8_t *>(arguments);
  std::string text;
  int32_t count = 0;
  for (const char *at = format; *at; at++) {
    if (*at != '%' || at[1] == '%') {
      text += *at;
      at += *at == '%';
      continue;
    }
    const char *begin = at++;
    while (*at && std::strchr("-+ #0123456789.", *at))
      at++;
    bool isLong = false;
    while (*at == 'l' || *at == 'h' || *at == 'z') {
      isLong |= *at == 'l' || *at == 'z';
      at++;
    }
    if (!*at)
      break;
    std::string specification(begin, at + 1);
    count++;
    if (std::strchr("diouxX", *at))
      isLong ? append(text, specification, takeArgument<int64_t>(cursor))
             : append(text, specification, takeArgument<int32_t>(cursor));
    else if (*at == 'c')
      append(text, specification, takeArgument<int32_t>(cursor));
    else if (std::strchr("fFeEgGaA", *at))
      append(text, specification, takeArgument<double>(cursor));
    else if (*at == 's' || *at == 'p')
      append(text, specification, takeArgument<const char *>(cursor));
    else
      text += specification;
  }
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
  return count;
}

} // namespace nncc::cuemu
