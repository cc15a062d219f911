"""Max and average pooling, global and adaptive."""

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
