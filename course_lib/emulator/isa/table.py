"""The instruction table: PTX opcode -> how its value is computed.

Every entry is a pure function over NumPy values. An operand is either an array
(one element per lane, any shape) or a NumPy scalar (the same value in all lanes);
functions must work for both and for any mix that broadcasts. They never change
their operands. Integer wrap-around, NaN and infinities are normal here: callers run
them under ``numpy.errstate(all="ignore")``.

A signature such as ``"u32 <- u32 u32"`` names result and operand types. ``cc`` is
the carry flag (a bool) that ``add.cc``, ``addc`` and friends pass along.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

DTYPES = {
    "pred": np.dtype(np.bool_),
    "cc": np.dtype(np.bool_),
    "u8": np.dtype(np.uint8),
    "s8": np.dtype(np.int8),
    "u16": np.dtype(np.uint16),
    "s16": np.dtype(np.int16),
    "u32": np.dtype(np.uint32),
    "s32": np.dtype(np.int32),
    "u64": np.dtype(np.uint64),
    "s64": np.dtype(np.int64),
    "f16": np.dtype(np.float16),
    "f32": np.dtype(np.float32),
    "f64": np.dtype(np.float64),
}


@dataclass(frozen=True)
class Instruction:
    """One PTX opcode.

    ``kind`` is ``"lane"`` (each lane alone; ``function(*operands)``), ``"warp"``
    (lanes of a warp together; operands have shape (warps, 32) and
    ``function(active, *operands)`` also gets the active mask) or ``"atomic"``
    (``function(old, *operands)`` gives the new memory word).
    """

    opcode: str
    results: tuple[str, ...]
    operands: tuple[str, ...]
    function: Callable
    kind: str = "lane"


TABLE: dict[str, Instruction] = {}


def instruction(opcodes: str, signature: str, kind: str = "lane") -> Callable[[Callable], Callable]:
    """Register a function under each of the space-separated ``opcodes``.

    Raises ValueError when an opcode is registered twice or a type is unknown.
    """
    results, operands = (tuple(side.split()) for side in signature.split("<-"))
    unknown = [code for code in results + operands if code not in DTYPES]
    if unknown:
        raise ValueError(f"unknown types {unknown} in signature {signature!r}")

    def register(function: Callable) -> Callable:
        for opcode in opcodes.split():
            if opcode in TABLE:
                raise ValueError(f"{opcode} is registered twice")
            TABLE[opcode] = Instruction(opcode, results, operands, function, kind)
        return function

    return register
