"""The generated reference names every op of the dialect: it is built from the records as they are. Takes the page's path."""

import re
import sys
import unittest

import tree
from ops import MNEMONIC

page_path = sys.argv.pop()


class OpReference(unittest.TestCase):
    def testNamesEveryOp(self):
        with open(page_path, encoding="utf-8") as file:
            described = set(re.findall(r"^### `nn\.(\w+)`", file.read(), re.MULTILINE))
        definitions = "\n".join(tree.read(path) for path in tree.files("ir/ops", (".td",)))
        self.assertEqual(set(MNEMONIC.findall(definitions)), described)


if __name__ == "__main__":
    unittest.main()
