"""Bytes and halves inside a 32-bit word: prmt, dp4a, dp2a; add, min and max of two 16-bit integers."""

import numpy as np

from .arrays import Lanes, blend, in_chunks
from .table import instruction


def _byte(a, b, selector):
    """Byte 0-7 of {b, a}; bit 3 of the selector spreads its sign bit over all 8 bits instead."""
    word = (b if selector & 4 else a) if selector.ndim == 0 else blend(selector & 4 != 0, b, a)
    shifted = word >> (selector & 3) * np.uint32(8) & np.uint32(255)
    if not (selector & 8).any():
        return shifted
    return blend(selector & 8 != 0, (shifted >> np.uint32(7)) * np.uint32(255), shifted)


@instruction("prmt.b32", "u32 <- u32 u32 u32")
@in_chunks(16384)
def permute(a: Lanes, b: Lanes, c: Lanes) -> Lanes:
    """Four bytes of {b, a} chosen by the four low nibbles of ``c``."""
    result = _byte(a, b, c & 15)
    for position in (1, 2, 3):
        result = result | _byte(a, b, c >> 4 * position & 15) << 8 * position
    shape = np.broadcast_shapes(a.shape, b.shape, c.shape)
    return result if result.shape == shape else np.full(shape, result)


# Byte selectors, lowest byte first, for c & 3 = 0, 1, 2, 3 (table in the ISA's prmt section).
PERMUTE_MODES = {
    "f4e": (0x3210, 0x4321, 0x5432, 0x6543),
    "b4e": (0x5670, 0x6701, 0x7012, 0x0123),
    "rc8": (0x0000, 0x1111, 0x2222, 0x3333),
    "ecl": (0x3210, 0x3211, 0x3222, 0x3333),
    "ecr": (0x0000, 0x1110, 0x2210, 0x3210),
    "rc16": (0x1010, 0x3232, 0x1010, 0x3232),
}
for _mode, _selectors in PERMUTE_MODES.items():
    _table = np.array(_selectors, np.uint32)
    instruction(f"prmt.b32.{_mode}", "u32 <- u32 u32 u32")(
        lambda a, b, c, table=_table: permute(a, b, table[c & 3])
    )


def part(a: Lanes, signed: bool, bits: int, i: int) -> Lanes:
    """The i-th ``bits``-wide field of a 32-bit word, extended to 32 bits."""
    a = a.view(np.int32 if signed else np.uint32)
    return (a << 32 - bits - bits * i >> 32 - bits).view(np.uint32)


def _dot(a, b, c, signs, widths, first):
    """c + the products of the fields of ``a`` and ``b``, wrapping; ``first`` is the first field of b."""
    total = c.view(np.uint32)
    for i in range(32 // widths[0]):
        total = total + part(a, signs[0], widths[0], i) * part(b, signs[1], widths[1], first + i)
    return total.view(c.dtype)


for _a in ("u32", "s32"):
    for _b in ("u32", "s32"):
        _c = "u32" if _a == _b == "u32" else "s32"
        _signature = f"{_c} <- u32 u32 {_c}"
        _signs = (_a == "s32", _b == "s32")
        instruction(f"dp4a.{_a}.{_b}", _signature)(lambda a, b, c, s=_signs: _dot(a, b, c, s, (8, 8), 0))
        for _half, _from in (("lo", 0), ("hi", 2)):
            instruction(f"dp2a.{_half}.{_a}.{_b}", _signature)(
                lambda a, b, c, s=_signs, i=_from: _dot(a, b, c, s, (16, 8), i)
            )


def _on_halves(function, code):
    """A function of 16-bit integers as one of 32-bit registers that hold two each."""
    dtype = np.dtype(f"{'u' if code[0] == 'u' else 'i'}2")

    def both(*words):
        pairs = [np.asarray(word, order="C")[..., None].view(dtype) for word in words]
        return function(*pairs).astype(dtype, copy=False).view(np.uint32)[..., 0][()]

    return both


for _code in ("u16x2", "s16x2"):
    for _name, _function in (("add", np.add), ("min", np.minimum), ("max", np.maximum)):
        instruction(f"{_name}.{_code}", "u32 <- u32 u32")(_on_halves(_function, _code))
for _name, _function in (("min", np.minimum), ("max", np.maximum)):
    instruction(f"{_name}.relu.s16x2 {_name}.s16x2.relu", "u32 <- u32 u32")(
        _on_halves(lambda a, b, function=_function: np.maximum(function(a, b), 0), "s16x2")
    )
