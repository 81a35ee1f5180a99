"""Chapter 07, wave quantization: charts of predicted steps with what was recorded and measured."""

from collections.abc import Collection

import numpy as np
from matplotlib.figure import Figure

from ..evidence import MEASURED_RUNS, recording
from ..gpus import DEFAULT, device
from ..pictures import Series
from ..pictures import sweep as draw_sweep
from ..record import time_point
from ..recorded import Table as Recorded
from ..report import Cell, Table
from ..sweeps import sweep
from ..timing import flusher
from . import wave_sweeps as w
from .wave_views import NOT_RECORDED, TILES, alignment, gemm, tflops
from .waves import efficiency, predicted_cure_ms, predicted_ms, tiles

# sweep -> chains, threads and resident blocks of its kernel
KERNELS = {
    "waves_waiting": {"chains": 1, "threads": w.WAITING, "resident": 2},
    "waves_filling": {"chains": 4, "threads": w.FILLING, "resident": 1},
    "waves_sharing": {"chains": 4, "threads": w.FILLING, "resident": 4},
    "waves_many": {"chains": 4, "threads": w.FILLING, "resident": 1},
}


def predicted(name: str, blocks: int) -> float:
    """Predicted milliseconds of a launch of a sweep of `one_each`, on an H200."""
    return predicted_ms(blocks, units=sweep(name).size, **KERNELS[name])


def step_chart(name: str, title: str, measure: Collection[int] = ()) -> Figure:
    """Time over the number of blocks: predicted for every number, recorded with quartiles, measured here.

    The title ends with the range of predicted over recorded. `measure`: numbers of blocks to time now, on a
    machine with a GPU.
    """
    points = [point.columns["blocks"] for point in sweep(name).points(1)]
    every = np.arange(min(points), max(points) + 1)
    series = [Series("modelled", every, [predicted(name, int(n)) for n in every], where=DEFAULT)]
    table = recording(name)
    if table is None:
        title += " (not recorded yet)"
    else:
        ratio = np.array([predicted(name, int(n)) for n in table["blocks"]]) / table.ms
        title += f" (predicted / recorded: {ratio.min():.2f} to {ratio.max():.2f})"
        low, high = table["low_ms"], table["high_ms"]
        series.append(Series("recorded", table["blocks"], table.ms, where=DEFAULT, low=low, high=high))
    if measure and _on_gpu():
        series.append(_measured(name, "blocks", measure))
    return draw_sweep(*series, xlabel="blocks", ylabel="time (ms)", title=title, zero=name != "waves_many")


def _measured(name: str, column: str, values: Collection[int]) -> Series:
    """Launches with these values, timed on this machine's GPU."""
    from ..backend import cp

    flush = flusher(cp, device().l2.size_bytes)
    points = [p for p in sweep(name).points(sweep(name).size) if p.columns[column] in values]
    rows = [time_point(cp, point, flush, MEASURED_RUNS) for point in points]
    x, y, low, high = ([row[key] for row in rows] for key in (column, "median_ms", "low_ms", "high_ms"))
    return Series("measured", x, y, where=device().name, low=low, high=high)


def step_words(name: str, first: int, second: int) -> str:
    """What one block more cost: predicted, recorded with the spread of both points."""
    said = predicted(name, second) / predicted(name, first) - 1
    lines = [f"modelled: from {first:,} to {second:,} blocks, {said:+.1%}"]
    table = recording(name)
    if table is None:
        return "\n".join([*lines, NOT_RECORDED.format(name)])
    a, b = (table.where(blocks=count) for count in (first, second))
    spread = max((t["high_ms"][0] - t["low_ms"][0]) / t.ms[0] for t in (a, b))
    lines.append(
        f"recorded: {b.ms[0] / a.ms[0] - 1:+.1%}; half of the runs of a point lie within {spread:.1%}"
    )
    return "\n".join(lines)


def many_table() -> Table:
    """Some 50 waves: predicted change against 50 whole waves, and the recorded one with its quartiles."""
    base = 50 * w.SMS
    counts = [point.columns["blocks"] for point in w.many(1)]
    table = recording("waves_many")
    header = ["blocks", "waves", "predicted change"]
    header += [] if table is None else ["recorded change", "from", "to"]
    rows = []
    for count in counts:
        change = predicted("waves_many", count) / predicted("waves_many", base) - 1
        row = [f"{count:,}", f"{count / w.SMS:.2f}", f"{change:+.1%}"]
        if table is not None:
            here, whole = table.where(blocks=count), table.where(blocks=base).ms[0]
            row += [f"{here[name][0] / whole - 1:+.1%}" for name in ("median_ms", "low_ms", "high_ms")]
        rows.append([Cell(value) for value in row])
    caption = NOT_RECORDED.format("waves_many") if table is None else f"recorded {table.caption}"
    return Table(header, rows, set(), f"change against {base:,} blocks; predicted (modelled); {caption}")


