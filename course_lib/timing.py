"""How long a kernel takes: measured with CUDA events on a GPU, modelled from counts without one.

A measurement here is a median of cold runs: warmed up and compiled first, L2 emptied before every run, start
and stop events in the same stream, the stop event synchronised, the spread kept.
"""

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from .gpu_query import this_machine
from .gpus import Gpu, device
from .model import modelled_time
from .tables import html_table

FLUSH_BYTES = 64 << 20  # at least: so that the flush outlasts the launch that is queued behind it
# Reading empties L2 without leaving it full of lines that the timed kernel would have to write back.
FLUSH = """
extern "C" __global__ void course_read_all(const uint4* data, long long n, unsigned int* sink) {
    unsigned int seen = 0;
    long long step = (long long)gridDim.x * blockDim.x;
    for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
        uint4 v = data[i];
        seen |= v.x | v.y | v.z | v.w;
    }
    if (seen) *sink = seen;
}
"""


class UnsynchronisedError(RuntimeError):
    """A wall clock was stopped while the GPU was still working."""


@dataclass(frozen=True)
class Timing:
    """A time in milliseconds and how it was found.

    `ms` is the median of `n` runs, `low_ms` and `high_ms` the first and third quartile. `source` is
    "measured" or "modelled"; a modelled time has no spread and n = 0. `cache_resident`: the arrays fit into
    L2 and were there when the kernel started, so the time says nothing about DRAM.
    """

    ms: float
    low_ms: float
    high_ms: float
    n: int
    source: str
    device: str
    cache_resident: bool = False
    limiter: str = ""

    @property
    def spread(self) -> float:
        """Interquartile range over the median: 0.02 means that half of the runs lie within 2 %."""
        return (self.high_ms - self.low_ms) / self.ms if self.ms else 0.0

    def bandwidth(self, useful_bytes: float) -> float:
        """Useful bytes over the time, in 10^9 bytes a second."""
        return useful_bytes / (self.ms * 1e6)

    def __str__(self) -> str:
        resident = ", cache-resident: the arrays were in L2" if self.cache_resident else ""
        if self.source == "modelled":
            return f"{self.ms:.4g} ms (modelled, {self.device}, limited by {self.limiter}{resident})"
        spread = f"median of {self.n}, half of them within {self.low_ms:.4g} to {self.high_ms:.4g} ms"
        return f"{self.ms:.4g} ms ({self.source}, {self.device}; {spread}{resident})"

    def _repr_html_(self) -> str:
        return html_table([(str(self),)])


def benchmark(
    kernel: Any,
    grid: tuple[int, ...],
    block: tuple[int, ...],
    args: Sequence[Any],
    *,
    shared_mem: int = 0,
    n_warmup: int = 10,
    n: int = 30,
    flush_l2: bool = True,
    gpu: str | Gpu | None = None,
) -> Timing:
    """Time one launch of a kernel.

    A CuPy kernel is launched `n_warmup + n` times on its own arguments (an output is written again each time)
    in the current stream. An emulated kernel is profiled once and its time modelled; its arguments stay as
    they are.

    Args:
        kernel: a `RawKernel`, CuPy's or the course's.
        grid, block, args, shared_mem: as in the launch.
        n_warmup: launches before the first timed one; the first of them compiles.
        n: timed launches, at least 3.
        flush_l2: empty L2 before every timed launch. False times launches back to back; the result is marked
            `cache_resident` when the arrays fit into L2.
        gpu: the GPU of a modelled time; by default the device of this machine, else an H200.
    """
    if n < 3:
        raise ValueError(f"n={n}: a median with a spread needs at least 3 runs")
    if not _is_cupy(kernel):
        return _modelled(kernel, grid, block, args, shared_mem, flush_l2, gpu)
    import cupy

    here = this_machine(cupy)
    launch = lambda: kernel(grid, block, tuple(args), shared_mem=shared_mem)  # noqa: E731
    flush = flusher(cupy, here.l2.size_bytes) if flush_l2 else nothing
    times = measure(cupy, launch, flush, n_warmup, n)
    resident = not flush_l2 and _array_bytes(args) <= here.l2.size_bytes
    return _measured(times, here.full_name, resident)


