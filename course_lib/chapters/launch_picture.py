"""Chapter 11, the picture: the host, the two copy engines and the SMs, side by side in time."""

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from ..pictures.style import BLACK, BLUE, FAINT, GREEN, INK, ORANGE, PAPER, SKY, boxes, clean, new_figure
from .launch_timeline import HOST, IN, OUT, ROWS, SM, Bar, Schedule

_COLOURS = {HOST: ORANGE, IN: SKY, SM: BLUE, OUT: GREEN}
_MEANING = {HOST: "host works", IN: "copy to the GPU", SM: "kernel", OUT: "copy to the host"}
_EDGES = 0.012  # of the time: bars have a border if one in the row is longer


def gantt(schedules: Mapping[str, Schedule], title: str) -> Figure:
    """One panel a schedule, all on one scale of time; rows that no schedule uses are left out.

    A host that waits is hatched; what nobody does is grey. Bars too thin for a border are not moved to whole
    dots either: many together look paler, by the share of time that they fill.
    """
    rows = [row for row in ROWS if any(bar.row == row for one in schedules.values() for bar in one.bars)]
    height = 0.27 * len(rows)
    whole = 1.05 + (height + 0.36) * len(schedules)
    figure = new_figure(9.0, whole)
    longest = max(one.end for one in schedules.values())
    unit, factor = ("ms", 1e-3) if longest >= 1000 else ("µs", 1.0)
    for number, (name, one) in enumerate(schedules.items()):
        bottom = (whole - 0.3 - (height + 0.36) * (number + 1)) / whole
        axes = clean(figure.add_axes((0.1, bottom, 0.88, height / whole)))
        _draw(axes, one, rows, factor, longest)
        axes.set_xlim(0, longest * factor)
        axes.set_ylim(len(rows), 0)
        axes.set_yticks(np.arange(len(rows)) + 0.5, rows)
        axes.tick_params(axis="y", length=0, labelsize=9)
        axes.tick_params(labelbottom=number == len(schedules) - 1)
        axes.set_title(f"{name}: {said(one)}", loc="left", color=INK, fontsize=9.5, pad=3)
    axes.set_xlabel(f"time ({unit})", color=INK, labelpad=1)
    _legend(figure, rows)
    figure.suptitle(title, x=0.54, y=1 - 0.05 / whole, color=BLACK, fontsize=12, fontweight="bold", va="top")
    return figure


def said(one: Schedule) -> str:
    """When it is done, and for how much of that time the SMs work."""
    end = f"{one.end / 1e3:.2f} ms" if one.end >= 1000 else f"{one.end:.0f} µs"
    return f"done after {end}; SMs work {one.busy(SM) / one.end:.0%} of it" if one.end else "nothing to do"


def _draw(axes: Axes, one: Schedule, rows: list[str], factor: float, longest: float) -> None:
    boxes(axes, 0, np.arange(len(rows)) + 0.08, one.end * factor, 0.84, facecolors=FAINT, linewidths=0)
    for number, row in enumerate(rows):
        bars = [bar for bar in one.bars if bar.row == row]
        works = [bar for bar in bars if bar.label != "waits"]
        widest = max((bar.end - bar.start for bar in works), default=0.0)
        wide = widest > _EDGES * longest
        edge = {"edgecolors": PAPER, "linewidths": 0.6} if wide else {"linewidths": 0.0, "snap": False}
        _fill(axes, works, number, factor, _COLOURS[row], **edge)
        waits = {"edgecolors": ORANGE, "linewidths": 0.6, "hatch": "////"}
        _fill(axes, [b for b in bars if b.label == "waits"], number, factor, PAPER, **waits)


def _fill(axes: Axes, bars: list[Bar], row: int, factor: float, colour: str, **style) -> None:
    if bars:
        start = factor * np.array([bar.start for bar in bars])
        length = factor * np.array([bar.end for bar in bars]) - start
        boxes(axes, start, row + 0.08, length, 0.84, facecolors=colour, **style)


def _legend(figure: Figure, rows: list[str]) -> None:
    marks = [Patch(facecolor=_COLOURS[row], label=_MEANING[row]) for row in rows]
    marks.append(Patch(facecolor=PAPER, edgecolor=ORANGE, hatch="////", label="host waits"))
    marks.append(Patch(facecolor=FAINT, label="idle"))
    figure.legend(handles=marks, loc="lower right", ncols=len(marks), frameon=False, fontsize=8.5)
