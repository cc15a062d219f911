"""Matrix products and convolutions in f16 and bf16 of sizes for tensor cores: several tiles and slices of the depth, vectors of 8, 4
and 2 elements and single ones, batches, strides, windows. precisions.py has the other kinds of kernel."""

import torch
from torch.nn import functional as F

from cases import Family

family = Family("tensor_cores")


def halves(*arguments, **options):
    family.everywhere(*arguments, dtypes=(torch.float16, torch.bfloat16), **options)


def linear(name, inputShape, features):
    halves(name, f"y = relu(linear(x, {features}) as fc)", lambda case: {"x": case.normal(*inputShape)},
           lambda w, x: F.linear(x, w["fc.weight"], w["fc.bias"]).relu(),
           weights=lambda case: {"fc.weight": case.normal(features, inputShape[-1], scale=inputShape[-1]**-0.5),
                                 "fc.bias": case.normal(features)})


linear("linear_whole_tiles", (64, 64), 64)
linear("linear_tails", (70, 88), 56)
linear("linear_vectors_of_4", (35, 100), 44)
linear("linear_vectors_of_2", (18, 54), 34)
linear("linear_odd", (17, 33), 19)
linear("linear_deep", (5, 1032), 24)
linear("linear_one_row", (1, 200), 72)


def matmul(name, aShape, bShape, text, expect, **options):
    halves(name, f"y = {text}", lambda case: {"a": case.normal(*aShape), "b": case.normal(*bShape, scale=0.2)}, expect, **options)


matmul("batch", (3, 40, 48), (3, 48, 24), "a @ b", lambda a, b: a @ b)
matmul("batch_odd", (2, 21, 35), (2, 35, 13), "a @ b", lambda a, b: a @ b)
matmul("transposed", (2, 24, 40), (2, 48, 40), "a @ transpose(b, [0, 2, 1])", lambda a, b: a @ b.transpose(1, 2))
matmul("heads", (2, 20, 3, 16), (2, 28, 3, 16), "transpose(a, [0, 2, 1, 3]) @ transpose(b, [0, 2, 3, 1])",
       lambda a, b: a.permute(0, 2, 1, 3) @ b.permute(0, 2, 3, 1))
matmul("dynamic", (3, 20, 24), (3, 24, 40), "a @ b", lambda a, b: a @ b, dims={"a": "N, S, T", "b": "N, T, 40"})


def conv(name, inputShape, filters, kernel, text="conv2d(x, {0}) as conv", expect=lambda y, x: y, **options):
    arguments = f"{filters}, kernel = {kernel}" + "".join(f", {key} = {value}" for key, value in options.items())
    fanIn = inputShape[1] // options.get("groups", 1) * kernel * kernel
    halves(name, "y = " + text.format(arguments), lambda case: {"x": case.normal(*inputShape)},
           lambda w, x: expect(F.conv2d(x, w["conv.weight"], w["conv.bias"], **options), x),
           weights=lambda case: {"conv.weight": case.normal(filters, inputShape[1] // options.get("groups", 1), kernel, kernel, scale=fanIn**-0.5),
                                 "conv.bias": case.normal(filters)})


conv("conv", (2, 16, 9, 10), 40, 3, padding=1)
conv("conv_strided", (1, 24, 13, 12), 16, 3, stride=2, padding=1)
conv("conv_dilated", (1, 8, 12, 11), 24, 3, dilation=2, padding=2)
conv("conv_1x1", (2, 40, 6, 7), 48, 1)
conv("conv_groups", (1, 32, 8, 9), 48, 3, padding=1, groups=2)
conv("conv_channels_of_4", (1, 12, 8, 9), 20, 3, padding=1)
conv("conv_image", (2, 3, 14, 15), 24, 5, stride=2, padding=2)
conv("conv_residual", (2, 16, 7, 8), 16, 3, "relu(conv2d(x, {0}) as conv + x)", lambda y, x: (y + x).relu(), padding=1)
conv("conv_max_pool", (2, 16, 10, 12), 24, 3, "max_pool2d(relu(conv2d(x, {0}) as conv), kernel = 2)", lambda y, x: F.max_pool2d(y.relu(), 2),
     padding=1)
conv("conv_max_pool_3", (1, 16, 12, 12), 40, 3, "max_pool2d(conv2d(x, {0}) as conv, kernel = 3)", lambda y, x: F.max_pool2d(y, 3), padding=1)
conv("conv_avg_pool", (1, 8, 8, 12), 16, 1, "avg_pool2d(conv2d(x, {0}) as conv, kernel = [2, 3])", lambda y, x: F.avg_pool2d(y, (2, 3)))
