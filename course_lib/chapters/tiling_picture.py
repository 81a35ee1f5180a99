"""Chapter 02, the picture: which elements a tile loads, and how often requests bring each byte of A and B.

The requests follow from the index expressions of the kernels in `tiling_kernels`; the tests hold their sums
against the sectors that the emulator counts.
"""

from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from ..pictures.style import BLACK, INK, ORANGE, PAPER, new_figure, number_text

FLOATS = 8  # per sector
SPAN = 32  # threads per side of an untiled block
ACTIVE = 2  # the block, and the step, that the picture outlines


@dataclass(frozen=True)
class Requests:
    """Load requests for one matrix: element numbers per lane, shape (requests, 32), -1 for an idle lane; each
    of them is made `times` times in the launch."""

    elements: np.ndarray
    times: int

    def per_sector(self, count: int) -> np.ndarray:
        """How often each of the first `count` sectors is brought, shape (count,)."""
        sectors = np.sort(np.where(self.elements < 0, -1, self.elements // FLOATS), axis=1)
        first = np.diff(sectors, axis=1, prepend=-1) > 0
        return self.times * np.bincount(sectors[first], minlength=count)


def untiled(mapping: str, n: int) -> tuple[Requests, Requests]:
    """Requests for A and for B of the kernel "naive" or "coalesced", for an n that 32 divides."""
    lane, k, line = np.arange(32), np.arange(n), np.arange(n).reshape(-1, 32)
    one = np.full(32, -1) + (lane == 0)  # lane 0 alone: all lanes ask for the same element
    blocks = n // SPAN
    if mapping == "naive":  # the lanes of a warp: 32 rows of one column
        a = line[:, None, :] * n + k[None, :, None]
        b = np.where(one < 0, -1, np.arange(n * n)[:, None])
        return Requests(a.reshape(-1, 32), n), Requests(b, blocks)
    a = np.where(one < 0, -1, np.arange(n * n)[:, None])
    b = k[:, None, None] * n + line[None]
    return Requests(a, blocks), Requests(b.reshape(-1, 32), n)


def tiled(n: int, tile: int, pitch: int | None = None) -> tuple[Requests, Requests]:
    """Requests for A and for B of the tiled kernels; rows start `pitch` (left out: n) elements apart."""
    pitch, blocks = pitch or n, -(-n // tile)
    y, x = np.divmod(np.arange(-(-(tile**2) // 32) * 32), tile)
    down, right = (tile * np.arange(blocks)[:, None] + part for part in (y, x))
    row, column = np.broadcast_arrays(down[:, None, :], right[None, :, :])
    outside = (row >= n) | (column >= n) | (y >= tile)
    elements = np.where(outside, -1, row * pitch + column).reshape(-1, 32)
    return Requests(elements, blocks), Requests(elements, blocks)


def reads(requests: Requests, n: int, pitch: int | None = None) -> np.ndarray:
    """How often requests bring the sector of each element, shape (n, n)."""
    pitch = pitch or n
    rows, columns = np.indices((n, n))
    sectors = (rows * pitch + columns) // FLOATS
    return requests.per_sector(int(sectors.max()) + 1)[sectors]


def tile_picture(n: int, tile: int, pitch: int | None = None) -> Figure:
    """A, B and C of the tiled product: what a block loads in one step, and how often each byte is read."""
    t, at, step = tile, min(ACTIVE, -(-n // tile) - 1), min(1, -(-n // tile) - 1)
    left = [(0, at * t, n, t, False), (step * t, at * t, t, t, True)]  # x, y, width, height, loaded now
    above = [(at * t, 0, t, n, False), (at * t, step * t, t, t, True)]
    both = tiled(n, tile, pitch)
    maps = [reads(one, n, pitch) for one in both]
    rows = "" if pitch in (None, n) else f"\nrows {pitch} floats apart"
    return _picture(f"Tiles of {t} x {t}, n = {n}, counted{rows}", maps, left, above, (at * t, at * t, t, t))


def untiled_picture(mapping: str, n: int = 64) -> Figure:
    """The same for an untiled kernel: what one warp asks for in one step of its loop."""
    at, k = SPAN, 20
    wide, high = (0, at, n, 1), (at, 0, SPAN, n)
    left, above, out = [(*wide, False), (k, at, 1, 1, True)], [(*high, False), (at, k, SPAN, 1, True)], SPAN
    c = (at, at, out, 1)
    if mapping == "naive":
        left, above = (
            [(0, at, n, SPAN, False), (k, at, 1, SPAN, True)],
            [(at, 0, 1, n, False), (at, k, 1, 1, True)],
        )
        c = (at, at, 1, SPAN)
    maps = [reads(one, n) for one in untiled(mapping, n)]
    return _picture(f"{mapping}, one warp, n = {n}, counted", maps, left, above, c)


def _picture(title: str, maps: list[np.ndarray], left: list, above: list, c: tuple) -> Figure:
    """A at the lower left, B at the upper right, C at the lower right, as one multiplies by hand."""
    n = len(maps[0])
    figure = new_figure(9.0, 7.0)
    places = ((0.07, 0.04, 0.4, 0.43), (0.5, 0.51, 0.4, 0.43), (0.5, 0.04, 0.4, 0.43))
    axes = [figure.add_axes(place) for place in places]
    norm = LogNorm(1, 8 * n)
    for one, name, values, parts in zip(axes, "AB", maps, (left, above), strict=False):
        drawn = one.imshow(values, cmap="Blues", norm=norm, interpolation="nearest")
        _outline(one, name, n, parts)
        one.set_title(f"{name}: each byte read {_range(values)}", fontsize=10, color=BLACK, pad=4)
    axes[2].imshow(np.zeros((n, n)), cmap="Greys", vmin=0, vmax=1)
    _outline(axes[2], "C", n, [(*c, True)])
    bar = figure.colorbar(drawn, cax=figure.add_axes((0.92, 0.04, 0.018, 0.9)))
    ticks = [2**power for power in range(int(np.log2(8 * n)) + 1)]
    bar.set_ticks(ticks, labels=[str(tick) for tick in ticks])
    bar.minorticks_off()
    bar.set_label("times that requests bring a byte", color=INK)
    asked = sum(values.sum() for values in maps) / (2 * n * n)
    words = [
        "orange: loaded together, in one step",
        "hatched: loaded by the same threads in other steps",
        f"on average a byte is read {number_text(float(asked))} times",
        f"{2 * n} elements make one element of C",
    ]
    figure.text(0.07, 0.88, title, fontsize=12, fontweight="bold", color=BLACK, linespacing=1.5)
    figure.text(0.07, 0.85, "\n".join(words), fontsize=9.5, color=INK, va="top", linespacing=1.6)
    return figure


def _range(values: np.ndarray) -> str:
    low, high = int(values.min()), int(values.max())
    return f"{number_text(low)} times" if low == high else f"{number_text(low)} to {number_text(high)} times"


def _outline(axes: Axes, name: str, n: int, parts: list[tuple]) -> None:
    """The parts (x, y, width, height, loaded now): orange if so, else hatched."""
    for x, y, width, height, now in parts:
        look = {"facecolor": ORANGE, "edgecolor": BLACK, "linewidth": 1.2 if min(width, height) > 1 else 0.5}
        if not now:
            look = {"facecolor": "none", "edgecolor": INK, "linewidth": 0.8, "hatch": "///"}
        axes.add_patch(Rectangle((x - 0.5, y - 0.5), min(width, n - x), min(height, n - y), **look))
    axes.set_xticks([0, n - 1])
    axes.set_yticks([0, n - 1])
    axes.tick_params(labelsize=8, colors=INK, length=2)
    axes.text(
        0.02, 0.97, name, transform=axes.transAxes, va="top", fontsize=14, fontweight="bold", color=BLACK,
        bbox={"facecolor": PAPER, "edgecolor": "none", "pad": 1.5, "alpha": 0.85},
    )  # fmt: skip
