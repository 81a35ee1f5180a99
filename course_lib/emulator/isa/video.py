"""Scalar video instructions without byte selectors: vadd, vsub, vabsdiff, vmin, vmax.

The result is computed exactly, then clamped to the result type (``.sat``) or cut to
32 bits, as the ISA says. (Recent GPUs have no such unit; the H200 code for unsigned
``.sat`` misses overflow past 2**32.) The forms with a third operand are not here.
"""

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
