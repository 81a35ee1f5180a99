"""Chapter 04, divergence: its recorded kernels and their launches."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..kernels import Kernel
from ..points import LINEAR, THREADS, Arguments, Call, Point, Sweep, floats

ROUNDS = 1024  # of each side of a branch
MEAN = 32  # trips of a loop on average; a trip is 64 multiply-adds
GROUPS = (1, 2, 4, 8, 16, 32, 64)
SPREADS = range(0, 63, 6)

# Even elements take one side, odd ones the other; GROUP neighbouring threads agree. Compile with -DGROUP=...
TWO_SIDES = Kernel(
    "two_sides",
    r"""
extern "C" __global__ void two_sides(float* y, const float* x, int n, int rounds) {
    int t = threadIdx.x, side = t / GROUP % 2;
    int place = t / (2 * GROUP) * GROUP + t % GROUP;  // among the threads of this side
    int i = blockIdx.x * blockDim.x + 2 * place + side;
    if (i >= n) return;
    float v = x[i];
    if (side == 0) {
#pragma unroll 16
        for (int k = 0; k < rounds; ++k) v = fmaf(v, v, -0.5f);
    } else {
#pragma unroll 16
        for (int k = 0; k < rounds; ++k) v = fmaf(v, -0.25f, 0.75f);
    }
    y[i] = v;
}
""",
)

SOME_LANES = Kernel(
    "some_lanes",
    r"""
extern "C" __global__ void some_lanes(float* y, const float* x, int n, int taken, int rounds) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float v = x[i];
    if (threadIdx.x % 32 < taken) {
#pragma unroll 16
        for (int k = 0; k < 2 * rounds; ++k) v = fmaf(v, v, -0.5f);
    } else {
#pragma unroll 16
        for (int k = 0; k < rounds; ++k) v = fmaf(v, -0.25f, 0.75f);
    }
    y[i] = v;
}
""",
)

UNEVEN = Kernel(
    "uneven",
    r"""
extern "C" __global__ void uneven(float* y, const float* x, const int* trips, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float v = x[i];
#pragma unroll 1
    for (int k = trips[i]; k > 0; --k)
        for (int j = 0; j < 64; ++j) v = fmaf(v, 0.9995f, 0.0005f);
    y[i] = v;
}
""",
)

UNEVEN_ORDERED = Kernel(
    "uneven_ordered",
    r"""
extern "C" __global__
void uneven_ordered(float* y, const float* x, const int* trips, const int* order, int n) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= n) return;
    int i = order[t];
    float v = x[i];
#pragma unroll 1
    for (int k = trips[i]; k > 0; --k)
        for (int j = 0; j < 64; ++j) v = fmaf(v, 0.9995f, 0.0005f);
    y[i] = v;
}
""",
)


def parity(n: int) -> list[Point]:
    """n elements on two sides of a branch; 1 to 64 neighbouring threads take the same side."""
    return [_two_arrays(TWO_SIDES.define(GROUP=g), n, (n, ROUNDS), {"group": g}) for g in GROUPS]


def rounds(n: int) -> list[Point]:
    """n elements on two sides of a branch, 16 to 1024 rounds each, by lane (group 1) or by warp (32)."""
    return [
        _two_arrays(TWO_SIDES.define(GROUP=g), n, (n, r), {"group": g, "rounds": r})
        for g in (1, 32)
        for r in (16, 64, 256, 1024)
    ]


def taken(n: int) -> list[Point]:
    """n elements; 0 to 32 lanes of every warp take the longer side of a branch."""
    return [_two_arrays(SOME_LANES, n, (n, t, ROUNDS // 2), {"taken": t}) for t in range(33)]


def trips(n: int) -> list[Point]:
    """n elements whose trip counts differ from lane to lane, or by as much from warp to warp."""
    return [
        _uneven(n, differ, spread, {"differ": f"by {differ}", "spread": spread})
        for differ in ("lane", "warp")
        for spread in SPREADS
    ]


def regroup(n: int) -> list[Point]:
    """n elements with 1 to 128 trips each, in four orders."""
    ways = ("as they come", "sorted in blocks", "sorted", "sorted and moved")
    return [_regrouped(n, way) for way in ways]


def regroup_calls(n: int) -> list[Call]:
    """What the order costs: CuPy's argsort of the trip counts, and one array moved into that order."""

    def argsort(cp: Any) -> Any:
        counts = random_trips(cp, n)
        cp.argsort(counts)
        return lambda: cp.argsort(counts)

    def move(cp: Any) -> Any:
        counts, x = random_trips(cp, n), floats(cp, n)
        order = cp.argsort(counts)
        return lambda: x[order]

    return [Call({"variant": "cp.argsort(trips)"}, argsort), Call({"variant": "x[order]"}, move)]


def spread_trips(cp: Any, n: int, differ: str, spread: int) -> Any:
    """n trip counts, int32, around MEAN: neighbouring lanes (or warps) of 32 differ by `spread` in all."""
    who = cp.arange(n, dtype=cp.int32) // (1 if differ == "lane" else 32) % 32
    steps = spread * (2 * who - 31)
    return (MEAN + cp.sign(steps) * (cp.abs(steps) // 62)).astype(cp.int32)


def random_trips(cp: Any, n: int) -> Any:
    """n trip counts of 1 to 128, int32, scattered and the same on every machine."""
    return (1 + cp.floor(128 * floats(cp, n))).astype(cp.int32)


def _two_arrays(kernel: Kernel, n: int, scalars: tuple[int, ...], columns: dict) -> Point:
    def arguments(cp: Any) -> tuple:
        return (cp.zeros(n, cp.float32), floats(cp, n), *map(np.int32, scalars))

    return Point(columns, kernel, (-(-n // THREADS),), (THREADS,), arguments, 8 * n)


def _uneven(n: int, differ: str, spread: int, columns: dict) -> Point:
    def arguments(cp: Any) -> tuple:
        return (cp.zeros(n, cp.float32), floats(cp, n), spread_trips(cp, n, differ, spread), np.int32(n))

    return Point(columns, UNEVEN, (-(-n // THREADS),), (THREADS,), arguments, 12 * n)


def _regrouped(n: int, way: str) -> Point:
    """Sorted ones start with the most trips, so that no long block is left for the end."""

    def arguments(cp: Any) -> tuple:
        counts, order = random_trips(cp, n), cp.arange(n)
        if way == "sorted in blocks":
            order = order // THREADS * THREADS + cp.argsort(-counts.reshape(-1, THREADS), axis=1).ravel()
        elif way == "sorted":
            order = cp.argsort(-counts)
        elif way == "sorted and moved":
            counts = counts[cp.argsort(-counts)]
        return (cp.zeros(n, cp.float32), floats(cp, n), counts, order.astype(cp.int32), np.int32(n))

    made: Arguments = arguments
    return Point({"variant": way}, UNEVEN_ORDERED, (-(-n // THREADS),), (THREADS,), made, 16 * n)


SWEEPS: Sequence[Sweep] = (
    Sweep("divergence_parity", "elements", 1 << 24, parity, 1 << 10, LINEAR),
    Sweep("divergence_rounds", "elements", 1 << 24, rounds, 1 << 10, LINEAR),
    Sweep("divergence_taken", "elements", 1 << 24, taken, 1 << 10, LINEAR),
    Sweep("divergence_trips", "elements", 1 << 24, trips, 1 << 10, LINEAR),
    Sweep("divergence_regroup", "elements", 1 << 24, regroup, 1 << 13, LINEAR, regroup_calls),
)
