"""Chapter 03, bank conflicts: what its tables, pictures, sliders and time charts need."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from .. import backend
from ..agreement import modelled_sweep
from ..emulator import RawKernel
from ..evidence import (
    agreement,
    as_columns,
    every_gpu,
    measured_words,
    one_by_one,
    points_series,
    recording,
    time_points,
    verdict,
)
from ..gpus import DEFAULT, Gpu
from ..kernels import OPTIONS
from ..metric_names import (
    FEWEST_WAVEFRONTS,
    LD_WAVEFRONTS,
    SHARED_LOADS,
    SHARED_STORES,
    ST_WAVEFRONTS,
    STATIC_BYTES,
)
from ..model import modelled_time
from ..pictures import Series, warp_to_banks
from ..pictures import sweep as draw_sweep
from ..profile import as_emulated, profile
from ..report import Table
from ..sweeps import sweep
from .bank_conflict import LANES, excess

# the rows of this chapter's tables: label -> metric
LOADS = {
    "shared load wavefronts": LD_WAVEFRONTS,
    "worst bank conflict (n-way)": "course__shared_ways.max",
    "shared load wavefronts in excess": "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
}
SHARED = {
    "shared store requests": SHARED_STORES,
    "shared store wavefronts": ST_WAVEFRONTS,
    "shared load requests": SHARED_LOADS,
    "shared load wavefronts": LOADS["shared load wavefronts"],
    "worst bank conflict (n-way)": LOADS["worst bank conflict (n-way)"],
    "shared wavefronts needed at least": FEWEST_WAVEFRONTS,
    "shared wavefronts in excess": excess,
}


def memory_instructions(kernel: Any) -> str:
    """The PTX lines of a kernel that load or store, parameters apart; takes CuPy's RawKernel too."""
    lines = (line.strip().replace("\t", " ") for line in as_emulated(kernel).ptx.splitlines())
    return "\n".join(line for line in lines if line.startswith(("ld.", "st.")) and ".param." not in line)


# -- sliders -----------------------------------------------------------------------


def offset_view(kernel: Any) -> Callable[[int], tuple[Figure, str]]:
    """The function behind the OFFSET slider, for a `kernel(a, n, offset)` like the demo of the notes.

    It runs 16 blocks of 1,024 threads and draws the access of the first warp.
    """

    def show_offset(offset: int = 32) -> tuple[Figure, str]:
        a = np.arange(16384, dtype=np.int32)
        p = profile(kernel, (16,), (1024,), (a, np.int32(a.size), np.int32(offset)))
        lines = [_sides(p), f"{len(p.hazards)} hazards" if p.hazards else "no hazard"]
        lines += [f"  {hazard.kind}, line {hazard.line}: {hazard.message}" for hazard in p.hazards]
        figure = warp_to_banks(4 * (LANES * offset % 1024), title=f"OFFSET {offset}, counted")
        return figure, f"OFFSET {offset}, counted over 512 warps: " + "\n".join(lines)

    return show_offset


def padding_view(kernel: Any) -> Callable[[int], tuple[Figure, str]]:
    """The function behind the padding slider, for a tiled transpose that is compiled with ``-DPAD=...``.

    It transposes 64 x 64 floats and draws how the first warp reads the first column of its tile.
    """

    def show_padding(padding: int = 1) -> tuple[Figure, str]:
        compiled = RawKernel(kernel.code, kernel.name, options=(*OPTIONS, f"-DPAD={padding}"))
        given = np.arange(64 * 64, dtype=np.float32).reshape(64, 64)
        p = profile(compiled, (2, 2), (32, 8), (np.zeros_like(given), given, np.int32(64)))
        row = 32 + padding
        figure = warp_to_banks(4 * row * LANES, title=f"tile[32][{row}], counted")
        bytes_ = f"{p[STATIC_BYTES]:,} bytes of shared memory per block"
        return figure, f"tile[32][{row}], counted over 4 tiles: {_sides(p)}, {bytes_}"

    return show_padding


def _sides(p: Any) -> str:
    """What stores and loads cost, in a sentence."""
    waves = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{}.sum"
    sides = ((SHARED_STORES, "st", "stores"), (SHARED_LOADS, "ld", "loads"))
    return ", ".join(f"{p[n]:,} {what} take {p[waves.format(op)]:,} wavefronts" for n, op, what in sides)


