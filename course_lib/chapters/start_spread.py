"""Chapter 00: how sure a time is: single runs, a step within the noise, and a point above the roof."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..evidence import NOT_YET, as_columns, measured, not_recorded, recording
from ..gpus import DEFAULT, device, gpu
from ..pictures import Series
from ..pictures import sweep as draw_sweep
from ..pictures.style import BLACK, BLUE, EVIDENCE, INK, ORANGE, SKY, VERMILION, clean, new_figure
from ..roofline import RooflinePoint, roofline
from . import start_sweeps as s
from .start_views import add_model


def runs_chart() -> Figure:
    """Single runs one after the other, as a change against their median, with the quartiles as a band."""
    table = recording("start_runs")
    figure = new_figure(9.0, 3.2)
    if table is None:
        figure.text(0.5, 0.5, not_recorded("start_runs"), ha="center", color=INK, fontsize=10)
        return figure
    for number, floats in enumerate((s.SMALL, s.LARGE)):
        rows, now = table.where(floats=floats), as_columns(measured("start_runs", floats=floats))
        axes = clean(figure.add_axes((0.075 + 0.5 * number, 0.16, 0.41, 0.7)), grid="y")
        axes.set_xlabel("run", color=INK)
        axes.set_ylabel("change against the median (%)", color=INK)
        title = f"{floats:,} floats, median {1e3 * np.median(rows.ms):.4g} µs"
        axes.set_title(title, color=BLACK, fontsize=11, fontweight="bold")
        _draw_runs(axes, rows.ms)
        if now:
            change = 100 * (now["median_ms"] / np.median(now["median_ms"]) - 1)
            label = f"measured, {device().name}"
            axes.plot(now["run"], change, color=ORANGE, label=label, **EVIDENCE["measured"])
    figure.axes[0].legend(frameon=False, fontsize=9, loc="upper right")  # for both
    return figure


def _draw_runs(axes: Axes, ms: np.ndarray) -> None:
    """Dots for the runs, a band from the first to the third quartile; a triangle for what is far above."""
    change, run = 100 * (ms / np.median(ms) - 1), np.arange(len(ms))
    low, high = np.quantile(change, (0.25, 0.75))
    top = 2.5 * np.sort(change)[-3]
    axes.axhspan(low, high, color=SKY, alpha=0.45, linewidth=0, label="half of the runs")
    axes.axhline(0, color=INK, linewidth=1)
    near = change < 0.75 * top
    label = f"recorded, {DEFAULT}"
    axes.plot(run[near], change[near], color=BLUE, label=label, **EVIDENCE["recorded"])
    for place, (number, value) in enumerate(zip(run[~near], change[~near], strict=True)):
        y = (0.94 - 0.12 * place) * top
        axes.plot(number, y, color=VERMILION, marker="^", markersize=8)
        axes.text(number + 1.2, y, f"run {number}: +{value:.0f}%", color=BLACK, fontsize=9, va="center")
    axes.set_ylim(min(1.3 * change.min(), -0.15 * top), top)


def runs_words() -> str:
    """For each kernel: how far single runs lie from the median, and the quartiles."""
    table = recording("start_runs")
    if table is None:
        return not_recorded("start_runs")
    lines = []
    for floats in (s.SMALL, s.LARGE):
        ms = table.where(floats=floats).ms
        change = 100 * (ms / np.median(ms) - 1)
        low, high = np.quantile(change, (0.25, 0.75))
        lines.append(
            f"recorded, {floats:,} floats: single runs from {change.min():+.1f}% to {change.max():+.1f}%, "
            f"half of them from {low:+.1f}% to {high:+.1f}%"
        )
    return "\n".join(lines)


def tail_chart() -> Figure:
    """A wave more or less of 20: what whole waves would cost, what bytes would, and what was recorded."""
    base, table = 20 * s.PLACES, recording("start_tail")
    every = np.arange(19 * s.PLACES, 21 * s.PLACES + 1, 8)
    every = np.unique([*every, base + 1])
    waves = 100 * (np.ceil(every / s.PLACES) / 20 - 1)
    series = [
        Series("modelled", every, waves, "if whole waves counted", DEFAULT),
        Series("modelled", every, 100 * (every / base - 1), "if bytes counted", DEFAULT),
    ]
    if table is not None:
        whole = table.where(blocks=base).ms[0]
        y, low, high = (100 * (table[name] / whole - 1) for name in ("median_ms", "low_ms", "high_ms"))
        series.append(Series("recorded", table["blocks"], y, "", DEFAULT, low, high))
    if now := as_columns(measured("start_tail")):
        whole = now["median_ms"][list(now["blocks"]).index(base)]
        y, low, high = (100 * (now[name] / whole - 1) for name in ("median_ms", "low_ms", "high_ms"))
        series.append(Series("measured", now["blocks"], y, "", device().name, low, high))
    title = f"Around 20 waves of {s.PLACES:,} blocks" + ("" if table is not None else f" ({NOT_YET})")
    return draw_sweep(*series, xlabel="blocks", ylabel="change of the time (%)", title=title, zero=False)


def tail_words() -> str:
    """What one block more changed, how wide the quartiles are, and which line the points follow."""
    table, base = recording("start_tail"), 20 * s.PLACES
    if table is None:
        return not_recorded("start_tail")
    whole, one = table.where(blocks=base), table.where(blocks=base + 1)
    spread = np.max((table["high_ms"] - table["low_ms"]) / table.ms)
    change, blocks = table.ms / whole.ms[0] - 1, table["blocks"]
    lines = {"waves": np.ceil(blocks / s.PLACES) / 20 - 1, "bytes": blocks / base - 1}
    off = ", ".join(f"{np.abs(change - line).max():.1%} from that of {name}" for name, line in lines.items())
    step = one.ms[0] / whole.ms[0] - 1
    return (
        f"recorded, from {base:,} to {base + 1:,} blocks: {step:+.1%}; a whole wave would be +{1 / 20:.1%}\n"
        f"half of the runs of a point lie within {spread:.1%}; points lie at most {off}"
    )


def repeat_words() -> str:
    """Bytes a second of 20 launches in a row, from L2 and from DRAM, against DRAM's peak."""
    table, peak = recording("start_repeat"), gpu(DEFAULT).memory.dram_gb_per_s
    if table is None:
        return not_recorded("start_repeat")
    lines = []
    for n in (s.IN_L2, s.LARGE):
        rate = table.where(floats=n, launches=20).bandwidth[0]
        lines.append(
            f"recorded, 20 launches of {n:,} floats: {rate:,.0f} GB/s, {rate / peak:.0%} of DRAM's peak"
        )
    return "\n".join(lines)


def above_roof() -> Figure:
    """20 sums in a row on the roofline: of arrays in DRAM, and of arrays in L2, drawn as if they were not."""
    table, points = recording("start_repeat"), []
    for label, n, cold in (("from DRAM", s.LARGE, True), ("from L2", s.IN_L2, False)):
        timed = add_model("neighbours", n, cold=cold)
        ms, source = timed.ms - 1e3 * timed.launch_seconds, "modelled"
        if table is not None:
            ms, source = float(table.where(floats=n, launches=20).ms[0]) / 20, "recorded"
        points.append(RooflinePoint(label, n, 12 * n, ms, source))
        for row in measured("start_repeat", floats=n, launches=20):
            points.append(RooflinePoint(label, n, 12 * n, row["median_ms"] / 20, "measured"))
    return roofline(points)
