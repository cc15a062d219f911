// Shape arithmetic; see Shape.h.

#include "ir/Shape.h"
#include "ir/NN.h"
#include "ir/NNDialect.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace nncc;
using namespace nncc::nn;

static DimNames &dimNames(MLIRContext *context) {
  return *const_cast<DimNames *>(
      context->getOrLoadDialect<NNDialect>()->getRegisteredInterface<DimNames>());
}

Dim nn::namedDim(MLIRContext *context, StringRef name) {
  return getAffineSymbolExpr(dimNames(context).numberOf(name), context);
}

StringRef nn::dimName(MLIRContext *context, unsigned position) {
  return dimNames(context).nameOf(position);
}

Dim nn::constantDim(MLIRContext *context, int64_t value) {
  return getAffineConstantExpr(value, context);
}

std::optional<int64_t> nn::constantOf(Dim dim) {
  if (auto constant = dyn_cast_if_present<AffineConstantExpr>(dim))
    return constant.getValue();
  return std::nullopt;
}

/// Takes the nodes of `dim` off `budget`, and stops where none are left.
static void countNodes(Dim dim, int &budget) {
  if (--budget < 0)
    return;
  if (auto binary = dyn_cast<AffineBinaryOpExpr>(dim)) {
    countNodes(binary.getLHS(), budget);
    countNodes(binary.getRHS(), budget);
  }
}

bool nn::isTooComplex(Dim dim) {
  int budget = 256;
  countNodes(dim, budget);
  return budget < 0;
}

/// Writes `dim` with parentheses around every operand that is itself an operation of lower binding.
static void printDim(llvm::raw_ostream &os, Dim dim, bool asOperand) {
  if (auto constant = constantOf(dim)) {
    os << *constant;
    return;
  }
  if (auto symbol = dyn_cast<AffineSymbolExpr>(dim)) {
    os << nn::dimName(dim.getContext(), symbol.getPosition());
    return;
  }
  auto binary = cast<AffineBinaryOpExpr>(dim);
  StringRef spelling = [&] {
    switch (dim.getKind()) {
    case AffineExprKind::Add:
      return " + ";
    case AffineExprKind::Mul:
      return " * ";
    case AffineExprKind::FloorDiv:
      return " floordiv ";
    case AffineExprKind::CeilDiv:
      return " ceildiv ";
    default:
      return " mod ";
    }
  }();
  if (asOperand)
    os << "(";
  printDim(os, binary.getLHS(), true);
  std::optional<int64_t> rhs = constantOf(binary.getRHS());
  if (dim.getKind() == AffineExprKind::Add && rhs && *rhs < 0 && *rhs != INT64_MIN) {
    os << " - " << -*rhs;
  } else {
    os << spelling;
    printDim(os, binary.getRHS(), true);
  }
  if (asOperand)
    os << ")";
}

std::string nn::toString(Dim dim, MLIRContext *) {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (dim)
    printDim(os, dim, false);
  else
    os << "overflow";
  return text;
}

std::string nn::describe(Type type) {
  std::string text;
  llvm::raw_string_ostream os(text);
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor) {
    os << type;
    return text;
  }
  if (std::optional<DType> dtype = dtypeOf(tensor.getElementType()))
    os << nameOf(*dtype);
  else
    os << tensor.getElementType();
  os << "[";
  llvm::interleaveComma(shapeOf(tensor), os,
                        [&](Dim dim) { os << toString(dim, type.getContext()); });
  os << "]";
  return text;
}

Dim nn::dimOf(RankedTensorType type, unsigned index) { return shapeOf(type)[index]; }

Shape nn::shapeOf(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  auto encoding = dyn_cast_if_present<EncodingAttr>(tensor.getEncoding());
  Shape shape;
  unsigned dynamic = 0;
  for (int64_t extent : tensor.getShape()) {
    if (!ShapedType::isDynamic(extent))
      shape.push_back(constantDim(type.getContext(), extent));
    else if (encoding && dynamic < encoding.getDims().size())
      shape.push_back(encoding.getDims()[dynamic++]);
    else
      shape.push_back(namedDim(type.getContext(), "?"));
  }
  return shape;
}

SmallVector<int64_t> nn::orderOf(RankedTensorType type) {
  if (auto encoding = dyn_cast_if_present<EncodingAttr>(type.getEncoding()))
    if (!encoding.getOrder().empty())
      return SmallVector<int64_t>(encoding.getOrder());
  return llvm::to_vector(llvm::seq<int64_t>(0, type.getRank()));
}

bool nn::isRowMajor(RankedTensorType type) {
  auto encoding = dyn_cast_if_present<EncodingAttr>(type.getEncoding());
  return !encoding || (encoding.getOrder().empty() && !encoding.getPack());
}

