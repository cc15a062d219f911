"""Gradients of the weights of convolutions and linear layers, by PyTorch's differentiation. The language has no word for them, so
the models are IR: nn.conv_weight_gradient, and nn.matmul with a transposed left operand."""

import itertools
import math

import torch
from torch.nn import functional as F

from cases import DTYPES, Family

family = Family("contraction_gradients")
HALVES = (torch.float16, torch.bfloat16)


def tensor(shape, dtype, named=True):
    """The type of a tensor whose first dimension is called N."""
    dims = ["?" if named else str(shape[0]), *map(str, shape[1:]), DTYPES[dtype][1]]
    return f"tensor<{'x'.join(dims)}{', #nn.enc<[N]>' if named else ''}>"


def addIr(name, dtype, op, inputs, expect, terms):
    """A case of one op, computed in double precision from rounded operands. Each element of the result has that many terms; g is so
    small that they add up to about one."""
    name = name if dtype == torch.float32 else f"{name}_{DTYPES[dtype][1]}"

    def draw(case):
        return {key: case.normal(*shape, scale=terms**-0.5 if key == "g" else 1).to(dtype) for key, (shape, _) in inputs.items()}

    def compute(**operands):
        return expect(**{key: value.double() for key, value in operands.items()}).to(dtype)

    types = {key: tensor(shape, dtype, named) for key, (shape, named) in inputs.items()}
    result = tensor(compute(**{key: torch.zeros(shape) for key, (shape, _) in inputs.items()}).shape, dtype, named=False)
    arguments = ", ".join(f'%{key}: {type} {{nn.name = "{key}"}}' for key, type in types.items())
    text = (f'module @Case attributes {{nn.dims = [#nn.dim<"N", 1, 4096>]}} {{\n'
            f'  func.func @infer({arguments}) -> ({result} {{nn.name = "y"}}) {{\n'
            f'    %0 = {op} : ({", ".join(types.values())}) -> {result}\n'
            f'    return %0 : {result}\n  }}\n}}\n')
    family.addText(name, text, draw, compute)


def convolution(name, xShape, outputs, kernel, stride=1, dilation=1, pads=0, padsEnd=None, groups=1, dtypes=(torch.float32,), named=True):
    rank = len(xShape) - 2
    kernel, stride, dilation, pads = (value if isinstance(value, tuple) else (value,) * rank for value in (kernel, stride, dilation, pads))
    padsEnd = padsEnd or pads
    conv = (F.conv1d, F.conv2d, F.conv3d)[rank - 1]

    def forward(x, weight):
        padding = [*itertools.chain(*zip(reversed(pads), reversed(padsEnd)))]
        return conv(F.pad(x, padding), weight, None, stride, 0, dilation, groups)

    def gradient(x, g):
        weight = torch.zeros(weightShape, dtype=torch.double, requires_grad=True)
        with torch.enable_grad():
            return torch.autograd.grad(forward(x, weight), weight, g)[0]

    weightShape = (outputs, xShape[1] // groups, *kernel)
    gShape = tuple(forward(torch.zeros(xShape), torch.zeros(weightShape)).shape)
    attributes = ", ".join(f"{key} = array<i64: {', '.join(map(str, value))}>" for key, value in
                           (("strides", stride), ("dilations", dilation), ("pads_begin", pads), ("pads_end", padsEnd)))
    for dtype in dtypes:
        addIr(name, dtype, f"nn.conv_weight_gradient %x, %g {{{attributes}, groups = {groups} : i64}}",
              {"x": (xShape, named), "g": (gShape, named)}, gradient, terms=gShape[0] * math.prod(gShape[2:]))


EVERYWHERE = (torch.float32, *HALVES, torch.float64)

convolution("three_by_three", (2, 16, 5, 7), 24, 3, pads=1, dtypes=EVERYWHERE)
convolution("whole_tiles", (1, 32, 4, 8), 64, 3, pads=1, dtypes=(torch.float16,))
convolution("one_position", (3, 5, 1, 1), 7, 1)
convolution("pointwise", (2, 24, 6, 7), 40, 1, dtypes=(torch.float32, *HALVES))
convolution("odd_channels", (1, 13, 7, 5), 39, (3, 1), pads=(1, 0), dtypes=(torch.float32, torch.float16))
convolution("image", (2, 3, 14, 15), 20, 5, stride=2, pads=2, dtypes=(torch.float32, *HALVES))
convolution("one_channel", (1, 1, 28, 28), 16, 3, pads=1)
convolution("strided", (2, 8, 9, 10), 16, 3, stride=(2, 3), pads=1, dtypes=(torch.float32, *HALVES))
convolution("strided_pointwise", (2, 40, 7, 8), 24, 1, stride=2)
convolution("dilated", (1, 8, 12, 11), 24, 3, dilation=(2, 1), pads=(2, 1), dtypes=(torch.float32, torch.bfloat16))
convolution("unequal_pads", (1, 12, 6, 7), 8, (2, 3), pads=(1, 0), padsEnd=(0, 2))
convolution("pads_beyond_the_kernel", (1, 8, 3, 2), 12, 2, pads=(3, 4))
convolution("many_positions", (1, 8, 26, 28), 8, 3, pads=1)
convolution("fixed_batch", (4, 8, 7, 7), 16, 3, named=False)
convolution("groups", (2, 24, 6, 6), 48, 3, pads=1, groups=3, dtypes=(torch.float32, *HALVES))
convolution("groups_odd", (2, 9, 6, 5), 15, 3, pads=1, groups=3)
convolution("depthwise", (2, 40, 6, 7), 40, 3, pads=1, groups=40, dtypes=EVERYWHERE)
convolution("depthwise_strided", (2, 9, 12, 11), 9, 3, stride=2, dilation=2, pads=2, groups=9)
convolution("depthwise_twice", (2, 33, 6, 5), 66, 3, groups=33)
convolution("depthwise_seven", (1, 16, 9, 10), 16, 7, pads=3, groups=16, dtypes=(torch.float32, torch.float16))
convolution("depthwise_video", (1, 8, 4, 5, 6), 8, 3, pads=1, groups=8)
convolution("series", (3, 16, 40), 24, 5, stride=2, pads=2)
convolution("series_groups", (3, 16, 21), 32, 3, groups=4, dtypes=(torch.float32, torch.float16))
convolution("video", (1, 8, 5, 6, 7), 12, (2, 3, 2), pads=(1, 1, 0))


def linear(name, rows, inputs, outputs, batch=None, dtypes=(torch.float32,), named=True):
    lead = () if batch is None else (batch,)
    for dtype in dtypes:
        addIr(name, dtype, "nn.matmul %g, %x {transpose_lhs}",
              {"g": ((*lead, rows, outputs), named and batch is None), "x": ((*lead, rows, inputs), named and batch is None)},
              lambda g, x: g.transpose(-1, -2) @ x, terms=rows)


linear("linear", 37, 40, 24, dtypes=EVERYWHERE)
linear("linear_whole_tiles", 32, 64, 64, dtypes=(torch.float16,))
linear("linear_odd", 5, 33, 19, dtypes=(torch.float32, *HALVES))
linear("linear_deep", 400, 24, 16, named=False)
linear("linear_batch", 21, 20, 36, batch=3, dtypes=(torch.float32, *HALVES))
