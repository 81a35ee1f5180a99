"""Chapter 13, reading kernels: registers, spills, and the time they cost."""

from collections.abc import Mapping
from functools import cache

import numpy as np
from matplotlib.figure import Figure

from .. import backend, standin
from ..evidence import caption, measured_heading, points_series, recording
from ..gpus import DEFAULT
from ..listing import machine_lines
from ..model import ModelledTime, modelled_time, scaled
from ..occupancy import occupancy
from ..pictures import Series
from ..pictures import sweep as draw_sweep
from ..pictures.style import VERMILION
from ..points import THREADS, floats
from ..profile import profile
from ..report import Table
from ..sweeps import sweep
from . import reading_ncu
from . import reading_sources as k
from .reading_picture import opcode, width
from .reading_sweeps import CAPS, ROWS
from .reading_views import measured_ms

BOUNDS = ((256, 1), (256, 4), (256, 6), (256, 8), (1024, 2))  # threads of a block, blocks an SM has room for


@cache
def spilled(cap: int) -> dict[str, int]:
    """What a cap on registers does to `variance`, counted in its machine code.

    `loads`, `stores`: instructions for local memory; `load_sectors`, `store_sectors`: for each warp. The
    program has no loop, so a warp executes each of them once.
    """
    kernel = k.variance(cap).compile(standin)
    texts = [line.text for line in machine_lines(kernel)]
    found = {"registers": kernel.num_regs, "bytes": kernel.local_size_bytes, "instructions": len(texts)}
    for what, name in (("load", "LDL"), ("store", "STL")):
        widths = [width(text) for text in texts if opcode(text) == name]
        found |= {f"{what}s": len(widths), f"{what}_sectors": sum(widths)}  # 32 lanes x bytes / 32
    return found


def spill_table() -> Table:
    """Registers, spills and occupancy of `variance` under each cap; beside it what `ncu` recorded."""
    by_ncu, rows = reading_ncu.launches(), []
    for cap in CAPS:
        found, there = spilled(cap), by_ncu[f"variance {min(cap, 56)}"]
        warps = there["launch__grid_size"] * there["launch__block_size"] / 32
        executed = there["smsp__inst_executed.sum"] / warps
        local = _local_sectors(there) / warps
        held = occupancy(THREADS, found["registers"], 0)
        counted = (found["instructions"], found["load_sectors"] + found["store_sectors"])
        cells = (
            cap,
            found["registers"],
            found["bytes"],
            f"{held.fraction:.1%}",
            counted[0],
            f"{executed:g}",
            counted[1],
        )
        rows.append([*cells, f"{local:g}"])
    header = [
        "cap", "registers", "local bytes", "occupancy", "instructions", "by ncu", "local sectors, each "
            "warp", "by ncu",
    ]  # fmt: skip
    told = "counted in the machine code for CC 9.0, blocks of 256 threads"
    return Table(header, rows, set(), f"{told}; by ncu: {reading_ncu.provenance(reading_ncu.OWN)}")


def bounds_table() -> Table:
    """Registers and spills of `variance` under some `__launch_bounds__`, and the blocks that then fit."""
    rows = []
    for threads, blocks in BOUNDS:
        kernel = k.bounded(threads, blocks).compile(standin)
        held = occupancy(threads, kernel.num_regs, 0)
        rows.append(
            [
                f"__launch_bounds__({threads}, {blocks})",
                65536 // (threads * blocks),
                kernel.num_regs,
                kernel.local_size_bytes,
                held.blocks,
            ]
        )
    header = ["bounds", "65,536 registers / threads asked for", "registers", "local bytes", "blocks that fit"]
    return Table(header, rows, {0}, "counted in the machine code for CC 9.0")


def local_at_l2() -> dict[int, float]:
    """Cap -> the part of the local sectors that `ncu` found at L2: sectors more than without a cap."""
    by_ncu = reading_ncu.launches()
    without, found = by_ncu["variance 0"], {}
    for cap in CAPS:
        there = by_ncu[f"variance {min(cap, 56)}"]
        if local := _local_sectors(there):
            found[cap] = (there[_AT_L2] - without[_AT_L2]) / local
    return found


_AT_L2 = "lts__t_sectors.sum"


def _local_sectors(counters: Mapping[str, float]) -> float:
    return sum(counters[f"l1tex__t_sectors_pipe_lsu_mem_local_op_{way}.sum"] for way in ("ld", "st"))


