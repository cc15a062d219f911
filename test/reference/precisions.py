"""Every kind of kernel in f16, bf16 and f64. PyTorch computes in double precision from the rounded inputs and weights, and its
result is rounded once: the sums of a kernel must not be kept in half precision."""

import math

import torch
from torch.nn import functional as F

from cases import Family

family = Family("precisions")


everywhere = family.everywhere


def image(*shape):
    return lambda case: {"x": case.normal(*shape)}


def conv(name, inputShape, filters, arguments, kernel, **options):
    def weights(case):
        fanIn = inputShape[1] // options.get("groups", 1) * kernel * kernel
        return {"conv.weight": case.normal(filters, inputShape[1] // options.get("groups", 1), kernel, kernel, scale=fanIn**-0.5),
                "conv.bias": case.normal(filters)}

    everywhere(name, f"y = conv2d(x, {filters}, kernel = {kernel}{arguments}) as conv", image(*inputShape),
               lambda w, x: F.conv2d(x, w["conv.weight"], w["conv.bias"], **options), weights)


conv("conv2d", (1, 17, 4, 7), 20, ", padding = 1", 3, padding=1)
conv("conv2d_1x1", (1, 19, 3, 5), 18, "", 1)
conv("conv2d_stem", (1, 3, 11, 12), 16, ", stride = 2, padding = 3", 7, stride=2, padding=3)
conv("conv2d_depthwise", (2, 19, 6, 7), 19, ", stride = 2, padding = 1, groups = 19", 3, stride=2, padding=1, groups=19)
conv("conv2d_groups", (1, 8, 5, 6), 12, ", padding = 1, groups = 4", 3, padding=1, groups=4)
everywhere("conv_transpose2d", "y = conv_transpose2d(x, 5, kernel = 3, stride = 2, padding = 1) as up", image(1, 6, 4, 5),
           lambda w, x: F.conv_transpose2d(x, w["up.weight"], w["up.bias"], 2, 1),
           lambda case: {"up.weight": case.normal(6, 5, 3, 3, scale=0.3), "up.bias": case.normal(5)})
everywhere("conv_batch_norm_relu_max_pool", """
    y = max_pool2d(relu(batch_norm(conv2d(x, 17, kernel = 3, padding = 1) as conv) as bn), kernel = 2)
    """, image(2, 5, 6, 8),
    lambda w, x: F.max_pool2d(F.batch_norm(F.conv2d(x, w["conv.weight"], w["conv.bias"], padding=1), w["bn.running_mean"],
                                           w["bn.running_var"], w["bn.weight"], w["bn.bias"]).relu(), 2),
    lambda case: {"conv.weight": case.normal(17, 5, 3, 3, scale=0.15), "conv.bias": case.normal(17),
                  "bn.weight": case.uniform(0.5, 1.5, 17), "bn.bias": case.normal(17), "bn.running_mean": case.normal(17),
                  "bn.running_var": case.uniform(0.5, 2, 17)})
everywhere("conv_residual", "y = relu(conv2d(x, 9, kernel = 3, padding = 1) as conv + x)", image(2, 9, 4, 5),
           lambda w, x: (F.conv2d(x, w["conv.weight"], w["conv.bias"], padding=1) + x).relu(),
           lambda case: {"conv.weight": case.normal(9, 9, 3, 3, scale=0.1), "conv.bias": case.normal(9)})

everywhere("linear", "y = linear(x, 21) as fc", image(5, 37), lambda w, x: F.linear(x, w["fc.weight"], w["fc.bias"]),
           lambda case: {"fc.weight": case.normal(21, 37, scale=0.16), "fc.bias": case.normal(21)})
everywhere("linear_gelu", "y = gelu(linear(x, 18) as fc)", image(1, 20), lambda w, x: F.gelu(F.linear(x, w["fc.weight"], w["fc.bias"])),
           lambda case: {"fc.weight": case.normal(18, 20, scale=0.2), "fc.bias": case.normal(18)})
# All products are positive: in half precision the sum would stop growing.
everywhere("matmul_long_sum", "y = a @ b", lambda case: {"a": case.uniform(0, 0.5, 2, 700), "b": case.uniform(0, 0.5, 700, 3)},
           lambda a, b: a @ b)
everywhere("matmul_heads", "y = a @ transpose(b)", lambda case: {"a": case.normal(2, 3, 7, 9), "b": case.normal(2, 3, 10, 9)},
           lambda a, b: a @ b.transpose(-1, -2))
everywhere("matmul_dynamic", "y = a @ b", lambda case: {"a": case.normal(2, 4, 13), "b": case.normal(2, 13, 6)}, lambda a, b: a @ b,
           dims={"a": "N, 4, T", "b": "N, T, 6"})

everywhere("max_pool2d", "y = max_pool2d(x, kernel = 3, stride = 2, padding = 1)", image(2, 17, 5, 6), lambda x: F.max_pool2d(x, 3, 2, 1))
everywhere("avg_pool2d", "y = avg_pool2d(x, kernel = 2)", image(2, 17, 5, 6), lambda x: F.avg_pool2d(x, 2))
everywhere("global_avg_pool", "y = adaptive_avg_pool2d(x + 8.0, 1)", image(1, 3, 19, 17), lambda x: (x + 8).mean((2, 3), keepdim=True))
everywhere("adaptive_avg_pool2d", "y = adaptive_avg_pool2d(x, [3, 2])", image(1, 5, 7, 8), lambda x: F.adaptive_avg_pool2d(x, (3, 2)))
everywhere("adaptive_max_pool2d", "y = adaptive_max_pool2d(x, [3, 2])", image(1, 5, 7, 8), lambda x: F.adaptive_max_pool2d(x, (3, 2)))

affine = lambda count: lambda case: {"norm.weight": case.uniform(0.5, 1.5, count), "norm.bias": case.normal(count)}
everywhere("layer_norm", "y = layer_norm(x) as norm", lambda case: {"x": case.normal(3, 5, 27) + 4},
           lambda w, x: F.layer_norm(x, (27,), w["norm.weight"], w["norm.bias"]), affine(27))
everywhere("group_norm", "y = group_norm(x, groups = 2) as norm", image(2, 10, 4, 5),
           lambda w, x: F.group_norm(x, 2, w["norm.weight"], w["norm.bias"]), affine(10))
everywhere("instance_norm", "y = instance_norm(x)", image(2, 17, 4, 5), F.instance_norm)
everywhere("rms_norm", "y = rms_norm(x) as norm", image(3, 40), lambda w, x: x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-5) * w["norm.weight"],
           lambda case: {"norm.weight": case.uniform(0.5, 1.5, 40)})
