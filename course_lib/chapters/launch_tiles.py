"""Chapter 11, launch overhead: tiles of unequal work, and who gets them."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from ..pictures.style import BLACK, INK, new_figure
from .wave_picture import gantt, used
from .waves import Turn, finish, fixed_order, hardware_order

SIDE = 16


def tile_work(image: np.ndarray) -> np.ndarray:
    """Turns of the warps of each tile, added up: a warp is two rows, and its slowest lane decides."""
    across = image.shape[0] // SIDE
    warps = np.asarray(image).reshape(across, SIDE // 2, 2, across, SIDE)
    return warps.max(axis=(2, 4)).sum(axis=1).ravel()


def shares_order(costs: Sequence[float], places: int) -> list[Turn]:
    """Blocks that stay: place p takes the tiles from len p / places to len (p + 1) / places."""
    turns = []
    for place in range(places):
        now = 0.0
        for number in range(len(costs) * place // places, len(costs) * (place + 1) // places):
            turns.append(Turn(place, now, now + costs[number], number))
            now += costs[number]
    return turns


def plans(image: np.ndarray, blocks: int) -> dict[str, list[Turn]]:
    """Who does which tile when, by static shares, by turns and by a queue: modelled from counted turns."""
    costs = [float(cost) for cost in tile_work(image)]
    return {
        "shares": shares_order(costs, blocks),
        f"every {blocks}th": fixed_order(costs, blocks),
        "queue": hardware_order(costs, blocks),
    }


def show_plans(image: np.ndarray, blocks: int) -> Figure:
    """The plans, one panel each."""
    tiles = tile_work(image).size
    title = f"{tiles} tiles for {blocks} blocks that stay, modelled from the turns that were counted"
    return gantt(
        plans(image, blocks), blocks, title, unit="turns of the block's warps", place="block", piece="tile"
    )


def plan_words(image: np.ndarray, blocks: int) -> str:
    """How much of the time of all blocks each plan uses."""
    found = plans(image, blocks)
    best = min(map(finish, found.values()))
    lines = [
        f"{name}: {used(turns, blocks):.0%} of all time used, {finish(turns) / best:.2f} times the shortest"
        for name, turns in found.items()
    ]
    return "modelled\n" + "\n".join(lines)


def shared_and_queued(cp: Any, shares: Any, queue: Any, across: int, most: int) -> dict[str, Any]:
    """The image by 8 blocks with equal shares, and by 8 that draw from a queue."""
    images = {name: cp.zeros((SIDE * across,) * 2, cp.int32) for name in ("shares", "queue")}
    sizes = np.int32(across * across), np.int32(across), np.int32(most)
    shares((8,), (SIDE, SIDE), (images["shares"], *sizes))
    queue((8,), (SIDE, SIDE), (images["queue"], cp.zeros(1, cp.int32), *sizes))
    return images


def draw_tiles(image: np.ndarray) -> Figure:
    """The image, and the work of each of its tiles."""
    across = image.shape[0] // SIDE
    figure = new_figure(9.0, 3.7)
    panels = (
        (0.05, np.log2(np.asarray(image, float)), "turns of each pixel (logarithm)", "cividis"),
        (0.53, tile_work(image).reshape(across, across), "turns of the warps of each tile", "cividis"),
    )
    for left, values, title, colours in panels:
        axes = figure.add_axes((left, 0.08, 0.36, 0.8))
        shown = axes.imshow(values, cmap=colours, interpolation="nearest")
        axes.set_title(title, color=BLACK, fontsize=10.5)
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_locator(MaxNLocator(5, integer=True))
        axes.tick_params(colors=INK, labelsize=8)
        figure.colorbar(shown, ax=axes, fraction=0.045, pad=0.03).ax.tick_params(labelsize=8)
    return figure
