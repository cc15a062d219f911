"""The generated table of gradients has a line for every op of the dialect, and says of each whether it has a gradient or why it needs
none. Takes the page's path."""

import re
import sys
import unittest

import tree
from ops import MNEMONIC

page_path = sys.argv.pop()


class GradientTable(unittest.TestCase):
    def setUp(self):
        with open(page_path, encoding="utf-8") as file:
            self.rows = dict(re.findall(r"^\| nn\.(\w+) \| (.+) \|$", file.read(), re.MULTILINE))

    def testHasEveryOp(self):
        definitions = "\n".join(tree.read(path) for path in tree.files("ir/ops", (".td",)))
        self.assertEqual(set(MNEMONIC.findall(definitions)), set(self.rows))

    def testAsksTheRules(self):
        self.assertEqual(self.rows["conv"], "yes")
        self.assertEqual(self.rows["softmax"], "yes")
        self.assertNotEqual(self.rows["argmax"], "yes")

    def testGivesAReasonWhereThereIsNone(self):
        self.assertEqual([op for op, answer in self.rows.items() if answer == "no"], [],
                         "tools/gradient-table has no reason for these; do they need a gradient?")


if __name__ == "__main__":
    unittest.main()
