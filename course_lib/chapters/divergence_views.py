"""Chapter 04, divergence: what its tables, sliders and time charts need."""

import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from .. import backend
from ..agreement import counted_sweep, modelled_sweep
from ..emulator.errors import UnsupportedError
from ..evidence import as_columns, every_gpu, not_recorded, points_series, recording, time_points, verdict
from ..gpus import DEFAULT, Gpu
from ..metric_names import BRANCHES, DIVERGENT, INSTRUCTIONS, LANES, SECTORS
from ..model import modelled_time
from ..pictures import Series
from ..pictures import sweep as draw_sweep
from ..profile import as_emulated, profile
from ..report import Table
from ..sweeps import sweep
from ..timeline import timeline
from . import divergence_sweeps as recorded_kernels
from .divergence_picture import lane_timeline

# the rows of this chapter's tables: label -> metric
DIVERGENCE = {
    "warp instructions (PTX)": INSTRUCTIONS,
    "active lanes per instruction": LANES,
    "branches": BRANCHES,
    "divergent branches": DIVERGENT,
}
SECTOR_ROWS = {"sectors, loads and stores": SECTORS}
THREADS = 256  # of a slider's launch


# -- what the compiler made of a branch --------------------------------------------


def branch_table(kernels: Mapping[str, Any]) -> Table:
    """Branches and conditional instructions in the PTX and the SASS of some kernels, one row each.

    A `@%p bra` in the PTX may be gone in the SASS, where the instructions it jumped over carry a predicate
    (`@P0`) instead. Without a disassembler the SASS columns are empty.
    """
    header = ["kernel", "PTX: branches", "PTX: selp", "SASS: branches", "SASS: predicated instructions"]
    rows = [[name, *_ptx_counts(as_emulated(k).ptx), *_sass_counts(k)] for name, k in kernels.items()]
    return Table(header, rows, {0})


def with_branches(kernels: Mapping[str, Any]) -> str:
    """Names of the kernels whose SASS has a conditional branch; "unknown" without a disassembler."""
    counts = {name: _sass_counts(kernel)[0] for name, kernel in kernels.items()}
    return "unknown" if "" in counts.values() else " and ".join(name for name, n in counts.items() if n)


def _ptx_counts(ptx: str) -> tuple[int, int]:
    """Conditional branches, and selections of one of two values."""
    return len(re.findall(r"@!?%p\d+ bra", ptx)), len(re.findall(r"\bselp\.", ptx))


def _sass_counts(kernel: Any) -> tuple[int | str, int | str]:
    """Conditional branches, and other instructions under a predicate."""
    try:
        lines = as_emulated(kernel).sass.splitlines()
    except UnsupportedError:
        return "", ""
    guarded = [line for line in lines if re.search(r"@!?U?P\d", line)]
    branches = sum(" BRA" in line for line in guarded)
    return branches, len(guarded) - branches


def around_branch(kernel: Any, line: int) -> str:
    """The SASS of one CUDA source line of a kernel, without addresses; a sentence where there is none."""
    emulated = as_emulated(kernel)
    try:
        found = emulated.compiled.sass_lines(emulated.name)
    except UnsupportedError as error:
        return str(error)
    return "\n".join(one.text for one in found if one.source_line == line)


# -- sliders -----------------------------------------------------------------------


def taken_view(kernel: Any) -> Callable[[int], tuple[Figure, str]]:
    """The function behind the slider of lanes that take the branch, for a kernel like `some_lanes`."""

    def show_taken(taken: int = 8) -> tuple[Figure, str]:
        launch = (1,), (THREADS,), (*_arrays(), np.int32(THREADS), np.int32(taken), np.int32(32))
        found, counted = timeline(kernel, *launch), profile(kernel, *launch)
        figure = lane_timeline(found, f"{taken} of 32 lanes", lines=_loops(kernel), room=170)
        return figure, f"{taken} of 32 lanes in the branch: " + _sentence(counted)

    return show_taken


def instructions_by_taken(kernel: Any, taken: int) -> int:
    """Warp instructions per warp of the slider's launch."""
    launch = (1,), (THREADS,), (*_arrays(), np.int32(THREADS), np.int32(taken), np.int32(32))
    return profile(kernel, *launch)[DIVERGENCE["warp instructions (PTX)"]] * 32 // THREADS


def spread_view(kernel: Any) -> Callable[[int], tuple[Figure, str]]:
    """The function behind the slider of the spread of trip counts, for a kernel like `uneven`."""

    def show_spread(spread: int = 24) -> tuple[Figure, str]:
        trips = recorded_kernels.spread_trips(np, THREADS, "lane", spread)
        launch = (1,), (THREADS,), (*_arrays(), trips, np.int32(THREADS))
        found, counted = timeline(kernel, *launch), profile(kernel, *launch)
        figure = lane_timeline(found, f"spread {spread}", lines=_loops(kernel)[-1:], room=4400)
        ends = f"{trips.min()} to {trips.max()} trips, {recorded_kernels.MEAN} on average: "
        return figure, ends + _sentence(counted)

    return show_spread


def _arrays() -> tuple[np.ndarray, np.ndarray]:
    """Output and input of a slider's launch."""
    return np.zeros(THREADS, np.float32), np.linspace(0, 1, THREADS, dtype=np.float32)


