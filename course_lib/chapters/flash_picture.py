"""Chapter 08, the picture: tiles sweep the score matrix, and each query carries a maximum and a sum along."""

from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from ..pictures.style import BLACK, BLUE, FAINT, GREEN, INK, ORANGE, clean, new_figure, number_text

LOWEST = np.finfo(np.float32).min


@dataclass(frozen=True)
class State:
    """What a query carries after a tile: maximum, sum, and by how much the sum before was rescaled."""

    top: float
    sum: float
    keep: float


def running(scores: np.ndarray, keys: int) -> list[State]:
    """The states of one query after each tile of `keys` scores (float32); LOWEST marks a hidden key."""
    top, total, found = np.float32(LOWEST), np.float32(0), []
    for first in range(0, len(scores), keys):
        tile = scores[first : first + keys].astype(np.float32)
        before, top = top, max(top, tile.max())
        keep = np.exp(before - top, dtype=np.float32)
        total = total * keep + np.where(tile > LOWEST, np.exp(tile - top), 0).sum(dtype=np.float32)
        found.append(State(float(top), float(total), float(keep)))
    return found


def sweep_picture(
    scores: np.ndarray, queries: int, keys: int, block: int, step: int, shift: int | None = None
) -> Figure:
    """The score matrix (nq, nk), the tile that block `block` works on in step `step`, and below it the
    running maximum and sum of the block's middle query. Query i sees key j if j <= i + shift; None: all."""
    nq, nk = scores.shape
    i, j = np.indices(scores.shape)
    seen = j <= i + (nk if shift is None else shift)
    row = min(block * queries + queries // 2, nq - 1)
    states = running(np.where(seen[row], scores[row], LOWEST), keys)
    figure = new_figure(9.0, 6.4)
    over = figure.add_axes((0.09, 0.4, 0.89, 0.52))
    _matrix(over, np.where(seen, scores, np.nan), (queries, keys), (block, step), row)
    titles = (f"maximum of query {row}", f"sum of query {row}")
    for k, name in enumerate(titles):
        axes = clean(figure.add_axes((0.09, 0.235 - 0.165 * k, 0.89, 0.125)), grid="y")
        values = [state.sum if k else state.top for state in states]
        _steps(axes, [v if v > LOWEST else np.nan for v in values], keys, nk, step, GREEN if k else BLUE)
        axes.set_ylabel(name.replace(" of ", "\nof "), fontsize=8.5, color=INK)
        if k:
            _rescaled(axes, states, keys, nk, step)
    axes.set_xlabel("key", color=INK)
    axes.xaxis.set_tick_params(labelbottom=True)
    say = f"block {block}, tile {step + 1} of {len(states)}"
    over.set_title(f"{say}: {queries} queries, {keys} keys", color=BLACK, fontsize=12, fontweight="bold")
    return figure


def _matrix(axes: Axes, scores: np.ndarray, tile: tuple[int, int], at: tuple[int, int], row: int) -> None:
    """Scores in blue, tiles that are done outlined in grey, the one at work in orange, hidden keys blank."""
    (queries, keys), (block, step), (nq, nk) = tile, at, scores.shape
    axes.imshow(scores, cmap="Blues", aspect="auto", extent=(0, nk, nq, 0), interpolation="nearest")
    for x in range(0, nk, keys):
        axes.axvline(x, color=FAINT, linewidth=0.6)
    for y in range(0, nq, queries):
        axes.axhline(y, color=FAINT, linewidth=0.9)
    high = min(queries, nq - block * queries)
    for t in range(step + 1):
        wide = min(keys, nk - t * keys)
        now = {"edgecolor": ORANGE, "linewidth": 3.0} if t == step else {"edgecolor": INK, "linewidth": 1.0}
        hatch = None if t == step else "//"
        place = (t * keys, block * queries)
        axes.add_patch(
            Rectangle(place, wide, high, facecolor="none", hatch=hatch, zorder=3 + (t == step), **now)
        )
    axes.plot([0, nk], [row + 0.5, row + 0.5], color=GREEN, linewidth=1.6, zorder=5)
    axes.set_ylabel("query", color=INK)
    axes.tick_params(labelsize=8, colors=INK, labelbottom=False)


def _steps(axes: Axes, values: list[float], keys: int, nk: int, step: int, colour: str) -> None:
    """Values after each tile up to `step`, drawn over the tile's keys; the rest is still to come."""
    for t, value in enumerate(values):
        ends = [t * keys, min((t + 1) * keys, nk)]
        done = t <= step
        axes.plot(ends, [value, value], color=colour if done else FAINT, linewidth=3 if done else 1.5)
    axes.set_xlim(0, nk)
    low, high = np.nanmin([*values, 0]), np.nanmax([*values, 0])
    axes.set_ylim(low - 0.15 * (high - low), high + 0.45 * (high - low))
    axes.tick_params(labelsize=8, labelbottom=False)


def _rescaled(axes: Axes, states: list[State], keys: int, nk: int, step: int) -> None:
    """By how much the sum was rescaled as each tile came."""
    for t, state in enumerate(states[: step + 1]):
        if t and state.keep < 1:
            text = f"x {number_text(state.keep, 2)}"
            height = axes.get_ylim()[1]
            axes.text(t * keys, height, text, ha="left", va="top", fontsize=8.5, color=BLACK)
