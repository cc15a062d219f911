"""Max and average pooling, global and adaptive."""

import torch
from torch.nn import functional as F

from cases import Family

family = Family("pooling")


def pool(name, inputShape, text, expect):
    family.add(name, f"y = {text}", lambda case: {"x": case.distinct(*inputShape)}, expect)


pool("max_pool1d", (2, 3, 11), "max_pool1d(x, kernel = 3, stride = 2)", lambda x: F.max_pool1d(x, 3, 2))
pool("max_pool2d", (2, 5, 8, 6), "max_pool2d(x, kernel = 2)", lambda x: F.max_pool2d(x, 2))
pool("max_pool2d_odd", (2, 16, 9, 7), "max_pool2d(x, kernel = 2)", lambda x: F.max_pool2d(x, 2))
pool("max_pool2d_overlapping", (1, 19, 9, 10), "max_pool2d(x, kernel = 3, stride = 2, padding = 1)",
     lambda x: F.max_pool2d(x, 3, 2, 1))
pool("max_pool2d_ceil", (2, 4, 8, 9), "max_pool2d(x, kernel = 3, stride = 2, ceil_mode = true)",
     lambda x: F.max_pool2d(x, 3, 2, ceil_mode=True))
pool("max_pool2d_rectangular", (1, 3, 9, 8), "max_pool2d(x, kernel = [3, 2], stride = [1, 2], padding = [1, 0])",
     lambda x: F.max_pool2d(x, (3, 2), (1, 2), (1, 0)))
pool("max_pool2d_dilation", (1, 3, 9, 9), "max_pool2d(x, kernel = 3, stride = 1, dilation = 2)",
     lambda x: F.max_pool2d(x, 3, 1, dilation=2))
pool("max_pool3d", (1, 2, 6, 5, 7), "max_pool3d(x, kernel = 2)", lambda x: F.max_pool3d(x, 2))
# Every value is below zero: padding must not win.
family.add("max_pool2d_negative", "y = max_pool2d(x, kernel = 3, stride = 1, padding = 1)",
           lambda case: {"x": -case.uniform(1, 2, 1, 2, 4, 4)}, lambda x: F.max_pool2d(x, 3, 1, 1))

pool("avg_pool1d", (2, 3, 10), "avg_pool1d(x, kernel = 4, stride = 2)", lambda x: F.avg_pool1d(x, 4, 2))
pool("avg_pool2d", (2, 5, 8, 6), "avg_pool2d(x, kernel = 2)", lambda x: F.avg_pool2d(x, 2))
pool("avg_pool2d_padding_counted", (1, 3, 7, 7), "avg_pool2d(x, kernel = 3, stride = 2, padding = 1)",
     lambda x: F.avg_pool2d(x, 3, 2, 1))
pool("avg_pool2d_padding_not_counted", (1, 3, 7, 7),
     "avg_pool2d(x, kernel = 3, stride = 2, padding = 1, count_include_pad = false)",
     lambda x: F.avg_pool2d(x, 3, 2, 1, count_include_pad=False))
pool("avg_pool2d_ceil", (1, 3, 8, 9), "avg_pool2d(x, kernel = 3, stride = 2, ceil_mode = true)",
     lambda x: F.avg_pool2d(x, 3, 2, ceil_mode=True))
pool("avg_pool2d_ceil_padding", (1, 3, 8, 6), "avg_pool2d(x, kernel = 3, stride = 2, padding = 1, ceil_mode = true)",
     lambda x: F.avg_pool2d(x, 3, 2, 1, ceil_mode=True))
pool("avg_pool3d", (1, 2, 4, 6, 5), "avg_pool3d(x, kernel = 2)", lambda x: F.avg_pool3d(x, 2))

pool("global_avg_pool", (2, 21, 7, 5), "adaptive_avg_pool2d(x, 1)", lambda x: F.adaptive_avg_pool2d(x, 1))
pool("global_max_pool", (2, 5, 7, 6), "adaptive_max_pool2d(x, 1)", lambda x: F.adaptive_max_pool2d(x, 1))
pool("adaptive_avg_pool2d_divides", (2, 3, 12, 8), "adaptive_avg_pool2d(x, [3, 4])",
     lambda x: F.adaptive_avg_pool2d(x, (3, 4)))
