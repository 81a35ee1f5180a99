"""Chapter 07, wave quantization: its tables, the function behind its slider, and what it says of times."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache

import numpy as np
from matplotlib.figure import Figure

from ..agreement import count_point
from ..evidence import caption, every_gpu, not_recorded, recording, verdict
from ..gpus import DEFAULT, Gpu
from ..gpus import gpu as find_gpu
from ..metric_names import ATOMICS, BLOCKS, FFMA, INSTRUCTIONS, ST_REQUESTS
from ..model import modelled_time, scaled
from ..recorded import Table as Recorded
from ..report import Table
from . import wave_sweeps
from .wave_picture import gantt
from .waves import efficiency, equal_shares, finish, fixed_order, hardware_order, split, tiles, waves

TILES = {"256 x 128": (256, 128), "128 x 128": (128, 128), "128 x 64": (128, 64), "64 x 64": (64, 64)}
LARGEST = 256 * 128  # elements of the tile in whose time the pictures count
COUNTED = {  # rows of the counted table: label -> metric
    "blocks": BLOCKS,
    "float multiply-adds": FFMA,
    "warp instructions (PTX)": INSTRUCTIONS,
    "global store requests": ST_REQUESTS,
    "atomic requests": ATOMICS,
}


def wave_words(blocks: int, sms: int, per_sm: int = 1) -> str:
    """The blocks of each wave, such as "148 + 12" or "50 x 132 + 1"."""
    found = waves(blocks, sms, per_sm)
    full = [size for size in found if size == sms * per_sm]
    tail = [size for size in found if size < sms * per_sm]
    words = [f"{len(full)} x {full[0]}"] if len(full) > 2 else map(str, full)
    return " + ".join([*words, *map(str, tail)])


def wave_table(
    sizes: Sequence[int], gpus: Sequence[str] = ("A100", "H200", "B200"), tile: str = "256 x 128"
) -> Table:
    """Tiles and waves of square matrices on several GPUs, one block an SM: modelled."""
    header = ["size", "tiles", "GPU", "SMs", "waves", "blocks in each", "SM time used"]
    rows = []
    for size in sizes:
        count = tiles(size, size, TILES[tile])
        for name in gpus:
            sms = find_gpu(name).sms
            share = f"{efficiency(count, sms):.0%}"
            words = wave_words(count, sms)
            rows.append([size, count, name, sms, len(waves(count, sms)), words, share])
    return Table(header, rows, {2, 5}, f"modelled: tiles of {tile}, one block an SM")


def choice_table(size: int, sms: int) -> Table:
    """What each tile costs a square product: waves, its time, and the loads it needs: modelled.

    Time is waves times the elements of a tile, in tiles of 256 x 128; at best it is the matrix spread evenly.
    """
    header = ["tile", "tiles", "waves", "blocks in each", "time", "at best", "loads per multiply-add"]
    rows = []
    for name, tile in TILES.items():
        count, area = tiles(size, size, tile), tile[0] * tile[1] / LARGEST
        time, best = len(waves(count, sms)) * area, size * size / LARGEST / sms
        loads = f"1/{1 / (1 / tile[0] + 1 / tile[1]):.0f}"
        words = wave_words(count, sms)
        rows.append([name, count, len(waves(count, sms)), words, f"{time:.4g}", f"{best:.3f}", loads])
    return Table(header, rows, {0, 3}, f"modelled: {size} x {size} on {sms} SMs, time in tiles of 256 x 128")


# -- the slider and the pictures of the cures ----------------------------------------


def show_waves(size: int = 1793, tile: str = "256 x 128", sms: int = 108) -> tuple[Figure, str]:
    """The blocks of a square product on the SMs, one block a tile and an SM."""
    count, area = tiles(size, size, TILES[tile]), TILES[tile][0] * TILES[tile][1] / LARGEST
    turns = hardware_order([area] * count, sms)
    title = f"{size} x {size} in tiles of {tile} on {sms} SMs, modelled"
    figure = gantt({f"{count:,} blocks": turns}, sms, title, unit="time, in tiles of 256 x 128")
    said = (
        f"{count:,} tiles on {sms} SMs, modelled: {len(waves(count, sms))} wave(s), {wave_words(count, sms)}"
    )
    return figure, f"{said}; {efficiency(count, sms):.1%} of the SM time used; done at {finish(turns):.4g}"


def show_cures(count: int, sms: int, title: str = "") -> Figure:
    """`count` tiles on `sms` SMs, shared out in the four ways of `wave_sweeps.cures`."""
    plans = {
        "a block a tile": hardware_order([1.0] * count, sms),
        "persistent": fixed_order([1.0] * count, sms),
        "split in 4": split(count, wave_sweeps.PARTS, sms),
        "equal shares": equal_shares(count, sms),
    }
    return gantt(plans, sms, title or f"{count} tiles on {sms} SMs, modelled", unit="time, in tiles")


# -- should the time move? ------------------------------------------------------------


@cache
def _one_tile(kind: str) -> dict[str, float]:
    """Counts of one block of `wave_sweeps.filling` or `wave_sweeps.waiting`, with 2 units."""
    point = {"filling": wave_sweeps.filling, "waiting": wave_sweeps.waiting}[kind](2)[0]
    alone = replace(point, grid=(1,), arguments=wave_sweeps.arguments(1, point.block[0], 2), shared=0)
    return dict(count_point(alone))


def modelled_tiles(blocks: int, gpu: str | Gpu = DEFAULT, kind: str = "filling") -> float:
    """Milliseconds of `blocks` blocks of a recorded kernel, "filling" or "waiting", by the course's model."""
    counts = scaled(_one_tile(kind), blocks * wave_sweeps.RECORDED_UNITS / 2, blocks, blocks)
    return modelled_time(counts, gpu, cold=False).ms


