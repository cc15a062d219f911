"""Weights and inputs that need no file: the same bytes from a name on every machine, with nothing but the standard library.

Bytes come from SHAKE-128 of the name, so that a tensor does not depend on the others. A recipe is how a tensor's bytes become
values: ["spread", e] for large weights, ["uniform", low, high] for short vectors, ["integers", low, high] for indices and
["mask"] for booleans.
"""

import array
import hashlib
import math

import harness


def randomBytes(name, count):
    return hashlib.shake_128(name.encode()).digest(count)


def spread(name, count, exponent):
    """f32 of either sign with magnitudes from 2^(exponent - 5) to 2^exponent, log-uniformly: each of these six binades is as
    likely. Only bytes are moved, since a network has millions of weights."""
    raw = bytearray(randomBytes(name, 4 * count))
    # Little-endian f32: sign and the upper seven bits of the exponent in the last byte, the exponent's last bit before it.
    upper = (exponent - 1 + 127) >> 1
    assert (exponent - 1 + 127) & 1, "the last bit of the biased exponent is random, so the largest one must be odd"
    table = bytes((byte & 0x80) | (upper - byte % 3) for byte in range(256))
    raw[3::4] = raw[3::4].translate(table)
    return harness.Tensor("<f4", [count], raw)


def spreadVariance(exponent):
    """The mean square of `spread`: of 2^k times uniform in [1, 2), six equally likely k."""
    return sum(4.0**k for k in range(exponent - 6, exponent)) / 6 * 7 / 3


def uniform(name, count, low, high):
    words = array.array("I", randomBytes(name, 4 * count))
    return harness.Tensor("<f4", [count], array.array("f", (low + (high - low) * word / 2**32 for word in words)).tobytes())


def integers(name, count, low, high):
    words = array.array("I", randomBytes(name, 4 * count))
    return harness.Tensor("<i8", [count], array.array("q", (low + word % (high - low) for word in words)).tobytes())


def mask(name, count):
    return harness.Tensor("|b1", [count], bytes(byte & 1 for byte in randomBytes(name, count)))


RECIPES = {"spread": spread, "uniform": uniform, "integers": integers, "mask": mask}


def make(name, shape, recipe):
    """The tensor `name` of a shape, by a recipe."""
    tensor = RECIPES[recipe[0]](name, math.prod(shape), *recipe[1:])
    tensor.shape = list(shape)
    return tensor
