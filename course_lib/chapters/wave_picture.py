"""Chapter 07, the picture: which place on which SM works when, the tail coloured."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from ..pictures.style import (
    BLACK,
    BLUE,
    FAINT,
    INK,
    ORANGE,
    PAPER,
    SKY,
    boxes,
    clean,
    new_figure,
    number_text,
)
from .waves import Turn, finish

MARK_EDGES = 40  # places up to which each block has a border


def tail_start(turns: Sequence[Turn]) -> float:
    """When the first of the places that had work has none left: what runs later is the tail."""
    last: dict[int, float] = {}
    for turn in turns:
        last[turn.place] = max(last.get(turn.place, 0.0), turn.end)
    return min(last.values())


def used(turns: Sequence[Turn], places: int) -> float:
    """The share of all places' time, until the last block ends, in which they work."""
    return sum(turn.end - turn.start for turn in turns) / (places * finish(turns))


def gantt(
    plans: Mapping[str, Sequence[Turn]],
    places: int,
    title: str,
    *,
    unit: str = "time",
    place: str = "SM",
    piece: str = "block",
) -> Figure:
    """Draw one panel a plan: places upwards, time to the right, one box a `piece` of work.

    All panels share the time. Pieces are blue, light and dark by turns; what runs after the first place ran
    out of work is orange and hatched; an idle place is grey.
    """
    height = 1.75 if places > 12 else 1.35
    figure = new_figure(9.0, 0.95 + (height + 0.3) * len(plans))
    whole, longest = figure.get_size_inches()[1], max(finish(turns) for turns in plans.values())
    for row, (name, turns) in enumerate(plans.items()):
        bottom = (whole - 0.15 - (height + 0.3) * (row + 1)) / whole
        axes = clean(figure.add_axes((0.08, bottom, 0.9, height / whole)))
        _draw(axes, turns, places)
        axes.set_xlim(0, longest)
        axes.set_ylim(places, 0)
        axes.set_yticks([0.5, places - 0.5], ["0", str(places - 1)])
        axes.set_ylabel(place, color=INK, labelpad=-4)
        axes.tick_params(labelbottom=row == len(plans) - 1)
        said = f"{name}: done at {number_text(finish(turns))}, {used(turns, places):.0%} of the time used"
        axes.set_title(said, loc="left", color=INK, fontsize=9.5, pad=3)
    axes.set_xlabel(unit, color=INK, labelpad=1)
    _legend(figure, piece)
    figure.suptitle(title, x=0.53, y=1 - 0.06 / whole, color=BLACK, fontsize=12, fontweight="bold", va="top")
    return figure


def _draw(axes: Axes, turns: Sequence[Turn], places: int) -> None:
    """Grey ground, then the boxes; a block that the tail cuts in two is drawn in both colours."""
    end, begin = finish(turns), tail_start(turns)
    start, stop, where, wave = (
        np.array([getattr(turn, name) for turn in turns]) for name in ("start", "end", "place", "wave")
    )
    edge = {"edgecolors": PAPER, "linewidths": 0.8 if places <= MARK_EDGES else 0}
    boxes(axes, 0, np.arange(places), end, 1, facecolors=FAINT, **edge)
    for parity, colour in enumerate((SKY, BLUE)):
        some = (wave % 2 == parity) & (start < begin)
        _fill(axes, start[some], np.minimum(stop, begin)[some], where[some], facecolors=colour, **edge)
    some = stop > begin
    hatched = {"facecolors": ORANGE, "hatch": "///", "edgecolors": PAPER, "linewidths": edge["linewidths"]}
    _fill(axes, np.maximum(start, begin)[some], stop[some], where[some], **hatched)


def _fill(axes: Axes, start: np.ndarray, stop: np.ndarray, place: np.ndarray, **style) -> None:
    if start.size:
        boxes(axes, start, place, stop - start, 1, **style)


def _legend(figure: Figure, piece: str) -> None:
    """What the colours mean, below the last panel; `piece`: what a box stands for."""
    marks = [
        Patch(facecolor=SKY, label=piece),
        Patch(facecolor=BLUE, label="the next one there"),
        Patch(facecolor=ORANGE, hatch="///", edgecolor=PAPER, label="tail: others have no work left"),
        Patch(facecolor=FAINT, label="idle"),
    ]
    figure.legend(handles=marks, loc="lower right", ncols=4, frameon=False, fontsize=9)
