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


def binary(name, text, expect, aShape=SHAPE, bShape=SHAPE, low=-4.0, high=4.0):
    family.add(name, f"y = {text}",
               lambda case: {"a": case.uniform(low, high, *aShape), "b": case.uniform(low, high, *bShape)}, expect)


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
