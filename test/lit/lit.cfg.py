# The lit suites: one folder per stage of the compiler (ir, passes, ...), one file per op, pass or flag, named after it.
# Takes the build tree's folders from lit.site.cfg.py, which CMake writes; so point lit at the build tree:
#     /usr/lib/llvm-22/bin/lit -v build/release/test/lit/ir/encoding.mlir

import ctypes
import os
import platform
import shutil

import lit.formats

if not hasattr(config, "nncc_bin_dir"):
    lit_config.fatal("point lit at the build tree (build/release/test/lit/...), or run ctest")

config.name = "nncc"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".nn", ".test"]
config.excludes = ["Inputs"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.nncc_build_dir, "test", "lit")

# The project's programs first, then FileCheck, not, count and split-file.
config.environment["PATH"] = os.pathsep.join(
    [config.nncc_bin_dir, config.llvm_tools_dir, os.environ.get("PATH", "")])
for name in ("NNCC_TEST_DATA", "NNCC_NVRTC", "LD_LIBRARY_PATH", "ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS"):
    if name in os.environ:
        config.environment[name] = os.environ[name]

config.substitutions.append(("%examples", os.path.join(config.nncc_source_dir, "examples")))
config.substitutions.append(("%data", os.path.join(config.nncc_source_dir, "test", "data")))
config.substitutions.append(("%python", config.python_executable))


def cpu_flags():
    """The instruction sets of this machine, as the kernel names them."""
    try:
        with open("/proc/cpuinfo") as info:
            for line in info:
                if line.startswith(("flags", "Features")):
                    return set(line.split(":", 1)[1].split())
    except OSError:
        pass
    return set()


def has_nvrtc():
    """NVRTC loads, as runtime/cuda/Nvrtc.cpp would load it."""
    chosen = os.environ.get("NNCC_NVRTC")
    for name in [chosen] if chosen else ["libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so", "/usr/local/cuda/lib64/libnvrtc.so"]:
        try:
            ctypes.CDLL(name)
            return True
        except OSError:
            pass
    return False


def cuda_toolkit():
    """The folder of a CUDA toolkit with nvcc, or None."""
    candidates = [os.environ.get("CUDA_PATH"), os.environ.get("CUDA_HOME"), "/usr/local/cuda"]
    return next((path for path in candidates if path and os.access(os.path.join(path, "bin", "nvcc"), os.X_OK)), None)


# What a test may require: an architecture, an instruction set, a sanitizer, NVRTC, a CUDA toolkit and clang.
machine = platform.machine().lower()
config.available_features.add({"amd64": "x86_64", "arm64": "aarch64"}.get(machine, machine))
config.available_features.update(cpu_flags() & {"avx2", "avx512f", "avx512_bf16"})
config.available_features.update(name for name in config.nncc_sanitize.split(",") if name)

if has_nvrtc():
    config.available_features.add("nvrtc")
else:
    lit_config.note("NVRTC cannot be loaded: the tests that compile CUDA C++ are skipped; tools/setup --nvrtc gets it")

toolkit = cuda_toolkit()
if toolkit and shutil.which("clang++-22"):
    config.available_features.add("cuda-toolkit")
    config.substitutions.append(("%cuda", toolkit))