def at_l2_words() -> str:
    """The least and the largest part of the local sectors that went on to L2, as recorded."""
    found = local_at_l2()
    low, high = min(found, key=found.get), max(found, key=found.get)
    return (
        f"of the local sectors {found[low]:.0%} (cap {low}) to {found[high]:.0%} (cap {high}) went on to L2; "
        f"by ncu, {reading_ncu.provenance(reading_ncu.OWN)}"
    )


def spill_time(cap: int, gpu: str = DEFAULT) -> ModelledTime:
    """Modelled time of `variance` at its recorded size, with the spills that the PTX does not show.

    Local sectors take the way of global ones, through L1 and on to L2. On an H200, `ncu` found most of them
    at L2 (`local_at_l2`), since the stream of x drives them out of L1; the model takes all.
    """
    size, found = sweep("reading_spills").size, spilled(cap)
    counts = scaled(_variance_counts(), size / _SMALL)
    warps = size / 32
    for what, name in (("ld", "load"), ("st", "store")):
        counts[f"l1tex__t_sectors_pipe_lsu_mem_global_op_{what}.sum"] += warps * found[f"{name}_sectors"]
        counts[f"l1tex__t_requests_pipe_lsu_mem_global_op_{what}.sum"] += warps * found[f"{name}s"]
    counts["launch__registers_per_thread"] = found["registers"]
    counts["smsp__inst_executed.sum"] += warps * (found["loads"] + found["stores"])
    sectors = warps * (found["load_sectors"] + found["store_sectors"])
    counts["course__l2_pairs_global.sum"] += sectors / 2
    return modelled_time(counts, gpu)


_SMALL = 1 << 13  # threads of the launch that is counted


@cache
def _variance_counts() -> Mapping[str, float]:
    args = (standin.zeros(_SMALL, np.float32), floats(standin, ROWS * _SMALL), np.int32(_SMALL))
    return profile(k.variance(0).compile(standin), (_SMALL // THREADS,), (THREADS,), args)


def spill_view(cap: int = 32) -> tuple[Figure, str]:
    """The function behind the slider: the program under a cap on registers, its spills, its modelled time."""
    found, time = spilled(cap), spill_time(cap)
    words = (
        f"{found['registers']} registers, {found['bytes']} bytes spilled, "
        f"{found['load_sectors'] + found['store_sectors']} local sectors a warp (counted); "
        f"{time.ms:.3g} ms for {sweep('reading_spills').size:,} threads, limited by {time.limiter} "
        f"(modelled, {DEFAULT})"
    )
    title = f"at most {cap} registers"
    return spill_picture(cap, title), f"{title}: {words}"


def spill_picture(chosen: int, title: str = "") -> Figure:
    """Modelled (and recorded) time over the registers a thread has; the chosen cap is marked."""
    registers = [spilled(cap)["registers"] for cap in CAPS]
    series = [Series("modelled", registers, [spill_time(cap).ms for cap in CAPS], where=DEFAULT)]
    table = recording("reading_spills")
    if table is not None:
        series.append(points_series("recorded", table, "registers", where=DEFAULT))
    figure = draw_sweep(*series, xlabel="registers per thread", ylabel="time (ms)", title=title)
    figure.axes[0].legend(frameon=False, fontsize=9, loc="upper right")
    here = spilled(chosen)["registers"]
    figure.axes[0].axvline(here, color=VERMILION, linewidth=1.2, linestyle=":")
    return figure


def spill_times() -> Table:
    """Every cap: modelled with the spills, recorded, measured."""
    chosen, table = sweep("reading_spills"), recording("reading_spills")
    header = ["cap", "registers", f"modelled ms, {DEFAULT}", "limited by"]
    header += [f"recorded ms, {DEFAULT}", "modelled / recorded"] * (table is not None)
    header += [measured_heading()] * backend.on_gpu()
    rows = []
    for i, point in enumerate(chosen.points(chosen.size)):
        cap = int(point.columns["cap"])
        time = spill_time(cap)
        cells: list[object] = [cap, spilled(cap)["registers"], f"{time.ms:.3g}", time.limiter]
        if table is not None:
            cells += [f"{table.ms[i]:.4g}", f"{time.ms / table.ms[i]:.2f}"]
        if backend.on_gpu():
            cells.append(f"{measured_ms(point):.4g}")
        rows.append(cells)
    told = f"variance of {ROWS} values, {chosen.size:,} {chosen.what}; {caption(table, 'reading_spills')}"
    return Table(header, rows, {3}, told)
