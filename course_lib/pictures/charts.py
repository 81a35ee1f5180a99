"""Bars of counts, and sweeps in which counted, modelled, recorded and measured values look different."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter

from .style import (
    BLACK,
    BLUE,
    EVIDENCE,
    INK,
    OKABE_ITO,
    ORANGE,
    PAPER,
    clean,
    evidence_style,
    new_figure,
    number_text,
)


@dataclass(frozen=True)
class Series:
    """One curve of a sweep.

    ``evidence``: "counted", "modelled", "recorded" or "measured"; it decides the marks. ``x``, ``y``: shape
    (n,). ``low``, ``high``: optional ends of the error bars, shape (n,), in the unit of ``y``. ``label``:
    what the curve shows, such as "column walk"; the legend adds the evidence. ``where``: the GPU, for
    instance "H200".
    """

    evidence: str
    x: Sequence[float]
    y: Sequence[float]
    label: str = ""
    where: str = ""
    low: Sequence[float] | None = None
    high: Sequence[float] | None = None

    def __post_init__(self) -> None:
        evidence_style(self.evidence)
        sizes = {len(values) for values in (self.x, self.y, self.low, self.high) if values is not None}
        if len(sizes) != 1:
            raise ValueError(f"x, y, low and high of {self.legend!r} differ in length: {sorted(sizes)}")

    @property
    def legend(self) -> str:
        """Legend text, such as "column walk (recorded, H200)"."""
        evidence = f"{self.evidence}, {self.where}" if self.where else self.evidence
        return f"{self.label} ({evidence})" if self.label else evidence


def sweep(
    *series: Series, xlabel: str, ylabel: str, title: str = "", log: str = "", zero: bool = True
) -> Figure:
    """Draw curves over a parameter; curves with one label share one colour, whatever their evidence.

    Counted is a solid line, modelled a dashed one, recorded filled points with error bars, measured open
    points. ``log``: axes with a logarithmic scale of base 2 ("x", "y" or "xy"). ``zero``: start a linear y
    axis at 0.
    """
    if not series:
        raise ValueError("a sweep needs at least one Series")
    figure = new_figure(9.0, 3.8)
    axes = clean(figure.add_axes((0.08, 0.14, 0.9, 0.76)), grid="both")
    names = list(dict.fromkeys(one.label for one in series))
    for one in series:
        _draw_series(axes, one, OKABE_ITO[names.index(one.label) % len(OKABE_ITO)])
    for axis in log:
        getattr(axes, f"set_{axis}scale")("log", base=2)
        getattr(axes, f"{axis}axis").set_major_formatter(FuncFormatter(lambda value, _: number_text(value)))
        getattr(axes, f"{axis}axis").set_minor_formatter(NullFormatter())
    if zero and "y" not in log:
        axes.set_ylim(0, 1.06 * axes.dataLim.y1)  # room above curves that hardly vary
    axes.set_xlabel(xlabel, color=INK)
    axes.set_ylabel(ylabel, color=INK)
    axes.set_title(title, color=BLACK, fontsize=12, fontweight="bold")
    axes.legend(frameon=False, fontsize=9)
    return figure


def _draw_series(axes: Axes, series: Series, colour: str) -> None:
    """One line or cloud of points, error bars first so that the points lie on them."""
    x, y = np.asarray(series.x, float), np.asarray(series.y, float)
    if series.low is not None and series.high is not None:
        ends = np.stack([y - np.asarray(series.low, float), np.asarray(series.high, float) - y]).clip(0)
        axes.errorbar(x, y, yerr=ends, fmt="none", ecolor=colour, elinewidth=1.2, capsize=2.5)
    axes.plot(x, y, color=colour, label=series.legend, **evidence_style(series.evidence))


def bars(
    values: Mapping[str, float],
    *,
    ylabel: str,
    ideal: float | Sequence[float] | None = None,
    title: str = "",
    evidence: str = "counted",
) -> Figure:
    """Draw one bar per name with its number on top; ``ideal`` (one for all, or one each) is an orange tick.

    Only counted or modelled values: points with a spread belong into ``sweep``. Modelled bars are dashed
    outlines.
    """
    if evidence not in ("counted", "modelled"):
        raise ValueError(f"bars show counted or modelled values, not {evidence!r}; of {', '.join(EVIDENCE)}")
    names, heights = list(values), np.array(list(values.values()), float)
    figure = new_figure(9.0, 3.4)
    axes = clean(figure.add_axes((0.1, 0.14, 0.88, 0.74)), grid="y")
    look = (
        {"color": BLUE}
        if evidence == "counted"
        else {"facecolor": PAPER, "edgecolor": BLUE, "linestyle": "--"}
    )
    drawn = axes.bar(range(len(names)), heights, width=0.6, linewidth=1.6, label=evidence, **look)
    axes.bar_label(drawn, [number_text(h) for h in heights], color=BLACK, fontsize=9, padding=2)
    if ideal is not None:
        each = np.broadcast_to(np.asarray(ideal, float), heights.shape)
        place = np.arange(len(names))
        axes.hlines(each, place - 0.36, place + 0.36, color=ORANGE, linewidth=3, label="ideal")
    axes.set_xticks(range(len(names)), names)
    axes.margins(y=0.14)
    axes.set_ylabel(f"{ylabel} ({evidence})", color=INK)
    axes.set_title(title, color=BLACK, fontsize=12, fontweight="bold")
    if ideal is not None:
        axes.legend(frameon=False, fontsize=9)
    return figure
