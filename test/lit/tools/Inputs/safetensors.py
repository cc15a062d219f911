"""safetensors.py FILE NAME=DTYPE:EXTENTxEXTENT...: a file of zeros in the safetensors format, by the format's text."""

import json
import math
import struct
import sys

header, end = {}, 0
for tensor in sys.argv[2:]:
    name, type_text = tensor.split("=")
    dtype, extents = type_text.split(":")
    shape = [int(extent) for extent in extents.split("x")]
    size = math.prod(shape) * {"F32": 4, "F16": 2}[dtype]
    header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [end, end + size]}
    end += size
text = json.dumps(header).encode()
with open(sys.argv[1], "wb") as file:
    file.write(struct.pack("<Q", len(text)) + text + bytes(end))
