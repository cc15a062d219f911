"""--tune, --tuning, --require-tuning and nncc --tuning as their users call them: networks whose kernels the stand-ins for cuBLASLt and
cuDNN do, inferring and training, on the stand-in CUDA device."""

import json
import os
import unittest

import harness
from cuda_testing import LENET, WEIGHTS, DeviceTest

# A convolution, a pointwise one, with a residual, a matrix product with gelu: every kernel has a library.
MODEL = """nn 1
dim N = 1..8
model Block(x: f32[N, 8, 6, 6]) {
  y = relu(conv2d(x, 16, kernel = 3, stride = 2, padding = 1) as first)
  z = relu(y + conv2d(y, 16, kernel = 1) as second)
  return out = gelu(linear(flatten(z), 12) as third, approximate = "tanh")
}
"""

TRAINED = """nn 1
dim N = 1..64
model Trained(image: f32[N, 1, 28, 28]) {
  x = relu(conv2d(image, 4, kernel = 3, stride = 2) as first)
  x = relu(conv2d(x, 8, kernel = 3, stride = 2) as second)
  x = relu(conv2d(x, 8, kernel = 3, padding = 1) as third)
  return logits = linear(flatten(x), 10) as last
}
train {
  target label: i64[N]
  loss = cross_entropy(logits, label)
  optimizer = sgd(lr = 0.05, momentum = 0.9)
  batch = 16
  epochs = 1
}
"""


class TuningTest(DeviceTest):
    def setUp(self):
        super().setUp()
        os.environ.update(harness.fakeLibraries())
        self.addCleanup(lambda: [os.environ.pop(name) for name in harness.fakeLibraries()])
        self.file = self.path("tuning.json")

    def read(self):
        with open(self.file, encoding="utf-8") as file:
            return json.load(file)["devices"][0]

    def write(self, device):
        with open(self.file, "w", encoding="utf-8") as file:
            json.dump({"format": "nncc tuning", "version": 1, "devices": [device]}, file)

    def force(self):
        """Every kernel by a library."""
        device = self.read()
        for kernel in device["kernels"]:
            for library, algorithm in (("cublasLt", "fa4e 1 0 0 0 0 0 0"), ("cudnn", "1")):
                if library in kernel["microseconds"]:
                    kernel.update(use=library, algorithm=algorithm)
        self.write(device)
        return device


class Lenet(TuningTest):
    def testTunedAndUsed(self):
        model = self.compile(LENET, WEIGHTS, "--target=cpu,cuda")
        self.assertIn("has the choices", self.runs(model, "--device=cuda", *self.digits, "--tune", self.file))
        kernels = {kernel["kernel"]: kernel for kernel in self.read()["kernels"]}
        # The convolutions pool, which no library does in the same call.
        self.assertEqual(sorted(kernels), ["matmul_bias", "matmul_bias_relu"])
        self.force()
        use = [model, "--device=cuda", *self.digits, "--tuning", self.file, "--require-tuning"]
        self.runs(*use)
        # Measured like any other kernel.
        self.runs(*use, "--profile", "--benchmark", "--min-iters", "3", "--duration", "0s", "--warmup", "0s")
        self.assertIn("matmul_bias_relu': cuBLASLt: a matrix product failed",
                      self.fails(4, *use, NNCC_FAKE_FAIL="cublasLtMatmul:*:13"))
        self.assertIn("does not know", self.fails(1, model, "--device=cuda", "--batch", "3", "--benchmark", "--tuning", self.file,
                                                  "--require-tuning"))

    def testEmbedded(self):
        model = self.compile(LENET, WEIGHTS, "--target=cuda", "--tiles=4")
        self.runs(model, "--device=cuda", *self.digits, "--tune", self.file)
        self.force()
        model = self.compile(LENET, WEIGHTS, "--target=cuda", "--tuning", self.file)
        os.remove(self.file)
        self.runs(model, "--device=cuda", *self.digits, "--require-tuning")
        self.assertIn("cublasLtMatmul returned", self.fails(4, model, "--device=cuda", *self.digits, NNCC_FAKE_FAIL="cublasLtMatmul:*:13"))
        result = harness.run(harness.program("nncc"), LENET, "--target=cuda", "--tuning", self.file, "-o", self.path("none.so"))
        self.assertEqual(result.returncode, 1)
        self.assertIn("there is no tuning file", result.stderr)

    def testEveryTile(self):
        """The tiles that a model brings along are all measured, and each gives the same result; the convolutions pool, and the first
        linear layer is split along its depth."""
        model = self.compile(LENET, WEIGHTS, "--target=cuda", "--tiles=40")
        self.runs(model, "--device=cuda", *self.digits, "--tune", self.file)
        device = self.read()
        tiles = {kernel["identity"]: [name.removeprefix("nncc, ") for name in kernel["microseconds"] if name.startswith("nncc, ")]
                 for kernel in device["kernels"]}
        self.assertEqual(len(tiles), 4)
        self.assertTrue(all(len(names) >= 6 for names in tiles.values()), tiles)
        isSplit = {" parts" in name for kernel in device["kernels"] if kernel["kernel"] == "matmul_bias_relu"
                   for name in tiles[kernel["identity"]]}
        self.assertEqual(isSplit, {True, False})
        self.assertFalse([note for kernel in device["kernels"] for note in kernel.get("notes", []) if "differs" in note])
        for number in range(max(map(len, tiles.values()))):
            for kernel in device["kernels"]:
                names = tiles[kernel["identity"]]
                kernel.update(use="nncc", algorithm=names[min(number, len(names) - 1)])
            self.write(device)
            self.runs(model, "--device=cuda", *self.digits, "--tuning", self.file, "--require-tuning")
        self.runs(LENET, "--weights", WEIGHTS, "--device=cuda", *self.digits, "--tune", self.file)
        self.assertTrue(all(sum(name.startswith("nncc, ") for name in kernel["microseconds"]) == 3 for kernel in self.read()["kernels"]))

    def testTileThatIsMissing(self):
        model = self.compile(LENET, WEIGHTS, "--target=cuda", "--tiles=2")
        self.runs(model, "--device=cuda", *self.digits, "--tune", self.file)
        device = self.read()
        device["kernels"][0].update(use="nncc", algorithm="3 x 5 x 7, thread 1 x 1")
        self.write(device)
        use = ["--device=cuda", *self.digits, "--tuning", self.file]
        expected = "asks for the tile 3 x 5 x 7, thread 1 x 1 for "
        self.assertIn(expected, self.fails(1, model, *use, "--require-tuning"))
        result = self.nnccRun(model, *use)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertRegex(result.stderr, "warning: .*compile it with nncc --tiles")
        for bad in (["--target=cpu", "--tiles=2"], ["--target=cuda", "--tiles=0"], ["--emit=cuda", "--tiles=2"]):
            result = harness.run(harness.program("nncc"), LENET, *bad, "-o", self.path("none.so"))
            self.assertEqual(result.returncode, 2, result.stderr)
            self.assertIn("--tiles says", result.stderr)

    def testOnlyForCuda(self):
        model = self.compile(LENET, WEIGHTS, "--target=cpu,cuda")
        self.assertIn("use --device=cuda", self.fails(1, model, "--device=cpu", *self.digits, "--tune", self.file))
        self.assertIn("a tuning file is for CUDA devices", self.fails(1, model, "--device=cpu", *self.digits, "--require-tuning"))


