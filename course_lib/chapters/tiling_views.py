"""Chapter 02, tiling: the functions behind its sliders, and its tables and charts of times."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from .. import backend
from ..agreement import counted_sweep, modelled_sweep
from ..emulator import RawKernel
from ..evidence import caption, every_gpu, measured_heading, not_recorded, recording, time_points, verdict
from ..gpus import DEFAULT, Gpu, gpu
from ..kernels import OPTIONS
from ..metric_names import BLOCK_THREADS, LD_SECTORS, STATIC_BYTES
from ..model import ModelledTime, fp32_flops, modelled_time
from ..pictures import Series
from ..pictures import sweep as draw_sweep
from ..pictures.style import INK
from ..points import Call, Point, floats
from ..profile import profile
from ..recorded import Table as Recorded
from ..report import CounterTable, Table
from ..roofline import RooflinePoint, roofline
from ..sweeps import sweep
from .tiling import LOADS, times_read
from .tiling_picture import tile_picture
from .tiling_sweeps import square_grid, work

SIZE, ODD = 64, 97  # rows of the matrices that the sliders multiply


def flops_per_byte(p: Any) -> float:
    """Operations per byte of all sectors that requests load."""
    return fp32_flops(p) / (32 * p[LD_SECTORS])


SLIDER = LOADS | {
    "times a byte is read": times_read,
    "FLOP per byte loaded": flops_per_byte,
    "threads per block": BLOCK_THREADS,
    "shared bytes per block": STATIC_BYTES,
}
PITCH = LOADS | {"times a byte is read": times_read}


def with_tile(kernel: Any, tile: int) -> RawKernel:
    """A kernel (CuPy's too) compiled for the emulator with ``-DTILE=...``."""
    return RawKernel(kernel.code, kernel.name, options=(*OPTIONS, f"-DTILE={tile}"))


# -- sliders -----------------------------------------------------------------------


def count_tiles(kernel: Any, tile: int, n: int = SIZE) -> Any:
    """The profile of a product of two n x n matrices by a tiled kernel (c, a, b, n)."""
    a = floats(np, n * n).reshape(n, n)
    args = (np.zeros_like(a), a, a.copy(), np.int32(n))
    return profile(with_tile(kernel, tile), square_grid(n, tile), (tile, tile), args)


def count_pitch(kernel: Any, tile: int, pitch: int, n: int = ODD) -> Any:
    """The same for a kernel (c, a, b, n, pitch) whose rows start `pitch` elements apart."""
    a = floats(np, n * pitch).reshape(n, pitch)
    args = (np.zeros_like(a), a, a.copy(), np.int32(n), np.int32(pitch))
    return profile(with_tile(kernel, tile), square_grid(n, tile), (tile, tile), args)


def tile_view(kernel: Any) -> Callable[[int], tuple[Figure, Table]]:
    """The function behind the slider of the tile size; it multiplies 64 x 64 floats."""

    def show_tile(tile: int = 16) -> tuple[Figure, Table]:
        return tile_picture(SIZE, tile), CounterTable({f"TILE {tile}": count_tiles(kernel, tile)}, SLIDER)

    return show_tile


def pitch_view(kernel: Any) -> Callable[[int, int], tuple[Figure, Table]]:
    """The function behind the sliders of the pitch and the tile size; it multiplies 97 x 97 floats."""

    def show_pitch(pitch: int = ODD, tile: int = 8) -> tuple[Figure, Table]:
        counted = {f"pitch {pitch}, TILE {tile}": count_pitch(kernel, tile, pitch)}
        return tile_picture(ODD, tile, pitch), CounterTable(counted, PITCH)

    return show_pitch


# -- arithmetic intensity ----------------------------------------------------------


def intensity_chart(tiled: Any, untiled: Any, tiles: Iterable[int] = (2, 4, 8, 16, 32)) -> Figure:
    """FLOP per byte loaded over the tile size, and what the FP32 units of the default GPU could use up."""
    tiles = list(tiles)
    values = [flops_per_byte(count_tiles(tiled, tile)) for tile in tiles]
    flat = [flops_per_byte(untiled)] * len(tiles)
    lines = [Series("counted", tiles, values, "tiled"), Series("counted", tiles, flat, "coalesced, untiled")]
    title = f"Arithmetic per byte loaded, n = {SIZE}"
    figure = draw_sweep(*lines, xlabel="TILE", ylabel="FLOP per byte loaded", title=title, log="xy")
    axes = figure.axes[0]
    for label, ridge in ridges().items():
        axes.axhline(ridge, color=INK, linewidth=1.2, linestyle=":")
        axes.text(2, ridge * 1.06, f"{label}: {ridge:.3g} FLOP per byte", color=INK, fontsize=9)
    axes.set_ylim(0.1, 32)
    axes.set_xticks(tiles)
    axes.get_legend().set_loc("lower right")
    return figure


def ridges(name: str = DEFAULT) -> dict[str, float]:
    """FLOP per byte at which FP32 arithmetic takes as long as the bytes, from DRAM and (measured) from L2."""
    found = gpu(name)
    flops = found.compute.fp32_tflops * 1e3
    rates = {f"{name}: every byte from DRAM": found.memory.dram_gb_per_s}
    if found.measured and found.measured.l2_gb_per_s:
        rates[f"{name}: every byte from L2"] = found.measured.l2_gb_per_s
    return {label: flops / rate for label, rate in rates.items()}


# -- times -------------------------------------------------------------------------


def by_gpu(size: str = "tiling_4096") -> Table:
    """For every GPU of the table and this machine's: should tiles of 32 move the time?"""
    rows = [_gpu_row(size, on, label) for on, label in every_gpu()]
    header = ["GPU", "untiled ms", "limited by", "tiled 32 ms", "limited by", "should the time move?"]
    n = sweep(size).size
    return Table(header, rows, {0, 2, 4, 5}, f"modelled, {n} x {n} floats, coalesced against tiled 32")


def _gpu_row(name: str, on: Gpu, label: str) -> list[str]:
    counts = dict(zip(_variants(name), counted_sweep(name), strict=True))
    before, after = (modelled_time(counts[variant], on) for variant in ("coalesced", "tiled 32"))
    each = (f"{before.ms:.1f}", before.limiter, f"{after.ms:.1f}", after.limiter)
    return [label, *each, verdict(before.ms / after.ms)]


def times(name: str, measure: bool = False) -> Table:
    """Every launch of one of this chapter's sweeps: modelled, and recorded if it was.

    `measure`: measured too, on a machine with a GPU. (A small GPU takes minutes for size 4096.)
    Where cuBLAS is a row, recorded and measured rows say how many percent of its speed they reach.
    """
    chosen, table = sweep(name), recording(name)
    points, calls = chosen.points(chosen.size), chosen.calls(chosen.size)
    rows: list[Point | Call] = [*points, *calls]
    model = [*modelled_sweep(name), *[None] * len(calls)]
    columns = {"launch": [_label(row) for row in rows]}
    columns[f"modelled ms, {DEFAULT}"] = [f"{time.ms:.4g}" if time else "" for time in model]
    columns["model: limited by"] = [time.limiter if time else "" for time in model]
    if table is not None:
        columns |= _recorded_columns(table, rows, model)
    if measure and backend.on_gpu():
        columns |= _speed(measured_heading(), [float(row["median_ms"]) for row in time_points(rows)], rows)
    cells = list(zip(*columns.values(), strict=True))
    return Table(list(columns), cells, {0, 2}, f"{name}, n = {chosen.size}; {caption(table, name)}")


def _recorded_columns(table: Recorded, rows: list, model: list[ModelledTime | None]) -> dict[str, list[str]]:
    columns = _speed("recorded ms", list(table.ms), rows)
    pairs = zip(model, table.ms, strict=True)
    columns["modelled / recorded"] = [f"{time.ms / ms:.2f}" if time else "" for time, ms in pairs]
    if "errors" in table.columns:
        columns["recorded errors"] = [str(count) for count in table["errors"]]
    return columns


def _speed(title: str, ms: list[float], rows: list) -> dict[str, list[str]]:
    """Milliseconds, TFLOP/s and, where there is such a row, percent of cuBLAS."""
    rates = [row.flops / time / 1e9 for row, time in zip(rows, ms, strict=True)]
    columns = {title: [f"{time:.4g}" for time in ms]}
    if all(rates):  # integers make no FLOP
        columns["TFLOP/s"] = [f"{rate:.3g}" for rate in rates]
    if isinstance(rows[-1], Call):
        columns["% of cuBLAS"] = [f"{100 * rate / rates[-1]:.1f}" for rate in rates]
    return {(key if key == title else f"{key} ({title.split()[0]})"): value for key, value in columns.items()}


def _label(row: Point | Call) -> str:
    parts = {key: value for key, value in row.columns.items() if key not in ("errors", "size")}
    return ", ".join(str(v) if key == "variant" else f"{key} {v}" for key, v in parts.items())


def _variants(name: str) -> list[str]:
    return [str(point.columns["variant"]) for point in sweep(name).points(sweep(name).size)]


# -- the notes' figures ------------------------------------------------------------


def notes_beside(name: str = "tiling_4096") -> Table:
    """The three figures of the notes, which name no GPU, beside the default GPU's."""
    n, table = sweep(name).size, recording(name)
    sides = {f"modelled, {DEFAULT}": [time.ms for time in modelled_sweep(name)]}
    if table is not None:
        sides[f"recorded, {DEFAULT}"] = list(table.ms)
    rows = [
        ("time saved by the tile", "43 %", lambda before, after: f"{100 * (1 - after / before):.0f} %"),
        ("TFLOP/s of the tiled kernel", "6.6", lambda _, after: f"{2 * n**3 / after / 1e9:.1f}"),
        ("GB/s, all bytes that its loads bring", "410", lambda _, ms: f"{8 * n**3 / 32 / ms / 1e6:,.0f}"),
        ("GB/s, the bytes of A, B and C, once", "410", lambda _, ms: f"{12 * n * n / ms / 1e6:.0f}"),
    ]
    at = [_variants(name).index(variant) for variant in ("coalesced", "tiled 32")]
    cells = [
        [text, notes, *(rule(*(ms[i] for i in at)) for ms in sides.values())] for text, notes, rule in rows
    ]
    return Table(
        ["figure", "notes, unknown GPU", *sides],
        cells,
        {0},
        f"here n = {n} and tiles of 32; the notes do not say",
    )


def findings(name: str = "tiling_4096") -> str:
    """What the recorded product says, in sentences."""
    table, n = recording(name), sweep(name).size
    if table is None:
        return not_recorded(name)
    ms = dict(zip(table["variant"], table.ms, strict=True))
    variants = ("naive", "coalesced", "tiled 8", "tiled 32", "cuBLAS")
    bad, plain, small, large, library = (ms[variant] for variant in variants)
    lines = [
        f"Recorded on the {DEFAULT}, n = {n}:",
        f"Tiles of 32 take {large:.3g} ms, the coalesced kernel {plain:.3g} ms: {_less(large, plain)}.",
        f"Tiles of 8 take {small:.3g} ms: {_less(small, plain)} than without tiles.",
        f"The bad mapping takes {bad:.3g} ms, {bad / large:.0f} times as long as tiles of 32.",
        f"Tiles of 32 reach {100 * library / large:.0f} % of cuBLAS in the same run.",
    ]
    return "\n".join(lines)


def padding_findings(name: str = "tiling_edges") -> str:
    """What padded rows saved where it was recorded, in sentences."""
    table, n = recording(name), sweep(name).size
    if table is None:
        return not_recorded(name)
    lines = [f"Recorded on the {DEFAULT}, n = {n - 1}, rows padded to {n}:"]
    for tile in sorted(set(table["tile"].tolist())):
        ms = dict(_rows_of(table, tile))
        lines.append(f"tiles of {tile}: {_less(ms['padded'], ms['packed'])}.")
    return "\n".join(lines)


def _rows_of(table: Recorded, tile: int) -> Iterable[tuple[str, float]]:
    part = table.where(tile=tile)
    return zip(part["rows"].tolist(), part.ms.tolist(), strict=True)


def _less(new: float, old: float) -> str:
    """How much shorter (or longer) a time is."""
    change = 100 * (new / old - 1)
    return f"{abs(change):.2g} % {'less' if change < 0 else 'more'} time"


def product_roofline(name: str = "tiling_4096") -> Figure:
    """Four variants at the recorded size, or those that are modelled where nothing is recorded.

    Their bytes are the distinct ones, so they share one intensity.
    """
    needed, table = work(sweep(name).size), recording(name)
    source, ms = "modelled", dict(zip(_variants(name), [t.ms for t in modelled_sweep(name)], strict=True))
    if table is not None:
        source, ms = "recorded", dict(zip(table["variant"], table.ms, strict=True))
    points = [
        RooflinePoint(variant, needed["flops"], needed["useful_bytes"], float(ms[variant]), source)
        for variant in ("naive", "coalesced", "tiled 32", "cuBLAS")
        if variant in ms
    ]
    return roofline(points, DEFAULT)
