"""Chapter 07, wave quantization: charts of predicted steps with what was recorded and measured."""

from collections.abc import Collection

import numpy as np
from matplotlib.figure import Figure

from .. import backend
from ..evidence import NOT_YET, as_columns, caption, not_recorded, points_series, recording, time_points
from ..gpus import DEFAULT
from ..pictures import Series
from ..pictures import sweep as draw_sweep
from ..recorded import Table as Recorded
from ..report import Table
from ..sweeps import sweep
from . import wave_sweeps as w
from .wave_views import alignment, gemm, modelled_tiles, tflops
from .waves import predicted_cure_ms, predicted_ms, tiles, waves

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
    chosen = sweep(name)
    counts = [point.columns["blocks"] for point in chosen.points(1)]
    every = np.arange(min(counts), max(counts) + 1)
    series = [Series("modelled", every, [predicted(name, int(n)) for n in every], where=DEFAULT)]
    table = recording(name)
    if table is None:
        title += f" ({NOT_YET})"
    else:
        ratio = np.array([predicted(name, int(n)) for n in table["blocks"]]) / table.ms
        title += f" (predicted / recorded: {ratio.min():.2f} to {ratio.max():.2f})"
        series.append(points_series("recorded", table, "blocks", where=DEFAULT))
    if measure and backend.on_gpu():
        now = time_points(p for p in chosen.points(chosen.size) if p.columns["blocks"] in measure)
        series.append(points_series("measured", as_columns(now), "blocks"))
    return draw_sweep(*series, xlabel="blocks", ylabel="time (ms)", title=title)


def step_words(name: str, first: int, second: int) -> str:
    """What one block more cost: predicted, recorded with the spread of both points."""
    said = predicted(name, second) / predicted(name, first) - 1
    lines = [f"modelled: from {first:,} to {second:,} blocks, {said:+.1%}"]
    table = recording(name)
    if table is None:
        return "\n".join([*lines, not_recorded(name)])
    a, b = (table.where(blocks=count) for count in (first, second))
    spread = max((t["high_ms"][0] - t["low_ms"][0]) / t.ms[0] for t in (a, b))
    lines.append(
        f"recorded: {b.ms[0] / a.ms[0] - 1:+.1%}; half of the runs of a point lie within {spread:.1%}"
    )
    return "\n".join(lines)


def together_words() -> str:
    """How much longer than one waiting block two of them take on an SM: as predicted, and as recorded."""
    one, two = w.SMS, 2 * w.SMS
    said = predicted("waves_waiting", two) / predicted("waves_waiting", one)
    table = recording("waves_waiting")
    was = NOT_YET
    if table is not None:
        was = f"recorded {table.where(blocks=two).ms[0] / table.where(blocks=one).ms[0]:.2f}"
    return f"two waiting blocks on an SM, over one: modelled {said:.2f}, {was}"


def model_words() -> str:
    """The course's general model over the record, for one block an SM of each kind."""
    lines = []
    for kind in ("waiting", "filling"):
        table, ms = recording(f"waves_{kind}"), modelled_tiles(w.SMS, kind=kind)
        was = NOT_YET
        if table is not None:
            was = f"modelled / recorded {ms / table.where(blocks=w.SMS).ms[0]:.2f}"
        lines.append(f"the course's model, {w.SMS} {kind} blocks: {ms:.3f} ms modelled, {was}")
    return "\n".join(lines)


def many_chart() -> Figure:
    """Some 50 waves: the change against 50 whole ones in percent, predicted and recorded with quartiles."""
    base = 50 * w.SMS
    every = np.arange(49 * w.SMS, 51 * w.SMS + 1)
    whole = predicted("waves_many", base)
    line = [100 * (predicted("waves_many", int(n)) / whole - 1) for n in every]
    series, table = [Series("modelled", every / w.SMS, line, where=DEFAULT)], recording("waves_many")
    if table is not None:
        whole = table.where(blocks=base).ms[0]
        y, low, high = (100 * (table[name] / whole - 1) for name in ("median_ms", "low_ms", "high_ms"))
        series.append(Series("recorded", table["blocks"] / w.SMS, y, "", DEFAULT, low, high))
    title = "One wave more or less of 50" + (f" ({NOT_YET})" if table is None else "")
    return draw_sweep(*series, xlabel="waves of 132", ylabel="change (%)", title=title, zero=False)


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
        rows.append(row)
    told = f"change against {base:,} blocks; predicted (modelled); {caption(table, 'waves_many')}"
    return Table(header, rows, set(), told)


def cures_chart() -> Figure:
    """The four ways of sharing out tiles: predicted for every number of tiles, recorded with quartiles."""
    every = np.arange(w.TILES[0], w.TILES[-1] + 1)
    table, series = recording("waves_cures"), []
    for name in w.CURES:
        line = [predicted_cure_ms(name, int(n), w.RECORDED_UNITS, w.PARTS) for n in every]
        series.append(Series("modelled", every, line, label=name, where=DEFAULT))
        if table is not None:
            rows = table.where(variant=name)
            series.append(points_series("recorded", rows, "tiles", name, DEFAULT))
    title = "The same tiles, shared out in four ways" + (f" ({NOT_YET})" if table is None else "")
    figure = draw_sweep(*series, xlabel="tiles", ylabel="time (ms)", title=title)
    figure.axes[0].set_ylim(top=1.3 * figure.axes[0].get_ylim()[1])  # room for the legend
    figure.axes[0].legend(frameon=False, fontsize=9, loc="upper left", ncols=2)
    return figure


