"""An installed nncc serves a CMake project: find_package(nncc), nncc_add_model, nncc::runtime."""

import os
import unittest

import harness


class Package(harness.TestCase):
    def testAProjectThatUsesTheInstalledPackage(self):
        cmake = os.environ.get("CMAKE", "cmake")
        self.succeeds(cmake, "--install", harness.BUILD, "--prefix", self.path("prefix"))
        self.succeeds(cmake, "-G", "Ninja", "-S", os.path.join(harness.ROOT, "test", "e2e", "package"), "-B",
                      self.path("build"), f"-DCMAKE_PREFIX_PATH={self.path('prefix')}", f"-DNNCC_EXAMPLES={harness.EXAMPLES}",
                      f"-DCMAKE_C_COMPILER={os.environ.get('CC', 'cc')}",
                      f"-DCMAKE_CXX_COMPILER={os.environ.get('CXX', 'c++')}")
        self.succeeds(cmake, "--build", self.path("build"))
        # y = 2 relu(x) + 1 for x = -1, 0, 1, 2, -3, 0.5.
        self.assertEqual(self.succeeds(self.path("build/from_cpp")).stdout.split(), ["1", "1", "3", "5", "1", "2"])
        printed = self.succeeds(self.path("build/from_c"), self.path("build/net.so")).stdout
        self.assertIn("output y: f32[N, 3]", printed)


if __name__ == "__main__":
    unittest.main()
