"""png.py FILE WIDTHxHEIGHT BYTE...: a grey or (with three times as many bytes) coloured PNG, by the format's text."""

import struct
import sys
import zlib

width, height = (int(extent) for extent in sys.argv[2].split("x"))
values = bytes(int(value) for value in sys.argv[3:])
channels = len(values) // (width * height)
rows = b"".join(b"\0" + values[i : i + width * channels] for i in range(0, len(values), width * channels))


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


with open(sys.argv[1], "wb") as file:
    file.write(b"\x89PNG\r\n\x1a\n")
    file.write(chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, {1: 0, 3: 2}[channels], 0, 0, 0)))
    file.write(chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))
