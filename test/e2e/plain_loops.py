"""The ops of random models as plain loops over Python floats: slow, in double precision, and written without looking at nncc.

A value is a shape and its elements in row-major order. Each function says what the op means in as few words as it can.
"""

import itertools
import math


class Value:
    def __init__(self, shape, data):
        self.shape, self.data = list(shape), list(data)
        assert len(self.data) == math.prod(self.shape)

    def offset(self, index):
        position = 0
        for extent, i in zip(self.shape, index):
            position = position * extent + i
        return position

    def __getitem__(self, index):
        return self.data[self.offset(index)]


def indices(shape):
    return itertools.product(*map(range, shape))


def build(shape, element):
    return Value(shape, [element(index) for index in indices(shape)])


def elementwise(formula, *operands):
    """NumPy's broadcasting."""
    rank = max(len(operand.shape) for operand in operands)
    shape = [max(extents) for extents in itertools.zip_longest(
        *(reversed(operand.shape) for operand in operands), fillvalue=1)][::-1]

    def element(index):
        arguments = []
        for operand in operands:
            own = index[rank - len(operand.shape):]
            arguments.append(operand[[i if extent > 1 else 0 for i, extent in zip(own, operand.shape)]])
        return formula(*arguments)
    return build(shape, element)


def sigmoid(x):
    return 1 / (1 + math.exp(-x)) if x >= 0 else math.exp(x) / (1 + math.exp(x))


UNARY = {
    "relu": lambda x: max(x, 0.0),
    "relu6": lambda x: min(max(x, 0.0), 6.0),
    "leaky_relu": lambda x: x if x >= 0 else 0.01 * x,
    "sigmoid": sigmoid,
    "tanh": math.tanh,
    "silu": lambda x: x * sigmoid(x),
    "gelu": lambda x: 0.5 * x * (1 + math.erf(x / math.sqrt(2))),
    "hard_swish": lambda x: x * min(max(x + 3, 0), 6) / 6,
    "softplus": lambda x: max(x, 0) + math.log1p(math.exp(-abs(x))),
    "abs": abs,
}


def windowExtent(extent, kernel, stride, padding, dilation=1):
    return (extent + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1


def conv2d(x, weight, bias, stride=1, padding=0, dilation=1, groups=1):
    n, cin, h, w = x.shape
    cout, cinGroup, kh, kw = weight.shape
    shape = [n, cout, windowExtent(h, kh, stride, padding, dilation), windowExtent(w, kw, stride, padding, dilation)]

    def element(index):
        b, o, p, q = index
        total = bias.data[o] if bias else 0.0
        first = o // (cout // groups) * cinGroup
        for c, r, s in indices((cinGroup, kh, kw)):
            row, column = p * stride - padding + r * dilation, q * stride - padding + s * dilation
            if 0 <= row < h and 0 <= column < w:
                total += x[b, first + c, row, column] * weight[o, c, r, s]
        return total
    return build(shape, element)


def pool2d(x, kernel, stride, padding, reduce):
    """`reduce` takes the values inside the image."""
    n, c, h, w = x.shape
    shape = [n, c, windowExtent(h, kernel, stride, padding), windowExtent(w, kernel, stride, padding)]

    def element(index):
        b, channel, p, q = index
        return reduce([x[b, channel, row, column]
                       for row in range(p * stride - padding, p * stride - padding + kernel) if 0 <= row < h
                       for column in range(q * stride - padding, q * stride - padding + kernel) if 0 <= column < w])
    return build(shape, element)


def batchNorm(x, mean, variance, weight, bias, eps=1e-5):
    def element(index):
        c = index[1]
        scale = weight.data[c] / math.sqrt(variance.data[c] + eps)
        return (x[index] - mean.data[c]) * scale + bias.data[c]
    return build(x.shape, element)


def linear(x, weight, bias):
    features, depth = weight.shape
    return build(x.shape[:-1] + [features], lambda index: bias.data[index[-1]] + sum(
        x[index[:-1] + (k,)] * weight[index[-1], k] for k in range(depth)))


def matmul(a, b):
    """Equal batch dimensions."""
    return build(a.shape[:-1] + b.shape[-1:], lambda index: sum(
        a[index[:-1] + (k,)] * b[index[:-2] + (k, index[-1])] for k in range(a.shape[-1])))


def lastRows(x):
    width = x.shape[-1]
    return [x.data[begin:begin + width] for begin in range(0, len(x.data), width)]


def softmax(x):
    rows = []
    for row in lastRows(x):
        top = max(row)
        powers = [math.exp(value - top) for value in row]
        rows += [power / sum(powers) for power in powers]
    return Value(x.shape, rows)


def layerNorm(x, weight, bias, eps=1e-5):
    rows = []
    for row in lastRows(x):
        mean = sum(row) / len(row)
        deviation = math.sqrt(sum((value - mean)**2 for value in row) / len(row) + eps)
        rows += [(value - mean) / deviation * scale + shift for value, scale, shift in zip(row, weight.data, bias.data)]
    return Value(x.shape, rows)


def reduce(x, axes, formula, keepdims=False):
    kept = [1 if axis in axes else extent for axis, extent in enumerate(x.shape)]

    def element(index):
        ranges = [range(extent) if axis in axes else [index[axis]] for axis, extent in enumerate(x.shape)]
        return formula([x[i] for i in itertools.product(*ranges)])
    result = build(kept, element)
    return result if keepdims else reshape(result, [extent for axis, extent in enumerate(x.shape) if axis not in axes])


def mean(values):
    return sum(values) / len(values)


def reshape(x, shape):
    return Value(shape, x.data)


def transpose(x, order):
    def element(index):
        source = [0] * len(order)
        for axis, i in zip(order, index):
            source[axis] = i
        return x[source]
    return build([x.shape[axis] for axis in order], element)


def concat(values, axis):
    shape = list(values[0].shape)
    shape[axis] = sum(value.shape[axis] for value in values)

    def element(index):
        i = index[axis]
        for value in values:
            if i < value.shape[axis]:
                return value[index[:axis] + (i,) + index[axis + 1:]]
            i -= value.shape[axis]
    return build(shape, element)


def sliceAxis(x, axis, begin, end):
    shape = list(x.shape)
    shape[axis] = end - begin
    return build(shape, lambda index: x[index[:axis] + (index[axis] + begin,) + index[axis + 1:]])
