"""Colours, marks and figures shared by every picture of the course.

The colours are the eight of Okabe and Ito ("Color Universal Design", 2008), which stay distinct for the
common kinds of colour blindness. Nothing is told by colour alone: waste is hatched, evidence has its own
mark.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

BLACK = "#000000"
ORANGE = "#E69F00"
SKY = "#56B4E9"
GREEN = "#009E73"
YELLOW = "#F0E442"
BLUE = "#0072B2"
VERMILION = "#D55E00"
PURPLE = "#CC79A7"
OKABE_ITO = (BLUE, ORANGE, GREEN, VERMILION, SKY, PURPLE, YELLOW, BLACK)

INK = "#333333"
FAINT = "#D9D9D9"
PAPER = "#FFFFFF"

# What each label of evidence looks like. A dashed line is a model, a filled point was recorded on a named
# GPU, an open point was measured just now, a bare solid line or bar was counted.
EVIDENCE = {
    "counted": {"linestyle": "-", "marker": "", "linewidth": 2.0},
    "modelled": {"linestyle": "--", "marker": "", "linewidth": 1.8},
    "recorded": {"linestyle": "", "marker": "o", "markersize": 6.0},
    "measured": {
        "linestyle": "",
        "marker": "o",
        "markersize": 7.0,
        "markerfacecolor": "none",
        "markeredgewidth": 1.6,
    },
}

_lent: ContextVar[Iterator[Figure] | None] = ContextVar("_lent", default=None)


def evidence_style(evidence: str) -> dict:
    """Return the ``Axes.plot`` keywords for "counted", "modelled", "recorded" or "measured"."""
    if evidence not in EVIDENCE:
        raise ValueError(f"unknown evidence {evidence!r}; use one of {', '.join(EVIDENCE)}")
    return dict(EVIDENCE[evidence])


def new_figure(width: float = 9.0, height: float = 3.2) -> Figure:
    """Return an empty figure of the given size in inches.

    Inside ``reused`` (that is, behind a slider) it is a figure drawn before, cleared; elsewhere a new
    pyplot one.
    """
    lent = _lent.get()
    if lent is None:
        return plt.figure(figsize=(width, height), facecolor=PAPER)
    figure = next(lent)
    figure.clear()
    figure.set_size_inches(width, height)
    return figure


@contextmanager
def reused(pool: list[Figure]) -> Iterator[None]:
    """Make ``new_figure`` hand out the figures of ``pool`` in order, so that redrawing opens none.

    The pool grows when one drawing asks for more figures than it holds. pyplot does not know these figures.
    """

    def lend() -> Iterator[Figure]:
        yield from pool
        while True:
            pool.append(Figure(facecolor=PAPER))
            yield pool[-1]

    token = _lent.set(lend())
    try:
        yield
    finally:
        _lent.reset(token)


def clean(axes: Axes, grid: str | None = None) -> Axes:
    """Take the top and right frame away; ``grid`` is None, "x", "y" or "both"."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(colors=INK, labelsize=9)
    if grid:
        axes.grid(axis=grid, color=FAINT, linewidth=0.8)
        axes.set_axisbelow(True)
    return axes


def boxes(
    axes: Axes, left: ArrayLike, bottom: ArrayLike, width: ArrayLike, height: ArrayLike, **style: Any
) -> PolyCollection:
    """Draw many rectangles as one collection: arrays (or numbers) of left, bottom, width and height."""
    left, bottom, width, height = np.broadcast_arrays(left, bottom, width, height)
    right, top = left + width, bottom + height
    corners = np.stack([left, bottom, left, top, right, top, right, bottom], axis=-1).reshape(-1, 4, 2)
    return axes.add_collection(PolyCollection(corners, **style), autolim=False)


def lane_colours(lanes: int = 32) -> np.ndarray:
    """Return an RGBA row per lane, from light to dark blue: shape (lanes, 4)."""
    return plt.get_cmap("Blues")(np.linspace(0.35, 0.9, lanes))


def draw_lane_row(axes: Axes, active: np.ndarray, step: float, bottom: float, height: float) -> None:
    """A row of 32 numbered boxes ``step`` wide from x = 0; ``active`` lanes are coloured."""
    faces = np.ones((32, 4))
    faces[active] = lane_colours()[active]
    boxes(axes, np.arange(32) * step, bottom, step, height, facecolors=faces, edgecolors=INK, linewidths=0.6)
    for lane in range(32):
        colour = PAPER if lane in active and lane > 14 else BLACK
        x, y = (lane + 0.5) * step, bottom + 0.48 * height
        axes.text(x, y, str(lane), ha="center", va="center", color=colour, fontsize=8)


def draw_threads(
    axes: Axes, lanes: np.ndarray, top_x: Iterable[float], top_y: float, end_x: Iterable[float], end_y: float
) -> None:
    """A line in the colour of its lane for every lane, from its ``top_x`` to its ``end_x``."""
    ends = [[(a, top_y), (b, end_y)] for a, b in zip(top_x, end_x, strict=True)]
    axes.add_collection(LineCollection(ends, colors=lane_colours()[lanes], linewidths=1.3), autolim=False)


def as_warp(addresses: ArrayLike, active: ArrayLike | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Addresses (int64) and active mask of one warp, each of shape (1, 32); missing lanes are inactive.

    Raises ValueError for more than 32 addresses, for a mask of another shape, and when no lane is active.
    """
    given = np.asarray(addresses, dtype=np.int64).reshape(-1)
    mask = np.ones(given.size, bool) if active is None else np.asarray(active, bool).reshape(-1)
    if given.size > 32 or mask.size != given.size:
        raise ValueError(f"a warp has 32 lanes; got {given.size} addresses and a mask of {mask.size}")
    if not mask.any():
        raise ValueError("no lane is active, so there is nothing to draw")
    missing = 32 - given.size
    return np.pad(given, (0, missing))[None], np.pad(mask, (0, missing))[None]


def number_text(value: float, digits: int = 3) -> str:
    """Write a number as people read it: ``12345`` -> ``12,345``, ``0.80000`` -> ``0.8``."""
    if float(value).is_integer():
        return f"{int(value):,}"
    return f"{value:,.0f}" if abs(value) >= 10**digits else f"{value:.{digits}g}"
