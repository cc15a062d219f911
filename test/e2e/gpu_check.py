"""tools/gpu-check: the folder that it packs runs without LLVM, here on the stand-in CUDA device."""

import json
import os
import sys
import unittest

import harness

PROGRAM = os.path.join(harness.ROOT, "tools", "gpu-check")
MODELS = "cnn_infer,conv2d_depthwise,matmul_batched,linear_1024_f32"


class GpuCheck(harness.TestCase):
    def pack(self, models):
        folder = self.path("check")
        # The stand-in device executes PTX alone, so machine code would be of no use here.
        self.succeeds(sys.executable, "-B", PROGRAM, "--pack", folder, "--build", harness.BUILD, "--arch=", "--models", models)
        return folder

    def check(self, folder, *arguments, **settings):
        environment = harness.deviceEnvironment()
        environment["LD_LIBRARY_PATH"] = os.path.dirname(environment["NNCC_CUDA_DRIVER"])
        # NVIDIA's own, where this machine has them, need a GPU.
        environment.update(NNCC_CUBLASLT="/no/such/library", NNCC_CUDNN="/no/such/library")
        environment.update(settings)
        return harness.run(sys.executable, "-B", os.path.join(folder, "gpu-check"), *arguments, env=environment)

    def testChecksAndTimes(self):
        folder = self.pack(MODELS + ",lenet_train_f32")
        packed = sorted(os.listdir(os.path.join(folder, "models")))
        self.assertEqual(packed, sorted(name + ".so.gz" for name in MODELS.split(",") + ["lenet_train_f32"]))
        result = self.check(folder, "--duration", "1", CUDA_EMULATOR_MODE="plain")
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertRegex(result.stdout, r"\n6 of 6 checks correct\n$")
        self.assertIn("correct  lenet_train_f32\n", result.stdout)
        listing = self.succeeds("ldd", *(os.path.join(folder, path) for path in ("bin/nncc-run", "bin/nncc-train", "models/cnn_infer.so"))).stdout
        self.assertNotRegex(listing, "LLVM|MLIR")
        with open(os.path.join(folder, "result.json"), encoding="utf-8") as file:
            report = json.load(file)
        self.assertEqual([timing["name"] for timing in report["timings"]], MODELS.split(","))
        for timing in report["timings"]:
            for kernel in timing["kernels"]:
                self.assertGreater(kernel["mean_ns"], 0)
        # Two FLOPs for each multiply-add, and 1024 x 1024 floats of x, the weight and y each with 1024 of the bias, whichever takes longer.
        linear, device = report["timings"][-1]["kernels"][0], report["device"]
        roofline = max(2 * 1024**3 / device["peak_f32_gflops"], 4 * (3 * 1024**2 + 1024) / device["peak_gbytes_per_s"])
        self.assertAlmostEqual(linear["roofline_ns"], roofline, delta=1e-6 * roofline)

    def testComparesWithLibraries(self):
        folder = self.pack("cnn_infer,conv2d_depthwise,matmul_batched,max_pool2d")
        result = self.check(folder, "--duration", "1", **harness.fakeLibraries())
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertRegex(result.stdout, r"library / nncc  .*\n"
                                        r"cnn_infer .*%  \d+\.\d\d cublasLt .*\nconv2d_depthwise .*%  \d+\.\d\d cudnn .*\n"
                                        r"matmul_batched .*%  \d+\.\d\d cublasLt .*\nmax_pool2d .*%  -  ")
        self.assertRegex(result.stdout, r"tuning\.json: of \d+ kernels that can be done in several ways, \d+ are faster in another tile and \d+ by a library "
                                        r"\(cublasLt 13\.1\.2, cudnn 9\.12\.3\)\n")
        # A tuning file like any other: required, and all of its kernels are known.
        path = os.path.join(folder, "tuning.json")
        run = [harness.program("nncc-run"), os.path.join(folder, "models", "cnn_infer.so"), "--device=cuda", "--batch", "32", "--benchmark",
               "--min-iters=1", "--duration=0s", "--warmup=0s", "--tuning", path, "--require-tuning"]
        self.succeeds(*run, env=harness.deviceEnvironment(**harness.fakeLibraries()))
        with open(path, encoding="utf-8") as file:
            tuning = json.load(file)
        self.assertEqual(tuning["devices"][0]["libraries"], {"cublasLt": "13.1.2", "cudnn": "9.12.3"})

    def testAWrongResultIsNoticed(self):
        folder = self.pack("matmul_batched")
        with open(os.path.join(folder, "manifest.json"), encoding="utf-8") as file:
            model = json.load(file)["models"][0]
        path = os.path.join(folder, next(iter(model["expected"].values())))
        tensor = harness.readNpy(path)
        harness.Tensor(tensor.type, tensor.shape, b"\0\0\x80\x7f" + tensor.data[4:]).writeNpy(path)
        result = self.check(folder, "--only-correctness")
        self.assertEqual(result.returncode, 3, result.stdout + result.stderr)
        self.assertRegex(result.stdout, r"WRONG: matmul_batched\n")

    def testAWrongTrainingIsNoticed(self):
        folder = self.pack("lenet_train_f32")
        path = os.path.join(folder, "manifest.json")
        with open(path, encoding="utf-8") as file:
            manifest = json.load(file)
        # PyTorch's losses of that training, the fifth of which is now another.
        manifest["trainings"][0]["losses"] = manifest["trainings"][0]["losses"][:6]
        manifest["trainings"][0]["losses"][4] *= 1.01
        with open(path, "w", encoding="utf-8") as file:
            json.dump(manifest, file)
        result = self.check(folder, "--only-correctness", CUDA_EMULATOR_MODE="plain")
        self.assertEqual(result.returncode, 3, result.stdout + result.stderr)
        self.assertRegex(result.stdout, r"WRONG    lenet_train_f32\nstep 5: expected a loss of [\d.]+, found [\d.]+\n")
        self.assertRegex(result.stdout, r"WRONG: lenet_train_f32\n$")

    def testTunesATraining(self):
        folder = self.pack("lenet_train_f32")
        result = self.check(folder, CUDA_EMULATOR_MODE="plain", **harness.fakeLibraries())
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertRegex(result.stdout, r"\nlenet_train_f32 +20 +\d+\.\d\d cublasLt\+cudnn +in a step of training\n")
        with open(os.path.join(folder, "tuning.json"), encoding="utf-8") as file:
            kernels = json.load(file)["devices"][0]["kernels"]
        self.assertTrue(any(kernel["kernel"] == "conv_weight_gradient" and "cudnn" in kernel["microseconds"] for kernel in kernels))

    def testWithoutADevice(self):
        result = self.check(self.pack("matmul_batched"), "--device=cuda:7")
        self.assertEqual(result.returncode, 4, result.stdout + result.stderr)
        self.assertIn("there is no cuda:7", result.stdout)


if __name__ == "__main__":
    harness.requireNvrtc()
    unittest.main()
