"""Chapter 08, flash attention: what its tables, sliders and time charts need."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from ..emulator import RawKernel
from ..evidence import every_gpu, measured_words, not_recorded, recording, verdict
from ..gpus import DEFAULT
from ..kernels import OPTIONS
from ..metric_names import FFMA, LD_SECTORS, ST_SECTORS, WAVEFRONTS
from ..occupancy import occupancy
from ..pictures import Series, bars
from ..pictures import sweep as draw_sweep
from ..report import Table
from . import flash_model as model
from . import flash_sweeps as sweeps
from .flash_picture import sweep_picture


def asked(p: Mapping[str, float]) -> float:
    """Bytes of whole sectors that loads and stores ask of memory."""
    return 32 * (p[LD_SECTORS] + p[ST_SECTORS])


# the rows of this chapter's tables: label -> metric
TRAFFIC = {
    "bytes loaded (sectors)": lambda p: 32 * p[LD_SECTORS],
    "bytes stored (sectors)": lambda p: 32 * p[ST_SECTORS],
    "bytes asked of memory": asked,
    "float multiply-adds": FFMA,
    "shared wavefronts": WAVEFRONTS,
}


class Note(str):
    """A sentence that a notebook shows without quotes."""

    __repr__ = str.__str__


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
    """For every GPU of the table and this machine's: does joining three kernels move the modelled time?"""
    rows = []
    for gpu, name in every_gpu():
        found = [model.modelled(kernel, s, heads, gpu) for kernel in (*model.NAIVE, "flash")]
        before, after = sum(one.ms for one in found[:-1]), found[-1]
        each = (f"{one.ms:.2f}" for one in found)
        rows.append([name, *each, after.limiter, verdict(before / after.ms)])
    header = ["GPU", *(f"{kernel} ms" for kernel in (*model.NAIVE, "flash")), "flash is limited by", "moves?"]
    return Table(header, rows, {0, 5, 6}, f"modelled, {heads} heads of {s:,} tokens, 64 floats a row")


def attention_times(gpu: str = DEFAULT) -> Table | Note:
    """Recorded times of every sequence, with speed-ups and TFLOP/s; a sentence where nothing is recorded."""
    table = recording("flash_attention", gpu)
    if table is None:
        return Note(not_recorded("flash_attention", gpu))
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
        rows.append(cells)
    header = ["tokens", "heads", *model.NAIVE, "all three", "flash", "naive / flash", "flash causal"]
    header += ["PyTorch", "flash TFLOP/s", "PyTorch TFLOP/s"]
    return Table(header, rows, set(), f"milliseconds, 64 floats a row; {table.caption}")


def model_error(gpu: str = DEFAULT) -> Note:
    """How far modelled times are from recorded ones, kernel by kernel, and what that does to the gain."""
    found = model.agreement(gpu)
    if found is None:
        return Note(not_recorded("flash_attention", gpu))
    names = [label.split(" sequence")[0].removeprefix("variant=") for label in found.labels]
    lines = []
    for name in dict.fromkeys(names):
        ratio = [r for n, r in zip(names, found.ratio, strict=True) if n == name]
        lines.append(f"{name} {min(ratio):.2f} to {max(ratio):.2f}")
    gains = []
    for times in (found.modelled_ms, found.recorded_ms):
        longest = dict(zip(names, times, strict=True))  # the last of each name: the longest sequence
        gains.append(sum(longest[n] for n in model.NAIVE) / longest["flash"])
    pairs = f"three kernels / flash, longest sequence: modelled {gains[0]:.2f}, recorded {gains[1]:.2f}"
    return Note(f"modelled / recorded: {', '.join(lines)}\n{pairs}")


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
        return Note(not_recorded("flash_tiles", gpu))
    rows = []
    for row in table.rows():
        s, queries = int(row["sequence"]), int(row["queries"])
        bytes_ = sum(model.asked_bytes(s, sweeps.WIDTH, queries)["flash"].values()) * 8
        cells = (queries, row["keys"], f"{bytes_ / 2**20:,.0f}")
        rows.append([*cells, f"{row['median_ms']:.3f}"])
    header = ["queries", "keys", "MiB asked", "recorded ms"]
    return Table(header, rows, set(), f"8 heads, 64 floats a row; {table.caption}")


def measured_attention(s: int = 4096) -> str:
    """The kernels for one sequence, timed on this machine's GPU; a sentence where there is none."""
    points = (p for p in sweeps.attention(sweeps.SWEEPS[0].size) if p.columns["sequence"] == s)
    return measured_words(points)
