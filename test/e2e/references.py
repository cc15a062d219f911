"""Models with weights, inputs and outputs that PyTorch computed (test/data/reference): compiled once, run at several batches.
With --cuda on the stand-in CUDA device, which examines every access to memory at the small batches."""

import os
import unittest

import harness

REFERENCE = os.path.join(harness.DATA, "reference")
# Absolute and relative, as the project promises for these models.
AGREEMENT = ["--rtol", "1e-4", "--atol", "1e-4"]


class References(harness.TestCase):
    def check(self, sharedObject, inputName, inputTensor, outputName, outputTensor):
        self.runsModel(sharedObject, "--input", f"{inputName}=@{inputTensor.writeNpy(self.path('input.npy'))}",
                       "--expect", f"{outputName}=@{outputTensor.writeNpy(self.path('output.npy'))}", *AGREEMENT,
                       checked=inputTensor.shape[0] <= 10)

    def compileReference(self, name):
        return self.compile(os.path.join(harness.EXAMPLES, name + ".nn"),
                            os.path.join(REFERENCE, name, "weights.safetensors"))

    def testLenetAtAnyBatch(self):
        sharedObject = self.compile(os.path.join(harness.EXAMPLES, "lenet.nn"),
                                    os.path.join(harness.EXAMPLES, "lenet.safetensors"))
        images, _ = harness.readDigits(os.path.join(harness.DATA, "mnist"), "digits1k")
        logits = harness.readNpy(os.path.join(REFERENCE, "lenet_mnist", "logits_digits1k.npy"))
        for begin, end in ((0, 1), (1, 8), (8, 264), (0, 1000)):
            with self.subTest(batch=end - begin):
                self.check(sharedObject, "image", images.rows(begin, end), "logits", logits.rows(begin, end))

    def testCnnInfer(self):
        sharedObject = self.compileReference("cnn_infer")
        images = harness.readNpy(os.path.join(REFERENCE, "cnn_infer", "input.npy"))
        logits = harness.readNpy(os.path.join(REFERENCE, "cnn_infer", "output.npy"))
        for begin, end in ((0, 3), (2, 3)):
            self.check(sharedObject, "image", images.rows(begin, end), "logits", logits.rows(begin, end))

    def testSimpleRnn(self):
        sharedObject = self.compileReference("simple_rnn")
        x = harness.readNpy(os.path.join(REFERENCE, "simple_rnn", "input.npy"))
        y = harness.readNpy(os.path.join(REFERENCE, "simple_rnn", "output.npy"))
        for begin, end in ((0, 10), (3, 4)):
            self.check(sharedObject, "x", x.rows(begin, end), "y", y.rows(begin, end))

    def testAWrongResultIsNoticed(self):
        """--expect must be able to fail: status 3, naming the output."""
        sharedObject = self.compileReference("simple_rnn")
        x = harness.readNpy(os.path.join(REFERENCE, "simple_rnn", "input.npy"))
        y = harness.readNpy(os.path.join(REFERENCE, "simple_rnn", "output.npy"))
        y.data = y.data[:4 * 17] + b"\x00\x00\x80\x3f" + y.data[4 * 18:]
        result = harness.runModel(sharedObject, "--input", f"x=@{x.writeNpy(self.path('x.npy'))}",
                                  "--expect", f"y=@{y.writeNpy(self.path('y.npy'))}")
        self.assertEqual(result.returncode, 3, result.stdout + result.stderr)
        self.assertRegex(result.stdout + result.stderr, r"\by\b")


class FirstLosses(harness.TestCase):
    """With the initial weights, the loss on the first batch is the first loss of PyTorch's training."""

    def check(self, model, inputName, images, labels, classes, reference):
        logitsPath = self.path("logits.npy")
        sharedObject = self.compile(os.path.join(harness.EXAMPLES, model + ".nn"),
                                    os.path.join(REFERENCE, reference, "init.safetensors"))
        self.runsModel(sharedObject, "--input", f"{inputName}=@{images.writeNpy(self.path('images.npy'))}",
                       "--output", f"logits=@{logitsPath}")
        loss = harness.crossEntropy(harness.readNpy(logitsPath).values(), labels, classes)
        expected = harness.readNpy(os.path.join(REFERENCE, reference, "losses.npy")).values()[0]
        self.assertAlmostEqual(loss, expected, delta=1e-5 * abs(expected))

    def folder_(self, name):
        folder = os.path.join(os.environ.get("NNCC_TEST_DATA", ""), "data", name)
        if not os.path.isdir(folder):
            self.skipTest(f"needs the data set {name} in the folder that NNCC_TEST_DATA names")
        return folder

    def testLenet(self):
        images, labels = harness.readDigits(self.folder_("mnist"), "train9k")
        self.check("lenet", "image", images.rows(0, 20), labels[:20], 10, "lenet_mnist_train")

    def testSimpleNet(self):
        images, labels = harness.readDigits(self.folder_("mnist"), "train9k")
        self.check("simple_net_mnist", "image", images.rows(0, 50), labels[:50], 10, "simple_net_mnist")

    def testSimpleCnn(self):
        with open(os.path.join(self.folder_("cifar10"), "data_batch_1.bin"), "rb") as file:
            records = [file.read(3073) for _ in range(4)]
        pixels = harness.array.array("f", (byte / 127.5 - 1 for record in records for byte in record[1:]))
        images = harness.Tensor("<f4", [4, 3, 32, 32], pixels.tobytes())
        self.check("simple_cnn_cifar10", "image", images, [record[0] for record in records], 10, "simple_cnn_cifar10")


if __name__ == "__main__":
    harness.takeCudaFlag()
    unittest.main()
