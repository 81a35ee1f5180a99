"""Bitwise logic: and, or, xor, not, cnot, lop3 ("Logic and Shift Instructions")."""

import numpy as np

from .arrays import Lanes
from .table import instruction

BITS = {"b16": "u16", "b32": "u32", "b64": "u64"}

instruction("and.pred", "pred <- pred pred")(np.logical_and)
instruction("or.pred", "pred <- pred pred")(np.logical_or)
instruction("xor.pred", "pred <- pred pred")(np.logical_xor)
instruction("not.pred", "pred <- pred")(np.logical_not)


def cnot(a: Lanes) -> Lanes:
    """C's ``!``: 1 where ``a`` is 0, else 0."""
    return (a == 0).astype(a.dtype)


for _code, _word in BITS.items():
    _two = f"{_word} <- {_word} {_word}"
    instruction(f"and.{_code}", _two)(np.bitwise_and)
    instruction(f"or.{_code}", _two)(np.bitwise_or)
    instruction(f"xor.{_code}", _two)(np.bitwise_xor)
    instruction(f"not.{_code}", f"{_word} <- {_word}")(np.invert)
    instruction(f"cnot.{_code}", f"{_word} <- {_word}")(cnot)


@instruction("lop3.b32", "u32 <- u32 u32 u32 u32")
def lop3(a: Lanes, b: Lanes, c: Lanes, table: Lanes) -> Lanes:
    """Any function of three bits: bit 4a + 2b + c of ``table`` is the result."""
    result = np.zeros(np.broadcast_shapes(np.shape(a), np.shape(b), np.shape(c)), np.uint32)
    for row in range(8):
        if int(table) >> row & 1:
            term = a if row & 4 else ~a
            term = term & (b if row & 2 else ~b)
            result = result | (term & (c if row & 1 else ~c))
    return result[()]
