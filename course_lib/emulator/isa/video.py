"""Scalar video instructions without byte selectors: vadd, vsub, vabsdiff, vmin, vmax.

The result is computed exactly, then clamped to the result type (``.sat``) or cut
to 32 bits; an optional second operation (.add, .min, .max) joins it with ``c``.
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
SECOND = {"": None, ".add": np.add, ".min": np.minimum, ".max": np.maximum}


def _video(operation, dtype, sat, second):
    """The instruction for one result type; ``second`` also takes the operand c."""
    limits = np.iinfo(dtype)

    def compute(a, b, *c):
        exact = operation(a.astype(np.int64), b.astype(np.int64))
        result = (np.clip(exact, limits.min, limits.max) if sat else exact).astype(dtype)
        return second(result, *c) if second else result

    return compute


def _register(name, result, a, b):
    for sat in ("", ".sat"):
        for suffix, second in SECOND.items():
            signature = f"{result} <- {a} {b}" + (f" {result}" if second else "")
            instruction(f"{name}.{result}.{a}.{b}{sat}{suffix}", signature)(
                _video(OPERATIONS[name], DTYPES[result], bool(sat), second)
            )


for _name in OPERATIONS:
    for _result in ("u32", "s32"):
        for _a in ("u32", "s32"):
            for _b in ("u32", "s32"):
                _register(_name, _result, _a, _b)
