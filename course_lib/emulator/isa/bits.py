"""Shifts and bit fields: shl, shr, shf, bfe, bfi, brev, clz, popc, bfind, fns, bmsk, szext.

NumPy's shifts already do what PTX asks for: an amount of the operand width or
more shifts everything out (and fills with the sign for ``shr.s``).
"""

from functools import partial

import numpy as np

from .arrays import Lanes, blend, in_chunks
from .table import instruction

for _bits in (16, 32, 64):
    # A signed amount keeps NumPy from widening; one above 2**31 wraps to a negative
    # number, which NumPy treats as too far, too.
    instruction(f"shr.s{_bits}", f"s{_bits} <- s{_bits} s32")(
        np.right_shift if _bits > 16 else lambda a, n: np.right_shift(a, n).astype(a.dtype)
    )
    for _name, _shift in (("shl.b", np.left_shift), ("shr.u", np.right_shift), ("shr.b", np.right_shift)):
        instruction(f"{_name}{_bits}", f"u{_bits} <- u{_bits} u32")(
            _shift if _bits > 16 else lambda a, n, shift=_shift: shift(a, np.minimum(n, 16)).astype(a.dtype)
        )


def _funnel(shift_left, wrap):
    @in_chunks(16384)
    def funnel(a, b, n):
        n = n & 31 if wrap else np.minimum(n, 32)
        both = b.astype(np.uint64) << 32 | a
        return (both << n >> 32 if shift_left else both >> n).astype(np.uint32)

    return funnel


for _side in ("l", "r"):
    for _mode in ("wrap", "clamp"):
        instruction(f"shf.{_side}.{_mode}.b32", "u32 <- u32 u32 u32")(_funnel(_side == "l", _mode == "wrap"))


def low_mask(count: Lanes, dtype: np.dtype) -> Lanes:
    """``count`` low bits set; all of them when count is the width or more."""
    return ~(~np.zeros((), dtype) << count.astype(dtype))


def _field(value, width):
    """A position or length: 32-bit instructions use the low 8 bits, 64-bit ones (on hardware) all."""
    return value & 255 if width == 32 else value


def extract(a: Lanes, position: Lanes, length: Lanes) -> Lanes:
    """bfe: bits [position, position + length) of ``a``, sign-extended for signed types.

    Bits past the most significant one read as 0, or as copies of the sign bit.
    """
    width = 8 * a.dtype.itemsize
    position, length = _field(position, width), _field(length, width)
    shifted = a >> position.astype(a.dtype)
    if a.dtype.kind == "u":
        return shifted & low_mask(length, a.dtype)
    spare = (width - np.minimum(length, width)).astype(a.dtype)
    return blend(length == 0, a.dtype.type(0), shifted << spare >> spare)


def insert(a: Lanes, b: Lanes, position: Lanes, length: Lanes) -> Lanes:
    """bfi: ``b`` with ``length`` bits from ``position`` on replaced by the low bits of ``a``."""
    width = 8 * a.dtype.itemsize
    position = _field(position, width).astype(a.dtype)
    mask = low_mask(_field(length, width), a.dtype) << position
    return b ^ ((b ^ (a << position)) & mask)


def reverse(a: Lanes) -> Lanes:
    """brev: the bits in opposite order."""
    width = 8 * a.dtype.itemsize
    for step, mask in ((1, 0x55), (2, 0x33), (4, 0x0F)):
        pattern = a.dtype.type(int(f"{mask:02x}" * (width // 8), 16))
        a = (a >> step & pattern) | (a & pattern) << step
    return a.byteswap()


@in_chunks(16384)
def highest_bit(a: Lanes) -> Lanes:
    """Position of the most significant 1 of an unsigned array as int32; -1 for 0."""
    # Without the bit below its highest, ``a`` cannot round up to a power of two.
    exponent = (a & ~(a >> 1)).astype(np.float64).view(np.int64) >> 52
    return np.maximum(exponent - 1023, -1).astype(np.int32)


def count_leading_zeros(a: Lanes) -> Lanes:
    """clz: zeros above the highest 1; the width for 0."""
    width = 8 * a.dtype.itemsize
    return (width - 1 - highest_bit(a)).astype(np.uint32)


def find_bit(a: Lanes) -> Lanes:
    """bfind: highest bit that differs from the sign (unsigned: highest 1)."""
    if a.dtype.kind == "i":
        a = (a ^ (a >> 8 * a.dtype.itemsize - 1)).view(f"u{a.dtype.itemsize}")
    return highest_bit(a).astype(np.uint32)


def find_shift(a: Lanes) -> Lanes:
    """bfind.shiftamt: the left shift that brings that bit to the top; all ones if none."""
    found = find_bit(a).view(np.int32)
    return blend(found < 0, found, 8 * a.dtype.itemsize - 1 - found).view(np.uint32)


def population(a: Lanes) -> Lanes:
    """popc: how many bits are 1."""
    return np.bitwise_count(a).astype(np.uint32)


for _bits in (32, 64):
    _word = f"u{_bits}"
    instruction(f"bfi.b{_bits}", f"{_word} <- {_word} {_word} u32 u32")(insert)
    instruction(f"brev.b{_bits}", f"{_word} <- {_word}")(reverse)
    instruction(f"clz.b{_bits}", f"u32 <- {_word}")(count_leading_zeros)
    instruction(f"popc.b{_bits}", f"u32 <- {_word}")(population)
    for _sign in "us":
        _code = f"{_sign}{_bits}"
        instruction(f"bfe.{_code}", f"{_code} <- {_code} u32 u32")(extract)
        instruction(f"bfind.{_code}", f"u32 <- {_code}")(find_bit)
        instruction(f"bfind.shiftamt.{_code}", f"u32 <- {_code}")(find_shift)


@instruction("fns.b32", "u32 <- u32 u32 s32")
def find_nth_set(mask: Lanes, base: Lanes, offset: Lanes) -> Lanes:
    """Position of the |offset|-th 1 at or above (offset < 0: below) ``base``; all ones if none."""
    mask, base, offset = np.broadcast_arrays(mask, base, offset)
    up, left = offset >= 0, np.maximum(np.absolute(offset.astype(np.int64)), 1)
    position = np.full(mask.shape, -1, np.int64)
    here = base.astype(np.int64)
    for _ in range(32):
        hit = (here >= 0) & (here < 32) & (mask >> np.clip(here, 0, 31).astype(np.uint32) & 1 == 1)
        hit &= (offset != 0) | (here == base)
        left = left - hit
        position = np.where(hit & (left == 0) & (position < 0), here, position)
        here = here + np.where(up, 1, -1)
    return position.astype(np.uint32)[()]


def bit_mask(a: Lanes, b: Lanes, wrap: bool) -> Lanes:
    """bmsk: ``b`` ones from position ``a`` on."""
    if wrap:
        a, b = a & 31, b & 31
    return low_mask(b, np.dtype(np.uint32)) << a


def size_extend(a: Lanes, length: Lanes, wrap: bool) -> Lanes:
    """szext: the low ``length`` bits, extended to 32 with zeros or the sign."""
    length = length & 31 if wrap else np.minimum(length, 32)
    return extract(a, np.uint32(0), length)


for _mode in ("wrap", "clamp"):
    _wrap = _mode == "wrap"
    instruction(f"bmsk.{_mode}.b32", "u32 <- u32 u32")(partial(bit_mask, wrap=_wrap))
    for _code in ("u32", "s32"):
        instruction(f"szext.{_mode}.{_code}", f"{_code} <- {_code} u32")(partial(size_extend, wrap=_wrap))
