"""Chapter 09, register tiling: the rows of its tables, its slider, and the times of the ladder."""

from collections.abc import Mapping
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from .. import backend
from ..agreement import count_point
from ..evidence import caption, every_gpu, not_recorded, recording, time_points, verdict
from ..gpus import DEFAULT, Gpu, device
from ..metric_names import FFMA, GLOBAL_LOADS, INSTRUCTIONS, LD_SECTORS, SHARED_LOADS, WAVEFRONTS
from ..model import ModelledTime, modelled_time, scaled
from ..occupancy import occupancy
from ..pictures.style import number_text
from ..report import Table
from ..sweeps import sweep
from . import register_tiling_sweeps as s
from .register_tiling import shared_excess
from .register_tiling_picture import ladder_bars, step_picture

SIZE = 128  # rows of the matrices that the slider multiplies
LADDER = 256  # and of those of the ladder
# TFLOP/s of the warp tiles of siboehm/SGEMM_CUDA (GitHub; its kernel 10) and of cuBLAS in the same run, for
# n = 4096, as reported for one H200 without driver, clock or date: never in a column called recorded.
REPORTED = (36.3, 50.6)


def per_64(metric: str):
    """A count for 64 multiply-adds of a warp: one step of an 8 x 8 tile."""
    return lambda p: 64 * 32 * p[metric] / p[FFMA]


def barriers(p: Any) -> float:
    """Barriers that a warp comes to in 64 multiply-adds."""
    return 64 * 32 * sum(line.executions for line in p.lines if "__syncthreads" in line.text) / p[FFMA]


# the rows of this chapter's tables: label -> function of a profile; all but the last two for 64 multiply-adds
LOADS = {
    "shared loads": per_64(SHARED_LOADS),
    "shared wavefronts": per_64(WAVEFRONTS),
    "sectors from global memory": per_64(LD_SECTORS),
}
REGISTERS = {"registers per thread": "launch__registers_per_thread"}
WIDTH = {
    "global loads": per_64(GLOBAL_LOADS),
    "shared loads": per_64(SHARED_LOADS),
    "instructions (PTX)": per_64(INSTRUCTIONS),
    "shared wavefronts": per_64(WAVEFRONTS),
    "wavefronts in excess, all": shared_excess,
}
WAIT = {"barriers": barriers, "shared wavefronts": per_64(WAVEFRONTS), **REGISTERS}


# -- the register tile: slider and table ----------------------------------------------


@cache
def count_tile(tm: int, tn: int) -> Any:
    """The profile of a product of 128 x 128 floats with tm x tn elements a thread."""
    return count_point(s.register_tile_point({}, tm, tn, SIZE))


def grown(counted: Mapping[str, float], n: int, size: int) -> dict[str, float]:
    """Counts of a product of n x n floats, from those of one of size x size."""
    ratio = n / size
    return scaled(counted, *(ratio**power for power in s.CUBIC))


def show_tile(tm: int = 8, tn: int = 8) -> tuple[Figure, Table]:
    """One step of a thread, and what the tile costs: the function behind the slider."""
    counted = count_tile(tm, tn)
    room = occupancy(256, int(counted["launch__registers_per_thread"]), counted.shared_bytes, DEFAULT)
    time = modelled_time(grown(counted, 4096, SIZE))
    rows = [
        ("shared loads for 64 multiply-adds of a warp", "counted", f"{LOADS['shared loads'](counted):.4g}"),
        ("shared wavefronts for them", "counted", f"{LOADS['shared wavefronts'](counted):.4g}"),
        ("registers per thread", "counted", f"{counted['launch__registers_per_thread']}"),
        (f"resident warps, {DEFAULT}", "counted", f"{room.warps} of 64, limited by {room.limiter}"),
        (f"time for n = 4096, {DEFAULT}", "modelled", f"{time.ms:.3g} ms, limited by {time.limiter}"),
    ]
    return step_picture(tm, tn), Table(["one launch", "", f"{tm} x {tn}"], rows, {0, 1, 2})


SHOWN = ((1, 1), (1, 8), (8, 1), (2, 2), (4, 4), (8, 4), (8, 8))


