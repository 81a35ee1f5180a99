"""float32 arithmetic: every mode against rationals rounded once."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from course_lib.emulator.isa import TABLE

from .reference import F32, MODES, bits32, f32, square_root

NAN = 0x7FFFFFFF
SINGLES = st.floats(width=32, allow_nan=False, allow_infinity=False)
RULES = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "fma": lambda a, b, c: a * b + c,
}


def one(opcode, *values):
    """The single result of float operands, as a Python float."""
    result = TABLE[opcode].function(*(np.array([x], np.float32) for x in values))
    return float(result[0])


def same(a, b):
    return a == b and math.copysign(1, a) == math.copysign(1, b)


def check(name, *values):
    """All four modes of one operation, zeros aside (their signs have tests of their own)."""
    exact = RULES[name](*map(Fraction, values))
    for mode in MODES:
        result, expected = one(f"{name}.{mode}.f32", *values), F32.round(exact, mode)
        assert same(result, expected) or (not exact and result == 0)


@pytest.mark.parametrize("name", ["add", "sub", "mul"])
@given(a=SINGLES, b=SINGLES)
def test_two_operands(name, a, b):
    check(name, a, b)


@given(a=SINGLES, b=SINGLES.filter(bool))
def test_quotients(a, b):
    check("div", a, b)
    check("div", 1.0, b)


@given(a=SINGLES, b=SINGLES, c=SINGLES)
@example(1 + 2.0**-12, 1 + 2.0**-12, 2.0**-60)
@example(1 + 2.0**-12, 1 + 2.0**-12, -(2.0**-60))
@example(2.0**-100, 2.0**-49, 2.0**-149)  # half of the smallest subnormal
@example(2.0**-75, 2.0**-75, 2.0**-149)
@example(1.5 * 2.0**-75, 2.0**-75, 2.0**-140)
def test_fma(a, b, c):
    check("fma", a, b, c)


@given(st.integers(0, 2**12), st.integers(0, 2**12), st.integers(-126, 0), st.sampled_from([-1, 1]))
def test_fma_of_ties_with_a_tiny_addend(m, n, exponent, sign):
    """24-bit products end in exact ties; the addend, however small, must break them."""
    a, b = 1 + m * 2.0**-12, 1 + n * 2.0**-12
    check("fma", a, b, sign * 2.0**exponent)
    check("fma", a, b, 0.0)


@given(SINGLES.filter(lambda x: x > 0))
def test_square_roots(a):
    root = square_root(Fraction(a), 60)
    for mode in MODES:
        assert one(f"sqrt.{mode}.f32", a) == F32.round(root, mode)


def test_fused_and_unfused(run):
    x = np.float32(1 + 2.0**-12)
    c = np.float32(-(1 + 2.0**-11))
    assert run("fma.rn.f32", x, x, c) == 2.0**-24
    assert run("add.f32", run("mul.f32", x, x), c) == 0


def test_the_trap_of_rounding_twice(run):
    x = np.float32(1 + 2.0**-12)
    assert bits32(run("fma.rn.f32", x, x, 2.0**-60)) == [0x3F801001]
    assert bits32(run("fma.rn.f32", x, x, -(2.0**-60))) == [0x3F801000]


def test_subnormal_product(run):
    assert bits32(run("mul.f32", 1e-20, 1e-20)) == bits32(1e-40)
    assert bits32(run("mul.ftz.f32", 1e-20, -1e-20)) == [0x80000000]
    assert bits32(run("fma.rn.ftz.f32", 1e-20, 1e-20, 0.0)) == [0]


def test_ftz_flushes_operands(run):
    small = f32(0x00000001, 0x807FFFFF)
    assert bits32(run("mul.f32", small, 2.0**120)) == bits32(small.astype(float) * 2.0**120)
    assert bits32(run("mul.ftz.f32", small, 2.0**120)) == [0, 0x80000000]
    assert bits32(run("add.ftz.f32", small, -0.0)) == [0, 0x80000000]
    assert bits32(run("neg.ftz.f32", small)) == [0x80000000, 0]
    assert bits32(run("abs.ftz.f32", small)) == [0, 0]
    assert bits32(run("max.ftz.f32", small, -1.0)) == [0, 0x80000000]


def test_ftz_next_to_the_smallest_normal_number(run):
    """As measured: 2**-126 is flushed unless it stays 2**-126 when rounded with unlimited exponents."""
    smallest = 2.0**-126
    assert bits32(run("mul.ftz.f32", smallest, 1 - 2.0**-24)) == [0]
    assert bits32(run("mul.f32", smallest, 1 - 2.0**-24)) == [0x00800000]
    assert bits32(run("mul.ftz.f32", smallest * (1 + 2.0**-23), 1 - 2.0**-23)) == [0x00800000]
    assert bits32(run("div.rp.ftz.f32", -smallest, -(1 + 2.0**-23))) == [0]


@pytest.mark.parametrize("mode", MODES)
def test_exact_zero_sums(run, mode):
    zero = [0x80000000 if mode == "rm" else 0]
    assert bits32(run(f"add.{mode}.f32", 1.5, -1.5)) == zero
    assert bits32(run(f"sub.{mode}.f32", 1.5, 1.5)) == zero
    assert bits32(run(f"fma.{mode}.f32", 1.5, 2.0, -3.0)) == zero
    assert bits32(run(f"add.{mode}.f32", -0.0, -0.0)) == [0x80000000]
    assert bits32(run(f"add.{mode}.f32", 0.0, 0.0)) == [0]
    assert bits32(run(f"fma.{mode}.f32", -1.0, 0.0, -0.0)) == [0x80000000]


@pytest.mark.parametrize(
    ("opcode", "operands"),
    [
        ("add.f32", (math.inf, -math.inf)),
        ("mul.f32", (0.0, math.inf)),
        ("fma.rn.f32", (0.0, math.inf, 1.0)),
        ("fma.rz.f32", (math.inf, 1.0, -math.inf)),
        ("div.rn.f32", (0.0, -0.0)),
        ("sqrt.rn.f32", (-1.0,)),
        ("add.rm.f32", (math.nan, 1.0)),
    ],
)
def test_one_nan_for_all(run, opcode, operands):
    assert bits32(run(opcode, *operands)) == [NAN]


@pytest.mark.parametrize("opcode", ["add.f32", "mul.ftz.f32", "max.f32", "sub.rz.f32"])
def test_nan_payloads_are_lost(run, opcode):
    nans = f32(0x7FC00000, 0xFFC00001, 0x7FA00001)
    assert bits32(run(opcode, nans, nans)) == [NAN] * 3


@pytest.mark.parametrize("mode", MODES)
def test_overflow(run, mode):
    largest = np.float32(3.4028235e38)
    for sign in (1, -1):
        expected = F32.round(sign * 2 * Fraction(float(largest)), mode)
        assert run(f"mul.{mode}.f32", largest, sign * 2.0) == expected
        assert run(f"add.{mode}.f32", sign * largest, sign * largest) == expected
        assert run(f"fma.{mode}.f32", largest, sign * 2.0, 0.0) == expected


def test_division_by_zero_and_infinity(run):
    assert run("div.rn.f32", [1.0, -1.0], 0.0).tolist() == [math.inf, -math.inf]
    assert bits32(run("rcp.rn.f32", [-0.0, -math.inf])) == bits32([-math.inf, -0.0])
    assert bits32(run("sqrt.rn.f32", -0.0)) == [0x80000000]


def test_min_max_prefer_numbers_and_order_zeros(run):
    assert run("min.f32", [math.nan, 2.0], [1.0, math.nan]).tolist() == [1.0, 2.0]
    assert run("max.f32", [math.nan, 2.0], [1.0, math.nan]).tolist() == [1.0, 2.0]
    for a, b in ((0.0, -0.0), (-0.0, 0.0)):
        assert bits32(run("min.f32", a, b)) == [0x80000000]
        assert bits32(run("max.f32", a, b)) == [0]
    assert bits32(run("max.NaN.f32", math.nan, 1.0)) == [NAN]
    assert run("min.NaN.f32", 2.0, 1.0) == 1.0


def test_min_max_by_magnitude_with_the_sign_of_the_product(run):
    assert run("max.xorsign.abs.f32", [-3.0, -3.0], [2.0, -2.0]).tolist() == [-3.0, 3.0]
    assert run("min.xorsign.abs.f32", [-3.0, -3.0], [2.0, -2.0]).tolist() == [-2.0, 2.0]


def test_saturation(run):
    sums = run("add.sat.f32", [0.25, 2.0, -1.0, math.nan, -0.0], [0.25, 0.0, 0.0, 0.0, -0.0])
    assert bits32(sums) == bits32([0.5, 1.0, 0.0, 0.0, 0.0])
    assert run("fma.rn.ftz.sat.f32", 0.5, 0.5, 0.5) == 0.75


def test_signs(run):
    assert bits32(run("neg.f32", [0.0, -1.0])) == bits32([-0.0, 1.0])
    assert bits32(run("abs.f32", [-0.0, -1.0])) == bits32([0.0, 1.0])
    assert bits32(run("copysign.f32", [-0.0, 2.0], [5.0, -5.0])) == bits32([-5.0, 5.0])
    assert bits32(run("neg.f32", f32(0x7FC00000))) == [NAN]


def test_operands_stay_as_they_are(run):
    a, b = f32(0x1, 0x7FC00000), f32(0x80000001, 0x3F800000)
    before = a.copy(), b.copy()
    for opcode in ("add.ftz.f32", "mul.rn.ftz.f32", "max.ftz.f32", "div.rp.ftz.f32"):
        run(opcode, a, b)
    assert bits32(a) == bits32(before[0])
    assert bits32(b) == bits32(before[1])
