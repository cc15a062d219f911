"""Ops that move elements: views, slices, joins, padding, lookups, resizing."""

import torch
from torch.nn import functional as F

from cases import DTYPES, Family

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

resize("resize_nearest_1d", 'scale = 3, mode = "nearest", coordinates = "asymmetric"', (2, 3, 5), scale_factor=3, mode="nearest")
resize("resize_nearest_3d", 'size = [5, 2, 6], mode = "nearest", coordinates = "asymmetric"', (1, 2, 3, 4, 4), size=(5, 2, 6), mode="nearest")
resize("resize_nearest_exact_3d", 'scale = [1, 2, 3]', (1, 2, 3, 2, 2), scale_factor=(1, 2, 3), mode="nearest-exact")
resize("resize_linear_1d", 'size = 11, mode = "linear"', (2, 3, 5), size=11, mode="linear")
resize("resize_linear_1d_down", 'size = 3, mode = "linear", coordinates = "align_corners"', (2, 3, 8), size=3, mode="linear", align_corners=True)
resize("resize_trilinear", 'size = [4, 5, 3], mode = "linear"', (1, 2, 3, 3, 4), size=(4, 5, 3), mode="trilinear")
resize("resize_trilinear_align_corners", 'size = [4, 5, 1], mode = "linear", coordinates = "align_corners"', (1, 2, 3, 3, 4),
       size=(4, 5, 1), mode="trilinear", align_corners=True)
resize("resize_bilinear_channels", 'scale = 2, mode = "linear"', (2, 19, 3, 5), scale_factor=2, mode="bilinear")
resize("resize_same_size", 'size = [4, 5], mode = "linear"', (2, 3, 4, 5), size=(4, 5), mode="bilinear")
resize("resize_from_one_pixel", 'size = [3, 4], mode = "linear"', (2, 3, 1, 1), size=(3, 4), mode="bilinear")

move("reshape_split", "reshape(x, [N, 2, 3, 10])", lambda x: x.reshape(2, 2, 3, 10), (2, 6, 10))
move("reshape_flat", "reshape(x, [-1])", lambda x: x.reshape(-1))
move("reshape_merges_batch", "reshape(x, [N * 3, 20])", lambda x: x.reshape(6, 20))
move("flatten_all", "flatten(x, 0)", lambda x: x.flatten(0))
move("flatten_middle", "flatten(x, 1, 2)", lambda x: x.flatten(1, 2))
move("squeeze_negative", "squeeze(x, -1)", lambda x: x.squeeze(-1), (2, 3, 1))
move("unsqueeze_negative", "unsqueeze(x, -1)", lambda x: x.unsqueeze(-1), (2, 3, 5))
move("unsqueeze_first", "unsqueeze(x, 0)", lambda x: x.unsqueeze(0), (2, 3, 5))
move("transpose_default", "transpose(x)", lambda x: x.transpose(-1, -2))
move("transpose_batch", "transpose(x, [2, 1, 0])", lambda x: x.permute(2, 1, 0), (3, 5, 17))
move("transpose_negative_axes", "transpose(x, [0, -1, 1, 2])", lambda x: x.permute(0, 3, 1, 2))
move("transpose_5d", "transpose(x, [0, 4, 2, 1, 3])", lambda x: x.permute(0, 4, 2, 1, 3), (2, 3, 2, 4, 5))
move("transpose_matrix_tiles", "transpose(x)", lambda x: x.T, (33, 50))
move("slice_reversed", "slice(x, [0, -1, 0, -1], [-1, -1, -1, 3], [1, -1, 1, -2])", lambda x: x.flip(1)[..., [4, 2, 0]])
move("slice_function", "slice(x, [0, 1, -1, 0], [-1, 2, 2, 3], [1, 1, -2, 2])", lambda x: x[:, 1:3][:, :, [-1, -3]][..., 0:5:2])
move("slice_batch", "x[0]", lambda x: x[0])
move("slice_to_scalar", "x[0, 1, -1, 2]", lambda x: x[0, 1, -1, 2])
move("slice_of_slice", "x[:, 1:, 1:][:, :, ::2]", lambda x: x[:, 1:, 1:][:, :, ::2])
family.add("concat_batch", "y = concat([a, b])", lambda case: {"a": case.normal(2, 3, 4), "b": case.normal(2, 3, 4)},
           lambda a, b: torch.cat([a, b]))
