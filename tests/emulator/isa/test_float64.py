"""float64 arithmetic: every mode against rationals rounded once."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from course_lib.emulator.isa import TABLE
from course_lib.emulator.isa.exact import round_fraction

from .reference import F64, MODES, bits64, f64, square_root

DOUBLES = st.floats(allow_nan=False, allow_infinity=False)
MODERATE = st.floats(-(2.0**300), 2.0**300)
RULES = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "fma": lambda a, b, c: a * b + c,
}


def one(opcode, *values):
    """The single result, computed in an array of two lanes."""
    return float(TABLE[opcode].function(*(np.array([x, x], np.float64) for x in values))[0])


def check(name, *values):
    exact = RULES[name](*map(Fraction, values))
    for mode in MODES:
        result, expected = one(f"{name}.{mode}.f64", *values), F64.round(exact, mode)
        assert result == expected
        assert not exact or math.copysign(1, result) == math.copysign(1, expected)


@pytest.mark.parametrize("name", ["add", "sub", "mul"])
@given(a=DOUBLES, b=DOUBLES)
def test_two_operands(name, a, b):
    check(name, a, b)


@given(a=DOUBLES, b=DOUBLES.filter(bool))
def test_quotients(a, b):
    check("div", a, b)


@pytest.mark.parametrize("values", [DOUBLES, MODERATE], ids=["all", "moderate"])
@given(data=st.data())
def test_fma(values, data):
    check("fma", *(data.draw(values) for _ in range(3)))


@given(MODERATE, MODERATE, st.floats(-2, 2), st.integers(-110, 60))
@example(1 + 2.0**-27, 1 + 2.0**-27, 1.0, -54)
@example(1 + 2.0**-27, 1 - 2.0**-27, -1.0, 0)
@example(2.0**-300, 2.0**-300, 0.0, 0)
@example(1.0, 1 + 2.0**-52, 1.0, -53)
@example(1.0, 1.0, 2.0**-52, -53)
def test_fma_where_the_addend_meets_the_product(a, b, factor, exponent):
    """Cancellation, ties and addends near half a step of the product."""
    c = a * b * factor * 2.0**exponent
    check("fma", a, b, c)
    check("fma", a, b, -a * b)


@given(st.integers(0, 2**27), st.integers(0, 2**27), st.integers(-900, 10), st.sampled_from([-1, 1]))
def test_fma_of_ties_with_a_tiny_addend(m, n, exponent, sign):
    check("fma", 1 + m * 2.0**-27, 1 + n * 2.0**-27, sign * 2.0**exponent)


@given(DOUBLES.filter(lambda x: x > 0))
def test_square_roots(a):
    root = square_root(Fraction(a), 120)
    for mode in MODES:
        assert one(f"sqrt.{mode}.f64", a) == F64.round(root, mode)
        assert round_fraction(root, mode) == F64.round(root, mode)


def test_many_lanes_at_once(run):
    """The chunks agree with single lanes."""
    rng = np.random.default_rng(3)
    a, b, c = rng.standard_normal((3, 20000))
    c[::7] = -a[::7] * b[::7]
    result = run("fma.rn.f64", a, b, c)
    for i in (*range(0, 140, 7), 8191, 8192, 16384, 19999):
        exact = Fraction(a[i]) * Fraction(b[i]) + Fraction(c[i])
        assert result[i] == F64.round(exact)
    assert run("fma.rn.f64", a.reshape(100, 200), np.float64(2), c.reshape(100, 200)).shape == (100, 200)


def test_infinities_and_nan(run):
    inf, nan = math.inf, math.nan
    a, b, c = [inf, 0.0, 1e308, 1e308, 1.0], [1.0, inf, 1e308, -1e308, nan], [1.0, 1.0, -inf, inf, 1.0]
    result = run("fma.rn.f64", a, b, c)
    assert bits64(result[:1]) == bits64([inf])
    assert np.isnan(result[[1, 4]]).all()
    assert result[2:4].tolist() == [-inf, inf]
    assert bits64(run("add.f64", inf, -inf)) == [0xFFF8000000000000]


def test_nan_payload_survives(run):
    payload = f64(0x7FF0000000000333)
    assert bits64(run("mul.f64", payload, 2.0)) == [0x7FF8000000000333]
    assert bits64(run("neg.f64", f64(0xFFF8000000000001))) == [0xFFF8000000000001]


@pytest.mark.parametrize("mode", MODES)
def test_zeros(run, mode):
    zero = [1 << 63 if mode == "rm" else 0]
    assert bits64(run(f"add.{mode}.f64", 1.5, -1.5)) == zero
    assert bits64(run(f"fma.{mode}.f64", 1.5, 2.0, -3.0)) == zero
    assert bits64(run(f"fma.{mode}.f64", -0.0, 1.0, -0.0)) == [1 << 63]
    assert bits64(run(f"mul.{mode}.f64", -0.0, 1.0)) == [1 << 63]
    assert bits64(run(f"rcp.{mode}.f64", -math.inf)) == [1 << 63]


def test_min_max(run):
    assert run("min.f64", [math.nan, 2.0, 3.0], [1.0, math.nan, 1.0]).tolist() == [1.0, 2.0, 1.0]
    assert bits64(run("min.f64", 0.0, -0.0)) == [1 << 63]
    assert bits64(run("max.f64", -0.0, 0.0)) == [0]
    assert run("copysign.f64", -0.0, 3.0) == -3.0
    assert run("abs.f64", -3.0) == 3.0
