"""What the tests of the CUDA device share: nncc-run on the stand-in device of tools/cuda-emulator, digits and their answers."""

import os

import harness

LENET = os.path.join(harness.EXAMPLES, "lenet.nn")
WEIGHTS = os.path.join(harness.EXAMPLES, "lenet.safetensors")
REFERENCE = os.path.join(harness.DATA, "reference", "lenet_mnist", "logits_digits1k.npy")
AGREEMENT = ["--rtol", "1e-4", "--atol", "1e-4"]


class DeviceTest(harness.TestCase):
    def setUp(self):
        super().setUp()
        images, _ = harness.readDigits(os.path.join(harness.DATA, "mnist"), "digits1k")
        logits = harness.readNpy(REFERENCE)
        self.digits = ["--input", "image=@" + images.rows(0, 5).writeNpy(self.path("image.npy")),
                       "--expect", "logits=@" + logits.rows(0, 5).writeNpy(self.path("logits.npy")), *AGREEMENT]

    def nnccRun(self, *arguments, **environment):
        return harness.run(harness.program("nncc-run"), *arguments, env=harness.deviceEnvironment(**environment))

    def runs(self, *arguments, **environment):
        result = self.nnccRun(*arguments, **environment)
        self.assertEqual(result.returncode, 0, f"{arguments}\n{result.stdout}{result.stderr}")
        return result.stdout

    def fails(self, status, *arguments, **environment):
        """The one message of a failure."""
        result = self.nnccRun(*arguments, **environment)
        self.assertEqual(result.returncode, status, result.stdout + result.stderr)
        self.assertEqual(result.stderr.count("error:"), 1, result.stderr)
        return result.stderr
