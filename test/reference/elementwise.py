"""Arithmetic, comparison, logic and mathematical functions, with broadcasting and on integers."""

import torch

from cases import Family

family = Family("elementwise")

SHAPE = (3, 5, 7)


def function(name, expect, low, high):
    family.add(name, f"y = {name}(x)", lambda case: {"x": case.uniform(low, high, *SHAPE)}, expect)


function("exp", torch.exp, -20, 10)
function("expm1", torch.expm1, -3, 3)
function("log", torch.log, 1e-3, 50)
function("log1p", torch.log1p, -0.9, 9)
function("sqrt", torch.sqrt, 0, 50)
function("rsqrt", torch.rsqrt, 1e-2, 50)
function("reciprocal", torch.reciprocal, 0.1, 8)
function("square", torch.square, -8, 8)
function("abs", torch.abs, -8, 8)
function("sign", torch.sign, -3, 3)
function("sin", torch.sin, -10, 10)
function("cos", torch.cos, -10, 10)
function("tan", torch.tan, -1.4, 1.4)
function("erf", torch.erf, -4, 4)
function("floor", torch.floor, -5, 5)
function("ceil", torch.ceil, -5, 5)
family.add("round", "y = round(x)", {"x": torch.tensor([[-2.5, -1.5, -0.5, 0.5], [1.5, 2.5, 2.4, -3.6]])}, torch.round)
family.add("negate", "y = -x", lambda case: {"x": case.normal(*SHAPE)}, torch.neg)


def binary(name, text, expect, aShape=SHAPE, bShape=SHAPE, low=-4.0, high=4.0, **options):
    family.add(name, f"y = {text}",
               lambda case: {"a": case.uniform(low, high, *aShape), "b": case.uniform(low, high, *bShape)}, expect, **options)


binary("add", "a + b", torch.add)
binary("subtract", "a - b", torch.sub)
binary("multiply", "a * b", torch.mul)
binary("divide", "a / b", torch.div, low=0.5)
binary("power", "a ** b", torch.pow, low=0.1, high=3.0)
binary("minimum", "min(a, b)", torch.minimum)
binary("maximum", "max(a, b)", torch.maximum)
binary("broadcast_row", "a + b", torch.add, (3, 5, 7), (7,))
binary("broadcast_channel", "a * b", torch.mul, (2, 5, 3, 4), (1, 5, 1, 1))
binary("broadcast_both", "a - b", torch.sub, (3, 1, 7), (3, 5, 1))
binary("broadcast_scalar", "a * b", torch.mul, (3, 5), (1,))
family.add("scalar_operands", "y = 1.0 - x * 2.0 + 3.0 / (x + 4.5)", lambda case: {"x": case.uniform(-4, 4, *SHAPE)},
           lambda x: 1.0 - x * 2.0 + 3.0 / (x + 4.5))
family.add("square_operator", "y = x ** 2", lambda case: {"x": case.normal(*SHAPE)}, lambda x: x**2)


def integers(name, text, expect, dtype=torch.int64, low=-9, high=10, **shapes):
    family.add(name, f"y = {text}", lambda case: {"a": case.integers(low, high, 4, 9, dtype=dtype),
                                                  "b": case.integers(1, 6, 4, 9, dtype=dtype)}, expect)


integers("add_i64", "a + b", torch.add)
integers("multiply_i32", "a * b", torch.mul, torch.int32)
integers("subtract_i32", "a - b", torch.sub, torch.int32)
integers("divide_i64", "a / b", lambda a, b: torch.div(a, b, rounding_mode="trunc"))
integers("modulo_i32", "a % b", torch.remainder, torch.int32)
integers("maximum_i64", "max(a, b)", torch.maximum)
integers("equal_i64", "a == b", torch.eq, low=1, high=4)


def ties(case):
    a = case.integers(-2, 3, 4, 9).float()
    return {"a": a, "b": case.integers(-2, 3, 4, 9).float()}


for name, text, expect in (("equal", "a == b", torch.eq), ("not_equal", "a != b", torch.ne), ("less", "a < b", torch.lt),
                           ("less_equal", "a <= b", torch.le), ("greater", "a > b", torch.gt),
                           ("greater_equal", "a >= b", torch.ge)):
    family.add(name, f"y = {text}", ties, expect)

