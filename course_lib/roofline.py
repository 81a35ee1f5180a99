"""The roofline: what a kernel reaches, against what the GPU's memory and arithmetic allow.

The intensity of a point is counted (FLOP per byte that crosses to DRAM), its height comes from a time that is
modelled, recorded or measured, and the mark says which. Every roof names its clock and its source.
"""

import math
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import mean
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter

from .gpus import DEFAULT, Gpu
from .gpus import gpu as find_gpu
from .labels import SIZE, Box, frame, in_points, place, text_box, write
from .model import dram_bytes, fp32_flops
from .pictures.style import (
    BLACK,
    BLUE,
    FAINT,
    GREEN,
    INK,
    ORANGE,
    PURPLE,
    SKY,
    VERMILION,
    clean,
    new_figure,
    number_text,
)

# A diamond is a model; a filled circle was recorded on a named GPU; an open circle was measured just now.
# Drawn in this order, so that an open mark lies on a filled one.
MARKS = {
    "recorded": {"marker": "o", "markersize": 6.5},
    "modelled": {"marker": "D", "markersize": 7, "markerfacecolor": "none", "markeredgewidth": 1.6},
    "measured": {"marker": "o", "markersize": 10, "markerfacecolor": "none", "markeredgewidth": 1.6},
}
COLOURS = (BLUE, ORANGE, GREEN, VERMILION, PURPLE, SKY)
CAUSES = (
    "the data came from L2, so fewer bytes crossed to DRAM than were counted",
    "the time belongs to another size or launch than the counts",
    "the GPU ran above the clock the peak is given for",
    "counted operations were not executed (skipped by the compiler or by data)",
)


@dataclass(frozen=True)
class RooflinePoint:
    """One kernel: `flops` and `dram_bytes` of a launch (counted), and its time in milliseconds.

    `source` is "modelled", "recorded" or "measured". Points of one label share a colour.
    """

    label: str
    flops: float
    dram_bytes: float
    ms: float
    source: str = "modelled"

    def __post_init__(self) -> None:
        if self.source not in MARKS:
            raise ValueError(f"source is {self.source!r}; a time is {', '.join(MARKS)}")
        if not (self.flops > 0 and self.dram_bytes > 0 and self.ms > 0):
            given = f"{self.flops:g} FLOP, {self.dram_bytes:g} bytes, {self.ms:g} ms"
            raise ValueError(
                f"{self.label!r} cannot be drawn: {given}. A roofline needs all three above 0; "
                "compare copies by their bandwidth"
            )

    @property
    def intensity(self) -> float:
        """FLOP per byte of DRAM traffic."""
        return self.flops / self.dram_bytes

    @property
    def tflops(self) -> float:
        """10^12 FLOP a second."""
        return self.flops / self.ms / 1e9


@dataclass(frozen=True)
class Roofline:
    """A GPU's roofs and the points under (or above) them; `draw()` makes the figure."""

    gpu: Gpu
    points: tuple[RooflinePoint, ...]
    tensor: bool = False

    @property
    def peak_tflops(self) -> float:
        """The highest flat roof, in TFLOP/s."""
        tensor = self.gpu.compute.fp16_tensor_tflops if self.tensor else None
        return tensor or self.gpu.compute.fp32_tflops

    @property
    def ridge(self) -> float:
        """The intensity at which the FP32 roof meets the DRAM roof, in FLOP per byte."""
        return self.gpu.compute.fp32_tflops * 1e3 / self.gpu.memory.dram_gb_per_s

    def roof(self, intensity: float) -> float:
        """The most a kernel of that intensity can reach, in TFLOP/s."""
        return min(self.peak_tflops, intensity * self.gpu.memory.dram_gb_per_s / 1e3)

    def above(self, margin: float = 0.01) -> tuple[RooflinePoint, ...]:
        """The points more than `margin` above the roof: something about them is not what it seems."""
        return tuple(p for p in self.points if p.tflops > self.roof(p.intensity) * (1 + margin))

    def caption(self) -> str:
        """Every peak with its clock and source, and why a point can be above the roof."""
        compute, memory, measured = self.gpu.compute, self.gpu.memory, self.gpu.measured
        parts = [
            f"{self.gpu.full_name}. FP32 {compute.fp32_tflops:g} TFLOP/s at {compute.clock_mhz:,.0f} MHz "
            f"[{compute.source}]. DRAM {memory.dram_gb_per_s:,.0f} GB/s [{memory.source}]."
        ]
        if self.tensor and compute.fp16_tensor_tflops:
            at = f"{compute.tensor_clock_mhz or compute.clock_mhz:,.0f} MHz"
            parts.append(f"FP16 tensor cores {compute.fp16_tensor_tflops:g} TFLOP/s, dense, at {at}.")
        if measured and measured.copy_gb_per_s and measured.fp32_tflops:
            where = measured.source.split(",")[0]
            parts.append(
                f"Dotted: reached in practice, {measured.copy_gb_per_s:,.0f} GB/s by a copy, "
                f"about {measured.fp32_tflops:.0f} TFLOP/s by cuBLAS in FP32 [{where}]."
            )
        marks = {"modelled": "diamond", "recorded": "filled circle", "measured": "open circle"}
        used = [
            f"{mark}: {source}" for source, mark in marks.items() if source in {p.source for p in self.points}
        ]
        if used:
            parts.append(f"{'; '.join(used).capitalize()}.")
        if self.above():
            names = ", ".join(p.label for p in self.above())
            parts.append(f"Above the roof: {names}. Possible causes: {'; '.join(CAUSES)}.")
        return " ".join(parts)

    def draw(self) -> Figure:
        """The figure, 9 inches wide; its caption lies below the axes."""
        lines = textwrap.wrap(self.caption(), 138)
        foot = 0.15 * len(lines) + 0.65
        height = 4.3 + foot
        figure = new_figure(9.0, height)
        axes = clean(figure.add_axes((0.085, foot / height, 0.9, 3.95 / height)))
        _scales(axes, self)
        taken = _draw_roofs(axes, self)
        _draw_points(axes, self, taken)
        axes.set_title(f"Roofline of the {self.gpu.name}", color=BLACK, fontsize=12, fontweight="bold")
        figure.text(
            0.02, 0.06 / height, "\n".join(lines), fontsize=8, color=INK, va="bottom", linespacing=1.3
        )
        return figure


