"""What holds for every source file: it says at its top what it is, has one subject, and no file is large by accident."""

import os
import unittest

import tree

MAX_LINES = 800
MAX_BYTES = 1 << 20
# Larger files that the tests need.
LARGE_FILES = {
    "test/data/reference/cnn_infer/weights.safetensors",
}


class Files(unittest.TestCase):
    def testEachSourceFileOpensWithAComment(self):
        for path in tree.files(suffixes=(".cpp", ".c", ".h", ".hpp", ".td", ".cmake")):
            first = tree.read(path).lstrip().splitlines()[:1]
            self.assertTrue(first and first[0].startswith(("//", "/*", "#") if path.endswith(".cmake") else ("//", "/*")),
                            f"{path} does not open with a comment that says what it is")

    def testEachSourceFileHasOneSubject(self):
        for path in tree.files(suffixes=(".cpp", ".c", ".h", ".hpp", ".td", ".py", ".cmake")):
            lines = tree.read(path).count("\n")
            self.assertLessEqual(lines, MAX_LINES, f"{path} has {lines} lines: split it by subject")

    def testLargeFilesAreListed(self):
        large = {path for path in tree.files() if os.path.getsize(os.path.join(tree.ROOT, path)) > MAX_BYTES}
        self.assertEqual(large - LARGE_FILES, set(), "files over 1 MiB: needed? Then list them in test/meta/files.py")


if __name__ == "__main__":
    unittest.main()
