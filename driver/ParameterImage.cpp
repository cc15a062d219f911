// Weights for the first load; see ParameterImage.h.

#include "driver/ParameterImage.h"
#include "ir/NN.h"
#include "ir/Shape.h"
#include "runtime/File.h"
#include "runtime/Safetensors.h"
#include "support/Philox.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/xxhash.h"

#include <cmath>
#include <numbers>
#include <unistd.h>

using namespace nncc;
using namespace nncc::driver;

namespace {

/// Random numbers of one parameter: a function of seed, name and element number alone, so that
/// adding a layer changes no other layer's start.
class ParameterRandom {
public:
  ParameterRandom(uint64_t seed, llvm::StringRef name)
      : key{uint32_t(seed), uint32_t(seed >> 32)}, stream(llvm::xxh3_64bits(name)) {}

  double uniform(uint64_t element, double low, double high) {
    return low + (high - low) * toUnitInterval(block(element / 4)[element % 4]);
  }

  /// Box-Muller: two of a block's numbers give two results.
  double normal(uint64_t element, double mean, double deviation) {
    const PhiloxCounter &bits = block(element / 4);
    size_t pair = element % 4 / 2 * 2;
    double radius = std::sqrt(-2 * std::log(1.0 - toUnitInterval(bits[pair])));
    double angle = 2 * std::numbers::pi * toUnitInterval(bits[pair + 1]);
    return mean + deviation * radius * (element % 2 ? std::sin(angle) : std::cos(angle));
  }

private:
  const PhiloxCounter &block(uint64_t index) {
    if (index != cachedIndex) {
      cached = philox4x32(
          {uint32_t(index), uint32_t(index >> 32), uint32_t(stream), uint32_t(stream >> 32)}, key);
      cachedIndex = index;
    }
    return cached;
  }

  PhiloxKey key;
  uint64_t stream;
  uint64_t cachedIndex = UINT64_MAX;
  PhiloxCounter cached{};
};

/// Appends `value` as the element type stores it.
void appendElement(std::string &data, DType dtype, double value) {
  auto append = [&](auto number) {
    data.append(reinterpret_cast<const char *>(&number), sizeof number);
  };
  auto appendHalf = [&](const llvm::fltSemantics &semantics) {
    llvm::APFloat number(value);
    bool losesInfo;
    number.convert(semantics, llvm::APFloat::rmNearestTiesToEven, &losesInfo);
    append(static_cast<uint16_t>(number.bitcastToAPInt().getZExtValue()));
  };
  switch (dtype) {
  case DType::F32:
    return append(static_cast<float>(value));
  case DType::F64:
    return append(value);
  case DType::F16:
    return appendHalf(llvm::APFloat::IEEEhalf());
  case DType::BF16:
    return appendHalf(llvm::APFloat::BFloat());
  case DType::I8:
    return append(static_cast<int8_t>(value));
  case DType::U8:
  case DType::Bool:
    return append(static_cast<uint8_t>(value));
  case DType::I32:
    return append(static_cast<int32_t>(value));
  case DType::I64:
    return append(static_cast<int64_t>(value));
  }
}

std::string initialise(nn::ParameterOp parameter, DType dtype, int64_t count, uint64_t seed) {
  nn::InitAttr init = parameter.getInitAttr();
  llvm::StringRef kind = init ? init.getKind() : "zeros";
  double a = init ? init.getA().convertToDouble() : 0, b = init ? init.getB().convertToDouble() : 0;
  ParameterRandom random(seed, parameter.getSymName());
  std::string data;
  data.reserve(count * sizeBytesOf(dtype));
  for (int64_t i = 0; i < count; ++i) {
    double value = kind == "uniform"    ? random.uniform(i, a, b)
                   : kind == "normal"   ? random.normal(i, a, b)
                   : kind == "constant" ? a
                   : kind == "ones"     ? 1.0
                                        : 0.0;
    appendElement(data, dtype, value);
  }
  return data;
}

/// The raw bytes of a constant; splats are repeated.
std::string bytesOf(mlir::ElementsAttr value, DType dtype, int64_t count) {
  std::string data;
  if (auto dense = mlir::dyn_cast<mlir::DenseElementsAttr>(value);
      dense && !dense.getElementType().isInteger(1)) {
    llvm::ArrayRef<char> raw = dense.getRawData();
    for (int64_t i = 0; i < (dense.isSplat() ? count : 1); ++i)
      data.append(raw.data(), raw.size());
    return data;
  }
  if (auto resource = mlir::dyn_cast<mlir::DenseResourceElementsAttr>(value)) {
    llvm::ArrayRef<char> raw = resource.getData();
    return std::string(raw.data(), raw.size());
  }
  if (auto bits = value.tryGetValues<bool>())
    for (bool bit : *bits)
      appendElement(data, dtype, bit);
  return data;
}

} // namespace

