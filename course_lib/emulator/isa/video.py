"""Video instructions without selectors: vadd, vsub, vabsdiff, vmin, vmax, alone or on 2 or 4 parts.

The result is computed exactly, then clamped to the result type (``.sat``) or cut to
32 bits, as the ISA says. (Recent GPUs have no such unit; the H200 code for unsigned
``.sat`` misses overflow past 2**32.) The forms of one part with a third operand are
not here; those of 2 or 4 parts have one, which only the ``.add`` of sums of absolute
differences uses: c + the sum of the parts.
"""

from itertools import product

import numpy as np

from .table import DTYPES, instruction

OPERATIONS = {
    "vadd": np.add,
    "vsub": np.subtract,
    "vabsdiff": lambda a, b: np.absolute(a - b),
    "vmin": np.minimum,
    "vmax": np.maximum,
}


def _video(operation, dtype, sat):
    """The instruction for one result type."""
    limits = np.iinfo(dtype)

    def compute(a, b):
        exact = operation(a.astype(np.int64), b.astype(np.int64))
        return (np.clip(exact, limits.min, limits.max) if sat else exact).astype(dtype)

    return compute


def _register(name, result, a, b):
    for sat in ("", ".sat"):
        instruction(f"{name}.{result}.{a}.{b}{sat}", f"{result} <- {a} {b}")(
            _video(OPERATIONS[name], DTYPES[result], bool(sat))
        )


for _name in OPERATIONS:
    for _result in ("u32", "s32"):
        for _a in ("u32", "s32"):
            for _b in ("u32", "s32"):
                _register(_name, _result, _a, _b)


def _parted(operation, parts, types, sat, add):
    """vadd2, vabsdiff4 and the like; ``types`` are those of the result, a and b."""
    bits = 32 // parts
    result, *sources = (np.dtype(("u" if code[0] == "u" else "i") + str(bits // 8)) for code in types)
    limits = np.iinfo(result)

    def compute(a, b, c):
        x, y = (
            np.asarray(word, order="C")[..., None].view(dtype).astype(np.int32)
            for word, dtype in zip((a, b), sources, strict=True)
        )
        exact = operation(x, y)
        held = (np.clip(exact, limits.min, limits.max) if sat else exact).astype(result)
        if add:
            return (held.sum(axis=-1, dtype=np.int64) + c).astype(np.uint32)[()]
        return (np.ascontiguousarray(held).view(np.uint32)[..., 0] | (c & np.uint32(0)))[()]

    return compute


for _name in OPERATIONS:
    for _parts in (2, 4):
        for _types in product(("u32", "s32"), repeat=3):
            _sums = _name == "vabsdiff" and _types in (("u32", "u32", "u32"), ("u32", "s32", "s32"))
            for _suffix in ("", ".sat", ".add")[: 2 + _sums]:
                instruction(f"{_name}{_parts}.{'.'.join(_types)}{_suffix}", "u32 <- u32 u32 u32")(
                    _parted(OPERATIONS[_name], _parts, _types, _suffix == ".sat", _suffix == ".add")
                )
