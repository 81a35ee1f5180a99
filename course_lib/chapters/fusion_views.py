"""Chapter 05, fusion: launches that are run and counted one after the other, its tables and its sliders."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from .. import backend
from ..evidence import every_gpu, verdict
from ..gpus import DEFAULT, Gpu, device
from ..metric_names import DISTINCT_LD, DISTINCT_ST, INSTRUCTIONS
from ..model import modelled_time, scaled
from ..pictures.style import number_text
from ..profile import profile
from ..report import Table
from .fusion_pictures import Step, draw_sms, draw_traffic

READ = DISTINCT_LD
WRITTEN = DISTINCT_ST

FULL = 1 << 26  # floats: 256 MiB, far above L2
BLOCKS = 1056  # 8 blocks for each SM of an H200
THREADS = 256

# the rows of this chapter's counted tables: label -> metric
TRAFFIC = {
    "kernels": "kernels",
    "bytes of distinct sectors loaded": READ,
    "bytes of distinct sectors stored": WRITTEN,
    "bytes moved": lambda p: p[READ] + p[WRITTEN],
    "warp instructions (PTX)": INSTRUCTIONS,
}


class Chain:
    """Launches one after the other, each run and counted.

    `pointwise`: source of a kernel `pointwise(out, a, b, c, n, columns)` whose statement is the macro `BODY`.
    """

    def __init__(self, cp: Any, pointwise: str) -> None:
        self._cp, self._source = cp, pointwise
        self.profiles: list[tuple[str, Any]] = []

    def __call__(self, body: str, *arrays: Any, columns: int = 1, name: str = "") -> Any:
        """Launch the statement on up to three arrays of float32 or float16; returns the new array `out`."""
        cp, first = self._cp, arrays[0]
        number = "__half" if first.dtype == np.float16 else "float"
        kernel = cp.RawKernel(self._source, "pointwise", options=(f"-DNUMBER={number}", f"-DBODY={body}"))
        out = cp.empty_like(first)
        given = (*arrays, *[first] * (3 - len(arrays)))
        args = (out, *given, np.int32(first.size), np.int32(columns))
        return self.launch(name or body.removeprefix("out[i] = "), kernel, (-(-first.size // THREADS),), args)

    def launch(self, name: str, kernel: Any, grid: tuple, args: tuple, block: tuple = (THREADS,)) -> Any:
        """Run any kernel and count it; returns its first argument."""
        self.profiles.append((name, profile(kernel, grid, block, args)))
        kernel(grid, block, args)
        return args[0]

    @property
    def total(self) -> dict[str, float]:
        """Every count, summed over the launches; "kernels" is their number."""
        every = [p for _, p in self.profiles]
        keys = [
            key for key in every[0] if key.endswith(".sum") or key.startswith(("memory_", "course__unique"))
        ]
        return {"kernels": len(every)} | {key: sum(p[key] for p in every) for key in keys}

    def steps(self, unit_bytes: float) -> list[Step]:
        """What each launch read and wrote, in units of so many bytes."""
        return [Step(name, p[READ] / unit_bytes, p[WRITTEN] / unit_bytes) for name, p in self.profiles]

    def modelled_ms(self, factor: float, gpu: Any = DEFAULT) -> float:
        """Modelled milliseconds of all launches, every array `factor` times as long."""
        return sum(modelled_time(scaled(p, factor), gpu).ms for _, p in self.profiles)


# -- tables ------------------------------------------------------------------------


def formula(numbers: float, m: int, n: int) -> str:
    """A count of numbers as, for instance, 5MN + 2M. N must be larger than what M and 1 are taken times."""
    parts, rest = [], int(numbers)
    for name, size in (("MN", m * n), ("N", n), ("M", m), ("", 1)):
        times, rest = divmod(rest, size)
        if times:
            parts.append(f"{times if times > 1 or not name else ''}{name}")
    return " + ".join(parts) or "0"


def matrix_traffic(chain: Chain, m: int, n: int) -> Table:
    """What each launch on an M x N matrix of floats reads and writes, and the total, as formulas."""
    total = chain.total
    counted = [(name, p[READ], p[WRITTEN]) for name, p in chain.profiles]
    if len(counted) > 1:
        counted.append((f"all {len(counted)}", total[READ], total[WRITTEN]))
    rows = [[name, *(formula(b / 4, m, n) for b in bytes_)] for name, *bytes_ in counted]
    return Table(["kernel", "reads", "writes"], rows, {0}, f"counted, M = {m}, N = {n}")


def by_gpu(separate: Chain, fused: Chain) -> Table:
    """For every GPU of the table and this machine's: does fusing move the modelled time of 2^26 floats?"""
    rows = [_gain(gpu, label, separate, fused) for gpu, label in every_gpu()]
    header = ["GPU", "separate ms", "fused ms", "fused: limited by", "should the time move?"]
    return Table(header, rows, {0, 3, 4}, f"modelled, {number_text(FULL)} floats")


