"""Each op of the nn dialect has its lit test, and each numbered constraint of its description a test that breaks it."""

import os
import re
import unittest

import tree

MNEMONIC = re.compile(r'^def NN_\w+Op\s*:\s*NN_\w+<\s*"(\w+)"', re.MULTILINE)
# "`conv_c2`: ..." at the start of a description's line states a constraint; "Constraints: `pool_c1`" refers to one.
CONSTRAINT = re.compile(r"^\s*`(\w+_c\d+)`:", re.MULTILINE)
# Ops that only occur inside another one, and are tested with it.
TESTED_WITH = {"yield": "kernel"}


class Ops(unittest.TestCase):
    def setUp(self):
        self.definitions = "\n".join(tree.read(path) for path in tree.files("ir/ops", (".td",)))

    def testEachOpHasItsTest(self):
        ops = MNEMONIC.findall(self.definitions)
        self.assertGreater(len(ops), 50, "the pattern no longer finds the ops")
        for op in ops:
            test = f"test/lit/ir/{TESTED_WITH.get(op, op)}.mlir"
            self.assertTrue(os.path.exists(os.path.join(tree.ROOT, test)), f"{test} is missing")
            self.assertRegex(tree.read(test), rf"CHECK.*nn\.{op}\b", f"{test} does not check nn.{op}")

    def testEachConstraintIsBroken(self):
        constraints = set(CONSTRAINT.findall(self.definitions))
        self.assertGreater(len(constraints), 50, "the pattern no longer finds the constraints")
        tests = "\n".join(tree.read(path) for path in tree.files("test/lit/ir", ("-invalid.mlir",)))
        tested = set(re.findall(r"expected-error.*?\{\{(\w+_c\d+):", tests))
        self.assertEqual(constraints - tested, set(), "constraints that no test breaks")
        self.assertEqual(tested - constraints, set(), "tests of constraints that no op states")

    def testEachErrorNamesItsConstraint(self):
        """What a verifier can say is what an op states, and so what a test provokes."""
        constraints = set(CONSTRAINT.findall(self.definitions))
        for path in tree.files("ir/ops", (".cpp",)):
            text = tree.read(path)
            named = set(re.findall(r'"[^"\n]*?\b([a-z]\w*_c\d+)\b', text))
            self.assertEqual(named - constraints, set(), f"{path}: constraints that no op states")
            for message in re.findall(r'emitOpError\("([^"]*)', text):
                self.assertRegex(message, r"^\w+_c\d+: ", f"{path}: an error without its constraint")

    def testEachErrorOfAnAttributeIsProvoked(self):
        tests = "\n".join(tree.read(path) for path in tree.files("test/lit/ir", ("-invalid.mlir",)))
        messages = re.findall(r'emitError\(\)\s*<<\s*"([^"]+)"', tree.read("ir/NNAttributes.cpp"))
        self.assertGreater(len(messages), 5, "the pattern no longer finds the errors")
        for message in messages:
            self.assertTrue(message.strip() in tests, f"no test expects the error: {message}")


if __name__ == "__main__":
    unittest.main()
