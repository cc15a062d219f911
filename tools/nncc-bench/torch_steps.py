"""PyTorch's training steps for nncc-bench --train --torch: builds a model, prints PyTorch's version, and for every line that comes in
does one step on a fixed random batch and prints its nanoseconds. The models are those of examples/ and of Training.cpp.

    torch_steps.py MODEL BATCH THREADS
"""

import sys
import time

import torch
from torch import nn


class Residual(nn.Module):
    """relu(body(x) + shortcut(x))"""

    def __init__(self, body, shortcut):
        super().__init__()
        self.body, self.shortcut = body, shortcut

    def forward(self, x):
        return torch.relu(self.body(x) + self.shortcut(x))


def conv_norm(inputs, outputs, kernel, stride=1):
    conv = nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, bias=False)
    return [conv, nn.BatchNorm2d(outputs)]


def residual(inputs, outputs, stride, body):
    same = stride == 1 and inputs == outputs
    return Residual(nn.Sequential(*body), nn.Identity() if same else nn.Sequential(*conv_norm(inputs, outputs, 1, stride)))


def resnet20():
    layers, inputs = [*conv_norm(3, 16, 3), nn.ReLU()], 16
    for channels, first in ((16, 1), (32, 2), (64, 2)):
        for stride in (first, 1, 1):
            body = [*conv_norm(inputs, channels, 3, stride), nn.ReLU(), *conv_norm(channels, channels, 3)]
            layers.append(residual(inputs, channels, stride, body))
            inputs = channels
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10))


def resnet50():
    layers, inputs = [*conv_norm(3, 64, 7, 2), nn.ReLU(), nn.MaxPool2d(3, 2, 1)], 64
    for channels, blocks, first in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
        for stride in (first, *[1] * (blocks - 1)):
            body = [*conv_norm(inputs, channels, 1), nn.ReLU(), *conv_norm(channels, channels, 3, stride), nn.ReLU(),
                    *conv_norm(channels, 4 * channels, 1)]
            layers.append(residual(inputs, 4 * channels, stride, body))
            inputs = 4 * channels
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(2048, 1000))


def lenet():
    return nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(),
                         nn.MaxPool2d(2), nn.Flatten(), nn.Linear(32 * 7 * 7, 64), nn.ReLU(), nn.Linear(64, 10))


def simple_cnn():
    return nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.Flatten(), nn.Linear(16 * 32 * 32, 10))


def mlp():
    return nn.Sequential(nn.Flatten(), nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 10))


class DecoderLayer(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU("tanh"), nn.Linear(4 * width, width), nn.Dropout(0.1))
        self.drop = nn.Dropout(0.1)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = (part.view(batch, length, self.heads, -1).transpose(1, 2) for part in self.qkv(self.ln_1(x)).chunk(3, dim=-1))
        y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.drop(self.out(y.transpose(1, 2).reshape(batch, length, width)))
        return x + self.mlp(self.ln_2(x))


class CharTransformer(nn.Module):
    """examples/char_transformer.nn; its scores are those of all places of all texts, one after the other."""

    def __init__(self, length=64, vocabulary=256, width=96, heads=4, depth=3):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(vocabulary, width), nn.Parameter(0.02 * torch.randn(length, width))
        self.layers = nn.Sequential(*(DecoderLayer(width, heads) for _ in range(depth)))
        self.ln_f = nn.LayerNorm(width)

    def forward(self, tokens):
        x = self.ln_f(self.layers(self.wte(tokens) + self.wpe))
        return (x @ self.wte.weight.T).flatten(0, 1)


# Builder, shape of a sample (of tokens, where its classes are), classes, optimizer.
MODELS = {
    "lenet": (lenet, (1, 28, 28), 10, lambda p: torch.optim.SGD(p, 0.05, momentum=0.9, weight_decay=1e-4)),
    "simple_cnn_cifar10": (simple_cnn, (3, 32, 32), 10, lambda p: torch.optim.SGD(p, 0.001, momentum=0.9)),
    "simple_net_mnist": (mlp, (1, 28, 28), 10, lambda p: torch.optim.Adam(p, 0.001)),
    "char_transformer": (CharTransformer, (64,), 256, lambda p: torch.optim.AdamW(p, 2e-3, weight_decay=0.01)),
    "resnet20": (resnet20, (3, 32, 32), 10, lambda p: torch.optim.SGD(p, 0.1, momentum=0.9, weight_decay=1e-4)),
    "resnet50": (resnet50, (3, 224, 224), 1000, lambda p: torch.optim.SGD(p, 0.1, momentum=0.9, weight_decay=1e-4)),
}


def main():
    name, batch, threads = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    torch.set_num_threads(threads)
    torch.manual_seed(1)
    build, shape, classes, make_optimizer = MODELS[name]
    model = build().train()
    optimizer = make_optimizer(model.parameters())
    if len(shape) == 1:
        x, label = torch.randint(classes, (batch, *shape)), torch.randint(classes, (batch * shape[0],))
    else:
        x, label = torch.randn(batch, *shape), torch.randint(classes, (batch,))
    clips = name == "char_transformer"

    def step():
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), label)
        loss.backward()
        if clips:
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return loss.item()

    for _ in range(3):
        step()
    print(torch.__version__, flush=True)
    for _ in sys.stdin:
        start = time.perf_counter_ns()
        step()
        print(time.perf_counter_ns() - start, flush=True)


main()
