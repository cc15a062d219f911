"""Conversions between all element types: rounding, overflow, truncation, saturation."""

import torch

from cases import DTYPES, Family

family = Family("casts")

NAN, INFINITY = float("nan"), float("inf")


def spelled(dtype):
    return DTYPES[dtype][1]


# Casts from every type to every type. From floats to integers nncc saturates, and NaN becomes 0; what PyTorch does there
# depends on the machine, so the cases stay in range, and cast_saturates states the rule.
ALL = [torch.float32, torch.float16, torch.bfloat16, torch.float64, torch.int8, torch.uint8, torch.int32, torch.int64, torch.bool]
for source in ALL:
    isFloat = source.is_floating_point

    def castInput(case, source=source):
        if source == torch.bool:
            return {"x": case.integers(0, 2, 3, 11) > 0}
        if source.is_floating_point:
            x = case.uniform(0, 120, 3, 11)
            x[0] = torch.tensor([0.0, -0.0, 0.5, 1.0, 0.49, 2.5, 3.5, 100.7, 1.0009766, 1.00048828125, 65.03125])
            return {"x": x.to(source)}
        x = case.integers(0 if source == torch.uint8 else -120, 120, 3, 11, dtype=source)
        return {"x": x}

    targets = [target for target in ALL if target != source]
    family.add(f"cast_from_{spelled(source)}",
               "\n".join(f"to_{spelled(target)} = cast(x, {spelled(target)})" for target in targets)
               + "\nreturn " + ", ".join(f"to_{spelled(target)}" for target in targets),
               castInput, lambda x, targets=targets: {f"to_{spelled(target)}": x.to(target) for target in targets})

# Rounding to nearest, halves to even, overflow to infinity, denormals: the floats around the corners of f16 and bf16.
CORNERS = [65504.0, 65519.0, 65520.0, -65520.0, 1e9, 6.1e-5, 6e-8, 2.9e-8, 3.0e-8, 1e-10, 2049.0, 2051.0, 4098.0, 4102.0, 1.00390625,
           1.01171875, 3.3895e38, 3.396e38, 3.4e38, 1e-40, 9e-41, INFINITY, -INFINITY, NAN, 0.0, -0.0]
family.add("cast_f32_rounds", "a = cast(x, f16)\nb = cast(x, bf16)\nreturn a, b", {"x": torch.tensor([CORNERS])},
           lambda x: {"a": x.half(), "b": x.bfloat16()})
family.add("cast_f64_rounds", "a = cast(x, f16)\nb = cast(x, bf16)\nc = cast(x, f32)\nreturn a, b, c",
           # The last are within f32's rounding of a tie of f16 and bf16: rounded to f32 first, as PyTorch does.
           {"x": torch.tensor([CORNERS + [1e300, -1e300, 1e-300, 1.00048828125 + 1e-10, 1.00048828125 - 1e-10, 1.00390625 + 1e-10,
                                          1.01171875 - 1e-10]], dtype=torch.float64)},
           lambda x: {"a": x.half(), "b": x.bfloat16(), "c": x.float()})
family.add("cast_i64_rounds", "a = cast(x, f32)\nb = cast(x, f64)\nc = cast(x, f16)\nd = cast(x, i32)\ne = cast(x, i8)\nreturn a, b, c, d, e",
           {"x": torch.tensor([[2**24 + 1, 2**24 + 3, 2**53 + 1, 2**62, -2**63, 2049, 2051, 65504, 65520, -1, 255, 128, 2**32 + 5]])},
           lambda x: {"a": x.float(), "b": x.double(), "c": x.half(), "d": x.int(),
                      "e": x.to(torch.int8)})
family.add("cast_saturates", "a = cast(x, i8)\nb = cast(x, u8)\nc = cast(x, i32)\nd = cast(x, i64)\ne = cast(x, bool)\nreturn a, b, c, d, e",
           {"x": torch.tensor([[NAN, INFINITY, -INFINITY, 300.0, -300.0, 127.9, -128.9, 255.9, -0.9, 3e9, -3e9, 1e20, -1e20, 1e-40]])},
           lambda x: {"a": torch.tensor([[0, 127, -128, 127, -128, 127, -128, 127, 0, 127, -128, 127, -128, 0]], dtype=torch.int8),
                      "b": torch.tensor([[0, 255, 0, 255, 0, 127, 0, 255, 0, 255, 0, 255, 0, 0]], dtype=torch.uint8),
                      "c": torch.tensor([[0, 2**31 - 1, -2**31, 300, -300, 127, -128, 255, 0, 2**31 - 1, -2**31, 2**31 - 1, -2**31, 0]],
                                        dtype=torch.int32),
                      "d": torch.tensor([[0, 2**63 - 1, -2**63, 300, -300, 127, -128, 255, 0, 3 * 10**9, -3 * 10**9, 2**63 - 1, -2**63, 0]]),
                      "e": x != 0})
# A value that is rounded on its way stays rounded, also within one kernel.
family.add("cast_there_and_back", "y = cast(cast(x * 3.0, f16), f32) - cast(cast(x * 3.0, bf16), f32)",
           lambda case: {"x": case.normal(4, 19)}, lambda x: (x * 3).half().float() - (x * 3).bfloat16().float())
family.add("cast_truncates_on_the_way", "y = cast(cast(x, i32), f32) * 0.5", lambda case: {"x": case.uniform(-9, 9, 4, 19)},
           lambda x: x.int().float() * 0.5)