def cures_table() -> Table:
    """Time of each way at 132, 133 and 264 tiles: predicted, and recorded if it was."""
    table, counts = recording("waves_cures"), (w.SMS, w.SMS + 1, 160, 2 * w.SMS)
    header = ["way", *(f"{n}, modelled" for n in counts)]
    header += [] if table is None else [f"{n}, recorded" for n in counts]
    rows = []
    for name in w.CURES:
        row = [name, *(f"{predicted_cure_ms(name, n, w.RECORDED_UNITS, w.PARTS):.3f}" for n in counts)]
        if table is not None:
            row += [f"{table.where(variant=name, tiles=n).ms[0]:.3f}" for n in counts]
        rows.append(row)
    told = f"milliseconds for so many tiles; {caption(table, 'waves_cures')}"
    return Table(header, rows, {0}, told)


def gemm_chart() -> Figure | None:
    """Recorded TFLOP/s of float16 products around 1792, by the alignment of their rows; None without any."""
    table = gemm()
    if table is None:
        return None
    packed = table.where(variant="packed")
    near = (packed["size"] >= min(w.ODD_SIZES)) & (packed["size"] <= max(w.ODD_SIZES))
    by = np.array([alignment(int(size)) for size in packed["size"]])
    series = [
        _rates(packed, near & (by == width), f"rows aligned to {width} bytes") for width in (16, 8, 4, 2)
    ]
    padded = table.where(variant="padded")
    series.append(_rates(padded, np.ones(len(padded), bool), "copied to padded rows, copies included"))
    title = "float16 products by cuBLAS: it is the alignment"
    figure = draw_sweep(*series, xlabel="size", ylabel="TFLOP/s", title=title)
    figure.axes[0].legend(frameon=False, fontsize=9, loc="center", bbox_to_anchor=(0.3, 0.66))
    return figure


CHOICE = ((256, 128), (192, 192), (192, 128), (160, 128), (128, 128))  # tiles a library might have


def cost(size: int, choice: tuple[tuple[int, int], ...]) -> float:
    """Multiply-adds of the busiest SM with the best of several tiles: waves x elements of a tile x K."""
    each = (len(waves(tiles(size, size, tile), w.SMS)) * tile[0] * tile[1] for tile in choice)
    return float(min(each) * size)


def fitted(sizes: np.ndarray, ms: np.ndarray, choice: tuple[tuple[int, int], ...]) -> tuple[float, float]:
    """Milliseconds at the start and for each multiply-add of the busiest SM, by least squares."""
    costs = np.array([cost(int(size), choice) for size in sizes])
    rate, start = np.polyfit(costs, ms, 1)
    return float(start), float(rate)


def aligned_chart() -> Figure | None:
    """Times of the sizes that 8 divides, and what waves make of them: one tile, or the best of five.

    Two numbers of each line, a start and a rate, are fitted to the points. None where nothing was recorded.
    """
    table = gemm()
    if table is None:
        return None
    packed = table.where(variant="packed")
    keep = packed["size"] % w.ALIGNED == 0
    x, y = packed["size"][keep], packed.ms[keep]
    low, high = packed["low_ms"][keep], packed["high_ms"][keep]
    series = [Series("recorded", x, y, "cuBLAS", DEFAULT, low, high)]
    every = np.arange(x.min(), x.max() + 1, w.ALIGNED)
    for name, choice in (("best of 5 tiles", CHOICE), ("256 x 128 alone", CHOICE[:1])):
        start, rate = fitted(x, y, choice)
        line = [start + rate * cost(int(size), choice) for size in every]
        off = max(abs((start + rate * cost(int(n), choice)) / ms - 1) for n, ms in zip(x, y, strict=True))
        label = f"waves, {name}, within {off:.0%}"
        series.append(Series("modelled", every, line, label=label, where=DEFAULT))
    return draw_sweep(*series, xlabel="size", ylabel="time (ms)", title="Aligned sizes only: waves")


def plateau_words(small: int = 1792, large: int = 2048) -> str:
    """How much more work the larger of two products is, and how much longer it was recorded to take."""
    said = f"from {small} to {large}: {(large / small) ** 3:.2f} times the work"
    table = gemm()
    if table is None:
        return f"{said}; {not_recorded('waves_gemm')}"
    before, after = (table.where(variant="packed", size=size).ms[0] for size in (small, large))
    return f"{said}, recorded: {after / before:.2f} times the time"


def _rates(table: Recorded, keep: np.ndarray, label: str) -> Series:
    """TFLOP/s of the chosen rows with their quartiles."""
    flops = table["flops"][keep] / 1e9
    low, high = flops / table["high_ms"][keep], flops / table["low_ms"][keep]
    return Series("recorded", table["size"][keep], tflops(table)[keep], label, DEFAULT, low, high)
