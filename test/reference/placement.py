"""Where kernels write and read: slices of a concatenation, heads of an attention, runs of a tensor. Nothing of it may show."""

import torch
from torch.nn import functional as F

from cases import Family

family = Family("placement")


def conv(w, x, name, **options):
    return F.conv2d(x, w[f"{name}.weight"], w.get(f"{name}.bias"), **options)


def convWeights(case, *layers):
    """`layers` are (name, input channels, output channels, kernel)."""
    weights = {}
    for name, cin, cout, kernel in layers:
        weights[f"{name}.weight"] = case.normal(cout, cin, kernel, kernel, scale=(cin * kernel * kernel)**-0.5)
        weights[f"{name}.bias"] = case.normal(cout, scale=0.3)
    return weights


def image(*shape):
    return lambda case: {"x": case.normal(*shape)}


def dense(w, x):
    x = conv(w, x, "stem", padding=1)
    for i in range(3):
        x = torch.cat([x, conv(w, F.relu(x), f"layers.{i}", padding=1)], 1)
    return conv(w, F.silu(x), "head")


def partsWithReaders(w, x):
    c = conv(w, x, "c").relu()
    d = conv(w, c, "d", padding=1) + c
    return torch.cat([c, d, conv(w, d, "e", padding=1, groups=8)], 1)


def skip(w, x):
    a = conv(w, x, "a", padding=1).relu()
    b = conv(w, F.max_pool2d(a, 2), "b", padding=1).relu()
    return conv(w, torch.cat([F.interpolate(b, scale_factor=2.0, mode="nearest"), a], 1), "out", padding=1)


def featuresAndTokens(w, x):
    h = torch.cat([F.gelu(linear(w, x, "a")), F.softmax(linear(w, x, "b"), -1)], 2)
    return F.layer_norm(torch.cat([linear(w, h, "c"), linear(w, h, "d")], 1), (12,), w["norm.weight"], w["norm.bias"])


def runs(w, x):
    r = linear(w, x, "fc").flatten()
    part = lambda i: r[48 * i:48 * i + 48].reshape(2, 24)
    return {"y": F.softmax((part(1).relu() + part(0)) * part(2), 1), "z": r[24:72]}


# Every layer reads what all before it have written into the same memory.
family.add("dense", """
    x = conv2d(x, 8, kernel = 3, padding = 1) as stem
    repeat i in 0..2 {
      y = conv2d(relu(x), 5, kernel = 3, padding = 1) as layers.{i}
      x = concat([x, y], axis = 1)
    }
    y = conv2d(silu(x), 7, kernel = 1) as head
    """, image(2, 3, 6, 5), dense,
    lambda case: convWeights(case, ("stem", 3, 8, 3), *((f"layers.{i}", 8 + 5 * i, 5, 3) for i in range(3)),
                             ("head", 23, 7, 1)))


def inception(w, x):
    a = conv(w, x, "a").relu()
    b = conv(w, conv(w, x, "b0").relu(), "b1", padding=1).relu()
    c = F.max_pool2d(x, 3, 1, 1)
    d = F.avg_pool2d(conv(w, x, "d").relu(), 3, 1, 1)
    return conv(w, F.max_pool2d(torch.cat([a, b, c, d], 1), 2), "head")


# Branches of several kinds, each with a width that fills no vector.
family.add("inception", """
    a = relu(conv2d(x, 6, kernel = 1) as a)
    b = relu(conv2d(relu(conv2d(x, 4, kernel = 1) as b0), 9, kernel = 3, padding = 1) as b1)
    c = max_pool2d(x, kernel = 3, stride = 1, padding = 1)
    d = avg_pool2d(relu(conv2d(x, 3, kernel = 1) as d), kernel = 3, stride = 1, padding = 1)
    y = conv2d(max_pool2d(concat([a, b, c, d], axis = 1), kernel = 2), 5, kernel = 1) as head
    """, image(2, 8, 6, 6), inception,
    lambda case: convWeights(case, ("a", 8, 6, 1), ("b0", 8, 4, 1), ("b1", 4, 9, 3), ("d", 8, 3, 1), ("head", 26, 5, 1)))

family.add("pooled_conv_part", """
    a = max_pool2d(relu(conv2d(x, 6, kernel = 3, padding = 1) as a), kernel = 2)
    b = avg_pool2d(conv2d(x, 10, kernel = 1) as b, kernel = 2)
    y = concat([b, a], axis = 1)
    """, image(2, 16, 8, 6),
    lambda w, x: torch.cat([F.avg_pool2d(conv(w, x, "b"), 2), F.max_pool2d(conv(w, x, "a", padding=1).relu(), 2)], 1),
    lambda case: convWeights(case, ("a", 16, 6, 3), ("b", 16, 10, 1)))

# One part is an input, one is concatenated twice, one is an output as well: copies.
family.add("copied_parts", """
    c = conv2d(x, 8, kernel = 1) as c
    d = conv2d(x, 8, kernel = 3, padding = 1) as d
    y = concat([x, c, d, d], axis = 1)
    return c, y
    """, image(2, 8, 4, 5),
    lambda w, x: {"c": conv(w, x, "c"),
                  "y": torch.cat([x, conv(w, x, "c"), *[conv(w, x, "d", padding=1)] * 2], 1)},
    lambda case: convWeights(case, ("c", 8, 8, 1), ("d", 8, 8, 3)))

