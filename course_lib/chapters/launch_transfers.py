"""Chapter 11, launch overhead: copies between host and GPU, and the pipelines made of them, timed."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..points import Call, Reading
from . import launch_kernels as k
from .launch_clocks import Work, done_ms, host_ms
from .launch_runs import both_ways, host_floats, own_stream, pipeline

KILOBYTES = (4, 64, 256, 1024, 4096, 16384, 65536, 262144)


def copies(most: int) -> list[Reading]:
    """Copies of some kilobytes, to the GPU and to the host, of pinned and pageable memory, until done."""
    sizes = [kb for kb in KILOBYTES if kb <= most]
    ways = [(way, memory) for way in ("to the GPU", "to the host") for memory in ("pinned", "pageable")]
    ways.append(("both ways", "pinned"))
    return [_copy_row(way, memory, kb) for way, memory in ways for kb in sizes]


def _copy_row(way: str, memory: str, kilobytes: int) -> Reading:
    count = kilobytes << 8

    def launcher(cp: Any) -> Callable[[], float]:
        stream, there, here = own_stream(cp), cp.zeros(count, cp.float32), host_floats(cp, memory, count)
        if way == "both ways":
            work = both_ways(cp, stream, there, here)
            return lambda: host_ms(work)
        if way == "to the GPU":
            return lambda: done_ms(stream, lambda: there.set(here, stream=stream))
        return lambda: done_ms(stream, lambda: there.get(stream=stream, out=here, blocking=False))

    columns = {"way": way, "memory": memory, "kilobytes": kilobytes}
    sent = (kilobytes << 10) * (2 if way == "both ways" else 1)
    return Reading(columns, launcher, useful_bytes=sent, warm=True, n=15)


PIPELINE_ROUNDS = 500
CHUNKS = ((1, 1), (2, 2), (4, 2), (4, 4), (8, 2), (8, 4), (16, 4), (64, 4), (256, 4))  # and streams


def streams(n: int) -> list[Call | Reading]:
    """n floats to the GPU, through a kernel and back, in chunks that take turns in streams."""
    rows: list[Call | Reading] = [_kernel_alone(n)]
    return rows + [_streams_row(memory, *both, n) for memory in ("pinned", "pageable") for both in CHUNKS]


def _kernel_alone(n: int) -> Call:
    def launcher(cp: Any) -> Work:
        kernel, given, made = k.ITERATE.compile(cp), cp.full(n, 0.5, cp.float32), cp.zeros(n, cp.float32)
        return lambda: kernel((-(-n // 256),), (256,), (made, given, np.int32(n), np.int32(PIPELINE_ROUNDS)))

    return Call(
        {"memory": "kernel alone", "chunks": 1, "streams": 1}, launcher, flops=3 * n * PIPELINE_ROUNDS
    )


def _streams_row(memory: str, chunks: int, count: int, n: int) -> Reading:
    def launcher(cp: Any) -> Callable[[], float]:
        host = host_floats(cp, memory, n), host_floats(cp, memory, n)
        device = cp.zeros(n, cp.float32), cp.zeros(n, cp.float32)
        kernel, own = k.ITERATE.compile(cp), [own_stream(cp) for _ in range(count)]
        cp.cuda.Device().synchronize()
        return lambda: host_ms(lambda: pipeline(kernel, host, device, PIPELINE_ROUNDS, chunks, own))

    columns = {"memory": memory, "chunks": chunks, "streams": count}
    return Reading(columns, launcher, useful_bytes=8 * n, warm=True, n=15)
