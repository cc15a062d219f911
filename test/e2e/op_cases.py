"""Runs the models of one family of test/data/ops through nncc-run and compares with what PyTorch computed.

Called as `op_cases.py [--cuda [--FLAG=VALUE...]] FAMILY [CASE...]`; test/reference says how the cases were made. With --cuda every
case runs on the stand-in CUDA device of tools/cuda-emulator, which examines every access to memory unless the case is too large for
that, compiled by nncc with the further flags; results of --fp32=MODE must agree as closely as test/tolerances.json says for that
mode. With --libraries as well, the stand-ins for cuBLASLt and cuDNN compute what they can: each case is tuned, then run with a
file that names a library for every kernel that has one.
"""

import json
import os
import sys
import unittest

import harness

# From the coarsest: a case is as exact as the coarsest floating-point type of its tensors.
PRECISIONS = [("bf16", "<V2"), ("f16", "<f2"), ("f32", "<f4"), ("f64", "<f8")]

# Bytes of a case's tensors, weights included, above which the device does not examine accesses: that is about fifty times slower.
CHECKED_BYTES = 256 * 1024
counts = {"checked": 0, "plain": 0, "nncc": 0, "cublasLt": 0, "cudnn": 0}


def algorithmOf(kernel, library):
    """Those of the stand-ins that need a workspace."""
    if library == "cublasLt":
        return "fa4e 1 0 0 0 0 0 0"
    return "weight 1" if "weight_gradient" in kernel["kernel"] else "1"


def withLibraries(tuning, choose, checked):
    """A tuning file in which every kernel is done by one of the libraries that can do it."""
    tuning = json.loads(json.dumps(tuning))
    device = tuning["devices"][0]
    device["name"] += " (checked)" if checked else ""
    for kernel in device["kernels"]:
        libraries = sorted(set(kernel["microseconds"]) & {"cublasLt", "cudnn"})
        if libraries:
            kernel["use"] = choose(libraries)
            kernel["algorithm"] = algorithmOf(kernel, kernel["use"])
    return tuning


def caseTest(name, text, tensors, flags, libraries):
    def test(self):
        isIr = text.startswith("module")
        model = self.path("case.mlir" if isIr else "case.nn")
        with open(model, "w", encoding="utf-8") as file:
            file.write(text)
        if flags or isIr:
            compiled = harness.run(harness.program("nncc"), model, "--target=" + harness.device, *flags, "-o", self.path("case.so"))
            self.assertEqual(compiled.returncode, 0, f"\n{text}\n{compiled.stderr}")
            model = self.path("case.so")
        command = [model]
        weights = {key.split("/", 2)[2]: value for key, value in tensors.items() if key.startswith(f"{name}/weight/")}
        if weights:
            command += ["--weights", harness.writeSafetensors(self.path("weights.safetensors"), weights)]
        outputs, types, sizeBytes = 0, set(), 0
        for key, value in tensors.items():
            owner, role, tensor = key.split("/", 2)
            if owner != name:
                continue
            types.add(value.type)
            sizeBytes += len(value.data)
            if role == "weight":
                continue
            file = value.writeNpy(self.path(f"{role}-{tensor}.npy"))
            command += ["--input" if role == "input" else "--expect", f"{tensor}=@{file}"]
            outputs += role == "output"
        self.assertGreater(outputs, 0)
        precision = next((name for name, numpyType in PRECISIONS if numpyType in types), "f32")
        if precision == "f32":
            precision = next((flag.split("=")[1] for flag in flags if flag.startswith("--fp32=")), precision)
        tolerance = harness.TOLERANCES[precision]
        isChecked = sizeBytes <= CHECKED_BYTES
        counts["checked" if isChecked else "plain"] += 1
        command += ["--rtol", tolerance["rtol"], "--atol", tolerance["atol"]]
        if libraries:
            path = self.path("tuning.json")
            tuned = harness.runModel(*command, "--tune", path)
            self.assertEqual(tuned.returncode, 0, f"\n{text}\n{tuned.stdout}{tuned.stderr}")
            with open(path, encoding="utf-8") as file:
                tuning = json.load(file)
            self.assertEqual([note for kernel in tuning["devices"][0]["kernels"] for note in kernel.get("notes", [])], [])
            # A kernel that both libraries can do is done by each.
            choices = [withLibraries(tuning, choose, isChecked) for choose in (min, max)]
            for choice in choices[:1] if choices[0] == choices[1] else choices:
                for kernel in choice["devices"][0]["kernels"]:
                    counts[kernel["use"]] += 1
                with open(path, "w", encoding="utf-8") as file:
                    json.dump(choice, file)
                result = harness.runModel(*command, "--tuning", path, "--require-tuning", checked=isChecked)
                self.assertEqual(result.returncode, 0, f"\n{text}\n{result.stdout}{result.stderr}")
        else:
            result = harness.runModel(*command, checked=isChecked)
            self.assertEqual(result.returncode, 0, f"\n{text}\n{result.stdout}{result.stderr}")
    return test


def load(family, wanted, flags, libraries):
    metadata, tensors = harness.readSafetensors(os.path.join(harness.DATA, "ops", family + ".safetensors"))
    unknown = set(wanted) - set(metadata)
    if unknown:
        sys.exit(f"no case {', '.join(sorted(unknown))} in {family}; there are: {', '.join(metadata)}")
    members = {f"test_{name}": caseTest(name, text, tensors, flags, libraries)
               for name, text in metadata.items() if not wanted or name in wanted}
    return type(family, (harness.TestCase,), members)


if __name__ == "__main__":
    harness.takeCudaFlag()
    arguments = [argument for argument in sys.argv[1:] if not argument.startswith("--")]
    flags = [argument for argument in sys.argv[1:] if argument.startswith("--")]
    libraries = "--libraries" in flags
    if libraries:
        flags.remove("--libraries")
        os.environ.update(harness.fakeLibraries())
    cases = unittest.defaultTestLoader.loadTestsFromTestCase(load(arguments[0], arguments[1:], flags, libraries))
    result = unittest.TextTestRunner().run(cases)
    if harness.device == "cuda":
        print(f"{counts['checked']} cases with every access checked, {counts['plain']} larger than {CHECKED_BYTES} bytes without",
              file=sys.stderr)
    if libraries:
        print(f"kernels by the stand-in for cuBLASLt: {counts['cublasLt']}, for cuDNN: {counts['cudnn']}", file=sys.stderr)
        if not counts["cublasLt"] + counts["cudnn"]:
            sys.exit("no kernel was done by a library")
    sys.exit(result.testsRun == 0 or not result.wasSuccessful())
