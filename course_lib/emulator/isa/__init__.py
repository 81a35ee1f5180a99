"""Every PTX instruction of the emulator, by family; importing this fills ``TABLE``."""

from . import (  # noqa: F401 - importing a family registers its instructions
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

__all__ = ["DTYPES", "TABLE", "Instruction"]
