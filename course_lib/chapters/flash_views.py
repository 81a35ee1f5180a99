"""Chapter 08, flash attention: what its tables, sliders and time charts need."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from ..emulator import RawKernel
from ..evidence import recording
from ..gpus import DEFAULT, names
from ..kernels import OPTIONS
from ..occupancy import occupancy
from ..pictures import Series, bars
from ..pictures import sweep as draw_sweep
from ..report import Cell, Table
from . import flash_model as model
from . import flash_sweeps as sweeps
from .bank_views import measured
from .flash_attention import LD_SECTORS, attention64
from .flash_picture import sweep_picture

STORED = "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"


def asked(p: Mapping[str, float]) -> float:
    """Bytes of whole sectors that loads and stores ask of memory."""
    return 32 * (p[LD_SECTORS] + p[STORED])


# the rows of this chapter's tables: label -> metric
TRAFFIC = {
    "bytes loaded (sectors)": lambda p: 32 * p[LD_SECTORS],
    "bytes stored (sectors)": lambda p: 32 * p[STORED],
    "bytes asked of memory": asked,
    "multiply-adds": "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum",
    "shared wavefronts": "memory_l1_wavefronts_shared",
}


class Note(str):
    """A sentence that a notebook shows without quotes."""

    __repr__ = str.__str__


# -- launches ----------------------------------------------------------------------


def rows(cp: Any, n: int, d: int = 32, seed: int = 0) -> Any:
    """n rows of d normally distributed floats."""
    return cp.asarray(np.random.default_rng(seed).normal(0, 1, (n, d)).astype(np.float32))


def launch(cp: Any, q: Any, k: Any, v: Any, shift: int | None = None, queries: int = 64) -> tuple:
    """Grid, block and arguments of the kernel `flash` for one head: q is (nq, d), k and v are (nk, d).

    The output is the first argument, filled with NaN before. Query i sees key j <= i + shift; None: all.
    """
    (nq, d), nk = q.shape, len(k)
    out, lse = cp.full((nq, d), cp.nan, cp.float32), cp.full(nq, cp.nan, cp.float32)
    numbers = (nq, nk, d, nk if shift is None else shift)
    args = (out, lse, q, k, v, *map(np.int32, numbers), np.float32(d**-0.5))
    return (-(-nq // queries), 1), (queries,), args


def naive_launches(cp: Any, kernels: tuple, q: Any, k: Any, v: Any) -> dict[str, tuple]:
    """Kernel, grid, block and arguments of `scores`, `softmax` and `apply` for one head without a mask.

    In blocks of 64 queries. The output is the first argument of the last.
    """
    scores, softmax, apply = kernels
    (nq, d), nk = q.shape, len(k)
    s, grid, numbers = cp.zeros((nk, nq), cp.float32), (-(-nq // 64), 1), tuple(map(np.int32, (nq, nk, d)))
    masked = (np.int32(nk), np.float32(d**-0.5))
    return {
        "scores": (scores, grid, (64,), (s, q, k, *numbers, *masked)),
        "softmax": (softmax, (-(-nq // 32), 1), (32, 8), (s, *numbers[:2])),
        "apply": (apply, grid, (64,), (cp.zeros((nq, d), cp.float32), s, v, *numbers)),
    }


def run(launches: Mapping[str, tuple]) -> Any:
    """Make the launches of `naive_launches` in order; the output of the last."""
    for kernel, grid, block, args in launches.values():
        kernel(grid, block, args)
    return args[0]


def error(out: Any, q: Any, k: Any, v: Any, shift: int | None = None) -> float:
    """Largest difference from attention in float64."""
    return float(abs(_host(out) - attention64(*map(_host, (q, k, v)), shift)).max())


def flash_error(cp: Any, kernel: Any, nq: int, nk: int, shift: int | None = None, **sizes: int) -> float:
    """Largest error of a flash kernel on random rows; `d` (32) and `queries` of a block (64) may be given."""
    d = sizes.get("d", 32)
    given = [rows(cp, n, d, seed) for seed, n in enumerate((nq, nk, nk))]
    grid, block, args = launch(cp, *given, shift, sizes.get("queries", 64))
    kernel(grid, block, args)
    return error(args[0], *given, shift)


def logits_error(cp: Any, kernel: Any, around: float, nq: int = 33, nk: int = 64) -> float:
    """Largest error where all scores lie near `around`."""
    q, k, v = (rows(cp, n, seed=seed) for seed, n in enumerate((nq, nk, nk)))
    q[:, 0], k[:, 0] = abs(around) * 32**0.5, np.sign(around)
    grid, block, args = launch(cp, q, k, v)
    kernel(grid, block, args)
    return error(args[0], q, k, v)


def grad_error(cp: Any, flash: Any, grad_q: Any, n: int = 70) -> float:
    """Largest error of the gradient of Q, causal, over its largest element; the reference is in float64."""
    q, k, v, dout = (rows(cp, n, seed=seed) for seed in range(4))
    grid, block, args = launch(cp, q, k, v, shift=0)
    flash(grid, block, args)
    dq = cp.full((n, 32), cp.nan, cp.float32)
    grad_q(grid, block, (dq, dout, *args))
    q, k, v, dout = (_host(a).astype(float) for a in (q, k, v, dout))
    eye = np.eye(n)
    p = attention64(q, k, eye, shift=0)  # the weights themselves: what mixes the unit vectors
    dp = dout @ v.T
    expected = 32**-0.5 * (p * (dp - (p * dp).sum(axis=1, keepdims=True))) @ k
    return float(abs(_host(dq) - expected).max() / abs(expected).max())


def _host(array: Any) -> np.ndarray:
    return array.get() if hasattr(array, "get") else np.asarray(array)


# -- sliders -----------------------------------------------------------------------


def tiles_view(kernel: Any, width: int = 32) -> Callable[[int, int, int], tuple[Figure, str]]:
    """The function behind the tile sliders: bytes of one head, and what one SM of an H200 holds."""

    def show_tiles(sequence: int = 4096, queries: int = 64, keys: int = 16) -> tuple[Figure, str]:
        options = (*OPTIONS, f"-DD={width}", f"-DBR={queries}", f"-DBC={keys}")
        compiled = RawKernel(kernel.code, kernel.name, options=options)
        by_kernel = model.asked_bytes(sequence, width, queries)
        flash, naive = by_kernel["flash"], [by_kernel[name] for name in model.NAIVE]
        parts = {f"naive:\n{what}": sum(one[what] for one in naive) / 2**20 for what in flash}
        parts |= {f"flash:\n{what}": flash[what] / 2**20 for what in flash}
        figure = bars(parts, ylabel="MiB per head", title=f"{sequence:,} tokens", evidence="modelled")
        before, after = (sum(sum(one.values()) for one in some) for some in (naive, [flash]))
        found = occupancy(queries, compiled.num_regs, compiled.shared_size_bytes, DEFAULT)
        text = (
            f"{sequence:,} tokens, {queries} queries a block, {keys} keys a tile, modelled: the naive "
            f"kernels ask for {before / after:.1f} times the bytes\n{compiled.num_regs} registers, "
            f"{compiled.shared_size_bytes:,} bytes of shared memory: {str(found).splitlines()[0]}"
        )
        return figure, text

    return show_tiles


def picture_view(
    scores: np.ndarray, queries: int, keys: int, block: int, shift: int | None = None
) -> Callable[[int], Figure]:
    """The function behind the tile-by-tile slider."""

    def show_step(tile: int = 3) -> Figure:
        return sweep_picture(scores, queries, keys, block, tile - 1, shift)

    return show_step


# -- bytes -------------------------------------------------------------------------


def matrix_bytes(counts: Mapping[str, Mapping[str, float]], n: int, width: int = 32) -> dict[str, float]:
    """What is left of each naive kernel's bytes without those for Q, K, V and the output; n tokens."""
    found = {}
    for name, parts in model.asked_bytes(n, width, 64).items():
        if name in counts:
            found[name] = asked(counts[name]) - parts["Q and out"] - parts["K and V"]
    return found


