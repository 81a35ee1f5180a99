"""How values of PTX types are stored in registers, and literals as NumPy scalars."""

from __future__ import annotations

import numpy as np

from .address import Plain, add_address, address, lanes
from .isa.table import DTYPES
from .ptx import SIZES, Imm

CANONICAL = {1: "u8", 2: "u16", 4: "u32", 8: "u64"}


def register_type(ptx_type: str) -> str:
    """The type a register of a declared PTX type is stored as (a key of DTYPES)."""
    if ptx_type in ("pred", "f32", "f64"):
        return ptx_type
    return CANONICAL[min(max(2, SIZES[ptx_type]), 8)]  # .b128 is refused where it is used


def value_type(ptx_type: str) -> str:
    """The type a memory or move operand of a PTX type has (a key of DTYPES)."""
    if ptx_type in DTYPES:
        return ptx_type
    return CANONICAL[SIZES[ptx_type]]


def immediate(operand: Imm, code: str) -> np.generic:
    """A literal as a NumPy scalar of type `code`; hexadecimal float forms keep their exact bits."""
    dtype, text = DTYPES[code], operand.text
    if dtype == np.bool_:
        return np.bool_(operand.value() != 0)
    if text[:2] in ("0f", "0F", "0d", "0D"):
        bits = int(text[2:], 16).to_bytes(4 if text[1] in "fF" else 8, "little")
        if len(bits) == dtype.itemsize:
            return np.frombuffer(bits, dtype)[0]
        return dtype.type(operand.value())
    value = operand.value()
    if isinstance(value, float) or (dtype.kind == "f" and not text.lower().startswith("0x")):
        return np.dtype(dtype).type(value)
    raw = (int(value) & ((1 << (8 * dtype.itemsize)) - 1)).to_bytes(dtype.itemsize, "little")
    return np.frombuffer(raw, dtype)[0]


def select(guard: Plain, after: Plain, before: Plain) -> Plain:
    """`after` where the guard holds, else `before`."""
    return np.where(guard, after, before) if np.ndim(guard) else (after if guard else before)


RUNTIME = {"lanes": lanes, "address": address, "add_address": add_address, "select": select}
