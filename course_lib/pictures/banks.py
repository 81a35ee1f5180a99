"""The picture of one shared-memory access: which bank serves which lane in which wavefront."""

from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from numpy.typing import ArrayLike

from ..emulator.counters import SharedCount, count_shared
from .style import (
    BLACK,
    FAINT,
    GREEN,
    INK,
    ORANGE,
    PAPER,
    SKY,
    as_warp,
    boxes,
    draw_lane_row,
    draw_threads,
    new_figure,
)

BANKS = 32
BANK_BYTES = 4
LEAST_ROWS = 4  # room for this many wavefronts is always kept, so that few wavefronts are not drawn huge
MOST_NUMBERED = 20  # with more wavefronts the cells are too low for lane numbers
GRID_INCHES = 2.3


@dataclass(frozen=True)
class Cell:
    """One word (or wider element) served in one wavefront: banks ``bank`` … ``bank + banks - 1``.

    ``waited``: served after the first wavefront of its group of lanes, because an earlier one used the bank.
    """

    wavefront: int
    bank: int
    banks: int
    lanes: tuple[int, ...]
    waited: bool

    @property
    def text(self) -> str:
        """The lanes served, short enough for the cell: "7", "0-3", "all" or "x5"."""
        first, last, n = self.lanes[0], self.lanes[-1], len(self.lanes)
        if n in (1, 32):
            return str(first) if n == 1 else "all"
        if last - first == n - 1:
            return f"{first}-{last}"
        return f"{first}, {last}" if n == 2 and self.banks > 1 else f"x{n}"