family.add("concat_two_dims", "y = concat([a, b])", lambda case: {"a": case.normal(2, 5), "b": case.normal(3, 5)},
           lambda a, b: torch.cat([a, b]), dims={"a": "N, 5", "b": "M, 5"})
family.add("concat_channels", "y = concat([a, b, c], axis = 1)",
           lambda case: {"a": case.normal(2, 3, 4, 5), "b": case.normal(2, 17, 4, 5), "c": case.normal(2, 1, 4, 5)},
           lambda a, b, c: torch.cat([a, b, c], 1))
family.add("concat_with_computed", "y = concat([relu(a), a * 2.0, b], axis = -2)",
           lambda case: {"a": case.normal(2, 3, 7), "b": case.normal(2, 2, 7)}, lambda a, b: torch.cat([a.relu(), a * 2, b], -2))
family.add("concat_one", "y = concat([a], axis = 1)", lambda case: {"a": case.normal(2, 3)}, lambda a: a)
family.add("stack_last", "y = stack([a, b, a], axis = -1)", lambda case: {"a": case.normal(2, 3), "b": case.normal(2, 3)},
           lambda a, b: torch.stack([a, b, a], -1))
family.add("split_last", "a, b = split(x, 2, axis = -1)\ny = a * b", lambda case: {"x": case.normal(2, 3, 10)},
           lambda x: x[..., :5] * x[..., 5:])
family.add("split_channels", "a, b, c = split(x, [1, 17, 3], axis = 1)\nreturn a, b, c", lambda case: {"x": case.normal(2, 21, 3, 4)},
           lambda x: dict(zip("abc", x.split([1, 17, 3], 1))))
family.add("expand_leading", "y = expand(x, [4, -1, 3, -1])", lambda case: {"x": case.normal(2, 1, 5)}, lambda x: x.expand(4, 2, 3, 5))
family.add("expand_then_add", "y = expand(x, [N, 3, 5]) + x", lambda case: {"x": case.normal(2, 1, 5)}, lambda x: x.expand(2, 3, 5) + x)

move("pad_circular", 'pad(x, [[2, 1], [1, 3]], mode = "circular")', lambda x: F.pad(x, (1, 3, 2, 1), mode="circular"))
move("pad_reflect_1d", 'pad(x, [[3, 4]], mode = "reflect")', lambda x: F.pad(x, (3, 4), mode="reflect"), (2, 3, 5))
move("pad_replicate_3d", 'pad(x, [[1, 0], [2, 1], [0, 2]], mode = "replicate")',
     lambda x: F.pad(x, (0, 2, 2, 1, 1, 0), mode="replicate"), (1, 2, 3, 2, 3))
move("pad_channels", "pad(x, [[1, 2], [0, 0], [1, 0]])", lambda x: F.pad(x, (1, 0, 0, 0, 1, 2)))
move("pad_nothing", "pad(x, [[0, 0]])", lambda x: x)
family.add("pad_integers", "y = pad(x, [[1, 2]], value = 7)", lambda case: {"x": case.integers(-9, 9, 3, 4)},
           lambda x: F.pad(x, (1, 2), value=7))

family.add("gather_matrix_of_indices", "y = gather(x, index)", lambda case: {"x": case.normal(6, 5), "index": case.integers(0, 6, 3, 4)},
           lambda x, index: x[index], batched=False)
family.add("gather_last", "y = gather(x, index, axis = -1)", lambda case: {"x": case.normal(2, 3, 7), "index": case.integers(0, 7, 5)},
           lambda x, index: x[..., index])
family.add("gather_negative_indices", "y = gather(x, index, axis = 1)",
           lambda case: {"x": case.normal(2, 7, 3), "index": case.integers(-7, 7, 9)}, lambda x, index: x[:, index])
family.add("gather_i32", "y = gather(x, index)", lambda case: {"x": case.integers(-9, 9, 6, 3), "index": case.integers(0, 6, 4, dtype=torch.int32)},
           lambda x, index: x[index.long()], batched=False)
