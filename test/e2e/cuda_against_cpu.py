"""Models on the stand-in CUDA device against the same models on the CPU, both with weights drawn from a seed: examples for which there
is no result of PyTorch, and sizes for which the emitters cut their work in ways that no case of test/data/ops needs.

Called as `cuda_against_cpu.py [Models.test_NAME...]`.
"""

import os
import sys
import unittest

import harness
import synthetic

NORMAL, TOKENS = ["uniform", -1, 1], ["integers", 0, 500]
# The example, its inputs, and whether every access to memory is examined.
EXAMPLES = {
    "gpt": ({"tokens": ([2, 64], TOKENS)}, False),
    "keyword_spotting": ({"frames": ([3, 40, 37], NORMAL)}, True),
    "unet": ({"image": ([1, 3, 128, 128], NORMAL)}, False),
    "simple_cnn_cifar10": ({"image": ([2, 3, 32, 32], NORMAL)}, False),
    "simple_net_mnist": ({"image": ([3, 1, 28, 28], NORMAL)}, True),
}


def recurrent(op, hidden, batch, steps, element="f32"):
    results = "y, h, c" if op == "lstm" else "y, h"
    return (f"nn 1\nmodel M(x: {element}[{batch}, {steps}, 5]) {{\n  {results} = {op}(x, {hidden}, bidirectional = true) as layer\n"
            f"  return {results}\n}}\n")


def attention(width, keys, element="f32", causal="false"):
    return (f"nn 1\nmodel M(q: {element}[N, 3, {width}], k: {element}[N, {keys}, {width}], v: {element}[N, {keys}, {width}]) {{\n"
            f"  y = attention(q, k, v, causal = {causal})\n  return y\n}}\n")


# Recurrent layers: weights in registers or read in each step, one thread or several for a unit, several units for a thread, as many
# rows as a block takes, fewer and more. Attention: heads so wide that fewer keys fit a tile.
SIZES = {
    "lstm_of_32": (recurrent("lstm", 32, "N", "T"), {"x": ([5, 4, 5], NORMAL)}),
    "lstm_of_100": (recurrent("lstm", 100, "N", 3), {"x": ([6, 3, 5], NORMAL)}),
    "lstm_of_300_one_row": (recurrent("lstm", 300, 1, 2), {"x": ([1, 2, 5], NORMAL)}),
    "lstm_of_520": (recurrent("lstm", 520, "N", 2), {"x": ([5, 2, 5], NORMAL)}),
    "gru_of_70_one_row": (recurrent("gru", 70, 1, 4), {"x": ([1, 4, 5], NORMAL)}),
    "gru_of_129": (recurrent("gru", 129, "N", 3), {"x": ([3, 3, 5], NORMAL)}),
    "rnn_of_127": (recurrent("rnn", 127, "N", 3), {"x": ([3, 3, 5], NORMAL)}),
    "rnn_of_700": (recurrent("rnn", 700, "N", 2), {"x": ([3, 2, 5], NORMAL)}),
    "rnn_of_2000": (recurrent("rnn", 2000, "N", 2), {"x": ([2, 2, 5], NORMAL)}),
    "attention_of_200": (attention(200, 70), {"q": ([2, 3, 200], NORMAL), "k": ([2, 70, 200], NORMAL), "v": ([2, 70, 200], NORMAL)}),
    "attention_of_600": (attention(600, 21), {"q": ([1, 3, 600], NORMAL), "k": ([1, 21, 600], NORMAL), "v": ([1, 21, 600], NORMAL)}),
    "attention_of_1500": (attention(1500, 9), {"q": ([1, 3, 1500], NORMAL), "k": ([1, 9, 1500], NORMAL), "v": ([1, 9, 1500], NORMAL)}),
}


def modelTest(name, text, inputs, isChecked):
    def test(self):
        model = os.path.join(harness.EXAMPLES, name + ".nn")
        if text:
            model = self.path("model.nn")
            with open(model, "w", encoding="utf-8") as file:
                file.write(text)
        command = [model, "--seed", "7"]
        for key, (shape, recipe) in inputs.items():
            value = synthetic.make(f"{name}/{key}", shape, recipe)
            command += ["--input", f"{key}=@{value.writeNpy(self.path(key + '.npy'))}"]
        outputs = self.outputsOf(model)
        written = [word for output in outputs for word in ("--output", f"{output}=@{self.path('out-' + output + '.npy')}")]
        self.succeeds(harness.program("nncc-run"), *command, *written)
        expected = [word for output in outputs for word in ("--expect", f"{output}=@{self.path('out-' + output + '.npy')}")]
        tolerance = harness.TOLERANCES["f32"]
        self.runsModel(*command, *expected, "--rtol", tolerance["rtol"], "--atol", tolerance["atol"], checked=isChecked)
    return test


class Models(harness.TestCase):
    def outputsOf(self, model):
        """The names of a model's outputs, as nncc-run lists them."""
        listing = self.succeeds(harness.program("nncc-run"), model, "--info").stdout
        return [line.split()[1] for line in listing.splitlines() if line.split()[:1] == ["output"]]


for name, (inputs, isChecked) in EXAMPLES.items():
    setattr(Models, "test_" + name, modelTest(name, None, inputs, isChecked))
for name, (text, inputs) in SIZES.items():
    setattr(Models, "test_" + name, modelTest(name, text, inputs, True))

if __name__ == "__main__":
    harness.device = "cuda"
    harness.requireNvrtc()
    unittest.main(argv=sys.argv)
