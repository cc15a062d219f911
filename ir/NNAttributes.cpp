// Assembly formats and verifiers of the nn dialect's attributes.

#include "ir/NN.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace nncc;
using namespace nncc::nn;

#include "ir/NNEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "ir/NNAttributes.cpp.inc"

void NNDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "ir/NNAttributes.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Dimension expressions in text: sums of products of names, integers and parentheses, with floordiv, ceildiv and mod.
//===----------------------------------------------------------------------===//

static ParseResult parseSum(AsmParser &parser, Dim &dim);

static ParseResult parseOperand(AsmParser &parser, Dim &dim) {
  MLIRContext *context = parser.getContext();
  if (succeeded(parser.parseOptionalLParen())) {
    if (parseSum(parser, dim) || parser.parseRParen())
      return failure();
    return success();
  }
  int64_t value;
  OptionalParseResult integer = parser.parseOptionalInteger(value);
  if (integer.has_value()) {
    dim = constantDim(context, value);
    return *integer;
  }
  std::string name;
  if (parser.parseKeywordOrString(&name))
    return failure();
  dim = namedDim(context, name);
  return success();
}

static ParseResult parseProduct(AsmParser &parser, Dim &dim) {
  if (parseOperand(parser, dim))
    return failure();
  while (true) {
    Dim rhs;
    if (succeeded(parser.parseOptionalStar())) {
      if (parseOperand(parser, rhs))
        return failure();
      dim = dim * rhs;
    } else if (succeeded(parser.parseOptionalKeyword("floordiv"))) {
      if (parseOperand(parser, rhs))
        return failure();
      dim = dim.floorDiv(rhs);
    } else if (succeeded(parser.parseOptionalKeyword("ceildiv"))) {
      if (parseOperand(parser, rhs))
        return failure();
      dim = dim.ceilDiv(rhs);
    } else if (succeeded(parser.parseOptionalKeyword("mod"))) {
      if (parseOperand(parser, rhs))
        return failure();
      dim = dim % rhs;
    } else {
      return success();
    }
  }
}

static ParseResult parseSum(AsmParser &parser, Dim &dim) {
  if (parseProduct(parser, dim))
    return failure();
  while (true) {
    Dim rhs;
    if (succeeded(parser.parseOptionalPlus())) {
      if (parseProduct(parser, rhs))
        return failure();
      dim = dim + rhs;
    } else if (succeeded(parser.parseOptionalMinus())) {
      if (parseProduct(parser, rhs))
        return failure();
      dim = dim - rhs;
    } else {
      // "N -1": the lexer takes "-1" as one token.
      int64_t value;
      OptionalParseResult integer = parser.parseOptionalInteger(value);
      if (!integer.has_value())
        return success();
      if (failed(*integer))
        return failure();
      dim = dim + value;
    }
  }
}

//===----------------------------------------------------------------------===//
// #nn.enc
//===----------------------------------------------------------------------===//

Attribute EncodingAttr::parse(AsmParser &parser, Type) {
  SmallVector<Dim> dims;
  SmallVector<int64_t> order;
  auto parseDim = [&] { return parseSum(parser, dims.emplace_back()); };
  auto parseIndex = [&] { return parser.parseInteger(order.emplace_back()); };
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLess() ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseDim))
    return {};
  PackLoopsAttr pack;
  if (succeeded(parser.parseOptionalComma())) {
    if (succeeded(parser.parseOptionalKeyword("pack"))) {
      if (parser.parseEqual() || parser.parseCustomAttributeWithFallback(pack))
        return {};
    } else if (parser.parseKeyword("order") || parser.parseEqual() ||
               parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseIndex)) {
      return {};
    }
  }
  if (parser.parseGreater())
    return {};
  return parser.getChecked<EncodingAttr>(loc, parser.getContext(), dims, order, pack);
}

void EncodingAttr::print(AsmPrinter &printer) const {
  printer << "<[";
  llvm::interleaveComma(getDims(), printer, [&](Dim dim) { printer << toString(dim, getContext()); });
  printer << "]";
  if (!getOrder().empty()) {
    printer << ", order = [";
    llvm::interleaveComma(getOrder(), printer);
    printer << "]";
  }
  if (getPack()) {
    printer << ", pack = ";
    getPack().print(printer);
  }
  printer << ">";
}

LogicalResult EncodingAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                   ArrayRef<Dim> dims, ArrayRef<int64_t> order,
                                   PackLoopsAttr pack) {
  if (pack && (!dims.empty() || !order.empty()))
    return emitError() << "a packed layout is for static shapes and has no order beside it";
  for (Dim dim : dims)
    if (!dim || constantOf(dim))
      return emitError() << "a dynamic dimension needs a name, found "
                         << (dim ? std::to_string(*constantOf(dim)) : "nothing");
  SmallVector<bool> seen(order.size());
  for (int64_t dim : order) {
    if (dim < 0 || dim >= static_cast<int64_t>(order.size()) || seen[dim])
      return emitError() << "order must be a permutation of 0.." << order.size() - 1;
    seen[dim] = true;
  }
  return success();
}