def agrees(counted: Mapping[str, Mapping[int, float]], width: int = 32) -> bool:
    """Whether every counted number of bytes ("naive", "flash" -> tokens -> bytes) is that of the formula."""
    kernels = {"naive": model.NAIVE, "flash": ("flash",)}
    return all(
        bytes_ == sum(sum(model.asked_bytes(n, width, 64)[kernel].values()) for kernel in kernels[name])
        for name, found in counted.items()
        for n, bytes_ in found.items()
    )


def traffic_chart(counted: Mapping[str, Mapping[int, float]], width: int, queries: int) -> Figure:
    """Bytes asked for one head over the sequence: counted where the emulator ran, modelled up to 16,384.

    `counted`: "naive" and "flash" -> sequence -> bytes.
    """
    lengths = [2**power for power in range(6, 15)]
    series = []
    for name, kernels in (("naive", model.NAIVE), ("flash", ("flash",))):
        tables = [model.asked_bytes(s, width, queries) for s in lengths]
        total = [sum(sum(table[kernel].values()) for kernel in kernels) / 2**20 for table in tables]
        series.append(Series("modelled", lengths, total, name))
        ran = counted[name]
        series.append(Series("counted", list(ran), [b / 2**20 for b in ran.values()], name))
    once = [16 * s * width / 2**20 for s in lengths]
    series.append(Series("modelled", lengths, once, "Q, K, V and out, once"))
    title = "Bytes that one head asks of memory"
    return draw_sweep(*series, xlabel="tokens", ylabel="MiB", title=title, log="xy")


# -- times -------------------------------------------------------------------------


