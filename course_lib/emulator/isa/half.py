"""f16, bf16, f16x2 and bf16x2 arithmetic ("Half Precision Floating Point Instructions").

add, sub and mul through float32 round correctly (24 >= 2 * 11 + 2 bits); fma goes
through float64 with its error term.
"""

import numpy as np

from .approximate import FUNCTIONS
from .arrays import Lanes, blend, in_chunks
from .atomics import atomic
from .formats import F16, FORMATS, NAN16, f16_flush, f16_round, on_pairs
from .rounding import quiet, saturate, to_odd, two_sum
from .table import instruction


def _product_sum_f16(a, b, c):
    """Exact wherever it matters: what float64 loses of a 22-bit product is far below half a step."""
    return a.astype(np.float64) * b + c


def _product_sum_bf16(a, b, c):
    """A tiny c can break the tie of a 16-bit product, so keep the error."""
    return to_odd(*two_sum(a.astype(np.float64) * b, c.astype(np.float64)))


PRODUCT_SUM = {"f16": _product_sum_f16, "bf16": _product_sum_bf16}


def relu(x: Lanes) -> Lanes:
    """Negative values and -0 become +0, NaN stays."""
    return blend(x <= 0, x.dtype.type(0), x)


def _flush_tiny(result, exact):
    """Flush f16 results that stay below 2**-14 when rounded with unlimited exponents."""
    tiny = np.absolute(f16_round(exact * 1024)) < 2.0**-4
    bits = result.view(np.uint16)
    return blend(tiny, bits & np.uint16(0x8000), bits).view(np.float16)


def _rounded(form, function, finish=None, ftz=False):
    """16-bit registers in, exact values through ``function``, one rounding, registers out."""

    @in_chunks(8192)
    def compute(*operands):
        if ftz:
            operands = [f16_flush(x) for x in operands]
        exact = function(*(form.value(x) for x in operands))
        result = form.round(finish(exact) if finish else exact)
        return _flush_tiny(result, exact) if ftz else result

    return compute


def _register(opcode, form, arity, function):
    """The scalar and the packed form of one operation."""
    code = form.code
    instruction(f"{opcode}.{form.name}", f"{code} <-" + f" {code}" * arity)(function)
    instruction(f"{opcode}.{form.name}x2", "u32 <-" + " u32" * arity)(on_pairs(form, function))


def _register_arithmetic(form):
    product_sum = PRODUCT_SUM[form.name]
    finishes = (("", None), (".sat", saturate)) if form is F16 else (("", None),)
    flushes = (("", False), (".ftz", True)) if form is F16 else (("", False),)
    for suffix, finish in finishes:
        for flag, ftz in flushes:
            for name, function in (("add", np.add), ("sub", np.subtract), ("mul", np.multiply)):
                for mode in ("", ".rn"):
                    _register(name + mode + flag + suffix, form, 2, _rounded(form, function, finish, ftz))
            _register("fma.rn" + flag + suffix, form, 3, _rounded(form, product_sum, finish, ftz))
    for flag, ftz in flushes:
        _register(f"fma.rn{flag}.relu", form, 3, _rounded(form, product_sum, relu, ftz))


def _extreme(form, pick, both, nan_wins, ftz):
    """min or max: +0 > -0; a NaN loses unless ``.NaN`` says otherwise."""

    def choose(a, b):
        if ftz:
            a, b = f16_flush(a), f16_flush(b)
        x, y = quiet(form.value(a)), quiet(form.value(b))
        chosen = pick(x, y)
        bits = both(x.view(np.uint32), y.view(np.uint32)).view(np.float32)
        chosen = blend(x == y, bits, chosen)
        if nan_wins:
            chosen = blend(np.isnan(x) | np.isnan(y), np.float32(np.nan), chosen)
        return form.round(chosen)

    return choose


def _xorsign(form, function):
    """Compare magnitudes, then give the result the product's sign; NaN has none."""
    sign = np.uint16(0x8000)

    def choose(a, b):
        x, y = a.view(np.uint16), b.view(np.uint16)
        size = function(form.from_bits(x & ~sign), form.from_bits(y & ~sign)).view(np.uint16)
        signed = size | ((x ^ y) & sign)
        return form.from_bits(blend(size == 0x7FFF, size, signed))

    return choose


def _register_extremes(form):
    for name, pick, both in (("min", np.fmin, np.bitwise_or), ("max", np.fmax, np.bitwise_and)):
        for flag, ftz in (("", False), (".ftz", True)) if form is F16 else (("", False),):
            for nan, nan_wins in (("", False), (".NaN", True)):
                plain = _extreme(form, pick, both, nan_wins, ftz)
                _register(f"{name}{flag}{nan}", form, 2, plain)
                _register(f"{name}{flag}{nan}.xorsign.abs", form, 2, _xorsign(form, plain))


def _on_bits(form, operation, mask):
    """neg and abs touch the sign bit only, except that every NaN becomes 0x7fff."""

    def compute(a):
        bits = operation(a.view(np.uint16), np.uint16(mask))
        return form.from_bits(blend(np.isnan(form.value(a)), NAN16, bits))

    return compute


def _register_signs(form):
    for name, operation, mask in (("neg", np.bitwise_xor, 0x8000), ("abs", np.bitwise_and, 0x7FFF)):
        function = _on_bits(form, operation, mask)
        _register(name, form, 1, function)
        if form is F16:
            _register(f"{name}.ftz", form, 1, lambda a, function=function: function(f16_flush(a)))


def _register_approximations(form):
    for opcode in ("ex2.approx" if form is F16 else "ex2.approx.ftz", "tanh.approx"):
        function = FUNCTIONS[opcode.partition(".")[0]]

        def compute(a, function=function):
            return form.round(function(form.value(a).astype(np.float64)))

        _register(opcode, form, 1, compute)


for _form in FORMATS:
    _register_arithmetic(_form)
    _register_extremes(_form)
    _register_signs(_form)
    _register_approximations(_form)
    atomic(f"atom.add.noftz.{_form.name}", _form.code, _rounded(_form, np.add))
    atomic(f"atom.add.noftz.{_form.name}x2", "u32", on_pairs(_form, _rounded(_form, np.add)))
