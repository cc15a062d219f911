"""Arithmetic, comparison and bits of integers of every width, at the ends of their ranges."""

import torch

from cases import DTYPES, Family

family = Family("integers")

# Integers of every width: what wraps, what traps in hardware, and division by the sign's rules.
INTEGERS = ((torch.int8, -128, 127), (torch.uint8, 0, 255), (torch.int32, -2**31, 2**31 - 1), (torch.int64, -2**63, 2**63 - 1))


for dtype, low, high in INTEGERS:
    edges = torch.tensor([low, low + 1, high, high - 1, 0, 1, 2, 3, 5, 7, *([-1, -2, -3, -7] if low else [])], dtype=dtype)
    a, b = edges.repeat_interleave(len(edges)).reshape(1, -1), edges.repeat(len(edges)).reshape(1, -1)
    both = {"a": a, "b": b}
    name = DTYPES[dtype][1]
    family.add(f"add_sub_mul_{name}", "p = a + b\nq = a - b\nr = a * b\nreturn p, q, r", both,
               lambda a, b: {"p": a + b, "q": a - b, "r": a * b})
    family.add(f"compare_{name}", "p = a < b\nq = a >= b\nr = a == b\ns = max(a, b)\nt = min(a, b)\nreturn p, q, r, s, t", both,
               lambda a, b: {"p": a < b, "q": a >= b, "r": a == b, "s": torch.maximum(a, b), "t": torch.minimum(a, b)})
    family.add(f"bits_{name}", "p = logical_and(a, b)\nq = logical_or(a, b)\nr = logical_xor(a, b)\ns = logical_not(a)\nreturn p, q, r, s",
               both, lambda a, b: {"p": a & b, "q": a | b, "r": a ^ b, "s": ~a})
    family.add(f"unary_{name}", "p = abs(a)\nq = sign(a)\nr = a * a - 1\ns = clip(a, min = 1, max = 5)\nreturn p, q, r, s", {"a": a},
               lambda a: {"p": a.abs() if a.dtype != torch.uint8 else a, "q": a.sign(), "r": a * a - 1, "s": a.clamp(1, 5)})
    # PyTorch refuses a zero divisor; nncc gives 0. The smallest number by -1 wraps.
    wraps = (b == -1) & (a == low) if low else torch.zeros_like(a, dtype=torch.bool)
    divisor = torch.where((b == 0) | wraps, torch.ones_like(b), b)
    quotient = torch.div(a, divisor, rounding_mode="trunc").masked_fill(b == 0, 0)
    remainder = torch.remainder(a, divisor).masked_fill(b == 0, 0)
    family.add(f"quotient_{name}", "p = a / b\nq = a % b\nreturn p, q", both,
               lambda a, b, quotient=quotient, remainder=remainder: {"p": quotient, "q": remainder})
