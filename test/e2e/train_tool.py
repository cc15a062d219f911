"""nncc-train as its users call it: training on the digits, checkpoints, going on after Ctrl-C, the search for NaN, and what it says of
bad input. With --cuda on the stand-in CUDA device."""

import os
import re
import resource
import signal
import subprocess
import unittest

import harness

DIGITS = os.path.join(harness.DATA, "mnist")
# Batch statistics, running averages, dropout, moments of two kinds and a schedule: all that a checkpoint has to carry.
MODEL = """nn 1
dim N = 1..256
model Small(image: f32[N, 1, 28, 28]) {
  x = max_pool2d(relu(batch_norm(conv2d(image, 4, kernel = 3, stride = 2) as conv) as bn), kernel = 2)
  logits = linear(dropout(flatten(x), p = 0.25), 10) as fc
  return logits
}
train {
  target label: i64[N]
  loss = cross_entropy(logits, label)
  optimizer = adamw(lr = 4e-3)
  schedule = cosine(warmup_epochs = 0.5)
  clip = global_norm(5.0)
  batch = 16
  epochs = 2
  metric accuracy = accuracy(logits, label)
}
"""


def environment():
    return harness.deviceEnvironment(CUDA_EMULATOR_MODE="plain") if harness.device == "cuda" else dict(os.environ)


class TrainTest(harness.TestCase):
    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        return self.path(name)

    def model(self, text=MODEL, name="small"):
        """A shared object that trains."""
        return self.compile(self.write(name + ".nn", text), None, "--train")

    def command(self, model, *arguments, data=DIGITS + "?range=:320"):
        return [harness.program("nncc-train"), model, "--data", data, f"--device={harness.device}", *map(str, arguments)]

    def trains(self, model, *arguments, status=0, **options):
        result = subprocess.run(self.command(model, *arguments, **options), stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                env=environment(), timeout=300)
        self.assertEqual(result.returncode, status, result.stdout + result.stderr)
        return result.stdout + result.stderr

    def bytesOf(self, name):
        with open(self.path(name), "rb") as file:
            return file.read()

    def tensorsOf(self, name):
        return {key: (tensor.type, tensor.shape, tensor.data) for key, tensor in harness.readSafetensors(self.path(name))[1].items()}


class Training(TrainTest):
    def testTheTrainedModelInfers(self):
        """What --export writes, run by nncc-run, classifies held-out digits as often right as the validation said."""
        model = self.model()
        said = self.trains(model, "--val", DIGITS + "?range=800:", "--epochs", 6, "--export", self.path("w.safetensors"),
                           data=DIGITS + "?range=:800")
        last = re.findall(r"epoch (\d)/6  loss ([\d.]+)  accuracy [\d.]+  validation loss ([\d.]+)  accuracy ([\d.]+)", said)
        self.assertEqual([epoch for epoch, *_ in last], list("123456"), said)
        self.assertLess(float(last[-1][1]), 0.5 * float(last[0][1]))
        accuracy = float(last[-1][3])
        self.assertGreater(accuracy, 0.7)
        images, labels = harness.readDigits(DIGITS, "digits1k")
        images.rows(800, 1000).writeNpy(self.path("x.npy"))
        self.runsModel(model, "--weights", self.path("w.safetensors"), "--input", f"image=@{self.path('x.npy')}",
                       "--output", f"logits=@{self.path('y.npy')}")
        logits = harness.readNpy(self.path("y.npy")).values()
        right = sum(harness.argmax(logits[row * 10:row * 10 + 10]) == labels[800 + row] for row in range(200))
        self.assertAlmostEqual(right / 200, accuracy, places=4)

    def testThreadsDoNotChangeTheBits(self):
        model = self.model()
        for run, arguments in enumerate((["--threads=1", "--data-threads=0"], ["--threads=2", "--data-threads=3"])):
            self.trains(model, *arguments, "--augment", "shift=2", "--checkpoint", self.path(f"{run}.safetensors"), "--max-steps=20")
        self.assertEqual(self.bytesOf("0.safetensors"), self.bytesOf("1.safetensors"))

    def testAnotherSeedIsAnotherTraining(self):
        model = self.model()
        for seed in (1, 2):
            self.trains(model, "--seed", seed, "--max-steps=3", "--checkpoint", self.path(f"{seed}.safetensors"))
        self.assertNotEqual(self.tensorsOf("1.safetensors"), self.tensorsOf("2.safetensors"))

    def testCurves(self):
        self.trains(self.model(), "--csv", self.path("c.csv"), "--tensorboard", self.path("events"), "--log-every=10",
                    "--val", DIGITS + "?range=900:", "--confusion")
        lines = self.bytesOf("c.csv").decode().splitlines()
        self.assertEqual(lines[0], "step,train_loss,train_accuracy,val_loss,val_accuracy")
        self.assertEqual([line.split(",")[0] for line in lines[1:]], ["10", "20", "20", "30", "40", "40"])
        self.assertEqual([bool(line.split(",")[1]) for line in lines[1:]], [True, True, False, True, True, False])
        self.assertEqual(len(os.listdir(self.path("events"))), 1)

    def testConfusion(self):
        said = self.trains(self.model(), "--epochs=1", "--val", DIGITS + "?range=900:", "--confusion")
        rows = re.findall(r"^(\d) +((?:\d+ +){10})[\d.]+%$", said, re.MULTILINE)
        self.assertEqual([row for row, _ in rows], list("0123456789"), said)
        _, labels = harness.readDigits(DIGITS, "digits1k")
        for row, counts in rows:
            self.assertEqual(sum(map(int, counts.split())), labels[900:].count(int(row)))
        accuracy = float(re.search(r"validation loss [\d.]+  accuracy ([\d.]+)", said)[1])
        right = sum(int(counts.split()[int(row)]) for row, counts in rows)
        self.assertAlmostEqual(right / 100, accuracy, places=4)

    def testTextIsCompiledOnTheWay(self):
        said = self.trains(self.write("small.nn", MODEL), "--max-steps=2", "--log-every=1")
        self.assertEqual(len(re.findall(r"^epoch 1  step [12]  loss", said, re.MULTILINE)), 2, said)


