"""What a family of reference cases is made of: `add` collects a case, `write` puts a family into one safetensors file."""

import json
import struct
import zlib

import torch

DTYPES = {torch.float32: ("F32", "f32"), torch.float16: ("F16", "f16"), torch.bfloat16: ("BF16", "bf16"),
          torch.float64: ("F64", "f64"), torch.int32: ("I32", "i32"), torch.int64: ("I64", "i64"),
          torch.bool: ("BOOL", "bool"), torch.uint8: ("U8", "u8"), torch.int8: ("I8", "i8")}


class Case:
    """One model with its inputs, weights and PyTorch's outputs."""

    def __init__(self, name):
        self.name = name
        self.text = ""
        self.inputs, self.weights, self.outputs = {}, {}, {}
        self.generator = torch.Generator().manual_seed(zlib.crc32(name.encode()))

    def normal(self, *shape, scale=1.0):
        return torch.randn(*shape, generator=self.generator) * scale

    def uniform(self, low, high, *shape):
        return torch.rand(*shape, generator=self.generator) * (high - low) + low

    def integers(self, low, high, *shape, dtype=torch.int64):
        return torch.randint(low, high, shape, generator=self.generator, dtype=dtype)

    def distinct(self, *shape):
        """Values without ties, for max and argmax."""
        count = torch.Size(shape).numel()
        return (torch.randperm(count, generator=self.generator).float() / count * 4 - 2).reshape(shape)


class Family:
    """Cases that share a file. A case is a function from a Case to the body of its model; its name is the case's name."""

    def __init__(self, name):
        self.name = name
        self.cases = []

    def add(self, name, body, inputs, expect, weights=None, batched=True, dims=None):
        """`inputs` and `weights` are functions of the case (for its random values) or dicts; `expect` takes the
        weights by their path, if there are any, and the inputs, and gives the output y or a dict of outputs. The first
        input's leading dimension is N in all inputs, unless `batched` is false; `dims` gives the text of an input's
        dimensions, such as {"x": "N, 3, H, W"}."""
        if any(name == other.name for other in self.cases):
            raise ValueError(f"two cases named {name}")
        case = Case(name)
        case.inputs = inputs(case) if callable(inputs) else inputs
        case.weights = (weights(case) if callable(weights) else weights) or {}
        leading = (case.weights,) if case.weights else ()
        with torch.no_grad():
            outputs = expect(*leading, *case.inputs.values())
        case.outputs = outputs if isinstance(outputs, dict) else {"y": outputs}
        case.text = self.modelText(case, body, batched, dims or {})
        self.cases.append(case)

    def addText(self, name, text, inputs, expect):
        """A case whose model is given as a whole, in IR; `expect` takes the inputs by name."""
        if any(name == other.name for other in self.cases):
            raise ValueError(f"two cases named {name}")
        case = Case(name)
        case.text = text
        case.inputs = inputs(case)
        with torch.no_grad():
            case.outputs = {"y": expect(**case.inputs)}
        self.cases.append(case)

    def everywhere(self, name, body, inputs, expect, weights=None, dims=None, dtypes=(torch.float16, torch.bfloat16, torch.float64)):
        """A case for each dtype, computed in double precision from the rounded inputs and weights; the outputs are rounded once.
        Integers and bools stay what they are."""
        for dtype in dtypes:
            def rounded(draw, dtype=dtype):
                return lambda case: {key: value.to(dtype) if value.is_floating_point() else value for key, value in draw(case).items()}

            def compute(*arguments, dtype=dtype):
                if weights:
                    arguments = ({key: value.double() for key, value in arguments[0].items()}, *arguments[1:])
                outputs = expect(*(value.double() if isinstance(value, torch.Tensor) and value.is_floating_point() else value
                                   for value in arguments))
                outputs = outputs if isinstance(outputs, dict) else {"y": outputs}
                return {key: value.to(dtype) if value.is_floating_point() else value for key, value in outputs.items()}

            self.add(f"{name}_{DTYPES[dtype][1]}", body, rounded(inputs), compute, rounded(weights) if weights else None, dims=dims)

    @staticmethod
    def modelText(case, body, batched, dimsOf):
        first = next(iter(case.inputs.values()))
        batch = first.shape[0] if batched and first.dim() >= 2 else None
        parameters = []
        for name, value in case.inputs.items():
            dims = [str(extent) for extent in value.shape]
            if batch is not None and dims and value.shape[0] == batch:
                dims[0] = "N"
            parameters.append(f"{name}: {DTYPES[value.dtype][1]}[{dimsOf.get(name, ', '.join(dims))}]")
        lines = [line.strip() for line in body.strip().splitlines()]
        if not any(line.startswith("return") for line in lines):
            lines.append("return " + ", ".join(case.outputs))
        body = "".join(f"  {line}\n" for line in lines)
        return f"nn 1\n\nmodel Case({', '.join(parameters)}) {{\n{body}}}\n"

    def write(self, path):
        header, blobs, offset = {"__metadata__": {case.name: case.text for case in self.cases}}, [], 0
        for case in self.cases:
            for role, tensors in (("input", case.inputs), ("weight", case.weights), ("output", case.outputs)):
                for name, value in tensors.items():
                    value = value.contiguous()
                    blob = (value.view(torch.int16) if value.dtype == torch.bfloat16 else value).numpy().tobytes()
                    header[f"{case.name}/{role}/{name}"] = {
                        "dtype": DTYPES[value.dtype][0], "shape": list(value.shape),
                        "data_offsets": [offset, offset + len(blob)]}
                    blobs.append(blob)
                    offset += len(blob)
        text = json.dumps(header, separators=(",", ":")).encode()
        text += b" " * (-len(text) % 8)
        with open(path, "wb") as file:
            file.write(struct.pack("<Q", len(text)) + text + b"".join(blobs))
        return offset + len(text) + 8
