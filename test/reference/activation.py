"""Activation functions, over their whole range, with the places where their formula changes."""

import torch
from torch.nn import functional as F

from cases import Family

family = Family("activation")


def activation(name, text, expect, low=-6.0, high=6.0):
    def inputs(case):
        # The ends, zero and the corners of the piecewise functions, then values between; an odd count for the tail.
        corners = torch.tensor([low, high, 0.0, -0.0, -3.0, 3.0, 1.0, -1.0, 6.0, 0.5, -0.5, 1e-6, -1e-6])
        return {"x": torch.cat([corners.clamp(low, high), case.uniform(low, high, 62)]).reshape(3, 25)}

    family.add(name, f"y = {text}", inputs, expect)


activation("relu", "relu(x)", F.relu)
activation("relu6", "relu6(x)", F.relu6, -3.0, 9.0)
activation("leaky_relu", "leaky_relu(x)", F.leaky_relu)
activation("leaky_relu_slope", "leaky_relu(x, 0.2)", lambda x: F.leaky_relu(x, 0.2))
activation("elu", "elu(x)", F.elu)
activation("elu_alpha", "elu(x, 0.7)", lambda x: F.elu(x, 0.7))
activation("selu", "selu(x)", F.selu)
activation("celu", "celu(x, 1.5)", lambda x: F.celu(x, 1.5))
activation("gelu", "gelu(x)", F.gelu)
activation("gelu_tanh", 'gelu(x, approximate = "tanh")', lambda x: F.gelu(x, approximate="tanh"))
activation("sigmoid", "sigmoid(x)", torch.sigmoid, -30.0, 30.0)
activation("silu", "silu(x)", F.silu, -30.0, 30.0)
activation("mish", "mish(x)", F.mish, -20.0, 20.0)
activation("tanh", "tanh(x)", torch.tanh, -12.0, 12.0)
activation("softplus", "softplus(x)", F.softplus, -30.0, 30.0)
activation("softplus_beta", "softplus(x, beta = 2.0)", lambda x: F.softplus(x, 2.0))
activation("softsign", "softsign(x)", F.softsign)
activation("hard_sigmoid", "hard_sigmoid(x)", F.hardsigmoid)
activation("hard_swish", "hard_swish(x)", F.hardswish)
activation("hard_tanh", "hard_tanh(x)", F.hardtanh)
activation("clip", "clip(x, -1.5, 2.5)", lambda x: x.clamp(-1.5, 2.5))
activation("clip_below", "clip(x, min = 0.5)", lambda x: x.clamp(min=0.5))

family.add("prelu", "y = prelu(x, slopes = 5) as act", lambda case: {"x": case.normal(2, 5, 3, 4)},
           lambda w, x: F.prelu(x, w["act.weight"]), lambda case: {"act.weight": case.uniform(0.1, 0.4, 5)})
family.add("prelu_one_slope", "y = prelu(x) as act", lambda case: {"x": case.normal(3, 19)},
           lambda w, x: F.prelu(x, w["act.weight"]), lambda case: {"act.weight": case.uniform(0.1, 0.4, 1)})

activation("clip_above", "clip(x, max = -0.5)", lambda x: x.clamp(max=-0.5))
activation("clip_nothing", "clip(x)", lambda x: x)
activation("clip_crossed", "clip(x, 2.0, -1.0)", lambda x: x.clamp(2.0, -1.0))
activation("elu_large", "elu(x, 2.5)", lambda x: F.elu(x, 2.5), -100.0, 100.0)
activation("leaky_relu_above_one", "leaky_relu(x, 1.5)", lambda x: F.leaky_relu(x, 1.5))
activation("leaky_relu_negative", "leaky_relu(x, -0.5)", lambda x: F.leaky_relu(x, -0.5))
activation("gelu_large", "gelu(x)", F.gelu, -100.0, 100.0)
activation("sigmoid_large", "sigmoid(x)", torch.sigmoid, -200.0, 200.0)
activation("silu_large", "silu(x)", F.silu, -200.0, 200.0)
activation("softplus_large", "softplus(x)", F.softplus, -200.0, 200.0)
activation("tanh_near_zero", "tanh(x)", torch.tanh, -1e-3, 1e-3)

NAN, INFINITY = float("nan"), float("inf")


def special(name, text, expect, *values):
    """Beside the infinities, NaN and both zeros: denormals, the largest number, and values of the function's own."""
    family.add(f"{name}_special", f"y = {text}",
               {"x": torch.tensor([[0.0, -0.0, INFINITY, -INFINITY, NAN, 1e-40, -1e-40, 3.4e38, -3.4e38, *values]])}, expect)


special("relu", "relu(x)", F.relu)
special("relu6", "relu6(x)", F.relu6)
special("clip", "clip(x, -1.5, 2.5)", lambda x: x.clamp(-1.5, 2.5))
special("hard_tanh", "hard_tanh(x)", F.hardtanh)
special("leaky_relu", "leaky_relu(x)", F.leaky_relu)
special("elu", "elu(x)", F.elu)
special("selu", "selu(x)", F.selu)
special("sigmoid", "sigmoid(x)", torch.sigmoid, 88.0, -88.0, 89.0, -89.0, 104.0, -104.0)
special("silu", "silu(x)", F.silu, 88.0, -88.0, 89.0, -89.0)
special("tanh", "tanh(x)", torch.tanh, 9.0, -9.0, 20.0, -20.0)
special("softplus", "softplus(x)", F.softplus, 88.0, -88.0, 104.0, -104.0)
special("softsign", "softsign(x)", F.softsign)
special("hard_sigmoid", "hard_sigmoid(x)", F.hardsigmoid)
special("gelu", "gelu(x)", F.gelu, 6.0, -6.0)
special("gelu_tanh", 'gelu(x, approximate = "tanh")', lambda x: F.gelu(x, approximate="tanh"))
special("mish", "mish(x)", F.mish, 88.0, -88.0)
