"""The runtime stands alone: model.so carries it into programs that have no LLVM.

Nothing under runtime/ or support/ includes a header of LLVM or MLIR or of the compiler, and what users include
(runtime/include) includes nothing but the standard library and itself.
"""

import re
import unittest

import tree

INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.MULTILINE)
COMPILER = ("llvm/", "llvm-c/", "mlir/", "mlir-c/", "clang/", "lld/", "ir/", "passes/", "codegen/", "driver/", "frontend/")
SOURCES = (".cpp", ".c", ".h", ".hpp", ".inc")


def includes(under):
    for path in tree.files(under, SOURCES):
        for header in INCLUDE.findall(tree.read(path)):
            yield path, header


class Layering(unittest.TestCase):
    def testRuntimeAndSupportDoNotKnowTheCompiler(self):
        seen = 0
        for under in ("runtime", "support"):
            for path, header in includes(under):
                seen += 1
                self.assertFalse(header.startswith(COMPILER), f"{path} includes {header}")
        self.assertGreater(seen, 0)

    def testPublicHeadersIncludeOnlyPublicOnes(self):
        for path, header in includes("runtime/include"):
            self.assertFalse("/" in header and not header.startswith(("nncc/", "sys/")),
                             f"{path} includes {header}, which users do not have")


if __name__ == "__main__":
    unittest.main()
