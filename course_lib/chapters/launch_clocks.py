"""Chapter 11, launch overhead: clocks of the host and of the GPU, and launches to hold against them."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from ..gpus import DEFAULT, gpu
from . import launch_kernels as k

SMS = gpu(DEFAULT).sms
CLOCKS_PER_US = gpu(DEFAULT).compute.clock_mhz
AHEAD_US = 10  # per launch: what the GPU is given to do while the host fills the queue
Work = Callable[[], object]


def host_ms(work: Work) -> float:
    """Milliseconds until the host has given its orders."""
    start = time.perf_counter()
    work()
    return 1e3 * (time.perf_counter() - start)


def done_ms(stream: Any, work: Work) -> float:
    """Milliseconds until the GPU has carried them out."""
    start = time.perf_counter()
    work()
    stream.synchronize()
    return 1e3 * (time.perf_counter() - start)


def gpu_ms(cp: Any, stream: Any, work: Work, ahead: Work) -> float:
    """Milliseconds on the GPU, with all of the work waiting in the queue behind what goes `ahead`."""
    start, stop = cp.cuda.Event(), cp.cuda.Event()
    with stream:
        ahead()
        start.record(stream)
        work()
        stop.record(stream)
    stop.synchronize()
    return float(cp.cuda.get_elapsed_time(start, stop))


def busy_launch(cp: Any, rounds: int) -> Work:
    """One launch of `busy` that has the GPU to itself: a block on every SM."""
    kernel, out = k.BUSY.compile(cp), cp.zeros(SMS * 256, cp.float32)
    return lambda: kernel((SMS,), (256,), (out, np.int32(rounds)))


def empty_launch(cp: Any) -> Work:
    """One launch of a kernel that does nothing."""
    kernel = k.EMPTY.compile(cp)
    return lambda: kernel((1,), (32,), ())


def in_stream(stream: Any, launch: Work, count: int) -> Work:
    """So many launches in a stream."""

    def work() -> None:
        with stream:
            for _ in range(count):
                launch()

    return work


def blocker(cp: Any, launches: int) -> Work:
    """A kernel long enough for the host to fill the queue behind it."""
    return busy_launch(cp, int((100 + AHEAD_US * launches) * CLOCKS_PER_US / 4))
