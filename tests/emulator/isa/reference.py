"""Exact arithmetic to compare with: rationals, rounded once. Shares no code with the emulator."""

from dataclasses import dataclass
from fractions import Fraction
from math import floor, inf

import numpy as np

MODES = ("rn", "rz", "rm", "rp")


@dataclass(frozen=True)
class Format:
    """Bits of the significand, exponents of the smallest subnormal and of the largest power of two."""

    precision: int
    lowest: int
    highest: int

    def round(self, value: Fraction, mode: str = "rn") -> float:
        """``value`` in this format; an exact 0 is +0."""
        if not value:
            return 0.0
        exponent = floor_log2(abs(value))
        quantum = Fraction(2) ** max(exponent - self.precision + 1, self.lowest)
        steps, rest = divmod(value / quantum, 1)
        up = {
            "rn": rest > Fraction(1, 2) or (rest == Fraction(1, 2) and steps % 2 == 1),
            "rz": rest > 0 and value < 0,
            "rm": False,
            "rp": rest > 0,
        }[mode]
        rounded = (steps + up) * quantum
        if abs(rounded) >= Fraction(2) ** (self.highest + 1):
            return self._overflow(value > 0, mode)
        return float(rounded) if rounded else (0.0 if value > 0 else -0.0)

    def _overflow(self, positive, mode):
        largest = float((2 - Fraction(2) ** (1 - self.precision)) * Fraction(2) ** self.highest)
        outward = mode == "rn" or mode == ("rp" if positive else "rm")
        size = inf if outward else largest
        return size if positive else -size


F16, BF16 = Format(11, -24, 15), Format(8, -133, 127)
F32, F64 = Format(24, -149, 127), Format(53, -1074, 1023)


def floor_log2(value: Fraction) -> int:
    """Exponent of the largest power of two <= value > 0."""
    exponent = value.numerator.bit_length() - value.denominator.bit_length()
    return exponent if Fraction(2) ** exponent <= value else exponent - 1


def square_root(value: Fraction, bits: int) -> Fraction:
    """A rational that rounds like the square root to every format of fewer than ``bits`` bits."""
    shift = bits - floor_log2(value) // 2
    square = value * Fraction(4) ** shift
    root = integer_root(floor(square))
    return (root if root * root == square else root + Fraction(1, 2)) / Fraction(2) ** shift


def integer_root(value: int) -> int:
    """Largest r with r * r <= value."""
    low, high = 0, 1 << (value.bit_length() // 2 + 1)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if middle * middle <= value else (low, middle)
    return low


def bits32(x) -> list[int]:
    """The bit patterns of float32 values."""
    return np.atleast_1d(np.asarray(x, np.float32)).view(np.uint32).tolist()


def bits64(x) -> list[int]:
    """The bit patterns of float64 values."""
    return np.atleast_1d(np.asarray(x, np.float64)).view(np.uint64).tolist()


def f32(*patterns) -> np.ndarray:
    """float32 values from bit patterns."""
    return np.array(patterns, np.uint32).view(np.float32)


def f64(*patterns) -> np.ndarray:
    """float64 values from bit patterns."""
    return np.array(patterns, np.uint64).view(np.float64)
