"""Chapter 04, the picture: the timeline of one warp, its lanes down and the instructions it issued across."""

from collections.abc import Sequence
from textwrap import shorten

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from ..pictures.style import (
    BLACK,
    BLUE,
    GREEN,
    INK,
    ORANGE,
    PAPER,
    PURPLE,
    SKY,
    VERMILION,
    boxes,
    clean,
    new_figure,
    number_text,
)
from ..timeline import Step, Timeline

COLOURS = (BLUE, ORANGE, GREEN, PURPLE, SKY, VERMILION)
REST = "#9A9A9A"
HATCH = "#BBBBBB"
LEAST_SHARE = 0.12  # of the instructions: lines with fewer are drawn as the rest
LANES = 32


def lane_timeline(found: Timeline, title: str = "", *, lines: Sequence[int] = (), room: int = 0) -> Figure:
    """Draw a warp's steps from left to right, as wide as they have instructions; idle lanes are hatched.

    `lines`: source lines that get a colour each; left out, those with an eighth of the instructions or more.
    `room`: instructions the axis has room for at least, so that a slider's pictures can be compared.
    """
    figure = new_figure(9.0, 4.3)
    axes = clean(figure.add_axes((0.065, 0.3, 0.92, 0.6)))
    colours = dict(zip(lines, COLOURS, strict=False)) or line_colours(found)
    _draw_steps(axes, found.steps, colours)
    axes.set_xlim(0, max(room, found.instructions, 1))
    axes.set_ylim(LANES, 0)
    axes.set_yticks([0.5, 8.5, 16.5, 24.5, 31.5], ["0", "8", "16", "24", "31"])
    axes.set_ylabel("lane", color=INK)
    axes.set_xlabel("warp instructions issued, in order (counted, PTX)", color=INK)
    caption = timeline_caption(found)
    axes.set_title(f"{title}: {caption}" if title else caption, color=BLACK, fontsize=12, fontweight="bold")
    _draw_legend(figure, found, colours)
    return figure


def timeline_caption(found: Timeline) -> str:
    """The counts in one phrase, such as "137 instructions, 19.2 of 32 lanes active on average"."""
    lanes = f"{found.active_lanes:.1f} of 32 lanes active on average"
    return f"{number_text(found.instructions)} instructions, {lanes}"


def line_colours(found: Timeline) -> dict[int, str]:
    """A colour for each source line with a fair share of the instructions, in the order of the source."""
    total: dict[int, int] = {}
    for step in found.steps:
        total[step.line] = total.get(step.line, 0) + step.instructions
    least = LEAST_SHARE * found.instructions
    chosen = sorted((line for line in total if line and total[line] >= least), key=lambda line: -total[line])
    return dict(zip(sorted(chosen[: len(COLOURS)]), COLOURS, strict=False))


def _draw_steps(axes: Axes, steps: Sequence[Step], colours: dict[int, str]) -> None:
    """A row per lane: one box for each stretch in which it does the same, filled, or hatched where idle."""
    if not steps:
        return
    edges = np.cumsum([0, *(step.instructions for step in steps)])
    kinds = list(colours)
    busy_kind = [kinds.index(step.line) if step.line in kinds else len(kinds) for step in steps]
    faces = np.array([*colours.values(), REST])
    stretches: list[tuple[int, int, int, int]] = []
    for lane in range(LANES):
        kind = np.array([k if s.active[lane] else -1 for k, s in zip(busy_kind, steps, strict=True)])
        starts = np.flatnonzero(np.r_[True, kind[1:] != kind[:-1]])
        ends = np.r_[starts[1:], len(kind)]
        stretches += [
            (edges[a], lane, edges[b] - edges[a], kind[a]) for a, b in zip(starts, ends, strict=True)
        ]
    left, lane, width, kind = map(np.array, zip(*stretches, strict=True))
    idle = kind < 0
    boxes(axes, left[~idle], lane[~idle], width[~idle], 1, facecolors=faces[kind[~idle]], edgecolors="none")
    if idle.any():
        hatched = {"facecolors": PAPER, "edgecolors": HATCH, "hatch": "////", "linewidths": 0}
        boxes(axes, left[idle], lane[idle], width[idle], 1, **hatched)
    axes.hlines(np.arange(1, LANES), 0, edges[-1], color=PAPER, linewidth=0.4)


def _draw_legend(figure: Figure, found: Timeline, colours: dict[int, str]) -> None:
    """Which colour is which line of the source."""
    marks = [
        Patch(facecolor=colour, label=f"line {line}: {shorten(found.text(line), 60, placeholder=' …')}")
        for line, colour in colours.items()
    ]
    marks.append(Patch(facecolor=REST, label="other lines"))
    marks.append(Patch(facecolor=PAPER, edgecolor=HATCH, hatch="////", label="idle lane"))
    figure.legend(handles=marks, loc="lower center", ncols=2, frameon=False, fontsize=8.5)
