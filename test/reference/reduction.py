"""Reductions over one axis, several and all; the last axis, where vectors reduce across, and others, where they do not."""

import torch

from cases import Family

family = Family("reduction")


def first(x, axis, largest):
    """The position of the first largest or smallest value; PyTorch does not say which of equal ones it gives."""
    best = x.amax(axis, keepdim=True) if largest else x.amin(axis, keepdim=True)
    positions = torch.arange(x.shape[axis]).reshape([-1] + [1] * (x.dim() - 1 - axis)).expand_as(x)
    return positions.masked_fill(x != best, x.shape[axis]).amin(axis)


def reduce(name, text, expect, inputShape=(3, 5, 19), scale=1.0):
    family.add(name, f"y = {text}", lambda case: {"x": case.distinct(*inputShape) * scale}, expect)


reduce("sum", "sum(x, axis = -1)", lambda x: x.sum(-1))
reduce("sum_axis1", "sum(x, axis = 1)", lambda x: x.sum(1))
reduce("sum_keepdims", "sum(x, axis = 2, keepdims = true)", lambda x: x.sum(2, keepdim=True))
reduce("sum_axes", "sum(x, axis = [2, 3])", lambda x: x.sum((2, 3)), (2, 6, 5, 7))
reduce("sum_outer_axes", "sum(x, axis = [1, 3])", lambda x: x.sum((1, 3)), (2, 6, 5, 7))
reduce("mean", "mean(x, axis = -1)", lambda x: x.mean(-1))
reduce("mean_spatial_keepdims", "mean(x, axis = [2, 3], keepdims = true)", lambda x: x.mean((2, 3), keepdim=True),
       (2, 18, 6, 5))
reduce("max", "reduce_max(x, axis = -1)", lambda x: x.amax(-1))
reduce("max_axis1", "reduce_max(x, axis = 1)", lambda x: x.amax(1))
reduce("min", "reduce_min(x, axis = -1)", lambda x: x.amin(-1))
reduce("prod", "prod(x, axis = -1)", lambda x: x.prod(-1), (3, 4, 6))
reduce("argmax", "argmax(x, axis = -1)", lambda x: x.argmax(-1))
reduce("argmax_axis1", "argmax(x, axis = 1)", lambda x: x.argmax(1))
reduce("argmin", "argmin(x, axis = -1)", lambda x: x.argmin(-1))
# The first of equal values wins.
family.add("argmax_ties", "y = argmax(x, axis = -1)",
           {"x": torch.tensor([[1.0, 3.0, 3.0, 2.0], [5.0, 5.0, 5.0, 5.0], [0.0, -1.0, 0.0, -2.0]])},
           lambda x: torch.tensor([1, 0, 0]))
family.add("max_negative", "y = reduce_max(x, axis = -1)", lambda case: {"x": -case.uniform(1, 9, 4, 21)}, lambda x: x.amax(-1))
family.add("sum_i64", "y = sum(x, axis = -1)", lambda case: {"x": case.integers(-99, 99, 4, 11)}, lambda x: x.sum(-1))
family.add("sum_long", "y = sum(x, axis = -1)", lambda case: {"x": case.uniform(0, 1, 2, 3001)},
           lambda x: x.double().sum(-1).float())

reduce("sum_all", "sum(x)", lambda x: x.sum())
reduce("sum_all_keepdims", "sum(x, keepdims = true)", lambda x: x.sum((0, 1, 2), keepdim=True))
reduce("sum_axis0", "sum(x, axis = 0)", lambda x: x.sum(0))
reduce("sum_negative_axes", "sum(x, axis = [-1, -3])", lambda x: x.sum((-1, -3)), (2, 6, 5, 7))
reduce("sum_one", "sum(x, axis = 1)", lambda x: x.sum(1), (3, 1, 17))
reduce("sum_inner_pair", "sum(x, axis = [1, 2])", lambda x: x.sum((1, 2)), (3, 5, 33))
reduce("mean_all", "mean(x)", lambda x: x.mean())
reduce("mean_axis0", "mean(x, axis = 0, keepdims = true)", lambda x: x.mean(0, keepdim=True))
reduce("mean_channels", "mean(x, axis = 1)", lambda x: x.mean(1), (2, 17, 4, 5))
reduce("max_all", "reduce_max(x)", lambda x: x.max())
reduce("max_axes_keepdims", "reduce_max(x, axis = [0, 2], keepdims = true)", lambda x: x.amax((0, 2), keepdim=True))
reduce("min_axis1", "reduce_min(x, axis = 1, keepdims = true)", lambda x: x.amin(1, keepdim=True))
reduce("prod_axis1", "prod(x, axis = 1)", lambda x: x.prod(1), (3, 4, 17))
reduce("prod_all", "prod(x)", lambda x: x.prod(), (2, 3, 3))
reduce("argmax_keepdims", "argmax(x, axis = 1, keepdims = true)", lambda x: x.argmax(1, keepdim=True))
reduce("argmax_axis0", "argmax(x, axis = 0)", lambda x: x.argmax(0))
reduce("argmin_axis1", "argmin(x, axis = -2)", lambda x: x.argmin(-2))
reduce("argmin_keepdims", "argmin(x, keepdims = true)", lambda x: x.argmin(-1, keepdim=True))
reduce("argmax_long", "argmax(x)", lambda x: x.argmax(-1), (2, 777))
reduce("sum_of_squares", "sum(x * x, axis = -1)", lambda x: (x * x).sum(-1), (3, 71))
reduce("sum_then_scale", "sum(x, axis = 1) * 0.5 + 1.0", lambda x: x.sum(1) * 0.5 + 1)
reduce("normalise", "x / sqrt(sum(x * x, axis = -1, keepdims = true))", lambda x: x / (x * x).sum(-1, keepdim=True).sqrt())


