// One call of an operation under elaboration: its arguments, checked against the signature, and
// what a build function needs to make nn ops, parameters and errors from them. Every failure is
// reported at the argument that caused it, or at the call.
#pragma once

#include "frontend/nn/Diagnostic.h"
#include "frontend/nn/NnValue.h"
#include "frontend/nn/OpTable.h"
#include "ir/TensorBuilder.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringMap.h"

#include <array>

namespace nncc::frontend {

/// A new parameter of the model, reported at `at` when its name is taken. Null after an error.
using AddParameter =
    llvm::function_ref<mlir::Value(llvm::StringRef name, llvm::ArrayRef<int64_t> shape,
                                   mlir::Type element, const InitValue &init)>;
/// Reports an error at a range of the text.
using ReportError = llvm::function_ref<void(SourceRange, std::string)>;

struct BoundArgument {
  NnValue value;
  SourceRange range; // of the argument, or of the call for a default
};

class OpCall {
public:
  OpCall(const OpInfo &info, mlir::OpBuilder &builder, mlir::Location loc, SourceRange range,
         std::string path, AddParameter addParameter, ReportError reportError)
      : opInfo(info), builder(builder), loc(loc), range(range), path(std::move(path)),
        addParameter(addParameter), reportError(reportError) {}

  /// Filled by the elaborator: every argument of the signature, defaults included.
  llvm::StringMap<BoundArgument> arguments;
  /// Initialisers given as NAME_init.
  llvm::StringMap<InitValue> inits;

  const OpInfo &info() const { return opInfo; }
  mlir::MLIRContext *context() const { return builder.getContext(); }

  // Arguments. Their kinds have been checked; optional ones may be none.
  const NnValue &arg(llvm::StringRef name) const;
  bool has(llvm::StringRef name) const { return !arg(name).isNone(); }
  mlir::Value tensor(llvm::StringRef name) const { return arg(name).tensor(); }
  mlir::RankedTensorType tensorType(llvm::StringRef name) const { return arg(name).tensorType(); }
  int64_t integer(llvm::StringRef name) const { return *arg(name).as<int64_t>(); }
  double number(llvm::StringRef name) const { return *arg(name).number(); }
  bool flag(llvm::StringRef name) const { return *arg(name).as<bool>(); }
  const std::string &string(llvm::StringRef name) const { return *arg(name).as<std::string>(); }
  llvm::SmallVector<mlir::Value> tensors(llvm::StringRef name) const;

  /// An integer that must be at least `least`.
  std::optional<int64_t> integerFrom(llvm::StringRef name, int64_t least);
  /// One integer per dimension: a list of `count`, or one for all; each at least `least`.
  std::optional<llvm::SmallVector<int64_t>> ints(llvm::StringRef name, size_t count, int64_t least);
  /// A dimension's number, counted from the end when negative, for a tensor of this rank.
  std::optional<int64_t> axis(llvm::StringRef name, int64_t rank);
  std::optional<int64_t> axis(llvm::StringRef name, const NnValue &value, int64_t rank);
  /// The string must be one of these; its index.
  std::optional<size_t> choice(llvm::StringRef name, llvm::ArrayRef<llvm::StringRef> choices);
  /// A tensor, or a number as a constant of the given element type.
  mlir::Value scalar(llvm::StringRef name, mlir::Type element);

  // Errors. All return null, so that a build function can return their result.
  std::nullopt_t fail(std::string message);
  std::nullopt_t failAt(llvm::StringRef argument, std::string message);
  /// Requires a rank; `form` shows the expected dimensions, "[N, C, H, W]".
  bool expectRank(llvm::StringRef name, int64_t rank, llvm::StringRef form);
  /// The extent of a dimension that must be known now: `role` says which it is.
  std::optional<int64_t> staticDim(llvm::StringRef name, int64_t dim, llvm::StringRef role);

