"""cvt to and from f16, bf16, tf32 and the 8-bit floats."""

import math
from fractions import Fraction

import numpy as np
import pytest

from course_lib.emulator.isa import DTYPES

from .reference import BF16, F16, MODES, Format, bits32, f32

FORMS = {"f16": F16, "bf16": BF16}
RNG = np.random.default_rng(6)
ALL16 = np.arange(0x10000, dtype=np.uint32).astype(np.uint16)


def register(name, value):
    """A number as a register of the format, through NumPy or by cutting float32."""
    if name == "f16":
        return np.float16(value)
    return (np.float32(value).view(np.uint32) >> np.uint32(16)).astype(np.uint16)


def number(name, x):
    """Registers as float64 values."""
    x = np.atleast_1d(x)
    return (x if name == "f16" else (x.astype(np.uint32) << 16).view(np.float32)).astype(float)


def samples():
    """float32 values around every magnitude of both formats, ties included."""
    x = np.ldexp(RNG.integers(2**11, 2**13, 500) / 2.0**12, RNG.integers(-30, 20, 500))
    y = np.ldexp(RNG.standard_normal(300), RNG.integers(-145, 127, 300))
    return np.concatenate([x, -x, y, [0.0, -0.0, 65519.0, 65520.0, 3.3895e38, 2.0**-25]]).astype(np.float32)


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("source", ["f32", "f64"])
def test_from_wider_floats(run, name, mode, source):
    x = samples() if source == "f32" else samples() * (1 + RNG.integers(-1, 2, samples().size) * 2.0**-45)
    result = number(name, run(f"cvt.{mode}.{name}.{source}", x))
    assert result.tolist() == [FORMS[name].round(Fraction(v), mode) for v in x.astype(float).tolist()]


def test_every_f16_survives_a_round_trip(run):
    x = ALL16.view(np.float16)
    wide = run("cvt.f32.f16", x)
    known = ~np.isnan(x)
    assert (wide[known] == x[known].astype(float)).all()
    assert (run("cvt.rn.f16.f32", wide)[known].view(np.uint16) == ALL16[known]).all()
    assert (wide[~known].view(np.uint32) == 0x7FFFFFFF).all()


def test_every_bf16_survives_a_round_trip(run):
    wide = run("cvt.f32.bf16", ALL16)
    known = ~np.isnan(wide)
    assert (wide.view(np.uint32) == ALL16.astype(np.uint32) << 16).all()
    assert (run("cvt.rn.bf16.f32", wide)[known] == ALL16[known]).all()
    assert (run("cvt.rn.bf16.f32", wide)[~known] == 0x7FFF).all()


def test_bf16_ties_go_to_even(run):
    ties = f32(0x3F808000, 0x3F818000, 0x3F808001)
    assert run("cvt.rn.bf16.f32", ties).tolist() == [0x3F80, 0x3F82, 0x3F81]
    assert run("cvt.rn.bf16.f32", f32(0x7F7FFFFF)).tolist() == [0x7F80]


@pytest.mark.parametrize("name", FORMS)
def test_pairs_take_the_first_operand_into_the_upper_half(run, name):
    one, two = (int(register(name, v).view(np.uint16)) for v in (1.0, 2.0))
    assert run(f"cvt.rn.{name}x2.f32", 2.0, 1.0) == two << 16 | one
    assert run(f"cvt.rn.relu.{name}x2.f32", -2.0, [1.0]).tolist() == [one]


@pytest.mark.parametrize("name", FORMS)
def test_integers(run, name):
    for value in (0, 1, -3, 100, 300, 1000, 65504, 70000, -70000):
        expected = FORMS[name].round(Fraction(value))
        assert number(name, run(f"cvt.rn.{name}.s32", value)) == expected
        if abs(value) <= 1000:
            held = register(name, value)
            assert run(f"cvt.rzi.s32.{name}", held) == int(number(name, held)[0])
    assert run(f"cvt.rni.s16.{name}", register(name, 2.5)) == 2
    assert run(f"cvt.rpi.u16.{name}", register(name, -5.0)) == 0
    assert run(f"cvt.rzi.s32.{name}", register(name, math.inf)) == 2**31 - 1
    assert run(f"cvt.rzi.s32.{name}", register(name, math.nan)) == 0
    assert number(name, run(f"cvt.rz.{name}.u64", 2**64 - 1)) == FORMS[name].round(Fraction(2**64 - 1), "rz")