pool("adaptive_avg_pool2d_uneven", (1, 5, 10, 9), "adaptive_avg_pool2d(x, [7, 4])",
     lambda x: F.adaptive_avg_pool2d(x, (7, 4)))
pool("adaptive_avg_pool2d_larger", (1, 2, 3, 4), "adaptive_avg_pool2d(x, [5, 6])",
     lambda x: F.adaptive_avg_pool2d(x, (5, 6)))
pool("adaptive_max_pool2d_uneven", (1, 3, 10, 9), "adaptive_max_pool2d(x, [3, 4])",
     lambda x: F.adaptive_max_pool2d(x, (3, 4)))

pool("max_pool1d_all", (2, 5, 14), "max_pool1d(x, kernel = 3, stride = 2, padding = 1, dilation = 2, ceil_mode = true)",
     lambda x: F.max_pool1d(x, 3, 2, 1, 2, True))
pool("max_pool2d_stride_over_kernel", (1, 17, 9, 8), "max_pool2d(x, kernel = 2, stride = 3)", lambda x: F.max_pool2d(x, 2, 3))
pool("max_pool2d_asymmetric", (2, 3, 6, 5), "max_pool2d(x, kernel = 3, stride = 2, padding = [[0, 1], [1, 0]])",
     lambda x: F.max_pool2d(F.pad(x, (1, 0, 0, 1), value=-9), 3, 2))
pool("max_pool2d_same", (2, 3, 6, 7), 'max_pool2d(x, kernel = 2, stride = 2, padding = "same")',
     lambda x: F.max_pool2d(F.pad(x, (0, 1, 0, 0), value=-9), 2))
# With ceil_mode, a last window that would start in the trailing padding is left out.
pool("max_pool2d_ceil_padding", (1, 3, 7, 8), "max_pool2d(x, kernel = 2, stride = 2, padding = 1, ceil_mode = true)",
     lambda x: F.max_pool2d(x, 2, 2, 1, ceil_mode=True))
pool("max_pool2d_one_window", (2, 33, 5, 4), "max_pool2d(x, kernel = [5, 4])", lambda x: F.max_pool2d(x, (5, 4)))
pool("max_pool3d_padding", (1, 5, 5, 6, 4), "max_pool3d(x, kernel = [2, 3, 2], stride = [2, 1, 2], padding = [1, 1, 0])",
     lambda x: F.max_pool3d(x, (2, 3, 2), (2, 1, 2), (1, 1, 0)))
pool("avg_pool1d_ceil_not_counted", (2, 3, 8),
     "avg_pool1d(x, kernel = 3, stride = 2, padding = 1, ceil_mode = true, count_include_pad = false)",
     lambda x: F.avg_pool1d(x, 3, 2, 1, ceil_mode=True, count_include_pad=False))
pool("avg_pool2d_rectangular", (1, 17, 9, 8), "avg_pool2d(x, kernel = [2, 3], stride = [3, 1], padding = [1, 0])",
     lambda x: F.avg_pool2d(x, (2, 3), (3, 1), (1, 0)))
pool("avg_pool2d_asymmetric", (1, 3, 6, 5), "avg_pool2d(x, kernel = 3, stride = 2, padding = [[0, 1], [1, 0]])",
     lambda x: F.avg_pool2d(F.pad(x, (1, 0, 0, 1)), 3, 2))
pool("avg_pool2d_dilation", (2, 3, 9, 8), "avg_pool2d(x, kernel = 2, stride = 1, dilation = 3)",
     lambda x: (x[..., :-3, :-3] + x[..., 3:, :-3] + x[..., :-3, 3:] + x[..., 3:, 3:]) / 4)
pool("avg_pool3d_all", (1, 3, 5, 6, 7),
     "avg_pool3d(x, kernel = 3, stride = 2, padding = 1, ceil_mode = true, count_include_pad = false)",
     lambda x: F.avg_pool3d(x, 3, 2, 1, True, False))

