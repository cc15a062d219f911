"""Random models, compiled and run by nncc-run, against the plain loops of plain_loops.py.

Called as `random_graphs.py [--cuda] [SEED [COUNT]]`. A failure prints the seed and the model's text; the same seed gives the same
models. With --cuda they run on the stand-in CUDA device, which examines every access to memory.
"""

import array
import os
import random
import sys

import harness
import plain_loops as plain


class Model:
    """A model that grows op by op: its text, and each value as the plain loops compute it."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.lines, self.inputs, self.weights, self.values = [], {}, {}, {}

    def draw(self, shape, low=-1.0, high=1.0):
        # Rounded to f32, so that both sides start from the same numbers.
        count = plain.math.prod(shape)
        return plain.Value(shape, array.array("f", (self.random.uniform(low, high) for _ in range(count))))

    def input(self, shape):
        self.inputs["x"] = self.values["x"] = self.draw(shape, -2, 2)

    def weight(self, path, shape, low=None, high=None):
        bound = 1.5 * plain.math.prod(shape[1:])**-0.5 if len(shape) > 1 else 1.0
        self.weights[path] = self.draw(shape, -bound if low is None else low, bound if high is None else high)
        return self.weights[path]

    def add(self, text, value):
        name = f"v{len(self.values)}"
        self.lines.append(f"{name} = {text.replace('PATH', 'p' + str(len(self.values)))}")
        self.values[name] = value
        return name

    def path(self, leaf):
        return f"p{len(self.values)}.{leaf}"

    def pick(self, rank=None, shape=None):
        """A value of this rank or shape, late ones more often: chains, and sometimes a second reader."""
        names = [name for name, value in self.values.items()
                 if (rank is None or len(value.shape) == rank) and (shape is None or value.shape == shape)]
        return names[-1 - min(int(self.random.expovariate(0.9)), len(names) - 1)] if names else None

    # One method an op: each picks its operands and adds the op, or returns None where none fits.

    def conv(self):
        x = self.pick(rank=4)
        value = self.values[x]
        _, channels, h, w = value.shape
        r = self.random
        kernel = r.choice([k for k in (1, 1, 3, 3, 3, 5) if k <= min(h, w) + 2])
        stride, padding = r.choice((1, 1, 1, 2)), r.choice((0, kernel // 2))
        dilation = 2 if kernel == 3 and padding and min(h, w) >= 5 and r.random() < 0.2 else 1
        if plain.windowExtent(min(h, w), kernel, stride, padding, dilation) < 1:
            return None
        kind = r.random()
        groups = channels if kind < 0.2 else 2 if kind < 0.3 and channels % 2 == 0 else 1
        filters = channels if groups == channels else r.choice((2, 4, 6, 8, 16, 17, 20))
        if filters % groups:
            filters = groups
        bias = r.random() < 0.8
        weight = self.weight(self.path("weight"), [filters, channels // groups, kernel, kernel])
        shift = self.weight(self.path("bias"), [filters]) if bias else None
        arguments = f"kernel = {kernel}, stride = {stride}, padding = {padding}, dilation = {dilation}, groups = {groups}"
        return self.add(f"conv2d({x}, {filters}, {arguments}, bias = {'true' if bias else 'false'}) as PATH",
                        plain.conv2d(value, weight, shift, stride, padding, dilation, groups))

    def pool(self):
        x = self.pick(rank=4)
        value = self.values[x]
        kernel, stride = self.random.choice(((2, 2), (3, 2), (3, 1), (2, 1)))
        padding = self.random.choice((0, kernel // 2))
        if plain.windowExtent(min(value.shape[2:]), kernel, stride, padding) < 1:
            return None
        arguments = f"kernel = {kernel}, stride = {stride}, padding = {padding}"
        if self.random.random() < 0.6:
            return self.add(f"max_pool2d({x}, {arguments})", plain.pool2d(value, kernel, stride, padding, max))
        return self.add(f"avg_pool2d({x}, {arguments}, count_include_pad = false)",
                        plain.pool2d(value, kernel, stride, padding, plain.mean))

    def batchNorm(self):
        x = self.pick(rank=4)
        channels = self.values[x].shape[1]
        parameters = [self.weight(self.path("running_mean"), [channels]),
                      self.weight(self.path("running_var"), [channels], 0.4, 2),
                      self.weight(self.path("weight"), [channels], 0.5, 1.5), self.weight(self.path("bias"), [channels])]
        return self.add(f"batch_norm({x}) as PATH", plain.batchNorm(self.values[x], *parameters))

    def unary(self):
        x, function = self.pick(), self.random.choice(list(plain.UNARY))
        return self.add(f"{function}({x})", plain.elementwise(plain.UNARY[function], self.values[x]))

    def binary(self):
        a = self.pick()
        b = self.pick(shape=self.values[a].shape)
        if self.random.random() < 0.25:
            b = self.pick(shape=[self.values[a].shape[0], self.values[a].shape[1], 1, 1]) or b
        symbol, formula = self.random.choice((("+", lambda p, q: p + q), ("-", lambda p, q: p - q),
                                              ("*", lambda p, q: p * q)))
        return self.add(f"{a} {symbol} {b}", plain.elementwise(formula, self.values[a], self.values[b]))

    def scale(self):
        x = self.pick()
        return self.add(f"{x} * 0.5 + 0.25", plain.elementwise(lambda p: p * 0.5 + 0.25, self.values[x]))

    def concat(self):
        a = self.pick(rank=4)
        shape = self.values[a].shape
        others = [name for name, value in self.values.items() if len(value.shape) == 4 and value.shape[2:] == shape[2:]]
        b = self.random.choice(others)
        if shape[1] + self.values[b].shape[1] > 40:
            return None
        return self.add(f"concat([{a}, {b}], axis = 1)", plain.concat([self.values[a], self.values[b]], 1))

    def channelSlice(self):
        x = self.pick(rank=4)
        channels = self.values[x].shape[1]
        if channels < 2:
            return None
        begin = self.random.randrange(channels - 1)
        end = self.random.randrange(begin + 1, channels + 1)
        return self.add(f"{x}[:, {begin}:{end}]", plain.sliceAxis(self.values[x], 1, begin, end))

    def spatialMean(self):
        x = self.pick(rank=4)
        return self.add(f"mean({x}, axis = [2, 3], keepdims = true)",
                        plain.reduce(self.values[x], (2, 3), plain.mean, keepdims=True))

    def linear(self):
        x = self.pick(rank=2) or self.pick(rank=3)
        depth, features = self.values[x].shape[-1], self.random.choice((1, 5, 10, 16, 33))
        weight, bias = self.weight(self.path("weight"), [features, depth]), self.weight(self.path("bias"), [features])
        return self.add(f"linear({x}, {features}) as PATH", plain.linear(self.values[x], weight, bias))

    def layerNorm(self):
        x = self.pick(rank=3)
        width = self.values[x].shape[-1]
        if width < 3:
            return None
        weight, bias = self.weight(self.path("weight"), [width], 0.5, 1.5), self.weight(self.path("bias"), [width])
        return self.add(f"layer_norm({x}) as PATH", plain.layerNorm(self.values[x], weight, bias))

    def softmax(self):
        x = self.pick()
        return self.add(f"softmax({x}, axis = -1)", plain.softmax(self.values[x]))

    def selfAttention(self):
        x = self.pick(rank=3)
        value = self.values[x]
        transposed = plain.transpose(value, [0, 2, 1])
        scores = self.add(f"{x} @ transpose({x}, [0, 2, 1]) / {float(value.shape[-1])}", plain.elementwise(
            lambda p: p / value.shape[-1], plain.matmul(value, transposed)))
        return self.add(f"softmax({scores}, axis = -1) @ {x}", plain.matmul(plain.softmax(self.values[scores]), value))

    def lastMax(self):
        x = self.pick(rank=3)
        return self.add(f"reduce_max({x}, axis = -1, keepdims = true)", plain.reduce(self.values[x], (2,), max, keepdims=True))

    def flatten(self):
        x = self.pick(rank=4)
        shape = self.values[x].shape
        return self.add(f"flatten({x})", plain.reshape(self.values[x], [shape[0], plain.math.prod(shape[1:])]))

    def tokens(self):
        """An image as a sequence of pixels."""
        x = self.pick(rank=4)
        n, channels, h, w = self.values[x].shape
        sequence = plain.reshape(plain.transpose(self.values[x], [0, 2, 3, 1]), [n, h * w, channels])
        return self.add(f"reshape(transpose({x}, [0, 2, 3, 1]), [N, {h * w}, {channels}])", sequence)

    def text(self, outputs):
        shape = ", ".join(map(str, self.inputs["x"].shape[1:]))
        body = "".join(f"  {line}\n" for line in self.lines + ["return " + ", ".join(outputs)])
        return f"nn 1\n\nmodel Random(x: f32[N, {shape}]) {{\n{body}}}\n"


IMAGE = [Model.conv, Model.conv, Model.conv, Model.pool, Model.batchNorm, Model.unary, Model.unary, Model.binary, Model.scale,
         Model.concat, Model.channelSlice, Model.spatialMean]
SEQUENCE = [Model.linear, Model.linear, Model.layerNorm, Model.unary, Model.binary, Model.scale, Model.softmax,
            Model.selfAttention, Model.lastMax]
ROWS = [Model.linear, Model.linear, Model.unary, Model.binary, Model.softmax]


def grow(model, ops, count):
    added = [name for name in (model.random.choice(ops)(model) for _ in range(count)) if name]
    return added[-1:]


def randomModel(seed):
    """A model and the names of its outputs."""
    model = Model(seed)
    r = model.random
    batch, outputs = r.choice((1, 2, 3)), []
    if r.random() < 0.7:
        model.input([batch, r.choice((1, 2, 3, 8, 16)), r.randint(5, 9), r.randint(5, 9)])
        outputs += grow(model, IMAGE, r.randint(3, 9))
        kind = r.random()
        if kind < 0.3:
            model.flatten()
            outputs += grow(model, ROWS, r.randint(1, 4))
        elif kind < 0.5:
            model.tokens()
            outputs += grow(model, SEQUENCE, r.randint(1, 4))
    else:
        model.input([batch, r.randint(3, 9), r.choice((4, 8, 12, 16, 19))])
        outputs += grow(model, SEQUENCE, r.randint(2, 8))
    if not outputs or r.random() < 0.3:
        outputs.append(model.add("x + 1.0", plain.elementwise(lambda p: p + 1.0, model.values["x"])))
    return model, list(dict.fromkeys(outputs))


def tensor(value):
    return harness.Tensor("<f4", value.shape, array.array("f", value.data).tobytes())


class RandomGraphs(harness.TestCase):
    seed, count = 1, 40

    def testAgainstPlainLoops(self):
        for seed in range(self.seed, self.seed + self.count):
            with self.subTest(seed=seed):
                model, outputs = randomModel(seed)
                text = model.text(outputs)
                path = self.path("model.nn")
                with open(path, "w", encoding="utf-8") as file:
                    file.write(text)
                weights = {name: tensor(value) for name, value in model.weights.items()}
                command = [path]
                if weights:
                    command += ["--weights", harness.writeSafetensors(self.path("weights.safetensors"), weights)]
                command += ["--input", f"x=@{tensor(model.inputs['x']).writeNpy(self.path('x.npy'))}"]
                for name in outputs:
                    command += ["--expect", f"{name}=@{tensor(model.values[name]).writeNpy(self.path(name + '.npy'))}"]
                tolerance = harness.TOLERANCES["f32"]
                result = harness.runModel(*command, "--rtol", tolerance["rtol"], "--atol", tolerance["atol"], checked=True)
                self.assertEqual(result.returncode, 0, f"seed {seed}\n{text}\n{result.stdout}{result.stderr}")


if __name__ == "__main__":
    harness.takeCudaFlag()
    if len(sys.argv) > 1:
        RandomGraphs.seed = int(sys.argv[1])
    if len(sys.argv) > 2:
        RandomGraphs.count = int(sys.argv[2])
    harness.unittest.main(argv=sys.argv[:1])
