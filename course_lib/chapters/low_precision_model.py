"""Chapter 12, low precision: modelled times of matrix products, from counts of two small ones.

Per block, a product's loads and multiplications grow with the depth k, its stores do not: every count is
a + b k. Two small launches give a and b, and blocks grow with the square of the size.
"""

from collections.abc import Mapping
from functools import cache

from .. import standin
from ..gpus import DEFAULT
from ..model import ModelledTime, modelled_time
from ..profile import profile
from ..sweeps import Point
from . import low_precision_sweeps as sweeps

SMALL = {"tiled": (32, 64), "wmma global": (64, 128), "wmma tiled": (128, 256), "mma tiled": (128, 256)}


def counts_of(point: Point) -> Mapping[str, float]:
    """The counts of one launch."""
    args = point.arguments(standin)
    return profile(point.compiled(standin), point.grid, point.block, args, point.shared)


def extended(
    small: Mapping[str, float], large: Mapping[str, float], sizes: tuple[int, int], n: int
) -> dict[str, float]:
    """Counts of an n x n product from those of two sizes: a n^2 + b n^3, distinct bytes by n^2."""
    low, high = sizes
    grown = {}
    for name, value in large.items():
        if name.startswith(("course__unique", "launch__grid")):
            grown[name] = value * (n / high) ** 2
        elif name.endswith(".sum") or name.startswith("memory_"):
            per_k = (value / high**2 - small[name] / low**2) / (high - low)
            grown[name] = n**2 * (small[name] / low**2 + per_k * (n - low))
        else:
            grown[name] = value
    return grown


@cache
def product_counts(variant: str, element: str, n: int) -> dict[str, float]:
    """Counts of a product of `low_precision_sweeps.products` at any size."""
    sizes = SMALL[variant]
    small, large = (counts_of(_point(variant, element, size)) for size in sizes)
    return extended(small, large, sizes, n)


def product_time(variant: str, element: str, n: int, gpu: str = DEFAULT) -> ModelledTime:
    """The modelled time of a product of that size."""
    return modelled_time(product_counts(variant, element, n), gpu)


def _point(variant: str, element: str, n: int) -> Point:
    named = {
        "tiled": lambda: sweeps.tiled_fp32(n, {}),
        "wmma global": lambda: sweeps.wmma_global(n, {}, element),
        "wmma tiled": lambda: sweeps.wmma_tiled(n, {}),
        "mma tiled": lambda: sweeps.mma_tiled(n, {}, element),
    }
    return named[variant]()
