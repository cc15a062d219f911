"""CUDA as a device like any other: one model.so for the CPU and for CUDA, and what nncc-run says of devices. On the stand-in
device of tools/cuda-emulator."""

import json
import os
import re
import unittest

import harness
from cuda_testing import AGREEMENT, LENET, WEIGHTS, DeviceTest


class OneFile(DeviceTest):
    def testRunsOnEitherDevice(self):
        both = self.compile(LENET, WEIGHTS, "--target=cpu,cuda")
        for device in ("cpu", "cuda", "cuda:0"):
            self.runs(both, "--device=" + device, *self.digits)
        self.assertRegex(self.runs(both, "--info"), r"compiled for cpu \(.*\), cuda \(by NVRTC\)\n  runs on cpu \(")
        self.assertRegex(self.runs(both, "--info", "--device=cuda"), r"runs on cuda \(")
        # Without a choice the CPU, which needs no driver.
        self.runs(both, *self.digits, NNCC_CUDA_DRIVER="/no/such/driver.so")

    def testHoldsTheWeightsOnce(self):
        one = os.path.getsize(self.compile(LENET, WEIGHTS, "--target=cuda"))
        both = os.path.getsize(self.compile(LENET, WEIGHTS, "--target=cpu,cuda"))
        self.assertLess(both - one, os.path.getsize(WEIGHTS) // 2)

    def testForCudaAlone(self):
        cuda = self.compile(LENET, WEIGHTS, "--target=cuda")
        self.runs(cuda, *self.digits)
        # To describe a model takes no device.
        self.assertRegex(self.runs(cuda, "--info", NNCC_CUDA_DRIVER="/no/such/driver.so"), r"compiled for cuda \(by NVRTC\)")
        message = self.fails(1, cuda, "--device=cpu", *self.digits)
        self.assertRegex(message, r'not compiled for the device "cpu", only for cuda \(by NVRTC\); compile it again with nncc '
                                  r'--target=cpu,cuda')

    def testForTheCpuAlone(self):
        message = self.fails(1, self.compile(LENET, WEIGHTS), "--device=cuda", *self.digits)
        self.assertRegex(message, r'not compiled for the device "cuda", only for cpu \(.*\); compile it again with nncc '
                                  r'--target=cpu,cuda, or choose the device "cpu"')

    def testTextIsCompiledForTheDevice(self):
        self.runs(LENET, "--weights", WEIGHTS, "--device=cuda", *self.digits)

    def testWeightsFromAFileBeside(self):
        external = self.compile(LENET, WEIGHTS, "--target=cpu,cuda", "--weights-mode=external")
        self.runs(external, "--device=cuda", *self.digits)
        self.runs(external, "--device=cuda", "--weights", WEIGHTS, *self.digits)

    def testLinksNothingOfCuda(self):
        listing = self.succeeds("ldd", self.compile(LENET, WEIGHTS, "--target=cpu,cuda")).stdout
        libraries = {re.sub(r"\.so.*", "", os.path.basename(line.split()[0])) for line in listing.splitlines()}
        self.assertIn("libc", libraries)
        self.assertFalse({name for name in libraries if re.search("cuda|nvrtc|nvidia", name)}, listing)

    def testMachineCodeAheadOfTime(self):
        """The stand-in device executes PTX only: that the images are there shows in --info, and it compiles the text."""
        ahead = self.compile(LENET, WEIGHTS, "--target=cuda", "--arch=sm_80,sm_90")
        self.assertRegex(self.runs(ahead, "--info"), r"compiled for cuda \(sm_80, sm_90, others by NVRTC\)")
        self.runs(ahead, *self.digits)
        self.runs(ahead, *self.digits, CUDA_EMULATOR_CAPABILITY="7.5")

    def testMachineCodeThatDoesNotFitAndNoNvrtc(self):
        ahead = self.compile(LENET, WEIGHTS, "--target=cuda", "--arch=sm_80")
        message = self.fails(4, ahead, *self.digits, NNCC_NVRTC="/no/such/libnvrtc.so")
        self.assertRegex(message, "the model's machine code is for sm_80, which this device does not take. NVRTC, the CUDA run-time "
                                  "compiler, cannot be loaded")

    def testUnknownArchitecture(self):
        result = harness.run(harness.program("nncc"), LENET, "--target=cuda", "--arch=sm_1", "-o", self.path("x.so"))
        self.assertEqual(result.returncode, 4, result.stderr)
        self.assertRegex(result.stderr, r"'sm_1' is no architecture that NVRTC .* compiles for; it knows sm_.*sm_90")
        self.assertFalse(os.path.exists(self.path("x.so")))


class Measurements(DeviceTest):
    def testTimesKernelsByTheDevicesClock(self):
        cuda = self.compile(LENET, WEIGHTS, "--target=cuda")
        short = ["--min-iters", "3", "--duration", "0s", "--warmup", "0s"]
        trace, results = self.path("trace.json"), self.path("results.json")
        printed = self.runs(cuda, *self.digits, "--benchmark", "--profile", "--trace", trace, "--json", results, *short)
        self.assertRegex(printed, r"runs +3 on cuda \(sm_80\)\n")
        self.assertRegex(printed, r"kernels +[0-9.]+ .s of a run, [0-9.]+ GFLOP/s; the rest copies tensors and waits\n")
        self.assertRegex(printed, r"conv2d_bias_relu_max_pool2d +lenet\.nn:")
        self.assertRegex(printed, r"Per run, mean of 3 runs on cuda \(sm_80\)\.\n")
        with open(results, encoding="utf-8") as file:
            measured = json.load(file)
        steps = measured["profile"]["steps"]
        self.assertEqual([step["calls"] for step in steps], [3] * len(steps))
        self.assertGreater(sum(step["mean_ns"] for step in steps), 0)
        self.assertGreater(measured["benchmark"]["kernel_ns"], 0)
        with open(trace, encoding="utf-8") as file:
            events = [event for event in json.load(file)["traceEvents"] if event["ph"] == "X"]
        self.assertEqual(len(events), 3 * len(steps))


class Devices(DeviceTest):
    def testList(self):
        listing = self.runs("--list-devices", CUDA_EMULATOR_DEVICES="2", CUDA_EMULATOR_MEMORY="2G", **harness.fakeLibraries())
        self.assertRegex(listing, r"\ncpu +.*\ncuda:0 +CUDA emulator 8.0 +sm_80 +108 +2048\ncuda:1 ")
        self.assertRegex(listing, r"CUDA driver: 13\.0 \(.*libcuda\.so\.1\)\nNVRTC: \d+\.\d+ \(libnvrtc")
        self.assertRegex(listing, r"\ncuBLASLt: 13\.1\.2 \(.*libcublasLt\.so\.13\)\ncuDNN: 9\.12\.3 \(.*libcudnn\.so\.9\)\n$")

    def testListWithoutADriver(self):
        listing = self.runs("--list-devices", NNCC_CUDA_DRIVER="/no/such/driver.so", NNCC_NVRTC="/no/such/nvrtc.so",
                            NNCC_CUBLASLT="/no/such/cublasLt.so", NNCC_CUDNN="/no/such/cudnn.so")
        self.assertRegex(listing, r"no CUDA device: The CUDA driver cannot be loaded[^$]*/no/such/driver.so")
        self.assertRegex(listing, r"no NVRTC: NVRTC, the CUDA run-time compiler, cannot be loaded[^$]*/no/such/nvrtc.so")
        self.assertRegex(listing, r"no cuDNN, which is needed by tuning files alone: [^$]*/no/such/cudnn.so")
        self.assertNotIn("cuda:0", listing)

    def checkProduct(self, operands, *arguments):
        """`y = a @ b` on the device against the CPU."""
        with open(self.path("product.nn"), "w", encoding="utf-8") as file:
            file.write(f"nn 1\nmodel Product({operands}) {{\n  return y = a @ b\n}}\n")
        model = self.compile(self.path("product.nn"), None, "--target=cpu,cuda")
        inputs = ["--input", "a=random:1", "--input", "b=random:2", *arguments]
        self.runs(model, "--device=cpu", *inputs, "--output", "y=@" + self.path("y.npy"))
        self.runs(model, "--device=cuda", *inputs, "--expect", "y=@" + self.path("y.npy"), *AGREEMENT)

    def testMoreMatricesThanTheThirdAxisOfAGridTakes(self):
        self.checkProduct("a: f32[N, 1, 3], b: f32[N, 3, 2]", "--dim", "N=65537")

    def testMoreTilesAcrossThanTheSecondAxisOfAGridTakes(self):
        self.checkProduct("a: f32[2, 3], b: f32[3, N]", "--dim", "N=1100000")  # tiles of 16 columns

    def testPartsOfADepthInAFlatGrid(self):
        self.checkProduct("a: f32[N, 2, 5000], b: f32[N, 5000, 8]", "--dim", "N=3")

    def testTheSecondDevice(self):
        both = self.compile(LENET, WEIGHTS, "--target=cuda")
        self.runs(both, "--device=cuda:1", *self.digits, CUDA_EMULATOR_DEVICES="2")
        message = self.fails(4, both, "--device=cuda:2", *self.digits, CUDA_EMULATOR_DEVICES="2")
        self.assertIn("there is no CUDA device 2; this machine has 2", message)


if __name__ == "__main__":
    harness.requireNvrtc()
    unittest.main()
