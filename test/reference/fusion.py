"""What kernel formation joins: each body here is one kernel or a few, and PyTorch runs it op by op."""

import torch
from torch.nn import functional as F

from cases import Family

family = Family("fusion")


def convWeights(case, cin, cout, kernel=3, name="conv"):
    return {f"{name}.weight": case.normal(cout, cin, kernel, kernel, scale=(cin * kernel * kernel)**-0.5),
            f"{name}.bias": case.normal(cout, scale=0.3)}


def bnWeights(case, channels, name="bn"):
    return {f"{name}.weight": case.uniform(0.5, 1.5, channels), f"{name}.bias": case.normal(channels),
            f"{name}.running_mean": case.normal(channels), f"{name}.running_var": case.uniform(0.3, 2, channels)}


def conv(w, x, name="conv", **options):
    return F.conv2d(x, w[f"{name}.weight"], w[f"{name}.bias"], **options)


def bn(w, x, name="bn"):
    return F.batch_norm(x, w[f"{name}.running_mean"], w[f"{name}.running_var"], w[f"{name}.weight"], w[f"{name}.bias"])


def image(*shape):
    return lambda case: {"x": case.normal(*shape)}


family.add("conv_relu_max_pool", "y = max_pool2d(relu(conv2d(x, 16, kernel = 3, padding = 1) as conv), kernel = 2)",
           image(2, 3, 8, 8), lambda w, x: F.max_pool2d(conv(w, x, padding=1).relu(), 2), lambda case: convWeights(case, 3, 16))
family.add("conv_max_pool_overlapping",
           "y = max_pool2d(relu(conv2d(x, 20, kernel = 3, padding = 1) as conv), kernel = 3, stride = 2, padding = 1)",
           image(1, 4, 9, 11), lambda w, x: F.max_pool2d(conv(w, x, padding=1).relu(), 3, 2, 1),
           lambda case: convWeights(case, 4, 20))
family.add("conv_relu_avg_pool", "y = avg_pool2d(relu(conv2d(x, 16, kernel = 3) as conv), kernel = 2)",
           image(2, 3, 8, 8), lambda w, x: F.avg_pool2d(conv(w, x).relu(), 2), lambda case: convWeights(case, 3, 16))
family.add("conv_batch_norm_relu", "y = relu(batch_norm(conv2d(x, 17, kernel = 3, padding = 1) as conv) as bn)",
           image(2, 5, 7, 6), lambda w, x: bn(w, conv(w, x, padding=1)).relu(),
           lambda case: {**convWeights(case, 5, 17), **bnWeights(case, 17)})
family.add("conv_residual_relu", "y = relu(conv2d(x, 16, kernel = 3, padding = 1) as conv + x)", image(2, 16, 6, 5),
           lambda w, x: (conv(w, x, padding=1) + x).relu(), lambda case: convWeights(case, 16, 16))
# The conv's result has two readers: it must be written.
family.add("conv_two_readers", "c = conv2d(x, 8, kernel = 3, padding = 1) as conv\ny = relu(c)\nz = sigmoid(c)\nreturn y, z",
           image(2, 3, 5, 5), lambda w, x: {"y": conv(w, x, padding=1).relu(), "z": conv(w, x, padding=1).sigmoid()},
           lambda case: convWeights(case, 3, 8))
family.add("conv_is_an_output", "c = conv2d(x, 8, kernel = 3, padding = 1) as conv\ny = relu(c)\nreturn c, y",
           image(2, 3, 5, 5), lambda w, x: {"c": conv(w, x, padding=1), "y": conv(w, x, padding=1).relu()},
           lambda case: convWeights(case, 3, 8))
family.add("conv_silu", "y = silu(conv2d(x, 24, kernel = 1) as conv)", image(2, 10, 5, 7),
           lambda w, x: F.silu(conv(w, x)), lambda case: convWeights(case, 10, 24, 1))
family.add("squeeze_excite", """
    h = conv2d(x, 16, kernel = 3, padding = 1) as conv
    s = mean(h, axis = [2, 3], keepdims = true)
    s = sigmoid(conv2d(s, 16, kernel = 1) as gate)
    y = h * s
    """, image(2, 3, 6, 6),
    lambda w, x: conv(w, x, padding=1) * conv(w, conv(w, x, padding=1).mean((2, 3), keepdim=True), "gate").sigmoid(),
    lambda case: {**convWeights(case, 3, 16), **convWeights(case, 16, 16, 1, "gate")})
family.add("conv_chain_concat", """
    a = relu(conv2d(x, 8, kernel = 1) as a)
    b = relu(conv2d(x, 12, kernel = 3, padding = 1) as b)
    y = concat([a, b], axis = 1)
    """, image(2, 5, 6, 6), lambda w, x: torch.cat([conv(w, x, "a").relu(), conv(w, x, "b", padding=1).relu()], 1),
    lambda case: {**convWeights(case, 5, 8, 1, "a"), **convWeights(case, 5, 12, 3, "b")})
family.add("conv_flatten_linear", """
    h = max_pool2d(relu(conv2d(x, 6, kernel = 3, padding = 1) as conv), kernel = 2)
    y = linear(flatten(h), 10) as fc
    """, image(3, 2, 8, 6),
    lambda w, x: F.linear(F.max_pool2d(conv(w, x, padding=1).relu(), 2).flatten(1), w["fc.weight"], w["fc.bias"]),
    lambda case: {**convWeights(case, 2, 6), "fc.weight": case.normal(10, 72, scale=0.1), "fc.bias": case.normal(10)})