def one_more_by_gpu(fewer: int = 132, more: int = 133) -> Table:
    """For every GPU of the table and this machine's: does the time move from `fewer` to `more` tiles?"""
    rows = [_one_more(gpu, label, fewer, more) for gpu, label in every_gpu()]
    header = ["GPU", "SMs", f"{fewer}", f"{more}", f"{fewer}, ms", f"{more}, ms", "should the time move?"]
    return Table(header, rows, {0, 2, 3, 6}, "modelled: a block a tile, one block an SM")


def _one_more(gpu: Gpu, label: str, fewer: int, more: int) -> list[object]:
    times = [modelled_tiles(count, gpu) for count in (fewer, more)]
    longer = verdict(times[1] / times[0], "{:.2f} times as long")
    words = [wave_words(count, gpu.sms) for count in (fewer, more)]
    return [label, gpu.sms, *words, *(f"{time:.3f}" for time in times), longer]


# -- matrix products of cuBLAS ----------------------------------------------------------


def alignment(size: int) -> int:
    """Bytes, up to 16, that divide the distance between rows of `size` float16: what a load may rely on."""
    row = 2 * size
    return min(16, row & -row)


def gemm() -> Recorded | None:
    """The recorded products, None where there are none."""
    return recording("waves_gemm")


def tflops(table: Recorded) -> np.ndarray:
    """10^12 operations a second, shape (rows,)."""
    return table["flops"] / (table.ms * 1e9)


def rate(size: int, variant: str = "packed") -> float | None:
    """Recorded TFLOP/s of one product, None where it was not recorded."""
    table = gemm()
    row = None if table is None else table.where(variant=variant, size=size)
    return float(tflops(row)[0]) if row is not None and len(row) else None


def gemm_table(sizes: Sequence[int] = wave_sweeps.ODD_SIZES) -> Table:
    """Products around 1792: alignment of a row, waves if the tile were 256 x 128, and recorded TFLOP/s."""
    header = ["size", "rows aligned to, bytes", "tiles of 256 x 128", "waves of an H200"]
    found = gemm()
    header += [] if found is None else ["TFLOP/s, packed", "TFLOP/s, copied to padded rows"]
    rows = []
    for size in sizes:
        count = tiles(size, size, TILES["256 x 128"])
        row = [size, alignment(size), count, len(waves(count, wave_sweeps.SMS))]
        if found is not None:
            row += [_rate_text(size, "packed"), _rate_text(size, "padded")]
        rows.append(row)
    rates = "rates " * (found is not None) + caption(found, "waves_gemm")
    return Table(header, rows, set(), f"tiles and waves modelled; {rates}")


def _rate_text(size: int, variant: str) -> str:
    found = rate(size, variant)
    return "" if found is None else f"{found:.0f}"


def fall() -> float | None:
    """By what factor the recorded rate falls from 1792 to 1793, None where it was not recorded."""
    before, after = rate(1792), rate(1793)
    return before / after if before and after else None


def two_effects() -> str:
    """What waves can explain between 1792 and 1793 on an H200, and what was recorded."""
    counts = [tiles(size, size, TILES["256 x 128"]) for size in (1792, 1793)]
    factor = len(waves(counts[1], wave_sweeps.SMS)) / len(waves(counts[0], wave_sweeps.SMS))
    lines = [
        f"modelled: {counts[0]} and {counts[1]} tiles are one wave each on 132 SMs: waves explain a factor "
        f"of {factor:g}"
    ]
    rates = {size: rate(size) for size in (1792, 1793, 1794, 1800)}
    if None in rates.values():
        return "\n".join([*lines, not_recorded("waves_gemm")])
    said = ", ".join(f"{size} -> {value:.0f}" for size, value in rates.items())
    lines.append(f"recorded, H200, TFLOP/s: {said}")
    lines.append(
        f"recorded: from 1792 to 1793 the rate falls by a factor of {rates[1792] / rates[1793]:.1f},"
    )
    lines.append(f"  and from 1793 to 1800, a larger product, it rises by {rates[1800] / rates[1793]:.1f}")
    return "\n".join(lines)