def _loops(kernel: Any) -> list[int]:
    """The source lines of a kernel that loop, those of its longest work."""
    return [number for number, text in enumerate(kernel.code.split("\n"), 1) if "for (" in text]


def _sentence(counted: Mapping) -> str:
    instructions, lanes, branches, divergent = (counted[metric] for metric in DIVERGENCE.values())
    return (
        f"{instructions:,} warp instructions, {lanes:g} active lanes per instruction, "
        f"{divergent:,} divergent of {branches:,} branches"
    )


# -- times -------------------------------------------------------------------------


def rounds_by_gpu(few: int = 16, many: int = 1024) -> Table:
    """For every GPU of the table and this machine's: does a warp-aligned branch move the modelled time?"""
    rows = [_rounds_row(gpu, label, few, many) for gpu, label in every_gpu()]
    header = ["GPU"]
    for count in (few, many):
        header += [f"{count} rounds, ms by lane / warp", "limited by", "should the time move?"]
    size = f"modelled, {sweep('divergence_rounds').size:,} elements"
    return Table(header, rows, {0, 2, 3, 5, 6}, size)


def _rounds_counts() -> dict[tuple[int, int], Mapping[str, float]]:
    """(group, rounds) -> the counts of that launch at the recorded size."""
    at = (point.columns for point in sweep("divergence_rounds").points(1))
    pairs = zip(at, counted_sweep("divergence_rounds"), strict=True)
    return {(columns["group"], columns["rounds"]): counts for columns, counts in pairs}


def _rounds_row(gpu: Gpu, label: str, *counts: int) -> list[str]:
    cells = [label]
    for count in counts:
        lane, warp = (modelled_time(_rounds_counts()[group, count], gpu) for group in (1, 32))
        cells += [f"{lane.ms:.3f} / {warp.ms:.3f}", lane.limiter, verdict(lane.ms / warp.ms)]
    return cells


def two_curves(
    name: str, column: str, by: str, *, title: str = "", xlabel: str = "", log: str = ""
) -> Figure:
    """Time over one column of a sweep, a colour for each value of another, in every kind of evidence."""
    chosen, table = sweep(name), recording(name)
    points, times = chosen.points(chosen.size), modelled_sweep(name)
    series, ratios = [], []
    for value in dict.fromkeys(point.columns[by] for point in points):
        mine = [k for k, point in enumerate(points) if point.columns[by] == value]
        x, label = [points[k].columns[column] for k in mine], _label(by, value)
        modelled = np.array([times[k].ms for k in mine])
        series.append(Series("modelled", x, modelled, label, DEFAULT))
        if table is not None:
            rows = table.where(**{by: value})
            ratios += list(modelled / rows.ms)
            series.append(points_series("recorded", rows, column, label, DEFAULT))
        if backend.on_gpu():
            now = as_columns(time_points(points[k] for k in mine))
            series.append(points_series("measured", now, column, label))
    error = f" (modelled / recorded: {min(ratios):.2f} to {max(ratios):.2f})" if ratios else ""
    return draw_sweep(*series, xlabel=xlabel or column, ylabel="time (ms)", title=title + error, log=log)


def _label(by: str, value: int | str) -> str:
    return f"{by} {value}" if isinstance(value, int) else value


def gains() -> str:
    """What was recorded, in sentences computed from the tables; says so where nothing was."""
    widest = recorded_kernels.SPREADS[-1]
    lane, warp = ({"differ": f"by {who}", "spread": widest} for who in ("lane", "warp"))
    ways = [{"variant": way} for way in ("as they come", "sorted in blocks", "sorted")]
    few = ({"group": group, "rounds": 16} for group in (1, 32))
    found = [
        _gain(
            "divergence_parity", {"group": 1}, {"group": 32}, "branch by lane against by warp, 1024 rounds"
        ),
        _gain("divergence_rounds", *few, "branch by lane against by warp, 16 rounds"),
        _gain("divergence_trips", lane, warp, "trips that differ by lane against by warp"),
        _gain("divergence_regroup", ways[0], ways[1], "trips as they come against sorted in blocks"),
        _gain("divergence_regroup", ways[0], ways[2], "trips as they come against sorted as a whole"),
    ]
    return "\n".join(found)


def sorting_bill() -> str:
    """What sorting as a whole saves in one launch, and what it costs, from the recorded table."""
    table = recording("divergence_regroup")
    if table is None:
        return not_recorded("divergence_regroup")
    names_ = ("as they come", "sorted in blocks", "sorted and moved", "cp.argsort(trips)", "x[order]")
    came, blocks, moved, argsort, move = (float(table.where(variant=name).ms[0]) for name in names_)
    return (
        f"Sorted and moved, a launch is {came - moved:.2f} ms faster than as they come and "
        f"{blocks - moved:.2f} ms faster than sorted in blocks.\n"
        f"The argsort costs {argsort:.2f} ms, and every array that is moved {move:.2f} ms "
        f"(recorded, {DEFAULT})."
    )


def _gain(name: str, slow: Mapping, fast: Mapping, what: str) -> str:
    table = recording(name)
    if table is None:
        return f"{what}: {not_recorded(name)}"
    first, second = (float(table.where(**columns).ms[0]) for columns in (slow, fast))
    times = f"{first:.3f} ms to {second:.3f} ms, {first / second:.2f} times faster"
    return f"{what}: {times} (recorded, {DEFAULT})"