def times_by_gpu(s: int = 4096, heads: int = 16) -> Table:
    """For every GPU of the table: does joining the three kernels move the modelled time?"""
    rows = []
    for name in names():
        found = [model.modelled(kernel, s, heads, name) for kernel in (*model.NAIVE, "flash")]
        before, after = sum(one.ms for one in found[:-1]), found[-1]
        gain = before / after.ms
        verdict = f"yes, {gain:.1f} times faster" if gain > 1.05 else "no"
        cells = (name, *(f"{one.ms:.2f}" for one in found), after.limiter, verdict)
        rows.append([Cell(text) for text in cells])
    header = ["GPU", *(f"{kernel} ms" for kernel in (*model.NAIVE, "flash")), "flash is limited by", "moves?"]
    return Table(header, rows, {0, 5, 6}, f"modelled, {heads} heads of {s:,} tokens, 64 floats a row")


def attention_times(gpu: str = DEFAULT) -> Table | Note:
    """Recorded times of every sequence, with speed-ups and TFLOP/s; a sentence where nothing is recorded."""
    table = recording("flash_attention", gpu)
    if table is None:
        return Note(f"Not recorded on the {gpu} yet.")
    rows = []
    for s, heads in sweeps.lengths(sweeps.SWEEPS[0].size):
        at = table.where(sequence=s)
        ms = dict(zip(at["variant"].tolist(), at.ms.tolist(), strict=True))
        naive, flops = sum(ms[name] for name in model.NAIVE), 4 * s * s * sweeps.WIDTH * heads
        library = ms.get("PyTorch")
        cells = [f"{s:,}", f"{heads}", *(f"{ms[n]:.3f}" for n in model.NAIVE), f"{naive:.3f}"]
        cells += [f"{ms['flash']:.3f}", f"{naive / ms['flash']:.2f}", f"{ms['flash causal']:.3f}"]
        cells += [f"{library:.3f}" if library else "-", f"{flops / ms['flash'] / 1e9:.1f}"]
        cells += [f"{flops / library / 1e9:.1f}" if library else "-"]
        rows.append([Cell(text) for text in cells])
    header = ["tokens", "heads", *model.NAIVE, "all three", "flash", "naive / flash", "flash causal"]
    header += ["PyTorch", "flash TFLOP/s", "PyTorch TFLOP/s"]
    return Table(header, rows, set(), f"milliseconds, 64 floats a row; {table.caption}")


def time_chart(gpu: str = DEFAULT) -> Figure:
    """Time over the sequence, heads x tokens the same: modelled and, where there is a table, recorded."""
    table, series = recording("flash_attention", gpu), []
    lengths = sweeps.lengths(sweeps.SWEEPS[0].size)
    tokens = [s for s, _ in lengths]
    for label, kernels in (("three kernels", model.NAIVE), ("flash", ("flash",)), ("PyTorch", ("PyTorch",))):
        if label != "PyTorch":
            ms = [sum(model.modelled(k, s, h, gpu).ms for k in kernels) for s, h in lengths]
            series.append(Series("modelled", tokens, ms, label, gpu))
        if table is not None and all(k in table["variant"] for k in kernels):
            rows = [table.where(variant=k) for k in kernels]
            ms, low, high = (sum(r[n] for r in rows) for n in ("median_ms", "low_ms", "high_ms"))
            series.append(Series("recorded", rows[0]["sequence"], ms, label, gpu, low, high))
    title = "Attention of 65,536 tokens x heads"
    return draw_sweep(*series, xlabel="tokens", ylabel="time (ms)", title=title, log="xy")


def tile_times(gpu: str = DEFAULT) -> Table | Note:
    """Recorded times of the tiles; a sentence where nothing is recorded."""
    table = recording("flash_tiles", gpu)
    if table is None:
        return Note(f"Not recorded on the {gpu} yet.")
    rows = []
    for row in table.rows():
        s, queries = int(row["sequence"]), int(row["queries"])
        bytes_ = sum(model.asked_bytes(s, sweeps.WIDTH, queries)["flash"].values()) * 8
        compiled = sweeps.built(sweeps.k.FLASH, queries, int(row["keys"])).compile(_standin())
        found = occupancy(queries, compiled.num_regs, compiled.shared_size_bytes, gpu)
        cells = (queries, row["keys"], f"{bytes_ / 2**20:,.0f}", compiled.num_regs, found.warps)
        rows.append([Cell(c) for c in (*cells, f"{row['median_ms']:.3f}")])
    header = ["queries", "keys", "MiB asked", "registers", "warps per SM", "recorded ms"]
    return Table(header, rows, set(), f"8 heads, 64 floats a row; {table.caption}")


def measured_attention(s: int = 4096) -> str:
    """The kernels for one sequence, timed on this machine's GPU; a sentence where there is none."""
    from .. import backend

    if backend.BACKEND.name != "cupy":
        return "No GPU here, so nothing is measured."
    points = [p for p in sweeps.attention(sweeps.SWEEPS[0].size) if p.columns["sequence"] == s]
    return "\n".join(f"{point.columns['variant']}: {measured(point)}" for point in points)


def _standin() -> Any:
    from .. import standin

    return standin
