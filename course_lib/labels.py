"""Where to put a text beside each point so that no two texts, and no text and point, lie on each other."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from .pictures.style import BLACK

SIZE = 9  # the usual font size, in points
# How wide a letter is and how high a line, in units of the font size (DejaVu Sans, on the safe side).
LETTER, LINE = 0.66, 1.3
# Directions to try, the nearest and most usual first: right, left, above, below, then the diagonals.
_DIRECTIONS = ((1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (1, -1), (-1, 1), (-1, -1))


@dataclass(frozen=True)
class Box:
    """A rectangle in points (1/72 inch)."""

    left: float
    bottom: float
    right: float
    top: float

    def overlap(self, other: "Box") -> float:
        """The common area, 0 if they do not touch."""
        width = min(self.right, other.right) - max(self.left, other.left)
        height = min(self.top, other.top) - max(self.bottom, other.bottom)
        return max(width, 0) * max(height, 0)

    def outside(self, frame: "Box") -> float:
        """How much of the area lies outside the frame."""
        return (self.right - self.left) * (self.top - self.bottom) - self.overlap(frame)


def text_box(left: float, bottom: float, text: str, size: float) -> Box:
    """The box a text of one or more lines needs at a font size in points."""
    lines = text.split("\n")
    return Box(left, bottom, left + max(map(len, lines)) * LETTER * size, bottom + len(lines) * LINE * size)


def place(
    points: Sequence[tuple[float, float]],
    texts: Sequence[str],
    size: float,
    frame: Box,
    taken: Sequence[Box] = (),
) -> list[Box]:
    """A box for each text near its point, chosen one after the other where it covers least.

    Args:
        points: positions in points (1/72 inch).
        texts: one text per point.
        size: font size in points.
        frame: where texts may lie.
        taken: boxes that must stay free.
    """
    marks = [Box(x - size / 2, y - size / 2, x + size / 2, y + size / 2) for x, y in points]
    placed: list[Box] = []
    for (x, y), text in zip(points, texts, strict=True):
        blocked = [*marks, *taken, *placed]
        candidates = [_beside(x, y, text, size, way, steps) for steps in range(1, 16) for way in _DIRECTIONS]
        placed.append(min(candidates, key=lambda box: _cost(box, blocked, frame)))
    return placed


def _beside(x: float, y: float, text: str, size: float, way: tuple[int, int], steps: int) -> Box:
    """The text's box, `steps` font sizes away from the point in one direction."""
    box = text_box(0, 0, text, size)
    reach = size * (0.3 + 0.6 * steps)
    left = x + (way[0] * reach if way[0] else 0) - box.right * (1 - way[0]) / 2
    bottom = y + (way[1] * reach if way[1] else 0) - box.top * (1 - way[1]) / 2
    return Box(left, bottom, left + box.right, bottom + box.top)


def _cost(box: Box, blocked: Sequence[Box], frame: Box) -> float:
    return sum(map(box.overlap, blocked)) + 10 * box.outside(frame)


def write(axes: Axes, text: str, x: float, y: float, **style: Any) -> None:
    """A text at a place given in points (1/72 inch) from the figure's lower left corner."""
    axes.annotate(
        text, (x, y), xycoords="figure points", color=BLACK, fontsize=SIZE, linespacing=1.15, **style
    )


def in_points(axes: Axes, x: Sequence[float], y: Sequence[float]) -> list[tuple[float, float]]:
    """Data coordinates as points from the figure's lower left corner. Set scales and limits first."""
    pixels = axes.transData.transform(np.column_stack([x, y]))
    return [(float(px), float(py)) for px, py in pixels * 72 / axes.figure.dpi]


def frame(axes: Axes) -> Box:
    """The axes as a box in points."""
    box, scale = axes.get_window_extent(), 72 / axes.figure.dpi
    return Box(box.x0 * scale, box.y0 * scale, box.x1 * scale, box.y1 * scale)
