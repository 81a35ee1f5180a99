"""Times of a sweep as a notebook shows them: modelled, recorded beside it, and measured on a GPU."""

from collections.abc import Collection

import numpy as np
from matplotlib.figure import Figure

from . import backend
from .agreement import Agreement, compare, modelled_sweep
from .gpus import DEFAULT, device
from .pictures.charts import Series
from .pictures.charts import sweep as draw_sweep
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
    name: str, column: str, *, title: str = "", measure: Collection = (), gpu: str = DEFAULT
) -> Figure:
    """Milliseconds over what varies: a dashed line as modelled, points with quartiles as recorded.

    `name`: a sweep, such as "coalescing_stride"; `column`: its number that varies, such as "stride". The
    title ends with the range of modelled over recorded. `measure`: values of the column to measure now, on
    a machine with a GPU.
    """
    modelled = [time.ms for time in modelled_sweep(name, gpu)]
    chosen, table = sweep(name), recording(name, gpu)
    x = [point.columns[column] for point in chosen.points(chosen.small)]
    series = [Series("modelled", x, modelled, where=gpu)]
    if table is not None:
        series.append(_points("recorded", table, column, gpu))
        ratio = np.array(modelled) / table.ms
        title = f"{title} (modelled / recorded: {ratio.min():.2f} to {ratio.max():.2f})"
    if measure and backend.BACKEND.name == "cupy":
        series.append(_points("measured", _measured(name, column, measure), column, device().name))
    return draw_sweep(*series, xlabel=column, ylabel="time (ms)", title=title)


def time_table(name: str, gpu: str = DEFAULT) -> Agreement | ShownTable:
    """Modelled time and its limit for every launch of a sweep, beside the recorded time if there is one."""
    modelled, table = modelled_sweep(name, gpu), recording(name, gpu)
    if table is not None:
        return compare(table, modelled)
    chosen = sweep(name)
    names = [" ".join(f"{k}={v}" for k, v in p.columns.items()) for p in chosen.points(chosen.small)]
    rows = [
        [Cell(launch), Cell(f"{time.ms:.4g}"), Cell(time.limiter)]
        for launch, time in zip(names, modelled, strict=True)
    ]
    return ShownTable(["launch", "modelled ms", "limited by"], rows, {0, 2}, f"modelled for {gpu}")


def _points(evidence: str, table: Table | dict, column: str, where: str) -> Series:
    """Medians of a table with their quartiles."""
    low, high = table["low_ms"], table["high_ms"]
    return Series(evidence, table[column], table["median_ms"], where=where, low=low, high=high)


def _measured(name: str, column: str, values: Collection) -> dict[str, list]:
    """The launches with these values at the recorded size, timed on this machine's GPU, as columns."""
    cp, chosen = backend.cp, sweep(name)
    flush = flusher(cp, device().l2.size_bytes)
    points = [point for point in chosen.points(chosen.size) if point.columns[column] in values]
    rows = []
    for point in points:
        rows.append(time_point(cp, point, flush, MEASURED_RUNS))
        cp.get_default_memory_pool().free_all_blocks()
    return {key: [row[key] for row in rows] for key in rows[0]}
