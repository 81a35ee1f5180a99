"""Chapter 09, the pictures: tiles within tiles, what one step of a thread loads and uses, and the ladder."""

from collections.abc import Mapping
from itertools import product

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import ConnectionPatch, Rectangle

from ..pictures.style import (
    BLACK,
    BLUE,
    GREEN,
    INK,
    OKABE_ITO,
    ORANGE,
    PAPER,
    SKY,
    boxes,
    clean,
    lane_colours,
    new_figure,
    number_text,
)

BLOCK = 128  # rows and columns of a block of `vectors`
GROUP = 4  # a thread's elements lie in groups of 4 x 4
Place = tuple[int, int]  # first row and first column


def place(thread: int, lanes: int) -> Place:
    """Where the first group of a thread lies, as `place` of the kernel `vectors` has it for LANES."""
    if lanes == 0:
        return 4 * (thread // 16), 4 * (thread % 16)
    lane, warp = thread % 32, thread // 32
    right, down = lane % 8, lane // 8
    if lanes == 2:
        right, down = lane >> 1 & 1 | lane >> 2 & 6, lane & 1 | lane >> 1 & 2
    return warp // 2 * 32 + 4 * down, warp % 2 * 64 + 4 * right


def steps(lanes: int) -> Place:
    """Rows down and columns to the right from a thread's first group to the next ones."""
    return (64, 64) if lanes == 0 else (16, 32)


def owners(lanes: int) -> np.ndarray:
    """The thread that makes each element of the block's tile, shape (128, 128)."""
    found = np.full((BLOCK, BLOCK), -1)
    down, right = steps(lanes)
    for thread in range(256):
        row, col = place(thread, lanes)
        for i, j in product((0, down), (0, right)):
            found[row + i : row + i + GROUP, col + j : col + j + GROUP] = thread
    return found


def nested(lanes: int = 2, thread: int = 13) -> Figure:
    """A block's tile with its warps, a warp's with its lanes, a thread's with what one step needs."""
    figure = new_figure(9.0, 4.3)
    axes = [
        figure.add_axes(at)
        for at in ((0.01, 0.02, 0.34, 0.8), (0.38, 0.02, 0.33, 0.8), (0.74, 0.02, 0.25, 0.8))
    ]
    for one in axes:
        one.set_axis_off()
        one.set_aspect("equal")
    made_by = owners(lanes)
    _block_panel(axes[0], made_by // 32, thread // 32)
    corner, size = _first_quarter(thread // 32, lanes)
    axes[0].add_patch(Rectangle(corner[::-1], *size[::-1], fill=False, edgecolor=BLACK, linewidth=1.8))
    _lanes_panel(axes[1], made_by, corner, size, thread)
    _thread_panel(axes[2])
    for first, second, at, to in (
        (axes[0], axes[1], (corner[1] + size[1], corner[0]), (0, 0)),
        (axes[0], axes[1], (corner[1] + size[1], corner[0] + size[0]), (0, size[0])),
    ):
        figure.add_artist(
            ConnectionPatch(at, to, "data", "data", axesA=first, axesB=second, color=INK, lw=0.8)
        )
    names = (
        f"block: {BLOCK} x {BLOCK},\n8 warps",
        f"warp: the framed quarter,\n{size[0]} x {size[1]}, 32 lanes of 4 x 4",
        "thread: 8 x 8,\none step of k",
    )
    for one, name in zip(axes, names, strict=True):
        one.set_title(name, fontsize=10.5, color=BLACK, fontweight="bold", pad=6)
    return figure


def _block_panel(axes: Axes, warps: np.ndarray, chosen: int) -> None:
    """The block's tile, each warp in its colour, the chosen one framed wherever it has elements."""
    colours = 0.5 + 0.5 * np.array([to_rgb(INK if colour == ORANGE else colour) for colour in OKABE_ITO])
    colours[chosen] = to_rgb(ORANGE)
    axes.imshow(colours[warps], interpolation="nearest", extent=(0, BLOCK, BLOCK, 0))
    for warp in range(8):
        rows, cols = np.nonzero(warps == warp)
        for part in _parts(rows, cols):
            x, y, wide, high = part
            axes.add_patch(Rectangle((x, y), wide, high, fill=False, edgecolor=INK, linewidth=0.8))
            if high >= 8:
                beside = (x + 0.04 * wide, y + high * (0.78 if high > 8 else 0.5))
                axes.text(*beside, f"warp {warp}", ha="left", va="center", fontsize=8.5, color=BLACK)


def _parts(rows: np.ndarray, cols: np.ndarray) -> list[tuple[int, int, int, int]]:
    """The rectangles (x, y, width, height) that a warp's elements fill, each run of rows and columns."""
    runs = [np.split(u, np.flatnonzero(np.diff(u) > 1) + 1) for u in (np.unique(rows), np.unique(cols))]
    return [(int(c[0]), int(r[0]), len(c), len(r)) for r, c in product(*runs)]


def _first_quarter(warp: int, lanes: int) -> tuple[Place, Place]:
    """Corner and size of the part that holds the first group of each lane of a warp."""
    firsts = np.array([place(32 * warp + lane, lanes) for lane in range(32)])
    low, high = firsts.min(axis=0), firsts.max(axis=0) + GROUP
    size = high - low
    return (int(low[0]), int(low[1])), (int(size[0]), int(size[1]))


def _lanes_panel(axes: Axes, made_by: np.ndarray, corner: Place, size: Place, chosen: int) -> None:
    """The lanes of a warp at their 4 x 4 elements, numbered; the chosen thread's lane in orange."""
    axes.set(xlim=(-0.5, size[1] + 0.5), ylim=(size[0] + 0.5, -0.5))
    colours = lane_colours()
    for down in range(0, size[0], GROUP):
        for right in range(0, size[1], GROUP):
            lane = int(made_by[corner[0] + down, corner[1] + right]) % 32
            mine = lane == chosen % 32
            face = ORANGE if mine else colours[lane]
            boxes(axes, right, down, GROUP, GROUP, facecolors=[face], edgecolors=INK, linewidths=0.8)
            ink = PAPER if lane > 14 and not mine else BLACK
            axes.text(right + 2, down + 2, str(lane), ha="center", va="center", fontsize=9, color=ink)


def _thread_panel(axes: Axes) -> None:
    """A thread's four groups of 4 x 4, with the 8 values of A and the 8 of B that they need."""
    axes.set(xlim=(-3.2, 9.6), ylim=(9.6, -3.6))
    at = np.array([0, 1, 2, 3, 5, 6, 7, 8])
    across, down = np.meshgrid(at, at)
    boxes(axes, across.ravel(), down.ravel(), 1, 1, facecolors=ORANGE, edgecolors=INK, linewidths=0.5)
    boxes(axes, -1.8, at, 1, 1, facecolors=SKY, edgecolors=BLACK, linewidths=0.8)
    boxes(axes, at, -1.8, 1, 1, facecolors=GREEN, edgecolors=BLACK, linewidths=0.8)
    axes.text(-2.1, 4.5, "8 of A", rotation=90, ha="right", va="center", fontsize=9)
    axes.text(4.5, -2.1, "8 of B", ha="center", va="bottom", fontsize=9)


def step_picture(tm: int, tn: int) -> Figure:
    """What a thread loads in one step of k, and the multiply-adds that use it."""
    figure = new_figure(9.0, 3.3)
    axes = figure.add_axes((0.02, 0.03, 0.4, 0.84))
    axes.set_axis_off()
    axes.set_aspect("equal")
    axes.set(xlim=(-2.2, 9), ylim=(8.4, -2.2))
    down, across = (a.ravel() for a in np.meshgrid(np.arange(tm), np.arange(tn), indexing="ij"))
    boxes(axes, across, down, 1, 1, facecolors=ORANGE, edgecolors=INK, linewidths=0.6)
    boxes(axes, -1.6, np.arange(tm), 1, 1, facecolors=SKY, edgecolors=BLACK, linewidths=1.0)
    boxes(axes, np.arange(tn), -1.6, 1, 1, facecolors=GREEN, edgecolors=BLACK, linewidths=1.0)
    bars = figure.add_axes((0.5, 0.16, 0.46, 0.62))
    clean(bars, grid="x")
    bars.barh([1, 0], [tm + tn, tm * tn], color=[SKY, ORANGE], edgecolor=INK, height=0.6)
    bars.set_yticks([1, 0], ["values loaded", "multiply-adds"])
    bars.set_xlim(0, 70)
    bars.set_xlabel("of one thread in one step of k", color=INK)
    for at, value in ((1, tm + tn), (0, tm * tn)):
        bars.text(value + 1, at, str(value), va="center", fontsize=10, color=BLACK)
    figure.suptitle(f"{tm} x {tn} elements a thread", color=BLACK, fontsize=12, fontweight="bold", y=0.97)
    return figure


LEVELS = {"from L2 to the SM": BLUE, "from shared memory to registers": ORANGE}


def ladder_bars(
    rungs: Mapping[str, tuple[float, float]], title: str = "Bytes per multiply-add, counted"
) -> Figure:
    """For each rung the bytes per multiply-add that two levels of memory hand out, on a logarithmic scale.

    `rungs`: name -> (bytes of sectors of global memory, bytes of shared wavefronts), 0 where there are none.
    """
    figure = new_figure(9.0, 0.9 + 0.55 * len(rungs))
    axes = clean(figure.add_axes((0.16, 0.13, 0.81, 0.77)), grid="x")
    at = np.arange(len(rungs))[::-1]
    for level, (name, colour) in enumerate(LEVELS.items()):
        values = np.array([pair[level] for pair in rungs.values()], float)
        y = at + (0.19 if level == 0 else -0.19)
        there = values > 0
        look = {"color": colour, "edgecolor": INK, "linewidth": 0.6, "hatch": "" if level == 0 else "//"}
        axes.barh(y[there], values[there], height=0.36, label=name, **look)
        for position, value in zip(y[there], values[there], strict=True):
            axes.text(value * 1.06, position, number_text(float(value)), va="center", fontsize=9, color=BLACK)
    axes.set_xscale("log")
    axes.set_xlim(0.04, 60)
    axes.set_xticks([0.1, 1, 10], ["0.1", "1", "10"])
    axes.set_yticks(at, list(rungs))
    axes.set_xlabel("bytes per multiply-add (counted)", color=INK)
    axes.set_title(title, color=BLACK, fontsize=12, fontweight="bold")
    axes.legend(frameon=False, fontsize=9, loc="lower right")
    return figure
