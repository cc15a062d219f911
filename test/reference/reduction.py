"""Reductions over one axis, several and all; the last axis, where vectors reduce across, and others, where they do not."""

import torch

from cases import Family

family = Family("reduction")


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
