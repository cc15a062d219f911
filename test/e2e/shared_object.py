"""What model.so is to a program that loads it: no libraries but the system's, one exported symbol, usable from C."""

import os
import re
import shutil
import unittest

import harness

SYSTEM_LIBRARIES = {"linux-vdso", "libc", "libm", "libstdc++", "libgcc_s", "libdl", "libpthread", "librt", "ld-linux-x86-64",
                    "ld-linux-aarch64"}


class SharedObject(harness.TestCase):
    def lenet(self):
        return self.compile(os.path.join(harness.EXAMPLES, "lenet.nn"),
                            os.path.join(harness.EXAMPLES, "lenet.safetensors"))

    def testNeedsOnlySystemLibraries(self):
        listing = self.succeeds("ldd", self.lenet()).stdout
        libraries = {re.sub(r"\.so.*", "", os.path.basename(line.split()[0])) for line in listing.splitlines()}
        self.assertIn("libc", libraries, listing)
        self.assertEqual(libraries - SYSTEM_LIBRARIES, set(), listing)

    def testExportsOneSymbol(self):
        nm = shutil.which("llvm-nm-22") or "nm"
        listing = self.succeeds(nm, "-D", "--defined-only", self.lenet()).stdout
        self.assertEqual([line.split()[-1] for line in listing.splitlines()], ["nncc_model_get_api"], listing)

    def testCProgramWithOnlyTheHeader(self):
        """A C99 program that knows nothing but nncc.h and dlopen runs the model."""
        binary = self.path("classify")
        os.makedirs(self.path("include/nncc"))
        for header in ("nncc.h", "dlpack.h"):
            shutil.copy(os.path.join(harness.ROOT, "runtime", "include", "nncc", header), self.path("include/nncc"))
        self.succeeds(os.environ.get("CC", "cc"), "-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic",
                      "-I", self.path("include"), os.path.join(harness.EXAMPLES, "run_model.c"), "-o", binary, "-ldl")
        printed = self.succeeds(binary, self.lenet()).stdout
        self.assertRegex(printed, r"output logits: f32\[N, 10\]\n( +-?[0-9.e+-]+){10}\n")

    def testCProgramThatTrains(self):
        """As much with train_model.c, which says after each epoch how many of the digits that it held back are right."""
        os.makedirs(self.path("include/nncc"))
        for header in ("nncc.h", "dlpack.h"):
            shutil.copy(os.path.join(harness.ROOT, "runtime", "include", "nncc", header), self.path("include/nncc"))
        self.succeeds(os.environ.get("CC", "cc"), "-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-I", self.path("include"),
                      os.path.join(harness.EXAMPLES, "train_model.c"), "-o", self.path("train"), "-ldl", "-lz")
        model = self.compile(os.path.join(harness.EXAMPLES, "lenet.nn"), None, "--train")
        printed = self.succeeds(self.path("train"), model, os.path.join(harness.DATA, "mnist", "digits1k"), self.path("state")).stdout
        right = [float(share) for share in re.findall(r"held back: loss [0-9.]+, ([0-9.]+)% right\n", printed)]
        self.assertEqual(len(right), 8, printed)
        self.assertGreater(right[-1], 85, printed)
        _, tensors = harness.readSafetensors(self.path("state"))
        self.assertIn("train.exp_avg.conv1.weight", tensors)

    def testNothingIsLeftBehindWhenTheOutputCannotBeWritten(self):
        model = os.path.join(harness.EXAMPLES, "lenet.nn")
        result = harness.run(harness.program("nncc"), model, "-o", self.path("no/such/folder/lenet.so"))
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn("no/such/folder", result.stderr)
        self.assertEqual(os.listdir(self.folder), [])


class BadModel(harness.TestCase):
    def testLinearAfterTheWrongImageSize(self):
        """A 224x224 image leaves 32*112*112 features where the weights have 32*32*32."""
        with open(os.path.join(harness.EXAMPLES, "cnn_infer.nn"), encoding="utf-8") as file:
            text = file.read().replace("64, 64]", "224, 224]")
        model = self.path("cnn_infer.nn")
        with open(model, "w", encoding="utf-8") as file:
            file.write(text)
        weights = os.path.join(harness.DATA, "reference", "cnn_infer", "weights.safetensors")
        result = harness.run(harness.program("nncc"), model, "--weights", weights, "-o", self.path("cnn.so"))
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertRegex(result.stderr, r"cnn_infer\.nn:\d+:\d+: error: ")
        self.assertIn("fc1", result.stderr)
        self.assertIn(str(32 * 112 * 112), result.stderr)
        self.assertIn(str(32 * 32 * 32), result.stderr)
        self.assertFalse(os.path.exists(self.path("cnn.so")))


if __name__ == "__main__":
    unittest.main()
