"""The picture of one global-memory request: a warp's lanes against 32-byte sectors and 128-byte lines."""

from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from numpy.typing import ArrayLike

from ..emulator.counters import GlobalCount, count_global
from .style import (
    BLACK,
    FAINT,
    INK,
    ORANGE,
    PAPER,
    as_warp,
    boxes,
    draw_lane_row,
    draw_threads,
    lane_colours,
    new_figure,
    number_text,
)

SECTOR = 32  # bytes
LINE = 128  # bytes
MOST_SECTORS = 32  # more than this many side by side and the untouched ones are left out
GAP = 0.35  # width of the mark for skipped memory, in sectors

LANES_Y, MEMORY_Y = 2.0, 0.0  # bottom of the row of lanes, bottom of the row of sectors


@dataclass(frozen=True)
class Request:
    """One load or store of one warp, as bytes.

    ``lanes``: numbers of the active lanes, shape (n,). ``start``: first byte each of them touches, shape
    (n,). ``width``: bytes per lane. ``count``: what the emulator's counter says of it.
    """

    lanes: np.ndarray
    start: np.ndarray
    width: int
    count: GlobalCount

    @classmethod
    def of(cls, addresses: ArrayLike, width: int = 4, active: ArrayLike | None = None) -> "Request":
        """Count the request of a warp's active lanes; ValueError when none is active or one is misaligned."""
        addresses, mask = as_warp(addresses, active)
        lanes = np.flatnonzero(mask[0])
        return cls(lanes, addresses[0, lanes], width, count_global(addresses, mask, width))

    @property
    def touched(self) -> np.ndarray:
        """Sorted distinct byte addresses that the lanes asked for."""
        return np.unique(self.start[:, None] + np.arange(self.width))

    @property
    def sectors(self) -> np.ndarray:
        """Sorted numbers of the sectors fetched."""
        return np.unique(self.start // SECTOR)

    @property
    def caption(self) -> str:
        """The counts in one sentence, such as "5 sectors for 128 useful bytes (80 %), in 2 lines"."""
        useful, sectors, lines = self.touched.size, self.count.sectors, self.count.tags
        share = number_text(100 * useful / (sectors * SECTOR))
        return (
            f"{sectors} sector{'s' * (sectors != 1)} for {number_text(useful)} useful bytes ({share} %), "
            f"in {lines} line{'s' * (lines != 1)}"
        )


class MemoryAxis:
    """Where each shown sector stands, in units of one sector, with a gap where memory is skipped."""

    def __init__(self, request: Request, span: tuple[int, int] | None = None) -> None:
        """Show whole lines where they fit, else only fetched sectors; ``span``: bytes to show."""
        lines = np.unique(request.sectors // (LINE // SECTOR))
        if span is not None:
            lines = np.union1d(lines, np.arange(span[0] // LINE, span[1] // LINE + 1))
        whole = (lines[:, None] * (LINE // SECTOR) + np.arange(LINE // SECTOR)).reshape(-1)
        self.sectors = whole if whole.size <= MOST_SECTORS else request.sectors
        self.skips = np.flatnonzero(np.diff(self.sectors) > 1) + 1
        gaps = np.zeros(self.sectors.size)
        gaps[self.skips] = GAP
        self.lefts = np.arange(self.sectors.size) + np.cumsum(gaps)
        self.width = self.lefts[-1] + 1

    def left(self, sector: np.ndarray) -> np.ndarray:
        """Left edge of each given (shown) sector."""
        return self.lefts[np.searchsorted(self.sectors, sector)]

    def at(self, byte: np.ndarray) -> np.ndarray:
        """Position of the left edge of each given byte (of shown sectors)."""
        return self.left(byte // SECTOR) + (byte % SECTOR) / SECTOR


def warp_to_sectors(
    addresses: ArrayLike,
    width: int = 4,
    active: ArrayLike | None = None,
    *,
    origin: int = 0,
    span: tuple[int, int] | None = None,
    title: str = "",
) -> Figure:
    """Draw the request that lanes at byte ``addresses`` (up to 32, ``width`` bytes each) make of global
    memory.

    ``active``: optional mask of lanes. ``origin``: the address that the labels call byte 0, for instance
    where the array starts. ``span``: first and last address to show even when untouched, so that the
    pictures behind a slider keep their scale. Counts come from ``emulator.counters.count_global``.
    """
    request = Request.of(addresses, width, active)
    memory = MemoryAxis(request, span)
    figure = new_figure(9.0, 3.0)
    axes = figure.add_axes((0.02, 0.13, 0.96, 0.74))
    axes.set_axis_off()
    axes.set(xlim=(-0.01 * memory.width, 1.01 * memory.width), ylim=(-0.85, 2.75))
    _draw_memory(axes, request, memory)
    _label_lines(axes, memory, origin)
    _draw_lanes(axes, request, memory)
    heading = f"{title}: {request.caption}" if title else request.caption
    figure.text(0.5, 0.93, heading, ha="center", color=BLACK, fontsize=12, fontweight="bold")
    _draw_legend(figure)
    return figure


def _draw_memory(axes: Axes, request: Request, memory: MemoryAxis) -> None:
    """Sectors (hatched where fetched, empty where not) and touched bytes in the colour of their lane."""
    fetched = np.isin(memory.sectors, request.sectors)
    boxes(axes, memory.lefts[~fetched], MEMORY_Y, 1, 0.7, facecolors=PAPER, edgecolors=FAINT)
    waste = boxes(
        axes, memory.lefts[fetched], MEMORY_Y, 1, 0.7, facecolors=ORANGE, edgecolors=PAPER, hatch="//"
    )
    waste.set_linewidth(0)
    colours = lane_colours()[request.lanes]
    left, edge = memory.at(request.start), 0.4 if memory.sectors.size <= 16 else 0
    boxes(
        axes,
        left,
        MEMORY_Y,
        request.width / SECTOR,
        0.7,
        facecolors=colours,
        edgecolors=PAPER,
        linewidths=edge,
    )
    outline = 1.0 if memory.sectors.size <= 16 else 0.4
    boxes(
        axes, memory.lefts[fetched], MEMORY_Y, 1, 0.7, facecolors="none", edgecolors=INK, linewidths=outline
    )
    for skip in memory.skips:
        axes.text(memory.lefts[skip] - GAP / 2, 0.35, "⋮", ha="center", va="center", color=INK, fontsize=9)


def _label_lines(axes: Axes, memory: MemoryAxis, origin: int) -> None:
    """A bracket under the shown sectors of each 128-byte line, with the byte at which the line starts."""
    lines, first = np.unique(memory.sectors // (LINE // SECTOR), return_index=True)
    last = np.append(first[1:], memory.sectors.size) - 1
    left, right = memory.lefts[first] + 0.04, memory.lefts[last] + 0.96
    bracket = [[(a, -0.07), (a, -0.16), (b, -0.16), (b, -0.07)] for a, b in zip(left, right, strict=True)]
    axes.add_collection(LineCollection(bracket, colors=INK, linewidths=1.0), autolim=False)
    every = int(np.ceil(lines.size / 8))
    for line, a, b in list(zip(lines, left, right, strict=True))[::every]:
        start = line * LINE - origin
        text = f"line at byte {start}" if lines.size <= 4 else f"{start:,}"
        axes.text((a + b) / 2, -0.26, text, ha="center", va="top", color=INK, fontsize=9)
    if lines.size > 4:
        axes.text(
            memory.width / 2, -0.58, "first byte of each line", ha="center", va="top", color=INK, fontsize=9
        )


def _draw_lanes(axes: Axes, request: Request, memory: MemoryAxis) -> None:
    """The row of 32 lanes and one thread of colour from each active lane to the bytes it asks for."""
    step = memory.width / 32
    draw_lane_row(axes, request.lanes, step, bottom=LANES_Y, height=0.5)
    middle = memory.at(request.start) + request.width / SECTOR / 2
    draw_threads(axes, request.lanes, (request.lanes + 0.5) * step, LANES_Y, middle, MEMORY_Y + 0.7)


def _draw_legend(figure: Figure) -> None:
    """Say what the three fillings mean."""
    marks = [
        Patch(facecolor=lane_colours()[20], label="bytes a lane asked for"),
        Patch(facecolor=ORANGE, hatch="//", edgecolor=PAPER, label="fetched but not used"),
        Patch(facecolor=PAPER, edgecolor=FAINT, label="not fetched"),
    ]
    figure.legend(handles=marks, loc="lower center", ncols=3, frameon=False, fontsize=9)
