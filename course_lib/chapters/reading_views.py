"""Chapter 13, reading kernels: what its tables, sliders and time charts need."""

import re
from collections.abc import Mapping
from typing import Any

from matplotlib.figure import Figure

from .. import backend, standin
from ..agreement import count_point, counted_point, modelled_sweep
from ..emulator import RawKernel
from ..evidence import caption, every_gpu, measured_heading, not_recorded, recording, time_points, verdict
from ..gpus import DEFAULT
from ..kernel_names import explain
from ..listing import machine_lines, ptx_lines
from ..metric_names import LD_REQUESTS, LD_SECTORS, LOCAL, REGISTERS, ROUNDS, ST_REQUESTS, ST_SECTORS
from ..model import ModelledTime, modelled_time, scaled
from ..profile import as_emulated
from ..report import Cell, Table
from ..sweeps import sweep
from . import reading_ncu
from . import reading_sources as k
from .reading_kernels import per_warp
from .reading_picture import kind, opcode, order_picture, width

# the rows of this chapter's tables: label -> metric
MEMORY = {
    "load requests of each warp": per_warp(LD_REQUESTS),
    "sectors loaded": LD_SECTORS,
    "store requests of each warp": per_warp(ST_REQUESTS),
    "sectors stored": ST_SECTORS,
    "rounds of loads, each warp": per_warp(ROUNDS),
}
BUILT = {"registers per thread": REGISTERS, "local bytes per thread": LOCAL}


def instructions(kernels: Mapping[str, Any]) -> Table:
    """What kernels consist of: PTX and machine instructions, loads and stores by width, registers."""
    rows = []
    for name, kernel in kernels.items():
        sass = [line.text for line in machine_lines(kernel)]
        made = as_emulated(kernel)
        facts = [len(ptx_lines(kernel)), len(sass), _widths(sass, "LDG"), _widths(sass, "STG"), made.num_regs]
        rows.append([name, *facts])
    header = ["kernel", "PTX", "SASS", "loads x bytes", "stores x bytes", "registers"]
    return Table(header, rows, {0, 3, 4}, "instructions in the program, counted; SASS for CC 9.0")


def _widths(sass: list[str], name: str) -> str:
    """`8 x 4`, or `2 x 16`: how many loads or stores there are, and the bytes a thread moves with each."""
    found = [width(text) for text in sass if opcode(text) == name]
    return ", ".join(f"{found.count(size)} x {size}" for size in dict.fromkeys(found))


# -- elements per thread -----------------------------------------------------------


def each_view(per: int = 8, form: str = "may overlap") -> tuple[Figure, str] | str:
    """The function behind the slider: the program of a thread that doubles `per` floats, in one form."""
    try:
        kernel = k.each(form, per).compile(standin)
    except ValueError as impossible:
        return f"{impossible}."
    sass = [line.text for line in machine_lines(kernel)]
    title = f"{per} element{'s' * (per != 1)} a thread, {form}"
    words = (
        f"{len(sass)} machine instructions, {len(sass) / per:.3g} for each element, {kernel.num_regs} "
        f"registers; loads {_widths(sass, 'LDG')}, stores {_widths(sass, 'STG')} bytes (counted)"
    )
    return order_picture({form: kernel}, title), f"{title}: {words}"


def each_times() -> Table:
    """Milliseconds of every form and number of elements: modelled, recorded, measured; L2 sectors."""
    header = ["form", "elements a thread", f"modelled ms, {DEFAULT}", "limited by", f"recorded ms, {DEFAULT}"]
    header += ["modelled / recorded", "recorded GB/s", "sectors at L2, x the fewest (ncu)"]
    header += [measured_heading()] * backend.on_gpu()
    rows, captions = [], []
    for name in ("reading_overlap", "reading_each"):
        chosen, table = sweep(name), recording(name)
        captions.append(f"{name}: {table.caption}" if table is not None else not_recorded(name))
        small = sweep("reading_each").small
        for i, (point, little) in enumerate(
            zip(chosen.points(chosen.size), chosen.points(small), strict=True)
        ):
            time = _modelled_each(little, chosen.size / small)
            ms = table.ms[i] if table is not None else None
            known = (f"{ms:.4g}", f"{time.ms / ms:.2f}", f"{table.bandwidth[i]:,.0f}") if ms else ("", "", "")
            cells = (*point.columns.values(), f"{time.ms:.3g}", time.limiter, *known, _l2_share(point))
            here = [f"{measured_ms(point):.4g}"] if backend.on_gpu() else []
            rows.append([*cells, *here])
    return Table(header, rows, {0, 3}, f"{chosen.size:,} {chosen.what} doubled; {'; '.join(captions)}")


def _modelled_each(point: Any, ratio: float) -> ModelledTime:
    return modelled_time(scaled(count_point(point), ratio))


