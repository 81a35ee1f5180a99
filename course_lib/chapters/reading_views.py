"""Chapter 13, reading kernels: what its tables, sliders and time charts need."""

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from .. import backend, standin
from ..agreement import modelled_sweep
from ..emulator import RawKernel
from ..evidence import recording
from ..gpus import DEFAULT, names
from ..gpus import gpu as find_gpu
from ..listing import machine_lines, ptx_lines
from ..model import ModelledTime, modelled_time, scaled
from ..occupancy import occupancy
from ..pictures import Series
from ..pictures import sweep as draw_sweep
from ..profile import as_emulated, profile
from ..report import Cell, Table
from ..sweeps import THREADS, sweep
from ..timing import benchmark
from . import reading_sources as k
from .reading_kernels import LOADS, LOCAL, STORES, per_warp
from .reading_picture import kind, opcode, order_picture, width
from .reading_sweeps import CAPS, ROWS

# the rows of this chapter's tables: label -> metric
MEMORY = {
    "load requests of each warp": per_warp(LOADS),
    "sectors loaded": "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "store requests of each warp": per_warp(STORES),
    "sectors stored": "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
    "rounds of loads, each warp": per_warp("course__load_rounds.sum"),
}
BUILT = {"registers per thread": "launch__registers_per_thread", "local bytes per thread": LOCAL}


def instructions(kernels: Mapping[str, Any]) -> Table:
    """What kernels consist of: PTX and machine instructions, loads and stores by width, registers."""
    rows = []
    for name, kernel in kernels.items():
        sass = [line.text for line in machine_lines(kernel)]
        made = as_emulated(kernel)
        facts = [len(ptx_lines(kernel)), len(sass), _widths(sass, "LDG"), _widths(sass, "STG"), made.num_regs]
        rows.append([Cell(text) for text in (name, *facts)])
    header = ["kernel", "PTX", "SASS", "loads x bytes", "stores x bytes", "registers"]
    return Table(header, rows, {0, 3, 4}, "instructions in the program, counted; SASS for CC 9.0")


def _widths(sass: list[str], name: str) -> str:
    """`8 x 4`, or `2 x 16`: how many loads or stores there are, and how many bytes a thread moves with each."""
    found = [width(text) for text in sass if opcode(text) == name]
    return ", ".join(f"{found.count(size)} x {size}" for size in dict.fromkeys(found))


# -- elements per thread -----------------------------------------------------------


def each_view(per: int = 8, form: str = "may overlap") -> tuple[Figure, str] | str:
    """The function behind the slider: the program of a thread that doubles `per` floats, in one of four forms."""
    try:
        kernel = k.each(form, per).compile(standin)
    except ValueError as impossible:
        return f"{impossible}."
    sass = [line.text for line in machine_lines(kernel)]
    title = f"{per} element{'s' * (per != 1)} a thread, {form}"
    words = (
        f"{len(sass)} machine instructions, {len(sass) / per:.3g} for each element, {kernel.num_regs} registers; "
        f"loads {_widths(sass, 'LDG')}, stores {_widths(sass, 'STG')} bytes (counted)"
    )
    return order_picture({form: kernel}, title), f"{title}: {words}"


def each_times() -> Table:
    """Milliseconds of every form and number of elements: modelled, recorded, measured."""
    chosen, table = sweep("reading_each"), recording("reading_each")
    points, modelled = chosen.points(chosen.size), modelled_sweep("reading_each")
    header = ["form", "elements a thread", "modelled ms, H200", "limited by"]
    header += ["recorded ms, H200", "modelled / recorded", "recorded GB/s"] * (table is not None)
    header += ["measured ms, here"] * _on_gpu()
    rows = []
    for i, (point, time) in enumerate(zip(points, modelled, strict=True)):
        cells: list[object] = [point.columns["form"], point.columns["per"], f"{time.ms:.3g}", time.limiter]
        if table is not None:
            ms = table.ms[i]
            cells += [f"{ms:.4g}", f"{time.ms / ms:.2f}", f"{table.bandwidth[i]:,.0f}"]
        if _on_gpu():
            cells.append(f"{_measured(point):.4g}")
        rows.append([Cell(text) for text in cells])
    caption = table.caption if table is not None else "reading_each: not recorded yet"
    return Table(header, rows, {0, 3}, f"{chosen.size:,} floats doubled; {caption}")