class Block(TuningTest):
    def setUp(self):
        super().setUp()
        with open(self.path("block.nn"), "w", encoding="utf-8") as file:
            file.write(MODEL)
        self.model = self.compile(self.path("block.nn"), None, "--target=cpu,cuda")
        self.input = ["--input", "x=random:3", "--batch", "3"]
        self.runs(self.model, "--device=cpu", *self.input, "--output", "out=@" + self.path("out.npy"))
        self.input += ["--expect", "out=@" + self.path("out.npy"), "--rtol", "1e-5", "--atol", "1e-5"]

    def testEveryKernelByALibrary(self):
        self.runs(self.model, "--device=cuda", *self.input, "--tune", self.file)
        device = self.force()
        self.assertEqual(device["libraries"], {"cublasLt": "13.1.2", "cudnn": "9.12.3"})
        self.assertEqual([kernel["use"] for kernel in device["kernels"]], ["cudnn", "cudnn", "cublasLt"])
        use = [self.model, "--device=cuda", *self.input, "--tuning", self.file, "--require-tuning"]
        self.runs(*use, CUDA_EMULATOR_MODE="plain")
        device["kernels"][1].update(use="cublasLt", algorithm="fa4e 0 0 0 0 0 0 0")
        self.write(device)
        self.runs(*use)
        # The calls of the library are those that make the result.
        self.assertIn("cudnnConvolutionBiasActivationForward returned CUDNN_STATUS_EXECUTION_FAILED",
                      self.fails(4, *use, NNCC_FAKE_FAIL="cudnnConvolutionBiasActivationForward:*:5000"))
        self.assertEqual(self.nnccRun(*use, NNCC_FAKE_WRONG="1").returncode, 3)

    def testEveryCallOfCudnnThatFails(self):
        self.runs(self.model, "--device=cuda", *self.input, "--tune", self.file)
        self.force()
        use = [self.model, "--device=cuda", *self.input, "--tuning", self.file, "--require-tuning"]
        for call in ("cudnnCreate", "cudnnSetStream", "cudnnCreateTensorDescriptor", "cudnnSetTensor4dDescriptorEx",
                     "cudnnCreateFilterDescriptor", "cudnnSetFilter4dDescriptor", "cudnnCreateConvolutionDescriptor",
                     "cudnnSetConvolution2dDescriptor", "cudnnSetConvolutionGroupCount", "cudnnSetConvolutionMathType",
                     "cudnnCreateActivationDescriptor", "cudnnSetActivationDescriptor"):
            with self.subTest(call):
                self.assertIn(f"{call} returned CUDNN_STATUS_BAD_PARAM", self.fails(4, *use, NNCC_FAKE_FAIL=f"{call}:*:2000"))
        self.assertIn("cuDNN cannot compute this convolution with the algorithm 1",
                      self.fails(1, *use, NNCC_FAKE_FAIL="cudnnGetConvolutionForwardWorkspaceSize:*:2000"))

    def testWithoutTheLibraries(self):
        self.runs(self.model, "--device=cuda", *self.input, "--tune", self.file, NNCC_CUDNN="/no/such", NNCC_CUBLASLT="/no/such")
        device = self.read()
        self.assertEqual([kernel["use"] for kernel in device["kernels"]], ["nncc"] * 3)
        self.assertIn("cudnn: cuDNN, NVIDIA's library of convolutions, cannot be loaded", device["kernels"][0]["notes"][0])
        self.runs(self.model, "--device=cuda", *self.input, "--tuning", self.file, "--require-tuning", NNCC_CUDNN="/no/such",
                  NNCC_CUBLASLT="/no/such")


