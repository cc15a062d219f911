"""Normalisations over the batch statistics of training, over features, channels and groups; softmax."""

import torch
from torch.nn import functional as F

from cases import Family

family = Family("normalisation")


def batchNorm(name, inputShape, arguments="", eps=1e-5):
    channels = inputShape[1]

    def weights(case):
        return {"bn.running_mean": case.normal(channels), "bn.running_var": case.uniform(0.3, 2, channels),
                "bn.weight": case.uniform(0.5, 1.5, channels), "bn.bias": case.normal(channels)}

    family.add(name, f"y = batch_norm(x{arguments}) as bn", lambda case: {"x": case.normal(*inputShape)},
               lambda w, x: F.batch_norm(x, w["bn.running_mean"], w["bn.running_var"], w["bn.weight"],
                                         w["bn.bias"], eps=eps), weights)


batchNorm("batch_norm", (2, 5, 4, 6))
batchNorm("batch_norm_eps", (2, 17, 3, 3), ", eps = 0.001", eps=1e-3)
batchNorm("batch_norm_2d_input", (6, 9))


def affine(name, body, inputShape, shape, expect, bias=True, scale=1.0, shift=0.0):
    """A norm with parameters norm.weight and norm.bias of `shape`."""
    def weights(case):
        w = {"norm.weight": case.uniform(0.5, 1.5, *shape)}
        if bias:
            w["norm.bias"] = case.normal(*shape)
        return w

    family.add(name, f"y = {body} as norm", lambda case: {"x": case.normal(*inputShape, scale=scale) + shift},
               lambda w, x: expect(x, w["norm.weight"], w.get("norm.bias")), weights)


affine("layer_norm", "layer_norm(x)", (3, 5, 24), (24,), lambda x, w, b: F.layer_norm(x, (24,), w, b))
affine("layer_norm_odd", "layer_norm(x)", (3, 37), (37,), lambda x, w, b: F.layer_norm(x, (37,), w, b))
affine("layer_norm_eps", "layer_norm(x, eps = 0.01)", (4, 16), (16,), lambda x, w, b: F.layer_norm(x, (16,), w, b, 0.01))
# A mean far from zero: the variance must not be computed as E[x^2] - E[x]^2.
affine("layer_norm_large_mean", "layer_norm(x)", (2, 64), (64,), lambda x, w, b: F.layer_norm(x.double(), (64,),
       w.double(), b.double()).float(), shift=100.0)
affine("group_norm", "group_norm(x, groups = 3)", (2, 12, 4, 5), (12,), lambda x, w, b: F.group_norm(x, 3, w, b))
affine("group_norm_one_group", "group_norm(x, groups = 1)", (2, 6, 3, 3), (6,), lambda x, w, b: F.group_norm(x, 1, w, b))
affine("group_norm_per_channel", "group_norm(x, groups = 7)", (1, 7, 5, 4), (7,), lambda x, w, b: F.group_norm(x, 7, w, b))
affine("rms_norm", "rms_norm(x)", (3, 4, 20), (20,),
       lambda x, w, b: x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-5) * w, bias=False)

affine("layer_norm_two_dims", "layer_norm(x, dims = 2)", (3, 4, 5), (4, 5), lambda x, w, b: F.layer_norm(x, (4, 5), w, b))
family.add("layer_norm_plain", "y = layer_norm(x, affine = false)", lambda case: {"x": case.normal(4, 20)},
           lambda x: F.layer_norm(x, (20,)))
family.add("instance_norm", "y = instance_norm(x)", lambda case: {"x": case.normal(2, 5, 4, 6)}, F.instance_norm)


def softmax(name, inputShape, text, expect, scale=1.0):
    family.add(name, f"y = {text}", lambda case: {"x": case.normal(*inputShape, scale=scale)}, expect)


softmax("softmax", (4, 10), "softmax(x, axis = -1)", lambda x: x.softmax(-1))
softmax("softmax_axis1", (2, 5, 7), "softmax(x, axis = 1)", lambda x: x.softmax(1))
softmax("softmax_4d", (2, 3, 4, 19), "softmax(x, axis = -1)", lambda x: x.softmax(-1))
softmax("softmax_large_values", (3, 33), "softmax(x, axis = -1)", lambda x: x.softmax(-1), scale=100.0)
softmax("softmax_one_value", (3, 1), "softmax(x, axis = -1)", lambda x: x.softmax(-1))
softmax("log_softmax", (4, 10), "log_softmax(x, axis = -1)", lambda x: x.log_softmax(-1))
softmax("log_softmax_large_values", (3, 21), "log_softmax(x, axis = -1)", lambda x: x.log_softmax(-1), scale=50.0)

