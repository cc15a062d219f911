"""The 1,000 digits through the trained LeNet: 969 right, as PyTorch has them, and the same ones. With --cuda on the stand-in CUDA
device."""

import os
import unittest

import harness


class Digits(harness.TestCase):
    def testAsManyRightAsPyTorch(self):
        images, labels = harness.readDigits(os.path.join(harness.DATA, "mnist"), "digits1k")
        sharedObject = self.compile(os.path.join(harness.EXAMPLES, "lenet.nn"),
                                    os.path.join(harness.EXAMPLES, "lenet.safetensors"))
        self.runsModel(sharedObject, "--input", f"image=@{images.writeNpy(self.path('images.npy'))}", "--output",
                       f"logits=@{self.path('logits.npy')}")
        logits = harness.readNpy(self.path("logits.npy")).values()
        expected = harness.readNpy(os.path.join(harness.DATA, "reference", "lenet_mnist", "logits_digits1k.npy")).values()
        predicted = [harness.argmax(logits[row * 10:row * 10 + 10]) for row in range(1000)]
        self.assertEqual(predicted, [harness.argmax(expected[row * 10:row * 10 + 10]) for row in range(1000)])
        self.assertEqual(sum(map(int.__eq__, predicted, labels)), 969)


if __name__ == "__main__":
    harness.takeCudaFlag()
    unittest.main()
