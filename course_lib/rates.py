"""The launches that measure the rates of a GPU, recorded as the tables `rate_*`, and what waiting costs.

`data/gpus.toml` holds the figures that follow from them; the tests compare the two.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from . import rate_kernels as rate
from .gpus import Gpu
from .points import LINEAR, LOOP, THREADS, Arguments, Point, Sweep, floats
from .recorded import recorded

# Of `l2_lines`: lines a load asks for, words between the lanes in one line, sectors of each line.
L2_PATTERNS = (
    *((1, 1, 4), (2, 2, 4), (4, 1, 1), (4, 4, 4), (8, 1, 1)),
    *((8, 8, 4), (16, 1, 1), (16, 16, 2), (32, 1, 1)),
)


def working_set(total: int) -> list[Point]:
    """Read 1 to 512 MB again and again past L1, `total` bytes in all: what L2 gives, and what DRAM gives."""

    def arguments(count: int, passes: int) -> Arguments:
        def make(cp: Any) -> tuple:
            out = cp.zeros(1056 * THREADS * 4, cp.float32)
            return (out, floats(cp, 4 * count), np.int32(count), np.int32(passes))

        return make

    found = []
    for megabytes in (1, 2, 4, 8, 16, 24, 32, 40, 48, 56, 64, 96, 128, 256, 512):
        size = megabytes << 20
        passes = max(1, total // size)
        columns, made = {"megabytes": megabytes, "passes": passes}, arguments(size // 16, passes)
        found.append(Point(columns, rate.READ_L2, (1056,), (THREADS,), made, size * passes, warm=True))
    return found


def lines(repeat: int) -> list[Point]:
    """Loads that hit L1, each touching 1 to 32 lines of 128 bytes: what a request costs in L1.

    With a pitch of 32 words all lines are read at the same place, with 33 each at another.
    """

    def arguments(count: int, pitch: int) -> Arguments:
        def make(cp: Any) -> tuple:
            out = cp.zeros(1056 * THREADS, cp.float32)
            return (out, floats(cp, 2048), *map(np.int32, (count, pitch, 1, repeat)))

        return make

    return [
        Point({"pitch": p, "lines": c}, rate.READ_LINES, (1056,), (THREADS,), arguments(c, p), warm=True)
        for p in (32, 33)
        for c in (1, 2, 4, 8, 16, 32)
    ]


def l2_lines(repeat: int) -> list[Point]:
    """Loads past L1 from 16 MB in L2, each asking for 1 to 32 lines, with 1 to 4 sectors wanted of each.

    Whether L2 counts what it is asked in lines or in sectors.
    """
    floats_in_all = 1 << 22

    def arguments(count: int, step: int) -> Arguments:
        def make(cp: Any) -> tuple:
            scalars = map(np.int32, (count, step, floats_in_all - 1, repeat))
            return (cp.zeros(1056 * THREADS, cp.float32), floats(cp, floats_in_all), *scalars)

        return make

    found = []
    for count, step, sectors in L2_PATTERNS:
        columns, made = {"lines": count, "sectors": sectors}, arguments(count, step)
        found.append(Point(columns, rate.READ_L2_LINES, (1056,), (THREADS,), made, warm=True))
    return found


def in_flight(n: int) -> list[Point]:
    """Copy of n floats, 1 to 8 by each thread, with its loads in series or together: what waiting costs."""

    def arguments(cp: Any) -> tuple:
        return (cp.zeros(n, cp.float32), floats(cp, n))

    return [
        Point(
            {"order": order, "loads": loads},
            rate.COPY_IN_FLIGHT.define(LOADS=loads, SERIES=int(order == "series")),
            (n // loads // THREADS,),
            (THREADS,),
            arguments,
            8 * n,
        )
        for order in ("series", "together")
        for loads in (1, 2, 4, 8)
    ]


# Of `waiting`: blocks of 256 threads, 8 on an SM; points nearer to DRAM's full rate say nothing of waiting.
BLOCK, RESIDENT, MOST_BUSY = 256, 8, 0.8
ADDED = 64  # floats that each thread of `occupancy_loads` adds up


def waiting(gpu: Gpu) -> tuple[float, float, float]:
    """What waiting for DRAM costs on a GPU, fitted to its recorded tables, in µs.

    Returns:
        A block's turnover, and the latency of a round of loads while DRAM is idle and while it is busy.

    A block's stay on its SM is turnover + rounds * (idle * (1 - u) + busy * u); u is the share of the time
    in which DRAM is busy. Every table gives stays, rounds and u; the relative errors are made small.
    """
    rows = []
    for stay, rounds, moving in _stays(gpu):
        used = moving / stay
        if used < MOST_BUSY:
            rows.append(np.array([1, rounds * (1 - used), rounds * used]) / stay)
    turnover, idle, busy = np.linalg.lstsq(np.array(rows), np.ones(len(rows)), rcond=None)[0]
    return float(turnover), float(idle), float(busy)


def _stays(gpu: Gpu) -> list[tuple[float, float, float]]:
    """Of each launch, and a wave of blocks: how long it stays, rounds of loads, what DRAM needs (µs)."""
    measured, found = gpu.measured, []
    series = recorded(gpu.name, "rate_in_flight").where(order="series")
    copies = [*series.rows(), *recorded(gpu.name, "coalescing_vector").where(width=1).rows()]
    for row in copies:
        loads = row.get("loads", 1)
        waves = row["useful_bytes"] / 8 / loads / (BLOCK * RESIDENT * gpu.sms)
        moving = row["useful_bytes"] / measured.copy_gb_per_s / 1e3
        found.append((row["median_ms"], waves, loads, moving))
    for row in recorded(gpu.name, "occupancy_loads").rows():
        waves = row["useful_bytes"] / 4 / ADDED / (32 * row["warps"] * gpu.sms)
        moving = row["useful_bytes"] / measured.dram_read_gb_per_s / 1e3
        found.append((row["median_ms"], waves, ADDED / row["loads"], moving))
    launch = measured.launch_us
    return [((1e3 * ms - launch) / waves, rounds, moving / waves) for ms, waves, rounds, moving in found]


SWEEPS: Sequence[Sweep] = (
    Sweep("rate_working_set", "bytes read in all", 1 << 31, working_set, 0, LOOP),
    Sweep("rate_l1_lines", "loads per thread", 1024, lines, 16, LOOP),
    Sweep("rate_l2_lines", "loads per thread", 256, l2_lines, 16, LOOP),
    Sweep("rate_in_flight", "floats copied", 1 << 26, in_flight, 1 << 15, LINEAR),
)
