"""What a bad environment gets with --device=cuda: one message that names what, where and what to do, exit status 4, and a CPU that
still works. On the stand-in device of tools/cuda-emulator, which fails any call when told to."""

import os
import resource
import unittest

import harness
from cuda_testing import LENET, WEIGHTS, DeviceTest

MEASURE = ["--profile", "--min-iters", "3", "--duration", "0s", "--warmup", "0s"]


class Environment(DeviceTest):
    def setUp(self):
        super().setUp()
        self.model = self.compile(LENET, WEIGHTS, "--target=cpu,cuda")

    def failsOnCudaOnly(self, expected, **environment):
        message = self.fails(4, self.model, "--device=cuda", *self.digits, **environment)
        for text in expected:
            self.assertIn(text, message)
        self.runs(self.model, "--device=cpu", *self.digits, **environment)

    def testNoDriver(self):
        self.failsOnCudaOnly(["The CUDA driver cannot be loaded", "/no/such/libcuda.so", "--device=cpu", "NNCC_CUDA_DRIVER"],
                             NNCC_CUDA_DRIVER="/no/such/libcuda.so")

    def testAnOldDriver(self):
        self.failsOnCudaOnly(["is for CUDA 11.4", "needs one for CUDA 12.0 or newer", "Update NVIDIA's driver"],
                             CUDA_EMULATOR_DRIVER_VERSION="11040")

    def testADriverThatIsOlderThanNvrtc(self):
        self.failsOnCudaOnly(["is newer than the driver, which is for CUDA 12.4. Update NVIDIA's driver, or set NNCC_NVRTC"],
                             CUDA_EMULATOR_DRIVER_VERSION="12040")
        # Within a major version the driver itself says so.
        self.failsOnCudaOnly(["CUDA_ERROR_UNSUPPORTED_PTX_VERSION", "is newer than the driver"],
                             CUDA_EMULATOR_FAIL="cuModuleLoadDataEx:2:222")

    def testNoDevice(self):
        self.failsOnCudaOnly(["cuInit returned CUDA_ERROR_NO_DEVICE", "use the CPU (--device=cpu)"], CUDA_EMULATOR_DEVICES="0")

    def testNoNvrtc(self):
        self.failsOnCudaOnly(["NVRTC, the CUDA run-time compiler, cannot be loaded", "/no/such/libnvrtc.so", "tools/setup --nvrtc",
                              "NNCC_NVRTC", "nncc --arch=sm_80"], NNCC_NVRTC="/no/such/libnvrtc.so")

    def testWrongNvrtc(self):
        self.failsOnCudaOnly(["libm.so.6 has no function nvrtcVersion"], NNCC_NVRTC="libm.so.6")

    def testTooLittleDeviceMemory(self):
        self.failsOnCudaOnly(["cannot allocate", "bytes of device memory for", "CUDA_ERROR_OUT_OF_MEMORY", "bytes are free"],
                             CUDA_EMULATOR_MEMORY="500K")

    def testACacheThatCannotBeWritten(self):
        blocked = self.path("file")
        open(blocked, "w", encoding="utf-8").close()
        result = self.nnccRun(self.model, "--device=cuda", *self.digits, NNCC_CACHE_DIR=os.path.join(blocked, "cache"))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stderr, r"^warning: the kernel cache .*cache cannot be made: .*; the kernels are compiled again")
        self.assertEqual(result.stderr.count("\n"), 1, result.stderr)

    def testAFullDisk(self):
        """A limit on the size of files plays the full disk."""
        cache = self.path("cache")
        result = harness.run(harness.program("nncc-run"), self.model, "--device=cuda", *self.digits,
                             env=harness.deviceEnvironment(NNCC_CACHE_DIR=cache),
                             preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0)))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stderr, r"^warning: .*cache/.*: .*; the kernels are compiled again at the next start\n$")
        self.assertEqual(os.listdir(cache), [])

    def testACorruptCache(self):
        cache = self.path("cache")
        self.runs(self.model, "--device=cuda", *self.digits, NNCC_CACHE_DIR=cache)
        entries = [os.path.join(cache, name) for name in sorted(os.listdir(cache))]
        self.assertGreater(len(entries), 3)
        for number, entry in enumerate(entries):
            with open(entry, "rb") as file:
                contents = file.read()
            damaged = [b"", contents[:-1], contents[:100] + b"?" + contents[101:], b"x" * len(contents)][number % 4]
            with open(entry, "wb") as file:
                file.write(damaged)
        result = self.nnccRun(self.model, "--device=cuda", "-v", *self.digits, NNCC_CACHE_DIR=cache)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stderr, r", 0 of them from the cache\n")
        again = self.nnccRun(self.model, "--device=cuda", "-v", *self.digits, NNCC_CACHE_DIR=cache)
        self.assertNotRegex(again.stderr, r", 0 of them from the cache\n")

    def testEveryCallOfTheDriver(self):
        """The library's test (DriverFailureTest.cpp) is the thorough one; here it is the program's exit status."""
        for call in ("cuInit", "cuDriverGetVersion", "cuDeviceGetCount", "cuDeviceGet", "cuDeviceGetAttribute",
                     "cuDevicePrimaryCtxRetain", "cuCtxPushCurrent_v2", "cuModuleLoadDataEx", "cuModuleGetFunction",
                     "cuMemAlloc_v2", "cuMemHostAlloc", "cuStreamCreate", "cuLaunchKernel",
                     "cuStreamSynchronize", "cuMemcpyHtoDAsync_v2", "cuMemcpyDtoHAsync_v2", "cuStreamBeginCapture_v2",
                     "cuStreamEndCapture", "cuGraphInstantiateWithFlags", "cuGraphLaunch", "cuEventCreate", "cuEventRecord",
                     "cuEventElapsedTime"):
            with self.subTest(call=call):
                message = self.fails(4, self.model, "--device=cuda", *self.digits, *MEASURE,
                                     CUDA_EMULATOR_FAIL=f"{call}:1:999", CUDA_EMULATOR_OPTIMISATION="1")
                self.assertIn(f"{call.split('_v')[0].removesuffix('WithFlags')} returned CUDA_ERROR_UNKNOWN", message)

    def testAFault(self):
        message = self.fails(4, self.model, "--device=cuda", *self.digits, CUDA_EMULATOR_FAIL="cuStreamSynchronize:3:700")
        self.assertIn("CUDA_ERROR_ILLEGAL_ADDRESS", message)
        self.assertIn("accepts nothing more from this process; start a new one", message)


if __name__ == "__main__":
    harness.requireNvrtc()
    unittest.main()