def sides() -> Table:
    """Some of the register tiles that were recorded: counted, modelled and recorded for n = 4096."""
    table = recording("register_tiling_sides")
    header = ["TM x TN", "shared loads", "shared wavefronts", "registers", "resident warps"]
    header += ["modelled ms", "limited by", *(["recorded ms"] if table is not None else [])]
    rows = []
    for tm, tn in SHOWN:
        cells = [f"{tm} x {tn}", *_cost(tm, tn)]
        if table is not None:
            cells.append(f"{table.where(TM=tm, TN=tn).ms[0]:.3g}")
        rows.append(cells)
    where = caption(table, "register_tiling_sides")
    told = f"counts for 64 multiply-adds of a warp; times for {DEFAULT}, n = 4096; {where}"
    return Table(header, rows, {0, 6}, told)


def _cost(tm: int, tn: int) -> list[str]:
    """Loads, wavefronts, registers, resident warps, modelled time and its limit, of one register tile."""
    counted = count_tile(tm, tn)
    registers, time = counted["launch__registers_per_thread"], modelled_time(grown(counted, 4096, SIZE))
    warps = occupancy(256, int(registers), counted.shared_bytes, DEFAULT).warps
    loads = (f"{LOADS[name](counted):.3g}" for name in ("shared loads", "shared wavefronts"))
    return [*loads, f"{registers}", f"{warps}", f"{time.ms:.3g}", time.limiter]


# -- the ladder -------------------------------------------------------------------------

Counted = Mapping[str, Mapping[str, float]]  # the rungs by name, from products of 256 x 256 floats


def bars(counted: Counted) -> Figure:
    """Bytes per multiply-add of each rung, from global and from shared memory."""
    each = {
        name: (32 * p[LD_SECTORS] / p[FFMA], 128 * p[WAVEFRONTS] / p[FFMA]) for name, p in counted.items()
    }
    return ladder_bars(each)


EXPLAINED = {  # a rung -> the count that explains the step to it from the one before
    "coalesced": "sectors from global memory",
    "tiled 32": "sectors from global memory",
    "8 x 1 a thread": "shared wavefronts",
    "8 x 8 a thread": "shared wavefronts",
    "16-byte loads": "instructions (PTX)",
    "warp tiles": "shared wavefronts",
}


def explained(counted: Counted, apart: Mapping[str, int]) -> Table:
    """One count for each step of the ladder; `apart`: what `between` says of the last two rungs."""
    rows = []
    for before, after in pairwise(counted):
        if after in EXPLAINED:
            count = EXPLAINED[after]
            values = [(LOADS | WIDTH)[count](counted[name]) for name in (before, after)]
        else:
            count, values = (
                "multiply-adds between a load and its use",
                [apart[name] for name in (before, after)],
            )
        rows.append([before, after, count, *map(number_text, values)])
    told = "counted for 64 multiply-adds of a warp, but for the last row"
    return Table(["from", "to", "explained by", "before", "after"], rows, {0, 1, 2}, told)


def rung_time(counted: Mapping[str, float], n: int = 4096, gpu: Any = DEFAULT) -> ModelledTime:
    """Modelled time of a rung for n x n floats."""
    return modelled_time(grown(counted, n, LADDER), gpu)


MOVES = (("tiled 32", "8 x 8 a thread"), ("8 x 8 a thread", "16-byte loads"), ("16-byte loads", "warp tiles"))


def by_gpu(counted: Counted) -> Table:
    """For every GPU of the table and this machine's: what three of the steps should gain, n = 4096."""
    rows = [_gpu_row(counted, on, label) for on, label in every_gpu()]
    header = ["GPU", MOVES[0][0]]
    for _, after in MOVES:
        header += [after, "should it move?"]
    told = "modelled ms and their limit, 4096 x 4096 floats, registers as built for an H200"
    return Table(header, rows, set(range(len(header))), told)


def _gpu_row(counted: Counted, on: Gpu, label: str) -> list[str]:
    first = rung_time(counted[MOVES[0][0]], gpu=on)
    cells = [label, f"{first.ms:.3g}, {first.limiter}"]
    for before, after in MOVES:
        old, new = (rung_time(counted[name], gpu=on) for name in (before, after))
        cells += [f"{new.ms:.3g}, {new.limiter}", verdict(old.ms / new.ms, "{:.1f} times")]
    return cells


