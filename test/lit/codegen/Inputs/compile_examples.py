"""Compiles the CUDA C++ of every example with nvcc and with clang's CUDA front end.

Usage: compile_examples.py EXAMPLES TEMPORARY CUDA. nncc and clang++-22 are taken from the path, nvcc and the toolkit's headers from
CUDA. Prints what a compiler says, warnings too, then how many files there were and how many it said anything about."""

import concurrent.futures
import pathlib
import subprocess
import sys

examples, temporary, cuda = map(pathlib.Path, sys.argv[1:])


def compile(model):
    """What the first program has to say that says anything, or nothing."""
    source = temporary / (model.stem + ".cu")
    commands = [
        ["nncc", model, "--emit=cuda", "--arch=sm_80", "-o", source],
        ["clang++-22", "-x", "cuda", f"--cuda-path={cuda}", "--cuda-gpu-arch=sm_80", "--cuda-device-only", "-std=c++17",
         "-fsyntax-only", "-Wall", "-Wno-unknown-cuda-version", source],
        [cuda / "bin/nvcc", "--ptx", "-arch=sm_80", "-std=c++17", "-o", "/dev/null", source],
    ]
    for command in commands:
        done = subprocess.run(command, capture_output=True, text=True)
        said = done.stdout.strip() + done.stderr.strip()
        if done.returncode or said:
            return f"{model.name}: {command[0]} ended with {done.returncode}\n{said}"
    return ""


temporary.mkdir(parents=True, exist_ok=True)
models = sorted(examples.glob("*.nn"))
with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
    said = [text for text in pool.map(compile, models) if text]
print(*said, f"{len(models)} examples, {len(said)} refused", sep="\n")