family.add("gather_dynamic", "y = gather(x, index, axis = 1)", lambda case: {"x": case.normal(2, 7, 3), "index": case.integers(0, 7, 5)},
           lambda x, index: x[:, index], dims={"x": "N, T, 3", "index": "K"})
family.add("embedding_i32_one_feature", "y = embedding(tokens, 9, 1) as embed",
           lambda case: {"tokens": case.integers(0, 9, 3, 7, dtype=torch.int32)},
           lambda w, tokens: F.embedding(tokens.long(), w["embed.weight"]), lambda case: {"embed.weight": case.normal(9, 1)})


def dynamic(name, inputShape, dims, text, expect):
    family.add(name, f"y = {text}", lambda case: {"x": case.normal(*inputShape)}, expect, dims={"x": dims})


dynamic("reshape_dynamic", (2, 6, 4), "N, T, 4", "reshape(x, [N, T, 2, 2])", lambda x: x.reshape(2, 6, 2, 2))
dynamic("flatten_dynamic", (2, 3, 4, 5), "N, 3, H, W", "flatten(x, 2)", lambda x: x.flatten(2))
dynamic("flatten_batch_and_time", (2, 6, 4), "N, T, 4", "flatten(x, 0, 1)", lambda x: x.flatten(0, 1))
dynamic("transpose_dynamic", (2, 13, 9), "N, T, K", "transpose(x)", lambda x: x.transpose(1, 2))
dynamic("slice_dynamic", (2, 6, 4), "N, T, 4", "x[:, -1]", lambda x: x[:, -1])
dynamic("slice_dynamic_first", (2, 6, 4), "N, T, 4", "x[:, 0]", lambda x: x[:, 0])
dynamic("slice_dynamic_reversed", (2, 6, 4), "N, T, 4", "slice(x, [0, -1, 0], -1, [1, -1, 1])", lambda x: x.flip(1))
dynamic("concat_dynamic", (2, 6, 4), "N, T, 4", "concat([x, relu(x)], axis = 1)", lambda x: torch.cat([x, x.relu()], 1))
dynamic("pad_dynamic", (2, 3, 6), "N, 3, T", 'pad(x, [[2, 1]], mode = "reflect")', lambda x: F.pad(x, (2, 1), mode="reflect"))
dynamic("pad_dynamic_constant", (2, 3, 4, 5), "N, 3, H, W", "pad(x, [[1, 2], [3, 0]], value = -1)", lambda x: F.pad(x, (3, 0, 1, 2), value=-1))
dynamic("pad_dynamic_circular", (2, 3, 4), "N, 3, T", 'pad(x, [[1, 2]], mode = "circular")', lambda x: F.pad(x, (1, 2), mode="circular"))
dynamic("expand_dynamic", (2, 1, 5), "N, 1, T", "expand(x, [N, 3, T])", lambda x: x.expand(2, 3, 5))
dynamic("resize_dynamic", (1, 3, 4, 5), "N, 3, H, W", 'resize(x, scale = 2, mode = "linear")',
        lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"))
dynamic("resize_dynamic_to_size", (1, 3, 4, 5), "N, 3, H, W", 'resize(x, size = [7, 3], mode = "nearest")',
        lambda x: F.interpolate(x, size=(7, 3), mode="nearest-exact"))

# Other element types move the same way.
for dtype in (torch.int8, torch.uint8, torch.int32, torch.int64, torch.bool, torch.float16, torch.bfloat16, torch.float64):
    def input(case, dtype=dtype):
        x = case.integers(0, 100, 3, 5, 7)
        return {"x": x % 2 > 0 if dtype == torch.bool else x.to(dtype)}

    spelling = DTYPES[dtype][1]
    family.add(f"moves_{spelling}", """
        a = transpose(x)
        b = slice(x, [0, 1, -1], [-1, 2, -1], [1, 2, -1])
        c = concat([x, x[:, :2]], axis = 1)
        d = expand(unsqueeze(x[:, 0], 1), [N, 3, 7])
        e = reshape(x, [N, 35])
        return a, b, c, d, e
        """, input, lambda x: {"a": x.transpose(1, 2), "b": x[:, 1::2].flip(2), "c": torch.cat([x, x[:, :2]], 1),
                               "d": x[:, :1].expand(3, 3, 7), "e": x.reshape(3, 35)})
