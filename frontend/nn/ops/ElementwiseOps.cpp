// Activations, mathematical functions, arithmetic, comparison, selection, conversion.
#include "frontend/nn/OpCall.h"

#include <fmt/format.h>

namespace nncc::frontend {

namespace {

template <typename Op> OpResults unary(OpCall &call) { return call.create<Op>(call.tensor("x")); }

/// A function with one number; the attribute has the argument's name.
template <typename Op> OpResults withAlpha(OpCall &call) {
  return call.create<Op>(call.tensor("x"), call.attribute("alpha", call.number("alpha")));
}

OpResults softplus(OpCall &call) {
  if (call.number("beta") == 0) {
    call.failAt("beta", "beta must not be 0");
    return {};
  }
  return call.create<nn::SoftplusOp>(call.tensor("x"), call.attribute("beta", call.number("beta")));
}

OpResults gelu(OpCall &call) {
  auto approximate = call.choice("approximate", {"none", "tanh"});
  if (!approximate)
    return {};
  if (*approximate == 0)
    return call.create<nn::GeluOp>(call.tensor("x"));
  return call.create<nn::GeluOp>(call.tensor("x"), call.unit("tanh_approximation"));
}

OpResults clipBetween(OpCall &call, std::optional<double> min, std::optional<double> max) {
  llvm::SmallVector<mlir::NamedAttribute> attributes;
  if (min)
    attributes.push_back(call.attribute("min", *min));
  if (max)
    attributes.push_back(call.attribute("max", *max));
  return call.create<nn::ClipOp>(call.tensor("x"), attributes);
}

OpResults clip(OpCall &call) {
  return clipBetween(call, call.arg("min").number(), call.arg("max").number());
}
OpResults relu6(OpCall &call) { return clipBetween(call, 0.0, 6.0); }
OpResults hardTanh(OpCall &call) { return clipBetween(call, -1.0, 1.0); }

OpResults dropout(OpCall &call) {
  double p = call.number("p");
  if (!(p >= 0 && p < 1)) {
    call.failAt("p", fmt::format("p must lie in 0..1, 1 excluded, found {}", p));
    return {};
  }
  return call.create<nn::DropoutOp>(call.tensor("x"), call.attribute("p", p));
}

OpResults prelu(OpCall &call) {
  mlir::RankedTensorType x = call.tensorType("x");
  auto slopes = call.integerFrom("slopes", 1);
  if (!slopes)
    return {};
  if (x.getRank() < 2) {
    call.failAt("x",
                fmt::format("expected x of rank 2 or more [N, C, ...], found {}", nn::describe(x)));
    return {};
  }
  mlir::Value weight =
      call.parameter("weight", {*slopes}, x.getElementType(), {"constant", 0.25, 0});
  if (!weight)
    return {};
  if (*slopes > 1) {
    // One slope a channel: shape C x 1 x 1 meets dimension 1.
    llvm::SmallVector<int64_t> shape(x.getRank() - 1, 1);
    shape[0] = *slopes;
    weight = call.createTyped<nn::ReshapeOp>(mlir::RankedTensorType::get(shape, x.getElementType()),
                                             weight);
  }
  return call.create<nn::PReluOp>({call.tensor("x"), weight});
}

/// The two operands with numbers made constants of the tensor's element type.
std::optional<std::pair<mlir::Value, mlir::Value>> operands(OpCall &call, llvm::StringRef first,
                                                            llvm::StringRef second) {
  mlir::Value a = call.tensor(first), b = call.tensor(second);
  if (!a && !b)
    return call.fail("one of the operands must be a tensor");
  mlir::Type element = mlir::cast<mlir::RankedTensorType>((a ? a : b).getType()).getElementType();
  a = call.scalar(first, element);
  b = call.scalar(second, element);
  if (!a || !b)
    return std::nullopt;
  auto left = mlir::cast<mlir::RankedTensorType>(a.getType()),
       right = mlir::cast<mlir::RankedTensorType>(b.getType());
  if (left.getElementType() != right.getElementType())
    return call.fail(fmt::format(
        "operands must have one element type, found {} and {}; cast one of them, as in cast(x, "
        "f32)",
        nn::describe(left), nn::describe(right)));
  std::pair<nn::Dim, nn::Dim> conflict;
  if (mlir::failed(nn::broadcastShapes(nn::shapeOf(left), nn::shapeOf(right), &conflict)))
    return call.fail(fmt::format("the shapes of {} and {} do not fit together: {} against {}",
                                 nn::describe(left), nn::describe(right),
                                 nn::toString(conflict.first, call.context()),
                                 nn::toString(conflict.second, call.context())));
  return std::pair(a, b);
}

template <typename Op> OpResults binary(OpCall &call) {
  auto pair = operands(call, "a", "b");
  if (!pair)
    return {};
  return call.create<Op>({pair->first, pair->second});
}

OpResults matmul(OpCall &call) {
  mlir::RankedTensorType a = call.tensorType("a"), b = call.tensorType("b");
  if (a.getRank() < 2 || b.getRank() < 2) {
    call.fail(fmt::format("both operands must have rank 2 or more, found {} and {}",
                          nn::describe(a), nn::describe(b)));
    return {};
  }
  return call.create<nn::MatmulOp>({call.tensor("a"), call.tensor("b")});
}

OpResults where(OpCall &call) {
  auto pair = operands(call, "a", "b");
  if (!pair)
    return {};
  return call.create<nn::WhereOp>({call.tensor("condition"), pair->first, pair->second});
}

OpResults castTo(OpCall &call) {
  mlir::Type element = nn::elementType(call.context(), *call.arg("to").as<DType>());
  if (element == call.tensorType("x").getElementType())
    return call.tensor("x");
  return call.create<nn::CastOp>(call.tensor("x"),
                                 call.attribute("to", mlir::TypeAttr::get(element)));
}

} // namespace

llvm::ArrayRef<OpEntry> elementwiseOps() {
  static constexpr std::string_view x = "x: tensor", pair = "a: scalar, b: scalar";
  static const OpEntry entries[] = {
      {"relu", "Activations", x, "", "", "max(x, 0)", unary<nn::ReluOp>},
      {"relu6", "Activations", x, "", "", "x limited to 0..6", relu6},
      {"leaky_relu", "Activations", "x: tensor, alpha: float = 0.01", "", "",
       "x above zero, alpha * x below", withAlpha<nn::LeakyReluOp>},
      {"prelu", "Activations", "x: tensor, slopes: int = 1", "weight", "",
       "leaky_relu with a learned slope: one, or one a channel", prelu},
      {"elu", "Activations", "x: tensor, alpha: float = 1.0", "", "",
       "x above zero, alpha * (exp(x) - 1) below", withAlpha<nn::EluOp>},
      {"selu", "Activations", x, "", "", "the ELU of self-normalising networks", unary<nn::SeluOp>},
      {"celu", "Activations", "x: tensor, alpha: float = 1.0", "", "",
       "x above zero, alpha * (exp(x / alpha) - 1) below", withAlpha<nn::CeluOp>},
      {"gelu", "Activations", "x: tensor, approximate: string = \"none\"", "", "",
       "x times the normal distribution function; approximate \"tanh\" for the older formula",
       gelu},
      {"sigmoid", "Activations", x, "", "", "1 / (1 + exp(-x))", unary<nn::SigmoidOp>},
      {"silu", "Activations", x, "", "", "x * sigmoid(x), also called swish", unary<nn::SiluOp>},
      {"tanh", "Activations", x, "", "", "hyperbolic tangent", unary<nn::TanhOp>},
      {"softsign", "Activations", x, "", "", "x / (1 + abs(x))", unary<nn::SoftsignOp>},
      {"softplus", "Activations", "x: tensor, beta: float = 1.0", "", "",
       "log(1 + exp(beta * x)) / beta", softplus},
      {"mish", "Activations", x, "", "", "x * tanh(softplus(x))", unary<nn::MishOp>},
      {"hard_sigmoid", "Activations", x, "", "", "x / 6 + 1/2 limited to 0..1",
       unary<nn::HardSigmoidOp>},
      {"hard_swish", "Activations", x, "", "", "x * hard_sigmoid(x)", unary<nn::HardSwishOp>},
      {"hard_tanh", "Activations", x, "", "", "x limited to -1..1", hardTanh},
      {"dropout", "Activations", "x: tensor, p: float = 0.5", "", "",
       "in training each element is zero with probability p; x otherwise", dropout},

      {"abs", "Functions", x, "", "", "magnitude", unary<nn::AbsOp>},
      {"sign", "Functions", x, "", "", "-1, 0 or 1", unary<nn::SignOp>},
      {"neg", "Functions", x, "", "", "-x", unary<nn::NegOp>},
      {"square", "Functions", x, "", "", "x * x", unary<nn::SquareOp>},
      {"sqrt", "Functions", x, "", "", "square root", unary<nn::SqrtOp>},
      {"rsqrt", "Functions", x, "", "", "1 / sqrt(x)", unary<nn::RsqrtOp>},
      {"reciprocal", "Functions", x, "", "", "1 / x", unary<nn::ReciprocalOp>},
      {"exp", "Functions", x, "", "", "e to the power of x", unary<nn::ExpOp>},
      {"expm1", "Functions", x, "", "", "exp(x) - 1, exact near zero", unary<nn::Expm1Op>},
      {"log", "Functions", x, "", "", "natural logarithm", unary<nn::LogOp>},
      {"log1p", "Functions", x, "", "", "log(1 + x), exact near zero", unary<nn::Log1pOp>},
      {"floor", "Functions", x, "", "", "largest integer not above x", unary<nn::FloorOp>},
      {"ceil", "Functions", x, "", "", "smallest integer not below x", unary<nn::CeilOp>},
      {"round", "Functions", x, "", "", "nearest integer, halves to the even one",
       unary<nn::RoundOp>},
      {"sin", "Functions", x, "", "", "sine", unary<nn::SinOp>},
      {"cos", "Functions", x, "", "", "cosine", unary<nn::CosOp>},
      {"tan", "Functions", x, "", "", "tangent", unary<nn::TanOp>},
      {"erf", "Functions", x, "", "", "Gauss error function", unary<nn::ErfOp>},
      {"clip", "Functions", "x: tensor, min: float? = none, max: float? = none", "", "",
       "x limited to min..max", clip},
      {"cast", "Functions", "x: tensor, to: dtype", "", "", "x as another element type", castTo},

      {"add", "Arithmetic and comparison", pair, "", "", "a + b", binary<nn::AddOp>},
      {"sub", "Arithmetic and comparison", pair, "", "", "a - b", binary<nn::SubOp>},
      {"mul", "Arithmetic and comparison", pair, "", "", "a * b", binary<nn::MulOp>},
      {"div", "Arithmetic and comparison", pair, "", "", "a / b; of integers rounded towards zero",
       binary<nn::DivOp>},
      {"mod", "Arithmetic and comparison", pair, "", "", "a % b with the sign of b",
       binary<nn::ModOp>},
      {"pow", "Arithmetic and comparison", pair, "", "", "a ** b", binary<nn::PowOp>},
      {"min", "Arithmetic and comparison", pair, "", "", "the smaller one", binary<nn::MinOp>},
      {"max", "Arithmetic and comparison", pair, "", "", "the larger one", binary<nn::MaxOp>},
      {"matmul", "Arithmetic and comparison", "a: tensor, b: tensor", "", "",
       "a @ b, batched over leading dimensions", matmul},
      {"equal", "Arithmetic and comparison", pair, "", "", "a == b", binary<nn::EqualOp>},
      {"not_equal", "Arithmetic and comparison", pair, "", "", "a != b", binary<nn::NotEqualOp>},
      {"less", "Arithmetic and comparison", pair, "", "", "a < b", binary<nn::LessOp>},
      {"less_equal", "Arithmetic and comparison", pair, "", "", "a <= b", binary<nn::LessEqualOp>},
      {"greater", "Arithmetic and comparison", pair, "", "", "a > b", binary<nn::GreaterOp>},
      {"greater_equal", "Arithmetic and comparison", pair, "", "", "a >= b",
       binary<nn::GreaterEqualOp>},
      {"logical_and", "Arithmetic and comparison", pair, "", "", "a and b; bitwise for integers",
       binary<nn::AndOp>},
      {"logical_or", "Arithmetic and comparison", pair, "", "", "a or b; bitwise for integers",
       binary<nn::OrOp>},
      {"logical_xor", "Arithmetic and comparison", pair, "", "",
       "exclusive or; bitwise for integers", binary<nn::XorOp>},
      {"logical_not", "Arithmetic and comparison", x, "", "", "not x; bitwise for integers",
       unary<nn::NotOp>},
      {"where", "Arithmetic and comparison", "condition: tensor, a: scalar, b: scalar", "", "",
       "a where the condition holds, b elsewhere", where},
  };
  return entries;
}

} // namespace nncc::frontend
