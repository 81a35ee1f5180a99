"""16-bit floats, alone and in pairs, against rationals rounded once."""

import math
from fractions import Fraction

import numpy as np
import pytest

from course_lib.emulator.isa.formats import bf16_value

from .reference import BF16, F16

FORMS = {"f16": F16, "bf16": BF16}
RNG = np.random.default_rng(4)


def registers(name, bits):
    """16-bit patterns as registers of the format."""
    bits = np.asarray(bits, np.uint16)
    return bits.view(np.float16) if name == "f16" else bits


def numbers(name, register):
    """The float values of registers."""
    return (register if name == "f16" else bf16_value(np.atleast_1d(register))).astype(float).tolist()


def finite(name, count):
    """Random finite registers of all sizes, and corners."""
    bits = RNG.integers(0, 2**16, 3 * count).astype(np.uint16)
    kept = bits[np.isfinite(numbers(name, registers(name, bits)))][: count - 6]
    return registers(name, np.concatenate([kept, [0, 0x8000, 1, 0x8001, 0x3C00, 0x3F80]]))


RULES = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "fma.rn": lambda a, b, c: a * b + c,
}


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("operation", RULES)
def test_rounded_once(run, name, operation):
    count = 3 if operation == "fma.rn" else 2
    operands = [finite(name, 1500) for _ in range(count)]
    result = numbers(name, run(f"{operation}.{name}", *operands))
    for got, *values in zip(result, *(numbers(name, x) for x in operands), strict=True):
        exact = RULES[operation](*map(Fraction, values))
        assert got == FORMS[name].round(exact)


@pytest.mark.parametrize("name", FORMS)
def test_fma_keeps_a_tiny_addend_after_a_tie(run, name):
    """The product ends in a tie; for bf16 the addend is far below what float64 keeps next to it."""
    a = {"f16": np.float16(1 + 2.0**-5), "bf16": np.uint16(0x3F88)}[name]
    b = {"f16": np.float16(1 + 2.0**-6), "bf16": np.uint16(0x3F88)}[name]
    tiny = {"f16": np.float16(2.0**-24), "bf16": np.uint16(0x0001)}[name]
    x, y, addend = (Fraction(numbers(name, np.array([v]))[0]) for v in (a, b, tiny))
    assert FORMS[name].round(x * y) < FORMS[name].round(x * y + addend)
    result = run(f"fma.rn.{name}", np.array([a]), np.array([b]), tiny)
    assert numbers(name, result) == [FORMS[name].round(x * y + addend)]


@pytest.mark.parametrize("name", FORMS)
def test_pairs_are_two_of_one(run, name):
    for operation, count in (("add", 2), ("fma.rn", 3), ("max", 2), ("neg", 1), ("abs", 1)):
        halves = [
            [finite(name, 500).view(np.uint16).astype(np.uint32) for _ in range(2)] for _ in range(count)
        ]
        packed = [high << np.uint32(16) | low for low, high in halves]
        result = run(f"{operation}.{name}x2", *packed)
        for part, shift in ((0, 0), (1, 16)):
            operands = [registers(name, h[part]) for h in halves]
            alone = run(f"{operation}.{name}", *operands).view(np.uint16)
            assert (result >> np.uint32(shift)).astype(np.uint16).tolist() == alone.tolist()


def test_pairs_of_scalars(run):
    assert run("add.f16x2", 0x3C003C00, 0x3C000000) == 0x40003C00
    assert run("add.bf16x2", [0x3F803F80], 0x3F800000).tolist() == [0x40003F80]


@pytest.mark.parametrize("name", FORMS)
def test_nan_is_canonical(run, name):
    nan, infinity = registers(name, 0xFFFF), registers(name, 0x7C00 if name == "f16" else 0x7F80)
    assert run(f"add.{name}", nan, infinity).view(np.uint16) == 0x7FFF
    assert run(f"sub.{name}", infinity, infinity).view(np.uint16) == 0x7FFF
    assert run(f"neg.{name}", nan).view(np.uint16) == 0x7FFF
    assert run(f"max.NaN.{name}", nan, infinity).view(np.uint16) == 0x7FFF
    assert run(f"max.{name}", nan, infinity).view(np.uint16) == infinity.view(np.uint16)


@pytest.mark.parametrize("name", FORMS)
def test_min_max_order_zeros(run, name):
    plus, minus = registers(name, [0, 0x8000]), registers(name, [0x8000, 0])
    assert run(f"min.{name}", plus, minus).view(np.uint16).tolist() == [0x8000, 0x8000]
    assert run(f"max.{name}", plus, minus).view(np.uint16).tolist() == [0, 0]


def test_flush_and_saturate(run):
    small = np.float16(2.0**-20)
    assert run("add.f16", small, small) == 2.0**-19
    assert run("add.ftz.f16", small, np.float16(1)) == 1
    assert run("mul.ftz.f16", np.float16(-(2.0**-8)), np.float16(2.0**-8)).view(np.uint16) == 0x8000
    assert run("mul.ftz.f16", np.float16(2.0**-14), np.float16(0.9995)) == 0
    assert run("add.sat.f16", [3.0, -3.0, math.nan], np.float16(0)).tolist() == [1, 0, 0]
    assert run("fma.rn.relu.f16", np.float16(-2), np.float16(2), np.float16(1)) == 0


@pytest.mark.parametrize("opcode", ["ex2.approx", "tanh.approx"])
def test_approximations_are_rounded_once(run, opcode):
    x = np.arange(0x10000).astype(np.uint16).view(np.float16)
    exact = {"ex2.approx": np.exp2, "tanh.approx": np.tanh}[opcode](x.astype(np.float64))
    result = run(f"{opcode}.f16", x)
    known = ~np.isnan(x)
    assert (result[known] == exact[known].astype(np.float16)).all()
    assert (result[~known].view(np.uint16) == 0x7FFF).all()
