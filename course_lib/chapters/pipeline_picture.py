"""Chapter 10, the picture: which tile is in flight into which buffer, and which one is used, over time."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from ..pictures.style import BLACK, BLUE, FAINT, INK, ORANGE, PAPER, SKY, boxes, clean, new_figure
from .pipelines import Scheme, Span

ROW = 0.3  # inches of a buffer
NARROW = 0.03  # share of the picture's width below which a box has no number
Plan = tuple[Scheme, Sequence[Span]]


def timeline(plans: Mapping[str, Plan], until: float, title: str, *, mark: bool = True) -> Figure:
    """Draw one panel a plan: a row for each buffer, clocks of the SM to the right, up to `until`.

    Light and hatched: a tile is in flight into the buffer; dark: its use, with the tile's number. A line
    through all rows is a `__syncthreads()` (unless not `mark`). A plan without spans is empty rows.
    """
    heights = [ROW * scheme.buffers for scheme, _ in plans.values()]
    whole = 0.95 + sum(heights) + 0.42 * len(plans)
    figure, top = new_figure(9.0, whole), 0.42
    for number, ((name, (scheme, spans)), height) in enumerate(zip(plans.items(), heights, strict=True)):
        top += 0.3
        bottom = (whole - top - height) / whole
        axes = clean(figure.add_axes((0.09, bottom, 0.89, height / whole)))
        _draw(axes, scheme, spans, until, mark)
        axes.set_title(name, loc="left", color=INK, fontsize=9.5, pad=3)
        axes.tick_params(labelbottom=number == len(plans) - 1)
        top += height + 0.1
    axes.set_xlabel("clocks of the SM", color=INK, labelpad=1)
    _legend(figure, mark)
    figure.suptitle(title, x=0.53, y=1 - 0.06 / whole, color=BLACK, fontsize=12, fontweight="bold", va="top")
    return figure


def _draw(axes: Axes, scheme: Scheme, spans: Sequence[Span], until: float, mark: bool) -> None:
    """The buffers, and the tiles of block 0 in them."""
    boxes(axes, 0, np.arange(scheme.buffers), until, 1, facecolors=FAINT, edgecolors=PAPER, linewidths=1.5)
    mine = [span for span in spans if span.block == 0 and span.asked < until]
    if mine:
        _draw_tiles(axes, scheme, mine, until, mark)
    axes.set_xlim(0, until)
    axes.set_ylim(scheme.buffers, 0)
    axes.set_yticks(np.arange(scheme.buffers) + 0.5, [f"buffer {n}" for n in range(scheme.buffers)])
    axes.tick_params(axis="y", length=0)


def _draw_tiles(axes: Axes, scheme: Scheme, mine: Sequence[Span], until: float, mark: bool) -> None:
    """What is in flight and what is used, and the barriers between."""
    row = np.array([span.tile % scheme.buffers for span in mine])
    asked, arrived, start, end = (
        np.array([getattr(span, name) for span in mine]) for name in ("asked", "arrived", "start", "end")
    )
    coming = {"facecolors": SKY, "hatch": "///", "edgecolors": PAPER, "linewidths": 1.5}
    boxes(axes, asked, row, arrived - asked, 1, **coming)
    boxes(axes, start, row, end - start, 1, facecolors=BLUE, edgecolors=PAPER, linewidths=1.5)
    for span, where in zip(mine, row, strict=True):
        if span.end < until and span.end - span.start > NARROW * until:
            middle = (span.start + span.end) / 2
            middle_row = {"ha": "center", "va": "center", "fontsize": 8.5}
            axes.text(middle, where + 0.52, str(span.tile), color=PAPER, **middle_row)
    if mark:
        axes.vlines(start, 0, scheme.buffers, color=ORANGE, linewidth=1.8)
        if scheme.at_end:
            axes.vlines(end, 0, scheme.buffers, color=ORANGE, linewidth=1.8)


def _legend(figure: Figure, mark: bool) -> None:
    """What the colours mean, below the last panel."""
    marks = [
        Patch(facecolor=SKY, hatch="///", edgecolor=PAPER, label="tile in flight"),
        Patch(facecolor=BLUE, label="tile used (its number)"),
        Patch(facecolor=FAINT, label="buffer waits"),
    ]
    if mark:
        marks.append(Line2D([], [], color=ORANGE, linewidth=1.8, label="__syncthreads()"))
    figure.legend(handles=marks, loc="lower right", ncols=4, frameon=False, fontsize=9)
