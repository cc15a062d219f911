"""Writes test/data/reference/mixed_precision/*.npy: the losses of trainings under PyTorch's autocast, and what its gradient scaler does.

Models, first weights and digits are those of the repository, in file order; `mixed_precision.py` needs PyTorch 2.4 or later, which has
autocast in float16 and a gradient scaler on the CPU. Losses are those before each update.

    PRECISION_MODEL.npy   losses of `mlp` (examples/simple_net_mnist.nn) and `lenet` in bf16, in f16 with the scaler, and in f32
    scaler.npy            [20, 4], `mlp` with a scale that overflows: loss, then scale, growth tracker and whether the update was made
"""

import os
import sys

import numpy
import torch

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "e2e"))

import harness

REFERENCE = os.path.join(harness.DATA, "reference")
TARGET = os.path.join(REFERENCE, "mixed_precision")
BATCH = 20
# Learning rate of Adam, and steps: as long as a training of LeNet in f32 and one in f16 stay within a hundredth of each other.
TRAININGS = {"mlp": (0.001, 100), "lenet": (0.0005, 50)}
TYPES = {"f32": None, "bf16": torch.bfloat16, "f16": torch.float16}


class Mlp(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = torch.nn.Linear(784, 128)
        self.fc2 = torch.nn.Linear(128, 10)

    def forward(self, image):
        return self.fc2(torch.relu(self.fc1(image.flatten(1))))


class LeNet(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = torch.nn.Conv2d(1, 16, 3, padding=1)
        self.conv2 = torch.nn.Conv2d(16, 32, 3, padding=1)
        self.fc1 = torch.nn.Linear(1568, 64)
        self.fc2 = torch.nn.Linear(64, 10)

    def forward(self, image):
        x = torch.max_pool2d(torch.relu(self.conv1(image)), 2)
        x = torch.max_pool2d(torch.relu(self.conv2(x)), 2)
        return self.fc2(torch.relu(self.fc1(x.flatten(1))))


def digits():
    images, labels = harness.readDigits(os.path.join(harness.DATA, "mnist"), "digits1k")
    return torch.frombuffer(bytearray(images.data), dtype=torch.float32).reshape(images.shape), torch.tensor(labels)


def create(name):
    model = {"mlp": Mlp, "lenet": LeNet}[name]()
    folder = {"mlp": "simple_net_mnist", "lenet": "lenet_mnist_train"}[name]
    _, tensors = harness.readSafetensors(os.path.join(REFERENCE, folder, "init.safetensors"))
    model.load_state_dict({key: torch.frombuffer(bytearray(tensor.data), dtype=torch.float32).reshape(tensor.shape)
                           for key, tensor in tensors.items()})
    return model


def train(model, optimizer, dtype, scaler, steps):
    """Yields the loss and the scaler's state after each step."""
    images, labels = digits()
    count = len(labels) // BATCH
    for step in range(steps):
        part = slice(step % count * BATCH, (step % count + 1) * BATCH)
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype, enabled=dtype is not None):
            loss = torch.nn.functional.cross_entropy(model(images[part]), labels[part])
        before = [parameter.detach().clone() for parameter in model.parameters()]
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        moved = any(not torch.equal(was, now) for was, now in zip(before, model.parameters()))
        state = scaler.state_dict()
        yield (loss.item(), state.get("scale", 1.0), state.get("_growth_tracker", 0), float(moved))


def main():
    os.makedirs(TARGET, exist_ok=True)
    for precision, dtype in TYPES.items():
        for name, (rate, steps) in TRAININGS.items():
            scaler = torch.amp.GradScaler("cpu", enabled=precision == "f16")
            model = create(name)
            optimizer = torch.optim.Adam(model.parameters(), lr=rate)
            numpy.save(os.path.join(TARGET, f"{precision}_{name}.npy"),
                       numpy.array([row[0] for row in train(model, optimizer, dtype, scaler, steps)], numpy.float32))

    # A first scale under which all gradients overflow, and growth that comes back to one that overflows. Between lie scales under which
    # it depends on the order of a sum whether they do; no step has one of them.
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**40, growth_factor=2.0**12, backoff_factor=2.0**-13, growth_interval=3)
    model = create("mlp")
    optimizer = torch.optim.Adam(model.parameters(), lr=0.001)
    rows = numpy.array(list(train(model, optimizer, torch.float16, scaler, 20)), numpy.float32)
    numpy.save(os.path.join(TARGET, "scaler.npy"), rows)


if __name__ == "__main__":
    main()
