"""The ``.approx`` and ``.full`` instructions: rcp, sqrt, rsqrt, ex2, lg2, sin, cos, tanh, div.

Hardware promises only error bounds here; the value is computed in float64 and
rounded once, which lies inside every bound of the ISA. A GPU may differ in the last bits.
"""

from collections.abc import Callable

import numpy as np

from .arrays import Lanes, blend, in_chunks
from .rounding import flush, quiet, quiet64
from .table import instruction

FUNCTIONS = {
    "rcp": np.reciprocal,
    "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "ex2": np.exp2,
    "lg2": np.log2,
    "sin": np.sin,
    "cos": np.cos,
    "tanh": np.tanh,
}


def through_float64(function: Callable) -> Callable:
    """A float64 function as a float32 one, rounded once."""
    return in_chunks(8192)(lambda x: quiet(function(x.astype(np.float64)).astype(np.float32)))


for _name, _function in FUNCTIONS.items():
    _core = through_float64(_function)
    instruction(f"{_name}.approx.f32", "f32 <- f32")(_core)
    if _name != "tanh":
        instruction(f"{_name}.approx.ftz.f32", "f32 <- f32")(lambda x, core=_core: flush(core(flush(x))))


def divide_approximately(a: Lanes, b: Lanes) -> Lanes:
    """a * (1 / b). A divisor above 2**126 has a subnormal reciprocal, taken as 0 (so inf / b is NaN)."""
    quotient = a / b
    huge = (np.absolute(b) > 2.0**126) & np.isfinite(b)
    if huge.any():
        quotient = blend(huge, a * np.copysign(np.float32(0), b), quotient)
    return quiet(quotient)


def _ftz_two(function):
    return lambda a, b: flush(function(flush(a), flush(b)))


instruction("div.approx.f32", "f32 <- f32 f32")(divide_approximately)
instruction("div.approx.ftz.f32", "f32 <- f32 f32")(_ftz_two(divide_approximately))
instruction("div.full.f32", "f32 <- f32 f32")(lambda a, b: quiet(a / b))
instruction("div.full.ftz.f32", "f32 <- f32 f32")(_ftz_two(lambda a, b: quiet(a / b)))


def _flush64(x):
    tiny = (x != 0) & (np.absolute(x) < 2.0**-1022)
    return blend(tiny, np.copysign(np.float64(0), x), x)


def _gross(function):
    """Only the upper 32 bits of the operand count, and only those of the result are kept."""
    upper = np.uint64(0xFFFFFFFF << 32)

    def approximate(x):
        x = (_flush64(x).view(np.uint64) & upper).view(np.float64)
        result = _flush64(function(x))
        bits = blend(np.isnan(result), np.uint64(0x7FFFFFFF << 32), result.view(np.uint64))
        return (bits & upper).view(np.float64)

    return approximate


instruction("rcp.approx.ftz.f64", "f64 <- f64")(_gross(np.reciprocal))
instruction("rsqrt.approx.ftz.f64", "f64 <- f64")(_gross(FUNCTIONS["rsqrt"]))
instruction("rsqrt.approx.f64", "f64 <- f64")(lambda x: quiet64(FUNCTIONS["rsqrt"](x), x))