everywhere("batch_norm", "y = batch_norm(x) as norm", image(2, 5, 3, 4),
           lambda w, x: F.batch_norm(x, w["norm.running_mean"], w["norm.running_var"], w["norm.weight"], w["norm.bias"]),
           lambda case: {"norm.weight": case.uniform(0.5, 1.5, 5), "norm.bias": case.normal(5), "norm.running_mean": case.normal(5),
                         "norm.running_var": case.uniform(0.5, 2, 5)})
everywhere("softmax", "y = softmax(x * 3.0)", image(4, 37), lambda x: (x * 3).softmax(-1))
# 1,500 terms, each below half of the last place of a sum in half precision.
everywhere("softmax_long", "y = softmax(x) * 100.0", image(1, 1501), lambda x: x.softmax(-1) * 100)
everywhere("softmax_axis1", "y = softmax(x, axis = 1)", image(2, 7, 5), lambda x: x.softmax(1))
everywhere("log_softmax", "y = log_softmax(x)", image(4, 37), lambda x: x.log_softmax(-1))

everywhere("sums", "a = sum(x, axis = -1)\nb = mean(x, axis = 0)\nc = reduce_max(x, axis = -1)\nd = argmax(x, axis = -1)\nreturn a, b, c, d",
           lambda case: {"x": case.distinct(4, 33)}, lambda x: {"a": x.sum(-1), "b": x.mean(0), "c": x.amax(-1), "d": x.argmax(-1)},
           dtypes=(torch.float64, torch.float16))