class TrainOption(TrainTest):
    """--train=...: what trains is said on the command line."""

    PLAIN, SECTION = MODEL.split("train {\n")
    STATEMENTS = "; ".join(line.strip() for line in SECTION.splitlines() if line != "}")

    def testTrainsTheSameBytesAsTheSection(self):
        """Text, and objects that nncc made, without a section in the file; and one with another section."""
        plain = self.write("plain.nn", self.PLAIN)
        compiled = self.compile(plain, None, f"--train={self.STATEMENTS}")
        other = self.write("other.nn", MODEL.replace("adamw(lr = 4e-3)", "sgd(lr = 1)").replace("batch = 16", "batch = 8"))
        for name, model, *arguments in (("section", self.write("small.nn", MODEL)), ("text", plain, f"--train={self.STATEMENTS}"),
                                        ("object", compiled), ("other", other, "--train=optimizer = adamw(lr = 4e-3); batch = 16")):
            self.trains(model, *arguments, "--max-steps=12", "--export", self.path(f"{name}.safetensors"))
            self.assertEqual(self.bytesOf(f"{name}.safetensors"), self.bytesOf("section.safetensors"), name)

    def testGoesOnWithTheSameWordsOnly(self):
        plain, checkpoint = self.write("plain.nn", self.PLAIN), ("--checkpoint", self.path("c.safetensors"))
        self.trains(plain, f"--train={self.STATEMENTS}", "--max-steps=2", *checkpoint)
        said = self.trains(plain, f"--train={self.STATEMENTS.replace('4e-3', '1e-3')}", "--resume", *checkpoint, status=1)
        self.assertIn("is of a training with other settings:\n  train: 'target label: i64[N]; loss", said)
        self.trains(plain, f"--train={self.STATEMENTS}", "--resume", "--max-steps=3", *checkpoint)

    def testMistakesStandInTheOption(self):
        plain = self.write("plain.nn", self.PLAIN)
        self.assertIn("--train:1:8: error: unknown name 'label'", self.trains(plain, "--train=loss = label", status=1))
        self.assertIn("plain.nn:3:7: error: model 'Small' cannot be trained", self.trains(plain, status=1))


