"""Atomic operations: ``function(old, *operands)`` gives the new memory word.

Opcodes carry no space, scope or ordering: ``atom.shared.add.u32`` is
``atom.add.u32`` here. One exception: on global memory ``atom.add.f32`` flushes
subnormals, on shared memory it does not, so ``atom.global.add.f32`` has its own entry.
"""

from collections.abc import Callable

import numpy as np

from .arrays import Lanes, blend
from .float32 import add as add_float
from .float64 import add as add_double
from .rounding import flush, quiet, quiet64
from .table import instruction


def exchange(old: Lanes, new: Lanes) -> Lanes:
    """The new value, whatever was there."""
    return np.broadcast_arrays(old, new)[1][()]


def compare_and_swap(old: Lanes, expected: Lanes, new: Lanes) -> Lanes:
    """The new value where the old one is as expected."""
    return blend(old == expected, new, old)


def increment(old: Lanes, limit: Lanes) -> Lanes:
    """Count up to ``limit``, then start at 0."""
    return blend(old >= limit, np.uint32(0), old + np.uint32(1))


def decrement(old: Lanes, limit: Lanes) -> Lanes:
    """Count down; from 0 or from above ``limit`` go to ``limit``."""
    return blend((old == 0) | (old > limit), limit, old - np.uint32(1))


def atomic(opcode: str, code: str, function: Callable, operands: int = 1) -> None:
    """Register one atomic operation on words of type ``code``."""
    instruction(opcode, f"{code} <- {code}" + f" {code}" * operands, kind="atomic")(function)


for _code in ("u32", "s32", "u64", "s64"):
    if _code != "s64":
        atomic(f"atom.add.{_code}", _code, np.add)
    atomic(f"atom.min.{_code}", _code, np.minimum)
    atomic(f"atom.max.{_code}", _code, np.maximum)
for _bits in (32, 64):
    _word = f"u{_bits}"
    atomic(f"atom.and.b{_bits}", _word, np.bitwise_and)
    atomic(f"atom.or.b{_bits}", _word, np.bitwise_or)
    atomic(f"atom.xor.b{_bits}", _word, np.bitwise_xor)
for _bits in (16, 32, 64):
    atomic(f"atom.cas.b{_bits}", f"u{_bits}", compare_and_swap, 2)
    if _bits > 16:
        atomic(f"atom.exch.b{_bits}", f"u{_bits}", exchange)
atomic("atom.inc.u32", "u32", increment)
atomic("atom.dec.u32", "u32", decrement)
atomic("atom.add.f32", "f32", lambda old, x: quiet(add_float(old, x)))
atomic("atom.global.add.f32", "f32", lambda old, x: flush(quiet(add_float(flush(old), flush(x)))))


@instruction("atom.add.f64", "f64 <- f64 f64", kind="atomic")
def add_f64(old: Lanes, x: Lanes) -> Lanes:
    """NaN operands pass unchanged."""
    total = quiet64(add_double(old, x))
    return blend(np.isnan(x), x, blend(np.isnan(old), old, total))