def each_by_gpu() -> dict[str, float]:
    """For every GPU of the table: how many times faster two float4 are than eight words, modelled."""
    chosen = sweep("reading_each")
    counts = [
        scaled(profile(point.kernel.compile(standin), point.grid, point.block, point.arguments(standin)), ratio)
        for ratio in (chosen.size / chosen.small,)
        for point in chosen.points(chosen.small)
        if point.columns["per"] == 8 and point.columns["form"] in ("__restrict__", "float4")
    ]
    return {name: modelled_time(counts[0], name).ms / modelled_time(counts[1], name).ms for name in names()}


def each_verdict() -> str:
    """On which GPUs the time should move from eight words to two float4, modelled, in a sentence."""
    gains = each_by_gpu()
    moved = [f"{name} ({gain:.1f} times faster)" for name, gain in gains.items() if gain > 1.05]
    same = [name for name, gain in gains.items() if gain <= 1.05]
    return (
        f"8 words or 2 float4, should it move? Modelled: yes on {', '.join(moved) or 'none'}; "
        f"no on {', '.join(same) or 'none'}."
    )


# -- registers and spills ----------------------------------------------------------


@cache
def spilled(cap: int) -> dict[str, int]:
    """What a cap on registers does to `variance`, counted in its machine code.

    `loads`, `stores`: instructions for local memory; `load_sectors`, `store_sectors`: for each warp. The program
    has no loop, so a warp executes each of them once.
    """
    kernel = k.variance(cap).compile(standin)
    texts = [line.text for line in machine_lines(kernel)]
    found = {"registers": kernel.num_regs, "bytes": kernel.local_size_bytes, "instructions": len(texts)}
    for what, name in (("load", "LDL"), ("store", "STL")):
        widths = [width(text) for text in texts if opcode(text) == name]
        found |= {f"{what}s": len(widths), f"{what}_sectors": sum(widths)}  # 32 lanes x bytes / 32
    return found


def spill_table() -> Table:
    """Registers, spills and occupancy of `variance` under each cap."""
    rows = []
    for cap in CAPS:
        found = spilled(cap)
        held = occupancy(THREADS, found["registers"], 0)
        cells = (
            cap, found["registers"], found["bytes"], found["instructions"],
            found["loads"] + found["stores"], found["load_sectors"] + found["store_sectors"], f"{held.fraction:.1%}",
        )  # fmt: skip
        rows.append([Cell(text) for text in cells])
    header = [
        "cap", "registers", "local bytes", "machine instructions", "of them local", "local sectors, each warp",
        "occupancy",
    ]  # fmt: skip
    return Table(header, rows, set(), "counted in the machine code for CC 9.0; blocks of 256 threads")


def spill_time(cap: int, gpu: str = DEFAULT) -> ModelledTime:
    """Modelled time of `variance` at its recorded size, with the spills that the PTX does not show.

    Local sectors take the way of global ones: through L1, and on to L2 as far as what the resident threads have
    spilled does not fit in L1 (taken to be as large as the SM's shared memory can be, since none is used).
    """
    size, found, chip = sweep("reading_spills").size, spilled(cap), find_gpu(gpu)
    counts = scaled(_variance_counts(), size / _SMALL)
    warps = size / 32
    for what, name in (("ld", "load"), ("st", "store")):
        counts[f"l1tex__t_sectors_pipe_lsu_mem_global_op_{what}.sum"] += warps * found[f"{name}_sectors"]
        counts[f"l1tex__t_requests_pipe_lsu_mem_global_op_{what}.sum"] += warps * found[f"{name}s"]
    counts["launch__registers_per_thread"] = found["registers"]
    counts["smsp__inst_executed.sum"] += warps * (found["loads"] + found["stores"])
    resident = occupancy(THREADS, found["registers"], 0, gpu).blocks * THREADS * found["bytes"]
    outside = max(0.0, 1 - chip.architecture.shared_per_sm_bytes / resident) if resident else 0.0
    sectors = warps * (found["load_sectors"] + found["store_sectors"])
    counts["course__l2_pairs_global.sum"] += outside * sectors / 2
    return modelled_time(counts, gpu)


