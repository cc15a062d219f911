"""npy.py write FILE ROWSxCOLUMNS VALUES..., or npy.py check FILE ROWSxCOLUMNS VALUES...: float32 .npy files, by the format's text."""

import struct
import sys

action, path, shape = sys.argv[1:4]
values = [float(value) for value in sys.argv[4:]]
rows, columns = (int(extent) for extent in shape.split("x"))
assert len(values) == rows * columns
data = struct.pack(f"<{len(values)}f", *values)
if action == "write":
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({rows}, {columns}), }}"
    header += " " * (-(10 + len(header) + 1) % 64) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + data)
else:
    with open(path, "rb") as file:
        found = file.read()
    assert found[:6] == b"\x93NUMPY", "not an .npy file"
    end = 10 + struct.unpack("<H", found[8:10])[0]
    header = eval(found[10:end])
    assert header == {"descr": "<f4", "fortran_order": False, "shape": (rows, columns)}, header
    assert found[end:] == data, struct.unpack(f"<{len(found[end:]) // 4}f", found[end:])
