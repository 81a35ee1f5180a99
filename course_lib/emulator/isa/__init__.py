"""Every PTX instruction of the emulator, by family; importing this fills ``TABLE``."""

from . import (
    approximate,
    atomics,
    bits,
    compare,
    convert,
    float32,
    float64,
    integer,
    integer_carry,
    logic,
    packed,
    select,
    warp,
)
from .table import DTYPES, TABLE, Instruction

FAMILIES = (
    approximate,
    atomics,
    bits,
    compare,
    convert,
    float32,
    float64,
    integer,
    integer_carry,
    logic,
    packed,
    select,
    warp,
)

__all__ = ["DTYPES", "FAMILIES", "TABLE", "Instruction"]
