"""Writes test/data/examples/*.safetensors: what PyTorch makes of the networks of examples/, computed in double precision.

Weights and inputs are too large to keep: both sides make them from their names (test/e2e/synthetic.py). A file holds the
outputs, and in its metadata the recipes of weights and inputs. `examples.py [NAME...]`; needs PyTorch.
"""

import json
import os
import sys

import torch

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "e2e"))

import harness
import networks
import synthetic

TARGET = os.path.join(harness.DATA, "examples")
IMAGE = ("image", (3, 224, 224), ["uniform", -2, 2])


def tokens(length, vocabulary):
    return ("tokens", (length,), ["integers", 0, vocabulary])


# The network, and for each run its batch and inputs: name, shape without the batch, recipe.
EXAMPLES = {
    "resnet18": (lambda: networks.ResNet(networks.BasicBlock, (2, 2, 2, 2)), [(1, [IMAGE]), (3, [IMAGE])]),
    "resnet50": (lambda: networks.ResNet(networks.Bottleneck, (3, 4, 6, 3)), [(1, [IMAGE]), (2, [IMAGE])]),
    "mobilenet_v2": (networks.MobileNetV2, [(1, [IMAGE]), (3, [IMAGE])]),
    "transformer_encoder": (networks.TransformerEncoder,
                            [(batch, [tokens(32, 1000), ("mask", (32,), ["mask"])]) for batch in (1, 7, 33)]),
    "lstm_classifier": (networks.LstmClassifier,
                        [(batch, [tokens(length, 5000)]) for batch, length in ((1, 1), (3, 17), (20, 40))]),
}


def recipe(name, shape, module):
    """Weights of about unit gain, so that in a deep network the outputs depend on the inputs and stay in range. A batch norm
    divides by what the convolution before it gives for inputs of unit variance, within a factor of two; its weights make up
    for what relu takes away."""
    leaf = name.rsplit(".", 1)[-1]
    if leaf == "running_var":
        return ["uniform", round(0.5 * module.gain, 4), round(1.5 * module.gain, 4)]
    if leaf == "running_mean":
        return ["uniform", *(round(bound * module.gain**0.5, 4) for bound in (-0.4, 0.4))]
    if isinstance(module, (torch.nn.BatchNorm2d, torch.nn.LayerNorm)) and leaf == "weight":
        return ["uniform", 0.8, 1.6]
    if len(shape) >= 2 and "embed" not in name and leaf != "positions":
        return ["spread", spreadExponent(shape)]
    if "embed" in name:
        return ["spread", 1]
    return ["uniform", -0.3, 0.3]


def spreadExponent(shape):
    """The odd power of two that keeps the variance of a product with unit-variance inputs nearest to one."""
    fanIn = torch.Size(shape[1:]).numel()
    return min(range(-13, 4, 2), key=lambda e: abs(torch.log(torch.tensor(synthetic.spreadVariance(e) * fanIn)).item()))


def recipes(network):
    modules = dict(network.named_modules())
    result, gain = {}, 1.0
    for name, value in network.state_dict().items():
        if name.endswith("num_batches_tracked"):
            continue
        module = modules[name.rsplit(".", 1)[0]] if "." in name else network
        if isinstance(module, torch.nn.Conv2d):
            gain = synthetic.spreadVariance(spreadExponent(value.shape)) * value[0].numel()
        if isinstance(module, torch.nn.BatchNorm2d):
            module.gain = gain
        result[name] = [list(value.shape), recipe(name, value.shape, module)]
    return result


def toTorch(tensor):
    values = torch.frombuffer(bytearray(tensor.data), dtype={"<f4": torch.float32, "<i8": torch.int64, "|b1": torch.bool}[
        tensor.type]).reshape(tensor.shape)
    return values.double() if values.dtype == torch.float32 else values


def write(name):
    network, runs = EXAMPLES[name][0]().double().eval(), EXAMPLES[name][1]
    weights = recipes(network)
    state = network.state_dict()
    state.update({path: toTorch(synthetic.make(f"{name}/{path}", *entry)) for path, entry in weights.items()})
    network.load_state_dict(state)
    plan, outputs = {"weights": weights, "runs": []}, {}
    for i, (batch, inputs) in enumerate(runs):
        recipesOfInputs = {key: [[batch, *shape], how] for key, shape, how in inputs}
        values = {key: toTorch(synthetic.make(f"{name}/{i}/{key}", *entry)) for key, entry in recipesOfInputs.items()}
        with torch.no_grad():
            results = network(**values)
        for key, value in results.items():
            value = value.float()
            outputs[f"{i}/{key}"] = harness.Tensor("<f4", value.shape, value.contiguous().numpy().tobytes())
            spreadOverBatch = value.std(0).mean() if batch > 1 else 0
            print(f"{name:20} run {i} {key}: largest {value.abs().max():.3g}, std over the batch {spreadOverBatch:.3g}")
        plan["runs"].append({"inputs": recipesOfInputs, "outputs": list(results)})
    os.makedirs(TARGET, exist_ok=True)
    harness.writeSafetensors(os.path.join(TARGET, name + ".safetensors"), outputs,
                             {"plan": json.dumps(plan, separators=(",", ":"))})


if __name__ == "__main__":
    for example in sys.argv[1:] or EXAMPLES:
        write(example)