def cures_chart() -> Figure:
    """The four ways of sharing out tiles: predicted for every number of tiles, recorded with quartiles."""
    every = np.arange(w.TILES[0], w.TILES[-1] + 1)
    table, series = recording("waves_cures"), []
    for name in w.CURES:
        line = [predicted_cure_ms(name, int(n), w.RECORDED_UNITS, w.PARTS) for n in every]
        series.append(Series("modelled", every, line, label=name, where=DEFAULT))
        if table is not None:
            rows = table.where(variant=name)
            low, high = rows["low_ms"], rows["high_ms"]
            series.append(Series("recorded", rows["tiles"], rows.ms, name, DEFAULT, low, high))
    title = "The same tiles, shared out in four ways" + (" (not recorded yet)" if table is None else "")
    return draw_sweep(*series, xlabel="tiles", ylabel="time (ms)", title=title)


def cures_table() -> Table:
    """Time of each way at 132, 133 and 264 tiles: predicted, and recorded if it was."""
    table, counts = recording("waves_cures"), (132, 133, 160, 264)
    header = ["way", *(f"{n} tiles, modelled ms" for n in counts)]
    header += [] if table is None else [f"{n} tiles, recorded ms" for n in counts]
    rows = []
    for name in w.CURES:
        row = [name, *(f"{predicted_cure_ms(name, n, w.RECORDED_UNITS, w.PARTS):.3f}" for n in counts)]
        if table is not None:
            row += [f"{table.where(variant=name, tiles=n).ms[0]:.3f}" for n in counts]
        rows.append([Cell(value) for value in row])
    caption = NOT_RECORDED.format("waves_cures") if table is None else table.caption
    return Table(header, rows, {0}, caption)


def gemm_chart() -> Figure | str:
    """Recorded TFLOP/s of float16 products around 1792, by the alignment of their rows."""
    table = gemm()
    if table is None:
        return NOT_RECORDED.format("waves_gemm")
    packed = table.where(variant="packed")
    near = (packed["size"] >= min(w.ODD_SIZES)) & (packed["size"] <= max(w.ODD_SIZES))
    by = np.array([alignment(int(size)) for size in packed["size"]])
    series = [
        _rates(packed, near & (by == width), f"rows aligned to {width} bytes") for width in (16, 8, 4, 2)
    ]
    padded = table.where(variant="padded")
    series.append(_rates(padded, np.ones(len(padded), bool), "copied to padded rows, copies included"))
    title = "float16 products by cuBLAS: it is the alignment"
    return draw_sweep(*series, xlabel="size", ylabel="TFLOP/s", title=title)


def aligned_chart() -> Figure:
    """Sizes that 64 divides: what waves predict for two tiles, beside the recorded rates."""
    sizes = [size for size in w.EVEN_SIZES if size % 64 == 0]
    table = gemm()
    best, series = 1.0, []
    if table is not None:
        packed = table.where(variant="packed")
        keep = np.isin(packed["size"], sizes)
        best = float(np.max(tflops(packed)[keep]))
        series.append(_rates(packed, keep, "cuBLAS"))
    for name in ("256 x 128", "128 x 128"):
        shares = [_useful(size, TILES[name]) for size in sizes]
        line = [best * share / max(shares) for share in shares]
        series.append(Series("modelled", sizes, line, label=f"waves of tiles {name}", where=DEFAULT))
    ylabel = "share of the best size" if table is None else "TFLOP/s"
    title = "Aligned sizes only: the waves" + (" (not recorded yet)" if table is None else "")
    return draw_sweep(*series, xlabel="size", ylabel=ylabel, title=title)


def _useful(size: int, tile: tuple[int, int]) -> float:
    """The share of the SM time that goes into elements of the result: waves and half-empty tiles."""
    count = tiles(size, size, tile)
    return efficiency(count, w.SMS) * size * size / (count * tile[0] * tile[1])


def _rates(table: Recorded, keep: np.ndarray, label: str) -> Series:
    """TFLOP/s of the chosen rows with their quartiles."""
    flops = table["flops"][keep] / 1e9
    low, high = flops / table["high_ms"][keep], flops / table["low_ms"][keep]
    return Series("recorded", table["size"][keep], tflops(table)[keep], label, DEFAULT, low, high)


def _on_gpu() -> bool:
    from .. import backend

    return backend.BACKEND.name == "cupy"
