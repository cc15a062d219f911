"""The large examples against PyTorch in double precision: ResNets, MobileNetV2, a transformer encoder, an LSTM.

Weights and inputs are made from their names (synthetic.py); test/reference/examples.py made the expected outputs. Called as
`examples.py [--cuda] [NAME...]`; each is compiled once and run at several batch sizes. With --cuda they run on the stand-in CUDA
device, images one at a time.
"""

import json
import math
import os
import sys
import unittest

import harness
import synthetic

# Numbers of input above which a run takes the stand-in device too long, and up to which it examines every access to memory.
LARGEST_ON_DEVICE, LARGEST_CHECKED = 200_000, 100

FOLDER = os.path.join(harness.DATA, "examples")


def exampleTest(name):
    def test(self):
        metadata, outputs = harness.readSafetensors(os.path.join(FOLDER, name + ".safetensors"))
        plan = json.loads(metadata["plan"])
        weights = {path: synthetic.make(f"{name}/{path}", *entry) for path, entry in plan["weights"].items()}
        sharedObject = self.compile(os.path.join(harness.EXAMPLES, name + ".nn"),
                                    harness.writeSafetensors(self.path("weights.safetensors"), weights))
        for i, run in enumerate(plan["runs"]):
            with self.subTest(run=i):
                command = [sharedObject]
                size = sum(math.prod(entry[0]) for entry in run["inputs"].values())
                if harness.device == "cuda" and size > LARGEST_ON_DEVICE:
                    continue
                for key, entry in run["inputs"].items():
                    value = synthetic.make(f"{name}/{i}/{key}", *entry)
                    command += ["--input", f"{key}=@{value.writeNpy(self.path(f'{i}-{key}.npy'))}"]
                scale = 0.0
                for key in run["outputs"]:
                    value = outputs[f"{i}/{key}"]
                    scale = max(scale, *map(abs, value.values()))
                    command += ["--expect", f"{key}=@{value.writeNpy(self.path(f'{i}-{key}.npy'))}"]
                tolerance = harness.TOLERANCES["network"]
                result = self.runsModel(*command, "--rtol", tolerance["rtol"], "--atol", tolerance["atol"] * scale,
                                        checked=size <= LARGEST_CHECKED)
                print(f"{name} run {i}, outputs up to {scale:.3g}:\n{result.stdout.strip()}", file=sys.stderr)
    return test


def load():
    names = [file.removesuffix(".safetensors") for file in sorted(os.listdir(FOLDER))]
    return type("Examples", (harness.TestCase,), {f"test_{name}": exampleTest(name) for name in names})


if __name__ == "__main__":
    harness.takeCudaFlag()
    Examples = load()
    unittest.main(argv=sys.argv[:1] + [f"Examples.test_{name}" for name in sys.argv[1:]])