everywhere("sum_long", "a = sum(x, axis = -1)\nb = mean(x, axis = -1)\nc = mean(transpose(x), axis = 0)\nreturn a, b, c",
           lambda case: {"x": case.uniform(0, 1, 1, 3001)}, lambda x: {"a": x.sum(-1), "b": x.mean(-1), "c": x.mean(-1)})
everywhere("prod", "y = prod(x, axis = 1)", lambda case: {"x": case.uniform(0.5, 1.5, 3, 5, 9)}, lambda x: x.prod(1))

FUNCTIONS = ("exp(x * 0.5)", lambda x: (x * 0.5).exp()), ("log(abs(x) + 0.1)", lambda x: (x.abs() + 0.1).log()), \
    ("tanh(x)", torch.tanh), ("sigmoid(x)", torch.sigmoid), ("erf(x)", torch.erf), ("sin(x * 4.0)", lambda x: (x * 4).sin()), \
    ("cos(x * 4.0)", lambda x: (x * 4).cos()), ("sqrt(abs(x))", lambda x: x.abs().sqrt()), ("gelu(x)", F.gelu), ("silu(x)", F.silu), \
    ("softplus(x)", F.softplus), ("mish(x)", F.mish), ("elu(x)", F.elu), ("hard_swish(x)", F.hardswish), \
    ("rsqrt(abs(x) + 0.1)", lambda x: (x.abs() + 0.1).rsqrt()), ("expm1(x)", torch.expm1), ("log1p(abs(x))", lambda x: x.abs().log1p()), \
    ("(abs(x) + 0.1) ** 1.7", lambda x: (x.abs() + 0.1)**1.7), ("tan(x * 0.4)", lambda x: (x * 0.4).tan()), ("round(x * 4.0)", lambda x: (x * 4).round()), \
    ("floor(x * 4.0)", lambda x: (x * 4).floor()), ("x % 0.75", lambda x: x.remainder(0.75)), ("gelu(x, approximate = \"tanh\")",
                                                                                               lambda x: F.gelu(x, approximate="tanh"))
everywhere("functions", "\n".join(f"y{i} = {text}" for i, (text, _) in enumerate(FUNCTIONS))
           + "\nreturn " + ", ".join(f"y{i}" for i in range(len(FUNCTIONS))), image(2, 33),
           lambda x: {f"y{i}": function(x) for i, (_, function) in enumerate(FUNCTIONS)})
everywhere("arithmetic", "p = a + b * 2.0\nq = a / b\nr = min(a, b)\ns = max(a, 0.5)\nt = a < b\nu = where(a > b, a, b)\nv = -a\nreturn p, q, r, s, t, u, v",
           lambda case: {"a": case.normal(3, 19), "b": case.uniform(0.5, 3, 19)},
           lambda a, b: {"p": a + b * 2, "q": a / b, "r": torch.minimum(a, b), "s": a.clamp(min=0.5), "t": a < b,
                         "u": torch.where(a > b, a, b), "v": -a})
# Overflow to infinity, denormals, NaN: f16 reaches from 6e-8 to 65504.
EXTREMES = (0.0, -0.0, math.inf, -math.inf, math.nan, 6e-8, 6e-5, 65504.0, -65504.0, 300.0, 1e-3)
everywhere("extremes", "p = x * x\nq = relu(x)\nr = max(x, 0.0)\ns = x + x\nt = x == x\nu = abs(x)\nreturn p, q, r, s, t, u",
           lambda case: {"x": torch.tensor([EXTREMES * 3])},
           lambda x: {"p": x * x, "q": x.relu(), "r": torch.maximum(x, torch.zeros_like(x)), "s": x + x, "t": x == x, "u": x.abs()})

everywhere("resize", 'y = resize(x, size = [5, 9], mode = "linear")', image(1, 3, 4, 5),
           lambda x: F.interpolate(x, size=(5, 9), mode="bilinear"))
everywhere("pad_and_concat", 'y = concat([pad(x, [[1, 2]], mode = "reflect"), x * 2.0], axis = -1)', image(2, 3, 7),
           lambda x: torch.cat([F.pad(x, (1, 2), mode="reflect"), x * 2], -1))
