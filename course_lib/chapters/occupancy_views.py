"""Chapter 06, occupancy: what its tables, sliders and time charts need."""

import re
from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from .. import backend, standin
from ..agreement import counted_sweep, modelled_sweep
from ..evidence import (
    NOT_YET,
    WORTH,
    as_columns,
    caption,
    every_gpu,
    measured_heading,
    not_recorded,
    points_series,
    recording,
    time_points,
    verdict,
)
from ..gpus import DEFAULT, Gpu
from ..gpus import gpu as find_gpu
from ..metric_names import (
    BLOCK_THREADS,
    BLOCKS,
    FFMA,
    LD_REQUESTS,
    LD_SECTORS,
    REGISTERS,
    ROUNDS,
    SHARED_LOADS,
    STATIC_BYTES,
    WAVEFRONTS,
)
from ..model import ModelledTime, modelled_time
from ..occupancy import Occupancy, occupancy
from ..pictures import Series, bars
from ..pictures import sweep as draw_sweep
from ..points import Point
from ..profile import as_emulated
from ..report import Table
from ..sweeps import sweep
from .occupancy import resident, rounds_per_warp
from .occupancy_picture import sm_picture
from .occupancy_sweeps import COUNT

SPILLED = re.compile(r"\b(STL|LDL)\b")  # machine instructions that store to and load from local memory