_SMALL = 1 << 13  # threads of the launch that is counted


@cache
def _variance_counts() -> Mapping[str, float]:
    from ..sweeps import floats

    args = (standin.zeros(_SMALL, np.float32), floats(standin, ROWS * _SMALL), np.int32(_SMALL))
    return profile(k.variance(0).compile(standin), (_SMALL // THREADS,), (THREADS,), args)


def spill_view(cap: int = 32) -> tuple[Figure, str]:
    """The function behind the slider: the program under a cap on registers, its spills, its modelled time."""
    found, time = spilled(cap), spill_time(cap)
    words = (
        f"{found['registers']} registers, {found['bytes']} bytes spilled, "
        f"{found['load_sectors'] + found['store_sectors']} local sectors a warp (counted); "
        f"{time.ms:.3g} ms for 1,048,576 threads, limited by {time.limiter} (modelled, H200)"
    )
    title = f"at most {cap} registers"
    return spill_picture(cap, title), f"{title}: {words}"


def spill_picture(chosen: int, title: str = "") -> Figure:
    """Modelled (and recorded) time over the registers a thread has; the chosen cap is marked."""
    registers = [spilled(cap)["registers"] for cap in CAPS]
    series = [Series("modelled", registers, [spill_time(cap).ms for cap in CAPS], where=DEFAULT)]
    table = recording("reading_spills")
    if table is not None:
        ends = {"low": table["low_ms"], "high": table["high_ms"]}
        series.append(Series("recorded", table["registers"], table.ms, where=DEFAULT, **ends))
    figure = draw_sweep(*series, xlabel="registers per thread", ylabel="time (ms)", title=title)
    here = spilled(chosen)["registers"]
    figure.axes[0].axvline(here, color="#D55E00", linewidth=1.2, linestyle=":")
    return figure


def spill_times() -> Table:
    """Every cap: modelled with the spills, recorded, measured."""
    chosen, table = sweep("reading_spills"), recording("reading_spills")
    header = ["cap", "registers", "modelled ms, H200", "limited by"]
    header += ["recorded ms, H200", "modelled / recorded"] * (table is not None) + [
        "measured ms, here"
    ] * _on_gpu()
    rows = []
    for i, point in enumerate(chosen.points(chosen.size)):
        cap = int(point.columns["cap"])
        time = spill_time(cap)
        cells: list[object] = [cap, spilled(cap)["registers"], f"{time.ms:.3g}", time.limiter]
        if table is not None:
            cells += [f"{table.ms[i]:.4g}", f"{time.ms / table.ms[i]:.2f}"]
        if _on_gpu():
            cells.append(f"{_measured(point):.4g}")
        rows.append([Cell(text) for text in cells])
    caption = table.caption if table is not None else "reading_spills: not recorded yet"
    return Table(header, rows, {3}, f"variance of 48 values, {chosen.size:,} threads; {caption}")


# -- GeLU, and where PTX and SASS differ -------------------------------------------


def gelu_times() -> Table:
    """GeLU with tanh as an expansion and as an instruction: modelled, recorded, measured."""
    table, points = recording("reading_gelu"), sweep("reading_gelu").points(sweep("reading_gelu").size)
    header = ["tanh", "modelled ms, H200", "limited by"]
    header += ["recorded ms, H200"] * (table is not None) + ["measured ms, here"] * _on_gpu()
    rows = []
    for i, (point, time) in enumerate(zip(points, modelled_sweep("reading_gelu"), strict=True)):
        cells: list[object] = [point.columns["tanh"], f"{time.ms:.3g}", time.limiter]
        cells += [f"{table.ms[i]:.4g}"] if table is not None else []
        cells += [f"{_measured(point):.4g}"] if _on_gpu() else []
        rows.append([Cell(text) for text in cells])
    caption = table.caption if table is not None else "reading_gelu: not recorded yet"
    return Table(header, rows, {0, 2}, caption)


def opcodes(kernel: Any, *wanted: str) -> dict[str, int]:
    """How often machine instructions stand in a program, such as `{"FFMA": 3, "BRA": 0}`."""
    names_ = [opcode(line.text) for line in machine_lines(kernel)]
    return {name: names_.count(name) for name in wanted}


def kinds(kernel: Any) -> dict[str, int]:
    """How many machine instructions there are of each kind."""
    found = [kind(line.text) for line in machine_lines(kernel)]
    return {name: found.count(name) for name in dict.fromkeys(found)}


def _measured(point: Any) -> float:
    cp = backend.cp
    return benchmark(point.kernel.compile(cp), point.grid, point.block, point.arguments(cp)).ms


def _on_gpu() -> bool:
    return backend.BACKEND.name == "cupy"


STATEMENT = r"""
extern "C" __global__ void statement(float* y, const float* x, float a, float b) {
    __shared__ float s[512];
    int t = threadIdx.x;
    STORE
    BODY
}
"""
_FILL = "s[t] = x[t]; __syncthreads();"


def differences(statements: Mapping[str, tuple[str, str]]) -> Table:
    """Each statement in a kernel of its own: how often a PTX and a SASS instruction stand in the two programs.

    ``statements``: C++ -> (start of a PTX opcode, SASS opcode). They see `t`, the thread; `y` and `x`, floats in
    global memory; `s`, floats in shared memory; and the numbers `a` and `b`.
    """
    rows = []
    for body, (ptx_start, sass_name) in statements.items():
        fill = _FILL if "s[" in body else ""
        kernel = RawKernel(STATEMENT.replace("STORE", fill).replace("BODY", body), "statement")
        words = [_ptx_opcode(text) for _, _, text in ptx_lines(kernel)]
        sass = [line.text for line in machine_lines(kernel)]
        ptx = sum(word.startswith(ptx_start) for word in words)
        found = [text for text in sass if opcode(text) == sass_name]
        wide = f" of {max(map(width, found))} bytes" if found and width(found[0]) > 4 else ""
        guarded = sum(text.startswith("@") for text in sass)
        cells = (f"{ptx} {ptx_start}", f"{len(found)} {sass_name}{wide}", guarded, len(words), len(sass))
        rows.append([Cell(body, code=True), *map(Cell, cells)])
    header = ["statement", "in PTX", "in SASS", "SASS under a predicate", "PTX in all", "SASS in all"]
    return Table(header, rows, {0, 1, 2}, "instructions in the programs, counted")


def _ptx_opcode(text: str) -> str:
    """`$L1: @%p1 bra $L2;` -> bra."""
    words = text.rstrip(";").split()
    return next(word for word in words if not word.endswith(":") and not word.startswith("@"))


GELU_NOTES = {
    "0f3D372713": "0.044715 v",
    "0f3F4C422A": "times 0.79788456: this is u",
    "0f4038AA3B": "2 log2(e): the next line makes e^(2|u|) of it",
    "rcp.approx": "1 / (e^(2|u|) + 1)",
    "0fC0000000": "for tanh|u| = 1 - 2 / (e^(2|u|) + 1)",
    "0f41102CB4": "from there on tanh is 1 in 32 bits",
    "copysign": "tanh(-u) = -tanh(u)",
    "0f3C80F082": "for small u: u + u^3 * a polynomial in u^2",
    "0f3F19999A": "which of the two? below 0.6 the polynomial",
}

