"""What the end-to-end tests share: the programs under test, and reading and writing of tensors without any library."""

import array
import gzip
import json
import math
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
EXAMPLES = os.path.join(ROOT, "examples")
DATA = os.path.join(ROOT, "test", "data")
BUILD = os.environ.get("NNCC_BUILD_DIR", os.path.join(ROOT, "build", "release"))

with open(os.path.join(ROOT, "test", "tolerances.json"), encoding="utf-8") as file:
    TOLERANCES = json.load(file)

# NumPy's type string and the code of array.array for each dtype of a safetensors header. NumPy has no bf16, and holds
# ml_dtypes' as V2; array has neither f16 nor bf16.
NUMPY_TYPE = {"F32": "<f4", "F16": "<f2", "BF16": "<V2", "F64": "<f8", "I32": "<i4", "I64": "<i8", "U8": "|u1", "I8": "|i1",
              "BOOL": "|b1"}
ARRAY_CODE = {"<f4": "f", "<f8": "d", "<i4": "i", "<i8": "q", "|u1": "B", "|i1": "b", "|b1": "B"}


def program(name):
    return os.path.join(BUILD, "bin", name)


def run(*command, **options):
    """Runs a program; its status and output are in the result."""
    return subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=options.pop("timeout", 300), **options)


# Exit status by which ctest knows that a test was skipped.
SKIPPED = 77


def deviceEnvironment(**settings):
    """Where programs find the stand-in CUDA driver and keep compiled kernels; `settings` are more variables."""
    return {**os.environ, "NNCC_CUDA_DRIVER": os.path.join(BUILD, "lib", "cuda-emulator", "libcuda.so.1"),
            "NNCC_CACHE_DIR": os.path.join(BUILD, "test", "kernel-cache"), **settings}


def fakeLibraries():
    """Where programs find the stand-ins for cuBLASLt and cuDNN (test/fake-libraries)."""
    folder = os.path.join(BUILD, "lib", "fake-libraries")
    return {"NNCC_CUBLASLT": os.path.join(folder, "libcublasLt.so.13"), "NNCC_CUDNN": os.path.join(folder, "libcudnn.so.9")}


def requireNvrtc():
    result = run(program("nncc"), os.path.join(EXAMPLES, "simple_net_mnist.nn"), "--emit=ptx", "-o", "-")
    if result.returncode == 4:
        print("skipped: kernels cannot be compiled without NVRTC; tools/setup --nvrtc gets it\n" + result.stderr)
        sys.exit(SKIPPED)


# Where models run: on the CPU, or with --cuda on a script's command line on the stand-in CUDA device.
device = "cpu"


def takeCudaFlag():
    global device
    if "--cuda" in sys.argv:
        sys.argv.remove("--cuda")
        device = "cuda"
        requireNvrtc()


def runModel(*arguments, checked=False):
    """nncc-run on that device, which with `checked` examines every access to memory."""
    if device == "cpu":
        return run(program("nncc-run"), *arguments)
    environment = deviceEnvironment(CUDA_EMULATOR_MODE="checked" if checked else "plain")
    return run(program("nncc-run"), *arguments, "--device=cuda", env=environment)


class Tensor:
    """Raw bytes with NumPy's type string and a shape."""

    def __init__(self, numpyType, shape, data):
        self.type, self.shape, self.data = numpyType, list(shape), bytes(data)

    def values(self):
        values = array.array(ARRAY_CODE[self.type])
        values.frombytes(self.data)
        return values

    def rows(self, begin, end):
        """The part along the outermost dimension."""
        rowBytes = len(self.data) // self.shape[0]
        return Tensor(self.type, [end - begin] + self.shape[1:], self.data[begin * rowBytes:end * rowBytes])

    def writeNpy(self, path):
        shape = "(" + "".join(f"{extent}, " for extent in self.shape) + ")"
        header = f"{{'descr': '{self.type}', 'fortran_order': False, 'shape': {shape}, }}".encode()
        header += b" " * (-(len(header) + 11) % 64) + b"\n"
        with open(path, "wb") as file:
            file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + self.data)
        return path


def readNpy(path):
    with open(path, "rb") as file:
        raw = file.read()
    length = struct.unpack_from("<H", raw, 8)[0]
    fields = raw[10:10 + length].decode()
    shape = fields.split("'shape': (")[1].split(")")[0]
    return Tensor(fields.split("'descr': '")[1].split("'")[0], [int(d) for d in shape.split(",") if d.strip()],
                  raw[10 + length:])


def readSafetensors(path):
    """The metadata and the tensors by name."""
    with open(path, "rb") as file:
        raw = file.read()
    length = struct.unpack_from("<Q", raw)[0]
    header = json.loads(raw[8:8 + length])
    body = raw[8 + length:]
    metadata = header.pop("__metadata__", {})
    return metadata, {name: Tensor(NUMPY_TYPE[entry["dtype"]], entry["shape"], body[slice(*entry["data_offsets"])])
                      for name, entry in header.items()}


def writeSafetensors(path, tensors, metadata=None):
    header, offset = {"__metadata__": metadata} if metadata else {}, 0
    names = {numpyType: name for name, numpyType in NUMPY_TYPE.items()}
    for name, tensor in tensors.items():
        header[name] = {"dtype": names[tensor.type], "shape": tensor.shape,
                        "data_offsets": [offset, offset + len(tensor.data)]}
        offset += len(tensor.data)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + b"".join(tensor.data for tensor in tensors.values()))
    return path


def readDigits(folder, stem):
    """Images [count, 1, 28, 28] as byte / 255, and labels, from a pair of gzipped IDX files."""
    with gzip.open(os.path.join(folder, stem + "-images-idx3-ubyte.gz")) as file:
        pixels = file.read()[16:]
    with gzip.open(os.path.join(folder, stem + "-labels-idx1-ubyte.gz")) as file:
        labels = list(file.read()[8:])
    scaled = array.array("f", [byte / 255 for byte in range(256)])
    images = array.array("f", (scaled[byte] for byte in pixels))
    return Tensor("<f4", [len(labels), 1, 28, 28], images.tobytes()), labels


def argmax(values):
    return max(range(len(values)), key=values.__getitem__)


def crossEntropy(logits, labels, classes):
    """The mean over the rows, in double precision."""
    total = 0.0
    for row, label in enumerate(labels):
        scores = logits[row * classes:(row + 1) * classes]
        top = max(scores)
        total += math.log(sum(math.exp(score - top) for score in scores)) + top - scores[label]
    return total / len(labels)


class TestCase(unittest.TestCase):
    """A test with a folder of its own."""

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="nncc-test-")
        self.addCleanup(shutil.rmtree, self.folder)

    def path(self, name):
        return os.path.join(self.folder, name)

    def succeeds(self, *command, **options):
        result = run(*command, **options)
        self.assertEqual(result.returncode, 0, f"{' '.join(map(str, command))}\n{result.stdout}{result.stderr}")
        return result

    def runsModel(self, *arguments, checked=False):
        result = runModel(*arguments, checked=checked)
        self.assertEqual(result.returncode, 0, f"{' '.join(map(str, arguments))}\n{result.stdout}{result.stderr}")
        return result

    def compile(self, model, weights=None, *flags):
        """Compiles a model into this test's folder and gives the path of the shared object."""
        if device == "cuda":
            flags = ("--target=cuda", *flags)
        output = self.path(os.path.splitext(os.path.basename(model))[0] + ".so")
        self.succeeds(program("nncc"), model, *(["--weights", weights] if weights else []), "-o", output, *flags)
        return output
