"""Integer arithmetic against Python's integers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from course_lib.emulator.isa import DTYPES, TABLE

CODES = ("u16", "s16", "u32", "s32", "u64", "s64")


def limits(code):
    info = np.iinfo(DTYPES[code])
    return int(info.min), int(info.max)


def wrap(value, code):
    """A Python integer cut to the type."""
    bits = 8 * DTYPES[code].itemsize
    value &= 2**bits - 1
    return value - 2**bits if code[0] == "s" and value >> bits - 1 else value


def values(code, count=60):
    """The corners of a type and random values of random size."""
    low, high = limits(code)
    rng = np.random.default_rng(1)
    corners = {low, low + 1, high, high - 1, 0, 1, 2, 3, 7, -1, -2, high // 2, high // 3}
    anything = rng.integers(low, high, count, endpoint=True, dtype=DTYPES[code]).tolist()
    shorter = [x >> s for x, s in zip(anything, rng.integers(0, 16, count).tolist(), strict=True)]
    return [x for x in sorted(corners) if low <= x <= high] + shorter


def pairs(code):
    items = values(code)
    return [x for x in items for _ in items], [y for _ in items for y in items]


def truncate(a, b):
    """C's quotient."""
    size = abs(a) // abs(b)
    return -size if (a < 0) != (b < 0) else size


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize(
    ("name", "rule"),
    [
        ("add", lambda a, b, n: a + b),
        ("sub", lambda a, b, n: a - b),
        ("mul.lo", lambda a, b, n: a * b),
        ("mul.hi", lambda a, b, n: a * b >> n),
        ("min", lambda a, b, n: min(a, b)),
        ("max", lambda a, b, n: max(a, b)),
        ("div", lambda a, b, n: truncate(a, b) if b else -1),
        ("rem", lambda a, b, n: a - b * truncate(a, b) if b else -1),
    ],
)
def test_two_operands(run, code, name, rule):
    a, b = pairs(code)
    bits = 8 * DTYPES[code].itemsize
    expected = [wrap(rule(x, y, bits), code) for x, y in zip(a, b, strict=True)]
    assert run(f"{name}.{code}", a, b).tolist() == expected


@pytest.mark.parametrize("code", CODES)
def test_three_operands(run, code):
    a, b = pairs(code)
    c = (values(code) * len(a))[: len(a)]
    bits = 8 * DTYPES[code].itemsize
    for name, rule in (
        ("mad.lo", lambda x, y, z: x * y + z),
        ("mad.hi", lambda x, y, z: (x * y >> bits) + z),
        ("sad", lambda x, y, z: abs(x - y) + z),
    ):
        expected = [wrap(rule(*xyz), code) for xyz in zip(a, b, c, strict=True)]
        assert run(f"{name}.{code}", a, b, c).tolist() == expected


@pytest.mark.parametrize(("code", "wide"), [("u16", "u32"), ("s16", "s32"), ("u32", "u64"), ("s32", "s64")])
def test_wide_products(run, code, wide):
    a, b = pairs(code)
    products = [x * y for x, y in zip(a, b, strict=True)]
    result = run(f"mul.wide.{code}", a, b)
    assert result.dtype == DTYPES[wide]
    assert result.tolist() == products
    c = (values(wide) * len(a))[: len(a)]
    expected = [wrap(x + y, wide) for x, y in zip(products, c, strict=True)]
    assert run(f"mad.wide.{code}", a, b, c).tolist() == expected


@pytest.mark.parametrize("code", ["s16", "s32", "s64"])
def test_sign(run, code):
    a = values(code)
    assert run(f"neg.{code}", a).tolist() == [wrap(-x, code) for x in a]
    assert run(f"abs.{code}", a).tolist() == [wrap(abs(x), code) for x in a]


def test_the_most_negative_number_has_no_positive_twin(run):
    assert run("abs.s32", -(2**31)) == -(2**31)
    assert run("neg.s32", -(2**31)) == -(2**31)
    assert run("div.s32", -(2**31), -1) == -(2**31)
    assert run("rem.s32", -(2**31), -1) == 0


@pytest.mark.parametrize(
    ("a", "b", "quotient", "rest"), [(7, 2, 3, 1), (-7, 2, -3, -1), (7, -2, -3, 1), (-7, -2, 3, -1)]
)
def test_division_truncates_as_c_does(run, a, b, quotient, rest):
    assert run("div.s32", a, b) == quotient
    assert run("rem.s32", a, b) == rest


@pytest.mark.parametrize("code", CODES)
def test_division_by_zero_sets_every_bit(run, code):
    ones = wrap(-1, code)
    assert run(f"div.{code}", [0, 5], 0).tolist() == [ones, ones]
    assert run(f"rem.{code}", [0, 5], 0).tolist() == [ones, ones]


@given(st.integers(0, 2**32 - 1), st.integers(1, 2**32 - 1))
def test_any_quotient_of_32_bits(a, b):
    result = TABLE["div.u32"].function(np.array([a], np.uint32), np.array([b], np.uint32))
    assert result.tolist() == [a // b]


@given(st.integers(0, 2**16 - 1), st.integers(1, 2**16 - 1), st.integers(-1, 1))
def test_quotients_next_to_a_multiple(factor, b, off):
    a = max(factor * b + off, 0)
    result = TABLE["div.u32"].function(np.array([a], np.uint32), np.array([b], np.uint32))
    assert result.tolist() == [a // b]


@pytest.mark.parametrize(
    ("opcode", "operands", "expected"),
    [
        ("add.sat.s32", (2**31 - 1, 1), 2**31 - 1),
        ("add.sat.s32", (-(2**31), -1), -(2**31)),
        ("add.sat.s32", (3, -5), -2),
        ("sub.sat.s32", (-(2**31), 1), -(2**31)),
        ("sub.sat.s32", (2**31 - 1, -1), 2**31 - 1),
        ("mad.hi.sat.s32", (2**31 - 1, 2**31 - 1, 2**31 - 1), 2**31 - 1),
        ("mad.hi.sat.s32", (-(2**31), 2**31 - 1, -(2**31)), -(2**31)),
        ("min.relu.s32", (-4, 3), 0),
        ("max.relu.s32", (-4, -3), 0),
        ("mul24.lo.u32", (0xFF000002, 3), 6),
        ("mul24.lo.s32", (0xFFFFFF, 5), -5),
        ("mul24.hi.u32", (0xFFFFFF, 0xFFFFFF), 0xFFFFFE00),
        ("mul24.hi.s32", (0x800000, 0x800000), 2**30),
        ("mad24.lo.u32", (1000, 1000, 7), 1000007),
        ("mad24.hi.s32", (0x800000, 0x7FFFFF, 1), -(2**30) + 129),
        ("mad24.hi.sat.s32", (0x7FFFFF, 0x7FFFFF, 2**31 - 1), 2**31 - 1),
    ],
)
def test_special_forms(run, opcode, operands, expected):
    assert run(opcode, *operands) == expected
