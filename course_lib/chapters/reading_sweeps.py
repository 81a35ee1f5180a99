"""Chapter 13, reading kernels: the launches that are timed on a GPU.

With 50 launches per row less than 2 s each.
"""

from typing import Any

import numpy as np

from ..points import LINEAR, THREADS, Built, Point, Sweep, floats
from . import reading_sources as k

CAPS = (64, 48, 40, 32, 24)  # registers a thread may have; it wants 56
ROWS = 48  # values of which a thread takes the variance


def each(n: int) -> list[Point]:
    """n floats doubled, 1 to 16 of them by each thread, in the forms whose loads all start before a store."""
    return [_each(n, form, per) for form in k.FORMS[1:] for per in k.PERS if form != "float4" or per >= 4]


def overlap(n: int) -> list[Point]:
    """The same where y and x may overlap: a store between any two loads."""
    return [_each(n, k.FORMS[0], per) for per in k.PERS]


def _each(n: int, form: str, per: int) -> Point:
    def arguments(cp: Any) -> tuple:
        return (cp.zeros(n, cp.float32), floats(cp, n), np.int32(n))

    return Point(
        {"form": form, "per": per}, k.each(form, per), (n // per // THREADS,), (THREADS,), arguments, 8 * n
    )


def spills(n: int) -> list[Point]:
    """The variance of 48 values for each of n threads, under ever lower caps on registers."""

    def arguments(cp: Any) -> tuple:
        return (cp.zeros(n, cp.float32), floats(cp, ROWS * n), np.int32(n))

    return [
        Built(
            {"cap": cap, "registers": -1, "local_bytes": -1},
            k.variance(cap),
            (n // THREADS,),
            (THREADS,),
            arguments,
            4 * (ROWS + 1) * n,
        )
        for cap in CAPS
    ]


def gelus(n: int) -> list[Point]:
    """GeLU of n floats, tanh by its expansion or by the instruction."""

    def arguments(cp: Any) -> tuple:
        return (cp.zeros(n, cp.float32), floats(cp, n), np.int32(n))

    return [
        Point({"tanh": name}, k.gelu(fast), (n // THREADS,), (THREADS,), arguments, 8 * n)
        for name, fast in (("expansion", False), ("instruction", True))
    ]


# Two are not modelled by `agreement` (small = 0). `reading_spills`: spills exist in the machine code only;
# the chapter has a model of its own. `reading_overlap`: the H200 joins stores to one sector that follow each
# other at once, and not those with a load between them; the model knows no such difference and takes 4
# elements for too fast.
SWEEPS = (
    Sweep("reading_each", "floats", 1 << 26, each, 1 << 13, LINEAR),
    Sweep("reading_overlap", "floats", 1 << 26, overlap, 0, LINEAR),
    Sweep("reading_spills", "threads", 1 << 20, spills, 0, LINEAR),
    Sweep("reading_gelu", "floats", 1 << 26, gelus, 1 << 13, LINEAR),
)
