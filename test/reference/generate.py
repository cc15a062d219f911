"""Writes test/data/ops/*.safetensors from the families in this folder; README.md says how and why. Needs PyTorch."""

import importlib
import os
import sys

import torch

HERE = os.path.dirname(os.path.abspath(__file__))
TARGET = os.path.join(os.path.dirname(HERE), "data", "ops")
FAMILIES = ["convolution", "pooling", "matmul", "normalisation", "activation", "elementwise", "special_values",
            "integers", "casts", "reduction", "movement", "recurrent", "attention", "fusion", "placement",
            "precisions", "tensor_cores", "contraction_gradients"]


def main():
    sys.path.insert(0, HERE)
    torch.set_num_threads(1)
    os.makedirs(TARGET, exist_ok=True)
    for name in sys.argv[1:] or FAMILIES:
        family = importlib.import_module(name).family
        size = family.write(os.path.join(TARGET, name + ".safetensors"))
        print(f"{name:15}{len(family.cases):4} cases{size / 1024:8.0f} KiB")


if __name__ == "__main__":
    main()