/// Refuses parameters that this machine cannot hold: an allocation that fails ends the process.
static std::optional<Error> checkMemory(mlir::ModuleOp module) {
  CheckedSize total = 0;
  for (auto parameter : module.getOps<nn::ParameterOp>()) {
    auto type = mlir::cast<mlir::RankedTensorType>(parameter.getType());
    std::optional<DType> dtype = nn::dtypeOf(type.getElementType());
    total += CheckedSize(type.getNumElements()) * (dtype ? sizeBytesOf(*dtype) : 0);
  }
  CheckedSize memory = CheckedSize(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
  constexpr int64_t mib = int64_t(1) << 20;
  if (total.valid() && (!memory.valid() || *total.get() <= *memory.get()))
    return std::nullopt;
  return environmentError("the parameters take " + std::to_string(total.getOr(INT64_MAX) / mib) +
                          " MiB, more than this machine's memory of " +
                          std::to_string(memory.getOr(0) / mib) + " MiB");
}

Result<std::string> driver::makeParameterImage(mlir::ModuleOp module,
                                               const WeightsOptions &options) {
  rt::MappedFile file;
  rt::Safetensors given;
  if (!options.path.empty()) {
    auto mapped = rt::MappedFile::open(options.path);
    if (!mapped)
      return mapped.error();
    file = std::move(*mapped);
    auto parsed = rt::Safetensors::parse(file.bytes(), options.path);
    if (!parsed)
      return parsed.error();
    given = std::move(*parsed);
  }

  if (std::optional<Error> error = checkMemory(module))
    return *error;
  std::vector<std::string> storage; // the spans below point into it
  storage.reserve(std::distance(module.getOps<nn::ParameterOp>().begin(),
                                module.getOps<nn::ParameterOp>().end()));
  std::vector<rt::SafetensorsSource> tensors;
  llvm::StringSet<> names;
  for (auto parameter : module.getOps<nn::ParameterOp>()) {
    if (!options.path.empty() && !parameter.getValueAttr())
      continue;
    auto type = mlir::cast<mlir::RankedTensorType>(parameter.getType());
    std::optional<DType> dtype = nn::dtypeOf(type.getElementType());
    if (!dtype)
      return internalError("parameter '" + parameter.getSymName().str() + "' has no element type");
    int64_t count = type.getNumElements();
    storage.push_back(parameter.getValueAttr()
                          ? bytesOf(parameter.getValueAttr(), *dtype, count)
                          : initialise(parameter, *dtype, count, options.seed));
    names.insert(parameter.getSymName());
    tensors.push_back({parameter.getSymName().str(), *dtype, type.getShape().vec(),
                       std::as_bytes(std::span(storage.back()))});
  }
  // A tensor that nncc does not compute with cannot be a parameter of this model either way.
  for (const rt::SafetensorsEntry &entry : given.entries())
    if (entry.dtype && !names.contains(entry.name) &&
        !entry.name.starts_with(rt::kSafetensorsPaddingPrefix))
      tensors.push_back({entry.name, *entry.dtype, entry.shape, entry.data});
  return rt::serializeSafetensors(tensors, {}, rt::SafetensorsAlignment::EachTensor);
}
