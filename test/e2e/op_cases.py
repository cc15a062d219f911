"""Runs the models of one family of test/data/ops through nncc-run and compares with what PyTorch computed.

Called as `op_cases.py [--cuda] FAMILY [CASE...]`; test/reference says how the cases were made. With --cuda every case runs on the
stand-in CUDA device of tools/cuda-emulator.
"""

import os
import sys
import unittest

import harness

# From the coarsest: a case is as exact as the coarsest floating-point type of its tensors.
PRECISIONS = [("bf16", "<V2"), ("f16", "<f2"), ("f32", "<f4"), ("f64", "<f8")]


def caseTest(name, text, tensors, onDevice):
    def test(self):
        model = self.path("case.nn")
        with open(model, "w", encoding="utf-8") as file:
            file.write(text)
        command = [harness.program("nncc-run"), model] + (["--device=cuda"] if onDevice else [])
        weights = {key.split("/", 2)[2]: value for key, value in tensors.items() if key.startswith(f"{name}/weight/")}
        if weights:
            command += ["--weights", harness.writeSafetensors(self.path("weights.safetensors"), weights)]
        outputs, types = 0, set()
        for key, value in tensors.items():
            owner, role, tensor = key.split("/", 2)
            if owner != name:
                continue
            types.add(value.type)
            if role == "weight":
                continue
            file = value.writeNpy(self.path(f"{role}-{tensor}.npy"))
            command += ["--input" if role == "input" else "--expect", f"{tensor}=@{file}"]
            outputs += role == "output"
        self.assertGreater(outputs, 0)
        tolerance = harness.TOLERANCES[next((name for name, numpyType in PRECISIONS if numpyType in types), "f32")]
        result = harness.run(*command, "--rtol", tolerance["rtol"], "--atol", tolerance["atol"],
                             env=harness.deviceEnvironment() if onDevice else None)
        if onDevice and "for which there is no CUDA emitter" in result.stderr:
            self.skipTest(result.stderr.splitlines()[0].split("error: ")[-1])
        self.assertEqual(result.returncode, 0, f"\n{text}\n{result.stdout}{result.stderr}")
    return test


def load(family, wanted, onDevice):
    metadata, tensors = harness.readSafetensors(os.path.join(harness.DATA, "ops", family + ".safetensors"))
    unknown = set(wanted) - set(metadata)
    if unknown:
        sys.exit(f"no case {', '.join(sorted(unknown))} in {family}; there are: {', '.join(metadata)}")
    members = {"test_" + name: caseTest(name, text, tensors, onDevice) for name, text in metadata.items()
               if not wanted or name in wanted}
    return type(family, (harness.TestCase,), members)


if __name__ == "__main__":
    arguments = [argument for argument in sys.argv[1:] if argument != "--cuda"]
    onDevice = len(arguments) + 1 < len(sys.argv)
    if onDevice:
        harness.requireNvrtc()
    cases = unittest.defaultTestLoader.loadTestsFromTestCase(load(arguments[0], arguments[1:], onDevice))
    sys.exit(not unittest.TextTestRunner().run(cases).wasSuccessful())