def benchmark_call(call: Callable[..., Any], args: tuple[Any, ...] = (), *, n: int = 30) -> Timing:
    """Time array code on a GPU, such as `cp.matmul`, by `cupyx.profiler.benchmark`: the median of GPU times.

    Includes the gaps between the kernels the call launches. What the arrays leave in L2 stays there.

    Raises:
        RuntimeError: without a GPU. A time is modelled from a kernel's counts, and there is no kernel here.
    """
    from . import backend

    if not backend.on_gpu():
        raise RuntimeError("array code can be timed on a GPU only: modelled times exist for kernels")
    from cupyx.profiler import benchmark as cupyx_benchmark

    seconds = cupyx_benchmark(call, args, n_repeat=n, n_warmup=10).gpu_times[0]
    here = device()
    resident = _array_bytes(args) <= here.l2.size_bytes
    return _measured([1e3 * float(s) for s in seconds], here.full_name, resident)


def wall_clock(work: Callable[[], Any]) -> float:
    """Seconds on the host's clock, refused unless the GPU has finished what `work` started.

    A launch returns at once: without a synchronisation in `work` the clock shows the launch, not the kernel.

    Raises:
        UnsynchronisedError: the current stream was still busy when `work` returned.
        RuntimeError: without a GPU, where the clock would show how fast the emulator is.
    """
    from . import backend

    if not backend.on_gpu():
        raise RuntimeError("no GPU here: a wall clock would time the emulator. Use benchmark(), which models")
    stream = backend.cp.cuda.get_current_stream()
    stream.synchronize()
    start = time.perf_counter()
    work()
    seconds = time.perf_counter() - start
    if not stream.done:
        raise UnsynchronisedError(
            f"the GPU was still working when the clock stopped: {1e6 * seconds:.0f} µs is the launch, "
            "not the kernel. Synchronise inside the timed function, or use benchmark()"
        )
    return seconds


def measure(
    cp: Any, launch: Callable[[], Any], flush: Callable[[], Any], n_warmup: int, n: int
) -> list[float]:
    """Milliseconds of `n` launches between CUDA events, all queued in the current stream before the one wait.

    Args:
        cp: the `cupy` module (or what a test puts in its place).
        flush: queued before each start event, so the launch is in the queue before the GPU gets to it.
    """
    stream = cp.cuda.get_current_stream()
    for _ in range(n_warmup):
        flush()
        launch()
    stream.synchronize()
    pairs = [(cp.cuda.Event(), cp.cuda.Event()) for _ in range(n)]
    for start, stop in pairs:
        flush()
        start.record(stream)
        launch()
        stop.record(stream)
    pairs[-1][1].synchronize()
    return [float(cp.cuda.get_elapsed_time(start, stop)) for start, stop in pairs]


def flusher(cp: Any, l2_bytes: int) -> Callable[[], None]:
    """A function that empties L2 by reading twice its size (64 MB at least) of other memory."""
    size = max(2 * l2_bytes, FLUSH_BYTES) // 16 * 16
    data, sink = cp.zeros(size, dtype=cp.uint8), cp.zeros(1, dtype=cp.uint32)
    kernel = cp.RawKernel(FLUSH, "course_read_all")
    return lambda: kernel((1024,), (256,), (data, cp.int64(size // 16), sink))


def quartiles(times: Sequence[float]) -> tuple[float, float, float]:
    """First quartile, median and third quartile; of a single time, three times that."""
    if len(times) == 1:
        return times[0], times[0], times[0]
    low, middle, high = statistics.quantiles(times, n=4, method="inclusive")
    return low, middle, high


def _measured(times: Sequence[float], name: str, resident: bool) -> Timing:
    low, middle, high = quartiles(times)
    return Timing(middle, low, high, len(times), "measured", name, resident)


def _modelled(kernel, grid, block, args, shared_mem, cold, gpu) -> Timing:
    from .profile import profile

    counts = profile(kernel, grid, block, args, shared_mem=shared_mem)
    found = modelled_time(counts, gpu if gpu is not None else device(), cold=cold)
    resident = not cold and found.terms["DRAM bytes"] == 0
    return Timing(found.ms, found.ms, found.ms, 0, "modelled", found.gpu, resident, found.limiter)


def _is_cupy(kernel: Any) -> bool:
    return type(kernel).__module__.partition(".")[0] == "cupy"


def _array_bytes(args: Sequence[Any]) -> int:
    """Bytes of the arrays among the arguments; NumPy scalars have `nbytes` too, but no dimensions."""
    return sum(arg.nbytes for arg in args if getattr(arg, "ndim", 0))


def nothing() -> None:
    """Leave L2 as it is."""