everywhere("gather", "y = gather(x, index, axis = 1)", lambda case: {"x": case.normal(2, 7, 5), "index": case.integers(0, 7, 4)},
           lambda x, index: x[:, index])


def recurrent(kind, results):
    module = getattr(torch.nn, kind)(5, 9, batch_first=True).double()

    def expect(w, x):
        module.load_state_dict({key[len("rnn."):]: value for key, value in w.items()})
        y, state = module(x)
        return dict(zip(results, (y, *(state if isinstance(state, tuple) else (state,)))))

    names = ", ".join(results)
    everywhere(kind.lower(), f"{names} = {kind.lower()}(x, 9) as rnn\nreturn {names}", image(2, 6, 5), expect,
               lambda case: {f"rnn.{key}": case.uniform(-0.4, 0.4, *value.shape) for key, value in module.state_dict().items()})


recurrent("RNN", ("y", "h"))
recurrent("LSTM", ("y", "h", "c"))
recurrent("GRU", ("y", "h"))

everywhere("attention", "y = attention(q, k, v, causal = true)",
           lambda case: {"q": case.normal(1, 2, 37, 9), "k": case.normal(1, 2, 37, 9), "v": case.normal(1, 2, 37, 9)},
           lambda q, k, v: (q @ k.transpose(-1, -2) / 3).masked_fill(torch.ones(37, 37, dtype=torch.bool).triu(1), -math.inf).softmax(-1) @ v)
everywhere("attention_mask", "y = attention(q, k, v, mask = mask)",
           lambda case: {"q": case.normal(2, 5, 8), "k": case.normal(2, 7, 8), "v": case.normal(2, 7, 8), "mask": case.normal(5, 7)},
           lambda q, k, v, mask: (q @ k.transpose(-1, -2) / math.sqrt(8) + mask).softmax(-1) @ v)

# Mixed: half-precision weights and activations between f32 ends.
family.add("half_inside", "y = cast(linear(relu(linear(cast(x, f16), 20) as fc1), 7) as fc2, f32)", image(3, 30),
           lambda w, x: F.linear(F.linear(x.half().double(), w["fc1.weight"].double(), w["fc1.bias"].double()).relu().half().double(),
                                 w["fc2.weight"].double(), w["fc2.bias"].double()).half().float(),
           lambda case: {"fc1.weight": case.normal(20, 30, scale=0.2).half(), "fc1.bias": case.normal(20).half(),
                         "fc2.weight": case.normal(7, 20, scale=0.2).half(), "fc2.bias": case.normal(7).half()})
# Integers multiply and pool too.
family.add("matmul_i32", "y = a @ b", lambda case: {"a": case.integers(-9, 9, 5, 17, dtype=torch.int32),
                                                  "b": case.integers(-9, 9, 17, 6, dtype=torch.int32)}, lambda a, b: a @ b, batched=False)
family.add("matmul_i64", "y = a @ transpose(b)", lambda case: {"a": case.integers(-2**40, 2**40, 3, 8, 9), "b": case.integers(-9, 9, 3, 7, 9)},
           lambda a, b: a @ b.transpose(1, 2))
family.add("matmul_i8_wraps", "y = a @ b", lambda case: {"a": case.integers(-99, 99, 5, 9, dtype=torch.int8),
                                                       "b": case.integers(-99, 99, 9, 6, dtype=torch.int8)},
           lambda a, b: (a.int() @ b.int()).to(torch.int8), batched=False)
family.add("max_pool2d_i32", "y = max_pool2d(x, kernel = 2, padding = 1)", lambda case: {"x": -case.integers(1, 99, 2, 5, 6, 7, dtype=torch.int32)},
           lambda x: F.max_pool2d(x.double(), 2, padding=1).int())
family.add("max_pool2d_u8", "y = max_pool2d(x, kernel = 3)", lambda case: {"x": case.integers(0, 255, 1, 17, 6, 7, dtype=torch.uint8)},
           lambda x: F.max_pool2d(x.double(), 3).to(torch.uint8))