pool("adaptive_avg_pool1d", (2, 5, 11), "adaptive_avg_pool1d(x, 4)", lambda x: F.adaptive_avg_pool1d(x, 4))
pool("adaptive_max_pool1d", (2, 5, 11), "adaptive_max_pool1d(x, 3)", lambda x: F.adaptive_max_pool1d(x, 3))
pool("adaptive_avg_pool3d", (1, 3, 5, 4, 6), "adaptive_avg_pool3d(x, [2, 3, 4])", lambda x: F.adaptive_avg_pool3d(x, (2, 3, 4)))
pool("adaptive_max_pool3d", (1, 3, 5, 4, 6), "adaptive_max_pool3d(x, [2, 3, 4])", lambda x: F.adaptive_max_pool3d(x, (2, 3, 4)))
pool("global_avg_pool1d", (3, 17, 9), "adaptive_avg_pool1d(x, 1)", lambda x: x.mean(2, keepdim=True))
pool("global_max_pool3d", (1, 17, 3, 4, 5), "adaptive_max_pool3d(x, 1)", lambda x: x.amax((2, 3, 4), keepdim=True))


def dynamic(name, inputShape, dims, text, expect):
    family.add(name, f"y = {text}", lambda case: {"x": case.distinct(*inputShape)}, expect, dims={"x": dims})


dynamic("max_pool1d_dynamic", (2, 5, 11), "N, 5, T", "max_pool1d(x, kernel = 3, stride = 2, padding = 1)",
        lambda x: F.max_pool1d(x, 3, 2, 1))
dynamic("max_pool2d_dynamic", (2, 17, 7, 8), "N, 17, H, W", "max_pool2d(x, kernel = 2)", lambda x: F.max_pool2d(x, 2))
dynamic("max_pool2d_dynamic_ceil", (1, 3, 8, 5), "N, 3, H, W",
        "max_pool2d(x, kernel = 3, stride = 2, padding = 1, ceil_mode = true)", lambda x: F.max_pool2d(x, 3, 2, 1, ceil_mode=True))
dynamic("avg_pool2d_dynamic", (2, 3, 7, 9), "N, 3, H, W",
        "avg_pool2d(x, kernel = 3, stride = 2, padding = 1, count_include_pad = false)",
        lambda x: F.avg_pool2d(x, 3, 2, 1, count_include_pad=False))
dynamic("avg_pool2d_dynamic_ceil", (2, 3, 8, 6), "N, 3, H, W", "avg_pool2d(x, kernel = 3, stride = 2, padding = 1, ceil_mode = true)",
        lambda x: F.avg_pool2d(x, 3, 2, 1, ceil_mode=True))
dynamic("adaptive_avg_pool2d_dynamic", (1, 5, 10, 7), "N, 5, H, W", "adaptive_avg_pool2d(x, [3, 4])",
        lambda x: F.adaptive_avg_pool2d(x, (3, 4)))
dynamic("adaptive_max_pool2d_dynamic", (1, 5, 10, 7), "N, 5, H, W", "adaptive_max_pool2d(x, [3, 4])",
        lambda x: F.adaptive_max_pool2d(x, (3, 4)))
dynamic("global_avg_pool_dynamic", (2, 19, 5, 6), "N, 19, H, W", "adaptive_avg_pool2d(x, 1)",
        lambda x: x.mean((2, 3), keepdim=True))


def withNan(case):
    x = case.distinct(1, 3, 6, 6)
    x[0, 1, 2, 3] = float("nan")
    x[0, 2, 5, 5] = float("inf")
    x[0, 0, 0, 0] = -float("inf")
    return {"x": x}


family.add("max_pool2d_nan", "y = max_pool2d(x, kernel = 3, stride = 1, padding = 1)", withNan, lambda x: F.max_pool2d(x, 3, 1, 1))
family.add("avg_pool2d_nan", "y = avg_pool2d(x, kernel = 2)", withNan, lambda x: F.avg_pool2d(x, 2))
family.add("adaptive_max_pool2d_nan", "y = adaptive_max_pool2d(x, 2)", withNan, lambda x: F.adaptive_max_pool2d(x, 2))
# No element at all beats padding, even -inf.
family.add("max_pool2d_minus_infinity", "y = max_pool2d(x, kernel = 2, padding = 1)", {"x": torch.full((1, 2, 3, 3), -float("inf"))},
           lambda x: F.max_pool2d(x, 2, padding=1))
