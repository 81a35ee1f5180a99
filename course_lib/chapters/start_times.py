"""Chapter 00: charts and tables of recorded times that mislead, and of those beside them that do not."""

from collections.abc import Callable
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from .. import backend
from ..backend import cp
from ..evidence import NOT_YET, as_columns, caption, measured, measured_heading, not_recorded, recording
from ..gpus import DEFAULT, device, gpu
from ..pictures import Series
from ..pictures import sweep as draw_sweep
from ..pictures.style import BLACK, BLUE, EVIDENCE, INK, clean, new_figure
from ..report import Table
from ..sweeps import sweep
from ..timing import wall_clock
from . import start_sweeps as s
from .start_clock import SimulatedGpu
from .start_views import add_model

CLOCKS = {
    "events and a wait": "the kernel",
    "host, nobody waits": "the launch alone",
    "host, waits": "launch, kernel, and the way back to the host",
    "host, 20 launches, waits once": "kernels one after the other; the launches hide",
    "host, first launch of a new source": "the compiler",
}


def clock_table() -> Table:
    """What each clock said of one and the same launch, and what it covered."""
    table, now = recording("start_clock"), measured("start_clock")
    header = ["clock"]
    header += [f"recorded µs, {DEFAULT}", "half of them within"] if table is not None else []
    header += [f"measured µs, {device().name}"] if now else []
    rows = []
    for number, (name, covers) in enumerate(CLOCKS.items()):
        cells = [name]
        if table is not None:
            row = table.where(clock=name)
            cells += [
                f"{1e3 * row.ms[0]:,.1f}",
                f"{1e3 * row['low_ms'][0]:,.1f} to {1e3 * row['high_ms'][0]:,.1f}",
            ]
        cells += [f"{1e3 * now[number]['median_ms']:,.1f}"] if now else []
        rows.append([*cells, covers])
    told = f"one sum of {s.LARGE:,} floats; {caption(table, 'start_clock')}"
    return Table([*header, "what it covers"], rows, {0, len(header)}, told)


def refusals() -> None:
    """Print what happens when nobody waits: for the second event, and for the stream of a wall clock.

    A simulated GPU first, which says what CuPy says on a real one; then this machine.
    """
    simulated = SimulatedGpu(1.0)
    real = s.launcher(cp, s.LARGE if backend.on_gpu() else 1 << 12)
    real()
    asked = {
        "simulated, get_elapsed_time": lambda: too_early(simulated, simulated.launch),
        "here, get_elapsed_time": lambda: too_early(cp, real),
        "here, wall_clock": lambda: wall_clock(real),
    }
    for name, ask in asked.items():
        try:
            print(f"{name}: {ask()}")
        except RuntimeError as error:
            print(f"{name}: {type(error).__name__}: {error}")


def too_early(cp: Any, launch: Callable[[], object]) -> float:
    """Wrong: nobody waits for the second event."""
    start, stop = cp.cuda.Event(), cp.cuda.Event()
    start.record()
    launch()
    stop.record()
    return cp.cuda.get_elapsed_time(start, stop)


# -- what is timed -------------------------------------------------------------------


def sizes_chart() -> Figure:
    """Useful bytes a second over the size of the arrays: L2 emptied before each launch, or left as it was."""
    kinds = (("neighbours", "emptied"), ("neighbours", "left"), ("own pieces", "emptied"))
    table, series = recording("start_sizes"), []
    for way, l2 in kinds:
        label, cold = f"{way}, L2 {l2}", l2 == "emptied"
        rates = [12 * n / add_model(way, n, cold=cold).ms / 1e6 for n in s.SIZES]
        series.append(Series("modelled", _megabytes(s.SIZES), rates, label, DEFAULT))
        if table is not None:
            series.append(_rates("recorded", table.where(way=way, l2=l2), label, DEFAULT))
        if now := as_columns(measured("start_sizes", way=way, l2=l2)):
            series.append(_rates("measured", now, label, device().name))
    title = "The same kernel, from launch to DRAM" + ("" if table is not None else f" ({NOT_YET})")
    figure = draw_sweep(*series, xlabel="three arrays (MB)", ylabel="useful GB/s", title=title, log="x")
    _mark_limits(figure.axes[0])
    return figure


def _megabytes(floats: Any) -> np.ndarray:
    return 12 * np.asarray(floats) / 2**20


def _rates(evidence: str, rows: Any, label: str, where: str) -> Series:
    """Useful GB/s with quartiles; a column may be an array of a recorded table or of measured rows."""
    useful = 12 * rows["floats"] / 1e6
    low, high = useful / rows["high_ms"], useful / rows["low_ms"]
    return Series(evidence, _megabytes(rows["floats"]), useful / rows["median_ms"], label, where, low, high)


