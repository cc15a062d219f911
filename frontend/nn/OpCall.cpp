// Arguments, errors and building of one call.
#include "frontend/nn/OpCall.h"

#include "frontend/nn/Spelling.h"

#include "mlir/IR/Verifier.h"
#include "llvm/ADT/STLExtras.h"

#include <fmt/format.h>

namespace nncc::frontend {

const NnValue &OpCall::arg(llvm::StringRef name) const {
  auto found = arguments.find(name);
  assert(found != arguments.end() && "an argument that the signature does not have");
  return found->second.value;
}

llvm::SmallVector<mlir::Value> OpCall::tensors(llvm::StringRef name) const {
  llvm::SmallVector<mlir::Value> result;
  for (const NnValue &item : **arg(name).as<ListValue>())
    result.push_back(item.tensor());
  return result;
}

std::nullopt_t OpCall::fail(std::string message) {
  std::string subject = path.empty() ? info().name() : fmt::format("{} '{}'", info().name(), path);
  reportError(range, fmt::format("{}: {}", subject, message));
  return std::nullopt;
}

std::nullopt_t OpCall::failAt(llvm::StringRef argument, std::string message) {
  std::string subject = path.empty() ? info().name() : fmt::format("{} '{}'", info().name(), path);
  reportError(arguments.find(argument)->second.range, fmt::format("{}: {}", subject, message));
  return std::nullopt;
}

std::optional<int64_t> OpCall::integerFrom(llvm::StringRef name, int64_t least) {
  int64_t value = integer(name);
  if (value < least)
    return failAt(name, fmt::format("{} must be at least {}, found {}", name.str(), least, value));
  return value;
}

std::optional<llvm::SmallVector<int64_t>> OpCall::ints(llvm::StringRef name, size_t count,
                                                       int64_t least) {
  llvm::SmallVector<int64_t> result;
  if (auto *one = arg(name).as<int64_t>()) {
    result.assign(count, *one);
  } else {
    for (const NnValue &item : **arg(name).as<ListValue>())
      result.push_back(*item.as<int64_t>());
    if (result.size() != count)
      return failAt(name, fmt::format("{} takes one integer or {} of them, found {}", name.str(),
                                      count, result.size()));
  }
  for (int64_t value : result)
    if (value < least)
      return failAt(name,
                    fmt::format("{} must be at least {}, found {}", name.str(), least, value));
  return result;
}

std::optional<int64_t> OpCall::axis(llvm::StringRef name, int64_t rank) {
  return axis(name, arg(name), rank);
}

std::optional<int64_t> OpCall::axis(llvm::StringRef name, const NnValue &value, int64_t rank) {
  int64_t axis = *value.as<int64_t>();
  if (axis < -rank || axis >= rank)
    return failAt(name, fmt::format("{} {} is outside {}..{} for a tensor of rank {}", name.str(),
                                    axis, -rank, rank - 1, rank));
  return axis < 0 ? axis + rank : axis;
}

std::optional<size_t> OpCall::choice(llvm::StringRef name,
                                     llvm::ArrayRef<llvm::StringRef> choices) {
  const std::string &given = string(name);
  for (size_t i = 0; i < choices.size(); ++i)
    if (choices[i] == given)
      return i;
  std::vector<std::string> known;
  for (llvm::StringRef choice : choices)
    known.push_back(choice.str());
  return failAt(name, fmt::format("{} must be one of \"{}\", found \"{}\"{}", name.str(),
                                  fmt::join(known, "\", \""), given, suggestion(given, known)));
}

mlir::Value OpCall::constant(double value, mlir::Type element) {
  auto type = mlir::RankedTensorType::get({}, element);
  mlir::Attribute number =
      mlir::isa<mlir::FloatType>(element)
          ? mlir::Attribute(builder.getFloatAttr(element, value))
          : mlir::Attribute(builder.getIntegerAttr(element, static_cast<int64_t>(value)));
  auto elements = mlir::DenseElementsAttr::get(type, number);
  return createTyped<nn::ConstantOp>(type, {}, {attribute("value", elements)});
}

mlir::Value OpCall::reshape(mlir::Value x, llvm::ArrayRef<nn::Dim> shape) {
  auto type = mlir::cast<mlir::RankedTensorType>(x.getType());
  if (llvm::ArrayRef<nn::Dim>(nn::shapeOf(type)) == shape)
    return x;
  auto result = nn::tensorType(std::nullopt, shape, type.getElementType());
  if (mlir::failed(result)) {
    fail("the result is too large");
    return {};
  }
  return createTyped<nn::ReshapeOp>(*result, x);
}

mlir::Value OpCall::scalar(llvm::StringRef name, mlir::Type element) {
  const NnValue &value = arg(name);
  if (mlir::Value tensor = value.tensor())
    return tensor;
  bool isFloat = mlir::isa<mlir::FloatType>(element);
  if (value.as<double>() && !isFloat) {
    failAt(name,
           fmt::format("{} is {}, but the tensor holds integers; cast it first, as in cast(x, f32)",
                       name.str(), describe(value)));
    return {};
  }
  return constant(*value.number(), element);
}

bool OpCall::expectRank(llvm::StringRef name, int64_t rank, llvm::StringRef form) {
  if (tensorType(name).getRank() == rank)
    return true;
  failAt(name, fmt::format("expected {} of rank {} {}, found {}", name.str(), rank, form.str(),
                           nn::describe(tensorType(name))));
  return false;
}

std::optional<int64_t> OpCall::staticDim(llvm::StringRef name, int64_t dim, llvm::StringRef role) {
  nn::Dim extent = nn::dimOf(tensorType(name), dim);
  if (std::optional<int64_t> constant = nn::constantOf(extent))
    return constant;
  return failAt(name,
                fmt::format("{} must be known when the model is compiled, but it is the named dim "
                            "{} of {}",
                            role.str(), nn::toString(extent, context()),
                            nn::describe(tensorType(name))));
}

mlir::Value OpCall::parameter(llvm::StringRef name, llvm::ArrayRef<int64_t> shape,
                              mlir::Type element, const InitValue &init) {
  if (parameterFailed) // one error a call is enough
    return {};
  auto given = inits.find(name);
  std::string full = path.empty() ? name.str() : path + "." + name.str();
  mlir::Value value =
      addParameter(full, shape, element, given == inits.end() ? init : given->second);
  parameterFailed = !value;
  return value;
}

mlir::Value OpCall::createOp(llvm::StringRef name, mlir::ValueRange operands, mlir::TypeRange types,
                             llvm::ArrayRef<mlir::NamedAttribute> attributes,
                             llvm::SmallVectorImpl<mlir::Value> *results) {
  mlir::OperationState state(loc, name, operands, types, attributes);
  mlir::Operation *op = builder.create(state);
  if (mlir::failed(mlir::verify(op, /*verifyRecursively=*/false))) {
    op->erase();
    return {};
  }
  if (results)
    results->append(op->result_begin(), op->result_end());
  return op->getResult(0);
}

} // namespace nncc::frontend
