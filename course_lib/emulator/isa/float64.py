"""float64 arithmetic, each result rounded once in any of the four modes.

add, mul, div and sqrt to nearest are NumPy's. fma and the directed modes use
error-free transforms where the exponents allow it, ``exact`` elsewhere.
"""

import numpy as np

from . import exact
from .arrays import Lanes, blend, in_chunks
from .rounding import MODES, direct, quiet64, sum_sign, to_odd, two_product, two_sum
from .table import instruction

SMALL, LARGE = 2.0**-450, 2.0**450
DOUBLED_SMALL = np.float64(SMALL).view(np.uint64) * np.uint64(2)
DOUBLED_RANGE = np.float64(LARGE).view(np.uint64) * np.uint64(2) - DOUBLED_SMALL


def _factor(x):
    """True where Dekker's product of two such values neither over- nor underflows."""
    size = np.absolute(x)
    return (size < LARGE) & ((size > SMALL) | (size == 0))


def _all_factors(x):
    """Whether ``_factor`` holds everywhere; quick if there is no zero."""
    bits = x.view(np.uint64)
    doubled = bits + bits
    doubled -= DOUBLED_SMALL
    return doubled.max(initial=0) <= DOUBLED_RANGE or _factor(x).all()


def _fuse(a, b, c):
    """a * b + c to nearest, for factors that ``_factor`` accepts.

    The three-term sum is safe unless it comes near the middle of two floats; then the
    rounding to odd of Boldo and Melquiond ("Emulation of FMA", 2008) decides.
    """
    high, low = two_product(a, b)
    top, rest = two_sum(high, c)
    rest += low
    result = top + rest
    left = rest - (result - top)
    if (result + left * 1.000000001 != result).any():
        middle, small = two_sum(c, low)
        top, under = two_sum(high, middle)
        result = top + to_odd(*two_sum(small, under))
    if not result.all():  # a zero sum of normal values is exact, with the natural sign
        result = blend(result == 0, a * b + c, result)
    return result


@in_chunks(8192)
def fma(a: Lanes, b: Lanes, c: Lanes, mode: str = "rn") -> Lanes:
    """a * b + c rounded once."""
    if mode != "rn":
        return _mend(a * b + c, np.True_, a, b, c, mode)
    result = _fuse(a, b, c)
    if _all_factors(a) and _all_factors(b) and np.absolute(c).max(initial=0) < LARGE:
        return result
    return _mend(result, ~(_factor(a) & _factor(b) & (np.absolute(c) < LARGE)), a, b, c, mode)


def _mend(result, slow, a, b, c, mode):
    """Recompute the lanes at ``slow``: infinities and NaN as they come, the rest exactly."""
    factors = np.isfinite(a) & np.isfinite(b)
    finite = factors & np.isfinite(c)
    special = np.where(factors, c, a * b + c)  # a finite product cannot change an infinite c
    result, slow, finite, special, a, b, c = np.broadcast_arrays(result, slow, finite, special, a, b, c)
    result, where = np.where(slow & ~finite, special, result), slow & finite
    result[where] = exact.each_lane(exact.fma, mode, a[where], b[where], c[where])
    return result[()]


def add(a: Lanes, b: Lanes, mode: str = "rn") -> Lanes:
    """a + b rounded once in ``mode``."""
    if mode == "rn":
        return a + b
    s, e = two_sum(a, b)
    excess = blend(np.isinf(s) & np.isfinite(a) & np.isfinite(b), s, -e)
    return direct(sum_sign(s, a, b, mode), excess, mode)


def subtract(a: Lanes, b: Lanes, mode: str = "rn") -> Lanes:
    """a - b rounded once."""
    return a - b if mode == "rn" else add(a, -b, mode)


def multiply(a: Lanes, b: Lanes, mode: str = "rn") -> Lanes:
    """a * b rounded once."""
    return a * b if mode == "rn" else exact.each_lane(exact.multiply, mode, a, b)


def divide(a: Lanes, b: Lanes, mode: str = "rn") -> Lanes:
    """a / b rounded once."""
    return a / b if mode == "rn" else exact.each_lane(exact.divide, mode, a, b)


def reciprocal(a: Lanes, mode: str = "rn") -> Lanes:
    """1 / a rounded once."""
    return divide(np.float64(1), a, mode)


def square_root(a: Lanes, mode: str = "rn") -> Lanes:
    """The square root rounded once."""
    return np.sqrt(a) if mode == "rn" else exact.each_lane(exact.square_root, mode, a)


# Which operand's NaN wins, as seen on an H200: the last one named here.
NAN_ORDER = {"div": (1, 0), "fma": (0, 2, 1), "mad": (0, 2, 1)}


def _register_rounded(name, function, arity):
    order = NAN_ORDER.get(name, range(arity))
    signature = "f64 <- " + "f64 " * arity
    for mode in MODES:

        def core(*operands, mode=mode):
            return quiet64(function(*operands, mode=mode), *(operands[i] for i in order))

        instruction(f"{name}.{mode}.f64", signature)(core)
        if mode == "rn" and name in ("add", "sub", "mul"):
            instruction(f"{name}.f64", signature)(core)


for _name, _function, _arity in (
    ("add", add, 2),
    ("sub", subtract, 2),
    ("mul", multiply, 2),
    ("fma", fma, 3),
    ("mad", fma, 3),
    ("div", divide, 2),
    ("rcp", reciprocal, 1),
    ("sqrt", square_root, 1),
):
    _register_rounded(_name, _function, _arity)


def _pick(pick, a, b, both):
    """The number rather than a NaN; between +0 and -0 the sign bit decides."""
    a, b = quiet64(a, a), quiet64(b, b)  # fmin and fmax may keep a signalling NaN
    chosen = pick(a, b)
    signed = both(a.view(np.uint64), b.view(np.uint64)).view(np.float64)
    return quiet64(blend((chosen == 0) & (a == b), signed, chosen), a, b)


@instruction("min.f64", "f64 <- f64 f64")
def minimum(a: Lanes, b: Lanes) -> Lanes:
    """The smaller number; -0 < +0."""
    return _pick(np.fmin, a, b, np.bitwise_or)


@instruction("max.f64", "f64 <- f64 f64")
def maximum(a: Lanes, b: Lanes) -> Lanes:
    """The larger number; +0 > -0."""
    return _pick(np.fmax, a, b, np.bitwise_and)


instruction("neg.f64", "f64 <- f64")(lambda a: quiet64(np.negative(a), a))
instruction("abs.f64", "f64 <- f64")(lambda a: quiet64(np.absolute(a), a))


@instruction("copysign.f64", "f64 <- f64 f64")
def copysign(a: Lanes, b: Lanes) -> Lanes:
    """The magnitude of ``b`` with the sign of ``a``."""
    return np.copysign(b, a)
