"""Chapter 12, low precision: the number lines of the formats, and a roofline with a roof for each."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter

from ..gpus import Gpu
from ..pictures.style import (
    BLACK,
    BLUE,
    FAINT,
    GREEN,
    INK,
    ORANGE,
    PURPLE,
    SKY,
    VERMILION,
    boxes,
    clean,
    new_figure,
    number_text,
)
from .low_precision_formats import FORMATS, values

LINES = ("bf16", "fp16", "e5m2", "e4m3", "mxfp4")
COLOURS = {"bf16": SKY, "fp16": BLUE, "e5m2": ORANGE, "e4m3": VERMILION, "mxfp4": PURPLE, "fp32": GREEN}
SHOWN_AS = {"mxfp4": "e2m1"}  # the format of the values that a scale of MXFP4 is for


def number_lines() -> Figure:
    """Above, every value from 0 to 8; below, from the smallest to the largest value, in powers of two."""
    figure = new_figure(9.0, 5.4)
    near = clean(figure.add_axes((0.08, 0.60, 0.77, 0.32)))
    far = clean(figure.add_axes((0.08, 0.10, 0.77, 0.36)), grid="x")
    _draw_values(near)
    _draw_ranges(far)
    return figure


def _draw_values(axes: Axes) -> None:
    """A tick for each value from 0 to 8, one row a format."""
    for row, name in enumerate(LINES):
        every = values(name)
        x = every[(every >= 0) & (every <= 8)]
        width = 0.25 if x.size > 1000 else 0.9 if x.size > 10 else 2
        segments = np.stack([np.stack([x, x], 1), np.tile([-row - 0.34, -row + 0.34], (x.size, 1))], -1)
        axes.add_collection(LineCollection(segments, colors=COLOURS[name], linewidths=width))
        between = np.count_nonzero((every >= 1) & (every < 2))
        axes.text(8.15, -row, f"{between:,} from 1 to 2", color=INK, fontsize=9, va="center")
    _rows(axes, LINES)
    axes.set_xlim(-0.06, 8.06)
    axes.set_title("Every value from 0 to 8", color=BLACK, fontsize=12, fontweight="bold")


def _draw_ranges(axes: Axes) -> None:
    """Bars from the least to the largest value; pale where a value has fewer bits of fraction."""
    for row, name in enumerate(LINES):
        form = FORMATS[name]
        least, normal, largest = (np.log2(v) for v in (form.least, form.least_normal, form.largest))
        boxes(axes, np.array([normal]), -row - 0.3, largest - normal, 0.6, facecolors=COLOURS[name])
        boxes(axes, np.array([least]), -row - 0.3, normal - least, 0.6, facecolors=FAINT, edgecolors=INK)
        axes.text(132, -row, f"up to {largest_text(form.largest)}", color=INK, fontsize=9, va="center")
    _rows(axes, LINES)
    axes.set_xlim(-140, 130)
    ticks = range(-128, 129, 32)
    axes.set_xticks(ticks, [f"$2^{{{t}}}$" for t in ticks])
    axes.set_xlabel("size of a value (grey: with fewer bits of fraction)", color=INK)
    axes.set_title("From the least to the largest value", color=BLACK, fontsize=12, fontweight="bold")


def largest_text(value: float) -> str:
    """A largest value in words: 448, 65,504, 3.4e38."""
    return f"{value:,.0f}" if value < 1e6 else f"{value:.1e}".replace("+", "")


def _rows(axes: Axes, names: Sequence[str]) -> None:
    axes.set_ylim(-len(names) + 0.5, 0.5)
    axes.set_yticks([-row for row in range(len(names))], [SHOWN_AS.get(name, name) for name in names])
    axes.tick_params(axis="y", length=0, labelsize=10)


# -- the ridge of each format ---------------------------------------------------------------------

RIGHT = 3e4  # FLOP per byte at the right edge
ROOFS = ("fp32", "tf32", "fp16", "e4m3", "mxfp4")  # one of each height
ROOF_COLOURS = {"fp32": GREEN, "tf32": SKY, "fp16": BLUE, "e4m3": VERMILION, "mxfp4": PURPLE}
ROOF_NAMES = {"fp16": "fp16, bf16", "e4m3": "fp8"}


def ridges(gpu: Gpu, points: Mapping[str, tuple[float, float]], title: str) -> Figure:
    """A roof for each format of the GPU, and products at (FLOP per byte, bound in TFLOP/s), all modelled."""
    figure = new_figure(9.0, 4.4)
    axes = clean(figure.add_axes((0.09, 0.13, 0.63, 0.78)), grid="both")
    bandwidth, x = gpu.memory.dram_gb_per_s / 1e3, np.geomspace(0.1, RIGHT, 500)
    for name in ROOFS:
        peak = FORMATS[name].tflops(gpu)
        if peak is None:
            continue
        ridge, colour = peak / bandwidth, ROOF_COLOURS[name]
        axes.plot(x[x >= ridge], np.full((x >= ridge).sum(), peak), color=colour, linewidth=2)
        axes.plot([ridge, ridge], [0.05, peak], color=colour, linewidth=1, linestyle=(0, (4, 3)))
        text = f"{ROOF_NAMES.get(name, name)}: {number_text(peak)} TFLOP/s, ridge {ridge:,.0f}"
        axes.text(1.1 * RIGHT, peak, text, color=INK, fontsize=9, va="center")
    highest = max(FORMATS[name].tflops(gpu) or 0 for name in ROOFS)
    slope = x[x * bandwidth <= highest]
    axes.plot(slope, slope * bandwidth, color=BLACK, linewidth=2)
    axes.text(0.12, 2.2 * bandwidth, f"DRAM {gpu.memory.dram_gb_per_s:,.0f} GB/s", color=INK, fontsize=9)
    for label, (intensity, tflops) in points.items():
        axes.plot(
            intensity,
            tflops,
            "D",
            color=BLACK,
            markersize=8,
            markerfacecolor="none",
            markeredgewidth=1.6,
            label=label,
        )
    if points:
        axes.legend(frameon=False, fontsize=9, loc="upper left")
    axes.set(xscale="log", yscale="log", xlim=(0.1, RIGHT), ylim=(0.3, 4 * highest))
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(FuncFormatter(lambda value, _: number_text(value)))
        axis.set_minor_formatter(NullFormatter())
    axes.set_xlabel("arithmetic intensity (FLOP per byte of DRAM traffic)", color=INK)
    axes.set_ylabel("performance (TFLOP/s)", color=INK)
    axes.set_title(title, color=BLACK, fontsize=12, fontweight="bold")
    return figure