batchNorm("batch_norm_1d", (2, 6, 7))
batchNorm("batch_norm_3d", (1, 5, 2, 3, 4))
affine("layer_norm_no_bias", "layer_norm(x, bias = false)", (3, 20), (20,), lambda x, w, b: F.layer_norm(x, (20,), w), bias=False)
affine("layer_norm_one_feature", "layer_norm(x)", (3, 5, 1), (1,), lambda x, w, b: F.layer_norm(x, (1,), w, b))
affine("layer_norm_three_dims", "layer_norm(x, dims = 3)", (2, 3, 4, 5), (3, 4, 5), lambda x, w, b: F.layer_norm(x, (3, 4, 5), w, b))
affine("layer_norm_long", "layer_norm(x)", (2, 1531), (1531,), lambda x, w, b: F.layer_norm(x, (1531,), w, b))
affine("layer_norm_small_values", "layer_norm(x)", (4, 24), (24,), lambda x, w, b: F.layer_norm(x, (24,), w, b), scale=1e-3)
affine("rms_norm_eps_two_dims", "rms_norm(x, dims = 2, eps = 0.1)", (3, 4, 7), (4, 7),
       lambda x, w, b: x * torch.rsqrt((x * x).mean((-1, -2), keepdim=True) + 0.1) * w, bias=False)
family.add("rms_norm_plain", "y = rms_norm(x, affine = false)", lambda case: {"x": case.normal(4, 17)},
           lambda x: x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-5))
affine("group_norm_2d", "group_norm(x, groups = 4)", (3, 12), (12,), lambda x, w, b: F.group_norm(x, 4, w, b))
affine("group_norm_1d", "group_norm(x, groups = 2, eps = 0.01)", (2, 6, 9), (6,), lambda x, w, b: F.group_norm(x, 2, w, b, 0.01))
affine("group_norm_3d", "group_norm(x, groups = 3)", (1, 6, 2, 3, 5), (6,), lambda x, w, b: F.group_norm(x, 3, w, b))
affine("group_norm_no_bias", "group_norm(x, groups = 2, bias = false)", (2, 10, 3, 3), (10,), lambda x, w, b: F.group_norm(x, 2, w),
       bias=False)
family.add("group_norm_plain", "y = group_norm(x, groups = 2, affine = false)", lambda case: {"x": case.normal(2, 34, 3, 3)},
           lambda x: F.group_norm(x, 2))
affine("group_norm_large_mean", "group_norm(x, groups = 2)", (1, 4, 5, 5), (4,), lambda x, w, b: F.group_norm(x.double(), 2,
       w.double(), b.double()).float(), shift=20.0)
affine("instance_norm_affine", "instance_norm(x, affine = true)", (2, 5, 4, 6), (5,), lambda x, w, b: F.instance_norm(x, weight=w, bias=b))
affine("instance_norm_1d", "instance_norm(x, affine = true, eps = 0.1)", (2, 5, 11), (5,),
       lambda x, w, b: F.instance_norm(x, weight=w, bias=b, eps=0.1))
family.add("instance_norm_3d", "y = instance_norm(x)", lambda case: {"x": case.normal(1, 3, 2, 4, 3)}, F.instance_norm)

softmax("softmax_axis0", (5, 7), "softmax(x, axis = 0)", lambda x: x.softmax(0))
softmax("softmax_channels", (2, 19, 3, 5), "softmax(x, axis = 1)", lambda x: x.softmax(1))
softmax("softmax_long", (2, 1201), "softmax(x)", lambda x: x.softmax(-1), scale=3.0)
softmax("log_softmax_axis1", (2, 17, 5), "log_softmax(x, axis = 1)", lambda x: x.log_softmax(1))
softmax("log_softmax_channels", (2, 5, 4, 3), "log_softmax(x, axis = -3)", lambda x: x.log_softmax(1), scale=30.0)


def withInfinities(case):
    x = case.normal(5, 9)
    x[0, 3] = -float("inf")
    x[1, 1:] = -float("inf")
    x[2] = -float("inf")  # all: NaN
    x[3, 2] = float("inf")  # NaN too
    x[4, 5] = float("nan")
    return {"x": x}


family.add("softmax_infinities", "y = softmax(x)", withInfinities, lambda x: x.softmax(-1))
family.add("log_softmax_infinities", "y = log_softmax(x)", withInfinities, lambda x: x.log_softmax(-1))


def dynamic(name, inputShape, dims, text, expect):
    family.add(name, f"y = {text}", lambda case: {"x": case.normal(*inputShape)}, expect, dims={"x": dims})


dynamic("softmax_dynamic", (2, 3, 13), "N, 3, T", "softmax(x)", lambda x: x.softmax(-1))
dynamic("softmax_dynamic_axis1", (2, 7, 5), "N, T, 5", "softmax(x, axis = 1)", lambda x: x.softmax(1))
dynamic("softmax_dynamic_channels", (2, 5, 3, 7), "N, 5, H, W", "softmax(x, axis = 1)", lambda x: x.softmax(1))
dynamic("log_softmax_dynamic", (2, 3, 19), "N, 3, T", "log_softmax(x)", lambda x: x.log_softmax(-1))
dynamic("layer_norm_dynamic", (2, 7, 12), "N, T, 12", "layer_norm(x, affine = false)", lambda x: F.layer_norm(x, (12,)))
dynamic("group_norm_dynamic", (2, 6, 5, 3), "N, 6, H, W", "group_norm(x, groups = 3, affine = false)", lambda x: F.group_norm(x, 3))
dynamic("instance_norm_dynamic", (2, 5, 4, 7), "N, 5, H, W", "instance_norm(x)", F.instance_norm)