class Training(TuningTest):
    def setUp(self):
        super().setUp()
        with open(self.path("trained.nn"), "w", encoding="utf-8") as file:
            file.write(TRAINED)
        self.model = self.path("trained.nn")

    def train(self, *arguments, status=0, device="cuda", **environment):
        environment = harness.deviceEnvironment(CUDA_EMULATOR_MODE="plain", **environment)
        digits = os.path.join(harness.DATA, "mnist") + "?range=:64"
        result = harness.run(harness.program("nncc-train"), self.model, "--data", digits, "--device=" + device, *arguments, env=environment)
        self.assertEqual(result.returncode, status, result.stdout + result.stderr)
        return result.stdout + result.stderr

    def losses(self, *arguments, **environment):
        self.train("--csv", self.path("losses.csv"), "--log-every=1", *arguments, **environment)
        with open(self.path("losses.csv"), encoding="utf-8") as file:
            return [float(line.split(",")[1]) for line in file.read().splitlines()[1:]]

    def testTunedAndUsed(self):
        said = self.train("--tune", self.file, "--export", self.path("none.safetensors"), "--checkpoint", self.path("none"))
        self.assertIn(f"tuned; {self.file} has the choices for batches of 16 (--tuning={self.file})", said)
        self.assertFalse([name for name in os.listdir(os.path.dirname(self.file)) if name.startswith("none")], "nothing was trained")
        device = self.read()
        measured = {kernel["kernel"]: set(kernel["microseconds"]) for kernel in device["kernels"]}
        self.assertIn("cudnn", measured["conv_weight_gradient"])
        self.assertIn("cudnn", measured["conv2d_derivative"])
        self.assertIn("cudnn", measured["conv2d_bias_relu"])
        self.assertIn("cublasLt", measured["matmul"])
        # Text is compiled with tiles to choose from.
        self.assertTrue(any(name.startswith("nncc, ") for names in measured.values() for name in names), measured)
        for kernel in device["kernels"]:
            for library, algorithm in (("cublasLt", "fa4e 1 0 0 0 0 0 0"),
                                       ("cudnn", {"conv_weight_gradient": "weight 1", "conv2d_derivative": "data 1"}.get(kernel["kernel"], "1"))):
                if library in kernel["microseconds"]:
                    kernel.update(use=library, algorithm=algorithm)
        self.write(device)
        use = ["--tuning", self.file, "--require-tuning"]
        expected, found = self.losses(), self.losses(*use)
        self.assertEqual(len(expected), 4)
        for ours, theirs in zip(expected, found):
            self.assertAlmostEqual(ours, theirs, delta=1e-4 * ours)
        for call in ("cudnnConvolutionBackwardData", "cudnnConvolutionBackwardFilter"):
            self.assertIn(f"{call} returned CUDNN_STATUS_EXECUTION_FAILED", self.train(*use, status=4, NNCC_FAKE_FAIL=f"{call}:*:5000"))
        # The last batch of an epoch may be smaller.
        self.assertRegex(self.train(*use, "--batch=24", status=1), "does not know .* at N = 24. Tune for it")

    def testAFileForBoth(self):
        """One from inference does not serve training, until it holds that too."""
        infer = [self.model, "--device=cuda", "--batch", "16", "--input", "image=random"]
        use = ["--tuning", self.file, "--require-tuning"]
        self.runs(*infer, "--tune", self.file)
        self.assertIn("does not know", self.train(*use, status=1))
        self.train("--tune", self.file)
        self.train(*use, "--max-steps=1")
        self.runs(*infer, *use)

    def testOnlyForCuda(self):
        self.assertIn("use --device=cuda", self.train("--tune", self.file, status=1, device="cpu"))


if __name__ == "__main__":
    harness.requireNvrtc()
    unittest.main()
