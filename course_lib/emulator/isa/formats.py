"""The 16-bit float formats f16 and bf16, and pairs of them in a 32-bit register.

f16 registers are NumPy float16; bf16 has no NumPy type, so its registers are
uint16. Work happens in float32 or float64 and is rounded once at the end.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .arrays import Lanes, blend
from .rounding import narrow, narrow_to_odd

NAN16 = np.uint16(0x7FFF)


def f16_value(a: Lanes) -> Lanes:
    """float16 register to float32, exact."""
    return a.astype(np.float32)


def f16_round(x: Lanes, mode: str = "rn") -> Lanes:
    """float32 or float64 to float16 with one rounding; NaN is 0x7fff."""
    bits = narrow(x, mode, np.float16).view(np.uint16)
    return blend(np.isnan(x), NAN16, bits).view(np.float16)


def f16_flush(a: Lanes) -> Lanes:
    """float16 subnormals become zeros of the same sign."""
    bits = a.view(np.uint16)
    tiny = bits & np.uint16(0x7C00) == 0
    return blend(tiny, bits & np.uint16(0x8000), bits).view(np.float16)


def bf16_value(a: Lanes) -> Lanes:
    """bf16 register (uint16) to float32, exact."""
    return (a.astype(np.uint32) << np.uint32(16)).view(np.float32)


def bf16_round(x: Lanes, mode: str = "rn") -> Lanes:
    """float32 or float64 to a bf16 register (uint16) with one rounding; NaN is 0x7fff."""
    if x.dtype == np.float64:
        x = narrow_to_odd(x)
    bits = x.view(np.uint32)
    if mode == "rn":
        bits = bits + (np.uint32(0x7FFF) + (bits >> 16 & 1))
    elif mode != "rz":
        up = np.signbit(x) == (mode == "rm")
        bits = bits + up * np.uint32(0xFFFF)
    return blend(np.isnan(x), NAN16, (bits >> 16).astype(np.uint16))


@dataclass(frozen=True)
class Format:
    """How a 16-bit float sits in a register: type code, exact value, rounding from wider."""

    name: str
    code: str
    value: Callable
    round: Callable

    def from_bits(self, bits: Lanes) -> Lanes:
        """uint16 -> register type."""
        return bits.view(np.float16) if self.code == "f16" else bits


F16 = Format("f16", "f16", f16_value, f16_round)
BF16 = Format("bf16", "u16", bf16_value, bf16_round)
FORMATS = (F16, BF16)


def halves(word: Lanes) -> tuple[Lanes, Lanes]:
    """uint32 -> (low, high) as uint16."""
    return word.astype(np.uint16), (word >> np.uint32(16)).astype(np.uint16)


def join(low: Lanes, high: Lanes) -> Lanes:
    """Two 16-bit registers -> uint32."""
    low, high = low.view(np.uint16).astype(np.uint32), high.view(np.uint16).astype(np.uint32)
    return high << np.uint32(16) | low


def on_pairs(form: Format, function: Callable) -> Callable:
    """A function of 16-bit registers as one of 32-bit registers that hold two each."""

    def both(*words):
        pairs = [np.asarray(word, order="C")[..., None].view(np.uint16) for word in words]
        result = function(*(form.from_bits(pair) for pair in pairs))
        return np.asarray(result, order="C").view(np.uint32)[..., 0][()]

    return both