LogicalResult EncodingAttr::verifyEncoding(ArrayRef<int64_t> shape, Type,
                                           function_ref<InFlightDiagnostic()> emitError) const {
  size_t dynamic = llvm::count(shape, ShapedType::kDynamic);
  if (dynamic != getDims().size())
    return emitError() << "the type has " << dynamic << " dynamic dimensions, but its encoding names "
                       << getDims().size();
  if (!getOrder().empty() && getOrder().size() != shape.size())
    return emitError() << "order has " << getOrder().size() << " entries for a tensor of rank "
                       << shape.size();
  if (getPack())
    for (size_t loop = 0; loop < getPack().loopCount(); ++loop)
      if (getPack().dim(loop) >= static_cast<int64_t>(shape.size()))
        return emitError() << "pack loop " << loop << " names dimension " << getPack().dim(loop)
                           << " of a tensor of rank " << shape.size();
  return success();
}

//===----------------------------------------------------------------------===//
// #nn.dim, #nn.pack, #nn.init
//===----------------------------------------------------------------------===//

LogicalResult DimAttr::verify(function_ref<InFlightDiagnostic()> emitError, StringAttr name,
                              int64_t min, int64_t max) {
  if (name.empty())
    return emitError() << "a named dim needs a name";
  if (min < 0 || max < min)
    return emitError() << "the range of dim " << name << " is empty or negative: " << min << ".."
                       << max;
  return success();
}

Attribute PackLoopsAttr::parse(AsmParser &parser, Type) {
  SmallVector<int64_t> loops;
  auto parseNumber = [&] { return parser.parseInteger(loops.emplace_back()); };
  auto parseLoop = [&] {
    return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseNumber);
  };
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::LessGreater, parseLoop))
    return {};
  return parser.getChecked<PackLoopsAttr>(loc, parser.getContext(), loops);
}

void PackLoopsAttr::print(AsmPrinter &printer) const {
  printer << "<";
  llvm::interleaveComma(llvm::seq<size_t>(0, loopCount()), printer, [&](size_t loop) {
    printer << "[" << dim(loop) << ", " << extent(loop) << ", " << step(loop) << "]";
  });
  printer << ">";
}

LogicalResult PackLoopsAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                    ArrayRef<int64_t> loops) {
  if (loops.size() % 3 != 0)
    return emitError() << "a pack loop is [dim, extent, step]";
  for (size_t i = 0; i < loops.size(); i += 3)
    if (loops[i] < 0 || loops[i + 1] < 1 || loops[i + 2] < 1)
      return emitError() << "a pack loop needs a dim of 0 or more and a positive extent and step, "
                            "found ["
                         << loops[i] << ", " << loops[i + 1] << ", " << loops[i + 2] << "]";
  return success();
}

SmallVector<int64_t> PackLoopsAttr::packedShape() const {
  SmallVector<int64_t> shape;
  for (size_t loop = 0; loop < loopCount(); ++loop)
    shape.push_back(extent(loop));
  return shape;
}

Attribute InitAttr::parse(AsmParser &parser, Type) {
  StringRef kind;
  double a = 0, b = 0;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLess() || parser.parseKeyword(&kind))
    return {};
  if (succeeded(parser.parseOptionalComma()) && parser.parseFloat(a))
    return {};
  if (succeeded(parser.parseOptionalComma()) && parser.parseFloat(b))
    return {};
  if (parser.parseGreater())
    return {};
  return parser.getChecked<InitAttr>(loc, parser.getContext(), kind, APFloat(a),
                                     APFloat(b));
}

/// How many numbers each initialiser takes; nothing for an unknown one.
static std::optional<unsigned> initArgumentCount(StringRef kind) {
  return llvm::StringSwitch<std::optional<unsigned>>(kind)
      .Cases({"zeros", "ones"}, 0u)
      .Case("constant", 1u)
      .Cases({"uniform", "normal"}, 2u)
      .Default(std::nullopt);
}

void InitAttr::print(AsmPrinter &printer) const {
  unsigned count = initArgumentCount(getKind()).value_or(0);
  printer << "<" << getKind();
  auto printNumber = [&](const APFloat &value) {
    printer << ", ";
    printer.printFloat(value);
  };
  if (count > 0)
    printNumber(getA());
  if (count > 1)
    printNumber(getB());
  printer << ">";
}

LogicalResult InitAttr::verify(function_ref<InFlightDiagnostic()> emitError, StringRef kind, APFloat,
                               APFloat) {
  if (!initArgumentCount(kind))
    return emitError() << "unknown initialiser '" << kind
                       << "'; known: zeros, ones, constant, uniform, normal";
  return success();
}