# A part that a residual, a depthwise convolution and a transposed one read as well, which take no slices.
family.add("parts_with_readers", """
    c = relu(conv2d(x, 8, kernel = 1) as c)
    d = conv2d(c, 8, kernel = 3, padding = 1) as d + c
    e = conv2d(d, 8, kernel = 3, padding = 1, groups = 8) as e
    y = concat([c, d, e], axis = 1)
    """, image(2, 4, 5, 5), partsWithReaders,
    lambda case: convWeights(case, ("c", 4, 8, 1), ("d", 8, 8, 3), ("e", 1, 8, 3)))


# A U-Net's skip: the concatenation of an early result and a later one, with a loop of readers between.
family.add("skip", """
    a = relu(conv2d(x, 8, kernel = 3, padding = 1) as a)
    b = relu(conv2d(max_pool2d(a, kernel = 2), 12, kernel = 3, padding = 1) as b)
    u = resize(b, scale = 2, mode = "nearest")
    y = conv2d(concat([u, a], axis = 1), 6, kernel = 3, padding = 1) as out
    """, image(2, 3, 6, 8), skip,
    lambda case: convWeights(case, ("a", 3, 8, 3), ("b", 8, 12, 3), ("out", 20, 6, 3)))


def linearWeights(case, *layers):
    weights = {}
    for name, fin, fout in layers:
        weights[f"{name}.weight"] = case.normal(fout, fin, scale=fin**-0.5)
        weights[f"{name}.bias"] = case.normal(fout, scale=0.3)
    return weights


def linear(w, x, name):
    return F.linear(x, w[f"{name}.weight"], w[f"{name}.bias"])


family.add("features_and_tokens", """
    a = gelu(linear(x, 11) as a)
    b = softmax(linear(x, 6) as b, axis = -1)
    h = concat([a, b], axis = 2)
    t = concat([linear(h, 12) as c, linear(h, 12) as d], axis = 1)
    y = layer_norm(t) as norm
    """, image(3, 4, 7),
    featuresAndTokens,
    lambda case: {**linearWeights(case, ("a", 7, 11), ("b", 7, 6), ("c", 17, 12), ("d", 17, 12)),
                  "norm.weight": case.uniform(0.5, 1.5, 12), "norm.bias": case.normal(12)})


def heads(x, count):
    return x.unflatten(2, (count, -1)).transpose(1, 2)


def writtenOutAttention(w, x):
    q, k, v = linear(w, x, "qkv").chunk(3, -1)
    q, k, v = heads(q, 3), heads(k, 3), heads(v, 3)
    p = (q @ k.transpose(2, 3) * 0.5).softmax(-1)
    return linear(w, (p @ v).transpose(1, 2).flatten(2), "out")


# Attention written out by products: operands are cut out of one projection, heads are joined by a transpose.
family.add("attention_by_products", """
    p = linear(x, 45) as qkv
    q = transpose(reshape(p[:, :, 0:15], [N, 7, 3, 5]), [0, 2, 1, 3])
    k = transpose(reshape(p[:, :, 15:30], [N, 7, 3, 5]), [0, 2, 3, 1])
    v = transpose(reshape(p[:, :, 30:45], [N, 7, 3, 5]), [0, 2, 1, 3])
    s = softmax(q @ k * 0.5, axis = -1)
    y = linear(reshape(transpose(s @ v, [0, 2, 1, 3]), [N, 7, 15]), 8) as out
    """, image(2, 7, 15), writtenOutAttention, lambda case: linearWeights(case, ("qkv", 15, 45), ("out", 15, 8)))

family.add("product_of_slices", """
    a = x[:, 1:5, 2:9]
    y = (a @ transpose(a, [0, 2, 1])) @ (linear(a, 6) as fc)
    z = layer_norm(x[:, :, 3:10]) as norm
    s = sum(x[:, 2:4], axis = 2)
    return y, z, s
    """, image(3, 6, 12),
    lambda w, x: {"y": x[:, 1:5, 2:9] @ x[:, 1:5, 2:9].transpose(1, 2) @ linear(w, x[:, 1:5, 2:9], "fc"),
                  "z": F.layer_norm(x[:, :, 3:10], (7,), w["norm.weight"], w["norm.bias"]), "s": x[:, 2:4].sum(2)},
    lambda case: {**linearWeights(case, ("fc", 7, 6)), "norm.weight": case.uniform(0.5, 1.5, 7), "norm.bias": case.normal(7)})

# Runs of memory: views at an offset, read by kernels that overwrite other operands, and one that is an output.
family.add("runs", """
    h = linear(x, 24) as fc
    r = reshape(h, [-1])
    a = relu(reshape(r[48:96], [2, 24]))
    b = a + reshape(r[0:48], [2, 24])
    y = softmax(b * reshape(r[96:144], [2, 24]), axis = 1)
    return y, z = r[24:72]
    """, image(6, 9), runs, lambda case: linearWeights(case, ("fc", 9, 24)), batched=False)
