"""Comparisons: setp (also with a boolean to combine, and its ``p|q`` form), set, testp.

Ordered float comparisons are false when an operand is NaN, the unordered ones
(``ltu`` ...) true. ``lo ls hi hs`` are the unsigned spellings of ``lt le gt ge``.
"""

from collections.abc import Callable

import numpy as np

from .arrays import Lanes, blend
from .rounding import flush
from .table import DTYPES, instruction

SIGNED = {"eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal}
SIGNED |= {"gt": np.greater, "ge": np.greater_equal}
UNSIGNED = SIGNED | {"lo": np.less, "ls": np.less_equal, "hi": np.greater, "hs": np.greater_equal}
COMBINE = {"and": np.logical_and, "or": np.logical_or, "xor": np.logical_xor}


def _not(compare):
    return lambda a, b: np.logical_not(compare(a, b))


def not_equal(a: Lanes, b: Lanes) -> Lanes:
    """Ordered: false for NaN, unlike NumPy's ``!=``."""
    return (a < b) | (a > b)


def equal_or_nan(a: Lanes, b: Lanes) -> Lanes:
    """Unordered: true for NaN."""
    return ~((a < b) | (a > b))


def is_number(a: Lanes, b: Lanes) -> Lanes:
    """Neither operand is NaN."""
    return (a == a) & (b == b)


def has_nan(a: Lanes, b: Lanes) -> Lanes:
    """At least one operand is NaN."""
    return (a != a) | (b != b)


FLOAT = SIGNED | {"ne": not_equal, "num": is_number, "nan": has_nan}
FLOAT |= {"equ": equal_or_nan, "neu": np.not_equal}
FLOAT |= {"ltu": _not(np.greater_equal), "leu": _not(np.greater)}
FLOAT |= {"gtu": _not(np.less_equal), "geu": _not(np.less)}
BITS = {"eq": np.equal, "ne": np.not_equal}


def _both(compare):
    """The ``p|q`` form: q is the opposite of p."""

    def pair(*operands):
        p = compare(*operands)
        return p, np.logical_not(p)

    return pair


def _combined(compare, operator):
    return lambda a, b, c: operator(compare(a, b), c)


def _combined_both(compare, operator):
    def pair(a, b, c):
        p = compare(a, b)
        return operator(p, c), operator(np.logical_not(p), c)

    return pair


def _flushing(compare):
    return lambda a, b: compare(flush(a), flush(b))


def register_setp(name: str, suffix: str, code: str, compare: Callable) -> None:
    """setp.CMP and setp.CMP.BOOL for one operand type."""
    instruction(f"setp.{name}.{suffix}", f"pred <- {code} {code}")(compare)
    for combine, operator in COMBINE.items():
        opcode = f"setp.{name}.{combine}.{suffix}"
        instruction(opcode, f"pred <- {code} {code} pred")(_combined(compare, operator))


def _register_pairs(name, suffix, code, compare):
    """The ``p|q`` forms; the 16-bit floats have none."""
    instruction(f"setp.{name}.{suffix}|", f"pred pred <- {code} {code}")(_both(compare))
    for combine, operator in COMBINE.items():
        opcode = f"setp.{name}.{combine}.{suffix}|"
        instruction(opcode, f"pred pred <- {code} {code} pred")(_combined_both(compare, operator))


def _truth(p, result):
    """A bool as ``set`` stores it: all ones (integers) or 1.0 (floats)."""
    dtype = DTYPES[result]
    return blend(p, dtype.type(1) if dtype.kind == "f" else ~np.zeros((), dtype), dtype.type(0))


def _register_set(name, suffix, code, compare):
    """set.CMP{.BOOL}.RESULT.OPERAND; ``.ftz`` of the suffix moves in front."""
    ftz, _, operand = suffix.rpartition(".")
    for result in ("u32", "s32", "f32"):
        opcode = ".".join(filter(None, (ftz, result, operand)))
        instruction(f"set.{name}.{opcode}", f"{result} <- {code} {code}")(
            lambda a, b, result=result: _truth(compare(a, b), result)
        )
        for combine, operator in COMBINE.items():
            instruction(f"set.{name}.{combine}.{opcode}", f"{result} <- {code} {code} pred")(
                lambda a, b, c, result=result, operator=operator: _truth(operator(compare(a, b), c), result)
            )


def _register(suffix, code, comparisons, wrap=lambda compare: compare):
    for name, compare in comparisons.items():
        register_setp(name, suffix, code, wrap(compare))
        _register_pairs(name, suffix, code, wrap(compare))
        _register_set(name, suffix, code, wrap(compare))


for _bits in (16, 32, 64):
    _register(f"b{_bits}", f"u{_bits}", BITS)
    _register(f"u{_bits}", f"u{_bits}", UNSIGNED)
    _register(f"s{_bits}", f"s{_bits}", SIGNED)
_register("f32", "f32", FLOAT)
_register("ftz.f32", "f32", FLOAT, _flushing)
_register("f64", "f64", FLOAT)


def _subnormal(a):
    return (a != 0) & (np.absolute(a) < np.finfo(a.dtype).tiny)


TESTS = {
    "finite": np.isfinite,
    "infinite": np.isinf,
    "number": lambda a: a == a,
    "notanumber": np.isnan,
    "normal": lambda a: np.isfinite(a) & ~_subnormal(a),  # the ISA counts zero as normal
    "subnormal": _subnormal,
}
for _name, _test in TESTS.items():
    for _code in ("f32", "f64"):
        instruction(f"testp.{_name}.{_code}", f"pred <- {_code}")(_test)
