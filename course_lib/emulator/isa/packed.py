"""Bytes and halves inside a 32-bit word: prmt, dp4a, dp2a."""

import numpy as np

from .table import instruction


def _byte(pair, selector):
    """Byte 0-7 of the 64-bit ``pair``; bit 3 of the selector replicates its sign instead."""
    byte = pair >> ((selector & 7) * np.uint32(8)).astype(np.uint64) & np.uint64(255)
    sign = (byte >> 7) * np.uint64(255)
    return np.where(selector & 8, sign, byte).astype(np.uint32)


def _permute(a, b, selectors):
    pair = b.astype(np.uint64) << 32 | a
    result = np.uint32(0)
    for position, selector in enumerate(selectors):
        result = result | _byte(pair, selector) << 8 * position
    return result[()]


@instruction("prmt.b32", "u32 <- u32 u32 u32")
def permute(a, b, c):
    """Four bytes of {b, a} chosen by the four low nibbles of ``c``."""
    return _permute(a, b, [c >> 4 * i & 15 for i in range(4)])


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


def parts(a, signed, bits):
    """The ``bits``-wide fields of a 32-bit word, lowest first, as int64."""
    fields = [(a >> bits * i).astype(f"u{bits // 8}") for i in range(32 // bits)]
    return [(x.view(f"i{bits // 8}") if signed else x).astype(np.int64) for x in fields]


def _dot(pairs, c):
    return (sum(x * y for x, y in pairs) + c).astype(c.dtype)


for _a in ("u32", "s32"):
    for _b in ("u32", "s32"):
        _c = "u32" if _a == _b == "u32" else "s32"
        _signature = f"{_c} <- u32 u32 {_c}"
        _signs = (_a == "s32", _b == "s32")
        instruction(f"dp4a.{_a}.{_b}", _signature)(
            lambda a, b, c, s=_signs: _dot(zip(parts(a, s[0], 8), parts(b, s[1], 8), strict=True), c)
        )
        for _half, _from in (("lo", 0), ("hi", 2)):
            instruction(f"dp2a.{_half}.{_a}.{_b}", _signature)(
                lambda a, b, c, s=_signs, i=_from: _dot(
                    zip(parts(a, s[0], 16), parts(b, s[1], 8)[i : i + 2], strict=True), c
                )
            )
