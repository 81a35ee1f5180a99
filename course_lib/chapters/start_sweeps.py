"""Chapter 00, start here: what is timed on a GPU, in the right way and in each wrong one.

With 50 launches per row: below 10 s for all tables.
"""

import time
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from itertools import count
from typing import Any

import numpy as np

from .. import kernels
from ..gpus import DEFAULT, gpu
from ..graphs import captured
from ..kernels import Kernel
from ..points import LINEAR, LOOP, Call, Point, Reading, Sweep, floats, no_points
from ..timing import measure, nothing
from . import start_kernels as k

THREADS, EACH = 256, 8
LARGE = 1 << 26  # floats of each array: 268 MB, far above any L2
SIZES = (*(1 << power for power in (12, 14, 16, 18, 19, 20, 21)), 3 << 20, *(1 << p for p in (22, 24, 26)))
IN_L2 = 3 << 20  # floats of each array: 36 MB in all, which the 60 MB of an H200's L2 hold
PLACES = gpu(DEFAULT).sms * 8  # blocks of 256 threads that an H200 runs at once
RUNS = 40  # single runs, one after the other
SMALL = 1 << 20


def add_point(way: str, n: int, columns: dict[str, int | str], warm: bool = False) -> Point:
    """out = a + b for n floats, n a multiple of 2048, 8 of them in each thread."""
    blocks = max(1, n // (THREADS * EACH))
    return Point(columns, k.WAYS[way], (blocks,), (THREADS,), lambda cp: summands(cp, n), 12 * n, n, warm)


def summands(cp: Any, n: int) -> tuple:
    """Arguments of `add`: the output, two arrays of scattered values, and the elements of a thread."""
    return cp.zeros(n, cp.float32), floats(cp, n), floats(cp, n)[::-1].copy(), np.int32(EACH)


def add(n: int) -> list[Point]:
    """The same sum by both ways of sharing out the elements."""
    return [add_point(way, n, {"way": way}) for way in k.WAYS]


STEPS = tuple(1 << power for power in range(11))


def steps(n: int) -> list[Point]:
    """1 to 1,024 multiply-adds on each of n floats: the same bytes, more arithmetic."""
    return [
        Point(
            {"steps": count},
            k.MANY.define(STEPS=count),
            (n // THREADS,),
            (THREADS,),
            lambda cp: (cp.zeros(n, cp.float32), floats(cp, n), floats(cp, n)[::-1].copy(), np.int32(n)),
            12 * n,
            2 * count * n,
        )
        for count in STEPS
    ]


def sizes(n: int) -> list[Point]:
    """Both ways at every size up to n, with L2 emptied and as the launch before left it."""
    return [
        add_point(way, size, {"way": way, "l2": "left" if warm else "emptied", "floats": size}, warm)
        for way in k.WAYS
        for warm in (False, True)
        for size in SIZES
        if size <= n
    ]


def every(n: int) -> list[Point]:
    """Every stride-th of n floats is read, and stored densely: a larger stride has fewer useful bytes."""
    return [
        Point(
            {"stride": stride},
            kernels.READ_STRIDED,
            (n // stride // THREADS,),
            (THREADS,),
            lambda cp, m=n // stride: (cp.zeros(m, cp.float32), floats(cp, n), np.int32(m), np.int32(n // m)),
            8 * n // stride,
        )
        for stride in (1, 2, 4, 8, 16, 32)
    ]


def tail(n: int) -> list[Point]:
    """20 waves of blocks, and up to one wave more or less; n / PLACES floats a block."""
    blocks = [20 * PLACES + PLACES * step // 8 for step in range(-8, 9)] + [20 * PLACES + 1]
    return [add_point("neighbours", b * THREADS * EACH, {"blocks": b}) for b in sorted(blocks)]


# -- the clock ---------------------------------------------------------------------


def clock(n: int) -> list[Call | Reading]:
    """One launch of `neighbours`, by the right clock and by each wrong one."""
    ways: dict[str, Callable[[Any, int], Callable[[], float]]] = {
        "events and a wait": by_events,
        "host, nobody waits": unsynchronised,
        "host, waits": synchronised,
        "host, 20 launches, waits once": amortised,
    }
    found: list[Call | Reading] = [
        Reading({"clock": name}, lambda cp, way=way: way(cp, n), 12 * n, n) for name, way in ways.items()
    ]
    return [
        *found,
        Reading({"clock": "host, first launch of a new source"}, lambda cp: compiling(cp, n), n=8),
    ]


def launcher(cp: Any, n: int) -> Callable[[], object]:
    """A launch of `neighbours` on n floats, compiled."""
    return add_point("neighbours", n, {}).launcher(cp)


def by_events(cp: Any, n: int) -> Callable[[], float]:
    """The right way: between two events, the second waited for."""
    launch = launcher(cp, n)
    return lambda: measure(cp, launch, nothing, 0, 1)[0]


def unsynchronised(cp: Any, n: int) -> Callable[[], float]:
    """Wrong: the clock stops when the launch returns, not when the kernel ends (cupy/cupy#7185)."""
    launch = launcher(cp, n)

    def read() -> float:
        start = time.perf_counter()
        launch()
        return 1e3 * (time.perf_counter() - start)

    return read


def synchronised(cp: Any, n: int, launches: int = 1) -> Callable[[], float]:
    """The host's clock with a wait: right for long kernels, and a launch too long for short ones."""
    launch, stream = launcher(cp, n), cp.cuda.get_current_stream()

    def read() -> float:
        start = time.perf_counter()
        for _ in range(launches):
            launch()
        stream.synchronize()
        return 1e3 * (time.perf_counter() - start) / launches

    return read


def amortised(cp: Any, n: int) -> Callable[[], float]:
    """Twenty launches and one wait, over twenty: the launches hide behind the kernels."""
    return synchronised(cp, n, 20)


_number = count()


def compiling(cp: Any, n: int) -> Callable[[], float]:
    """Wrong: the first launch compiles. A comment makes the source new, for CuPy's caches too."""
    args, stream = summands(cp, n), cp.cuda.get_current_stream()

    def read() -> float:
        source = k.ADD.source + f"// {time.time_ns()} {next(_number)}\n"
        fresh = Kernel("add", source, k.WAYS["neighbours"].options).compile(cp)
        start = time.perf_counter()
        fresh((n // THREADS // EACH,), (THREADS,), args)
        stream.synchronize()
        return 1e3 * (time.perf_counter() - start)

    return read


def repeated(n: int) -> list[Call | Reading]:
    """One launch, and 20 between one pair of events: of arrays that L2 holds, and of larger ones."""
    return [
        Call(
            {"floats": size, "launches": times},
            lambda cp, m=size, t=times: several(cp, launcher(cp, m), t),
            12 * size * times,
            size * times,
            warm=True,
        )
        for size in (IN_L2, n)
        for times in (1, 20)
    ]


def several(cp: Any, launch: Callable[[], object], times: int) -> Callable[[], object]:
    """So many launches as one: a CUDA graph, so that the GPU does not wait for the host in between."""
    if times == 1:
        return launch
    launch()  # loads the kernel, which a capture may not
    cp.cuda.get_current_stream().synchronize()
    graph = captured(cp.cuda.Stream(non_blocking=True), lambda: [launch() for _ in range(times)])
    return lambda kept=launch: graph.launch()  # `kept`: its arrays must live as long as the graph


# -- the data, and the runs ----------------------------------------------------------


def zeros(n: int) -> list[Call | Reading]:
    """The sum and products of n x n float16, of zeros and of values without a pattern."""
    found: list[Call | Reading] = []
    for data in ("zeros", "random"):
        found.append(
            Call({"work": "one sum", "data": data}, lambda cp, d=data: _sum_of(cp, d), 12 * LARGE, LARGE)
        )
    for times in (1, 20):
        for data in ("zeros", "random"):
            columns = {"work": "one product" if times == 1 else f"{times} products", "data": data}
            make = lambda cp, d=data, t=times: _products_of(cp, n, d, t)  # noqa: E731
            found.append(Call(columns, make, 6 * n * n * times, 2 * n**3 * times))
    return found


def _sum_of(cp: Any, data: str) -> Callable[[], object]:
    point = add_point("neighbours", LARGE, {})
    if data == "zeros":
        blank = lambda cp: (*(cp.zeros(LARGE, cp.float32) for _ in "oab"), np.int32(EACH))  # noqa: E731
        point = replace(point, arguments=blank)
    return point.launcher(cp)


def _products_of(cp: Any, n: int, data: str, times: int) -> Callable[[], object]:
    """`times` products one after the other: long enough for the GPU to reach its power limit, or not."""
    a, b, out = (cp.zeros((n, n), cp.float16) for _ in "abc")
    if data == "random":
        for array in (a, b):
            array[...] = 2 * floats(cp, n * n).reshape(n, n) - 1

    def products() -> None:
        for _ in range(times):
            cp.matmul(a, b, out=out)

    products()
    return products


def runs(n: int) -> list[Call | Reading]:
    """Single runs, one after the other, of a short kernel and a long one: a row each."""
    return [
        Reading(
            {"floats": size, "run": run},
            lambda cp, s=size, r=run: lambda: series(s)[r],
            12 * size,
            warm=True,
            n=1,
        )
        for size in (SMALL, n)
        for run in range(RUNS)
    ]


@cache
def series(n: int) -> tuple[float, ...]:
    """Milliseconds of the first runs of a kernel after a pause, each between its own events."""
    import cupy as cp

    launch = launcher(cp, n)
    launch()
    cp.cuda.get_current_stream().synchronize()
    time.sleep(1.0)
    return tuple(measure(cp, launch, nothing, 0, 1)[0] for _ in range(RUNS))


# Not modelled (small = 0): `start_sizes` and `start_tail` have launches of many sizes in one table, whose
# counts do not grow by one factor; the chapter models each from its own count. The rest are clocks and data.
SWEEPS = (
    Sweep("start_add", "floats added", LARGE, add, 1 << 14, LINEAR),
    Sweep("start_steps", "floats", LARGE, steps, 1 << 12, LINEAR),
    Sweep("start_sizes", "floats added at most", LARGE, sizes, 0, LINEAR),
    Sweep("start_every", "floats of which every stride-th is read", 1 << 27, every, 1 << 16, LINEAR),
    Sweep("start_tail", "blocks at once", PLACES, tail, 0, LINEAR),
    Sweep("start_clock", "floats added", LARGE, no_points, 0, LOOP, clock),
    Sweep("start_repeat", "floats of the larger arrays", LARGE, no_points, 0, LOOP, repeated),
    Sweep("start_zeros", "rows of a product", 8192, no_points, 0, LOOP, zeros),
    Sweep("start_runs", "floats of the long kernel", LARGE, no_points, 0, LOOP, runs),
)
