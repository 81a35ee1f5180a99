"""Comparisons against Python's own, NaN included."""

import itertools
import math
import operator

import numpy as np
import pytest

ORDERED = {
    "eq": operator.eq, "ne": operator.ne, "lt": operator.lt,
    "le": operator.le, "gt": operator.gt, "ge": operator.ge,
}  # fmt: skip
COMBINE = {"and": operator.and_, "or": operator.or_, "xor": operator.xor}
REALS = [-math.inf, -2.0, -0.0, 0.0, 1.5, math.inf, math.nan]
SMALL = 1e-40  # subnormal in float32


def grid(items):
    pairs = list(itertools.product(items, repeat=2))
    return pairs, [x for x, _ in pairs], [y for _, y in pairs]


@pytest.mark.parametrize("name", ORDERED)
@pytest.mark.parametrize("code", ["u16", "s16", "u32", "s32", "u64", "s64"])
def test_integers(run, name, code):
    bits = int(code[1:])
    items = [0, 1, 2 ** (bits - 1) - 1] + ([-1, -(2 ** (bits - 1))] if code[0] == "s" else [2**bits - 1])
    pairs, a, b = grid(items)
    expected = [ORDERED[name](x, y) for x, y in pairs]
    assert run(f"setp.{name}.{code}", a, b).tolist() == expected
    ones = -1 if code[0] == "s" else 2**32 - 1
    stored = run(f"set.{name}.{'s32' if ones < 0 else 'u32'}.{code}", a, b)
    assert stored.tolist() == [ones * p for p in expected]


@pytest.mark.parametrize(("name", "same"), [("lo", "lt"), ("ls", "le"), ("hi", "gt"), ("hs", "ge")])
def test_unsigned_spellings(run, name, same):
    _, a, b = grid([0, 5, 2**31, 2**32 - 1])
    assert run(f"setp.{name}.u32", a, b).tolist() == run(f"setp.{same}.u32", a, b).tolist()


@pytest.mark.parametrize("code", ["f32", "ftz.f32", "f64", "f16"])
@pytest.mark.parametrize("name", ORDERED)
def test_ordered_and_unordered(run, name, code):
    pairs, a, b = grid(REALS)
    known = [not (math.isnan(x) or math.isnan(y)) for x, y in pairs]
    holds = [ORDERED[name](x, y) for x, y in pairs]
    ordered = [k and h for k, h in zip(known, holds, strict=True)]
    assert run(f"setp.{name}.{code}", a, b).tolist() == ordered
    unordered = [not k or h for k, h in zip(known, holds, strict=True)]
    assert run(f"setp.{name}u.{code}", a, b).tolist() == unordered
    assert run(f"setp.num.{code}", a, b).tolist() == known
    assert run(f"setp.nan.{code}", a, b).tolist() == [not k for k in known]


@pytest.mark.parametrize("combine", COMBINE)
def test_combined_with_a_predicate(run, combine):
    pairs, a, b = grid(REALS)
    for c in (False, True):
        p = [x < y for x, y in pairs]
        expected = [COMBINE[combine](x, c) for x in p]
        assert run(f"setp.lt.{combine}.f32", a, b, c).tolist() == expected
        first, second = run(f"setp.lt.{combine}.f32|", a, b, c)
        assert first.tolist() == expected
        assert second.tolist() == [COMBINE[combine](not x, c) for x in p]
        assert run(f"set.lt.{combine}.u32.f32", a, b, c).tolist() == [x * (2**32 - 1) for x in expected]


def test_second_predicate_is_the_opposite(run):
    p, q = run("setp.lt.s32|", [1, 2, 3], 2)
    assert p.tolist() == [True, False, False]
    assert q.tolist() == [False, True, True]
    p, q = run("setp.lt.f32|", math.nan, 1.0)
    assert (p, q) == (False, True)


def test_ftz_sees_subnormals_as_zero(run):
    assert run("setp.gt.f32", SMALL, 0.0)
    assert not run("setp.gt.ftz.f32", SMALL, 0.0)
    assert run("setp.eq.ftz.f32", -SMALL, SMALL)


def test_set_to_float(run):
    assert run("set.gt.f32.s32", [3, -3], 0).tolist() == [1.0, 0.0]
    assert run("set.eq.ftz.f32.f32", SMALL, 0.0) == 1.0


@pytest.mark.parametrize(("code", "one"), [("f16", 0x3C00), ("bf16", 0x3F80)])
def test_set_of_half_floats(run, code, one):
    value = {"f16": np.float16(1), "bf16": np.uint16(one)}[code]
    zero = value.dtype.type(0)
    assert run(f"set.eq.{code}.{code}", value, value).view(np.uint16) == one
    assert run(f"set.ne.u16.{code}", value, zero) == 0xFFFF
    assert run(f"set.ne.u32.{code}", value, zero) == 0xFFFFFFFF
    packed = one << 16
    assert run(f"set.eq.{code}x2.{code}x2", packed, one << 16 | one) == one << 16
    assert run(f"set.eq.u32.{code}x2", packed, one << 16 | one) == 0xFFFF0000
    low, high = run(f"setp.eq.{code}x2|", packed, one << 16 | one)
    assert (low, high) == (False, True)


@pytest.mark.parametrize(
    ("test", "expected"),
    [
        ("finite", [True, True, True, False, False]),
        ("infinite", [False, False, False, True, False]),
        ("number", [True, True, True, True, False]),
        ("notanumber", [False, False, False, False, True]),
        ("normal", [True, True, False, False, False]),
        ("subnormal", [False, False, True, False, False]),
    ],
)
def test_classes(run, test, expected):
    assert run(f"testp.{test}.f32", [0.0, -1.0, SMALL, -math.inf, math.nan]).tolist() == expected
    assert run(f"testp.{test}.f64", [0.0, -1.0, 5e-324, -math.inf, math.nan]).tolist() == expected
