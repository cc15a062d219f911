"""Functions and comparisons of infinities, NaN, zeros of both signs, denormals and the largest numbers."""

import torch

from cases import Family

family = Family("special_values")

NAN, INFINITY = float("nan"), float("inf")


def special(name, text, expect, *values):
    """Beside the infinities, NaN and both zeros: denormals, the largest number, and values of the function's own."""
    x = torch.tensor([[0.0, -0.0, INFINITY, -INFINITY, NAN, 1e-40, -1e-40, 3.4e38, -3.4e38, 1.0, -1.0, 0.5, *values]])
    # Twice beside itself: in the vectors of a row and in its tail.
    family.add(f"{name}_special", f"y = {text}", {"x": torch.cat([x, x, x], 1)}, expect)


special("exp", "exp(x)", torch.exp, 88.7, 88.8, -87.3, -87.4, -100.0, -103.9, -104.1, 1e-30)
special("expm1", "expm1(x)", torch.expm1, 88.7, 88.8, -17.0, -20.0, -100.0, 1e-10, -1e-10, 1e-4)
special("log", "log(x)", torch.log, 1e-38, 1.0000001, 0.9999999, 2.0)
# In double precision: in single, PyTorch's log1p of the largest numbers is infinite.
special("log1p", "log1p(x)", lambda x: torch.log1p(x.double()).float(), 1e-10, -1e-10, 1e-4, -0.999999, -2.0)
special("sqrt", "sqrt(x)", torch.sqrt, 1e-38, 4.0)
special("rsqrt", "rsqrt(x)", torch.rsqrt, 1e-38, 4.0)
special("reciprocal", "reciprocal(x)", torch.reciprocal, 1e-38, 1e38)
special("sin", "sin(x)", torch.sin, 3.1415927, 1e3, -1e3, 1e5, 1e7, 1e22, 1e-10)
special("cos", "cos(x)", torch.cos, 1.5707964, 1e3, -1e3, 1e5, 1e7, 1e22, 1e-10)
special("tan", "tan(x)", torch.tan, 1.5, -1.5, 1e3, 1e-10)
special("erf", "erf(x)", torch.erf, 4.0, -4.0, 1e-10, 3.9)
special("abs", "abs(x)", torch.abs)
special("sign", "sign(x)", torch.sign)
special("square", "square(x)", torch.square, 1e20)
special("floor", "floor(x)", torch.floor, -0.3, 8388609.0, 3e9)
special("ceil", "ceil(x)", torch.ceil, -0.3, 8388609.0, 3e9)
special("round", "round(x)", torch.round, -0.3, 2.5, 8388609.0, 3e9)


def pairs(name, text, expect, *values):
    """Each of the values with each."""
    x = torch.tensor(values)
    family.add(name, f"y = {text}", {"a": x.repeat_interleave(len(values)).reshape(1, -1), "b": x.repeat(len(values)).reshape(1, -1)},
               expect)


SPECIAL = (0.0, -0.0, INFINITY, -INFINITY, NAN, 1.0, -1.0, 2.5)
pairs("minimum_special", "min(a, b)", torch.minimum, *SPECIAL)
pairs("maximum_special", "max(a, b)", torch.maximum, *SPECIAL)
pairs("divide_special", "a / b", torch.div, *SPECIAL)
pairs("power_special", "a ** b", torch.pow, *SPECIAL, -2.0, 3.0, 0.5)
pairs("modulo_special", "a % b", torch.remainder, *SPECIAL, -3.0)
for name, text, expect in (("equal", "a == b", torch.eq), ("not_equal", "a != b", torch.ne), ("less", "a < b", torch.lt),
                           ("less_equal", "a <= b", torch.le), ("greater", "a > b", torch.gt),
                           ("greater_equal", "a >= b", torch.ge)):
    pairs(f"{name}_special", text, expect, *SPECIAL)
pairs("where_special", "where(a > b, a, b)", lambda a, b: torch.where(a > b, a, b), *SPECIAL)
