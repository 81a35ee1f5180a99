"""setp and set on f16, bf16 and pairs of them."""

from collections.abc import Callable

import numpy as np

from .arrays import blend
from .compare import COMBINE, FLOAT, register_setp
from .formats import F16, FORMATS, Format, f16_flush, halves, join
from .table import DTYPES, instruction

ONE = {"f16": 0x3C00, "bf16": 0x3F80}  # 1.0


def compare_values(form: Format, compare: Callable, ftz: bool) -> Callable:
    """A comparison of float32 values as one of 16-bit registers."""
    if ftz:
        return lambda a, b: compare(form.value(f16_flush(a)), form.value(f16_flush(b)))
    return lambda a, b: compare(form.value(a), form.value(b))


def _truth16(p, result):
    """A bool as ``set`` stores it in 16 bits."""
    return blend(p, np.uint16(ONE.get(result, 0xFFFF)), np.uint16(0))


def _single(form, compare, result):
    """set.CMP.RESULT.f16 for one value."""
    code = "u16" if result == "bf16" else result
    dtype = DTYPES[code]

    def test(a, b):
        p = compare(a, b)
        if dtype.itemsize == 2:
            return _truth16(p, result).view(dtype)
        return blend(p, ~np.zeros((), dtype), dtype.type(0))

    return code, test


def _pair(form, compare):
    """Two comparisons: (low, high) bools."""

    def test(a, b):
        (a0, a1), (b0, b1) = halves(a), halves(b)
        low = compare(form.from_bits(a0), form.from_bits(b0))
        return low, compare(form.from_bits(a1), form.from_bits(b1))

    return test


def _register_set(form, name, compare, ftz):
    code = form.code
    for result in ("u16", "s16", "u32", "s32", form.name):
        result_code, test = _single(form, compare, result)
        instruction(f"set.{name}{ftz}.{result}.{form.name}", f"{result_code} <- {code} {code}")(test)
    pair = _pair(form, compare)
    for result in (f"{form.name}x2", "u32", "s32"):
        one = form.name if result.endswith("x2") else result
        held = "s32" if result == "s32" else "u32"

        def test(a, b, one=one, held=held):
            low, high = pair(a, b)
            return join(_truth16(low, one), _truth16(high, one)).view(DTYPES[held])

        instruction(f"set.{name}{ftz}.{result}.{form.name}x2", f"{held} <- u32 u32")(test)


def _register_packed_setp(form, name, compare, ftz):
    """setp.CMP.f16x2 p|q: p from the low values, q from the high ones."""
    pair = _pair(form, compare)
    opcode = f"setp.{name}{{}}{ftz}.{form.name}x2|"
    instruction(opcode.format(""), "pred pred <- u32 u32")(pair)
    for combine, operator in COMBINE.items():

        def both(a, b, c, operator=operator):
            low, high = pair(a, b)
            return operator(low, c), operator(high, c)

        instruction(opcode.format("." + combine), "pred pred <- u32 u32 pred")(both)


for _form in FORMATS:
    for _name, _compare in FLOAT.items():
        for _ftz in ("", ".ftz") if _form is F16 else ("",):
            _test = compare_values(_form, _compare, bool(_ftz))
            register_setp(_name, f"{_ftz}.{_form.name}".lstrip("."), _form.code, _test)
            _register_set(_form, _name, _test, _ftz)
            _register_packed_setp(_form, _name, _test, _ftz)