def special(name, text, expect):
    """Rows with a NaN, with infinities of both signs, of -inf and of inf alone."""
    def inputs(case):
        x = case.distinct(5, 19)
        x[0, 7] = float("nan")
        x[1, 3], x[1, 17] = float("inf"), -float("inf")
        x[2], x[3] = -float("inf"), float("inf")
        x[4, 18] = float("nan")
        return {"x": x}

    family.add(f"{name}_special", f"y = {text}", inputs, expect)


special("max", "reduce_max(x, axis = -1)", lambda x: x.amax(-1))
special("min", "reduce_min(x, axis = -1)", lambda x: x.amin(-1))
special("max_axis0", "reduce_max(x, axis = 0)", lambda x: x.amax(0))
special("sum", "sum(x, axis = -1)", lambda x: x.sum(-1))
special("prod", "prod(x, axis = -1)", lambda x: x.prod(-1))
special("mean_axis0", "mean(x, axis = 0)", lambda x: x.mean(0))
special("argmax", "argmax(x, axis = -1)", lambda x: x.argmax(-1))
special("argmin", "argmin(x, axis = -1)", lambda x: x.argmin(-1))
special("argmax_axis0", "argmax(x, axis = 0)", lambda x: x.argmax(0))

for dtype in (torch.int8, torch.uint8, torch.int32, torch.int64):
    name = str(dtype).split(".")[1].replace("uint", "u").replace("int", "i")
    # Sums keep their type, and wrap.
    family.add(f"integers_{name}", """
        a = sum(x, axis = 1)
        b = prod(x, axis = 1)
        c = reduce_max(x, axis = 1)
        d = reduce_min(x, axis = 0)
        e = argmax(x, axis = 1)
        f = argmin(x, axis = 0)
        return a, b, c, d, e, f
        """, lambda case, dtype=dtype: {"x": case.integers(0 if dtype == torch.uint8 else -100, 100, 4, 19, dtype=dtype)},
        lambda x: {"a": x.sum(1, dtype=x.dtype), "b": x.prod(1, dtype=x.dtype), "c": x.amax(1), "d": x.amin(0), "e": first(x, 1, True),
                   "f": first(x, 0, False)})
family.add("integers_bool", "a = reduce_max(x, axis = 1)\nb = reduce_min(x, axis = 1)\nc = argmax(x, axis = 1)\nreturn a, b, c",
           lambda case: {"x": case.integers(0, 2, 7, 4) > 0}, lambda x: {"a": x.any(1), "b": x.all(1), "c": first(x.int(), 1, True)})


def dynamic(name, inputShape, dims, text, expect):
    family.add(name, f"y = {text}", lambda case: {"x": case.distinct(*inputShape)}, expect, dims={"x": dims})


dynamic("sum_dynamic", (2, 5, 13), "N, 5, T", "sum(x, axis = -1)", lambda x: x.sum(-1))
dynamic("mean_dynamic", (2, 9, 17), "N, T, 17", "mean(x, axis = 1)", lambda x: x.mean(1))
dynamic("mean_dynamic_spatial", (2, 17, 5, 6), "N, 17, H, W", "mean(x, axis = [2, 3], keepdims = true)",
        lambda x: x.mean((2, 3), keepdim=True))
dynamic("max_dynamic", (2, 7, 5), "N, T, K", "reduce_max(x, axis = [0, 1])", lambda x: x.amax((0, 1)))
dynamic("argmax_dynamic", (3, 21), "N, T", "argmax(x)", lambda x: x.argmax(-1))
dynamic("sum_dynamic_all", (3, 4, 5), "N, T, K", "sum(x)", lambda x: x.sum())

# Many elements for each of few results, which stand side by side: on CUDA blocks share a result, and another kernel combines their parts.
reduce("sum_channels", "sum(x, axis = [0, 1])", lambda x: x.sum((0, 1)), (5, 271, 12))
reduce("mean_one_channel", "mean(x, axis = 0)", lambda x: x.mean(0), (4099, 1))
reduce("max_channels", "reduce_max(x, axis = 0, keepdims = true)", lambda x: x.amax(0, keepdim=True), (1283, 35))
reduce("argmax_channels", "argmax(x, axis = 0)", lambda x: x.argmax(0), (2051, 7))