def _l2_share(point: Any) -> str:
    """Sectors at L2, over those of `strided` with 4 elements: recorded by ncu with 1,048,576 floats."""
    found = reading_ncu.launches()
    here = found.get(f"each {point.columns['form']} {point.columns['per']}")
    fewest = found["each strided 4"]["lts__t_sectors.sum"]
    return f"{here['lts__t_sectors.sum'] / fewest:.1f}" if here else ""


def each_by_gpu() -> dict[str, float]:
    """For every GPU of the table and this machine's: how many times faster two float4 are than eight words.

    Modelled.
    """
    chosen = sweep("reading_each")
    words, wide = (
        counted_point(chosen, point)
        for point in chosen.points(chosen.small)
        if point.columns["per"] == 8 and point.columns["form"] in ("__restrict__", "float4")
    )
    return {label: modelled_time(words, gpu).ms / modelled_time(wide, gpu).ms for gpu, label in every_gpu()}


def odd_rows() -> str:
    """How much longer a product of halves takes with 1793 rows and columns than with 1792, recorded."""
    table = recording("waves_gemm")
    if table is None:
        return not_recorded("waves_gemm")
    odd, even = (table.where(variant="packed", size=size) for size in (1793, 1792))
    ratio = odd.ms[0] / even.ms[0]
    return f"recorded, {table.gpu}: 1793 x 1793 takes {ratio:.1f} times as long as 1792 x 1792"


def each_verdict() -> str:
    """On which GPUs two float4 should be faster than eight words, modelled; how much it was, recorded."""
    gains = each_by_gpu()
    said = {name: verdict(gain, "{:.1f} times faster") for name, gain in gains.items()}
    moved = [f"{name} ({word.removeprefix('yes, ')})" for name, word in said.items() if word != "no"]
    same = [name for name, word in said.items() if word == "no"]
    lines = ["8 words or 2 float4, should it move?", f"modelled: yes on {', '.join(moved) or 'none'};"]
    lines.append(f"          no on {', '.join(same) or 'none'}")
    table = recording("reading_each")
    if table is not None:
        words, wide = (table.where(form=form, per=8).ms[0] for form in ("__restrict__", "float4"))
        lines.append(f"recorded: {words / wide:.1f} times faster on {table.gpu}")
    return "\n".join(lines)


# -- GeLU, and where PTX and SASS differ -------------------------------------------


def gelu_times() -> Table:
    """GeLU with tanh as an expansion and as an instruction: modelled, recorded, measured."""
    table, points = recording("reading_gelu"), sweep("reading_gelu").points(sweep("reading_gelu").size)
    header = ["tanh", f"modelled ms, {DEFAULT}", "limited by"]
    header += [f"recorded ms, {DEFAULT}"] * (table is not None) + [measured_heading()] * backend.on_gpu()
    rows = []
    for i, (point, time) in enumerate(zip(points, modelled_sweep("reading_gelu"), strict=True)):
        cells: list[object] = [point.columns["tanh"], f"{time.ms:.3g}", time.limiter]
        cells += [f"{table.ms[i]:.4g}"] if table is not None else []
        cells += [f"{measured_ms(point):.4g}"] if backend.on_gpu() else []
        rows.append(cells)
    return Table(header, rows, {0, 2}, caption(table, "reading_gelu"))


def gelu_words() -> str:
    """What the instruction saves of the time of the expansion: modelled, and recorded."""
    slow, fast = modelled_sweep("reading_gelu")
    lines = [f"modelled, {DEFAULT}: {slow.ms / fast.ms:.2f} times faster; {fast.limiter} is the limit"]
    table = recording("reading_gelu")
    if table is not None:
        lines.append(f"recorded, {table.gpu}: {table.ms[0] / table.ms[1]:.2f} times faster")
    return "\n".join(lines)


def said(name: str, pattern: str) -> float:
    """The number that a group of ``pattern`` finds in what `explain` says of a kernel's name.

    Raises ValueError if no part says so.
    """
    for part in explain(name).parts:
        if match := re.search(pattern, part.meaning):
            return float(match[1])
    raise ValueError(f"nothing in {name} says {pattern!r}")


def opcodes(kernel: Any, *wanted: str) -> dict[str, int]:
    """How often machine instructions stand in a program, such as `{"FFMA": 3, "BRA": 0}`."""
    names_ = [opcode(line.text) for line in machine_lines(kernel)]
    return {name: names_.count(name) for name in wanted}


def kinds(kernel: Any) -> dict[str, int]:
    """How many machine instructions there are of each kind."""
    found = [kind(line.text) for line in machine_lines(kernel)]
    return {name: found.count(name) for name in dict.fromkeys(found)}


def measured_ms(point: Any) -> float:
    """Median milliseconds of one launch of a sweep on this machine."""
    return float(time_points([point])[0]["median_ms"])


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
    """Each statement in a kernel of its own: how often two instructions stand in its PTX and SASS.

    ``statements``: C++ -> (start of a PTX opcode, SASS opcode). They see `t`, the thread; `y` and `x`, floats
    in global memory; `s`, floats in shared memory; and the numbers `a` and `b`.
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
        rows.append([Cell(body, code=True), *cells])
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
