"""Integer arithmetic: add, sub, mul, mad, div, rem, min, max, abs, neg, sad.

Wrap-around is NumPy's own for fixed-width integers. The source of every rule is
the "Integer Arithmetic Instructions" section of the PTX ISA.
"""

import numpy as np

from .arrays import Lanes, blend, in_chunks
from .table import DTYPES, instruction

WIDE = {"u16": "u32", "s16": "s32", "u32": "u64", "s32": "s64"}
WORDS = ("u16", "s16", "u32", "s32", "u64", "s64")


def mul_wide(a: Lanes, b: Lanes, wide: np.dtype) -> Lanes:
    """Full product of two 16- or 32-bit integers, in the type of twice the width."""
    return np.multiply(a, b, dtype=wide)


@in_chunks(16384)
def mul_hi(a: Lanes, b: Lanes) -> Lanes:
    """Upper half of the double-width product, for any integer type."""
    bits = 8 * a.dtype.itemsize
    if bits == 64:
        return _mul_hi_64(a, b)
    wide = np.dtype(f"{a.dtype.kind}{bits // 4}")
    return (np.multiply(a, b, dtype=wide) >> bits).astype(a.dtype)


def _mul_hi_64(a, b):
    x, y = a.view(np.uint64), b.view(np.uint64)
    low = np.uint64(0xFFFFFFFF)
    x0, x1, y0, y1 = x & low, x >> 32, y & low, y >> 32
    middle = x1 * y0 + (x0 * y0 >> 32)
    other = x0 * y1 + (middle & low)
    high = x1 * y1 + (middle >> 32) + (other >> 32)
    if a.dtype.kind == "u":
        return high
    # A negative factor counts 2**64 too much of the other one.
    return high.view(np.int64) - (a >> 63 & b) - (b >> 63 & a)


def saturate_s32(wide: Lanes) -> Lanes:
    """Clamp a 64-bit integer to the range of s32."""
    return np.clip(wide, -(2**31), 2**31 - 1).astype(np.int32)


@in_chunks(8192)
def divide(a: Lanes, b: Lanes) -> Lanes:
    """Quotient rounded toward zero. x / 0 has all bits set, as on NVIDIA GPUs."""
    ones = ~np.zeros((), a.dtype)
    if a.dtype.itemsize < 8:  # the float64 quotient never rounds up to the next integer
        quotient = np.divide(a, b, dtype=np.float64).astype(np.int64).astype(a.dtype)
    else:
        quotient = _divide_64(a, b)
    zero = b == 0
    return blend(zero, ones, quotient) if zero.any() else quotient


def _divide_64(a, b):
    if a.dtype.kind == "u":
        return np.floor_divide(a, b)
    size = np.floor_divide(np.absolute(a).view(np.uint64), np.absolute(b).view(np.uint64))
    sign = (a ^ b) >> 63
    return (size.view(np.int64) ^ sign) - sign


def remainder(a: Lanes, b: Lanes) -> Lanes:
    """a - b * (a / b): the sign of ``a``. x % 0 has all bits set, too."""
    rest, zero = a - b * divide(a, b), b == 0
    return blend(zero, ~np.zeros((), a.dtype), rest) if zero.any() else rest


def distance(a: Lanes, b: Lanes) -> Lanes:
    """|a - b|, wrapped to the operand width."""
    return np.maximum(a, b) - np.minimum(a, b)


def _three(code):
    return f"{code} <- {code} {code} {code}"


