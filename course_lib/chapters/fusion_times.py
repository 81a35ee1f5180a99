"""Chapter 05, fusion: times of its sweeps, kernels and library calls in one table."""

from collections.abc import Mapping
from typing import Any

from matplotlib.figure import Figure

from .. import backend
from ..agreement import modelled_sweep
from ..evidence import NOT_YET, caption, measured_heading, points_series, recording, time_points
from ..gpus import DEFAULT
from ..pictures import Series
from ..pictures import sweep as draw_sweep
from ..points import Call, Point
from ..report import Table
from ..sweeps import sweep
from .fusion_calls import COPY, SEPARATE

FIXED = ("median_ms", "low_ms", "high_ms", "n", "useful_bytes", "flops")


def times(name: str) -> Table:
    """Every row of a sweep: recorded and modelled, on a GPU measured too, and what the recorded time means.

    "of the copy": useful bytes per second over those of the device's copy in the same recording; "against
    separate": how many times faster than the plain CuPy expression.
    """
    chosen, table = sweep(name), recording(name)
    recorded = {} if table is None else {_key(row): row for row in table.rows()}
    modelled = modelled_sweep(name)
    rows = [*chosen.points(chosen.size), *chosen.calls(chosen.size)]
    shown = []
    for index, row in enumerate(rows):
        found = recorded.get(tuple(map(str, row.columns.values())))
        time = modelled[index] if index < len(modelled) else None
        shown.append([_label(row), *_recorded_cells(found, recorded), *_modelled_cells(found, time)])
    header = ["launch", f"recorded ms, {DEFAULT}", "TB/s", "of the copy", "against separate"]
    header += [f"modelled ms, {DEFAULT}", "modelled / recorded", "limited by"]
    if backend.on_gpu():
        header.append(measured_heading())
        shown = [[*cells, ms] for cells, ms in zip(shown, _measured(rows), strict=True)]
    shown = [cells for cells in shown if any(cells[1:])]  # a library that is neither recorded nor here
    keep = [i for i in range(len(header)) if i == 0 or any(cells[i] for cells in shown)]
    size = f"{chosen.size:,} {chosen.what}"
    return Table(
        [header[i] for i in keep],
        [[cells[i] for i in keep] for cells in shown],
        {j for j, i in enumerate(keep) if i in (0, 7)},
        f"{size}; {caption(table, name)}",
    )


def steps_chart() -> Figure:
    """Milliseconds over the number of steps: fused, modelled and recorded; a kernel each, recorded."""
    name, fused, apart = "fusion_steps", "fused", "a kernel each"
    counts = [point.columns["steps"] for point in sweep(name).points(1)]
    series = [Series("modelled", counts, [time.ms for time in modelled_sweep(name)], fused, DEFAULT)]
    table = recording(name)
    for label, variant in ((fused, "fused float4"), (apart, apart)) if table is not None else ():
        rows = table.where(variant=variant)
        series.append(points_series("recorded", rows, "steps", label, DEFAULT))
    title = f"Steps x -> 0.5 x + 1 on {sweep(name).size:,} floats"
    title += f" ({NOT_YET})" * (table is None)
    return draw_sweep(*series, xlabel="steps", ylabel="time (ms)", title=title, log="xy")


def _key(row: Mapping[str, Any]) -> tuple[str, ...]:
    """What tells the rows of a table apart."""
    return tuple(str(value) for name, value in row.items() if name not in FIXED)


def _label(row: Point | Call) -> str:
    words = [str(row.columns["variant"]).removeprefix("fused ")]
    return ", ".join([*words, *(f"{k} {v}" for k, v in row.columns.items() if k != "variant" and v)])


def _recorded_cells(found: Mapping[str, Any] | None, recorded: Mapping[tuple, Mapping]) -> list[str]:
    """Recorded ms, TB/s, share of the copy's bandwidth, times faster than separate kernels."""
    if found is None:
        return [""] * 4
    copies = [row for key, row in recorded.items() if key[0] == COPY]
    apart = [row for key, row in recorded.items() if key[0] == SEPARATE]
    share = f"{_rate(found) / _rate(copies[0]):.0%}" if copies else ""
    gain = f"{apart[0]['median_ms'] / found['median_ms']:.2f}x" if apart and found["variant"] != COPY else ""
    return [f"{found['median_ms']:.4g}", f"{_rate(found):.2f}", share, gain]


def _rate(row: Mapping[str, Any]) -> float:
    """Useful bytes in 10^12 a second."""
    return row["useful_bytes"] / (row["median_ms"] * 1e9)


def _modelled_cells(found: Mapping[str, Any] | None, time: Any) -> list[str]:
    if time is None:
        return [""] * 3
    return [f"{time.ms:.4g}", f"{time.ms / found['median_ms']:.2f}" if found else "", time.limiter]


def _measured(rows: list[Point | Call]) -> list[str]:
    """The same launches and calls, timed on this machine's GPU."""
    return [f"{timed['median_ms']:.4g}" if timed else "" for timed in time_points(rows)]
