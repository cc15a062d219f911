// Names and sizes of PTX's types, and the small questions that the tree answers about itself.
#include "tools/cuda-emulator/ptx/Ast.h"

#include <array>
#include <utility>

namespace nncc::cuemu::ptx {
namespace {

struct TypeInfo {
  const char *name;
  Type type;
  int bits;
};

constexpr std::array<TypeInfo, 20> types = {{
    {"b8", Type::B8, 8},       {"b16", Type::B16, 16},       {"b32", Type::B32, 32},
    {"b64", Type::B64, 64},    {"b128", Type::B128, 128},    {"u8", Type::U8, 8},
    {"u16", Type::U16, 16},    {"u32", Type::U32, 32},       {"u64", Type::U64, 64},
    {"s8", Type::S8, 8},       {"s16", Type::S16, 16},       {"s32", Type::S32, 32},
    {"s64", Type::S64, 64},    {"f16", Type::F16, 16},       {"f16x2", Type::F16x2, 32},
    {"bf16", Type::BF16, 16},  {"bf16x2", Type::BF16x2, 32}, {"f32", Type::F32, 32},
    {"f64", Type::F64, 64},    {"pred", Type::Pred, 1},
}};

} // namespace

Type parseType(const std::string &name) {
  for (const TypeInfo &info : types)
    if (name == info.name)
      return info.type;
  return Type::None;
}

int bitWidth(Type type) {
  for (const TypeInfo &info : types)
    if (info.type == type)
      return info.bits;
  return 0;
}

bool isSigned(Type type) {
  return type == Type::S8 || type == Type::S16 || type == Type::S32 || type == Type::S64;
}

bool isFloat(Type type) {
  return type == Type::F16 || type == Type::F16x2 || type == Type::BF16 || type == Type::BF16x2 ||
         type == Type::F32 || type == Type::F64;
}

const char *typeName(Type type) {
  for (const TypeInfo &info : types)
    if (info.type == type)
      return info.name;
  return "none";
}

std::string Instruction::fullName() const {
  std::string name = opcode;
  for (const std::string &modifier : modifiers)
    name += "." + modifier;
  return name;
}

int64_t Variable::sizeBytes() const {
  int64_t element = int64_t{bitWidth(type)} / 8 * vectorSize;
  return isArray ? element * elementCount : element;
}

} // namespace nncc::cuemu::ptx
