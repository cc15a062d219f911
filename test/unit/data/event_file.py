"""Event files, against an encoder and a decoder written here from the formats' descriptions (TFRecord, protobuf's wire format,
tensorflow's event.proto and summary.proto). Takes the path of event_writer."""

import math
import os
import struct
import subprocess
import sys
import tempfile
import time
import unittest

writer = sys.argv.pop()


def crc32c(data):
    """Bit by bit, as the definition has it: the polynomial 1EDC6F41, reflected."""
    crc = 0xFFFFFFFF
    for byte in data:
        for bit in range(8):
            low = (crc ^ (byte >> bit)) & 1
            crc >>= 1
            if low:
                crc ^= 0x82F63B78
    return crc ^ 0xFFFFFFFF


def masked(data):
    crc = crc32c(data)
    return (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF


def record(message):
    length = struct.pack("<Q", len(message))
    return length + struct.pack("<I", masked(length)) + message + struct.pack("<I", masked(message))


def varint(value):
    groups = []
    while True:
        value, group = divmod(value, 128)
        groups.append(group + (128 if value else 0))
        if not value:
            return bytes(groups)


def chunk(field, data):
    return varint(field * 8 + 2) + varint(len(data)) + data


def event(wall_time, step=0, version=None, scalars=()):
    message = b"\x09" + struct.pack("<d", wall_time)
    if step:
        message += b"\x10" + varint(step)
    if version:
        message += chunk(3, version.encode())
    if scalars:
        values = [chunk(1, tag.encode()) + b"\x15" + struct.pack("<f", value) for tag, value in scalars]
        message += chunk(5, b"".join(chunk(1, value) for value in values))
    return message


def records(data):
    while data:
        length, crc = struct.unpack_from("<QI", data)
        assert crc == masked(data[:8])
        message = data[12:12 + length]
        assert struct.unpack_from("<I", data, 12 + length)[0] == masked(message)
        yield message
        data = data[16 + length:]


def wall_time_of(message):
    assert message[0] == 9
    return struct.unpack_from("<d", message, 1)[0]


class EventFile(unittest.TestCase):
    def testKnownChecksums(self):
        """Of this file's own function: the vectors of RFC 3720, B.4."""
        self.assertEqual(crc32c(bytes(32)), 0x8A9136AA)
        self.assertEqual(crc32c(b"\xff" * 32), 0x62A8AB43)
        self.assertEqual(crc32c(bytes(range(32))), 0x46DD794E)

    def testBytesAreTheEncoders(self):
        expected = record(event(1700000000.25, version="brain.Event:2")) + record(
            event(1700000001.5, 123456789012, scalars=[("train/loss", 0.625), ("größe", -math.inf)]))
        self.assertEqual(subprocess.run([writer], stdout=subprocess.PIPE, check=True).stdout, expected)

    def testAFileHoldsItsEvents(self):
        with tempfile.TemporaryDirectory() as folder:
            before = time.time()
            run = lambda: subprocess.run([writer, os.path.join(folder, "run", "a")], stdout=subprocess.PIPE, check=True, text=True)
            paths = [run().stdout.strip() for _ in range(2)]
            after = time.time()
            self.assertNotEqual(paths[0], paths[1])
            for path in paths:
                self.assertRegex(os.path.basename(path), r"^events\.out\.tfevents\.\d{10}\..+")
                with open(path, "rb") as file:
                    messages = list(records(file.read()))
                times = [wall_time_of(message) for message in messages]
                self.assertEqual(times, sorted(times))
                self.assertTrue(before - 1 <= times[0] and times[-1] <= after + 1)
                self.assertEqual(messages[0], event(times[0], version="brain.Event:2"))
                self.assertEqual(len(messages), 5)
                for step, message in enumerate(messages[1:]):
                    self.assertEqual(message, event(times[step + 1], step * 100,
                                                    scalars=[("loss", 1 / (step + 1)), ("accuracy", 0.25)]))


if __name__ == "__main__":
    unittest.main()
