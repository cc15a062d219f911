"""Ops that move elements: views, slices, joins, padding, lookups, resizing."""

import torch
from torch.nn import functional as F

from cases import Family

family = Family("movement")


def move(name, text, expect, inputShape=(2, 3, 4, 5)):
    family.add(name, f"y = {text}", lambda case: {"x": case.normal(*inputShape)}, expect)


move("reshape", "reshape(x, [N, 12, 5])", lambda x: x.reshape(2, 12, 5))
move("reshape_inferred", "reshape(x, [N, -1, 10])", lambda x: x.reshape(2, -1, 10))
move("flatten", "flatten(x)", lambda x: x.flatten(1))
move("flatten_from_axis2", "flatten(x, 2)", lambda x: x.flatten(2))
move("squeeze", "squeeze(x, 1)", lambda x: x.squeeze(1), (2, 1, 5))
move("unsqueeze", "unsqueeze(x, 2)", lambda x: x.unsqueeze(2), (2, 3, 5))
move("transpose", "transpose(x, [0, 2, 1])", lambda x: x.transpose(1, 2), (2, 13, 9))
move("transpose_4d", "transpose(x, [0, 2, 3, 1])", lambda x: x.permute(0, 2, 3, 1))
move("transpose_heads", "transpose(x, [0, 2, 1, 3])", lambda x: x.permute(0, 2, 1, 3), (2, 5, 3, 8))

move("slice", "x[:, 1:, :, 1:4]", lambda x: x[:, 1:, :, 1:4])
move("slice_negative", "x[:, :-1, -3:-1]", lambda x: x[:, :-1, -3:-1])
move("slice_step", "x[:, :, ::2, 1::2]", lambda x: x[:, :, ::2, 1::2])
move("slice_index", "x[:, -1]", lambda x: x[:, -1])
move("slice_last_step", "x[:, :, 2]", lambda x: x[:, :, 2])

family.add("concat", "y = concat([a, b], axis = 1)", lambda case: {"a": case.normal(2, 3, 4), "b": case.normal(2, 5, 4)},
           lambda a, b: torch.cat([a, b], 1))
family.add("concat_last", "y = concat([a, b, a], axis = -1)",
           lambda case: {"a": case.normal(2, 3, 4), "b": case.normal(2, 3, 6)}, lambda a, b: torch.cat([a, b, a], -1))
family.add("stack", "y = stack([a, b], axis = 1)", lambda case: {"a": case.normal(2, 3), "b": case.normal(2, 3)},
           lambda a, b: torch.stack([a, b], 1))
family.add("split", "a, b, c = split(x, 3, axis = 1)\nreturn a, b, c", lambda case: {"x": case.normal(2, 9, 4)},
           lambda x: dict(zip("abc", x.chunk(3, 1))))
family.add("split_sizes", "a, b = split(x, [2, 5], axis = 1)\nreturn a, b", lambda case: {"x": case.normal(2, 7, 4)},
           lambda x: dict(zip("ab", x.split([2, 5], 1))))
family.add("expand", "y = expand(x, [N, 3, 5])", lambda case: {"x": case.normal(2, 3, 1)}, lambda x: x.expand(2, 3, 5))

# [before, after] pairs of the last dimensions; PyTorch lists them from the last one.
move("pad", "pad(x, [[1, 2], [0, 3]])", lambda x: F.pad(x, (0, 3, 1, 2)), (2, 3, 4))
move("pad_value", "pad(x, [[2, 1]], value = 1.5)", lambda x: F.pad(x, (2, 1), value=1.5), (2, 3, 4))
move("pad_reflect", 'pad(x, [[2, 1], [1, 3]], mode = "reflect")',
     lambda x: F.pad(x, (1, 3, 2, 1), mode="reflect"))
move("pad_replicate", 'pad(x, [[2, 1], [1, 3]], mode = "replicate")',
     lambda x: F.pad(x, (1, 3, 2, 1), mode="replicate"))

family.add("gather", "y = gather(x, index, axis = 1)",
           lambda case: {"x": case.normal(6, 5, 3), "index": case.integers(0, 5, 4)},
           lambda x, index: x.index_select(1, index))
family.add("embedding", "y = embedding(tokens, 11, 6) as embed", lambda case: {"tokens": case.integers(0, 11, 3, 7)},
           lambda w, tokens: F.embedding(tokens, w["embed.weight"]), lambda case: {"embed.weight": case.normal(11, 6)})


def resize(name, arguments, inputShape, **options):
    move(name, f"resize(x, {arguments})", lambda x: F.interpolate(x, **options), inputShape)


resize("resize_nearest", 'scale = 2, mode = "nearest", coordinates = "asymmetric"', (2, 3, 4, 5), scale_factor=2, mode="nearest")
resize("resize_nearest_down", 'size = [3, 4], mode = "nearest", coordinates = "asymmetric"', (1, 2, 7, 9),
       size=(3, 4), mode="nearest")
resize("resize_nearest_exact", 'size = [3, 11], mode = "nearest"', (1, 2, 7, 9), size=(3, 11), mode="nearest-exact")
resize("resize_bilinear", 'size = [8, 9], mode = "linear"', (2, 3, 4, 5), size=(8, 9), mode="bilinear")
resize("resize_bilinear_down", 'size = [3, 4], mode = "linear"', (1, 2, 7, 9), size=(3, 4), mode="bilinear")
resize("resize_bilinear_align_corners", 'size = [7, 9], mode = "linear", coordinates = "align_corners"', (1, 3, 4, 5),
       size=(7, 9), mode="bilinear", align_corners=True)
