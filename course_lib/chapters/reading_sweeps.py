"""Chapter 13, reading kernels: the launches that are timed on a GPU.

With 50 launches per row about 2 s for `reading_each`, 1 s each for `reading_spills` and `reading_gelu`.
"""

from typing import Any

import numpy as np

from ..sweeps import LINEAR, THREADS, Point, Sweep, floats
from . import reading_sources as k
from .occupancy_sweeps import Built

CAPS = (64, 48, 40, 32, 24)  # registers a thread may have; it wants 56
ROWS = 48  # values of which a thread takes the variance


def each(n: int) -> list[Point]:
    """n floats doubled, 1 to 16 of them by each thread, in four forms."""

    def arguments(cp: Any) -> tuple:
        return (cp.zeros(n, cp.float32), floats(cp, n), np.int32(n))

    return [
        Point(
            {"form": form, "per": per}, k.each(form, per), (n // per // THREADS,), (THREADS,), arguments, 8 * n
        )
        for form in k.FORMS
        for per in k.PERS
        if form != "float4" or per >= 4
    ]


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


# `reading_spills` is never modelled by `agreement` (small = 0): spills exist in the machine code only. The chapter
# has a model of its own for it.
SWEEPS = (
    Sweep("reading_each", "floats", 1 << 26, each, 1 << 13, LINEAR),
    Sweep("reading_spills", "threads", 1 << 20, spills, 0, LINEAR),
    Sweep("reading_gelu", "floats", 1 << 26, gelus, 1 << 13, LINEAR),
)
