"""Times of a sweep as a notebook shows them: modelled, recorded beside it, and measured on a GPU.

What the chapters' own tables and charts share is here too: which GPUs they list, what they say where a gain
is small or nothing is recorded, and how they time launches on this machine.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from . import backend
from .agreement import modelled_sweep
from .gpus import DEFAULT, Gpu, device, names
from .gpus import gpu as find_gpu
from .pictures.charts import Series
from .pictures.charts import sweep as draw_sweep
from .pictures.style import INK
from .points import Call, Point, Reading
from .record import time_point
from .recorded import Table, recorded
from .report import Table as ShownTable
from .sweeps import sweep
from .timing import flusher

MEASURED_RUNS = 20  # per point: enough for a median and quartiles in a notebook
WORTH = 1.05  # a gain, or a loss, below that is not worth a word: the model's error is larger
NOT_YET = "not recorded yet"  # what stands in the place of a recorded value


def every_gpu() -> list[tuple[Gpu, str]]:
    """Each GPU of the table and its name; on a machine with a GPU that one too, as "..., this machine"."""
    known = [(find_gpu(name), name) for name in names()]
    return known + ([(device(), f"{device().name}, this machine")] if backend.on_gpu() else [])


def verdict(gain: float, form: str = "{:.1f} times faster") -> str:
    """Should a time move? "yes", and by how much, or "no" for a gain that the model cannot tell from none."""
    return f"yes, {form.format(gain)}" if gain > WORTH else "no"


def not_recorded(name: str, gpu: str = DEFAULT) -> str:
    """What stands in the place of a recorded table."""
    return f"{name}: {NOT_YET}; on the {gpu}: python -m course_lib.record {name}"


def caption(table: Table | None, name: str) -> str:
    """Where a recorded table comes from, or that there is none of that name."""
    return table.caption if table is not None else not_recorded(name)


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
        series.append(points_series("recorded", table, column, where=gpu))
        ratio = np.array(modelled) / table.ms
        title = f"{title} (modelled / recorded: {ratio.min():.2f} to {ratio.max():.2f})"
    if measure and backend.on_gpu():
        rows = time_points(p for p in chosen.points(chosen.size) if p.columns[column] in measure)
        series.append(points_series("measured", as_columns(rows), column))
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
        return not_recorded(name, gpu)
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
        columns[measured_heading()] = [f"{row['median_ms']:.4g}" for row in time_points(points)]
    rows = [list(row) for row in zip(*columns.values(), strict=True)]
    if table is not None:
        rows += _call_rows(table, list(points[0].columns), len(points), len(columns))
    words = {list(columns).index(column) for column in ("launch", "model: limited by")}
    sizes = {point.columns.get("size", point.columns.get("sequence")) for point in points}
    captions = [f"{chosen.size:,} {chosen.what}"] * (len(sizes) < 2) + ([table.caption] if table else [])
    return ShownTable(list(columns), rows, words, "; ".join(captions))


def _call_rows(table: Table, varying: list[str], first: int, width: int) -> list[list[str]]:
    """Rows of a table from number `first` on, which are library calls: what it was and the recorded time."""
    calls = list(table.rows())[first:]
    shown = [[_words({key: row[key] for key in varying}), f"{row['median_ms']:.4g}"] for row in calls]
    return [row + [""] * (width - len(row)) for row in shown]


def _words(columns: Mapping[str, int | str]) -> str:
    """What varies, such as "variant tiled, size 4096"."""
    return ", ".join(f"{key} {value}" for key, value in columns.items())


def points_series(
    evidence: str, table: Table | Mapping[str, np.ndarray], column: str, label: str = "", where: str = ""
) -> Series:
    """Medians of a table, or of `as_columns(time_points(...))`, over a column, with their quartiles.

    `where`: the GPU's name; left out, this machine's.
    """
    ends = {"low": table["low_ms"], "high": table["high_ms"]}
    return Series(evidence, table[column], table["median_ms"], label, where or device().name, **ends)


# -- measured here -------------------------------------------------------------------


def measured_heading() -> str:
    """The heading of a column of times that were measured on this machine."""
    return f"measured ms, {device().name}"


def time_points(points: Iterable[Point | Call | Reading]) -> list[dict[str, Any] | None]:
    """Rows as in a recorded table, timed now on this machine's GPU; None where a library is missing."""
    cp = backend.cp
    flush, rows = flusher(cp, device().l2.size_bytes), []
    for point in points:
        rows.append(time_point(cp, point, flush, MEASURED_RUNS))
        cp.get_default_memory_pool().free_all_blocks()
    return rows


def measured(name: str, **columns: Any) -> list[dict[str, Any]]:
    """Launches, calls and readings of a sweep with these column values, timed now; [] without a GPU."""
    if not backend.on_gpu():
        return []
    chosen = sweep(name)
    rows = (*chosen.points(chosen.size), *chosen.calls(chosen.size))
    wanted = [row for row in rows if all(row.columns[key] == value for key, value in columns.items())]
    return [row for row in time_points(wanted) if row]


def measured_words(points: Iterable[Point | Call], label: Callable[[Point | Call], str] | None = None) -> str:
    """A line per launch with its median on this machine's GPU; a sentence where there is none."""
    if not backend.on_gpu():
        return "No GPU here, so nothing is measured."
    points = list(points)
    named = [label(point) if label else _words(point.columns) for point in points]
    lines = [
        f"{name}: {row['median_ms']:.4g} ms"
        for name, row in zip(named, time_points(points), strict=True)
        if row
    ]
    return "\n".join([f"measured on {device().name}, medians of {MEASURED_RUNS} launches:", *lines])


def as_columns(rows: list[dict[str, Any]]) -> dict[str, np.ndarray]:
    """Rows as columns; {} for none."""
    return {key: np.array([row[key] for row in rows]) for key in (rows[0] if rows else ())}