bool nn::isPacked(RankedTensorType type) {
  auto encoding = dyn_cast_if_present<EncodingAttr>(type.getEncoding());
  return encoding && encoding.getPack();
}

Dim nn::storedElements(RankedTensorType type) {
  if (!isPacked(type))
    return product(shapeOf(type), type.getContext());
  CheckedSize count = 1;
  for (int64_t extent : cast<EncodingAttr>(type.getEncoding()).getPack().packedShape())
    count *= extent;
  return count.valid() ? constantDim(type.getContext(), *count.get()) : Dim();
}

Dim nn::product(ArrayRef<Dim> dims, MLIRContext *context) {
  CheckedSize constant = 1;
  Dim symbolic;
  for (Dim dim : dims) {
    if (!dim)
      return {};
    if (auto value = constantOf(dim))
      constant *= *value;
    else
      symbolic = symbolic ? symbolic * dim : dim;
  }
  if (!constant.valid())
    return {};
  Dim factor = constantDim(context, *constant.get());
  return symbolic ? symbolic * factor : factor;
}

/// Splits `dim` into a constant factor and symbolic ones.
static void appendFactors(Dim dim, CheckedSize &constant, SmallVectorImpl<Dim> &symbolic) {
  if (auto value = constantOf(dim)) {
    constant *= *value;
  } else if (auto binary = dyn_cast<AffineBinaryOpExpr>(dim);
             binary && dim.getKind() == AffineExprKind::Mul) {
    appendFactors(binary.getLHS(), constant, symbolic);
    appendFactors(binary.getRHS(), constant, symbolic);
  } else {
    symbolic.push_back(dim);
  }
}

Dim nn::quotient(ArrayRef<Dim> numerator, ArrayRef<Dim> denominator, MLIRContext *context) {
  CheckedSize above = 1, below = 1;
  SmallVector<Dim> factors, divisors;
  for (Dim dim : numerator)
    appendFactors(dim, above, factors);
  for (Dim dim : denominator)
    appendFactors(dim, below, divisors);
  for (Dim divisor : divisors) {
    auto *equal = llvm::find(factors, divisor);
    if (equal == factors.end())
      return {};
    factors.erase(equal);
  }
  if (!above.valid() || !below.valid())
    return {};
  if (*below.get() == 0)
    return *above.get() == 0 ? constantDim(context, 1) : Dim();
  if (*above.get() % *below.get() != 0)
    return {};
  factors.push_back(constantDim(context, *above.get() / *below.get()));
  return product(factors, context);
}

FailureOr<RankedTensorType> nn::tensorType(std::optional<Location> loc, ArrayRef<Dim> shape,
                                           Type element, ArrayRef<int64_t> order) {
  MLIRContext *context = element.getContext();
  SmallVector<int64_t> extents;
  SmallVector<Dim> dynamic;
  CheckedSize bytes = dtypeOf(element) ? sizeBytesOf(*dtypeOf(element)) : 8;
  for (Dim dim : shape) {
    if (!dim) {
      bytes = CheckedSize::invalid();
      continue;
    }
    if (isTooComplex(dim)) {
      (void)emitOptionalError(loc, "a dimension of the result takes too many operations on named "
                                   "dims; give the input a fixed extent there");
      return failure();
    }
    if (auto value = constantOf(dim)) {
      if (*value < 0) {
        (void)emitOptionalError(loc, "a dimension of the result would be negative: ", *value);
        return failure();
      }
      extents.push_back(*value);
      bytes *= std::max<int64_t>(*value, 1);
    } else {
      extents.push_back(ShapedType::kDynamic);
      dynamic.push_back(dim);
    }
  }
  if (!bytes.valid()) {
    std::string text;
    llvm::raw_string_ostream os(text);
    llvm::interleaveComma(shape, os, [&](Dim dim) { os << toString(dim, context); });
    (void)emitOptionalError(loc, "a tensor of shape [", text,
                            "] takes more than 2^63 - 1 bytes; make its dimensions smaller");
    return failure();
  }
  bool isIdentity = llvm::all_of(llvm::enumerate(order), [](auto item) {
    return static_cast<int64_t>(item.index()) == item.value();
  });
  Attribute encoding;
  if (!dynamic.empty() || !isIdentity)
    encoding = EncodingAttr::get(context, dynamic, isIdentity ? ArrayRef<int64_t>() : order);
  return RankedTensorType::get(extents, element, encoding);
}

RankedTensorType nn::withOrder(RankedTensorType type, ArrayRef<int64_t> order) {
  return *tensorType(std::nullopt, shapeOf(type), type.getElementType(), order);
}

