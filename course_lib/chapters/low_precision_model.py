"""Chapter 12, low precision: modelled times of matrix products, from counts of two small ones.

For each element of C, loads and multiplications grow with the depth k, and the stores do not: every count is
a + b k. Two small launches give a and b, and the elements of C grow with the square of the size.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from ..agreement import count_point
from ..gpus import DEFAULT, Gpu
from ..metric_names import BLOCKS, DISTINCT_ST
from ..model import ModelledTime, modelled_time
from ..points import Point
from . import low_precision_sweeps as sweeps

SIDES = {"tiled": (32, 64), "wmma global": (64, 128), "wmma tiled": (128, 256)}  # whose depth is their side
SWIZZLE = {"mma tiled": 1, "mma unswizzled": 0}  # of the variants by `mma_tiled`


@dataclass(frozen=True)
class Counted:
    """The counts of a small product: `side` x `side` elements of C, `depth` products each."""

    side: int
    depth: int
    counts: Mapping[str, float]

    def each(self, metric: str) -> float:
        """A count for each element of C."""
        return self.counts[metric] / self.side**2


def counted(point: Point, side: int, depth: int) -> Counted:
    """Count one launch."""
    return Counted(side, depth, count_point(point))


def extended(small: Counted, large: Counted, n: int) -> dict[str, float]:
    """Counts of an n x n product of depth n, from those of two smaller ones of different depth."""
    grown = {}
    for name, value in large.counts.items():
        if name == BLOCKS or name.startswith(DISTINCT_ST):
            grown[name] = large.each(name) * n**2
        elif name.startswith("course__unique"):
            grown[name] = value * n**2 / (large.side * large.depth)
        elif name.endswith(".sum") or name.startswith("memory_"):
            per_k = (large.each(name) - small.each(name)) / (large.depth - small.depth)
            grown[name] = n**2 * (small.each(name) + per_k * (n - small.depth))
        else:
            grown[name] = value
    return grown


@cache
def product_counts(variant: str, element: str, n: int) -> dict[str, float]:
    """Counts of a product of `low_precision_sweeps.products` at any size."""
    if variant in SWIZZLE:
        side, swizzle = 128, SWIZZLE[variant]
        depths = [steps * 128 // sweeps.BYTES[element] for steps in (2, 4)]
        points = [sweeps.mma_tiled(side, {}, element, depth, SWIZZLE=swizzle) for depth in depths]
        small, large = (counted(*both) for both in zip(points, (side, side), depths, strict=True))
    else:
        small, large = (counted(_point(variant, element, side), side, side) for side in SIDES[variant])
    return extended(small, large, n)


def product_time(variant: str, element: str, n: int, gpu: str | Gpu = DEFAULT) -> ModelledTime:
    """The modelled time of a product of that size."""
    return modelled_time(product_counts(variant, element, n), gpu)


def _point(variant: str, element: str, n: int) -> Point:
    named = {
        "tiled": lambda: sweeps.tiled_fp32(n, {}),
        "wmma global": lambda: sweeps.wmma_global(n, {}, element),
        "wmma tiled": lambda: sweeps.wmma_tiled(n, {}),
    }
    return named[variant]()
