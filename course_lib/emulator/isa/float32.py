"""float32 arithmetic: add, sub, mul, fma, div, rcp, sqrt, min, max, abs, neg, copysign, testp.

NumPy's own float32 operations are IEEE, round to nearest even; the other modes go
through float64 with an exact error term. ``.ftz`` flushes operands and results.
"""

import numpy as np

from .arrays import Lanes, blend, in_chunks
from .rounding import (
    MODES,
    NAN32,
    SCALE,
    any_subnormal,
    flush,
    flush_rounded,
    narrow,
    quiet,
    saturate,
    sum_sign,
    two_sum,
)
from .table import instruction

F64 = np.float64


def add(a: Lanes, b: Lanes, mode: str = "rn") -> Lanes:
    """a + b rounded once in ``mode``."""
    if mode == "rn":
        return a + b
    a, b = a.astype(F64), b.astype(F64)
    s, e = two_sum(a, b)
    return narrow(sum_sign(s, a, b, mode), mode, error=e)


def subtract(a: Lanes, b: Lanes, mode: str = "rn") -> Lanes:
    """a - b rounded once."""
    return a - b if mode == "rn" else add(a, -b, mode)


def multiply(a: Lanes, b: Lanes, mode: str = "rn") -> Lanes:
    """a * b rounded once; the product is exact in float64."""
    return a * b if mode == "rn" else narrow(np.multiply(a, b, dtype=F64), mode)


def divide(a: Lanes, b: Lanes, mode: str = "rn") -> Lanes:
    """The float64 quotient is never close enough to a float32 to mislead the second rounding."""
    return a / b if mode == "rn" else narrow(np.divide(a, b, dtype=F64), mode)


def reciprocal(a: Lanes, mode: str = "rn") -> Lanes:
    """1 / a rounded once."""
    return divide(np.float32(1), a, mode)


def square_root(a: Lanes, mode: str = "rn") -> Lanes:
    """The square root rounded once."""
    return np.sqrt(a) if mode == "rn" else narrow(np.sqrt(a, dtype=F64), mode)


@in_chunks(16384)
def fma(a: Lanes, b: Lanes, c: Lanes, mode: str = "rn") -> Lanes:
    """a * b + c rounded once. The product is exact in float64, the sum nearly always."""
    c = c.astype(F64)
    product = a.astype(F64) * b
    total = product + c
    if mode == "rn":
        result = total.astype(np.float32)
        tie = total.view(np.uint64) & np.uint64(0x1FFFFFFF) == np.uint64(0x10000000)
        if not tie.any() and not any_subnormal(result):
            return result
    total, error = two_sum(product, c)
    return narrow(sum_sign(total, product, c, mode), mode, error=error)


def _scale_first(a, *others):
    return a * SCALE, *others


def _scale_sum(a, b, c):
    return a * SCALE, b, c * SCALE


def _ftz(function, scale=None):
    """Flush operands and results; ``scale`` gives operands that multiply the result by SCALE."""

    def flushed(*operands):
        operands = [flush(x) for x in operands]
        result = function(*operands)
        if scale is None:
            return flush(result)
        return flush_rounded(result, lambda: function(*scale(*operands)))

    return flushed


SCALED = {"mul": _scale_first, "div": _scale_first, "fma": _scale_sum, "mad": _scale_sum}
SCALED["rcp"] = lambda a: (a / SCALE,)


def _register_rounded(name, function, arity):
    """Every ``{.rnd}{.ftz}{.sat}`` of an operation; without a mode it is .rn."""
    signature = "f32 <- " + "f32 " * arity
    for mode in MODES:

        def core(*operands, mode=mode):
            return quiet(function(*operands, mode=mode))

        prefixes = [f"{name}.{mode}"]
        if mode == "rn" and name in ("add", "sub", "mul"):
            prefixes.append(name)
        for prefix in prefixes:
            instruction(f"{prefix}.f32", signature)(core)
            flushed = _ftz(core, SCALED.get(name))
            instruction(f"{prefix}.ftz.f32", signature)(flushed)
            if name in ("add", "sub", "mul", "fma"):
                instruction(f"{prefix}.sat.f32", signature)(_then_saturate(core))
                instruction(f"{prefix}.ftz.sat.f32", signature)(_then_saturate(flushed))


def _then_saturate(function):
    return lambda *operands: saturate(function(*operands))


for _name, _function, _arity in (
    ("add", add, 2),
    ("sub", subtract, 2),
    ("mul", multiply, 2),
    ("fma", fma, 3),
    ("mad", fma, 3),
    ("div", divide, 2),
    ("rcp", reciprocal, 1),
    ("sqrt", square_root, 1),
):
    _register_rounded(_name, _function, _arity)


def _pick(chosen, a, b, both):
    """Between equal operands (+0 and -0) min and max decide by the sign bit."""
    zero = chosen == 0
    if not zero.any():
        return chosen
    signed = both(a.view(np.uint32), b.view(np.uint32)).view(np.float32)
    return blend(zero & (a == b), signed, chosen)


def minimum(a: Lanes, b: Lanes) -> Lanes:
    """The smaller one; the other one when one is NaN; -0 < +0."""
    a, b = quiet(a), quiet(b)  # fmin and fmax may treat a signalling NaN as a value to keep
    return _pick(np.fmin(a, b), a, b, np.bitwise_or)


def maximum(a: Lanes, b: Lanes) -> Lanes:
    """The larger one; the other one when one is NaN; +0 > -0."""
    a, b = quiet(a), quiet(b)
    return _pick(np.fmax(a, b), a, b, np.bitwise_and)


def _nan_if_any(function):
    return lambda a, b: blend(np.isnan(a) | np.isnan(b), NAN32, function(a, b))


def _xorsign(function):
    """Compare magnitudes, then give the result the product's sign."""

    def combined(a, b):
        sign = (a.view(np.uint32) ^ b.view(np.uint32)) & np.uint32(1 << 31)
        return quiet((function(np.absolute(a), np.absolute(b)).view(np.uint32) | sign).view(np.float32))

    return combined


for _name, _function in (("min", minimum), ("max", maximum)):
    for _nan, _plain in (("", _function), (".NaN", _nan_if_any(_function))):
        for _sign, _any in (("", _plain), (".xorsign.abs", _xorsign(_plain))):
            instruction(f"{_name}{_nan}{_sign}.f32", "f32 <- f32 f32")(_any)
            instruction(f"{_name}.ftz{_nan}{_sign}.f32", "f32 <- f32 f32")(_ftz(_any))

for _name, _function in (("neg", np.negative), ("abs", np.absolute)):
    instruction(f"{_name}.f32", "f32 <- f32")(lambda a, f=_function: quiet(f(a)))
    instruction(f"{_name}.ftz.f32", "f32 <- f32")(lambda a, f=_function: quiet(f(flush(a))))


@instruction("copysign.f32", "f32 <- f32 f32")
def copysign(a: Lanes, b: Lanes) -> Lanes:
    """The magnitude of ``b`` with the sign of ``a``."""
    return np.copysign(b, a)
