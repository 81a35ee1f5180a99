"""Every PTX instruction of the emulator, by family; importing this fills ``TABLE``."""

from . import (
    approximate,
    atomics,
    bits,
    compare,
    convert,
    convert_fp8,
    convert_half,
    float32,
    float64,
    half,
    half_compare,
    integer,
    integer_carry,
    logic,
    packed,
    select,
    video,
    warp,
)
from .table import DTYPES, TABLE, Instruction

FAMILIES = (
    approximate,
    atomics,
    bits,
    compare,
    convert,
    convert_fp8,
    convert_half,
    float32,
    float64,
    half,
    half_compare,
    integer,
    integer_carry,
    logic,
    packed,
    select,
    video,
    warp,
)

__all__ = ["DTYPES", "FAMILIES", "TABLE", "Instruction"]