class Freezing(TrainTest):
    def testFrozenParametersAndStatisticsKeepTheirBytes(self):
        model = self.model(MODEL.replace("  batch = 16", '  freeze = ["bn.*"]\n  batch = 16'))
        for steps in (1, 20):
            self.trains(model, f"--max-steps={steps}", "--checkpoint", self.path(f"{steps}.safetensors"))
        first, last = self.tensorsOf("1.safetensors"), self.tensorsOf("20.safetensors")
        same = {name for name in first if first[name] == last[name]}
        self.assertEqual({name for name in same if not name.startswith("train.")},
                         {"bn.weight", "bn.bias", "bn.running_mean", "bn.running_var"})


class Accumulating(TrainTest):
    """Four batches of four, whose mean gradient makes an update, are one batch of sixteen."""

    TEXT = """nn 1
dim N = 1..64
model Mlp(image: f32[N, 1, 28, 28]) {
  return logits = linear(relu(linear(flatten(image), 12) as one), 10) as two
}
train {
  target label: i64[N]
  loss = cross_entropy(logits, label)
  optimizer = adam(lr = 1e-3, weight_decay = 0.01)
  schedule = cosine(warmup_epochs = 0.5)
  clip = global_norm(1.0)
  epochs = 2
}
"""

    def testAsOneLargeBatch(self):
        whole = self.model(self.TEXT.replace("  schedule = cosine(warmup_epochs = 0.5)\n", ""), "whole")
        split = self.model(self.TEXT.replace("  schedule = cosine(warmup_epochs = 0.5)\n", "").replace("  epochs", "  accumulate = 4\n  epochs"),
                           "split")
        self.trains(whole, "--in-order", "--batch=16", "--max-steps=12", "--checkpoint", self.path("whole.safetensors"))
        self.trains(split, "--in-order", "--batch=4", "--max-steps=48", "--checkpoint", self.path("split.safetensors"))
        _, expected = harness.readSafetensors(self.path("whole.safetensors"))
        _, found = harness.readSafetensors(self.path("split.safetensors"))
        self.assertEqual(list(found["train.step"].values()), [12])
        for name, tensor in expected.items():
            if name.startswith("train.exp") or not name.startswith("train."):
                largest = max(map(abs, tensor.values()))
                worst = max(abs(a - b) for a, b in zip(tensor.values(), found[name].values()))
                self.assertLessEqual(worst, 2e-5 * largest, name)

    def testNothingChangesBeforeTheLast(self):
        model = self.model(self.TEXT.replace("  epochs", "  accumulate = 4\n  epochs"))
        for steps in (4, 7):
            self.trains(model, "--batch=4", f"--max-steps={steps}", "--checkpoint", self.path(f"{steps}.safetensors"))
        first, last = self.tensorsOf("4.safetensors"), self.tensorsOf("7.safetensors")
        changed = {name for name in first if first[name] != last[name]}
        self.assertEqual({name for name in changed if "accumulated" not in name}, {"train.micro_step"})

    def testResumes(self):
        model = self.model(self.TEXT.replace("  epochs", "  accumulate = 3\n  epochs"))
        self.trains(model, "--batch=4", "--checkpoint", self.path("through.safetensors"))
        for steps in (4, 11):
            self.trains(model, "--batch=4", "--checkpoint", self.path("cut.safetensors"), "--resume", f"--max-steps={steps}")
        self.trains(model, "--batch=4", "--checkpoint", self.path("cut.safetensors"), "--resume")
        self.assertEqual(self.bytesOf("cut.safetensors"), self.bytesOf("through.safetensors"))

    def testLessThanOneBatch(self):
        path = self.write("none.nn", self.TEXT.replace("  epochs", "  accumulate = 0\n  epochs"))
        result = harness.run(harness.program("nncc"), path, "--train", "-o", self.path("none.so"))
        self.assertEqual(result.returncode, 1)
        self.assertIn("expected the number of batches that make an update, at least 1", result.stderr)


