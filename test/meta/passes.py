"""Each pass that passes/Passes.td defines has its lit test: test/lit/passes/<flag>.mlir, which runs that flag."""

import os
import re
import unittest

import tree

PASS = re.compile(r'^def\s+\w+\s*:\s*(?:Interface)?Pass<\s*"([^"]+)"', re.MULTILINE)


class Passes(unittest.TestCase):
    def testEachPassHasItsTest(self):
        definitions = "passes/Passes.td"
        if not os.path.exists(os.path.join(tree.ROOT, definitions)):
            self.assertEqual(tree.files("passes", (".cpp",)), [], f"passes without {definitions}")
            return
        flags = PASS.findall(tree.read(definitions))
        self.assertGreater(len(flags), 0, f"no pass found in {definitions}")
        for flag in flags:
            test = f"test/lit/passes/{flag}.mlir"
            self.assertTrue(os.path.exists(os.path.join(tree.ROOT, test)), f"{test} is missing")
            self.assertRegex(tree.read(test), rf"RUN:.*{re.escape(flag)}\b", f"{test} does not run --{flag}")


if __name__ == "__main__":
    unittest.main()
