// The element types of nncc, shared by the compiler (which maps them to MLIR types), the runtime
// and the file formats. Header only, free of LLVM.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace nncc {

enum class DType : uint8_t { F32, F16, BF16, F64, I8, U8, I32, I64, Bool };

/// Bytes of one element in memory; Bool takes a whole byte.
constexpr int64_t sizeBytesOf(DType type) {
  switch (type) {
  case DType::F64:
  case DType::I64:
    return 8;
  case DType::F32:
  case DType::I32:
    return 4;
  case DType::F16:
  case DType::BF16:
    return 2;
  case DType::I8:
  case DType::U8:
  case DType::Bool:
    return 1;
  }
  return 0;
}

/// The spelling used in .nn text, in error messages and in Program JSON.
constexpr std::string_view nameOf(DType type) {
  switch (type) {
  case DType::F32:
    return "f32";
  case DType::F16:
    return "f16";
  case DType::BF16:
    return "bf16";
  case DType::F64:
    return "f64";
  case DType::I8:
    return "i8";
  case DType::U8:
    return "u8";
  case DType::I32:
    return "i32";
  case DType::I64:
    return "i64";
  case DType::Bool:
    return "bool";
  }
  return "?";
}

constexpr std::optional<DType> dtypeNamed(std::string_view name) {
  for (int i = 0; i <= static_cast<int>(DType::Bool); ++i)
    if (nameOf(static_cast<DType>(i)) == name)
      return static_cast<DType>(i);
  return std::nullopt;
}

} // namespace nncc