class Resuming(TrainTest):
    """A training that is cut off and goes on ends in the bytes of one that ran through."""

    def setUp(self):
        super().setUp()
        self.so = self.model()
        self.arguments = ["--augment", "shift=1", "--save-every=7", "--seed=5"]
        self.trains(self.so, *self.arguments, "--checkpoint", self.path("through.safetensors"))

    def goesOn(self, *more, resume="--resume", status=0):
        return self.trains(self.so, *self.arguments, "--checkpoint", self.path("cut.safetensors"), resume, *more, status=status)

    def testAfterSomeSteps(self):
        for steps in (3, 4, 20, 26):
            self.goesOn(f"--max-steps={steps}")
        self.assertRegex(self.goesOn(), r"going on with step 27 \(epoch 2, batch 7\)")
        self.assertEqual(self.bytesOf("cut.safetensors"), self.bytesOf("through.safetensors"))

    def testAfterInterrupts(self):
        interrupted = 0
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGINT):
            process = subprocess.Popen(
                self.command(self.so, *self.arguments, "--checkpoint", self.path("cut.safetensors"), "--resume", "--log-every=1"),
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment())
            for line in process.stdout:
                if re.match(r"epoch \d+  step", line):
                    process.send_signal(number)
                    break
            said = process.stdout.read()
            process.stdout.close()
            if process.wait() != 0: # it may have been done by then
                self.assertEqual(process.returncode, 130, said)
                self.assertRegex(said, r"interrupted after step \d+; saved in '.*cut.safetensors', --resume goes on from there")
                interrupted += 1
        self.assertGreater(interrupted, 0)
        self.goesOn()
        self.assertEqual(self.bytesOf("cut.safetensors"), self.bytesOf("through.safetensors"))

    def testAfterAHundredKills(self):
        """kill -9 at any moment, saving included: what is on disk is always whole, and no more is lost than since the last save."""
        rounds, kills, delay = (100 if harness.device == "cpu" else 3), 0, 0.004
        for _ in range(rounds):
            process = subprocess.Popen(
                self.command(self.so, *self.arguments[:2], "--save-every=1", "--seed=5", "--checkpoint", self.path("cut.safetensors"),
                             "--resume"), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment())
            try:
                _, errors = process.communicate(timeout=delay)
            except subprocess.TimeoutExpired:
                process.kill()
                _, errors = process.communicate()
            self.assertIn(process.returncode, (0, -signal.SIGKILL), errors)
            kills += process.returncode != 0
            delay = 0.004 + (delay * 7.3) % 0.09
            if process.returncode == 0: # once done, it begins anew
                self.assertEqual(self.bytesOf("cut.safetensors"), self.bytesOf("through.safetensors"))
                for name in os.listdir(self.folder):
                    if name.startswith("cut."):
                        os.remove(self.path(name))
        self.assertGreater(kills, rounds // 2)
        self.goesOn()
        self.assertEqual(self.bytesOf("cut.safetensors"), self.bytesOf("through.safetensors"))

    def testOtherSettingsAreRefused(self):
        self.goesOn("--max-steps=3")
        said = self.trains(self.so, "--augment", "shift=2", "--batch=8", "--checkpoint", self.path("cut.safetensors"), "--resume", status=1)
        self.assertIn("is of a training with other settings:\n  augment: 'shift=1' then, 'shift=2' now\n  batch: '16' then, '8' now", said)

    def testAnotherModelIsRefused(self):
        other = self.model(MODEL.replace("conv2d(image, 4", "conv2d(image, 6"), "other")
        self.goesOn("--max-steps=3")
        before = self.bytesOf("cut.safetensors")
        said = self.trains(other, *self.arguments, "--checkpoint", self.path("cut.safetensors"), "--resume", status=1)
        for name in ("conv.weight", "conv.bias", "bn.running_mean", "fc.weight", "train.exp_avg.conv.weight"):
            self.assertIn(name, said)
        self.assertEqual(self.bytesOf("cut.safetensors"), before)

    def testADamagedCheckpointNamesThePreviousOne(self):
        self.goesOn("--max-steps=9")
        self.goesOn("--max-steps=11")
        with open(self.path("cut.safetensors"), "r+b") as file:
            file.seek(-100, os.SEEK_END)
            file.write(b"\xff" * 8)
        self.assertIn("cut.previous.safetensors", self.goesOn(status=1))
        self.goesOn(resume=f"--resume={self.path('cut.previous.safetensors')}")
        self.assertEqual(self.bytesOf("cut.safetensors"), self.bytesOf("through.safetensors"))

    def testAFinishedOneIsNotOverwritten(self):
        before = self.bytesOf("through.safetensors")
        self.assertIn("--resume, begin anew with --overwrite",
                      self.trains(self.so, "--checkpoint", self.path("through.safetensors"), status=1))
        self.assertEqual(self.bytesOf("through.safetensors"), before)
        self.trains(self.so, "--checkpoint", self.path("through.safetensors"), "--overwrite", "--max-steps=1")
        self.assertNotEqual(self.bytesOf("through.safetensors"), before)

    def testNoSpace(self):
        self.goesOn("--max-steps=9")
        before = self.bytesOf("cut.safetensors")
        limit = len(before) // 2
        result = subprocess.run(self.command(self.so, *self.arguments, "--checkpoint", self.path("cut.safetensors"), "--resume"),
                                capture_output=True, text=True, env=environment(),
                                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
        self.assertEqual(result.returncode, 1, result.stdout + result.stderr)
        self.assertIn("cut.safetensors", result.stderr)
        self.assertEqual(self.bytesOf("cut.safetensors"), before)
        self.goesOn()
        self.assertEqual(self.bytesOf("cut.safetensors"), self.bytesOf("through.safetensors"))


class MemoryBudget(TrainTest):
    """--memory-budget: of text, which is compiled for the batch at hand."""

    def testTrainsTheSameBytes(self):
        text = self.write("small.nn", MODEL)
        common = ("--batch=64", "--epochs=1", "--export")
        self.trains(text, *common, self.path("plain.safetensors"))
        self.trains(text, *common, self.path("fitted.safetensors"), "--memory-budget=450K")
        self.assertEqual(self.bytesOf("fitted.safetensors"), self.bytesOf("plain.safetensors"))

    def testSaysWhatIsNeeded(self):
        text = self.write("small.nn", MODEL)
        said = self.trains(text, "--batch=64", "--memory-budget=64K", status=1)
        self.assertRegex(said, r"small.nn:3:7: error: a training step of N = 64 needs at least [0-9.]+ KiB")
        # A batch for which the same is enough.
        self.trains(text, "--batch=2", "--max-steps=1", "--memory-budget=64K")

    def testOfAnObjectIsDecided(self):
        self.assertIn("nncc --train --memory-budget=1M", self.trains(self.model(), "--memory-budget=1M", status=2))
        self.assertIn("expected a number of bytes", self.trains(self.write("small.nn", MODEL), "--memory-budget=1X", status=2))


class HalfPrecision(TrainTest):
    def half(self, scale, name, text=MODEL):
        return self.model(text.replace("  batch = 16\n", f"  batch = 16\n  precision = f16\n  loss_scale = {scale}\n"), name)

    def testTellsWhichUpdatesWereSkipped(self):
        said = self.trains(self.half("dynamic(init = 1e12, backoff = 0.01)", "half"))
        self.assertRegex(said, r"epoch 1/2  loss \d.*accuracy \d\.\d+  [1-9] updates? skipped  ")
        self.assertRegex(said, r"epoch 2/2  loss \d.*accuracy \d\.\d+  \d+\.\d s,")

    def testResumes(self):
        so = self.half("dynamic(init = 1e12, backoff = 0.01, interval = 3)", "half")
        self.trains(so, "--checkpoint", self.path("through.safetensors"))
        self.trains(so, "--checkpoint", self.path("cut.safetensors"), "--max-steps=7")
        self.trains(so, "--checkpoint", self.path("cut.safetensors"), "--resume", "--threads=2")
        self.assertEqual(self.bytesOf("cut.safetensors"), self.bytesOf("through.safetensors"))
        self.assertIn("train.loss_scale", self.tensorsOf("cut.safetensors"))

    def testTooManySkippedUpdates(self):
        """A scale that no gradient fits under, and a gradient that no scale helps."""
        if harness.device == "cuda":
            self.skipTest("two hundred steps, which know nothing of the device")
        so = self.half("1e30", "constant")
        said = self.trains(so, "--epochs=9", "--checkpoint", self.path("c.safetensors"), status=1)
        self.assertRegex(said, r"error: step 100 \(epoch 5, batch 20\): 100 updates in a row were skipped.*\n.*kernel '.*' made the first")
        self.assertIn("A smaller loss_scale, precision = bf16, or data without such values may help.", said)
        text = MODEL.replace("logits = linear(", "logits = linear(sqrt(-1 - mean(x)) * ")
        said = self.trains(self.half("dynamic()", "root", text), "--epochs=9", status=1)
        self.assertRegex(said, r"100 updates in a row were skipped.*\n.*root\.nn:\d+:\d+: kernel '[^']*sqrt[^']*' made the first number")


class NotANumber(TrainTest):
    def testTheKernelThatMadeItIsNamed(self):
        """The square root of a negative number, beside much that is sound."""
        text = MODEL.replace("logits = linear(", "logits = linear(sqrt(0.02 - bn_mean(x)) * ").replace("bn_mean(x)", "mean(x)")
        said = self.trains(self.model(text, "root"), "--checkpoint", self.path("c.safetensors"), status=1)
        self.assertRegex(said, r"error: step \d+ \(epoch 1, batch \d+\): 'loss' is NaN\n"
                               r"in step \d+: .*root\.nn:\d+:\d+: kernel '[^']*sqrt[^']*' made the first number that is not a number")

    def testADivergingTraining(self):
        text = MODEL.replace("adamw(lr = 4e-3)", "sgd(lr = 1e38)").replace("  schedule = cosine(warmup_epochs = 0.5)\n", "") \
            .replace("  clip = global_norm(5.0)\n", "")
        said = self.trains(self.model(text, "far"), "--save-every=1", "--checkpoint", self.path("c.safetensors"), status=1)
        self.assertRegex(said, r"kernel '[^']+' made the first number that is (infinite|not a number)")
        self.assertIn("A lower learning rate", said)

    def testNotInTheData(self):
        images, labels = harness.readDigits(DIGITS, "digits1k")
        data = bytearray(images.rows(0, 64).data)
        data[4000:4004] = b"\x00\x00\xc0\x7f"
        harness.Tensor("<f4", [64, 1, 28, 28], data).writeNpy(self.path("image.npy"))
        harness.Tensor("<i8", [64], b"".join(label.to_bytes(8, "little") for label in labels[:64])).writeNpy(self.path("label.npy"))
        said = self.trains(self.model(), data=f"npy:{self.path('image.npy')},{self.path('label.npy')}", status=1)
        self.assertRegex(said, r"small\.nn:4:\d+: kernel 'conv2d[^']*' made the first number that is not a number")


class BadInput(TrainTest):
    def testLabelOutOfRange(self):
        text = MODEL.replace("flatten(x), p = 0.25), 10)", "flatten(x), p = 0.25), 7)")
        said = self.trains(self.model(text), status=1)
        self.assertRegex(said, r"label [789] of sample \d+ in '.*digits1k-labels.*'; the model has 7 classes, 0 to 6")

    def testAnotherShape(self):
        text = MODEL.replace("28, 28", "32, 32")
        self.assertRegex(self.trains(self.model(text), status=1), r"image.*\[N?.*32, 32\](.|\n)*28, 28")

    def testNoSamples(self):
        self.assertIn("range", self.trains(self.model(), data=DIGITS + "?range=5:5", status=1))

    def testNoSuchData(self):
        self.assertIn("no/such/folder", self.trains(self.model(), data="/no/such/folder", status=1))

    def testNotCompiledForTraining(self):
        model = self.compile(self.write("small.nn", MODEL))
        self.assertIn("compile it with nncc --train", self.trains(model, status=1))

    def testWithoutATrainSection(self):
        self.assertIn("train section", self.trains(self.write("plain.nn", MODEL[:MODEL.index("train {")]), status=1))

    def testBatchOutOfRange(self):
        self.assertIn("N = 1..256", self.trains(self.model(), "--batch=257", status=1))

    def testCommandLine(self):
        model = self.model()
        self.assertIn("--checkpoint", self.trains(model, "--resume", status=2))
        self.assertIn("no metric 'f1'", self.trains(model, "--best=f1", status=1))
        self.assertIn("no input or target 'picture'", self.trains(model, "--field=picture=image", status=1))
        self.assertIn("expected crop=", self.trains(model, "--augment=spin", status=1))
        self.assertIn("found -1", self.trains(model, "--lr=-1", status=2))


if __name__ == "__main__":
    harness.takeCudaFlag()
    if harness.device == "cuda":
        del BadInput # is found before there is a device
    unittest.main()
