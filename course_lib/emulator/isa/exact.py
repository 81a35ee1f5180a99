"""Correctly rounded float64 results by integer arithmetic, one lane at a time.

The slow path: right for every operand and mode, and called only for lanes that
the error-free transforms of ``float64`` cannot handle.
"""

from collections.abc import Callable
from fractions import Fraction
from math import copysign, inf, isfinite, isqrt, nextafter

import numpy as np

from .arrays import Lanes

LARGEST = 1.7976931348623157e308


def round_fraction(value: Fraction, mode: str, zero: float = 0.0) -> float:
    """Nearest float64 to an exact value in ``mode``; ``zero`` stands for an exact 0."""
    if not value:
        return zero
    try:
        nearest = value.numerator / value.denominator
    except OverflowError:
        nearest = inf if value > 0 else -inf
    if nearest == 0:
        nearest = copysign(0.0, value)
    if mode == "rn":
        return nearest
    error = -1 if nearest == inf else 1 if nearest == -inf else value - Fraction(nearest)
    down = {"rz": value > 0, "rm": True, "rp": False}[mode]
    if down and error < 0:
        return nextafter(nearest, -inf)
    if not down and error > 0:
        return nextafter(nearest, inf)
    return nearest


def fma(a: float, b: float, c: float, mode: str) -> float:
    """a * b + c of finite values with one rounding."""
    left, right = Fraction(a) * Fraction(b), Fraction(c)
    minus = copysign(1, a) * copysign(1, b) < 0, copysign(1, c) < 0
    zero = all(minus) or (any(minus) and mode == "rm")
    return round_fraction(left + right, mode, -0.0 if zero else 0.0)


def multiply(a: float, b: float, mode: str) -> float:
    """a * b with one rounding."""
    product = a * b
    if not (isfinite(a) and isfinite(b)) or not a or not b:
        return product
    return round_fraction(Fraction(a) * Fraction(b), mode)


def divide(a: float, b: float, mode: str) -> float:
    """a / b; x / 0, infinities and NaN as in IEEE 754."""
    if isfinite(a) and isfinite(b) and a and b:
        return round_fraction(Fraction(a) / Fraction(b), mode)
    with np.errstate(all="ignore"):
        return float(np.float64(a) / np.float64(b))


def square_root(a: float, mode: str) -> float:
    """Root of 200 bits whose last bit says "inexact", then rounded."""
    if not isfinite(a) or a <= 0:
        with np.errstate(all="ignore"):
            return float(np.sqrt(np.float64(a)))
    scale = 2**2400
    square = Fraction(a) * scale
    root = isqrt(int(square))
    value = Fraction(root if root * root == square else 2 * root + 1, 1)
    return round_fraction(value / 2**1200 / (1 if root * root == square else 2), mode)


def each_lane(function: Callable, mode: str, *operands: Lanes) -> Lanes:
    """Apply a scalar function to broadcast float64 operands."""
    operands = np.broadcast_arrays(*operands)
    lanes = [function(*values, mode) for values in zip(*(x.ravel().tolist() for x in operands), strict=True)]
    return np.array(lanes, np.float64).reshape(operands[0].shape)[()]