# -- times -------------------------------------------------------------------------


def transpose_by_gpu() -> Table:
    """For every GPU of the table and this machine's: does padding the tile move the modelled time?"""
    rows = [_padding_row(gpu, label) for gpu, label in every_gpu()]
    size = sweep("bank_transpose").size
    header = ["GPU", "tiled ms", "limited by", "padded ms", "limited by", "should the time move?"]
    return Table(header, rows, {0, 2, 4, 5}, f"modelled, {size} x {size} floats")


def _padding_row(gpu: Gpu, label: str) -> list[str]:
    chosen = sweep("bank_transpose")
    timed = zip(chosen.points(chosen.size), modelled_sweep("bank_transpose", gpu), strict=True)
    times = {point.columns["variant"]: time for point, time in timed if point.columns["size"] == chosen.size}
    tiled, padded = times["tiled"], times["padded"]
    each = (f"{tiled.ms:.3f}", tiled.limiter, f"{padded.ms:.3f}", padded.limiter)
    return [label, *each, verdict(tiled.ms / padded.ms)]


def waits(counted: Mapping[str, Any]) -> str:
    """For each launch its modelled time, what it waits for, and what the shared wavefronts alone take."""
    lines = []
    for name, p in counted.items():
        time = modelled_time(p)
        shared = 1e3 * time.terms["shared wavefronts"]
        lines.append(
            f"{name}: {time.ms:.3f} ms, limited by {time.limiter}; shared wavefronts {shared:.3f} ms"
        )
    return f"modelled, {DEFAULT}\n" + "\n".join(lines)


def offset_times() -> Figure:
    """Time of 1,024 loads per thread over OFFSET: modelled, recorded and, with a GPU here, measured."""
    chosen = sweep("bank_offset")
    timed = zip(chosen.points(chosen.size), modelled_sweep("bank_offset"), strict=True)
    loads = [(point, time.ms) for point, time in timed if point.columns["access"] == "load"]
    offsets, modelled = [point.columns["offset"] for point, _ in loads], [ms for _, ms in loads]
    series = [Series("modelled", offsets, modelled, where=DEFAULT)]
    title = "1,024 shared loads by each of 2,048 threads per SM"
    table = recording("bank_offset")
    if table is not None:
        rows = table.where(access="load")
        ratio = np.array(modelled) / rows.ms
        title += f" (modelled / recorded: {ratio.min():.2f} to {ratio.max():.2f})"
        series.append(points_series("recorded", rows, "offset", where=DEFAULT))
    if backend.on_gpu():
        now = as_columns(time_points(point for point, _ in loads))
        series.append(points_series("measured", now, "offset"))
    return one_by_one(draw_sweep(*series, xlabel="OFFSET", ylabel="time (ms)", title=title))


def offset_chart(offsets: Sequence[int], ways: Sequence[float]) -> Figure:
    """Counted wavefronts per access, a stem for each OFFSET."""
    series = Series("counted", offsets, ways)
    return one_by_one(draw_sweep(series, xlabel="OFFSET", ylabel="wavefronts per access"))


def transpose_findings() -> str:
    """What padding did to the tiled transpose, recorded and modelled, and how far the model is off."""
    chosen, table = sweep("bank_transpose"), recording("bank_transpose")
    if table is None:
        return agreement("bank_transpose")
    at = [point.columns for point in chosen.points(chosen.size)]
    tiled, padded = (at.index({"variant": name, "size": chosen.size}) for name in ("tiled", "padded"))
    before, after = (float(table.ms[i]) for i in (tiled, padded))
    model = modelled_sweep("bank_transpose")
    return (
        f"{chosen.size} x {chosen.size} floats, recorded on the {DEFAULT}: tiled {before:.3f} ms, padded "
        f"{after:.3f} ms, {before / after:.1f} times faster; modelled "
        f"{model[tiled].ms / model[padded].ms:.1f} times.\n{agreement('bank_transpose')}"
    )


def measured_transposes() -> str:
    """The recorded transposes, timed on this machine's GPU; a sentence where there is none."""
    return measured_words(sweep("bank_transpose").points(sweep("bank_transpose").size))