def _mark_limits(axes: Axes) -> None:
    """DRAM's peak across, the size of L2 upright."""
    here = gpu(DEFAULT)
    peak, l2 = here.memory.dram_gb_per_s, here.l2.size_bytes / 2**20
    axes.axhline(peak, color=INK, linewidth=1.2, linestyle=":")
    axes.axvline(l2, color=INK, linewidth=1.2, linestyle=":")
    axes.set_ylim(0, max(axes.get_ylim()[1], 1.35 * peak))
    left = axes.get_xlim()[0] * 1.1
    axes.text(left, peak * 1.015, f"DRAM peak of the {DEFAULT}: {peak:,.0f} GB/s", color=BLACK, fontsize=9)
    axes.text(l2 * 1.06, 60, f"L2: {l2:.0f} MB", color=BLACK, fontsize=9, va="bottom")


def sizes_words() -> str:
    """Small and large sums by both ways; a sum of arrays that fit into L2, with L2 emptied and left."""
    table = recording("start_sizes")
    if table is None:
        return not_recorded("start_sizes")
    pick = lambda way, l2, n: float(table.where(way=way, l2=l2, floats=n).ms[0])  # noqa: E731
    lines = []
    for n in (s.SIZES[0], s.LARGE):
        before, after = (1e3 * pick(way, "emptied", n) for way in ("own pieces", "neighbours"))
        lines.append(
            f"recorded, {n:,} floats: own pieces {before:.2f} µs, neighbours {after:.2f} µs: "
            f"{before / after:.2f} times as long"
        )
    for n in (s.SIZES[0], s.IN_L2, s.LARGE):
        cold, warm = (1e3 * pick("neighbours", l2, n) for l2 in ("emptied", "left"))
        lines.append(
            f"recorded, {n:,} floats: L2 emptied {cold:.2f} µs, left as it was {warm:.2f} µs: "
            f"{warm / cold:.2f} times as long"
        )
    return "\n".join(lines)


def every_chart() -> Figure:
    """Every stride-th float is read: the time of a launch, and its useful bytes a second."""
    from ..agreement import modelled_sweep

    chosen, table = sweep("start_every"), recording("start_every")
    points = chosen.points(chosen.size)
    stride = np.array([point.columns["stride"] for point in points])
    useful = np.array([point.useful_bytes for point in points])
    model = np.array([time.ms for time in modelled_sweep("start_every")])
    now = as_columns(measured("start_every"))
    figure = new_figure(9.0, 3.4)
    for number, (name, read) in enumerate(_STORIES.items()):
        axes = clean(figure.add_axes((0.075 + 0.5 * number, 0.15, 0.41, 0.71)), grid="both")
        axes.set_xscale("log", base=2)
        axes.set_xticks(stride, map(str, stride))
        axes.plot(
            stride, read(model, useful), color=BLUE, label=f"modelled, {DEFAULT}", **EVIDENCE["modelled"]
        )
        if table is not None:
            label = f"recorded, {DEFAULT}"
            axes.plot(stride, read(table.ms, useful), color=BLUE, label=label, **EVIDENCE["recorded"])
        if now:
            label = f"measured, {device().name}"
            axes.plot(stride, read(now["median_ms"], useful), color=BLUE, label=label, **EVIDENCE["measured"])
        axes.set_ylim(bottom=0)
        axes.set_xlabel("stride", color=INK)
        axes.set_title(name, color=BLACK, fontsize=11, fontweight="bold")
        axes.legend(frameon=False, fontsize=9)
    return figure


_STORIES = {
    "time of a launch (ms)": lambda ms, useful: ms,
    "useful bytes a second (GB/s)": lambda ms, useful: useful / ms / 1e6,
}


def every_words() -> str:
    """Stride 1 against 8, told in both ways."""
    table = recording("start_every")
    if table is None:
        return not_recorded("start_every")
    one, eight = (table.where(stride=stride) for stride in (1, 8))
    return (
        f"recorded, stride 8 against 1: {one.ms[0] / eight.ms[0]:.1f} times faster a launch, for an eighth "
        f"of the useful bytes; a useful byte takes {one.bandwidth[0] / eight.bandwidth[0]:.1f} times as long"
    )


def zeros_table() -> Table:
    """The same work on zeros and on values without a pattern."""
    table = recording("start_zeros")
    now = [row for work in ("one sum", "one product") for row in measured("start_zeros", work=work)]
    header = ["work"]
    for source, where in ((table, f"recorded ms, {DEFAULT}"), (now, measured_heading())):
        header += [f"zeros, {where}", "random", "random / zeros"] if source else []
    works = list(dict.fromkeys(call.columns["work"] for call in s.zeros(sweep("start_zeros").size)))
    rows = []
    for work in works:
        cells = [work]
        if table is not None:
            cells += _against(*(table.where(work=work, data=data).ms[0] for data in ("zeros", "random")))
        if now:
            found = [row["median_ms"] for row in now if row["work"] == work]  # zeros, then random
            cells += _against(*found) if found else ["", "", ""]
        rows.append(cells)
    return Table(header, rows, {0}, caption(table, "start_zeros"))


def _against(zeros: float, random: float) -> list[str]:
    return [f"{zeros:.4g}", f"{random:.4g}", f"{random / zeros:.3f}"]
