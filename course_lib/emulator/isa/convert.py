"""cvt between integers, float32 and float64.

Function operands and results follow the instruction types; an 8-bit result comes
in 16 bits, extended by its sign. Rules: section "cvt" of the PTX ISA.
"""

from collections.abc import Callable

import numpy as np

from .arrays import Lanes
from .rounding import MODES, SCALE, direct, flush, flush_rounded, narrow, quiet, saturate, two_sum
from .table import DTYPES, instruction

INTEGERS = ("u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64")
TO_INTEGRAL = {"rni": np.rint, "rzi": np.trunc, "rmi": np.floor, "rpi": np.ceil}


def holder(code: str) -> str:
    """Type code of the register that takes a result: 8-bit values live in 16 bits."""
    return code[0] + "16" if code in ("u8", "s8") else code


def integer_to_integer(source: str, target: str, sat: bool) -> Callable:
    """Truncate or extend; with ``sat`` clamp to the target's range first."""
    source, target, result = DTYPES[source], DTYPES[target], DTYPES[holder(target)]
    low, high = (
        max(np.iinfo(source).min, np.iinfo(target).min),
        min(np.iinfo(source).max, np.iinfo(target).max),
    )

    def convert(a):
        a = a.astype(source, copy=False)
        if sat:
            a = np.clip(a, source.type(low), source.type(high))
        return a.astype(target).astype(result, copy=False)

    return convert


def exact_pair(a: Lanes) -> tuple[Lanes, Lanes]:
    """A 64-bit integer as an unevaluated float64 sum."""
    high, low = (a >> 32).astype(np.float64) * 2.0**32, (a & 0xFFFFFFFF).astype(np.float64)
    return two_sum(high, low)


def integer_to_float(source: str, target: str, mode: str) -> Callable:
    """One rounding in ``mode``."""
    source, target = DTYPES[source], DTYPES[target]

    def convert(a):
        a = a.astype(source, copy=False)
        if mode == "rn" or source.itemsize < min(4, target.itemsize):
            return a.astype(target)
        if source.itemsize < 8:
            return narrow(a.astype(np.float64), mode) if target.itemsize == 4 else a.astype(target)
        nearest, error = exact_pair(a)
        if target.itemsize == 4:
            return narrow(nearest, mode, error=error)
        return direct(nearest, -error, mode)

    return convert


def float_to_integer(target: str, nan_is_zero: bool) -> Callable:
    """Clamp an already integral float to ``target``; NaN gives 0 or the top bit alone (ISA, "cvt")."""
    target_type, result = DTYPES[target], DTYPES[holder(target)]
    low, high = np.iinfo(target_type).min, np.iinfo(target_type).max
    nan_value = 0 if nan_is_zero else 1 << 8 * target_type.itemsize - 1
    nan_bits = np.array(nan_value, f"u{target_type.itemsize}").view(target_type)

    def convert(a):
        inside = (a >= float(low)) & (a < float(high + 1))
        if inside.all():
            return a.astype(target_type).astype(result, copy=False)
        clamped = np.where(a > 0, target_type.type(high), target_type.type(low))
        clamped = np.where(np.isnan(a), nan_bits, clamped)
        exact = np.where(inside, a, 0).astype(target_type)
        return np.where(inside, exact, clamped).astype(result)[()]

    return convert


def _register_to_integer(code):
    ftz_forms = ((".ftz", flush), ("", None)) if code == "f32" else (("", None),)
    for target in INTEGERS:
        convert = float_to_integer(target, code != "f64" and target not in ("u64", "s64"))
        for rounding, function in TO_INTEGRAL.items():
            for ftz, before in ftz_forms:

                def cvt(a, convert=convert, function=function, before=before):
                    return convert(function(before(a) if before else a))

                for sat in ("", ".sat"):
                    opcode = f"cvt.{rounding}{ftz}{sat}.{target}.{code}"
                    instruction(opcode, f"{holder(target)} <- {code}")(cvt)


def _register_integral(code, finish):
    """cvt.rni.f32.f32 and the like: a float rounded to an integral float."""
    for rounding, function in TO_INTEGRAL.items():
        _with_modifiers(f"cvt.{rounding}", f"{code}.{code}", lambda a, f=function: finish(f(a)))


def _with_modifiers(prefix, types, function):
    """Register a float result under every {.ftz}{.sat} the types allow."""
    target, source = types.split(".")
    signature = f"{target} <- {source}"
    instruction(f"{prefix}.{types}", signature)(function)
    instruction(f"{prefix}.sat.{types}", signature)(lambda a: saturate(function(a)))
    if "f32" in (target, source) and DTYPES[source].kind == "f":

        def flushed(a):
            if source == "f64":
                return flush_rounded(function(a), lambda: function(a * SCALE))
            result = function(quiet(flush(a)))
            return flush(result) if target == "f32" else result

        instruction(f"{prefix}.ftz.{types}", signature)(flushed)
        instruction(f"{prefix}.ftz.sat.{types}", signature)(lambda a: saturate(flushed(a)))


def widen(a: Lanes) -> Lanes:
    """f32 to f64, exact."""
    return a.astype(np.float64)


for _source in INTEGERS:
    for _target in INTEGERS:
        _signature = f"{holder(_target)} <- {_source}"
        instruction(f"cvt.{_target}.{_source}", _signature)(integer_to_integer(_source, _target, False))
        if not np.can_cast(DTYPES[_source], DTYPES[_target]):
            _clamp = integer_to_integer(_source, _target, True)
            instruction(f"cvt.sat.{_target}.{_source}", _signature)(_clamp)
    for _target in ("f32", "f64"):
        for _mode in MODES:
            _with_modifiers(f"cvt.{_mode}", f"{_target}.{_source}", integer_to_float(_source, _target, _mode))

for _code, _finish in (("f32", quiet), ("f64", np.positive)):
    _register_to_integer(_code)
    _register_integral(_code, _finish)
    _with_modifiers("cvt", f"{_code}.{_code}", np.positive)
_with_modifiers("cvt", "f64.f32", widen)
for _mode in MODES:
    _with_modifiers(f"cvt.{_mode}", "f32.f64", lambda a, mode=_mode: narrow(a, mode))
