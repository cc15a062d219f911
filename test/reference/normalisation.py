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