def roofline(points: Sequence[RooflinePoint], gpu: str | Gpu = DEFAULT, *, tensor: bool = False) -> Figure:
    """Draw points on the roofline of a GPU. The `Roofline` itself is the figure's attribute `roofline`.

    Args:
        points: made by hand, or by `roofline_point` from a profile and a time.
        gpu: a name of `data/gpus.toml`, or a `Gpu`.
        tensor: draw the tensor cores' roof too.
    """
    found = Roofline(find_gpu(gpu), tuple(points), tensor)
    figure = found.draw()
    figure.roofline = found
    return figure


def roofline_point(
    label: str, profile: Mapping[str, float], timing: Any, gpu: str | Gpu = DEFAULT
) -> RooflinePoint:
    """A point from counts and a time with `.ms` and `.source`: a `Timing` or a `ModelledTime`."""
    return RooflinePoint(label, fp32_flops(profile), dram_bytes(profile, gpu), timing.ms, timing.source)


def _scales(axes: Axes, roofs: Roofline) -> None:
    """Logarithmic axes that hold the ridge and every point with room around them."""
    x = [roofs.ridge, roofs.ridge / 40, *(p.intensity for p in roofs.points)]
    y = [roofs.peak_tflops, *(p.tflops for p in roofs.points)]
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(min(x) / 3, max(x) * 8)
    axes.set_ylim(min(min(y) / 4, roofs.roof(min(x)) / 4), max(y) * 4)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(FuncFormatter(lambda value, _: number_text(value)))
        axis.set_minor_formatter(NullFormatter())
    axes.grid(which="major", color=FAINT, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.set_xlabel("arithmetic intensity, counted (FLOP per byte of DRAM traffic)", color=INK)
    axes.set_ylabel("performance (TFLOP/s)", color=INK)


def _draw_roofs(axes: Axes, roofs: Roofline) -> list[Box]:
    """Draw and label the roofs and the ridge; returns the boxes that must stay free of other text."""
    low, high = axes.get_xlim()
    x = np.geomspace(low, high, 400)
    compute, bandwidth = roofs.gpu.compute, roofs.gpu.memory.dram_gb_per_s / 1e3
    roof = np.minimum(x * bandwidth, roofs.peak_tflops)
    axes.plot(x, roof, color=BLACK, linewidth=2.0)
    flat = [(compute.fp32_tflops, f"FP32 {compute.fp32_tflops:g} TFLOP/s")]
    if roofs.tensor and compute.fp16_tensor_tflops:
        axes.plot([roofs.ridge, high], [compute.fp32_tflops] * 2, color=BLACK, linewidth=2.0)
        flat.append((compute.fp16_tensor_tflops, f"FP16 tensor {compute.fp16_tensor_tflops:g} TFLOP/s"))
    measured = roofs.gpu.measured
    if measured and measured.copy_gb_per_s and measured.fp32_tflops:
        reached = np.minimum(x * measured.copy_gb_per_s / 1e3, measured.fp32_tflops)
        axes.plot(x, reached, color=INK, linewidth=1.2, linestyle=":")
    axes.axvline(roofs.ridge, color=INK, linewidth=1.0, linestyle=(0, (4, 3)))
    taken = [_flat_label(axes, value, text) for value, text in flat]
    taken.append(_ridge_label(axes, roofs.ridge))
    taken += _slope_label(axes, roofs, f"DRAM {roofs.gpu.memory.dram_gb_per_s:,.0f} GB/s")
    upright = np.geomspace(*axes.get_ylim(), 100)
    lines = in_points(axes, x, roof) + in_points(axes, [roofs.ridge] * len(upright), upright)
    return taken + [Box(px - 2, py - 2, px + 2, py + 2) for px, py in lines]


def _draw_points(axes: Axes, roofs: Roofline, taken: list[Box]) -> None:
    """The points in the colour of their label and the mark of their evidence, one name for neighbours."""
    labels = list(dict.fromkeys(point.label for point in roofs.points))
    for point in sorted(roofs.points, key=lambda p: list(MARKS).index(p.source)):
        colour = COLOURS[labels.index(point.label) % len(COLOURS)]
        axes.plot(point.intensity, point.tflops, color=colour, linestyle="", **MARKS[point.source])
    where = in_points(axes, [p.intensity for p in roofs.points], [p.tflops for p in roofs.points])
    marks = [Box(x - SIZE / 2, y - SIZE / 2, x + SIZE / 2, y + SIZE / 2) for x, y in where]
    groups = _groups(roofs.points, where)
    middles = [(mean(where[i][0] for i in group), mean(where[i][1] for i in group)) for group in groups]
    texts = [_name([roofs.points[i] for i in group], roofs.above()) for group in groups]
    boxes = place(middles, texts, SIZE, frame(axes), [*taken, *marks])
    for (x, y), text, box in zip(middles, texts, boxes, strict=True):
        write(axes, text, box.left, box.bottom, va="bottom")
        _leader(axes, x, y, box)


def _groups(points: Sequence[RooflinePoint], where: Sequence[tuple[float, float]]) -> list[list[int]]:
    """Indices of points that share one name in the picture: the same label, and close together."""
    groups: list[list[int]] = []
    for i, point in enumerate(points):
        for group in groups:
            if points[group[0]].label == point.label and math.dist(where[group[0]], where[i]) < 4 * SIZE:
                group.append(i)
                break
        else:
            groups.append([i])
    return groups


def _name(points: Sequence[RooflinePoint], above: Sequence[RooflinePoint]) -> str:
    """The label, and below it the evidence of each point and whether one is above the roof."""
    sources = list(dict.fromkeys(point.source for point in points))
    if any(point in above for point in points):
        sources.append("above the roof")
    return f"{points[0].label}\n({', '.join(sources)})"


def _leader(axes: Axes, x: float, y: float, box: Box) -> None:
    """A thin line from the point to a text that had to go farther away."""
    near = min(max(x, box.left), box.right), min(max(y, box.bottom), box.top)
    if math.dist((x, y), near) > 1.6 * SIZE:
        arrow = {"arrowstyle": "-", "color": INK, "linewidth": 0.7, "shrinkA": 5, "shrinkB": 1}
        axes.annotate(
            "", near, (x, y), xycoords="figure points", textcoords="figure points", arrowprops=arrow
        )


def _flat_label(axes: Axes, value: float, text: str) -> Box:
    """A text above a flat roof, at its right end."""
    _, (_, y) = in_points(axes, [1, 1], [1, value])
    box = text_box(0, y + 3, text, SIZE)
    shift = frame(axes).right - 4 - box.right
    write(axes, text, box.left + shift, box.bottom, va="bottom", weight="bold")
    return Box(box.left + shift, box.bottom, box.right + shift, box.top)


def _ridge_label(axes: Axes, ridge: float) -> Box:
    """The ridge's intensity, at the foot of its line."""
    ((x, _),) = in_points(axes, [ridge], [1])
    text = f"ridge: {ridge:.3g} FLOP/byte"
    box = text_box(x + 4, frame(axes).bottom + 4, text, SIZE)
    write(axes, text, box.left, box.bottom, va="bottom")
    return box


def _slope_label(axes: Axes, roofs: Roofline, text: str) -> list[Box]:
    """A text along the DRAM roof, left where no point is; returned as a chain of small boxes."""
    starts = [axes.get_xlim()[0] * factor for factor in (1.6, 6, 16)]
    free = [s for s in starts if not any(0.7 < p.intensity / s < 4 for p in roofs.points)]
    x = np.array([1, 2]) * (free or starts)[0]
    start, beyond = in_points(axes, x, x * roofs.gpu.memory.dram_gb_per_s / 1e3)
    angle = math.atan2(beyond[1] - start[1], beyond[0] - start[0])
    x, y = start[0] - 9 * math.sin(angle), start[1] + 9 * math.cos(angle)
    write(axes, text, x, y, va="center", weight="bold", rotation=math.degrees(angle), rotation_mode="anchor")
    along = np.arange(0, text_box(0, 0, text, SIZE).right, 4)
    half = 0.7 * SIZE
    chain = zip(x + along * math.cos(angle), y + along * math.sin(angle), strict=True)
    return [Box(px - half, py - half, px + half, py + half) for px, py in chain]
