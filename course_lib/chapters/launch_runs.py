"""Chapter 11, launch overhead: programs of the host, for CuPy and for the stand-in alike.

Each takes `cp` and the kernels it launches, so that the same code is shown, recorded and judged.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

THREADS = 256


def own_stream(cp: Any) -> Any:
    """A stream that the default stream does not wait for."""
    return cp.cuda.Stream(non_blocking=True)


def pinned(cp: Any, count: int, dtype: Any = np.float32) -> np.ndarray:
    """`count` elements of pinned host memory, not yet written."""
    memory = cp.cuda.alloc_pinned_memory(count * np.dtype(dtype).itemsize)
    return np.frombuffer(memory, dtype, count)


def buffers(cp: Any, n: int) -> tuple[tuple[np.ndarray, np.ndarray], tuple[Any, Any]]:
    """Two arrays of n floats in pinned memory, the first from 0.1 to 0.9, and two on the GPU: all ready."""
    host, device = (pinned(cp, n), pinned(cp, n)), (cp.zeros(n, cp.float32), cp.zeros(n, cp.float32))
    host[0][:], host[1][:] = np.linspace(0.1, 0.9, n), 0
    cp.cuda.Device().synchronize()
    return host, device


def host_floats(cp: Any, memory: str, count: int) -> np.ndarray:
    """`count` floats of 0.5 in pinned or pageable memory of the host."""
    found = pinned(cp, count) if memory == "pinned" else np.empty(count, np.float32)
    found[:] = 0.5
    return found


def rod_steps(step: Any, rods: Sequence[Any], steps: int) -> None:
    """Give `steps` launches to the current stream, from rods[0] to rods[1] and back; an even number."""
    n = rods[0].size
    for i in range(steps):
        now, following = rods[i % 2], rods[1 - i % 2]
        step((-(-n // THREADS),), (THREADS,), (following, now, np.int32(n)))


def parts(n: int, chunks: int) -> list[tuple[int, int]]:
    """First and last (exclusive) element of each of `chunks` parts of n elements."""
    size = -(-n // chunks)
    return [(low, min(n, low + size)) for low in range(0, n, size)]


def pipeline(
    iterate: Any,
    host: tuple[np.ndarray, np.ndarray],
    device: tuple[Any, Any],
    rounds: int,
    chunks: int,
    streams: Sequence[Any],
) -> None:
    """host[1] = iterate(host[0]), in chunks that take turns in the streams: copy in, kernel, copy out."""
    order_chunks(iterate, host, device, rounds, chunks, streams)
    for stream in streams:
        stream.synchronize()


def order_chunks(
    iterate: Any,
    host: tuple[np.ndarray, np.ndarray],
    device: tuple[Any, Any],
    rounds: int,
    chunks: int,
    streams: Sequence[Any],
) -> None:
    """All of the pipeline but the waiting."""
    source, result = host
    given, made = device
    for turn, (low, high) in enumerate(parts(source.size, chunks)):
        stream, count = streams[turn % len(streams)], high - low
        with stream:
            given[low:high].set(source[low:high], stream=stream)
            grid, args = (-(-count // THREADS),), (made[low:high], given[low:high])
            iterate(grid, (THREADS,), (*args, np.int32(count), np.int32(rounds)))
            made[low:high].get(stream=stream, out=result[low:high], blocking=False)


def in_batches(tile_each: Any, image: Any, batch: int, across: int, most: int) -> None:
    """Every tile of an image of `across` x `across`, `batch` of them a launch."""
    tiles = across * across
    for first in range(0, tiles, batch):
        count = min(batch, tiles - first)
        tile_each((count,), (16, 16), (image, np.int32(first), np.int32(across), np.int32(most)))


def both_ways(cp: Any, stream: Any, there: Any, here: np.ndarray) -> Callable[[], None]:
    """The same bytes to the GPU in one stream and to the host in another, until both are done."""
    other, result, made = own_stream(cp), host_floats(cp, "pinned", here.size), cp.zeros_like(there)
    cp.cuda.Device().synchronize()

    def work() -> None:
        there.set(here, stream=stream)
        made.get(stream=other, out=result, blocking=False)
        stream.synchronize()
        other.synchronize()

    return work
