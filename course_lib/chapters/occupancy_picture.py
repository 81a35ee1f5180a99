"""Chapter 06, the pictures: an SM filled with blocks, loads in flight, and what a shared load is used for."""

from collections.abc import Iterator, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..gpus import DEFAULT, REGISTER_UNIT, SUB_PARTITIONS, WARP, Gpu
from ..gpus import gpu as find_gpu
from ..occupancy import Occupancy, occupancy
from ..pictures.style import (
    BLACK,
    FAINT,
    GREEN,
    INK,
    ORANGE,
    PAPER,
    PURPLE,
    SKY,
    VERMILION,
    YELLOW,
    boxes,
    new_figure,
)

BLOCKS = (SKY, ORANGE, GREEN, YELLOW, PURPLE)  # colours of blocks, in turn
ROWS = ("blocks", "warps", "registers", "shared memory")
PITCH, HEIGHT = 1.0, 0.48  # of a row

Part = tuple[float, float, int]  # where it begins, how wide it is (shares of the SM), and whose block it is


def sm_picture(
    threads: int, registers: int, shared_bytes: int = 0, gpu: str | Gpu = DEFAULT, title: str = ""
) -> Figure:
    """An SM with as many blocks as it holds: what they take of each resource, the limiter marked.

    Arguments as for `occupancy`. Empty space is white; a box in one row has the colour and number of its
    block in all others. Warps go to the four quarters of the register file in turn.
    """
    found, whole = occupancy(threads, registers, shared_bytes, gpu), find_gpu(gpu)
    figure = new_figure(9.0, 4.6)
    axes = figure.add_axes((0.17, 0.02, 0.81, 0.86))
    axes.set_axis_off()
    axes.set(xlim=(0, 1), ylim=(-PITCH * (len(ROWS) - 1) - 0.42, HEIGHT + 0.05))
    for row, name in enumerate(ROWS):
        parts = list(_parts(name, found, whole, threads, registers, shared_bytes))
        _draw_row(axes, -PITCH * row, name, parts, found)
    for quarter in range(1, SUB_PARTITIONS):
        x, y = quarter / SUB_PARTITIONS, -PITCH * ROWS.index("registers")
        axes.plot([x, x], [y - 0.06, y + HEIGHT + 0.06], color=INK, linewidth=1.6)
    heading = f"{_count(found.blocks, 'block')}, {found.warps} of {whole.architecture.max_warps} warps"
    heading = f"{title + ': ' if title else ''}{heading}, {found.fraction:.2%} occupancy on {found.gpu}"
    figure.text(0.5, 0.93, heading, ha="center", color=BLACK, fontsize=12, fontweight="bold")
    return figure


