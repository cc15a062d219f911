"""The networks of examples/ in PyTorch, with the parameter names that their .nn texts have."""

import torch
from torch import nn
from torch.nn import functional as F


class BasicBlock(nn.Module):
    expansion = 1

    def __init__(self, inputs, channels, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, channels, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(channels)
        self.downsample = shortcut(inputs, channels, stride)

    def forward(self, x):
        y = self.bn1(self.conv1(x)).relu()
        return (self.bn2(self.conv2(y)) + (self.downsample(x) if self.downsample else x)).relu()


class Bottleneck(nn.Module):
    expansion = 4

    def __init__(self, inputs, channels, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, channels, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, stride, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(channels)
        self.conv3 = nn.Conv2d(channels, 4 * channels, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(4 * channels)
        self.downsample = shortcut(inputs, 4 * channels, stride)

    def forward(self, x):
        y = self.bn1(self.conv1(x)).relu()
        y = self.bn2(self.conv2(y)).relu()
        return (self.bn3(self.conv3(y)) + (self.downsample(x) if self.downsample else x)).relu()


def shortcut(inputs, outputs, stride):
    if stride == 1 and inputs == outputs:
        return None
    return nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))


class ResNet(nn.Module):
    def __init__(self, block, blocks, classes=1000):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 64, 7, 2, 3, bias=False)
        self.bn1 = nn.BatchNorm2d(64)
        inputs = 64
        for stage, count in enumerate(blocks):
            layers = []
            for i in range(count):
                layers.append(block(inputs, 64 << stage, 2 if stage and i == 0 else 1))
                inputs = block.expansion * (64 << stage)
            setattr(self, f"layer{stage + 1}", nn.Sequential(*layers))
        self.fc = nn.Linear(inputs, classes)

    def forward(self, image):
        x = F.max_pool2d(self.bn1(self.conv1(image)).relu(), 3, 2, 1)
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return {"logits": self.fc(x.mean((2, 3)))}


def convBnRelu(inputs, channels, kernel=3, stride=1, groups=1):
    return nn.Sequential(nn.Conv2d(inputs, channels, kernel, stride, (kernel - 1) // 2, groups=groups, bias=False),
                         nn.BatchNorm2d(channels), nn.ReLU6())


class InvertedResidual(nn.Module):
    def __init__(self, inputs, channels, stride, expansion):
        super().__init__()
        hidden = inputs * expansion
        layers = [convBnRelu(inputs, hidden, 1)] if expansion != 1 else []
        layers += [convBnRelu(hidden, hidden, stride=stride, groups=hidden), nn.Conv2d(hidden, channels, 1, bias=False),
                   nn.BatchNorm2d(channels)]
        self.conv = nn.Sequential(*layers)
        self.isResidual = stride == 1 and inputs == channels

    def forward(self, x):
        return x + self.conv(x) if self.isResidual else self.conv(x)


class MobileNetV2(nn.Module):
    STAGES = [(1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)]

    def __init__(self, classes=1000):
        super().__init__()
        layers, inputs = [convBnRelu(3, 32, stride=2)], 32
        for expansion, channels, count, stride in self.STAGES:
            for i in range(count):
                layers.append(InvertedResidual(inputs, channels, stride if i == 0 else 1, expansion))
                inputs = channels
        self.features = nn.Sequential(*layers, convBnRelu(inputs, 1280, 1))
        self.classifier = nn.Sequential(nn.Dropout(0.2), nn.Linear(1280, classes))

    def forward(self, image):
        return {"logits": self.classifier(self.features(image).mean((2, 3)))}


class TransformerEncoder(nn.Module):
    def __init__(self, vocabulary=1000, length=32, width=64, heads=4, depth=2, classes=4):
        super().__init__()
        self.positions = nn.Parameter(torch.zeros(1, length, width))
        self.embed = nn.Embedding(vocabulary, width)
        layer = nn.TransformerEncoderLayer(width, heads, 4 * width, activation="gelu", batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, depth, nn.LayerNorm(width), enable_nested_tensor=False)
        self.classifier = nn.Linear(width, classes)

    def forward(self, tokens, mask):
        x = self.encoder(self.embed(tokens) + self.positions, src_key_padding_mask=~mask)
        weight = mask.unsqueeze(2).to(x.dtype)
        logits = self.classifier((x * weight).sum(1) / weight.sum(1))
        return {"logits": logits, "probabilities": logits.softmax(-1)}


class LstmClassifier(nn.Module):
    def __init__(self, vocabulary=5000):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, 64)
        self.lstm = nn.LSTM(64, 128, 2, batch_first=True)
        self.fc = nn.Linear(128, 2)

    def forward(self, tokens):
        return {"logits": self.fc(self.lstm(self.embedding(tokens))[0][:, -1])}
