"""Times of a sweep as a notebook shows them: modelled, and recorded beside it where there is a recording."""

from matplotlib.figure import Figure

from .agreement import Agreement, compare, modelled_sweep
from .gpus import DEFAULT
from .pictures.charts import Series
from .pictures.charts import sweep as draw_sweep
from .recorded import Table, recorded
from .report import Cell
from .report import Table as ShownTable
from .sweeps import sweep


def recording(name: str, gpu: str = DEFAULT) -> Table | None:
    """The recorded table of a sweep, or None where this GPU has none."""
    try:
        return recorded(gpu, name)
    except FileNotFoundError:
        return None


def time_chart(name: str, column: str, *, title: str = "", label: str = "", gpu: str = DEFAULT) -> Figure:
    """Milliseconds over what varies: a dashed line as modelled, points with quartiles as recorded.

    `name`: a sweep, such as "coalescing_stride"; `column`: its number that varies, such as "stride".
    """
    chosen = sweep(name)
    x = [point.columns[column] for point in chosen.points(chosen.small)]
    series = [Series("modelled", x, [time.ms for time in modelled_sweep(name, gpu)], label, gpu)]
    table = recording(name, gpu)
    if table is not None:
        series.append(
            Series("recorded", table[column], table.ms, label, gpu, table["low_ms"], table["high_ms"])
        )
    return draw_sweep(*series, xlabel=column, ylabel="time (ms)", title=title)


def time_table(name: str, gpu: str = DEFAULT) -> Agreement | ShownTable:
    """Modelled time and its limit for every launch of a sweep, beside the recorded time if there is one."""
    modelled, table = modelled_sweep(name, gpu), recording(name, gpu)
    if table is not None:
        return compare(table, modelled)
    chosen = sweep(name)
    rows = [
        [
            Cell(" ".join(f"{k}={v}" for k, v in point.columns.items())),
            Cell(f"{time.ms:.4g}"),
            Cell(time.limiter),
        ]
        for point, time in zip(chosen.points(chosen.small), modelled, strict=True)
    ]
    return ShownTable(["launch", "modelled ms", "limited by"], rows, {0, 2}, f"modelled for {gpu}")