def _parts(
    name: str, found: Occupancy, gpu: Gpu, threads: int, registers: int, shared_bytes: int
) -> Iterator[Part]:
    """What the resident blocks take of a resource, block by block or warp by warp."""
    arch, warps = gpu.architecture, -(-threads // WARP)
    if name == "blocks":
        yield from ((b / arch.max_blocks, 1 / arch.max_blocks, b) for b in range(found.blocks))
    elif name == "warps":
        yield from ((w / arch.max_warps, 1 / arch.max_warps, w // warps) for w in range(found.warps))
    elif name == "registers":
        width = -(-registers * WARP // REGISTER_UNIT) * REGISTER_UNIT / arch.registers
        for w in range(found.warps):
            start = w % SUB_PARTITIONS / SUB_PARTITIONS + w // SUB_PARTITIONS * width
            yield (start, width, w // warps)
    else:
        asked = shared_bytes + arch.shared_reserved_bytes
        width = -(-asked // arch.shared_unit_bytes) * arch.shared_unit_bytes / arch.shared_per_sm_bytes
        yield from ((b * width, width, b) for b in range(found.blocks))


def _draw_row(axes: Axes, bottom: float, name: str, parts: Sequence[Part], found: Occupancy) -> None:
    """One resource: its parts, its frame, its limit and the reason; marked if it is a limiter."""
    limits = found.limiter == name or name in found.limiters
    for start, width, block in parts:
        colour = BLOCKS[block % len(BLOCKS)]
        boxes(axes, start, bottom, width, HEIGHT, facecolors=colour, edgecolors=INK, linewidths=0.5)
        if width > 0.003 + 0.01 * len(str(block)):
            middle = (start + width / 2, bottom + HEIGHT / 2)
            axes.text(*middle, str(block), ha="center", va="center", fontsize=8, color=BLACK)
    if not parts and limits:
        boxes(axes, 0, bottom, 1, HEIGHT, facecolors=PAPER, edgecolors=VERMILION, hatch="//")
    edge, line = (VERMILION, 2.6) if limits else (INK, 0.8)
    boxes(axes, 0, bottom, 1, HEIGHT, facecolors="none", edgecolors=edge, linewidths=line, clip_on=False)
    weight, colour = ("bold", VERMILION) if limits else ("normal", INK)
    look = {"va": "center", "color": colour, "fontweight": weight, "clip_on": False}
    axes.text(-0.012, bottom + 0.34, name, ha="right", fontsize=10, **look)
    most = f"limit {_count(found.limits[name], 'block')}"
    axes.text(-0.012, bottom + 0.12, most, ha="right", fontsize=8.5, **look)
    why = found.reasons[name] + ("   <- no room for one more block" if limits else "")
    axes.text(0, bottom - 0.13, why, ha="left", fontsize=8.5, **look)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' * (number != 1)}"


def in_flight_picture(steps: int = 4) -> Figure:
    """Four chains of `steps` loads each: one chain after the other, and one step on all four at a time."""
    figure = new_figure(9.0, 3.4)
    for place, together, title in (
        ((0.1, 0.56, 0.88, 0.34), False, "One chain after the other"),
        ((0.1, 0.06, 0.88, 0.34), True, "One step on all four chains at a time"),
    ):
        axes = figure.add_axes(place)
        axes.set_axis_off()
        axes.set(xlim=(0, 4 * steps), ylim=(0, 4))
        for chain in range(4):
            start = np.arange(steps) + (0 if together else chain * steps)
            colour = BLOCKS[chain]
            boxes(axes, start + 0.04, 3 - chain + 0.1, 0.92, 0.8, facecolors=colour, edgecolors=INK)
            axes.text(-0.1, 3.5 - chain, f"chain {chain}", ha="right", va="center", fontsize=9, color=INK)
        end = steps if together else 4 * steps
        words = f"{title}: {end} rounds of waiting"
        axes.set_title(words, loc="left", color=BLACK, fontsize=11, fontweight="bold", pad=3)
    return figure


def reuse_picture(each: Sequence[int] = (1, 4), uses: int = 16) -> Figure:
    """Loads from shared memory (hatched) and their uses, for each number of results a thread."""
    figure = new_figure(9.0, 0.7 + 0.95 * len(each))
    axes = figure.add_axes((0.16, 0.03, 0.82, 0.83))
    axes.set_axis_off()
    axes.set(xlim=(0, 2 * uses), ylim=(-len(each) + 0.05, 0.75))
    for row, results in enumerate(each):
        at = np.arange(uses // results) * (results + 1)
        use = (at[:, None] + 1 + np.arange(results)).ravel()
        boxes(axes, at + 0.03, -row, 0.94, 0.6, facecolors=ORANGE, edgecolors=INK, hatch="//")
        boxes(axes, use + 0.03, -row, 0.94, 0.6, facecolors=SKY, edgecolors=INK)
        words = f"{_count(results, 'result')} a thread\n{len(at)} loads, {uses} uses"
        axes.text(-0.3, 0.3 - row, words, ha="right", va="center", fontsize=9, color=INK)
        boxes(axes, use.max() + 1, -row, 2 * uses - use.max() - 1, 0.6, facecolors="none", edgecolors=FAINT)
    title = "Hatched: a load from shared memory. Plain: what it brought is used"
    axes.set_title(title, color=BLACK, fontsize=11, fontweight="bold", pad=2)
    return figure
