"""Chapter 11, launch overhead: what is timed on a GPU, mostly by the host's clock.

Nothing here is modelled by the course's model of kernels (small = 0): these times are made outside of
kernels, by the host, the queue and the copy engines. The chapter models them by its own `launch_timeline`.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..graphs import captured
from ..points import LINEAR, Call, Reading, Sweep, floats, no_points
from . import launch_kernels as k
from .launch_clocks import SMS, Work, blocker, busy_launch, done_ms, empty_launch, gpu_ms, host_ms, in_stream
from .launch_runs import host_floats, in_batches, order_chunks, own_stream, rod_steps
from .launch_transfers import copies, streams

# -- what a launch costs -----------------------------------------------------------


def cost(most: int) -> list[Reading]:
    """Empty kernels by launches and by graphs: until ordered, until done, and on the GPU alone."""
    counts = [n for n in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000) if n <= most]
    rows = [_cost_row(way, n) for way in COST_WAYS for n in counts if way not in ONLY or n in ONLY[way]]
    return [*rows, *(_call_row(way, 100) for way in HOST_CALLS), _chunks_row(32)]


def _cost_row(way: str, count: int) -> Reading:
    columns = {"way": way, "launches": count}
    return Reading(columns, lambda cp: COST_WAYS[way](cp, own_stream(cp), count), warm=True)


def _call_row(way: str, count: int) -> Reading:
    def launcher(cp: Any) -> Callable[[], float]:
        stream = own_stream(cp)
        call = HOST_CALLS[way](stream, cp.cuda.Event())
        return lambda: host_ms(lambda: [call() for _ in range(count)])

    return Reading({"way": way, "launches": count}, launcher, warm=True)


def _chunks_row(chunks: int) -> Reading:
    """A copy in, a kernel and a copy out for each of so many small chunks, until all are ordered."""

    def launcher(cp: Any) -> Callable[[], float]:
        stream, kernel, n = own_stream(cp), k.ITERATE.compile(cp), chunks << 10
        host = host_floats(cp, "pinned", n), host_floats(cp, "pinned", n)
        device = cp.zeros(n, cp.float32), cp.zeros(n, cp.float32)
        return lambda: host_ms(lambda: order_chunks(kernel, host, device, 1, chunks, [stream]))

    return Reading({"way": "chunks, ordered", "launches": chunks}, launcher, warm=True)


def _launches(cp: Any, stream: Any, count: int) -> Work:
    return in_stream(stream, empty_launch(cp), count)


def _graph(cp: Any, stream: Any, count: int) -> Work:
    launch = empty_launch(cp)
    launch()  # compiled and loaded before the capture
    graph = captured(stream, lambda: [launch() for _ in range(count)])
    graph.upload(stream)
    return lambda: graph.launch(stream)


def _made(cp: Any, stream: Any, count: int) -> Callable[[], float]:
    """Until a graph of so many launches is captured and built."""
    launch = empty_launch(cp)
    launch()
    return lambda: host_ms(lambda: captured(stream, lambda: [launch() for _ in range(count)]))


def _read(make: Callable[..., Work], clock: str) -> Callable[..., Callable[[], float]]:
    def launcher(cp: Any, stream: Any, count: int) -> Callable[[], float]:
        work = make(cp, stream, count)
        if clock == "host":
            return lambda: host_ms(work)
        if clock == "done":
            return lambda: done_ms(stream, work)
        ahead = blocker(cp, count if make is _launches else 0)
        return lambda: gpu_ms(cp, stream, work, ahead)

    return launcher


COST_WAYS = {
    "launches": _read(_launches, "done"),
    "launches, ordered": _read(_launches, "host"),
    "launches, on the GPU": _read(_launches, "gpu"),
    "graph": _read(_graph, "done"),
    "graph, ordered": _read(_graph, "host"),
    "graph, on the GPU": _read(_graph, "gpu"),
    "graph, made": _made,
}
# A queue takes 1,024 launches; then the host has to wait.
ONLY = {
    "launches, ordered": (1, 10, 100, 500),
    "launches, on the GPU": (1, 10, 100, 500),
    "graph, made": (1, 10, 100, 1000),
}
HOST_CALLS: Mapping[str, Callable[[Any, Any], Work]] = {
    "synchronise, idle": lambda stream, event: stream.synchronize,
    "record an event": lambda stream, event: lambda: event.record(stream),
    "wait for an event": lambda stream, event: lambda: stream.wait_event(event),
}

# -- how much work makes up for it -------------------------------------------------

ROUNDS = (0, 250, 500, 1000, 1500, 2000, 3000, 5000, 10_000, 25_000, 100_000, 500_000)


def size(count: int) -> list[Reading]:
    """`count` kernels of some length, by launches and as a graph, and how long one takes on the GPU."""
    return [_size_row(way, rounds, count) for way in ("alone", "launches", "graph") for rounds in ROUNDS]


def _size_row(way: str, rounds: int, count: int) -> Reading:
    count = 1 if way == "alone" else min(count, max(10, 2_000_000 // (rounds + 1)))

    def launcher(cp: Any) -> Callable[[], float]:
        stream, launch = own_stream(cp), busy_launch(cp, rounds)
        launch()
        work = in_stream(stream, launch, count)
        if way == "alone":
            ahead = blocker(cp, 1)
            return lambda: gpu_ms(cp, stream, work, ahead)
        if way == "graph":
            graph = captured(stream, work)
            graph.upload(stream)
            return lambda: done_ms(stream, lambda: graph.launch(stream))
        return lambda: done_ms(stream, work)

    return Reading({"way": way, "rounds": rounds, "launches": count}, launcher, warm=True, n=20)


CELLS = 1024


def rod(most: int) -> list[Reading]:
    """Steps of heat in a rod of 1,024 cells: a launch each, a graph of them, one block that does all."""
    counts = [n for n in (2, 10, 20, 50, 100, 200, 500, 1000) if n <= most]
    return [_rod_row(way, n) for way in ("launches", "graph", "one kernel") for n in counts]


def _rod_row(way: str, steps: int) -> Reading:
    def launcher(cp: Any) -> Callable[[], float]:
        stream, kernels = own_stream(cp), (k.STEP.compile(cp), k.ALL_STEPS.compile(cp))
        rods = [floats(cp, CELLS), floats(cp, CELLS)]
        rod_steps(kernels[0], rods, 2)
        cp.cuda.Device().synchronize()

        def work() -> None:
            with stream:
                rod_steps(kernels[0], rods, steps)

        def one() -> None:
            with stream:
                kernels[1]((1,), (CELLS,), (rods[0], np.int32(CELLS), np.int32(steps)))

        if way == "graph":
            graph = captured(stream, lambda: rod_steps(kernels[0], rods, steps))
            return lambda: done_ms(stream, lambda: graph.launch(stream))
        return lambda: done_ms(stream, one if way == "one kernel" else work)

    return Reading({"way": way, "steps": steps}, launcher, warm=True, n=20)


# -- tiles of unequal work ---------------------------------------------------------

MOST = 1024
RESIDENT = 8  # blocks of 256 threads that fit on an SM


def queue(side: int) -> list[Call]:
    """The Mandelbrot set, side x side pixels in tiles: launches of a batch, static shares, and a queue."""
    across = side // 16
    return [
        Call({"way": way}, lambda cp, way=way: QUEUE_WAYS[way](cp, across), warm=True) for way in QUEUE_WAYS
    ]


def _stays(kernel: k.Kernel, per_sm: int) -> Callable[[Any, int], Work]:
    """Blocks that stay, so many on each SM."""

    def launcher(cp: Any, across: int) -> Work:
        image, made = _image(cp, across), kernel.compile(cp)
        scalars = np.int32(across * across), np.int32(across), np.int32(MOST)
        return lambda: made((SMS * per_sm,), (16, 16), (image, *scalars))

    return launcher


def _draws(per_sm: int) -> Callable[[Any, int], Work]:
    """Blocks that stay and draw tickets; the ticket is set to 0 as part of the work."""

    def launcher(cp: Any, across: int) -> Work:
        image, ticket, made = _image(cp, across), cp.zeros(1, cp.int32), k.QUEUE.compile(cp)
        scalars = np.int32(across * across), np.int32(across), np.int32(MOST)

        def work() -> None:
            ticket.fill(0)
            made((SMS * per_sm,), (16, 16), (image, ticket, *scalars))

        return work

    return launcher


def _batches(batch: int) -> Callable[[Any, int], Work]:
    """Launches of `batch` tiles each; 0: all in one."""

    def launcher(cp: Any, across: int) -> Work:
        image, made = _image(cp, across), k.TILE_EACH.compile(cp)
        return lambda: in_batches(made, image, batch or across * across, across, MOST)

    return launcher


def _image(cp: Any, across: int) -> Any:
    return cp.zeros((16 * across, 16 * across), cp.int32)


# the names that data/recorded/h200/launch_queue.csv has: of an H200, which has 132 SMs, 1056 such blocks
QUEUE_WAYS: Mapping[str, Callable[[Any, int], Work]] = {
    "a launch for 132 tiles": _batches(SMS),
    "a launch for 1056 tiles": _batches(SMS * RESIDENT),
    "one launch": _batches(0),
    "shares": _stays(k.SHARES, RESIDENT),
    "every 1056th": _stays(k.CYCLIC, RESIDENT),
    "queue": _draws(RESIDENT),
    "queue, a block an SM": _draws(1),
    "every 132nd": _stays(k.CYCLIC, 1),
}


SWEEPS = (
    Sweep("launch_cost", "launches at most", 1000, no_points, 0, LINEAR, cost),
    Sweep("launch_size", "launches", 200, no_points, 0, LINEAR, size),
    Sweep("launch_rod", "steps at most", 1000, no_points, 0, LINEAR, rod),
    Sweep("launch_copy", "kilobytes at most", 262144, no_points, 0, LINEAR, copies),
    Sweep("launch_streams", "floats", 1 << 24, no_points, 0, LINEAR, streams),
    Sweep("launch_queue", "pixels a side", 2048, no_points, 0, LINEAR, queue),
)