def _register_width(code):
    two, dtype = f"{code} <- {code} {code}", DTYPES[code]
    instruction(f"add.{code}", two)(np.add)
    instruction(f"sub.{code}", two)(np.subtract)
    instruction(f"mul.lo.{code}", two)(np.multiply)
    instruction(f"mul.hi.{code}", two)(mul_hi)
    instruction(f"div.{code}", two)(divide)
    instruction(f"rem.{code}", two)(remainder)
    instruction(f"min.{code}", two)(np.minimum)
    instruction(f"max.{code}", two)(np.maximum)
    instruction(f"mad.lo.{code}", _three(code))(lambda a, b, c: a * b + c)
    instruction(f"mad.hi.{code}", _three(code))(lambda a, b, c: mul_hi(a, b) + c)
    instruction(f"sad.{code}", _three(code))(lambda a, b, c: distance(a, b) + c)
    if dtype.kind == "i":
        instruction(f"abs.{code}", f"{code} <- {code}")(np.absolute)
        instruction(f"neg.{code}", f"{code} <- {code}")(np.negative)


def _register_wide(code, wide):
    dtype = DTYPES[wide]
    instruction(f"mul.wide.{code}", f"{wide} <- {code} {code}")(lambda a, b: mul_wide(a, b, dtype))
    instruction(f"mad.wide.{code}", f"{wide} <- {code} {code} {wide}")(
        lambda a, b, c: mul_wide(a, b, dtype) + c
    )


for _code in WORDS:
    _register_width(_code)
for _code, _wide in WIDE.items():
    _register_wide(_code, _wide)


@instruction("add.sat.s32", "s32 <- s32 s32")
def add_sat(a: Lanes, b: Lanes) -> Lanes:
    """a + b clamped to s32."""
    return saturate_s32(np.add(a, b, dtype=np.int64))


@instruction("sub.sat.s32", "s32 <- s32 s32")
def sub_sat(a: Lanes, b: Lanes) -> Lanes:
    """a - b clamped to s32."""
    return saturate_s32(np.subtract(a, b, dtype=np.int64))


@instruction("mad.hi.sat.s32", "s32 <- s32 s32 s32")
def mad_hi_sat(a: Lanes, b: Lanes, c: Lanes) -> Lanes:
    """The upper half of a * b, plus c, clamped to s32."""
    return saturate_s32(np.add(mul_hi(a, b), c, dtype=np.int64))


@instruction("min.relu.s32 min.s32.relu", "s32 <- s32 s32")
def min_relu(a: Lanes, b: Lanes) -> Lanes:
    """The smaller one, but at least 0."""
    return np.maximum(np.minimum(a, b), 0)


@instruction("max.relu.s32 max.s32.relu", "s32 <- s32 s32")
def max_relu(a: Lanes, b: Lanes) -> Lanes:
    """The larger one, but at least 0."""
    return np.maximum(np.maximum(a, b), 0)


def _low24(a):
    """The low 24 bits as a 64-bit integer, sign-extended for s32."""
    return ((a << 8) >> 8).astype(f"{a.dtype.kind}8")


def mul24_lo(a: Lanes, b: Lanes) -> Lanes:
    """The low 32 bits of the product of the low 24 bits."""
    return (_low24(a) * _low24(b)).astype(a.dtype)


def mul24_hi(a: Lanes, b: Lanes) -> Lanes:
    """Bits 16 to 47 of the 48-bit product."""
    return (_low24(a) * _low24(b) >> 16).astype(a.dtype)


for _code in ("u32", "s32"):
    instruction(f"mul24.lo.{_code}", f"{_code} <- {_code} {_code}")(mul24_lo)
    instruction(f"mul24.hi.{_code}", f"{_code} <- {_code} {_code}")(mul24_hi)
    instruction(f"mad24.lo.{_code}", _three(_code))(lambda a, b, c: mul24_lo(a, b) + c)
    instruction(f"mad24.hi.{_code}", _three(_code))(lambda a, b, c: mul24_hi(a, b) + c)


@instruction("mad24.hi.sat.s32", "s32 <- s32 s32 s32")
def mad24_hi_sat(a: Lanes, b: Lanes, c: Lanes) -> Lanes:
    """mul24.hi plus c, clamped to s32."""
    return saturate_s32(np.add(mul24_hi(a, b), c, dtype=np.int64))