family.add("linear_gelu_linear", "y = linear(gelu(linear(x, 40) as fc1), 12) as fc2", image(2, 5, 12),
           lambda w, x: F.linear(F.gelu(F.linear(x, w["fc1.weight"], w["fc1.bias"])), w["fc2.weight"], w["fc2.bias"]),
           lambda case: {"fc1.weight": case.normal(40, 12, scale=0.3), "fc1.bias": case.normal(40),
                         "fc2.weight": case.normal(12, 40, scale=0.2), "fc2.bias": case.normal(12)})
family.add("residual_layer_norm", "y = layer_norm(x + linear(x, 12) as fc) as norm", image(2, 5, 12),
           lambda w, x: F.layer_norm(x + F.linear(x, w["fc.weight"], w["fc.bias"]), (12,), w["norm.weight"], w["norm.bias"]),
           lambda case: {"fc.weight": case.normal(12, 12, scale=0.3), "fc.bias": case.normal(12),
                         "norm.weight": case.uniform(0.5, 1.5, 12), "norm.bias": case.normal(12)})
family.add("linear_softmax", "y = softmax(linear(x, 10) as fc, axis = -1)", image(4, 30),
           lambda w, x: F.linear(x, w["fc.weight"], w["fc.bias"]).softmax(-1),
           lambda case: {"fc.weight": case.normal(10, 30, scale=0.4), "fc.bias": case.normal(10)})
family.add("elementwise_chain", "y = tanh(x * 0.5 + 1.0) * sigmoid(x) - relu(x) / 3.0", image(3, 5, 7),
           lambda x: torch.tanh(x * 0.5 + 1) * torch.sigmoid(x) - x.relu() / 3)
family.add("input_is_output_too", "y = x + 1.0\nz = y * y\nreturn y, z", image(3, 9),
           lambda x: {"y": x + 1, "z": (x + 1)**2})
family.add("diamond", "a = relu(x)\nb = exp(a)\nc = tanh(a)\ny = b * c + a", image(3, 11),
           lambda x: x.relu().exp() * x.relu().tanh() + x.relu())

# Epilogues that leave the type of their anchor, or read operands of other types.
family.add("conv_where", "y = where(mask, conv2d(x, 17, kernel = 3, padding = 1) as conv, 0.5)",
           lambda case: {"x": case.normal(2, 3, 5, 6), "mask": case.integers(0, 2, 2, 17, 5, 6) > 0},
           lambda w, x, mask: torch.where(mask, conv(w, x, padding=1), torch.tensor(0.5)), lambda case: convWeights(case, 3, 17))
family.add("conv_compared", "y = (conv2d(x, 17, kernel = 3) as conv) > 0.25", image(2, 3, 5, 6), lambda w, x: conv(w, x) > 0.25,
           lambda case: convWeights(case, 3, 17))
family.add("conv_cast", "y = cast(conv2d(x, 9, kernel = 3) as conv * 10.0, i32)", image(2, 3, 5, 6), lambda w, x: (conv(w, x) * 10).int(),
           lambda case: convWeights(case, 3, 9))
family.add("conv_quantised", "y = cast(clip(conv2d(x, 17, kernel = 1) as conv * 20.0 + 128.0, 0.0, 255.0), u8)", image(2, 3, 5, 6),
           lambda w, x: (conv(w, x) * 20 + 128).clamp(0, 255).to(torch.uint8), lambda case: convWeights(case, 3, 17, 1))
family.add("conv_cast_operand", "y = conv2d(x, 17, kernel = 3) as conv + cast(counts, f32)",
           lambda case: {"x": case.normal(2, 3, 5, 6), "counts": case.integers(-9, 9, 2, 17, 3, 4)},
           lambda w, x, counts: conv(w, x) + counts, lambda case: convWeights(case, 3, 17))
family.add("linear_where", "y = where(mask, linear(x, 19) as fc, -1.0)",
           lambda case: {"x": case.normal(5, 8), "mask": case.integers(0, 2, 5, 19) > 0},
           lambda w, x, mask: torch.where(mask, F.linear(x, w["fc.weight"], w["fc.bias"]), torch.tensor(-1.0)),
           lambda case: {"fc.weight": case.normal(19, 8, scale=0.3), "fc.bias": case.normal(19)})
# Exact in f32, so that it is known how the half rounds.
family.add("linear_through_half", "y = cast(cast(linear(x, 19) as fc, f16), f32) * 2.0", lambda case: {"x": case.integers(-99, 99, 5, 8) / 64},
           lambda w, x: F.linear(x, w["fc.weight"], w["fc.bias"]).half().float() * 2,
           lambda case: {"fc.weight": case.integers(-99, 99, 19, 8) / 64, "fc.bias": case.integers(-8, 8, 19) / 8})
family.add("depthwise_where", "y = where(mask, conv2d(x, 18, kernel = 3, padding = 1, groups = 18) as conv, x)",
           lambda case: {"x": case.normal(2, 18, 5, 6), "mask": case.integers(0, 2, 2, 18, 5, 6) > 0},
           lambda w, x, mask: torch.where(mask, conv(w, x, padding=1, groups=18), x),
           lambda case: {"conv.weight": case.normal(18, 1, 3, 3, scale=0.3), "conv.bias": case.normal(18)})
family.add("mean_compared", "y = mean(x, axis = 1) > 0.0", image(3, 5, 17), lambda x: x.mean(1) > 0)
family.add("softmax_of_where", "y = softmax(where(mask, x, -10000.0))",
           lambda case: {"x": case.normal(3, 19), "mask": case.integers(0, 3, 3, 19) > 0},
           lambda x, mask: torch.where(mask, x, torch.tensor(-10000.0)).softmax(-1))