def ladder_times(counted: Counted, n: int = 4096, measure: bool = False) -> Table:
    """Each rung and cuBLAS for n x n floats: modelled, recorded if it was, and measured here if asked for."""
    name = f"register_tiling_{n}"
    chosen, table = sweep(name), recording(name)
    rungs = [str(point.columns["variant"]) for point in chosen.points(n)]
    flops, model = 2 * n**3, [rung_time(counted[rung], n) for rung in rungs]
    columns = {"launch": [*rungs, "cuBLAS"]}
    columns["modelled ms"] = [*(f"{time.ms:.3g}" for time in model), ""]
    columns["limited by"] = [*(time.limiter for time in model), ""]
    if table is not None:
        columns |= _speed("recorded", table.ms, flops)
        ratio = [f"{time.ms / ms:.2f}" for time, ms in zip(model, table.ms, strict=False)]
        columns["ratio"] = [*ratio, ""]
    if measure and backend.on_gpu():
        ms = [float(row["median_ms"]) for row in time_points([*chosen.points(n), *chosen.calls(n)])]
        columns |= _speed("measured", ms, flops)
    rows = list(zip(*columns.values(), strict=True))
    here = f"; measured on {device().name}" if measure and backend.on_gpu() else ""
    told = f"{n} x {n} floats; modelled for {DEFAULT}; ratio: modelled over recorded"
    return Table(list(columns), rows, {0, 2}, f"{told}; {caption(table, name)}{here}")


def _speed(title: str, ms: Any, flops: int) -> dict[str, list[str]]:
    """Milliseconds, TFLOP/s and percent of the last row, which is cuBLAS."""
    return {
        f"{title} ms": [f"{time:.4g}" for time in ms],
        f"TFLOP/s, {title}": [f"{flops / time / 1e9:.1f}" for time in ms],
        f"% of cuBLAS, {title}": [f"{100 * ms[-1] / time:.1f}" for time in ms],
    }


def share(name: str = "register_tiling_4096") -> float | None:
    """Percent of cuBLAS's speed that the last rung was recorded at, or None."""
    table = recording(name)
    return None if table is None else float(100 * table.ms[-1] / table.ms[-2])


def findings(counted: Counted, name: str = "register_tiling_4096") -> str:
    """What the recorded ladder says, in sentences."""
    table, n = recording(name), sweep(name).size
    if table is None:
        return not_recorded(name)
    ms = dict(zip(table["variant"].tolist(), table.ms.tolist(), strict=True))
    lines = [f"Recorded on the {DEFAULT}, n = {n}:"]
    for before, after in pairwise(list(ms)[:-1]):
        said = rung_time(counted[before], n).ms / rung_time(counted[after], n).ms
        gain = ms[before] / ms[after]
        lines.append(f"from {before} to {after}: {gain:.2f} times as fast (modelled {said:.2f})")
    lines.append(f"The last rung reaches {share(name):.0f} % of cuBLAS in the same run.")
    if n == 4096:
        ours, library = REPORTED
        lines.append(
            f"Reported elsewhere, not recorded: on an H200 the warp tiles of siboehm/SGEMM_CUDA reached "
            f"{ours} of cuBLAS's {library} TFLOP/s, {100 * ours / library:.0f} %."
        )
    least = rung_time(counted["double buffer"], n).terms["FP32"] * 1e3
    lines.append(
        f"The arithmetic alone would take {least:.2f} ms (modelled); cuBLAS takes {ms['cuBLAS']:.2f}."
    )
    return "\n".join(lines)


def order_words(counted: Counted, name: str = "register_tiling_4096", margin: float = 0.1) -> str:
    """Whether the model puts the rungs in the recorded order, and how far off it is."""
    table = recording(name)
    if table is None:
        return not_recorded(name)
    rungs = [rung for rung in table["variant"].tolist() if rung in counted]
    said = {rung: rung_time(counted[rung], sweep(name).size).ms for rung in rungs}
    was = dict(zip(table["variant"].tolist(), table.ms.tolist(), strict=True))
    wrong = [
        f"{fast} before {slow}"
        for fast in rungs
        for slow in rungs
        if was[fast] * (1 + margin) < was[slow] and said[fast] > said[slow]
    ]
    ratios = np.array([said[rung] / was[rung] for rung in rungs])
    verdict = "in the recorded order" if not wrong else f"not in the recorded order: {', '.join(wrong)}"
    return (
        f"modelled / recorded: {ratios.min():.2f} to {ratios.max():.2f}; the model puts the rungs {verdict}."
    )
