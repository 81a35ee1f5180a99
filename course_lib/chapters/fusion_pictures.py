"""Chapter 05, fusion: its own picture, the bytes every operation moves, before fusion and after."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..pictures.style import BLACK, BLUE, INK, ORANGE, PAPER, boxes, clean, new_figure, number_text

ROW = 0.62  # height of a bar
BY_HAND = "worked out by hand"


@dataclass(frozen=True)
class Step:
    """One kernel: what it does, and how much it reads and writes, in any unit."""

    name: str
    read: float
    written: float

    @property
    def total(self) -> float:
        """Read and written."""
        return self.read + self.written


def draw_traffic(
    plans: Mapping[str, Sequence[Step]],
    title: str,
    unit: str = "arrays",
    evidence: str = "counted",
) -> Figure:
    """One bar per kernel, plan below plan, each where the one before it ends: blue read, orange written.

    `plans`: such as {"separate": [...], "fused": [...]}; the number at the end of a plan is its total.
    """
    steps = sum(len(plan) for plan in plans.values())
    figure = new_figure(9.0, 1.15 + 0.27 * (steps + len(plans) - 1))
    axes = clean(
        figure.add_axes((0.2, 0.62 / figure.get_figheight(), 0.76, 1 - 1.02 / figure.get_figheight()))
    )
    y, longest = 0.0, max(sum(step.total for step in plan) for plan in plans.values())
    ticks: dict[float, str] = {}
    for name, plan in plans.items():
        ticks |= _draw_plan(axes, name, plan, y, longest)
        y -= len(plan) + 1
    axes.set_xlim(0, 1.22 * longest)
    axes.set_ylim(y + 1.6, 0.7)
    axes.set_yticks(list(ticks), list(ticks.values()))
    axes.set_xlabel(f"{unit} moved ({evidence})", color=INK)
    axes.set_title(title, color=BLACK, fontsize=12, fontweight="bold")
    _legend(axes)
    return figure


def _draw_plan(axes: Axes, name: str, plan: Sequence[Step], top: float, longest: float) -> dict[float, str]:
    """Bars from `top` downwards, and the names at the left as {position: text}."""
    start, ticks = 0.0, {}
    for index, step in enumerate(plan):
        y = top - index
        style = {"edgecolors": PAPER, "linewidths": 0.8}
        boxes(axes, start, y - ROW / 2, step.read, ROW, facecolors=BLUE, **style)
        if step.written:
            middle = start + step.read
            boxes(axes, middle, y - ROW / 2, step.written, ROW, facecolors=ORANGE, hatch="///", **style)
        ticks[y] = step.name
        start += step.total
    text = f"{name}: {number_text(start)}"
    axes.text(start + 0.012 * longest, y, text, va="center", color=BLACK, fontsize=9, fontweight="bold")
    return ticks


def _legend(axes: Axes) -> None:
    from matplotlib.patches import Patch

    marks = [
        Patch(facecolor=BLUE, label="read"),
        Patch(facecolor=ORANGE, hatch="///", edgecolor=PAPER, label="written"),
    ]
    axes.legend(handles=marks, frameon=False, fontsize=9, loc="lower right", ncols=2, bbox_to_anchor=(1, 1))


def draw_sms(plans: Mapping[str, int], sms: int) -> Figure:
    """One row of boxes per plan, a box per SM: blue where it has blocks, white where it idles."""
    figure = new_figure(9.0, 0.75 + 0.62 * len(plans))
    axes = figure.add_axes((0.02, 0.03, 0.96, 0.8))
    axes.set_axis_off()
    axes.set_xlim(0, sms)
    axes.set_ylim(-len(plans), 0.1)
    for index, (name, blocks) in enumerate(plans.items()):
        busy = min(blocks, sms)
        colours = [BLUE if sm < busy else PAPER for sm in range(sms)]
        boxes(axes, range(sms), -index - 0.95, 1, 0.5, facecolors=colours, edgecolors=INK, linewidths=0.5)
        text = f"{name}: {number_text(blocks)} blocks keep {busy} of {sms} SMs busy"
        axes.text(0, -index - 0.22, text, color=BLACK, fontsize=9, va="center")
    axes.set_title("Which SMs have work", color=BLACK, fontsize=12, fontweight="bold")
    return figure