SmallVector<int64_t> nn::channelsLastOrder(unsigned rank) {
  SmallVector<int64_t> order = {0};
  for (unsigned dim = 2; dim < rank; ++dim)
    order.push_back(dim);
  if (rank > 1)
    order.push_back(1);
  return order;
}

bool nn::sameLogicalType(Type a, Type b) {
  auto x = dyn_cast<RankedTensorType>(a), y = dyn_cast<RankedTensorType>(b);
  if (!x || !y)
    return a == b;
  return x.getElementType() == y.getElementType() && shapeOf(x) == shapeOf(y);
}

bool nn::sameLogicalTypes(TypeRange a, TypeRange b) {
  return a.size() == b.size() && llvm::all_of(llvm::zip(a, b), [](auto pair) {
           return sameLogicalType(std::get<0>(pair), std::get<1>(pair));
         });
}

FailureOr<Shape> nn::broadcastShapes(ArrayRef<Dim> a, ArrayRef<Dim> b,
                                     std::pair<Dim, Dim> *conflict) {
  if (a.size() < b.size())
    std::swap(a, b);
  Shape result(a);
  size_t lead = a.size() - b.size();
  for (size_t i = 0; i < b.size(); ++i) {
    Dim &dim = result[lead + i];
    if (dim == b[i] || constantOf(b[i]) == 1)
      continue;
    if (constantOf(dim) == 1) {
      dim = b[i];
      continue;
    }
    if (conflict)
      *conflict = {dim, b[i]};
    return failure();
  }
  return result;
}

Dim nn::windowOutput(Dim input, const WindowDim &window) {
  CheckedSize reach = window.dilatedKernel();
  CheckedSize pads = CheckedSize(window.padBegin) + window.padEnd;
  CheckedSize slack = pads - reach;
  if (!slack.valid())
    return {};
  int64_t offset = *slack.get();
  if (auto extent = constantOf(input)) {
    CheckedSize span = CheckedSize(*extent) + offset;
    if (!span.valid() || *span.get() < 0)
      return {};
    CheckedSize stride = window.stride;
    CheckedSize outputs = (window.ceilMode ? ceilDiv(span, stride) : floorDiv(span, stride)) + 1;
    if (!outputs.valid())
      return {};
    // A last window that would start in the trailing padding is dropped, as in PyTorch.
    int64_t count = *outputs.get();
    CheckedSize start = (CheckedSize(count) - 1) * stride;
    if (window.ceilMode && start.valid() && *start.get() >= *extent + window.padBegin)
      --count;
    return constantDim(input.getContext(), count);
  }
  // The same rule for a named dim, where windows overlap so little that it always applies: the
  // windows are those that start in the input or its leading padding.
  if (window.ceilMode && offset - window.padBegin > -window.stride)
    return (input + window.padBegin).ceilDiv(window.stride);
  Dim span = input + offset;
  return (window.ceilMode ? span.ceilDiv(window.stride) : span.floorDiv(window.stride)) + 1;
}

std::optional<DType> nn::dtypeOf(Type element) {
  return llvm::TypeSwitch<Type, std::optional<DType>>(element)
      .Case<Float32Type>([](auto) { return DType::F32; })
      .Case<Float16Type>([](auto) { return DType::F16; })
      .Case<BFloat16Type>([](auto) { return DType::BF16; })
      .Case<Float64Type>([](auto) { return DType::F64; })
      .Case<IntegerType>([](IntegerType type) -> std::optional<DType> {
        if (type.isUnsigned())
          return type.getWidth() == 8 ? std::optional(DType::U8) : std::nullopt;
        switch (type.getWidth()) {
        case 1:
          return DType::Bool;
        case 8:
          return DType::I8;
        case 32:
          return DType::I32;
        case 64:
          return DType::I64;
        default:
          return std::nullopt;
        }
      })
      .Default([](Type) { return std::nullopt; });
}

Type nn::elementType(MLIRContext *context, DType dtype) {
  switch (dtype) {
  case DType::F32:
    return Float32Type::get(context);
  case DType::F16:
    return Float16Type::get(context);
  case DType::BF16:
    return BFloat16Type::get(context);
  case DType::F64:
    return Float64Type::get(context);
  case DType::I8:
    return IntegerType::get(context, 8);
  case DType::U8:
    return IntegerType::get(context, 8, IntegerType::Unsigned);
  case DType::I32:
    return IntegerType::get(context, 32);
  case DType::I64:
    return IntegerType::get(context, 64);
  case DType::Bool:
    return IntegerType::get(context, 1);
  }
  llvm_unreachable("every DType has a type");
}
