"""Trainings on larger data sets, which NNCC_TEST_DATA names: how many of the digits that were never seen a LeNet gets right, and that
the convolutional network for CIFAR-10 learns."""

import os
import re
import sys
import unittest

import harness

SETS = os.environ.get("NNCC_TEST_DATA", "")
FOLDER = os.path.join(SETS, "data", "mnist")


def digits(stem):
    return "mnist:" + ",".join(os.path.join(FOLDER, f"{stem}-{part}-ubyte.gz") for part in ("images-idx3", "labels-idx1"))


class Accuracy(harness.TestCase):
    def trains(self, model, *arguments):
        so = self.compile(os.path.join(harness.EXAMPLES, model), None, "--train")
        said = self.succeeds(harness.program("nncc-train"), so, *arguments).stdout
        print(said)
        return said

    def accuracyOfLenet(self, *arguments):
        said = self.trains("lenet.nn", "--data", digits("train9k"), "--val", digits("t10k"), "--epochs=6", *arguments)
        return float(re.findall(r"epoch 6/6 .*validation loss [\d.]+  accuracy ([\d.]+)", said)[0])

    def testLenet(self):
        self.assertGreaterEqual(self.accuracyOfLenet(), 0.965)

    def testLenetWithShiftedDigits(self):
        self.assertGreaterEqual(self.accuracyOfLenet("--augment=shift=2"), 0.975)

    def testSimpleCnn(self):
        cifar = os.path.join(SETS, "data", "cifar10")
        said = self.trains("simple_cnn_cifar10.nn", "--data", cifar, "--val", cifar, "--normalize", "mean=0.5,std=0.5", "--log-every=500")
        losses = [float(loss) for loss in re.findall(r"step \d+  loss ([\d.]+)", said)]
        self.assertEqual(len(losses), 5, said)
        self.assertLess(losses[-1], losses[0], said)
        self.assertGreater(float(re.findall(r"validation loss [\d.]+  accuracy ([\d.]+)", said)[0]), 0.3) # chance is 0.1


if __name__ == "__main__":
    if not os.path.isdir(FOLDER):
        print("skipped: NNCC_TEST_DATA names no folder with data/mnist")
        sys.exit(harness.SKIPPED)
    unittest.main()
