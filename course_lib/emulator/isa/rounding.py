"""Building blocks of exact floating point: flush, canonical NaN, error terms, rounding.

A rounding mode is "rn" (nearest, ties to even), "rz" (toward zero), "rm" (down)
or "rp" (up). Sources: IEEE 754 and the PTX ISA; two_sum and two_product are
Knuth's and Dekker's; rounding to odd follows Boldo and Melquiond (2008).
"""

import numpy as np

MODES = ("rn", "rz", "rm", "rp")
WORD = {np.dtype(f"f{size}"): np.dtype(f"u{size}").type for size in (2, 4, 8)}
NAN32 = np.uint32(0x7FFFFFFF).view(np.float32)
NAN64 = np.uint64(0xFFF8 << 48).view(np.float64)
LAST_SUBNORMAL = np.uint32(0x00FFFFFE)  # 2 * bits - 1, sign shifted out; zero wraps to the top


def subnormal(x):
    """True where a float32 is subnormal (zero is not)."""
    bits = x.view(np.uint32)
    doubled = bits + bits
    doubled -= np.uint32(1)
    return doubled <= LAST_SUBNORMAL


def any_subnormal(x):
    """Whether a float32 array holds a subnormal: three cheap passes."""
    bits = x.view(np.uint32)
    doubled = bits + bits
    doubled -= np.uint32(1)
    return doubled.min() <= LAST_SUBNORMAL


def flush(x):
    """float32 subnormals become zeros of the same sign; ``x`` itself if there are none."""
    if not x.size or not any_subnormal(x):
        return x
    keep = ~(subnormal(x) * np.uint32(0x7FFFFFFF))
    return (x.view(np.uint32) & keep).view(np.float32)


def quiet(x):
    """Every float32 NaN becomes 0x7fffffff, the one NVIDIA GPUs produce."""
    nan = np.isnan(x)
    return np.where(nan, NAN32, x)[()] if nan.any() else x


def quiet64(x):
    """Every float64 NaN becomes 0xfff8000000000000."""
    nan = np.isnan(x)
    return np.where(nan, NAN64, x)[()] if nan.any() else x


def saturate(x):
    """Clamp to [0, 1]; NaN and -0 become +0."""
    return np.where(x > 0, np.minimum(x, x.dtype.type(1)), x.dtype.type(0))[()]


def two_sum(a, b):
    """s, e with s = a + b rounded and s + e = a + b exactly, unless s overflows."""
    s = a + b
    other = s - a
    return s, (a - (s - other)) + (b - other)


def two_product(a, b):
    """p, e with p = a * b rounded and p + e = a * b exactly, for factors and product far from the limits."""
    p = a * b
    big = a * 134217729.0
    a_high = big - (big - a)
    big = b * 134217729.0
    b_high = big - (big - b)
    a_low, b_low = a - a_high, b - b_high
    return p, a_low * b_low - (((p - a_high * b_high) - a_low * b_high) - a_high * b_low)


def to_odd(s, e):
    """The sum s + e of ``two_sum`` rounded to odd: rounding that again to fewer bits is exact."""
    bits = s.view(np.uint64)
    inexact = np.absolute(e) > 0  # false for the NaN that an infinite s brings
    away = (e > 0) == (s > 0)
    step = np.where(away, np.uint64(1), ~np.uint64(0))
    return np.where(inexact & (bits & 1 == 0), bits + step, bits).view(np.float64)[()]


def nudge(x, where, away):
    """Move floats one step away from zero or toward it at ``where`` (bools that broadcast)."""
    word = WORD[x.dtype]
    step = np.where(away, word(1), ~word(0)) * where
    return (x.view(word) + step).view(x.dtype)


def direct(nearest, error, mode):
    """Turn a nearest result whose exact value is ``nearest + error`` into that of rz, rm or rp."""
    if mode == "rz":
        return nudge(nearest, np.where(np.signbit(nearest), error > 0, error < 0), False)
    wrong = error < 0 if mode == "rm" else error > 0
    return nudge(nearest, wrong, np.signbit(nearest) == (mode == "rm"))


def narrow(exact, mode, dtype=np.float32):
    """float64 to float32 or float16 with one rounding in ``mode``."""
    nearest = exact.astype(dtype)
    if mode == "rn":
        return nearest
    back = nearest.astype(np.float64)
    if mode == "rz":
        return nudge(nearest, np.absolute(back) > np.absolute(exact), False)
    wrong = back > exact if mode == "rm" else back < exact
    return nudge(nearest, wrong, np.signbit(nearest) == (mode == "rm"))


def narrow_to_odd(exact):
    """float64 to float32, rounded to odd."""
    down = narrow(exact, "rz")
    return (down.view(np.uint32) | (down != exact)).view(np.float32)


def sum_sign(s, a, b, mode):
    """An exact zero sum of unlike signs is -0 when rounding down."""
    if mode != "rm":
        return s
    minus = (s == 0) & (np.signbit(a) | np.signbit(b))
    return np.where(minus, -np.zeros((), s.dtype), s)[()]
