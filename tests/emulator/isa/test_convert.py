"""cvt between integers and floats of 32 and 64 bits."""

import math
from fractions import Fraction

import numpy as np
import pytest

from course_lib.emulator.isa import DTYPES, TABLE

from .reference import F32, F64, MODES, bits32, bits64, f32, f64

INTEGERS = ("u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64")
RNG = np.random.default_rng(5)
INTEGRAL = {"rni": round, "rzi": math.trunc, "rmi": math.floor, "rpi": math.ceil}
FLOATS = [0.0, 0.5, 1.5, 2.5, -0.5, -1.5, 0.49999997, 126.5, 127.5, 128.0, 255.5, 256.0, -128.5, -129.0]
FLOATS += [32767.5, 65535.5, 2147483520.0, 2147483648.0, -2147483648.0, 4294967040.0, 4294967296.0]
FLOATS += [-2147483904.0, 2.0**63, -(2.0**63), 2.0**64, 1e30, -1e30, math.inf, -math.inf]


def limits(code):
    info = np.iinfo(DTYPES[code])
    return int(info.min), int(info.max)


def values(code):
    low, high = limits(code)
    anything = RNG.integers(low, high, 60, endpoint=True, dtype=DTYPES[code]).tolist()
    shorter = [x >> s for x, s in zip(anything, RNG.integers(0, 40, 60).tolist(), strict=True)]
    return [low, low + 1, high, high - 1, 0, 1, high // 2, *anything, *shorter]


def clamp(x, low, high):
    return max(low, min(high, x))


@pytest.mark.parametrize("source", INTEGERS)
@pytest.mark.parametrize("target", INTEGERS)
def test_integers(run, source, target):
    low, high = limits(target)
    a = values(source)
    result = run(f"cvt.{target}.{source}", a)
    assert result.dtype.itemsize >= 2
    assert result.tolist() == [(x - low) % (high - low + 1) + low for x in a]
    if limits(source)[0] < low or limits(source)[1] > high:
        assert run(f"cvt.sat.{target}.{source}", a).tolist() == [clamp(x, low, high) for x in a]


def test_8_bit_sources_use_the_low_byte_of_a_wider_register():
    wide = np.array([0xA5FF, 0x0180], np.uint16)
    assert TABLE["cvt.s32.s8"].function(wide).tolist() == [-1, -128]
    assert TABLE["cvt.rn.f32.u8"].function(wide).tolist() == [255.0, 128.0]


@pytest.mark.parametrize("code", INTEGERS)
@pytest.mark.parametrize(("target", "form"), [("f32", F32), ("f64", F64)])
@pytest.mark.parametrize("mode", MODES)
def test_integer_to_float(run, code, target, form, mode):
    a = values(code) + [2**53 + 1, 2**54 + 2, 2**24 + 1] * (limits(code)[1] > 2**60)
    assert run(f"cvt.{mode}.{target}.{code}", a).tolist() == [form.round(Fraction(x), mode) for x in a]


@pytest.mark.parametrize("code", INTEGERS)
@pytest.mark.parametrize("rounding", INTEGRAL)
@pytest.mark.parametrize("source", ["f32", "f64"])
def test_float_to_integer_clamps(run, code, rounding, source):
    low, high = limits(code)
    exact = [x if math.isinf(x) else INTEGRAL[rounding](x) for x in FLOATS]
    if source == "f32":
        exact = [x if math.isinf(x) else INTEGRAL[rounding](float(np.float32(x))) for x in FLOATS]
    expected = [int(clamp(x, low, high)) for x in exact]
    assert run(f"cvt.{rounding}.{code}.{source}", FLOATS).tolist() == expected
    assert [run(f"cvt.{rounding}.{code}.{source}", x) for x in FLOATS] == expected


@pytest.mark.parametrize(
    ("opcode", "expected"),
    [
        ("cvt.rzi.s32.f32", 0),
        ("cvt.rzi.u32.f32", 0),
        ("cvt.rzi.s16.f32", 0),
        ("cvt.rzi.s64.f32", -(2**63)),
        ("cvt.rzi.u64.f32", 2**63),
        ("cvt.rzi.s32.f64", -(2**31)),
        ("cvt.rzi.u32.f64", 2**31),
        ("cvt.rzi.s64.f64", -(2**63)),
    ],
)
def test_nan_to_integer(run, opcode, expected):
    assert run(opcode, math.nan) == expected
    assert run(opcode, [math.nan, 1.0]).tolist() == [expected, 1]


@pytest.mark.parametrize("mode", MODES)
def test_f64_to_f32(run, mode):
    x = np.ldexp(RNG.standard_normal(400), RNG.integers(-155, 130, 400))
    ties = [1 + 2.0**-24, 1 + 3 * 2.0**-24, 2.0**-150, 2.0**-149 * 1.5]
    x = np.concatenate([x, RNG.standard_normal(200), x.astype(np.float32), ties])
    x = x[np.isfinite(x)]
    assert run(f"cvt.{mode}.f32.f64", x).tolist() == [F32.round(Fraction(v), mode) for v in x.tolist()]


def test_flushed_conversions(run):
    assert bits32(run("cvt.rn.ftz.f32.f64", -1e-40)) == [0x80000000]
    assert bits32(run("cvt.rn.ftz.f32.f64", 2.0**-126 * (1 - 2.0**-24))) == [0]
    assert bits64(run("cvt.f64.f32", f32(1))) == bits64(2.0**-149)
    assert bits64(run("cvt.ftz.f64.f32", f32(0x80000001))) == [1 << 63]
    assert run("cvt.rpi.ftz.s32.f32", 1e-40) == 0
    assert run("cvt.rpi.s32.f32", 1e-40) == 1


@pytest.mark.parametrize("rounding", INTEGRAL)
def test_integral_floats(run, rounding):
    x = [v for v in FLOATS if math.isfinite(v)]
    for code in ("f32", "f64"):
        expected = [INTEGRAL[rounding](v) for v in np.array(x, DTYPES[code]).tolist()]
        assert run(f"cvt.{rounding}.{code}.{code}", x).tolist() == expected


def test_integral_floats_keep_the_sign_of_zero(run):
    assert bits32(run("cvt.rni.f32.f32", [-0.5, -0.0])) == [0x80000000] * 2
    assert bits32(run("cvt.rzi.ftz.f32.f32", -0.3)) == [0x80000000]


def test_saturation(run):
    assert run("cvt.sat.f32.f32", [-1.0, 0.25, 7.0, math.nan]).tolist() == [0, 0.25, 1, 0]
    assert bits32(run("cvt.ftz.sat.f32.f32", -0.0)) == [0]
    assert run("cvt.rn.sat.f32.f64", 3.0) == 1


def test_nan_payloads(run):
    """As recorded on an H200: plain copies keep them, roundings do not."""
    assert bits32(run("cvt.f32.f32", f32(0x7FC00001))) == [0x7FC00001]
    assert bits32(run("cvt.rni.f32.f32", f32(0xFFC00001))) == [0x7FFFFFFF]
    assert bits32(run("cvt.rn.f32.f64", f64(0x7FFB79F933D63761))) == [0x7FDBCFC9]