# the rows of this chapter's tables: label -> metric
PRODUCT = {
    "float multiply-adds": FFMA,
    "shared load requests": SHARED_LOADS,
    "multiply-adds of a thread per shared load": lambda p: p[FFMA] / 32 / p[SHARED_LOADS],
    "shared wavefronts": WAVEFRONTS,
    "sectors loaded": LD_SECTORS,
}
BUILT = {
    "registers per thread": REGISTERS,
    "shared bytes per block": STATIC_BYTES,
    "resident warps of 64, H200": lambda p: resident(p).warps,
    "occupancy, %": lambda p: 100 * resident(p).fraction,
}
LOADS = {
    "warps": lambda p: p[BLOCKS] * -(-p[BLOCK_THREADS] // 32),
    "global load requests": LD_REQUESTS,
    "rounds of loads": ROUNDS,
    "rounds in each warp": rounds_per_warp,
}


# -- sliders -----------------------------------------------------------------------


def fill_sm(threads: int = 128, registers: int = 160, shared_kb: int = 0) -> tuple[Figure, Occupancy]:
    """The function behind the sliders: an H200's SM filled with blocks, and the four limits."""
    found = occupancy(threads, registers, shared_kb << 10)
    return sm_picture(threads, registers, shared_kb << 10), found


def needed_kb() -> float:
    """KB in flight on every SM of an H200 that keep DRAM busy: its rate times its latency (Little's law)."""
    found = find_gpu(DEFAULT)
    rates = found.measured
    assert rates is not None
    return (rates.dram_read_gb_per_s or 0) * 1e3 * (rates.dram_latency_us or 0) / found.sms / 1024


def in_flight(warps: int = 64, loads: int = 1) -> tuple[Figure, str]:
    """The function behind the sliders: KB in flight on an SM of an H200, if each warp has `loads` loads."""
    kb, needed = warps * loads * 128 / 1024, needed_kb()
    title = f"{warps} warps, {loads} load{'s' * (loads != 1)} of 128 bytes each"
    kilobytes = {"in flight": kb, "needed": needed}
    figure = bars(kilobytes, ylabel="KB on an SM", title=title, evidence="modelled")
    figure.axes[0].set_ylim(0, 1.1 * 64)
    share = min(1.0, kb / needed)
    words = f"{kb:.3g} KB of {needed:.3g} KB, {share:.0%} of the DRAM rate (modelled)"
    return figure, f"{title}: {words}"


# -- what the compiler made --------------------------------------------------------


def built(kernels: Mapping[str, Any], threads: int) -> Table:
    """Registers, spills and occupancy of kernels that are launched in blocks of `threads` threads."""
    rows = []
    for name, kernel in kernels.items():
        emulated = as_emulated(kernel)
        found = occupancy(threads, emulated.num_regs, emulated.shared_size_bytes)
        spilled = sum(bool(SPILLED.search(line)) for line in emulated.sass.splitlines())
        facts = (emulated.num_regs, emulated.local_size_bytes, spilled, found.warps, f"{found.fraction:.1%}")
        rows.append([name, *facts])
    header = ["built", "registers", "local bytes", "local loads and stores", "warps of 64", "occupancy"]
    return Table(header, rows, {0}, "counted in the machine code for an H200; bytes per thread")


# -- times -------------------------------------------------------------------------


def coarse_by_gpu() -> Table:
    """For every GPU of the table and this machine's: do 64 elements a thread pay, at lower occupancy?"""
    rows = [_coarse_row(gpu, label) for gpu, label in every_gpu()]
    each = ["occupancy", "ms", "limited by"]
    header = ["GPU", *(f"1: {what}" for what in each), *(f"64: {what}" for what in each), "should it move?"]
    told = "modelled, 4096 x 4096 floats, 1 or 64 elements a thread, registers as built for an H200"
    return Table(header, rows, {0, 3, 6, 7}, told)


def _coarse_row(gpu: Gpu, label: str) -> list[str]:
    cells, ms, every = [], [], counted_sweep("occupancy_coarse")
    for counts in (every[0], every[-1]):  # 1 and 64 elements a thread
        time = modelled_time(counts, gpu)
        cells += [f"{resident(counts, gpu).fraction:.0%}", f"{time.ms:.3g}", time.limiter]
        ms.append(time.ms)
    return [label, *cells, verdict(ms[0] / ms[1])]


def _occupancy(point: Point, gpu: str = DEFAULT) -> Occupancy:
    """What an SM holds of a launch without dynamic shared memory."""
    kernel = point.kernel.compile(standin)
    return occupancy(prod(point.block), kernel.num_regs, kernel.shared_size_bytes, gpu)


def coarse_times() -> Table:
    """The products with 1 to 64 elements a thread: occupancy, and time as modelled, recorded and measured."""
    points = sweep("occupancy_coarse").points(sweep("occupancy_coarse").size)
    columns: dict[str, Sequence] = {
        "elements a thread": [point.columns["per"] ** 2 for point in points],
        "resident warps": [_occupancy(point).warps for point in points],
    }
    return _times("occupancy_coarse", points, columns, modelled_sweep("occupancy_coarse"))


def spill_times() -> Table:
    """64 elements a thread, with registers for 1 to 8 blocks on an SM: recorded, never modelled."""
    points = sweep("occupancy_spills").points(sweep("occupancy_spills").size)
    columns: dict[str, Sequence] = {
        "blocks asked for": [point.columns["blocks"] for point in points],
        "resident warps": [_occupancy(point).warps for point in points],
    }
    return _times("occupancy_spills", points, columns)


def spill_verdict() -> str:
    """Whether any of the recorded kernels with fewer registers beats the one with as many as it wants."""
    table = recording("occupancy_spills")
    if table is None:
        return not_recorded("occupancy_spills")
    rows = list(table.rows())
    free, best = rows[0], min(rows, key=lambda row: row["median_ms"])
    gain = free["median_ms"] / best["median_ms"]
    won = (
        "no cap pays"
        if best is free
        else f"with {best['blocks']} blocks it is {gain:.3g} times as fast as with 1"
    )
    lost = [
        f"with {row['blocks']} it takes {row['median_ms'] / free['median_ms']:.2g} times as long"
        for row in rows
        if row["median_ms"] > WORTH * free["median_ms"]
    ]
    return f"recorded on {table.gpu}: {'; '.join((won, *lost))}"


def _times(
    name: str, points: Sequence[Point], columns: dict[str, Sequence], modelled: Sequence[ModelledTime] = ()
) -> Table:
    """A row per launch: what varies, then its times."""
    table = recording(name)
    if modelled:
        columns[f"modelled ms, {DEFAULT}"] = [f"{time.ms:.3g}" for time in modelled]
        columns["limited by"] = [time.limiter for time in modelled]
    if table:
        columns[f"recorded ms, {DEFAULT}"] = [f"{ms:.4g}" for ms in table.ms]
        if modelled:
            ratios = [time.ms / ms for time, ms in zip(modelled, table.ms, strict=True)]
            columns["modelled / recorded"] = [f"{ratio:.2f}" for ratio in ratios]
        columns["recorded TFLOP/s"] = [f"{rate:.3g}" for rate in table["flops"] / table.ms / 1e9]
    if backend.on_gpu():
        columns[measured_heading()] = [f"{row['median_ms']:.4g}" for row in time_points(points)]
    rows = list(zip(*columns.values(), strict=True))
    words = {i for i, key in enumerate(columns) if key == "limited by"}
    return Table(list(columns), rows, words, caption(table, name))


def load_times() -> Figure:
    """Time over resident warps, a curve for each number of loads in flight in a warp."""
    chosen, table = sweep("occupancy_loads"), recording("occupancy_loads")
    points = chosen.points(chosen.size)
    modelled = modelled_sweep(chosen.name)
    series = []
    for loads in dict.fromkeys(point.columns["loads"] for point in points):
        label = f"{loads} load{'s' * (loads != 1)}"
        rows = [i for i, point in enumerate(points) if point.columns["loads"] == loads]
        warps = [points[i].columns["warps"] for i in rows]
        series.append(Series("modelled", warps, [modelled[i].ms for i in rows], label, DEFAULT))
        if table is not None:
            part = table.where(loads=loads)
            series.append(points_series("recorded", part, "warps", label, DEFAULT))
        if backend.on_gpu():
            now = as_columns(time_points(points[i] for i in rows))
            series.append(points_series("measured", now, "warps", label))
    title = "1 GB added up, 64 floats a thread"
    if table is None:
        title += f" ({NOT_YET})"
    else:
        ratio = np.array([time.ms for time in modelled]) / table.ms
        title += f" (modelled / recorded: {ratio.min():.2f} to {ratio.max():.2f})"
    figure = draw_sweep(*series, xlabel="resident warps per SM", ylabel="time (ms)", title=title, log="xy")
    figure.axes[0].set_ylim(top=16)  # room for the legend
    figure.axes[0].legend(frameon=False, fontsize=8, ncol=4, columnspacing=1.2, loc="upper right")
    return figure


def load_rates() -> Table:
    """What Little's law makes of the recorded loads: KB in flight on an SM, the rate, the time of a round."""
    chosen, table = sweep("occupancy_loads"), recording("occupancy_loads")
    header = ["warps", "loads each", "KB in flight", "GB/s", "µs a round", "share of the best rate"]
    if table is None:
        return Table(header, [], set(), not_recorded("occupancy_loads"))
    found, rows = find_gpu(DEFAULT), []
    launch = (found.measured.launch_us or 0) if found.measured else 0
    best = table.bandwidth.max()
    for point, ms, rate in zip(chosen.points(chosen.size), table.ms, table.bandwidth, strict=True):
        warps, loads = int(point.columns["warps"]), int(point.columns["loads"])
        if warps not in (8, 32, 64):
            continue
        waves = prod(point.grid) / found.sms / (warps / 2)
        each = (1e3 * ms - launch) / waves / (COUNT / loads)
        facts = (
            warps,
            loads,
            f"{warps * loads / 8:.0f}",
            f"{rate:,.0f}",
            f"{each:.2f}",
            f"{rate / best:.0%}",
        )
        rows.append(facts)
    return Table(header, rows, set(), f"recorded on {table.gpu}, 8 to 64 warps on an SM")


def faster_at_lower_occupancy() -> str:
    """The fewest warps that were recorded to beat 64 warps with one load each, in a sentence."""
    table = recording("occupancy_loads")
    if table is None:
        return not_recorded("occupancy_loads")
    full = table.where(loads=1, warps=64).ms[0]
    faster = [row for row in table.rows() if row["median_ms"] < full and row["warps"] < 64]
    if not faster:
        return f"recorded on {table.gpu}: nothing beats 64 warps with one load each"
    best = min(faster, key=lambda row: (row["warps"], row["median_ms"]))
    return (
        f"recorded on {table.gpu}: 64 warps with 1 load each take {full:.3g} ms, {best['warps']} warps with "
        f"{best['loads']} loads each {best['median_ms']:.3g} ms, at {best['warps'] / 64:.1%} occupancy"
    )