def bank_schedule(
    addresses: ArrayLike, width: int = 4, active: ArrayLike | None = None, *, store: bool = False
) -> tuple[list[Cell], SharedCount]:
    """Tell in which wavefront each lane of a warp is served, and what the emulator's counter says of the
    access.

    Lanes go in groups of 32 (up to 4 bytes each), 16 (8 bytes) or 8 (16 bytes). Whether neighbouring groups
    join is read off ``count_shared``: it then counts fewer groups (wavefronts minus conflicts) than hold an
    active lane. Within a group the words of a bank are served in the order of the first lane that asks for
    them. (Hardware does not document its order; only the number of wavefronts is known.)
    """
    rows, mask = as_warp(addresses, active)
    count = count_shared(rows, mask, width, store)
    lanes, element = np.flatnonzero(mask[0]), max(width, BANK_BYTES)
    size = BANKS * BANK_BYTES // element
    if len(np.unique(lanes // size)) > count.wavefronts - count.conflicts:
        size *= 2
    cells, base = [], 0
    for group in np.unique(lanes // size):
        served: dict[int, dict[int, list[int]]] = {}  # first bank -> element -> lanes
        for lane in lanes[lanes // size == group]:
            word = int(rows[0, lane]) // element
            bank = word * element // BANK_BYTES % BANKS
            served.setdefault(bank, {}).setdefault(word, []).append(int(lane))
        for bank, words in served.items():
            for turn, who in enumerate(words.values()):
                cells.append(Cell(base + turn, bank, element // BANK_BYTES, tuple(who), turn > 0))
        base += max(len(words) for words in served.values())
    return cells, count


def bank_caption(count: SharedCount) -> str:
    """The counts in one sentence, such as "4-way conflict: 4 wavefronts where 1 would do (3 in excess)"."""
    waves = f"{count.wavefronts} wavefront{'s' * (count.wavefronts != 1)}"
    head = f"{count.ways}-way conflict" if count.ways > 1 else "no conflict"
    excess = count.wavefronts - count.wavefronts_ideal
    tail = f" where {count.wavefronts_ideal} would do ({excess} in excess)" if excess else ""
    return f"{head}: {waves}{tail}"


def warp_to_banks(
    addresses: ArrayLike,
    width: int = 4,
    active: ArrayLike | None = None,
    *,
    store: bool = False,
    title: str = "",
    tight: bool = False,
) -> Figure:
    """Draw one shared-memory access of a warp: banks across, wavefronts down, lane numbers in the cells.

    ``addresses``: byte addresses (or byte offsets into the shared array) of up to 32 lanes; ``width``:
    bytes per lane; ``active``: optional mask; ``store``: a store never joins groups of lanes, a load may;
    ``tight``: no room for more wavefronts than there are, for a picture without a slider.
    """
    cells, count = bank_schedule(addresses, width, active, store=store)
    rows = count.wavefronts if tight else max(LEAST_ROWS, count.wavefronts)
    # Otherwise of the same size for 1 and for 32 wavefronts, so that a slider's pictures keep their place.
    high = GRID_INCHES * min(1, rows / LEAST_ROWS)
    whole = high + 2.3
    figure = new_figure(9.0, whole)
    lanes = figure.add_axes((0.09, 1 - 1.79 / whole, 0.895, 1.42 / whole))
    grid = figure.add_axes((0.09, 0.37 / whole, 0.895, high / whole))
    for axes in (lanes, grid):
        axes.set_axis_off()
        axes.set_xlim(0, BANKS)
    lanes.set_ylim(0, 3)
    grid.set_ylim(rows, 0)
    _draw_lanes(lanes, cells)
    _draw_grid(grid, count.wavefronts)
    _draw_cells(grid, cells, rows)
    what = f"{title}: {bank_caption(count)}" if title else bank_caption(count)
    figure.text(0.5, 1 - 0.25 / whole, what, ha="center", color=BLACK, fontsize=12, fontweight="bold")
    _draw_legend(figure)
    return figure


def _draw_lanes(axes: Axes, cells: list[Cell]) -> None:
    """The 32 lanes above, the 32 banks below, and a thread from each active lane to its banks."""
    pairs = np.array([(lane, c.bank + c.banks / 2) for c in cells for lane in c.lanes])
    active = pairs[:, 0].astype(int)
    draw_lane_row(axes, active, 1.0, bottom=2.4, height=0.6)
    boxes(axes, np.arange(BANKS), 0, 1, 0.55, facecolors=FAINT, edgecolors=INK, linewidths=0.6)
    for bank in range(BANKS):
        axes.text(bank + 0.5, 0.26, str(bank), ha="center", va="center", color=BLACK, fontsize=8)
    for y, name in ((2.7, "lane"), (0.26, "bank")):
        axes.text(-0.2, y, name, ha="right", va="center", color=INK, fontsize=9)
    draw_threads(axes, active, active + 0.5, 2.4, pairs[:, 1], 0.55)


def _draw_grid(axes: Axes, wavefronts: int) -> None:
    """An empty place per wavefront and bank, and the numbers of (some of) the wavefronts."""
    row, bank = np.divmod(np.arange(wavefronts * BANKS), BANKS)
    boxes(axes, bank, row, 1, 1, facecolors=PAPER, edgecolors=FAINT, linewidths=0.6)
    every = 1 if wavefronts <= 12 else 4
    for number in sorted({*range(0, wavefronts, every), wavefronts - 1}):
        axes.text(
            -0.2, number + 0.5, f"wavefront {number + 1}", ha="right", va="center", color=INK, fontsize=8
        )


def _draw_cells(axes: Axes, cells: list[Cell], rows: int) -> None:
    """Fill the places in which lanes are served and write the lanes into them, where there is room."""
    left, top, width = np.array([(c.bank, c.wavefront, c.banks) for c in cells]).T
    faces = [ORANGE if c.waited else GREEN if len(c.lanes) > 1 else SKY for c in cells]
    edge = 1.0 if rows <= MOST_NUMBERED else 0.3
    boxes(axes, left, top, width, 1, facecolors=faces, edgecolors=PAPER, linewidths=edge)
    if rows > MOST_NUMBERED:
        return
    size = min(8.0, 0.7 * GRID_INCHES * 72 / rows)
    for c in cells:
        shrink = 0.85 if len(c.text) > 3 and c.banks == 1 else 1.0
        x, y = c.bank + c.banks / 2, c.wavefront + 0.5
        axes.text(x, y, c.text, ha="center", va="center", color=BLACK, fontsize=size * shrink)


def _draw_legend(figure: Figure) -> None:
    """Say what the fillings mean."""
    marks = [
        Patch(facecolor=SKY, edgecolor=PAPER, label="lane served at once"),
        Patch(facecolor=GREEN, edgecolor=PAPER, label="several lanes, same word: broadcast"),
        Patch(facecolor=ORANGE, edgecolor=PAPER, label="had to wait for its bank"),
        Patch(facecolor=PAPER, edgecolor=FAINT, label="idle bank"),
    ]
    figure.legend(handles=marks, loc="lower center", ncols=4, frameon=False, fontsize=9)