family.add("logic", "y = (a > 0.0) and not (b > 1.0) or (a == b)", ties, lambda a, b: (a > 0) & ~(b > 1) | (a == b))
family.add("where", "y = where(a > b, a, b * 0.5)", ties, lambda a, b: torch.where(a > b, a, b * 0.5))
family.add("where_mask", "y = where(mask, x, -1.0)",
           lambda case: {"x": case.normal(4, 9), "mask": case.integers(0, 2, 4, 9) > 0},
           lambda x, mask: torch.where(mask, x, torch.tensor(-1.0)))
family.add("cast_to_i32", "y = cast(x, i32)", lambda case: {"x": case.uniform(-9, 9, 4, 9)}, lambda x: x.int())
family.add("cast_to_f32", "y = cast(x, f32)", lambda case: {"x": case.integers(-9, 9, 4, 9)}, lambda x: x.float())
family.add("cast_from_bool", "y = cast(x > 0.0, f32)", lambda case: {"x": case.normal(4, 9)}, lambda x: (x > 0).float())
family.add("dropout_at_inference", "y = dropout(x, 0.5)", lambda case: {"x": case.normal(4, 9)}, lambda x: x)

# Large arguments, where the reduction to one period decides.
for name, expect in (("sin", torch.sin), ("cos", torch.cos), ("tan", torch.tan)):
    family.add(f"{name}_large", f"y = {name}(x)", lambda case: {"x": case.uniform(-3000, 3000, 3, 37)},
               lambda x, expect=expect: expect(x.double()).float())
family.add("log_wide", "y = log(x)", lambda case: {"x": torch.exp(case.uniform(-85, 85, 3, 37))}, lambda x: x.double().log().float())
family.add("power_wide", "y = a ** b", lambda case: {"a": torch.exp(case.uniform(-20, 20, 3, 37)), "b": case.uniform(-4, 4, 3, 37)},
           lambda a, b: (a.double()**b.double()).float())
family.add("power_integer_exponents", "y = a ** b", lambda case: {"a": case.uniform(-4, 4, 3, 17), "b": case.integers(-4, 5, 3, 17).float()},
           lambda a, b: (a.double()**b.double()).float())
family.add("power_constants", "a = x ** 3\nb = x ** -2\nc = x ** 0.5\nd = x ** -0.5\ne = x ** 0\nreturn a, b, c, d, e",
           lambda case: {"x": case.uniform(0.1, 4, 3, 17)},
           lambda x: {"a": x**3, "b": x**-2, "c": x**0.5, "d": x**-0.5, "e": x**0})
binary("modulo", "a % b", torch.remainder)
binary("modulo_negative_divisor", "a % b", torch.remainder, low=-4.0, high=-0.5)
binary("named_arithmetic", "add(mul(a, b), sub(a, div(b, 3.0)))", lambda a, b: a * b + (a - b / 3))
binary("min_max_scalars", "min(max(a, -1.0), max(b, 0.5))", lambda a, b: torch.minimum(a.clamp(min=-1), b.clamp(min=0.5)))
binary("broadcast_ranks", "a * b", torch.mul, (2, 3, 4, 5), (4, 1))
binary("broadcast_up", "a + b", torch.add, (2, 1, 7), (3, 1, 5, 1), batched=False)

family.add("logic_bool", "p = logical_xor(a, b)\nq = logical_not(a)\nr = a == b\ns = a and not b\nreturn p, q, r, s",
           lambda case: {"a": case.integers(0, 2, 4, 9) > 0, "b": case.integers(0, 2, 4, 9) > 0},
           lambda a, b: {"p": a ^ b, "q": ~a, "r": a == b, "s": a & ~b})
family.add("where_broadcast", "y = where(mask, a, b)",
           lambda case: {"mask": case.integers(0, 2, 3, 1, 7) > 0, "a": case.normal(3, 5, 1), "b": case.normal(7)}, torch.where)
family.add("where_integers", "y = where(a > 2, a, -1)", lambda case: {"a": case.integers(-9, 9, 4, 9)},
           lambda a: torch.where(a > 2, a, torch.tensor(-1)))

family.add("dynamic_dims", "y = a * b + c", lambda case: {"a": case.normal(2, 5, 7), "b": case.normal(5, 1), "c": case.normal(7)},
           lambda a, b, c: a * b + c, dims={"a": "N, T, K", "b": "T, 1", "c": "K"})
family.add("odd_lengths", "y = tanh(x) * 2.0 + exp(-x)", lambda case: {"x": case.normal(1, 131)}, lambda x: x.tanh() * 2 + (-x).exp())
family.add("scalar_shapes", "y = a + b", lambda case: {"a": case.normal(1), "b": case.normal(1)}, torch.add, batched=False)