  // Building.
  nn::TensorBuilder tensorBuilder() { return {builder, loc}; }
  /// Adds the parameter `name` of this call, or null after an error. `init` is the default start.
  mlir::Value parameter(llvm::StringRef name, llvm::ArrayRef<int64_t> shape, mlir::Type element,
                        const InitValue &init);
  /// Builds an op whose result types are inferred; empty after an error.
  template <typename Op>
  llvm::SmallVector<mlir::Value, 3> createAll(mlir::ValueRange operands,
                                              llvm::ArrayRef<mlir::NamedAttribute> attributes = {});
  template <typename Op>
  mlir::Value create(mlir::ValueRange operands,
                     llvm::ArrayRef<mlir::NamedAttribute> attributes = {}) {
    auto results = createAll<Op>(operands, attributes);
    return results.empty() ? mlir::Value() : results.front();
  }
  /// Builds an op whose result type is given.
  template <typename Op>
  mlir::Value createTyped(mlir::Type type, mlir::ValueRange operands,
                          llvm::ArrayRef<mlir::NamedAttribute> attributes = {}) {
    return createOp(Op::getOperationName(), operands, type, attributes, {});
  }
  mlir::Value constant(double value, mlir::Type element);
  /// x under another shape of as many elements; x itself where it has that shape.
  mlir::Value reshape(mlir::Value x, llvm::ArrayRef<nn::Dim> shape);

  mlir::NamedAttribute attribute(llvm::StringRef name, mlir::Attribute value) {
    return builder.getNamedAttr(name, value);
  }
  mlir::NamedAttribute attribute(llvm::StringRef name, llvm::ArrayRef<int64_t> values) {
    return attribute(name, builder.getDenseI64ArrayAttr(values));
  }
  mlir::NamedAttribute attribute(llvm::StringRef name, int64_t value) {
    return attribute(name, builder.getI64IntegerAttr(value));
  }
  mlir::NamedAttribute attribute(llvm::StringRef name, double value) {
    return attribute(name, builder.getF64FloatAttr(value));
  }
  mlir::NamedAttribute unit(llvm::StringRef name) { return attribute(name, builder.getUnitAttr()); }

private:
  mlir::Value createOp(llvm::StringRef name, mlir::ValueRange operands, mlir::TypeRange types,
                       llvm::ArrayRef<mlir::NamedAttribute> attributes,
                       llvm::SmallVectorImpl<mlir::Value> *results);

  const OpInfo &opInfo;
  mlir::OpBuilder &builder;
  mlir::Location loc;
  SourceRange range;
  std::string path;
  AddParameter addParameter;
  ReportError reportError;
  bool parameterFailed = false;
};

template <typename Op>
llvm::SmallVector<mlir::Value, 3>
OpCall::createAll(mlir::ValueRange operands, llvm::ArrayRef<mlir::NamedAttribute> attributes) {
  // The generated builders abort when inference fails, so types are inferred first, with the error
  // reported.
  mlir::DictionaryAttr dictionary = builder.getDictionaryAttr(attributes);
  llvm::SmallVector<mlir::Type> types;
  llvm::SmallVector<mlir::Value, 3> results;
  mlir::LogicalResult inferred = mlir::failure();
  if constexpr (requires { typename Op::Properties; }) {
    typename Op::Properties properties{};
    Op::populateDefaultProperties(mlir::OperationName(Op::getOperationName(), context()),
                                  properties);
    auto emitError = [&] { return mlir::emitError(loc); };
    if (mlir::failed(Op::setPropertiesFromAttr(properties, dictionary, emitError)))
      return results;
    inferred = Op::inferReturnTypes(context(), loc, operands, dictionary, &properties,
                                    mlir::RegionRange(), types);
  } else {
    inferred = Op::inferReturnTypes(context(), loc, operands, dictionary,
                                    mlir::OpaqueProperties(nullptr), mlir::RegionRange(), types);
  }
  if (mlir::succeeded(inferred))
    createOp(Op::getOperationName(), operands, types, attributes, &results);
  return results;
}

} // namespace nncc::frontend