def test_between_the_two(run):
    assert run("cvt.rn.bf16.f16", np.float16(1 + 2.0**-8)) == 0x3F80
    assert run("cvt.rn.f16.bf16", np.uint16(0x4780)) == math.inf


def test_integral_values(run):
    assert run("cvt.rni.f16.f16", [0.5, 1.5, -2.5]).tolist() == [0, 2, -2]
    assert run("cvt.rmi.bf16.bf16", register("bf16", -1.5)) == register("bf16", -2.0)
    assert run("cvt.sat.f16.f16", [3.0, -1.0, math.nan]).tolist() == [1, 0, 0]


def test_tf32(run):
    assert bits32(run("cvt.rna.tf32.f32", f32(0x3F800FFF, 0x3F801000, 0xBF801000)).view(np.float32)) == [
        0x3F800000,
        0x3F802000,
        0xBF802000,
    ]


EIGHT = {"e4m3": (Format(4, -9, 8), 448.0), "e5m2": (Format(3, -16, 15), 57344.0)}


def decode(run, name, codes):
    """8-bit codes as numbers, low byte of each pair."""
    pair = run(f"cvt.rn.f16x2.{name}x2", np.asarray(codes, np.uint16))
    return pair.astype(np.uint16).view(np.float16).astype(float)


@pytest.mark.parametrize("name", EIGHT)
def test_8_bit_values(run, name):
    form, largest = EIGHT[name]
    codes = np.arange(256, dtype=np.uint16)
    values = decode(run, name, codes)
    known = np.isfinite(values)
    assert values[known].max() == largest
    assert values[1] == 2.0**form.lowest
    again = run(f"cvt.rn.satfinite.{name}x2.f32", np.float32(0), values.astype(np.float32))
    assert (again[known] == codes[known]).all()
    assert np.isnan(values[0x7F])


@pytest.mark.parametrize("name", EIGHT)
def test_8_bit_rounding(run, name):
    form, largest = EIGHT[name]
    x = np.ldexp(RNG.integers(16, 64, 400) / 32.0, RNG.integers(-20, 10, 400)).astype(np.float32)
    result = run(f"cvt.rn.satfinite.{name}x2.f32", -x, x)
    expected = [min(form.round(Fraction(v)), largest) for v in x.astype(float).tolist()]
    assert decode(run, name, result & 0xFF).tolist() == expected
    assert decode(run, name, result >> 8).tolist() == [-v for v in expected]


@pytest.mark.parametrize("name", EIGHT)
def test_8_bit_limits(run, name):
    top = {"e4m3": 0x7E, "e5m2": 0x7B}[name]
    result = run(f"cvt.rn.satfinite.{name}x2.f32", [math.inf, -1e9, math.nan, -0.0], [0.0])
    assert (result >> 8).tolist() == [top, top | 0x80, 0x7F, 0x80]
    assert run(f"cvt.rn.satfinite.relu.{name}x2.f32", -5.0, 0.0) == 0
    two = run(f"cvt.rn.satfinite.{name}x2.f32", 1.0, -1.0)
    assert run(f"cvt.rn.satfinite.{name}x2.f16x2", 0x3C00BC00) == two


@pytest.mark.parametrize(("code", "low", "high"), [("s8", -128, 127), ("u8", 0, 255)])
def test_bf16_and_8_bit_integers(run, code, low, high):
    values = [1.5, -1.5, 2.5, 127.5, -129.0, 300.0, -300.0, 255.0, math.inf, -math.inf, math.nan, 0.25]
    operands = np.array([register("bf16", value) for value in values])
    for rounding, function in (("rzi", math.trunc), ("rmi", math.floor), ("rpi", math.ceil), ("rni", round)):
        wanted = []
        for value in values:
            whole = 0 if math.isnan(value) else value if math.isinf(value) else function(value)
            wanted.append(int(min(max(whole, low), high)))
        got = run(f"cvt.{rounding}.{code}.bf16", operands)
        assert got.astype(np.int64).tolist() == wanted
    numbers = np.arange(low, high + 1)  # bf16 holds 8 bits: all of these are exact
    got = run(f"cvt.rn.bf16.{code}", numbers.astype(DTYPES[code]))
    assert got.tolist() == [register("bf16", float(number)) for number in numbers]
