"""Times of a sweep as a notebook shows them: modelled, recorded beside it, and measured on a GPU."""

from collections.abc import Collection, Mapping

import numpy as np
from matplotlib.figure import Figure

from . import backend
from .agreement import modelled_sweep
from .gpus import DEFAULT, device
from .pictures.charts import Series
from .pictures.charts import sweep as draw_sweep
from .pictures.style import INK
from .record import time_point
from .recorded import Table, recorded
from .report import Cell
from .report import Table as ShownTable
from .sweeps import sweep
from .timing import flusher

MEASURED_RUNS = 20  # per point: enough for a median and quartiles in a notebook


def recording(name: str, gpu: str = DEFAULT) -> Table | None:
    """The recorded table of a sweep, or None where this GPU has none."""
    try:
        return recorded(gpu, name)
    except FileNotFoundError:
        return None


def time_chart(
    name: str,
    column: str,
    *,
    title: str = "",
    xlabel: str = "",
    measure: Collection = (),
    gpu: str = DEFAULT,
) -> Figure:
    """Milliseconds over what varies: open diamonds as modelled, points with quartiles as recorded.

    `name`: a sweep, such as "coalescing_stride"; `column`: its number that varies, such as "stride". The
    title ends with the range of modelled over recorded. `xlabel`: what varies, with its unit; the column's
    name if left out. `measure`: values of the column to measure now, on a machine with a GPU.
    """
    modelled = [time.ms for time in modelled_sweep(name, gpu)]
    chosen, table = sweep(name), recording(name, gpu)
    x = [point.columns[column] for point in chosen.points(chosen.size)]
    series = [Series("modelled", x, modelled, where=gpu)]
    if table is not None:
        series.append(_points("recorded", table, column, gpu))
        ratio = np.array(modelled) / table.ms
        title = f"{title} (modelled / recorded: {ratio.min():.2f} to {ratio.max():.2f})"
    if measure and backend.on_gpu():
        series.append(_points("measured", _measured(name, column, measure), column, device().name))
    return one_by_one(draw_sweep(*series, xlabel=xlabel or column, ylabel="time (ms)", title=title))


def one_by_one(figure: Figure) -> Figure:
    """A sweep over whole numbers: a mark for each value instead of a line that has values in between.

    Modelled values become open diamonds, counted ones dots on stems from 0.
    """
    axes = figure.axes[0]
    for line in list(axes.lines):
        if line.get_linestyle() == "--":
            line.set(linestyle="", marker="D", markersize=9, markerfacecolor="none", markeredgewidth=1.2)
        elif line.get_linestyle() == "-" and len(line.get_xdata()) > 2:
            axes.vlines(line.get_xdata(), 0, line.get_ydata(), color=line.get_color(), linewidth=1.2)
            line.set(linestyle="", marker="o", markersize=5)
    axes.legend(frameon=False, fontsize=9, labelcolor=INK)
    return figure


def agreement(name: str, gpu: str = DEFAULT) -> str:
    """How far the model is off over a sweep, and for which launches the ratio is lowest and highest."""
    chosen, table = sweep(name), recording(name, gpu)
    if table is None:
        return f"{name}: not recorded yet on the {gpu}."
    points = chosen.points(chosen.size)
    pairs = zip(modelled_sweep(name, gpu), table.ms[: len(points)], strict=True)
    ratios = [float(time.ms / ms) for time, ms in pairs]
    low, high = (
        f"{pick(ratios):.2f} ({_words(points[ratios.index(pick(ratios))].columns)})" for pick in (min, max)
    )
    return f"modelled / recorded, {gpu}: from {low} to {high}."


def time_table(name: str, gpu: str = DEFAULT) -> ShownTable:
    """Every launch of a sweep: recorded if it was, modelled, their ratio and the limit; measured on a GPU.

    Recorded library calls follow as the last rows; nothing is modelled for them.
    """
    chosen, table, modelled = sweep(name), recording(name, gpu), modelled_sweep(name, gpu)
    points = chosen.points(chosen.size)
    columns = {"launch": [_words(point.columns) for point in points]}
    if table is not None:
        columns[f"recorded ms, {gpu}"] = [f"{ms:.4g}" for ms in table.ms[: len(points)]]
    columns[f"modelled ms, {gpu}"] = [f"{time.ms:.4g}" for time in modelled]
    if table is not None:
        columns["modelled / recorded"] = [
            f"{t.ms / ms:.2f}" for t, ms in zip(modelled, table.ms[: len(points)], strict=True)
        ]
    columns["model: limited by"] = [time.limiter for time in modelled]
    if backend.on_gpu():
        columns[f"measured ms, {device().name}"] = [f"{ms:.4g}" for ms in _measured(name)["median_ms"]]
    rows = [[Cell(text) for text in row] for row in zip(*columns.values(), strict=True)]
    if table is not None:
        rows += _call_rows(table, list(points[0].columns), len(points), len(columns))
    words = {list(columns).index(column) for column in ("launch", "model: limited by")}
    sizes = {point.columns.get("size", point.columns.get("sequence")) for point in points}
    captions = [f"{chosen.size:,} {chosen.what}"] * (len(sizes) < 2) + ([table.caption] if table else [])
    return ShownTable(list(columns), rows, words, "; ".join(captions))


def _call_rows(table: Table, varying: list[str], first: int, width: int) -> list[list[Cell]]:
    """Rows of a table from number `first` on, which are library calls: what it was and the recorded time."""
    calls = list(table.rows())[first:]
    shown = [[_words({key: row[key] for key in varying}), f"{row['median_ms']:.4g}"] for row in calls]
    return [[*map(Cell, row), *[Cell() for _ in range(width - 2)]] for row in shown]


def _words(columns: Mapping[str, int | str]) -> str:
    """What varies, such as "variant tiled, size 4096"."""
    return ", ".join(f"{key} {value}" for key, value in columns.items())


def _points(evidence: str, table: Table | dict, column: str, where: str) -> Series:
    """Medians of a table with their quartiles."""
    low, high = table["low_ms"], table["high_ms"]
    return Series(evidence, table[column], table["median_ms"], where=where, low=low, high=high)


def _measured(name: str, column: str = "", values: Collection = ()) -> dict[str, list]:
    """Launches at the recorded size, all or those with these values, timed on this machine's GPU: columns."""
    cp, chosen = backend.cp, sweep(name)
    flush = flusher(cp, device().l2.size_bytes)
    points = [p for p in chosen.points(chosen.size) if not values or p.columns[column] in values]
    rows = []
    for point in points:
        rows.append(time_point(cp, point, flush, MEASURED_RUNS))
        cp.get_default_memory_pool().free_all_blocks()
    return {key: [row[key] for row in rows] for key in rows[0]}