def _gain(gpu: Gpu, label: str, separate: Chain, fused: Chain) -> list[str]:
    (_, counted), factor = fused.profiles[0], FULL / _floats(fused)
    slow, fast = separate.modelled_ms(factor, gpu), modelled_time(scaled(counted, factor), gpu)
    return [label, f"{slow:.3f}", f"{fast.ms:.3f}", fast.limiter, verdict(slow / fast.ms)]


def _floats(chain: Chain) -> float:
    return chain.profiles[0][1][WRITTEN] / 4


def fuse_here(cp: Any) -> str:
    """What `cp.fuse` is on this machine, in a sentence."""
    try:
        return f"cp.fuse is here: {cp.fuse.__module__}.{cp.fuse.__name__}"
    except AttributeError as error:
        return f"AttributeError: {error}"


def asynchrony(cp: Any) -> str:
    """How soon a launch returns and how soon its work is done; without a GPU, why that cannot be seen."""
    if not backend.on_gpu():
        launch = device(DEFAULT).measured.launch_us
        return (
            "No GPU here: the emulator has finished when the launch returns, so nothing is measured.\n"
            f"recorded, {DEFAULT}: a launch takes about {launch} µs, whatever the kernel does."
        )
    return _measured_asynchrony(cp)


def _measured_asynchrony(cp: Any) -> str:
    from time import perf_counter

    x = cp.zeros(FULL, cp.float32)
    cp.sin(x)  # compiles
    cp.cuda.get_current_stream().synchronize()
    start = perf_counter()
    cp.sin(x)
    returned = perf_counter() - start
    cp.cuda.get_current_stream().synchronize()
    done = perf_counter() - start
    return (
        f"measured, {device().name}: returned after {1e6 * returned:.0f} µs, done after {1e6 * done:.0f} µs"
    )


# -- sliders -----------------------------------------------------------------------


def steps_view(cp: Any, pointwise: str) -> Callable[[int], tuple[Figure, str]]:
    """The function behind the slider of steps: so many steps x -> 0.5 x + 1, a kernel each or all in one."""

    def show_steps(steps: int = 8) -> tuple[Figure, str]:
        x = cp.ones(4096, cp.float32)
        single, fused = Chain(cp, pointwise), Chain(cp, pointwise)
        single("out[i] = 0.5f * a[i] + 1.0f", x)
        loop = f"for (int k = 0; k < {steps}; ++k) v = 0.5f * v + 1.0f"
        fused(f"float v = a[i]; {loop}; out[i] = v", x)
        per_step, joined = (chain.total[READ] + chain.total[WRITTEN] for chain in (single, fused))
        factor = FULL / x.size
        apart, time = steps * single.modelled_ms(factor), modelled_time(scaled(fused.profiles[0][1], factor))
        arrays = per_step / x.nbytes / 2 * steps, joined / x.nbytes / 2
        labels = ("a kernel each", "one for all")
        plans = {name: [Step(name, a, a)] for name, a in zip(labels, arrays, strict=True)}
        text = (
            f"counted, {steps} step(s): {number_text(2 * arrays[0])} arrays moved with a kernel each, "
            f"{number_text(2 * arrays[1])} with one for all\n"
            f"modelled, {DEFAULT}, {number_text(FULL)} floats: {apart:.3g} ms with a kernel each, "
            f"{time.ms:.3g} ms with one for all, limited by {time.limiter}"
        )
        return draw_traffic(plans, f"{steps} point-wise step(s)"), text

    return show_steps


def row_view(kernel: Any) -> Callable[[int], tuple[Figure, str]]:
    """The function behind the row-length slider: 2^26 floats in rows, a block per row or rows in parts.

    `kernel`: `row_sum(out, x, columns)`, a block for each of gridDim.x parts of row blockIdx.y.
    """

    def show_rows(length: int = 1 << 20) -> tuple[Figure, str]:
        rows = FULL // length
        parts = max(1, BLOCKS // rows)
        plans: Mapping[str, int] = {"a block per row": rows, "rows in parts": rows * parts}
        times = {name: _row_time(kernel, blocks) for name, blocks in plans.items()}
        sms = device(DEFAULT).sms
        busy = ", ".join(f"{name} {min(blocks, sms)} of {sms} SMs" for name, blocks in plans.items())
        text = f"{number_text(rows)} rows of {number_text(length)} floats keep busy: {busy}"
        for name, time in times.items():
            text += f"\n  modelled, {DEFAULT}: {name} {time.ms:.3g} ms, limited by {time.limiter}"
        return draw_sms(plans, sms), text

    return show_rows


def _row_time(kernel: Any, blocks: int) -> Any:
    """Modelled time to add up 2^26 floats in that many pieces, from counts of at most 2^17 floats.

    A part of a row costs what a row of its length costs.
    """
    length = FULL // blocks
    short = min(length, 1 << 14)
    few = min(blocks, (1 << 17) // short)
    x = np.ones((few, short), np.float32)
    p = profile(kernel, (1, few), (THREADS,), (np.zeros(few, np.float32), x, np.int32(short)))
    return modelled_time(scaled(p, FULL / x.size, blocks / few, FULL / x.size))
