"""Building blocks of exact floating point: flush, canonical NaN, error terms, rounding.

A rounding mode is "rn" (nearest, ties to even), "rz" (toward zero), "rm" (down)
or "rp" (up). Sources: IEEE 754 and the PTX ISA; two_sum and two_product are
Knuth's and Dekker's; rounding to odd follows Boldo and Melquiond (2008).
"""

from collections.abc import Callable

import numpy as np

from .arrays import Lanes, blend

MODES = ("rn", "rz", "rm", "rp")
NAN32 = np.uint32(0x7FFFFFFF).view(np.float32)
NAN64 = np.uint64(0xFFF8 << 48).view(np.float64)
SCALE, SMALLEST = np.float32(2.0**64), np.float32(2.0**-126)
QUIET64 = np.uint64(1 << 51)
LAST_SUBNORMAL = np.uint32(0x00FFFFFE)  # 2 * bits - 1, sign shifted out; zero wraps to the top
_NONE = LAST_SUBNORMAL + np.uint32(2)


def subnormal(x: Lanes) -> Lanes:
    """True where a float32 is subnormal (zero is not)."""
    bits = x.view(np.uint32)
    doubled = bits + bits
    doubled -= np.uint32(1)
    return doubled <= LAST_SUBNORMAL


def least(x: Lanes) -> np.uint32:
    """The smallest 2 * |bits| - 1 of a float32 array, where zeros do not count: three cheap passes."""
    bits = x.view(np.uint32)
    doubled = bits + bits
    doubled -= np.uint32(1)
    return np.minimum.reduce(doubled, axis=None, initial=_NONE)


def any_subnormal(x: Lanes) -> bool:
    """Whether a float32 array holds a subnormal."""
    return least(x) <= LAST_SUBNORMAL


def flush(x: Lanes) -> Lanes:
    """float32 subnormals become zeros of the same sign; ``x`` itself if there are none."""
    if not any_subnormal(x):
        return x
    return blend(subnormal(x), np.copysign(np.float32(0), x), x)


def flush_rounded(result: Lanes, scaled: Callable) -> Lanes:
    """Flush a rounded float32 result as hardware does.

    2**-126 is flushed, too, where only the coarse steps of subnormals lifted it there: where
    rounding with unlimited exponents would have stayed below. ``scaled()`` tells: it is
    the same result times SCALE, rounded far away from that limit.
    """
    if least(result) > LAST_SUBNORMAL + np.uint32(1):
        return result
    result = flush(result)
    edge = np.absolute(result) == SMALLEST
    if not edge.any():
        return result
    tiny = edge & (np.absolute(scaled()) < SMALLEST * SCALE)
    return blend(tiny, np.copysign(np.float32(0), result), result)


def quiet(x: Lanes) -> Lanes:
    """Every float32 NaN becomes 0x7fffffff, the one NVIDIA GPUs produce."""
    nan = np.isnan(x)
    return blend(nan, NAN32, x) if nan.any() else x


def quiet64(x: Lanes, *operands: Lanes) -> Lanes:
    """A float64 NaN is that of the last NaN operand, made quiet; 0xfff8000000000000 if there is none."""
    nan = np.isnan(x)
    if not nan.any():
        return x
    x = blend(nan, NAN64, x)
    for operand in operands:
        quieted = (operand.view(np.uint64) | QUIET64).view(np.float64)
        x = blend(nan & np.isnan(operand), quieted, x)
    return x


def saturate(x: Lanes) -> Lanes:
    """Clamp to [0, 1]; NaN and -0 become +0."""
    return np.fmin(np.fmax(x, x.dtype.type(0)), x.dtype.type(1)) + x.dtype.type(0)


def two_sum(a: Lanes, b: Lanes) -> tuple[Lanes, Lanes]:
    """s, e with s = a + b rounded and s + e = a + b exactly, unless s overflows."""
    s = a + b
    other = s - a
    return s, (a - (s - other)) + (b - other)


def two_product(a: Lanes, b: Lanes) -> tuple[Lanes, Lanes]:
    """p, e with p = a * b rounded and p + e = a * b exactly, for factors and product far from the limits."""
    p = a * b
    big = a * 134217729.0
    a_high = big - (big - a)
    big = b * 134217729.0
    b_high = big - (big - b)
    a_low, b_low = a - a_high, b - b_high
    return p, a_low * b_low - (((p - a_high * b_high) - a_low * b_high) - a_high * b_low)


def to_odd(s: Lanes, e: Lanes) -> Lanes:
    """The sum s + e of ``two_sum`` rounded to odd: rounding that again to fewer bits is exact."""
    bits = s.view(np.int64)
    step = (e.view(np.int64) ^ bits) >> 63 | 1  # away from zero if e has the sign of s
    inexact = np.absolute(e) > 0  # false for the NaN that an infinite s brings
    return (bits + step * (inexact & ~bits & 1)).view(np.float64)


def step_down(x: Lanes, where: Lanes) -> Lanes:
    """The next lower float at ``where`` (bools)."""
    bits = x.view(f"i{x.dtype.itemsize}")
    sign = bits >> 8 * x.dtype.itemsize - 1
    return (bits - (sign | 1) * where).view(x.dtype)


def step_up(x: Lanes, where: Lanes) -> Lanes:
    """The next higher float at ``where`` (bools)."""
    bits = x.view(f"i{x.dtype.itemsize}")
    sign = bits >> 8 * x.dtype.itemsize - 1
    return (bits + (sign | 1) * where).view(x.dtype)


def direct(nearest: Lanes, excess: Lanes, mode: str) -> Lanes:
    """Turn a nearest result that lies ``excess`` above the exact value into that of rz, rm or rp."""
    if mode == "rm":
        return step_down(nearest, excess > 0)
    if mode == "rp":
        return step_up(nearest, excess < 0)
    outward = blend(np.signbit(nearest), -excess, excess) > 0
    bits = nearest.view(f"i{nearest.dtype.itemsize}")
    return (bits - outward).view(nearest.dtype)


def narrow(exact: Lanes, mode: str, dtype: type = np.float32, error: Lanes | None = None) -> Lanes:
    """float64 (plus ``error``, at most half its last bit) to float32 or float16 with one rounding."""
    if mode == "rn":
        if error is not None:
            exact = to_odd(exact, error)
        return exact.astype(dtype)
    nearest = exact.astype(dtype)
    excess = nearest.astype(np.float64) - exact
    if error is not None:
        excess -= error
    return direct(nearest, excess, mode)


def narrow_to_odd(exact: Lanes) -> Lanes:
    """float64 to float32, rounded to odd."""
    down = narrow(exact, "rz")
    return (down.view(np.uint32) | (down != exact)).view(np.float32)


def sum_sign(s: Lanes, a: Lanes, b: Lanes, mode: str) -> Lanes:
    """An exact zero sum of unlike signs is -0 when rounding down."""
    if mode != "rm" or s.all():
        return s
    minus = (s == 0) & (np.signbit(a) | np.signbit(b))
    return blend(minus, -s.dtype.type(0), s)
